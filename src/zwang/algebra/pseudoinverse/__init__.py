"""Methods for the Moore-Penrose inverse C⁺ of a constraint matrix C of any shape and rank.

Each method is one file of this folder, found by `zwang.objects.families.PSEUDOINVERSES`, whose
`table()` lists all of them with their operation counts and settings. They differ in the rank
decision and in cost:

- `Proximal`, the default, makes no rank decision: proximal sweeps on one Cholesky factor damp small
  singular values smoothly.
- Every other method has a rank threshold relative to the longest row or column, or to the largest
  singular value.

All methods share one derivative rule (`base.py`), which is finite at equal singular values and
where the rank is lost. `pivoted_qr.py` is the first step of three methods. `Sparse` selects the
sparse path, which `zwang.algebra.elimination.pseudoinverse` computes.

All methods except `Proximal` and `Sparse` compute C⁺ r for every r. `Proximal.solve` needs r in the
range of C, as for consistent constraints; its `matrix` is valid for all r.
"""

from zwang.algebra.pseudoinverse.base import AbstractFactor as AbstractFactor
from zwang.algebra.pseudoinverse.base import AbstractPseudoinverse as AbstractPseudoinverse
from zwang.algebra.pseudoinverse.base import Pseudoinverse as Pseudoinverse
from zwang.algebra.pseudoinverse.complete_orthogonal import CompleteOrthogonal as CompleteOrthogonal
from zwang.algebra.pseudoinverse.gram_schmidt import GramSchmidt as GramSchmidt
from zwang.algebra.pseudoinverse.greville import Greville as Greville
from zwang.algebra.pseudoinverse.householder import Householder as Householder
from zwang.algebra.pseudoinverse.proximal import Proximal as Proximal
from zwang.algebra.pseudoinverse.sparse import Sparse as Sparse
from zwang.algebra.pseudoinverse.svd import SVD as SVD
from zwang.algebra.pseudoinverse.varga import Varga as Varga
from zwang.objects.families import PSEUDOINVERSES

ALL_PSEUDOINVERSES = tuple(
    member
    for member in PSEUDOINVERSES.classes()
    if member is not Sparse  # of a dense matrix it is `Proximal` again
)
