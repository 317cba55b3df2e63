"""Programs: traced functions of a model, compiled once and kept.

The rest of zwang uses the names below and `zwang.compile.hints`. Native code is made by
`zwang.native`; with `ZWANG_ENGINE=xla` all of it comes down to `jax.jit`.

| file | what |
|---|---|
| `interface` | `program`, `BoundProgram`, and `Many` for many members |
| `engine` | which engine makes machine code |
| `flat` | functions of pytrees as functions of arrays |
| `hints` | what numerics may tell the compiler, without effect on results |
| `blocks` | a function of one instant at many of them |
| `interpreter` | a traced program evaluated operation by operation |
| `program_cache/` | programs that outlive their process |
| `options` | options of XLA |
| `compatibility` | private and experimental names, and the versions that are known to work |
| `events` | what `jax.monitoring` hears |
| `folder` | zwang's folder for caches |
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
from zwang.compile.interface import with_engine as with_engine
from zwang.compile.interpreter import JaxprInterpreter as JaxprInterpreter
from zwang.compile.options import compiler_options as compiler_options
from zwang.compile.program_cache.cache import keep_programs as keep_programs
from zwang.compile.program_cache.cache import keeps_programs as keeps_programs
