"""Saved results: a file opened as the run that it was saved from.

| file | content |
|---|---|
| `sources.py` | builds the model that a record names |
| `load.py` | `load`: the run in a file, or in a growing folder |
| `growing.py` | a growing run on disk: its store, its checkpoint, and the commit marker |
"""

from zwang.archive.load import load as load
