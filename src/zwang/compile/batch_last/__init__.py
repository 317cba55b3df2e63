"""Batching with the batch axis last: a traced program for many members side by side in memory.

`jax.vmap` leaves the batch axis wherever a rule puts it, mostly in front, and what runs along the
last axis are then rows of three or twelve numbers. Here every loop of a kernel
(`zwang.compile.fusion`) runs along the members in vector registers. An operation without a rule
here uses that of `jax.vmap`.

| file | what |
|---|---|
| `transform` | `vmap_last`, a function for many members, and its interpreter |
| `value` | `Batched`, an array of every member |
| `rules` | operations on entries, shapes and indices |
| `reductions` | sums and products |
| `control_flow` | loops and branches |
| `batched_values` | which values differ from member to member |
"""

from zwang.compile.batch_last.transform import vmap_last as vmap_last
