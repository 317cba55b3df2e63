"""`docs/performance.md` from what was measured: `python -m benchmarks page`. No figure is typed in;
without results it has none.

| file | what |
|---|---|
| `write.py` | the command; the page as a whole |
| `targets.py` | every target with its figure |
| `precision.py` | tables beside other programs, where they are ahead |
| `evaluation.py` | one evaluation, memory, the machine's limit |
| `words.py` | how figures are written |
| `pictures.py` | diagrams |
"""
