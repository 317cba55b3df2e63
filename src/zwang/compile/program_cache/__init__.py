"""The program cache: compiled programs that outlive their process.

| file | what |
|---|---|
| `cache` | `keep_programs`; programs found by their key, or made and written |
| `fingerprint` | what a program is made from, as a short text |
| `objects` | its classes and objects |
| `purity` | what a function may lean on without being read to the end |
| `source_digest` | zwang's own sources, and whether its modules still hold what these made |
| `environment` | versions, processor and settings |
| `store` | the folder of files |
"""
