"""Hierarchies: models built level by level, and constraints enforced level by level.

| file | contents |
|---|---|
| `module.py` | `Module`, `Hierarchy`: a `zw.Model` of modules and the constraints between them |
| `named_views.py` | q, v and p by name |
| `instances.py` | places of modules of one kind, and evaluation at all places by `vmap` |
| `stacked_parameters.py` | parameters of equal modules as one array each |
| `assembly.py` | M, F and N of all modules |
| `replicated_constraint.py` | a module's constraint at all places of its module |
| `recursion.py` | the recursion that enforces one level; clearances, singular mass |
| `level_selection.py` | selection of the constraints and clearances of a level |
| `describe.py` | description of levels and of the tree of modules, for `zw.check` |
| `modular.py` | the acceleration by one small factor per module and one of the joints |
| `enforce.py` | `enforce` and `impose`: the motion at one instant, level by level |
"""

from zwang.hierarchy.enforce import Enforced as Enforced
from zwang.hierarchy.enforce import enforce as enforce
from zwang.hierarchy.enforce import impose as impose
from zwang.hierarchy.modular import Modular as Modular
from zwang.hierarchy.module import Hierarchy as Hierarchy
from zwang.hierarchy.module import Module as Module
