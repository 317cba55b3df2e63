"""Files read: regular ones of a limited size only, and every fault of the outside as a sentence."""

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
    """Whether there is a regular file; False for names that no file can have, too."""
    # Path.is_file raises for names that are too long
    return os.path.isfile(path)


def read_bytes(path: Path | str, size: str, what: str = "") -> bytes:
    """The content of a regular file.

    Args:
        path: the file; a pipe, a device or a folder is refused before it is opened.
        size: name of the limit of its size in `LIMITS`.
        what: what the file is for, e.g. "the mesh", for the message.

    Raises:
        ModelError: one sentence, for whatever cannot be read.
    """
    most, shown = limit(size), " ".join(filter(None, (what, shown_path(path))))
    try:
        _require_regular(os.stat(path), shown)
        # without O_NONBLOCK a pipe that takes the file's place now would block
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


def read_text(path: Path | str, size: str, what: str = "") -> str:
    """The content of a regular file in UTF-8, without a byte order mark (`read_bytes`).

    Raises:
        ModelError: one sentence, for whatever cannot be read or is not UTF-8.
    """
    data = read_bytes(path, size, what)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ModelError(
            f"{shown_path(path)} is not a text file in UTF-8 (line {line}); save it as UTF-8."
        ) from None


def reason(error: OSError) -> str:
    """What the system says, in lower case."""
    text = error.strerror or type(error).__name__
    return text[:1].lower() + text[1:]


def file_name(value: object, name: str) -> Path:
    """A path from an argument, a text or a path already."""
    if not isinstance(value, (str, os.PathLike)):
        raise ModelError(f"{name} is {value!r:.60}, expected the name of a file.")
    return Path(value)


def refuse_no_folder(path: Path) -> None:
    """Raise unless the folder of a file that is to be saved exists."""
    if not path.parent.is_dir():
        raise ModelError(
            f"cannot save {shown_path(path)}: folder {shown_path(path.parent)} does not exist."
        )


def shown_path(path: Path | str) -> str:
    """A path as part of a sentence: hidden characters escaped, the middle of long ones left out."""
    text = escaped(str(path), lines=False)
    return text if len(text) <= 300 else f"{text[:150]} … {text[-100:]}"


def _require_regular(about: os.stat_result, shown: str) -> None:
    if not stat.S_ISREG(about.st_mode):
        kind = KINDS.get(stat.S_IFMT(about.st_mode), "no regular file")
        raise ModelError(f"{shown} is {kind}, expected a regular file.")
