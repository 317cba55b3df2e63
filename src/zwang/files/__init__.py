"""Files: the only place where they are opened, and the limits that they have to keep.

| file | what |
|---|---|
| `limits.py` | largest size, depth, count and time, one table |
| `reading.py` | a regular file of a limited size as bytes or text, or a sentence |
| `toml.py`, `xml.py` | text with limited nesting as a table or a tree of elements |
| `writing.py` | all or nothing: a file is complete under its name, or what stood there stays |
| `packing.py` | bytes and curves packed for pages |
| `isolation.py` | a program that may die, in a process of its own with limits |
"""

from zwang.files.limits import LIMITS as LIMITS
from zwang.files.reading import is_file as is_file
from zwang.files.reading import read_bytes as read_bytes
from zwang.files.reading import read_text as read_text
from zwang.files.writing import make_folder as make_folder
from zwang.files.writing import page as page
from zwang.files.writing import write_bytes as write_bytes
from zwang.files.writing import write_files as write_files
from zwang.files.writing import write_folder as write_folder
from zwang.files.writing import write_text as write_text
