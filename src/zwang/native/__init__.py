"""Traced functions as machine code, without XLA.

Names are loaded on first access: a program that was kept is called without what emits it.

    function of arrays ── JAX traces ──> jaxpr ── walk, rules/ ──> instructions ── LLVM ──> code

| file | what |
|---|---|
| `compiled` | a compiled function, called with arrays |
| `translation` | `function(f, *examples)`: the entry; `translated`: a traced function as code |
| `walk` | each operation of a traced program handed to its rule |
| `rules/` | how each primitive of JAX is emitted, one file for each kind |
| `arrays` | arrays of scalars in registers, or in memory |
| `instructions` | values, basic blocks, memory |
| `arithmetic` | instructions with numbers: constants folded, products and sums fused |
| `builder` | instructions: equal expressions shared, basic blocks, lanes, memory |
| `rolled`, `accumulation` | loops over elements that are computed alike |
| `subroutines` | inner programs emitted once and called |
| `functions` | functions of one and two numbers |
| `trigonometry` | sine and cosine, within one unit in the last place, for all lanes at once |
| `exponentials` | exponential and logarithm, likewise |
| `text` | the function in LLVM's language |
| `module` | such functions together, and the object code of each by a thread |
| `c` | the same in C99 |
| `webassembly` | the same for browsers |
| `stack_function`, `structure`, `stack_codes` | its functions, nested blocks, codes |
| `translate` | its object code, by llvmlite |
| `machine` | object code in this process; faster code from another one |
| `types` | types of elements |
"""

from typing import TYPE_CHECKING

from zwang.namespace import offer

if TYPE_CHECKING:
    from zwang.native.compiled import NativeFunction as NativeFunction
    from zwang.native.errors import NotNativeError as NotNativeError
    from zwang.native.translation import function as function
    from zwang.native.translation import translated as translated

offer(__name__)
