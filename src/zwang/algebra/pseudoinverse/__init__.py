"""Ways to compute the Moore-Penrose inverse C⁺ of a constraint matrix, for C of any shape and rank.

| member | method | rank threshold | forms C⁺ | flops, m = n | cost | file |
|---|---|---|---|---|---|---|
| `Proximal` | proximal sweeps on one Cholesky factor; the default | none; `damping` | no | 13⅓ n³ | 1 | `proximal.py` |
| `CompleteOrthogonal` | two QR, pivots are rows | `threshold` of ‖row‖ | no | 8⅓ n³ | 4 | `complete_orthogonal.py` |
| `Varga` | two QR, pivots are columns, triangle inverted | `threshold` of ‖column‖ | yes | 9⅔ n³ | 4 | `varga.py` |
| `Greville` | recursion over rows | `threshold` of ‖row‖ | yes | 14 n³ | 5 | `greville.py` |
| `Householder` | basic solution, then least norm | `threshold` of ‖column‖ | yes | 11⅓ n³ | 5 | `householder.py` |
| `SVD` | truncated singular values | `threshold` of σ₁ | yes | 21 n³ | 6 | `svd.py` |
| `GramSchmidt` | two modified Gram-Schmidt, pivots are columns | `threshold` of ‖column‖ | yes | 23 n³ | 12 | `gram_schmidt.py` |

Cost is the time of one factor and one solve at m = n = 12 on one core, relative to `Proximal`; at
this size calls count more than arithmetic. Every threshold is relative to the longest row or
column, or the largest singular value. All share one derivative rule (`base.py`), finite at equal
singular values and at rank loss. `pivoted_qr.py` is the first step of three members. `Sparse`
(`sparse.py`) selects the sparse path, whose numbers are in `zwang.algebra.operator.sparse`.

All but `Proximal` give C⁺ r for every r. `Proximal.solve` takes r in the range of C, as consistent
constraints are; its `matrix` holds for all.
"""  # noqa: E501

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

ALL_PSEUDOINVERSES = (Proximal, CompleteOrthogonal, SVD, Varga, Greville, Householder, GramSchmidt)
