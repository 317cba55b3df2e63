import numpy as np
ENDS = np.zeros((10,3))
