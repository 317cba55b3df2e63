"""Compiled programs that outlive a process.

| file | what |
|---|---|
| `keep` | `program`, a compiled function of pytrees, and `keep_programs` |
| `single` | a whole program as one kernel |
| `abreast/` | a program for many members, side by side in memory |
| `options` | how the compiler is to treat small operations |
| `follow` | a traced program carried out once more, otherwise |
| `early` | what a task took last time, read on another core |
| `fingerprint` | what a program is made from, as a short text |
| `objects` | its classes and objects |
| `known` | what a function may lean on without being read to the end |
| `own` | zwang's own sources and numbers |
| `setting` | versions, processor and settings |
| `store` | the folder of files |
| `folder` | where that folder is |
"""

from zwang.compile.folder import cache_folder as cache_folder
from zwang.compile.folder import processor as processor
from zwang.compile.interface import keep_programs as keep_programs
from zwang.compile.interface import program as program
from zwang.compile.options import compiler_options as compiler_options
