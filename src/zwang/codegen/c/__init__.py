"""Models as C99.

| file | content |
|---|---|
| `source.py` | `c_code`: header, source and test driver of a model |
| `library.py` | the code compiled and called from Python, to check it |
| `comparison.py` | comparison of the code with the model at random states |
| `*.in` | the parts that are the same for every model |
"""

from __future__ import annotations

from zwang.codegen.c.comparison import agreement as agreement
from zwang.codegen.c.library import Library as Library
from zwang.codegen.c.library import compiler as compiler
from zwang.codegen.c.source import CCode as CCode
from zwang.codegen.c.source import c_code as c_code
