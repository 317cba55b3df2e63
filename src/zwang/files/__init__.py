"""The only package that opens files, with the limits that these must keep.

| file | content |
|---|---|
| `limits.py` | a table of the largest sizes, depths, counts and times |
| `reading.py` | bytes or text of a regular file of limited size, or an error of one sentence |
| `toml.py`, `xml.py` | parsers with limited nesting |
| `writing.py` | atomic writing: either the file is complete, or the earlier one is unchanged |
| `packing.py` | compression of bytes and curves for HTML pages |
| `isolation.py` | a process with limits for a program that may crash |
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
