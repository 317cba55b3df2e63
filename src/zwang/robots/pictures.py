"""Shapes of the bodies of a compiled MuJoCo model."""

from __future__ import annotations

from pathlib import Path

from zwang.bodies.screws.twist import inverse
from zwang.files import is_file
from zwang.robots.description import Description
from zwang.robots.text import COLORS, color_of, found, of_quaternion, shape

SHAPES = {
    "SPHERE": ("sphere", lambda a, b, c: (a,)),
    "CAPSULE": ("capsule", lambda a, b, c: (a, 2 * b)),
    "CYLINDER": ("cylinder", lambda a, b, c: (a, 2 * b)),
    "BOX": ("box", lambda a, b, c: (2 * a, 2 * b, 2 * c)),
    "ELLIPSOID": ("ellipsoid", lambda a, b, c: (a, b, c)),
}
"""MuJoCo's geometries, and their sizes from its half lengths."""


def add_shapes(mujoco, model, bodies: list[str], made: Description, path: Path) -> None:
    """Add the shapes of all bodies: visual ones, or those for contacts if a file has no others."""
    seen = [
        g for g in range(model.ngeom) if not (model.geom_contype[g] or model.geom_conaffinity[g])
    ] or range(model.ngeom)
    odd, colorless = [], []
    for g in seen:
        kind, body = (
            mujoco.mjtGeom(model.geom_type[g]).name.removeprefix("mjGEOM_"),
            bodies[model.geom_bodyid[g]],
        )
        frame = of_quaternion(model.geom_pos[g], model.geom_quat[g])
        material = model.geom_matid[g]
        # A material overrides the color of the geometry.
        given = model.mat_rgba[material] if material >= 0 else model.geom_rgba[g]
        if (color := color_of(given)) is None:
            colorless.append(body)
        if kind == "MESH":  # MuJoCo shifts a mesh to its center of mass
            k = model.geom_dataid[g]
            frame = frame @ inverse(of_quaternion(model.mesh_pos[k], model.mesh_quat[k]))
            file = (
                model.paths[model.mesh_pathadr[k] :].split(b"\0")[0].decode()
                if model.mesh_pathadr[k] >= 0
                else ""
            )
            made.shapes.setdefault(body, []).append(
                shape("mesh", model.mesh_scale[k], frame, color, _beside(file, path))
            )
        elif kind in SHAPES:
            name, sizes = SHAPES[kind]
            made.shapes.setdefault(body, []).append(
                shape(name, sizes(*model.geom_size[g]), frame, color)
            )
        else:
            odd.append(f"{kind.lower()} of {body}")
    for g in range(model.ngeom):
        kind = mujoco.mjtGeom(model.geom_type[g]).name.removeprefix("mjGEOM_")
        body = model.geom_bodyid[g]
        if (model.geom_contype[g] or model.geom_conaffinity[g]) and kind in SHAPES and body:
            name, sizes = SHAPES[kind]
            frame = of_quaternion(model.geom_pos[g], model.geom_quat[g])
            own = shape(name, sizes(*model.geom_size[g]), frame, None)
            made.touching.setdefault(bodies[body], []).append(own)
    made.leave_out("geometries without a picture", odd)
    made.leave_out(COLORS, colorless)


def _beside(file: str, path: Path) -> str:
    """The path of a mesh, which may be in the compiler's mesh folder."""
    for folder in (path.parent, *(p for p in path.parent.iterdir() if p.is_dir())):
        if file and is_file(folder / file):
            return str(folder / file)
    return found(file, path)
