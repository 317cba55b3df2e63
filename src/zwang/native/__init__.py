"""A small compiler from jaxprs to machine code by LLVM, without XLA.

Names are loaded on first access, so that calling a cached program does not import the compiler.

    function of arrays ── JAX traces ──> jaxpr ── walk, rules/ ──> SSA form ── LLVM ──> code

| file | content |
|---|---|
| `compiled` | a compiled function, called with arrays |
| `translation` | `function(f, *examples)`: the entry; `translated`: a jaxpr as machine code |
| `walk` | walks over a jaxpr and calls the lowering rule of each primitive |
| `rules/` | lowering rules of JAX's primitives, one file for each kind |
| `arrays` | arrays of scalars in registers, or arrays in memory |
| `instructions` | values, basic blocks, memory buffers |
| `arithmetic` | arithmetic instructions: constant folding, fused multiply-adds |
| `blocks` | basic blocks, common subexpressions, masks of SIMD lanes |
| `builder` | the builder: memory, calls and phi instructions |
| `rolled`, `accumulation` | loop rolling: elements that are computed alike |
| `operands`, `subroutines` | inner jaxprs emitted once and called |
| `functions` | functions of one and two numbers |
| `trigonometry` | sine and cosine in SIMD, within one unit in the last place |
| `exponentials` | exponential and logarithm in SIMD, within one unit in the last place |
| `text` | the function as LLVM IR |
| `module` | functions as LLVM modules, and their object code, made by threads |
| `c` | the function in C99 |
| `webassembly` | functions as a WebAssembly module for browsers |
| `stack_function`, `structure`, `stack_codes` | its functions, control flow, opcodes |
| `translate` | LLVM IR to object code, by llvmlite |
| `machine` | object code loaded into this process; optimization in another process |
| `library` | addresses of LAPACK and BLAS routines |
| `types` | element types |
"""

from typing import TYPE_CHECKING

from zwang.namespace import offer

if TYPE_CHECKING:
    from zwang.native.compiled import NativeFunction as NativeFunction
    from zwang.native.errors import NotNativeError as NotNativeError
    from zwang.native.translation import function as function
    from zwang.native.translation import translated as translated

offer(__name__)
