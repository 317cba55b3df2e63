"""Results that come back: a file as the run that it was saved from.

| file | what |
|---|---|
| `sources.py` | the model that a record names, made again |
| `load.py` | `load`: the run of a file, or of a folder that grows |
| `growing.py` | a run on the disk that grows: its store, its checkpoint, the marker that is last |
"""

from zwang.archive.load import load as load
