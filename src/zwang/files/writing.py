"""Atomic writing of files.

A file is written next to its destination under a temporary name, flushed to the disk, and then
renamed. If the program ends before, by a full disk, a kill or a loss of power, the earlier file is
unchanged.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from zwang.errors import ModelError, OutputError
from zwang.files.reading import file_name, reason, shown_path

PREFIX, SUFFIX = ".zwang-", ".part"
"""Pattern of the names of incomplete files."""
ABANDONED = 3600.0
"""Age after which an incomplete file is taken for that of a killed process [s]."""


def write_bytes(path: Path | str, data: bytes | memoryview, *, durable: bool = True) -> None:
    """Write a file atomically.

    Args:
        path: the file; a link is followed.
        data: its content.
        durable: whether it must be flushed to the disk before it replaces an earlier file.

    Raises:
        OutputError: one sentence, if it cannot be written; an earlier file is unchanged.
    """
    with contextlib.ExitStack() as unless_placed:
        part, place = _beside(path, data, durable, unless_placed)
        with _said(path):
            os.replace(part, place)


def write_files(folder: Path | str, files: Mapping[str, bytes | str]) -> list[Path]:
    """Write files that belong together, such as a program and its header: all of them or none.

    The folder may hold other files; it is created if it does not exist.

    Args:
        folder: the destination.
        files: content by name; strings are written in UTF-8.

    Returns:
        The files, in this order.

    Raises:
        OutputError: one sentence, if one cannot be written; earlier files are unchanged.
    """
    at = make_folder(folder)
    paths = [at / name for name in files]
    with contextlib.ExitStack() as unless_placed:
        parts = [
            _beside(path, _encoded(x) if isinstance(x, str) else x, True, unless_placed)
            for path, x in zip(paths, files.values(), strict=True)
        ]
        # Renaming needs no disk space: a full disk has raised an error above.
        for path, (part, place) in zip(paths, parts, strict=True):
            with _said(path):
                os.replace(part, place)
    return paths


def _beside(
    path: Path | str, data: bytes | memoryview, durable: bool, unless_placed: contextlib.ExitStack
) -> tuple[Path, Path]:
    """Write a complete temporary file next to its destination; returns both paths.

    The temporary file is removed at the end of `unless_placed` if it still exists.
    """
    with _said(path):
        place = Path(os.path.realpath(path))
        mode = _mode(place)
        part = new_part(place)
        handle = os.open(
            part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode
        )
        unless_placed.callback(_removed, part)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(handle)
        if mode is not None:  # The umask may have removed permissions that the old file has.
            with contextlib.suppress(OSError):
                os.chmod(part, mode)
        return part, place


def _removed(part: Path) -> None:
    with contextlib.suppress(OSError):
        os.unlink(part)


@contextlib.contextmanager
def _said(path: Path | str) -> Iterator[None]:
    """Raise errors of the system as one sentence about a file or folder that is written."""
    try:
        yield
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(
            error.errno, f"cannot write {shown_path(path)}: {reason(error)}; {_left(path)}."
        ) from None
    except ValueError:  # NUL in a path
        raise OutputError(
            None, f"cannot write {shown_path(path)}: no file can have this name."
        ) from None


def write_text(path: Path | str, text: str, *, durable: bool = True) -> None:
    """Write a file in UTF-8 atomically (`write_bytes`)."""
    write_bytes(path, _encoded(text), durable=durable)


def _encoded(text: str) -> bytes:
    # A surrogate from a file name must not prevent the whole page.
    return text.encode("utf-8", "backslashreplace")


def write_folder(path: Path | str, files: Mapping[str, bytes]) -> None:
    """Write a folder of files atomically, in place of an earlier one.

    Args:
        path: the folder.
        files: content by path within the folder, with slashes.

    Raises:
        OutputError: one sentence, if it cannot be written; an earlier folder is unchanged.
    """
    place = Path(os.path.realpath(path))
    beside, old = new_part(place), new_part(place)
    with _said(path):
        try:
            for name, data in files.items():
                (beside / name).parent.mkdir(parents=True, exist_ok=True)
                with open(beside / name, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
            if os.path.lexists(place):  # One renaming cannot replace a folder by another.
                os.replace(place, old)
            os.replace(beside, place)
        except BaseException:
            if old.exists() and not place.exists():
                os.replace(old, place)
            raise
        finally:
            shutil.rmtree(beside, ignore_errors=True)
            shutil.rmtree(old, ignore_errors=True)


def new_part(place: Path) -> Path:
    """Return a temporary name next to `place` for an incomplete file."""
    return place.with_name(f"{PREFIX}{os.urandom(8).hex()}{SUFFIX}")


def page(path: Path | str) -> Path:
    """Validate the path of an HTML page.

    Raises:
        ModelError: for another file name extension, which would not indicate HTML.
    """
    path = file_name(path, "path")
    if path.suffix.lower() not in (".html", ".htm"):
        raise ModelError(
            f"cannot write {shown_path(path)}: the ending {path.suffix!r:.40} names no page; "
            "expected .html."
        )
    return path


def make_folder(path: Path | str) -> Path:
    """Create a folder and its parents, and remove incomplete files of killed processes in it.

    Raises:
        OutputError: one sentence, if it cannot be made or written to.
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(13, "permission denied")
    except OSError as error:
        raise OutputError(
            error.errno, f"cannot make the folder {shown_path(path)}: {reason(error)}."
        ) from None
    except ValueError:
        raise OutputError(
            None, f"cannot make the folder {shown_path(path)}: no folder can have this name."
        ) from None
    with contextlib.suppress(OSError):
        for left in folder.glob(f"{PREFIX}*{SUFFIX}"):
            if time.time() - left.stat().st_mtime > ABANDONED:
                shutil.rmtree(left) if left.is_dir() else left.unlink()
    return folder


def _mode(place: Path) -> int | None:
    """Return the permissions of the file to be replaced; None if there is none.

    Raises:
        OSError: if the name is not that of a regular file, which renaming would destroy.
    """
    try:
        about = os.stat(place)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(about.st_mode):
        kind = "it is a folder" if stat.S_ISDIR(about.st_mode) else "it is no regular file"
        raise OSError(None, kind)
    return stat.S_IMODE(about.st_mode)


def _left(path: Path | str) -> str:
    return (
        "what stood there is unchanged" if os.path.lexists(path) else "nothing has been left there"
    )
