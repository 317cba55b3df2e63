"""Reading of regular files of limited size; every error of the system is one sentence."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from zwang.errors import ModelError
from zwang.files.limits import limit
from zwang.inputs.text import escaped

KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe (FIFO)",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def is_file(path: Path | str) -> bool:
    """Return True if a regular file exists; False also for names that no file can have."""
    # `Path.is_file` raises for names that are too long.
    return os.path.isfile(path)


def read_bytes(path: Path | str, size: str, what: str = "") -> bytes:
    """Read a regular file.

    Args:
        path: the file; a pipe, a device or a folder is refused before it is opened.
        size: name of the limit of its size in `LIMITS`.
        what: purpose of the file, e.g. "the mesh", for the message.

    Raises:
        ModelError: one sentence, if the file cannot be read for any reason.
    """
    most, shown = limit(size), " ".join(filter(None, (what, shown_path(path))))
    try:
        _require_regular(os.stat(path), shown)
        # Without O_NONBLOCK, a pipe that replaces the file just now would block.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(handle, "rb") as file:
            _require_regular(os.fstat(handle), shown)
            data = file.read(most + 1)
    except OSError as error:
        raise ModelError(f"cannot read {shown}: {reason(error)}.") from None
    except ModelError:
        raise
    except ValueError:  # NUL in a path
        raise ModelError(f"cannot read {shown}: no file can have this name.") from None
    if len(data) > most:
        raise ModelError(f"{shown} has more than {most} bytes, the most that is read.")
    return data


def read_text(path: Path | str, size: str) -> str:
    """Read a regular file in UTF-8, without a byte order mark (`read_bytes`).

    Raises:
        ModelError: one sentence, if the file cannot be read or is not UTF-8.
    """
    data = read_bytes(path, size)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ModelError(
            f"{shown_path(path)} is not a text file in UTF-8 (line {line}); save it as UTF-8."
        ) from None


def reason(error: OSError) -> str:
    """The message of the system in lower case."""
    text = error.strerror or type(error).__name__
    return text[:1].lower() + text[1:]


def file_name(value: object, name: str) -> Path:
    """Validate a path, given as a string or a path."""
    if not isinstance(value, (str, os.PathLike)):
        raise ModelError(f"{name} is {value!r:.60}, expected the name of a file.")
    return Path(value)


def refuse_no_folder(path: Path) -> None:
    """Raise unless the folder of a file to be saved exists."""
    if not path.parent.is_dir():
        raise ModelError(
            f"cannot save {shown_path(path)}: folder {shown_path(path.parent)} does not exist."
        )


def shown_path(path: Path | str) -> str:
    """Format a path for a sentence: hidden characters escaped, the middle of long ones cut."""
    text = escaped(str(path), lines=False)
    return text if len(text) <= 300 else f"{text[:150]} … {text[-100:]}"


def _require_regular(about: os.stat_result, shown: str) -> None:
    if not stat.S_ISREG(about.st_mode):
        kind = KINDS.get(stat.S_IFMT(about.st_mode), "no regular file")
        raise ModelError(f"{shown} is {kind}, expected a regular file.")
