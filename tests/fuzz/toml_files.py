"""Random mechanism files: those of the gallery with modified lines, values and bytes."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np

import zwang.gallery
from zwang.mechanism import toml

VALUES = (
    *("1", "-1", "0", "1e308", "-1e-320", "nan", "inf", "true", '"text"', '""', "[]", "{}", "[[]]"),
    *('"2*t"', '"1/0"', '"__import__(1)"', '"\\u0000"', '"\\u001b[31m"', "1979-05-27", "[1, [2]]"),
    *("9" * 400, '"' + "a" * 3000 + '"', "[" * 60 + "]" * 60, "{ a = { b = 1 } }", '"ground"'),
    *('"ground.right"', '["ground", "ground"]', '"revolute"', "0x10", "1_0", "[1, 2]", "[1, 2, 3]"),
)
KEYS = ("mass", "length", "kind", "between", "a.b.c", '""', '"é"', "x" * 2000, "name", "t", "pi")


@functools.cache
def originals() -> tuple[str, ...]:
    folder = Path(zwang.gallery.__file__).parent / "mechanisms"
    texts = tuple(path.read_text() for path in sorted(folder.glob("*.toml")))
    assert texts, f"no mechanism file in {folder}"
    return texts


@functools.cache
def folder() -> Path:
    memory = Path("/dev/shm")  # a file is opened there in a tenth of the time
    at = memory if os.access(memory, os.W_OK) else None
    made = tempfile.mkdtemp(prefix="zwang-fuzz-", dir=at)
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def changed(text: str, random: np.random.Generator) -> bytes:
    """A file with one to four changes."""
    lines = text.splitlines()
    for _ in range(random.integers(1, 5)):
        i = int(random.integers(len(lines))) if lines else 0
        kind = random.integers(7)
        if not lines or kind == 0:
            lines.insert(i, f"{random.choice(KEYS)} = {random.choice(VALUES)}")
        elif kind == 1:
            del lines[i]
        elif kind == 2:
            lines.insert(i, lines[int(random.integers(len(lines)))])
        elif kind == 3 and "=" in lines[i]:
            lines[i] = f"{lines[i].split('=')[0]}= {random.choice(VALUES)}"
        elif kind == 4:
            lines[i] = _value_changed(lines[i], random)
        elif kind == 5:
            j, k = sorted(random.integers(0, len(lines[i]) + 1, 2))
            lines[i] = lines[i][:j] + lines[i][k:]
        else:
            words = lines[int(random.integers(len(lines)))].split() or [""]
            lines[i] = lines[i].replace((lines[i].split() or [" "])[0], str(random.choice(words)))
    content = "\n".join(lines).encode("utf-8", "replace")
    if random.random() < 0.1:
        at = int(random.integers(len(content) + 1))
        content = content[:at] + bytes(random.integers(0, 256, 3, dtype=np.uint8)) + content[at:]
    return content


def _value_changed(line: str, random: np.random.Generator) -> str:
    """One value inside a table of one line replaced."""
    head, equals, rest = line.partition("{")
    parts = rest.split(",") if equals else []
    if not parts:
        return line
    i = int(random.integers(len(parts)))
    parts[i] = f"{parts[i].split('=')[0]}= {random.choice(VALUES)}"
    return head + equals + ",".join(parts)


def case(random: np.random.Generator) -> None:
    """A file is read, or a sentence says what is wrong with it."""
    text = originals()[int(random.integers(len(originals())))]
    path = folder() / "mechanism.toml"
    path.write_bytes(changed(text, random))
    toml.read(path)
