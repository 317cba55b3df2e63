"""Small tables with names and units that describe models and their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import numpy as np

from zwang.equations.constraint import AbstractConstraint
from zwang.equations.constraint.units import per_second
from zwang.errors import Result
from zwang.inputs.arrays import is_concrete
from zwang.inputs.text import counted
from zwang.output.named_tables import NamedTable, number, texts

if TYPE_CHECKING:
    from zwang.bodies.rigid import RigidBodies
    from zwang.bodies.tree.tree import BodyTree
    from zwang.dynamics.model import Model
    from zwang.dynamics.placement import Placement
    from zwang.equations.constraint import Constraints
    from zwang.equations.system import System
    from zwang.gallery.example import Example
    from zwang.learning.environment import Environment
    from zwang.mechanism.reactions import Reaction
    from zwang.scene import Scene
    from zwang.servo.servo import Servo
    from zwang.simulation.results.presentation import Presentation
    from zwang.simulation.results.variables import Variables
    from zwang.simulation.switching import Switch
    from zwang.simulation.trajectory import Trajectory

SHOWN_NUMBERS = 12
"""Largest number of parameter values that are shown; of larger arrays the shape is shown."""


def numbers(value) -> str:
    """Format a parameter: its values if they are few, else its shape."""
    size = f"{' × '.join(map(str, np.shape(value))) or 1} numbers"
    if not is_concrete(value):
        return f"{size}, traced"
    array = np.asarray(value)
    if array.size > SHOWN_NUMBERS or array.dtype.kind not in "fiub":
        return size
    shown = ", ".join(number(x) for x in array.ravel())
    return shown if array.size == 1 else f"[{shown}]"


def system_tables(system: System, title: str = "system") -> list[NamedTable]:
    """Coordinates and velocities by name."""
    heading = (
        f"{title}: {counted(system.nq, 'coordinate')}, "
        f"{system.nv} velocit{'y' if system.nv == 1 else 'ies'}"
    )
    if tuple(system.coordinates) == tuple(system.velocities):
        rows = [
            (name, unit or "1", rate or per_second(unit) or "1")
            for name, unit, rate in zip(
                system.coordinates, system.units, system.velocity_units, strict=True
            )
        ]
        return [NamedTable(heading, ("coordinate", "unit", "unit of its velocity"), rows)]
    placed = list(zip(system.coordinates, (x or "1" for x in system.units), strict=True))
    moved = list(zip(system.velocities, (x or "1" for x in system.velocity_units), strict=True))
    return [
        NamedTable(heading, ("coordinate", "unit"), placed),
        NamedTable(None, ("velocity", "unit"), moved),
    ]


def constraints_tables(constraints: Constraints) -> list[NamedTable]:
    """Constraints by name, with level and rows."""
    rows = []
    for member, size in zip(constraints.members, constraints.sizes, strict=True):
        own = size // len(member.parts)
        written = member
        # A module's constraint in a hierarchy has the kind of the constraint that it wraps.
        while isinstance(inner := getattr(written, "constraint", None), AbstractConstraint):
            written = inner
        kind = type(written).__name__
        rows += [(part, kind, str(member.level), str(own)) for part in member.parts]
    if not rows:
        return [NamedTable("no constraints", (), ())]
    title = f"{counted(len(rows), 'constraint')} of {counted(constraints.m, 'row')}"
    return [NamedTable(title, ("constraint", "kind", "given at level", "rows"), rows)]


def model_tables(model: Model) -> list[NamedTable]:
    """Coordinates, constraints and parameters of a model."""
    tables = [*system_tables(model.system, model.name), *constraints_tables(model.constraints)]
    given = jax.tree_util.tree_flatten_with_path(model.params)[0]
    named = [("".join(map(_key, path)).lstrip("."), numbers(x)) for path, x in given]
    if named:
        tables.append(NamedTable(None, ("parameter", "value"), named))
    if model.servo is not None:
        remark = f": {model.servo.remark}" * bool(model.servo.remark)
        tables.append(NamedTable(f"controlled by a servo{remark}", (), ()))
    return tables


def _key(part: object) -> str:
    """One part of the path to a parameter."""
    name = getattr(part, "key", getattr(part, "name", getattr(part, "idx", part)))
    return f"[{name}]" if isinstance(name, int) else f".{name}"


def text_of_example(example: Example) -> str:
    """Format a member of the gallery as text: its description and its model."""
    said = f"{example.model.name}: {example.description}" if example.description else ""
    run = f"runs for {number(example.duration, 's')}: zw.simulate(.model, .q0, .v0, duration=…)"
    return "\n".join(x for x in (said, run, *texts(model_tables(example.model))) if x)


def variables_tables(variables: Variables) -> list[NamedTable]:
    """Variables of a run: dimensions, units and descriptions."""
    rows = [
        (name, " × ".join(x.dims), str(x.attrs.get("units", "")), str(x.attrs.get("long_name", "")))
        for name, x in variables.data.items()
    ]
    title = f"{counted(len(rows), 'variable')} at the samples; [name].values is the array"
    return [NamedTable(title, ("variable", "dimensions", "unit", "what it is"), rows)]


def placement_tables(placement: Placement) -> list[NamedTable]:
    """State that was projected onto its constraints."""
    found = "" if placement.converged else "; residuals are more than round-off"
    rows = [
        ("q", numbers(placement.state.q), number(placement.moved_q)),
        ("v", numbers(placement.state.v), number(placement.moved_v)),
    ]
    note = (
        f"violation {placement.violation_before:.1e} before, {placement.violation_after:.1e} "
        f"after; of the velocity {placement.velocity_violation_before:.1e}, "
        f"{placement.velocity_violation_after:.1e}"
    )
    title = f"state on the constraints at t = {number(placement.state.t, 's')}{found}"
    return [NamedTable(title, ("", "value", "moved by at most"), rows, note)]


def trajectory_tables(found: Trajectory) -> list[NamedTable]:
    """Trajectory: how it ended; a batch by the number of its members."""
    if np.ndim(found.result):
        shape = " × ".join(map(str, np.shape(found.result)))
        title = f"trajectories of {shape} motions, {np.shape(found.t)[-1]} samples each"
        return [NamedTable(title, (), ())]
    ended = Result(int(found.result)).sentence
    rows = [
        ("q", numbers(found.q[0]), numbers(found.end.q)),
        ("v", numbers(found.v[0]), numbers(found.end.v)),
    ]
    note = (
        f"{int(found.steps)} steps, {int(found.rejected)} rejected; violation up to "
        f"{float(np.nanmax(np.asarray(found.violation))):.1e}"
    )
    title = f"trajectory to t = {number(found.end.t, 's')}, {len(found.t)} samples: {ended}"
    return [NamedTable(title, ("", "at the start", "at the end"), rows, note)]


def servo_tables(servo: Servo) -> list[NamedTable]:
    """Servo: its constraints, gains and actuators."""
    names = [
        (c.name, str(c.level), repr(servo.gains.get(c.name, "none"))) for c in servo.constraints
    ]
    by = ", ".join(servo.actuators or ()) or "its actuators"
    title = f"servo of {counted(len(names), 'constraint')}, enforced by {by}"
    return [NamedTable(title, ("servo constraint", "given at level", "gain"), names)]


def text_of_scene(scene: Scene) -> str:
    """Describe a scene in a line."""
    parts = {"bar": scene.bars, "plate": scene.plates, "joint": scene.joints, "trace": scene.traces}
    have = [counted(len(x), part) for part, x in parts.items() if x]
    return f"scene of {counted(len(scene.points), 'point')}: {', '.join(have) or 'points alone'}"


def text_of_presentation(shown: Presentation) -> str:
    """Describe in a line the figures, scene and texts that belong to a run."""
    return (
        f"{shown.description or 'no description'} (figures: {', '.join(shown.figures) or 'none'})"
    )


def bodies_tables(shown: RigidBodies | BodyTree) -> list[NamedTable]:
    """Bodies: masses and inertias."""
    bodies = next(
        x for name in ("links", "branches", "bodies") if (x := getattr(shown, name, None))
    )
    rows = [(b.name, number(b.mass, "kg"), f"{numbers(b.inertia)} kg m²") for b in bodies]
    title = f"{type(shown).__name__} of {len(rows)}; .system is the zw.System"
    return [NamedTable(title, ("body", "mass", "inertia about the center"), rows)]


def text_of_values(part: object) -> str:
    """Format a gain, limits or a null-space method: its fields with their values."""
    fields = getattr(part, "__dataclass_fields__", {})
    shown = [
        f"{name}={numbers(x)}"
        for name in fields
        if (x := getattr(part, name)) is not None and not callable(x)
    ]
    return f"{type(part).__name__}({', '.join(shown)})"


def reaction_tables(reaction: Reaction) -> list[NamedTable]:
    """Joint reaction: its values at one instant, or the extremes over time."""
    force, torque = np.asarray(reaction.force), np.asarray(reaction.torque)
    flat = force.shape[-1] == 2
    axes = ("x", "y", "z")[: force.shape[-1]]
    named = [(f"force {x}", force[..., i], "N") for i, x in enumerate(axes)]
    named += (
        [("torque", torque, "N m")]
        if flat
        else [(f"torque {x}", torque[..., i], "N m") for i, x in enumerate(axes)]
    )
    if reaction.effort is not None:
        named.append(("effort", np.asarray(reaction.effort), reaction.unit))
    if force.ndim == 1:
        rows = [(name, number(x, unit)) for name, x, unit in named]
        return [NamedTable("what a joint transmits", ("", "value"), rows)]
    ends = ((np.nanmin(x), np.nanmax(x)) if x.size else (np.nan, np.nan) for _, x, _ in named)
    rows = [
        (name, number(least, unit), number(largest, unit))
        for (name, _, unit), (least, largest) in zip(named, ends, strict=True)
    ]
    title = f"what a joint transmits, at {counted(force[..., 0].size, 'instant')}"
    return [NamedTable(title, ("", "least", "largest"), rows)]


def text_of_switch(switch: Switch) -> str:
    """Describe a switch in a line: the conditions that turn it on and off."""
    shown = lambda x: "a function" if callable(x) else number(x, "s")
    each = lambda found: found if isinstance(found, tuple) else (found,)
    ways = {"on": each(switch.on), "off": each(switch.off)}
    said = [f"{way}: {', '.join(map(shown, found))}" for way, found in ways.items() if found]
    held = {None: [], True: ["on at the start"], False: ["off at the start"]}[switch.initially]
    return f"Switch({', '.join([repr(switch.constraint), *said, switch.transition, *held])})"


def text_of_environment(environment: Environment) -> str:
    """Describe an environment in a line: its plant, observations and inputs."""
    task, plant = environment.task, environment.task.plant
    many = getattr(environment, "num_envs", None)
    seen = f"observation of {np.shape(task.seen(plant.start))[0]} numbers"
    return (
        f"{type(environment).__name__}{f' ({many} members)' if many else ''} of "
        f"{plant.model.name}: {seen}, {counted(plant.nu, 'input')}, steps of {plant.length:g} s"
    )
