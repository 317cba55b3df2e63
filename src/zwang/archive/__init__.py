"""Results that come back: a file as the run that it was saved from.

| file | what |
|---|---|
| `sources.py` | the model that a record names, made again |
| `load.py` | `load`: the run of a file |
"""

from zwang.archive.load import load as load
