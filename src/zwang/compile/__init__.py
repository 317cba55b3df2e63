"""Compiled programs: traced functions of a model, compiled once and cached.

The rest of zwang uses the names below and `zwang.compile.hints`. `zwang.native` makes native code;
with `ZWANG_ENGINE=xla` every program is compiled by `jax.jit` instead.

| file | content |
|---|---|
| `interface` | `program`, `BoundProgram`, and `Many` for batches |
| `making` | finds a program in the caches, or traces and compiles it |
| `engine` | choice of the engine: native code or XLA |
| `flat` | functions of pytrees as functions of flat lists of arrays |
| `hints` | hints of numerical code to the compiler, which do not change results |
| `blocks` | a function of one instant, evaluated at many instants |
| `derivative` | functions with a custom derivative, as a primitive of JAX |
| `interpreter` | a jaxpr interpreter |
| `program_cache/` | the cache of programs on disk |
| `options` | compiler options of XLA |
| `compatibility` | private and experimental names of JAX, and the tested versions |
| `events` | names of the events for `jax.monitoring` |
| `folder` | zwang's cache folder |
"""

from zwang.compile.blocks import mapped as mapped
from zwang.compile.compatibility import trace_state_clean as trace_state_clean
from zwang.compile.engine import is_native as is_native
from zwang.compile.engine import native_trace as native_trace
from zwang.compile.events import LOADED as LOADED
from zwang.compile.events import NOT_CACHED as NOT_CACHED
from zwang.compile.folder import cache_folder as cache_folder
from zwang.compile.folder import processor as processor
from zwang.compile.interface import BoundProgram as BoundProgram
from zwang.compile.interface import Many as Many
from zwang.compile.interface import called_again as called_again
from zwang.compile.interface import model_program as model_program
from zwang.compile.interface import program as program
from zwang.compile.interpreter import JaxprInterpreter as JaxprInterpreter
from zwang.compile.options import compiler_options as compiler_options
from zwang.compile.program_cache.cache import keep_programs as keep_programs
from zwang.compile.program_cache.cache import keeps_programs as keeps_programs
