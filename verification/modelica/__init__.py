"""Examples of the Modelica Standard Library, Mechanics.MultiBody, against the reference results of
the Modelica Association in `modelica/MAP-LIB_ReferenceResults`, which are Dymola's.

Every example of the folders Constraints, Elementary and Loops is compared in the signals that the
library itself compares (`comparisonSignals.txt`), or stands with the reason why not. Sizes, masses
and starts are those of version 4.0.0 of the library (`Modelica/Mechanics/MultiBody/Examples` of
`modelica/ModelicaStandardLibrary`, revision bd753330a, BSD-3-Clause).

| file | what |
|---|---|
| `suite.py` | reference results, and their comparison |
| `case.py` | an example as a model with its start and its signals |
| `solids.py` | boxes, cylinders and other solids of the library as links |
| `constraints.py`, `loops.py`, `elementary.py` | the folders, as mechanisms |
| `attraction.py` | bodies of the folder Elementary that a point attracts |
| `engines.py` | engines of the folder Loops |
| `wheels.py` | rolling wheels of the folder Elementary |
| `plain.py` | examples of the folder Elementary as plain functions |
"""

from verification.modelica.suite import lines as lines
from verification.modelica.suite import names as names
