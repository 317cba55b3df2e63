"""Traced functions as machine code, without XLA.

    function of arrays ── JAX traces ──> jaxpr ── walk, rules/ ──> instructions ── LLVM ──> code

| file | what |
|---|---|
| `compiled` | `function(f, *examples)`: the entry; a compiled function called with arrays |
| `walk` | each operation of a traced program handed to its rule |
| `rules/` | how each primitive of JAX is emitted, one file for each kind |
| `arrays` | arrays of scalars in registers, or in memory |
| `instructions` | values, basic blocks, memory |
| `builder` | instructions: constants folded, equal expressions shared, basic blocks |
| `functions` | functions of one and two numbers |
| `text` | the function in LLVM's language |
| `translate` | its object code, by llvmlite |
| `machine` | object code in this process; faster code from another one |
| `types` | types of elements |
"""

from zwang.native.compiled import NativeFunction as NativeFunction
from zwang.native.compiled import Stored as Stored
from zwang.native.compiled import function as function
from zwang.native.compiled import translated as translated
from zwang.native.errors import NotNativeError as NotNativeError
from zwang.native.translate import lanes as lanes
