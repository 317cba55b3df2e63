"""Random input: the library gives a right result or an error of one sentence.

| file | random input |
|---|---|
| `formulas.py` | formulas |
| `toml_files.py` | mechanism files |
| `robot_files.py` | URDF, SDF and MJCF files |
| `warm_parser.py` | a process that compiles them without an import for each |
| `arguments.py` | arguments of the public functions |
| `models.py` | models, simulated for a second |
| `runner.py` | seeds, time limits, criteria of failure |
"""
