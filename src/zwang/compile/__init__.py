"""The compiler: everything that depends on how XLA compiles, and every private name of JAX.

The rest of zwang uses the names below and `zwang.compile.hints`. With `ZWANG_COMPILER=plain` all of
it comes down to `jax.jit`.

| file | what |
|---|---|
| `interface` | `program`, a compiled function of pytrees; `BatchProgram`, one of many members |
| `compilers` | what is bought: `PlainJit`, `FusedIfSmall`, `Fused` |
| `hints` | what numerics may tell the compiler, without effect on results |
| `compatibility` | private and experimental names, and the versions that are known to work |
| `lowering` | functions of arrays made into compiled programs |
| `flat` | functions of pytrees as functions of arrays |
| `fusion`, `emittable` | a whole program as one kernel; the operations that it may consist of |
| `canary` | whether one-kernel programs work here, tried in another process |
| `batch_last/` | a program for many members, the batch axis last |
| `interpreter` | a traced program evaluated operation by operation |
| `program_cache/` | compiled programs that outlive their process |
| `options` | options of XLA |
| `background` | programs compiled in another thread |
| `size` | how large a program is, and how long it takes to make |
| `events` | what `jax.monitoring` hears |
| `lapack` | the factorizations that programs and the host call |
| `folder` | zwang's folder for caches |
"""

from zwang.compile.compilers import ALL_COMPILERS as ALL_COMPILERS
from zwang.compile.compilers import AbstractCompiler as AbstractCompiler
from zwang.compile.compilers import Fused as Fused
from zwang.compile.compilers import FusedIfSmall as FusedIfSmall
from zwang.compile.compilers import PlainJit as PlainJit
from zwang.compile.compilers import requested as requested
from zwang.compile.events import LOADED as LOADED
from zwang.compile.events import NOT_CACHED as NOT_CACHED
from zwang.compile.folder import cache_folder as cache_folder
from zwang.compile.folder import processor as processor
from zwang.compile.interface import BatchProgram as BatchProgram
from zwang.compile.interface import BoundProgram as BoundProgram
from zwang.compile.interface import model_program as model_program
from zwang.compile.interface import over_members as over_members
from zwang.compile.interface import prepared as prepared
from zwang.compile.interface import program as program
from zwang.compile.interpreter import JaxprInterpreter as JaxprInterpreter
from zwang.compile.lapack import lapack_routines as lapack_routines
from zwang.compile.options import compiler_options as compiler_options
from zwang.compile.program_cache.cache import finish_keeping as finish_keeping
from zwang.compile.program_cache.cache import keep_programs as keep_programs
from zwang.compile.program_cache.cache import keeps_programs as keeps_programs
from zwang.compile.size import ProgramSize as ProgramSize
from zwang.compile.size import program_size as program_size
