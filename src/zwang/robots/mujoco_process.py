"""A program: compile an MJCF file by MuJoCo and save the result as one binary file.

Run by `zwang.robots.mujoco_reader` in a process of its own, because MuJoCo ends its process for
some files and hangs for others. Nothing of zwang is imported here.

    python mujoco_process.py FILE RESULT FLOATING MEMORY BYTES SECONDS BODIES
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys
from types import ModuleType
from typing import Any

UNKNOWN = "Caught an unknown exception!"
"""Message if MuJoCo's C++ library raises an exception that Python does not know: lack of memory, or
impossible sizes of arrays.
"""


def main(path: str, result: str, floating: str, *limits: str) -> str | None:
    """Compile a file; returns the error, or None."""
    memory, size, seconds, bodies = map(int, limits)
    _limit(memory, size, seconds)
    too_much = f"reading it takes more than {memory // 2**20} MiB of memory."
    mujoco: ModuleType = importlib.import_module("mujoco")

    try:
        spec, wrong = _read(mujoco, path, floating, bodies)
        if wrong:
            return wrong
        try:
            model = spec.compile()
        except ValueError:
            # read again, as bodies of a spec that failed to compile raise its error again
            spec, _ = _read(mujoco, path, floating, bodies)
            lost, wrong = _drop_missing(mujoco, spec, path)
            if wrong:
                return wrong
            if not lost:
                raise
            model = spec.compile()
            with open(f"{result}.lost", "w", encoding="utf-8") as file:
                file.write("\n".join(lost))
        if mujoco.mj_sizeModel(model) > size:  # mj_saveModel does not report a failure
            return (
                f"its compiled model has more than {size} bytes; take smaller pictures and meshes."
            )
        mujoco.mj_saveModel(model, result, None)
        if os.path.getsize(result) < mujoco.mj_sizeModel(model):
            return os.strerror(errno.ENOSPC)
    except MemoryError:
        return too_much
    except Exception as error:
        if str(error) == UNKNOWN:
            return f"MuJoCo ends without a reason; most probably, {too_much}"
        return f"{_said(error)}: {too_much}" if "llocate memory" in str(error) else _said(error)
    return None


def _read(mujoco: ModuleType, path: str, floating: str, most: int) -> tuple[Any, str | None]:
    """Read a file as an `MjSpec`; returns it with the error, or None."""
    spec = mujoco.MjSpec.from_file(path)
    spec.compiler.fusestatic = False
    if (number := len(spec.bodies)) > most:
        return spec, f"has {number} bodies, expected at most {most}."
    return spec, _free(spec) if floating == "floating" else None


def _said(error: Exception) -> str:
    return f"MuJoCo, which reads MJCF, says: {' '.join(str(error).split())}"


def _limit(memory: int, size: int, seconds: int) -> None:
    try:
        import resource
    except ImportError:  # not POSIX
        return
    for kind, most in (
        ("RLIMIT_AS", memory),
        ("RLIMIT_FSIZE", size),
        ("RLIMIT_CPU", seconds),
        ("RLIMIT_CORE", 0),
    ):
        with contextlib.suppress(ValueError, OSError):  # macOS has no limit of address space
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


def _drop_missing(mujoco: ModuleType, spec: Any, path: str) -> tuple[list[str], str | None]:
    """Remove meshes, height fields, skins and textures with missing files from a model.

    Args:
        mujoco: the package.
        spec: the model, an `MjSpec`, which is changed.
        path: its file.

    Returns:
        The missing files, and a sentence if the mass of a body depends on one.
    """
    folder = os.path.dirname(os.path.abspath(path))

    def missing(file: str, below: str) -> bool:
        name = os.path.basename(file) if spec.strippath else file
        return bool(file) and not os.path.exists(os.path.join(folder, below, name))

    meshes = {m.name or _stem(m.file): m.file for m in spec.meshes if missing(m.file, spec.meshdir)}
    fields = {h.name or _stem(h.file): h.file for h in spec.hfields if missing(h.file, "")}
    lost = [*meshes.values(), *fields.values()]
    for geom in [*spec.geoms]:
        if geom.meshname in meshes and _has_mass(mujoco, spec, geom):
            return lost, (
                f"the mesh {meshes[geom.meshname]} is not there, from which the mass of body "
                f"{geom.parent.name!r} is to be found; put it there, or give the body <inertial>."
            )
        if geom.meshname in meshes or geom.hfieldname in fields:
            spec.delete(geom)
    for part in [*spec.meshes, *spec.hfields]:
        if (part.name or _stem(part.file)) in (meshes | fields):
            spec.delete(part)
    for skin in [*spec.skins]:
        if missing(skin.file, spec.meshdir):
            lost.append(skin.file)
            spec.delete(skin)
    for texture in spec.textures:
        files = [f for f in [texture.file, *texture.cubefiles] if missing(f, spec.texturedir)]
        if files:
            # Materials refer to the texture, which becomes one of a single color.
            lost += files
            texture.file, texture.cubefiles = "", [""] * len(texture.cubefiles)
            texture.builtin = mujoco.mjtBuiltin.mjBUILTIN_FLAT
            texture.width = texture.height = texture.width or 1
    return lost, None


def _stem(file: str) -> str:
    return os.path.splitext(os.path.basename(file))[0]


def _has_mass(mujoco: ModuleType, spec: Any, geom: Any) -> bool:
    """Return whether a geometry adds to the mass of a body that moves."""
    always = spec.compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    never = spec.compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
    if never or (geom.parent.explicitinertial and not always):
        return False
    least, most = spec.compiler.inertiagrouprange
    if geom.mass == 0 or geom.density == 0 or not least <= geom.group <= most:
        return False
    body = geom.parent
    while body is not None and body.name != "world":
        if list(body.joints):
            return True
        body = body.parent
    return False


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
