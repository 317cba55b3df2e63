"""Random input: whatever it is, the library answers rightly or with a sentence of its own.

| file | what is random |
|---|---|
| `formulas.py` | texts of formulas |
| `toml_files.py` | mechanism files |
| `robot_files.py` | URDF, SDF and MJCF files |
| `warm_parser.py` | what compiles them without an import for each |
| `arguments.py` | arguments of the public functions |
| `models.py` | models run for a second |
| `runner.py` | seeds, time limits, what counts as a failure |
"""
