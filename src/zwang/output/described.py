"""What models and what they are made of say of themselves, as small tables with names and units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from zwang.arrays import is_concrete
from zwang.equations.constraint import AbstractConstraint
from zwang.errors import Result
from zwang.output.named_tables import NamedTable, number, per_second

SHOWN_NUMBERS = 12
"""Numbers of a parameter that are shown; of more, their shape is."""


def counted(n: int, what: str) -> str:
    """A number of things."""
    return f"{n} {what}{'' if n == 1 else 's'}"


def numbers(value: Any) -> str:
    """A parameter: its numbers if they are few, else its shape."""
    if not is_concrete(value):
        return f"traced, shape {np.shape(value)}"
    array = np.asarray(value)
    if array.size > SHOWN_NUMBERS or array.dtype.kind not in "fiub":
        return f"shape {array.shape}"
    shown = ", ".join(number(x) for x in array.ravel())
    return shown if array.size == 1 else f"[{shown}]"


def system_tables(system: Any, title: str = "system") -> list[NamedTable]:
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
        NamedTable("", ("velocity", "unit"), moved),
    ]


def constraints_table(constraints: Any) -> NamedTable:
    """Constraints by name, with level and rows."""
    rows = []
    for member, size in zip(constraints.members, constraints.sizes, strict=True):
        own = size // len(member.parts)
        written = member
        # a module's constraint at its places is one of the kind that was written down
        while isinstance(inner := getattr(written, "constraint", None), AbstractConstraint):
            written = inner
        kind = type(written).__name__
        rows += [(part, kind, member.level, str(own)) for part in member.parts]
    title = f"{counted(len(rows), 'constraint')} of {counted(constraints.m, 'row')}"
    return NamedTable(title, ("constraint", "kind", "given at level", "rows"), rows)


def model_tables(model: Any) -> list[NamedTable]:
    """What a model moves, what holds it, and its parameters."""
    tables = [*system_tables(model.system, model.name), constraints_table(model.constraints)]
    given = jax.tree_util.tree_flatten_with_path(model.params)[0]
    named = [("".join(map(_key, path)).lstrip("."), numbers(x)) for path, x in given]
    if named:
        tables.append(NamedTable("", ("parameter", "value"), named))
    if model.servo is not None:
        tables.append(NamedTable("controlled by a servo", (), ()))
    return tables


def _key(part: Any) -> str:
    """One part of the path to a parameter."""
    name = getattr(part, "key", getattr(part, "name", getattr(part, "idx", part)))
    return f"[{name}]" if isinstance(name, int) else f".{name}"


def text_of_system(system: Any) -> str:
    """A system as text."""
    return _joined(system_tables(system))


def text_of_constraints(constraints: Any) -> str:
    """The constraints of a model as text."""
    return constraints_table(constraints).text()


def text_of_model(model: Any) -> str:
    """A model as text."""
    return _joined(model_tables(model))


def text_of_example(example: Any) -> str:
    """A member of the gallery as text: what it is, and its model."""
    said = f"{example.model.name}: {example.description}" if example.description else ""
    run = f"runs for {number(example.duration, 's')}: zw.simulate(.model, .q0, .v0, duration=…)"
    return "\n".join(x for x in (said, run, text_of_model(example.model)) if x)


def text_of_variables(variables: Any) -> str:
    """The variables of a run as text: dimensions, units and what they are."""
    rows = [
        (name, " × ".join(x.dims), str(x.attrs.get("units", "")), str(x.attrs.get("long_name", "")))
        for name, x in variables.data.items()
    ]
    title = f"{counted(len(rows), 'variable')} at the samples; [name].values is the array"
    return NamedTable(title, ("variable", "dimensions", "unit", "what it is"), rows).text()


def text_of_placement(placement: Any) -> str:
    """A state that was moved onto its constraints as text."""
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
    return NamedTable(title, ("", "value", "moved by at most"), rows, note).text()


def text_of_trajectory(found: Any) -> str:
    """A motion as text: how it ended; many of them by how many there are."""
    if np.ndim(found.result):
        shape = " × ".join(map(str, np.shape(found.result)))
        return f"trajectories of {shape} motions, {np.shape(found.t)[-1]} samples each"
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
    return NamedTable(title, ("", "at the start", "at the end"), rows, note).text()


def text_of_servo(servo: Any) -> str:
    """A servo as text: what is enforced, by which gain, and by what."""
    names = [(c.name, c.level, repr(servo.gains.get(c.name, "none"))) for c in servo.constraints]
    by = ", ".join(servo.actuators or ()) or "its actuators"
    title = f"servo of {counted(len(names), 'constraint')}, enforced by {by}"
    return NamedTable(title, ("servo constraint", "given at level", "gain"), names).text()


def text_of_scene(scene: Any) -> str:
    """What there is to see, in a line."""
    parts = {"bar": scene.bars, "plate": scene.plates, "joint": scene.joints, "trace": scene.traces}
    have = [counted(len(x), part) for part, x in parts.items() if x]
    return f"scene of {counted(len(scene.points), 'point')}: {', '.join(have) or 'points alone'}"


def text_of_presentation(shown: Any) -> str:
    """What a run shows apart from its variables, in a line."""
    return (
        f"{shown.description or 'no description'} (figures: {', '.join(shown.figures) or 'none'})"
    )


def text_of_bodies(bodies: Any) -> str:
    """Bodies as text: masses and inertias."""
    rows = [(b.name, number(b.mass, "kg"), f"{numbers(b.inertia)} kg m²") for b in bodies.bodies]
    title = f"{type(bodies).__name__} of {len(rows)}; .system is the zw.System"
    return NamedTable(title, ("body", "mass", "inertia about the center"), rows).text()


def text_of_values(part: Any) -> str:
    """A gain, limits or a choice among controls: its fields with their numbers."""
    fields = getattr(part, "__dataclass_fields__", {})
    shown = [
        f"{name}={numbers(x)}"
        for name in fields
        if (x := getattr(part, name)) is not None and not callable(x)
    ]
    return f"{type(part).__name__}({', '.join(shown)})"


def _joined(tables: Sequence[NamedTable]) -> str:
    return "\n".join(table.text().lstrip("\n") for table in tables)
