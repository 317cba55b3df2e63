"""Hierarchies: a model built level by level, and constraints enforced one level at a time.

| file | what |
|---|---|
| `module.py` | `Module`, `Hierarchy`: modules and what joins them become a `zw.Model` |
| `named_views.py` | q, v and p by name |
| `instances.py` | where modules of one kind are; a function of one at all of them, under `vmap` |
| `stacked_parameters.py` | parameters of equal modules as one array each |
| `assembly.py` | M, F and N of modules side by side |
| `replicated_constraint.py` | a module's constraint at all places of its module |
| `recursion.py` | one level enforced on top of others: the recursion, clearances, singular mass |
| `level_selection.py` | which constraints a level enforces, and with what clearance |
| `describe.py` | levels and the tree of modules in words, for `zw.check` |
| `modular.py` | the acceleration by one small factor per module and one of the joints |
| `enforce.py` | `enforce` and `impose`: the motion at one instant, level by level |
"""

from zwang.hierarchy.enforce import Enforced as Enforced
from zwang.hierarchy.enforce import enforce as enforce
from zwang.hierarchy.enforce import impose as impose
from zwang.hierarchy.modular import Modular as Modular
from zwang.hierarchy.module import Hierarchy as Hierarchy
from zwang.hierarchy.module import Module as Module
