"""A traced program for many members at once, whose numbers lie side by side in memory: the axis of
members is the last one.

`jax.vmap` leaves that axis wherever a rule of its puts it, mostly in front, and what runs along the
last axis are then rows of three or twelve numbers. Here every loop of a kernel
(`zwang.compile.fusion`) runs along the members in vector registers. An operation that has no rule
here is `jax.vmap`'s.

| file | what |
|---|---|
| `program` | `abreast`, a function for many members; what was computed before is not computed again |
| `many` | an array of every member |
| `rules` | operations on entries, shapes and places, and functions with rules of their own (`INSTEAD`) |
| `sums` | sums and products |
| `control` | loops and branches |
| `spread` | which values differ from member to member |
"""

from zwang.compile.batch_last.rules import INSTEAD as INSTEAD
from zwang.compile.batch_last.transform import abreast as abreast
