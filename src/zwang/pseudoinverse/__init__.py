from zwang.pseudoinverse.base import AbstractFactor as AbstractFactor
from zwang.pseudoinverse.base import AbstractPseudoinverse as AbstractPseudoinverse
from zwang.pseudoinverse.base import Pseudoinverse as Pseudoinverse
from zwang.pseudoinverse.proximal import Proximal as Proximal
from zwang.pseudoinverse.svd import SVD as SVD
