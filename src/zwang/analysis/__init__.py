"""What can be said about a model without simulating it.

| file | what |
|---|---|
| `check.py` | `check`: one report on a model at one state |
| `side_by_side.py` | `side_by_side`: one acceleration by eight principles of mechanics |
"""
