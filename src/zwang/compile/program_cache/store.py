"""The folder of the program cache, with one file for each program.

Incomplete files are ignored, and the least recently used ones are removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import sys
from pathlib import Path
from typing import Any

from zwang.files import write_bytes

MARK = b"zwang program 3\n"
MOST_BYTES, MOST_FILES = 2_000_000_000, 1000
"""Size limit of a folder; beyond it the least recently used programs are removed."""


class Store:
    """A folder of programs by their keys.

    Raises:
        OSError: if it cannot be made or written to, or if others than its owner may write to it.
    """

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not os.access(folder, os.W_OK):
            raise PermissionError(13, "not writable")
        if sys.platform != "win32":
            about = folder.stat()
            if about.st_uid != os.getuid() or about.st_mode & 0o022:
                raise PermissionError(13, "others may write to it, and what is in it is run")
        self.folder = folder

    def read(self, key: str) -> Any:
        """Return the content of a key; None if there is none, or if it is damaged."""
        path = self.folder / key
        try:
            data = path.read_bytes()
            mark, digest, content = (
                data[: len(MARK)],
                data[len(MARK) : len(MARK) + 32],
                data[len(MARK) + 32 :],
            )
            if mark != MARK or hashlib.sha256(key.encode() + content).digest() != digest:
                return None
            found = pickle.loads(content)
            os.utime(path)
            return found
        # A damaged or foreign file may raise anything; the program is then compiled again.
        except Exception:
            return None

    def write(self, key: str, content: object) -> None:
        """Write content atomically, even if others write at the same time."""
        data = pickle.dumps(content)
        with contextlib.suppress(OSError):
            digest = hashlib.sha256(key.encode() + data).digest()
            # A file damaged by a power failure has another digest and is compiled again.
            write_bytes(self.folder / key, MARK + digest + data, durable=False)
            self._prune()

    def _prune(self) -> None:
        files = [
            (entry.stat().st_mtime, entry.stat().st_size, entry.path)
            for entry in os.scandir(self.folder)
            if entry.is_file()
        ]
        room = MOST_BYTES
        for i, (_, size, path) in enumerate(sorted(files, reverse=True)):
            room -= size
            if i >= MOST_FILES or room < 0:
                os.unlink(path)
