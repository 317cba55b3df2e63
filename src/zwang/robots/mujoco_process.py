"""A program: compile an MJCF file by MuJoCo and save the result as one binary file.

Run by `zwang.robots.mujoco_reader` in a process of its own, because MuJoCo ends its process for
some files and never comes back from others. Nothing of zwang is imported here.

    python mujoco_process.py FILE RESULT FLOATING MEMORY BYTES SECONDS BODIES
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys
from typing import Any

UNKNOWN = "Caught an unknown exception!"
"""What is said where MuJoCo's C++ library raises what Python's does not know: lack of memory, or
sizes that no array can have."""


def main(path: str, result: str, floating: str, *limits: str) -> str | None:
    """What is wrong with a file, or None."""
    memory, size, seconds, bodies = map(int, limits)
    _limit(memory, size, seconds)
    too_much = f"reading it takes more than {memory // 2**20} MiB of memory."
    mujoco: Any = importlib.import_module("mujoco")

    try:
        spec = mujoco.MjSpec.from_file(path)
        spec.compiler.fusestatic = False
        number = len(spec.bodies)
        if number > bodies:
            return f"has {number} bodies, expected at most {bodies}."
        if floating == "floating" and (wrong := _free(spec)):
            return wrong
        model = spec.compile()
        if mujoco.mj_sizeModel(model) > size:  # mj_saveModel does not say that it failed
            return (
                f"its compiled model has more than {size} bytes; take smaller pictures and meshes."
            )
        mujoco.mj_saveModel(model, result, None)
        if os.path.getsize(result) < mujoco.mj_sizeModel(model):
            return os.strerror(errno.ENOSPC)
    except MemoryError:
        return too_much
    except Exception as error:
        said = " ".join(str(error).split())
        if said == UNKNOWN:
            return f"MuJoCo ends without a reason; most probably, {too_much}"
        return f"{said}: {too_much}" if "llocate memory" in said else said
    return None


def _limit(memory: int, size: int, seconds: int) -> None:
    try:
        import resource
    except ImportError:  # no POSIX
        return
    for kind, most in (
        ("RLIMIT_AS", memory),
        ("RLIMIT_FSIZE", size),
        ("RLIMIT_CPU", seconds),
        ("RLIMIT_CORE", 0),
    ):
        with contextlib.suppress(ValueError, OSError):  # macOS knows no limit of address space
            resource.setrlimit(getattr(resource, kind), (most, most))


def _free(spec) -> str | None:
    """Give every body that is fixed to the ground a free joint."""
    still = [body for body in spec.worldbody.bodies if not list(body.joints)]
    if not still:
        return "floating=True, but no body is fixed to the ground."
    for body in still:
        taken, count, name = {joint.name for joint in spec.joints}, 2, "base"
        while name in taken:
            name, count = f"base {count}", count + 1
        body.add_freejoint(name=name)
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
