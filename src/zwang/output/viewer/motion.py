"""A run and its scene as numbers: poses at equal time steps, forces and violations at samples."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from zwang.bodies.shape import MESHES, Shape
from zwang.errors import ModelError
from zwang.files import read_bytes
from zwang.files.packing import curves
from zwang.output.contact import contact_forces, held, impulse_unit, rates_of
from zwang.scene import GROUND, Mark, Scene, array_namespace
from zwang.simulation.results import Run
from zwang.simulation.results.interpolate import hermite

FRAMES_PER_SECOND = 30
"""Frames per second of the run; the page interpolates between them."""
FEWEST_FRAMES, MOST_FRAMES = 121, 1801
"""Numbers of frames of a short and of a long run."""
HALF_A_TURN = 1e-6
"""Size of (1 + cos, sin) below which two directions are opposite and determine no axis of rotation.
"""


def motion(run: Run, scene: Scene) -> dict[str, Any]:
    """All data of the page; arrays are packed by `zwang.files.packing`.

    Raises:
        ModelError: for a scene that does not fit the run, or a mesh that cannot be read.
    """
    start, end = float(run.steps.t[0]), float(run.steps.t[-1])
    times = np.linspace(
        start,
        end,
        int(np.clip(np.ceil(FRAMES_PER_SECOND * (end - start)) + 1, FEWEST_FRAMES, MOST_FRAMES)),
    )
    # Equidistant instants, not the steps, so that the page finds a frame by one division.
    seen, turn = scene.at(configurations(run, times)), upright(scene, run.q[0])
    index = {name: i for i, name in enumerate(scene.points)}
    owners = list(
        dict.fromkeys([*scene.bodies, *(x.body for x in (*scene.bars, *scene.plates) if x.body)])
    )
    owners = [x for x in owners if x != GROUND]
    made: dict[str, Any] = {
        "space": scene.dimensions(run.q[0]) == 3,
        "unit": scene.unit,
        "view": list(map(float, scene.view)),
        "start": start,
        "end": end,
        "frames": len(times),
        "points": list(scene.points),
        "owners": owners,
        "bars": [
            {
                "ends": [index[x] for x in bar.ends],
                "owner": _owner(owners, bar.body),
                "kind": bar.kind,
            }
            for bar in scene.bars
        ],
        "plates": [
            {"corners": [index[x] for x in plate.corners], "owner": _owner(owners, plate.body)}
            for plate in scene.plates
        ],
        "bodies": [
            {"owner": _owner(owners, name), "shapes": [_shape(name, x) for x in shapes]}
            for name, shapes in scene.bodies.items()
        ],
        "joints": [
            {
                "name": mark.name,
                "point": index[mark.point],
                "symbol": mark.symbol,
                "grounded": mark.grounded,
            }
            for mark in scene.joints
        ],
        "traces": [index[name] for name in scene.traces],
        "places": curves(_turned(turn, seen.places), smooth=True),
        "axes": curves(_turned(turn, seen.axes), smooth=True),
        "poses": curves(_turned_poses(turn, seen.poses), smooth=True),
        "samples": curves(run.t),
        "violation": curves(violations(run, scene.joints)),
        "forces": None,
        "contact": _contact(run, scene, turn),
    }
    # Forces only at the samples: computing them at every frame would take longer than the run.
    if scene.forces is not None and scene.joints:
        made["forces"] = curves(in_page(turn, np.asarray(scene.forces(run))), smooth=True)
    return made


def in_page(turn: Turn, vectors: np.ndarray) -> np.ndarray:
    """Vectors of the plane or of space, shape (..., d), in the page's axes, shape (..., 3)."""
    xp, d = array_namespace(vectors), vectors.shape[-1]
    return _turned(turn, xp.concatenate([vectors, xp.zeros_like(vectors[..., : 3 - d])], axis=-1))


def everything(scene: Scene, q: np.ndarray, turn: Turn) -> np.ndarray:
    """Points, axes and poses of one configuration in the page's axes, concatenated."""
    seen, xp = scene.at(q[None]), array_namespace(q)
    found = _turned(turn, seen.places), _turned(turn, seen.axes), _turned_poses(turn, seen.poses)
    return xp.concatenate([x.ravel() for x in found])


class Turn(NamedTuple):
    """A rotation as a matrix, shape (3, 3), and as a unit quaternion (w, x, y, z)."""

    matrix: np.ndarray
    quaternion: np.ndarray


def upright(scene: Scene, q: np.ndarray) -> Turn:
    """The rotation from the scene's upward direction to the page's: y in the plane, z in space."""
    d = scene.dimensions(q)
    given = np.zeros(3)
    given[:d] = np.eye(d)[-1] if scene.up is None else scene.up
    given, target = given / np.linalg.norm(given), np.eye(3)[d - 1]
    # 1 + cos and sin times the axis are the quaternion times 2 cos of half the angle.
    quaternion = np.append(1 + given @ target, np.cross(given, target))
    if np.linalg.norm(quaternion) < HALF_A_TURN:
        # Half a turn may have any perpendicular axis; in the plane it must be z.
        quaternion = np.append(0.0, np.eye(3)[2] if d == 2 else np.eye(3)[0])
    w, *v = quaternion / np.linalg.norm(quaternion)
    x, y, z = v
    across = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return Turn(np.eye(3) + 2 * w * across + 2 * across @ across, np.array([w, x, y, z]))


def _turned(turn: Turn, vectors: np.ndarray) -> np.ndarray:
    """Rotate vectors of any shape (..., 3)."""
    return vectors @ turn.matrix.T


def _turned_poses(turn: Turn, poses: np.ndarray) -> np.ndarray:
    """Rotate positions and quaternions (w, x, y, z), shape (..., 7)."""
    w, v = turn.quaternion[0], turn.quaternion[1:]
    real, own = poses[..., 3:4], poses[..., 4:]
    xp = array_namespace(poses)
    scalar = w * real - xp.sum(v * own, axis=-1, keepdims=True)
    vector = w * own + real * v + xp.cross(v + 0 * own, own)
    return xp.concatenate([_turned(turn, poses[..., :3]), scalar, vector], axis=-1)


def configurations(run: Run, times: np.ndarray) -> np.ndarray:
    """q at any times, shape (n, nq), by cubic interpolation of the accepted steps and their rates.

    The error is not visible. Before and after an impact the interpolants are separate, as the steps
    contain the impact twice.
    """
    system, p, nq = run.model.system, run.flow.dynamics.p, run.model.system.nq
    t, q, v = run.steps.t, run.steps.y[:, :nq], run.steps.y[:, nq:]
    if len(t) < 2:
        return np.repeat(q, len(times), axis=0)
    rates = rates_of(system, p, q, v, t)
    made = np.empty((len(times), nq))
    # An impact is two steps at one instant; no curve passes through both.
    for piece in np.split(np.arange(len(t)), np.flatnonzero(np.diff(t) <= 0) + 1):
        within = times >= t[piece[0]]
        if len(piece) > 1:
            before = np.searchsorted(t[piece], times[within], side="right") - 1
            near = piece[np.clip(before, 0, len(piece) - 2)][:, None] + np.arange(2)
            made[within] = hermite(t[near], q[near], rates[near], times[within])
        else:
            made[within] = q[piece]
    return made


def violations(run: Run, joints: tuple[Mark, ...]) -> np.ndarray:
    """Largest |φ| or |ψ| of each joint's constraints at the samples, shape (n, joints).

    It is NaN for a joint without constraints.
    """
    data = run.variables
    names = [str(n) for n in data["constraint"].values]
    # fmax, as constraints of one level have NaN at the other
    worst = np.fmax(np.abs(data["violation"].values), np.abs(data["velocity_violation"].values))
    columns = [[names.index(n) for n in (mark.name,) if n in names] for mark in joints]
    for i, mark in enumerate(joints):
        if mark.constraints is not None:
            columns[i] = [names.index(n) for n in mark.constraints]
    return (
        np.stack(
            [worst[:, c].max(axis=1) if c else np.full(len(worst), np.nan) for c in columns], axis=1
        )
        if joints
        else worst[:, :0]
    )


def _contact(run: Run, scene: Scene, turn: Turn) -> dict[str, Any] | None:
    """Contacts as bands over time, and contact forces at their points."""
    bands = held(run)
    if not bands:
        return None
    forces = contact_forces(run, scene)
    names = [x.name for x in bands]
    both = [_turned(turn, x) for force in forces for x in (force.normal, force.tangential)]
    return {
        "bands": [
            {
                "name": x.name,
                "gap": x.gap,
                **{kind: curves(getattr(x, kind)) for kind in ("holds", "slides", "impulses")},
            }
            for x in bands
        ],
        "unit": impulse_unit(run, bands),
        "points": [
            {
                "point": x.point,
                "gap": names.index(x.name),
                "friction": names.index(x.friction) if x.friction else -1,
                "coefficient": x.coefficient,
            }
            for x in forces
        ],
        "forces": curves(np.stack(both, axis=1), smooth=True) if both else None,
    }


def _owner(owners: list[str], body: str) -> int:
    return owners.index(body) if body and body != GROUND else -1


def _shape(body: str, shape: Shape) -> dict[str, Any]:
    given = {
        "kind": shape.kind,
        "size": list(map(float, shape.size)),
        "position": list(map(float, shape.position)),
        "orientation": list(map(float, shape.orientation)),
        "color": None if shape.color is None else list(map(float, shape.color)),
    }
    if shape.file is None:
        return given
    path = Path(shape.file)
    # checked before the file is read, which may be large
    if path.suffix.lower() not in MESHES:
        raise ModelError(
            f"mesh {path} of body {body!r} is no {' or '.join(MESHES)} file; convert it, or "
            "give another shape."
        )
    content = read_bytes(path, "mesh_size", f"the mesh of body {body!r},")
    return {**given, "format": path.suffix.lower()[1:], "mesh": base64.b64encode(content).decode()}
