"""Files written, all or nothing.

A file is written beside its place under a name of its own, brought to the disk, and only then put
in place by one renaming. Whatever ends the program before, be it a full disk, a kill or a loss of
power, leaves what stood there before.
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
"""Names of files that are not complete yet."""
ABANDONED = 3600.0
"""Seconds after which a part is taken for one that a killed process has left behind."""


def write_bytes(path: Path | str, data: bytes | memoryview, *, durable: bool = True) -> None:
    """Write a file, all or nothing.

    Args:
        path: the file; a link is followed.
        data: its content.
        durable: whether it has to be on the disk, not only on its way there, before it replaces
            an earlier one.

    Raises:
        OutputError: one sentence, if it cannot be written; an earlier file is unchanged.
    """
    with contextlib.ExitStack() as unless_placed:
        part, place = _beside(path, data, durable, unless_placed)
        with _said(path):
            os.replace(part, place)


def write_files(folder: Path | str, files: Mapping[str, bytes | str]) -> list[Path]:
    """Write files that belong together, such as a program and its header: all of them or none.

    The folder may hold other files; it is made.

    Args:
        folder: where to.
        files: content by name; text is written in UTF-8.

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
        # renaming takes no room: what fails for lack of it has failed above
        for path, (part, place) in zip(paths, parts, strict=True):
            with _said(path):
                os.replace(part, place)
    return paths


def _beside(
    path: Path | str, data: bytes | memoryview, durable: bool, unless_placed: contextlib.ExitStack
) -> tuple[Path, Path]:
    """A new file beside its place, complete, and the place; the former is removed at the end of
    `unless_placed` if it is still there.
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
        if mode is not None:  # the umask may have taken rights away that the old file has
            with contextlib.suppress(OSError):
                os.chmod(part, mode)
        return part, place


def _removed(part: Path) -> None:
    with contextlib.suppress(OSError):
        os.unlink(part)


@contextlib.contextmanager
def _said(path: Path | str) -> Iterator[None]:
    """Errors of the system as one sentence about a file or folder that is written."""
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
    """Write a file in UTF-8, all or nothing (`write_bytes`)."""
    write_bytes(path, _encoded(text), durable=durable)


def _encoded(text: str) -> bytes:
    # a surrogate that came in by a file's name must not cost the whole page
    return text.encode("utf-8", "backslashreplace")


def write_folder(path: Path | str, files: Mapping[str, bytes]) -> None:
    """Write a folder of files, all or nothing, in place of one that stood there.

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
            if os.path.lexists(place):  # a folder cannot take the place of another in one renaming
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
    """A name beside `place` for what is not complete yet."""
    return place.with_name(f"{PREFIX}{os.urandom(8).hex()}{SUFFIX}")


def page(path: Path | str) -> Path:
    """The path of a page, as a browser opens it.

    Raises:
        ModelError: for another ending, which would promise something else than HTML.
    """
    path = file_name(path, "path")
    if path.suffix.lower() not in (".html", ".htm"):
        raise ModelError(
            f"cannot write {shown_path(path)}: the ending {path.suffix!r:.40} names no page; "
            "expected .html."
        )
    return path


def make_folder(path: Path | str) -> Path:
    """Make a folder and those above it, and clear away what killed processes have left in it.

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
    """Rights of the file that is replaced; None if there is none.

    Raises:
        OSError: if something else than a file has the name, which renaming would destroy.
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
