"""The program cache: compiled programs on disk, shared between processes.

| file | content |
|---|---|
| `cache` | `keep_programs`; lookup of programs by their key |
| `fingerprint` | digest of everything that a program is made from |
| `objects` | classes and objects in this digest |
| `purity` | rules for the functions that a fingerprint accepts |
| `source_digest` | zwang's own sources, and whether its modules still match them |
| `environment` | versions, processor and settings |
| `store` | the folder of files |
"""
