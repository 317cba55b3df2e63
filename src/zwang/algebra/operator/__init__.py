"""The operator A⊕ on representations of A other than a dense array.

| file | what |
|---|---|
| `sparse.py` | A⊕ of a sparse A with its derivatives; rank by pivots |
"""
