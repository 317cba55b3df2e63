"""Assembly: positions of all bodies that satisfy every joint, then velocities."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import numpy as np

from zwang.algebra.spectrum import principal
from zwang.dynamics.evaluation import moved, residuals
from zwang.dynamics.initial_conditions import PlacementError, placed
from zwang.dynamics.model import Model
from zwang.equations.constraint import AbstractConstraint
from zwang.equations.state import State
from zwang.errors import ModelError, NotFiniteError
from zwang.inputs.suggestions import did_you_mean
from zwang.mechanism.derived_numbers import with_values
from zwang.mechanism.direction import refuse_without_direction
from zwang.mechanism.field_types import PartError
from zwang.mechanism.half_turn import turned_over
from zwang.mechanism.prescribed_motion import driven, following
from zwang.mechanism.resolution import Ends
from zwang.mechanism.schema import Begin

if TYPE_CHECKING:
    from zwang.mechanism.mechanism import Mechanism

OPEN = 1e-9
"""Residual of a joint [m or rad] above which the error is about its position, and not its rate."""
DEAD_POINT = 1e6
"""Speed of a body, relative to the largest prescribed one, from which on a coordinate is at a dead
point: within 1e-6 rad of it, the accuracy of a position.
"""
ROUND_OFF_RATE = 1e-12
"""Prescribed rate, in sizes of the mechanism per second, up to which it is round-off."""
SHAKEN = (0.05, 0.1, 0.2)
"""Sizes of random rotations [rad] of bodies if a guess cannot be assembled as it is."""


class AssemblyError(ModelError):
    """A mechanism cannot be assembled.

    Attributes:
        mechanism: the mechanism.
        joint: the joint with the largest residual.
        q: the last iterate, shape (nq,).
    """

    def __init__(self, message: str, mechanism: Mechanism, joint: str, q: np.ndarray):
        super().__init__(message)
        self.mechanism, self.joint, self.q = mechanism, joint, q


def start_ends(mechanism: Mechanism) -> dict[str, Ends]:
    """The points and coordinate of every entry of `start`.

    An entry names a joint, or `joint.name` for a joint with several coordinates.

    Raises:
        PartError: for an unknown joint, or one without such a coordinate.
    """
    return {name: _start_end(mechanism, name) for name in mechanism.start}


def _start_end(mechanism: Mechanism, name: str) -> Ends:
    joints, where = mechanism.compiled.joints, ("start", name)
    joint, _, coordinate = (name, "", "") if name in joints.joints else name.rpartition(".")
    if joint not in joints.joints:
        raise PartError(where, f"there is no joint {name!r}{did_you_mean(name, joints.joints)}")
    kind = joints.kind(joint)
    equations = kind.equations(mechanism.d)
    own = (
        [x.coordinate for x in equations.freedoms if x.coordinate.unit != "1"] if equations else []
    )
    if coordinate or kind.coordinate or kind.couples:
        chosen = {x.name: x for x in own}.get(coordinate)
        if chosen is None:
            return joints.of(joint, coordinate or None, where)
        ends = joints.ends[joint][0]
        return Ends(ends.a, ends.b, chosen)
    if not own:
        raise PartError(where, f"a {kind.name} joint has no coordinate that can be given.")
    names = " and ".join(f'"{joint}.{x.name}"' for x in own)
    raise PartError(where, f"a {kind.name} joint has several coordinates; give {names}.")


def assemble(mechanism: Mechanism, stepped: bool = True) -> State:
    """Assemble the mechanism nearest to its rough start: positions, then velocities.

    The change of positions is `Σ m |Δr|² + Δθᵀ J Δθ` over the bodies, that of velocities is
    measured in the mass metric.

    Args:
        mechanism: the mechanism.
        stepped: whether it may be simulated in these coordinates afterwards.

    Raises:
        AssemblyError: if it cannot be assembled, with the joint of the largest residual.
    """
    compiled = mechanism.compiled
    geometry = compiled.geometry
    if compiled.tree is not None:
        # Maximal coordinates come first, as guesses and start values are given for bodies.
        state = compiled.tree.joint_state(
            assemble(mechanism.maximal, stepped=False), mechanism.params
        )
        return _placed(mechanism, (), compiled.started(state.q, _turned(mechanism)), state.v)
    q, v, ends = compiled.started(geometry.q, _turned(mechanism)), geometry.v, start_ends(mechanism)

    _refuse_contradiction(mechanism, ends)

    def held(name: str, begin: Begin, which: str) -> AbstractConstraint:
        given, rate = getattr(begin, which), compiled.rate if which == "rate" else None
        asked = lambda t, p: with_values(given, p["parameters"])
        return following(f"start of {name}", compiled.joints, ends[name], asked, rate)

    given = mechanism.start.items()
    values = tuple(held(n, x, "value") for n, x in given if x.value is not None)
    rates = tuple(held(n, x, "rate") for n, x in given if x.rate is not None)

    def put_together(q) -> State:
        if beyond := _bounded(mechanism):
            # The nearest position is one of lengths, whatever inertia a body has.
            q = _placed(mechanism, values, q, 0 * v, stepped, still=True, params=beyond).q
            q = compiled.started(q[: len(geometry.q)], _turned(mechanism))
        if values:
            # The rest of the mechanism may first have to move far, so it is closed without
            # velocities. The second call below then only makes the change that the velocities need.
            q = _placed(mechanism, values, q, 0 * v, stepped, still=True).q
            q = compiled.started(q[: len(geometry.q)], _turned(mechanism))
        return _placed(mechanism, rates, q, v, stepped)

    state = put_together(q)
    # Each joint may have to be turned over once.
    for last in [False] * len(mechanism.joints) + [True] if mechanism.d == 3 else []:
        if (turned := turned_over(compiled.joints, state.q, mechanism.params)) is None:
            break
        q = np.concatenate([turned.q, np.asarray(state.q)[len(turned.q) :]])
        try:
            state = put_together(q)
        except AssemblyError:
            last = True
        if last:
            raise _half_a_turn_off(mechanism, turned.joint, q) from None
    refuse_without_direction(mechanism, state)
    _refuse_dead_point(mechanism, state)
    return state


def _reaches(mechanism: Mechanism, params: dict) -> np.ndarray:
    """Distance from each body's center of mass to its farthest point, or its radius [m].

    A body without any has the largest one of all.
    """
    values, carrier = params["parameters"], mechanism.geometry.carrier
    sizes = []
    for i, body in enumerate(mechanism.bodies.values()):
        places = np.linalg.norm(np.asarray(params["offset"])[carrier == i], axis=1)
        sizes.append(max(*places, float(with_values(body.radius or 0.0, values))))
    return np.where(np.array(sizes) > 0, sizes, max(sizes) or 1.0)


def _bounded(mechanism: Mechanism) -> dict:
    """Inertias for the metric of positions, if a given one is impossible; otherwise empty.

    An inertia is impossible if no mass within the reach of its body has it. It was not scaled with
    the unit of length, and would decide which position is nearest.
    """
    params = mechanism.params
    mass, inertia = np.asarray(params["mass"]), np.asarray(params["inertia"])
    most = mass * _reaches(mechanism, params) ** 2
    if inertia.ndim < 3:
        most = most.reshape(-1, *[1] * (inertia.ndim - 1))
        found = np.where((most > 0) & (inertia > most), most, inertia)
    else:
        moments, axes = principal(inertia)
        held = np.where((most[:, None] > 0) & (moments > most[:, None]), most[:, None], moments)
        found = np.where(
            (held == moments).all(axis=1)[:, None, None],
            inertia,
            np.einsum("nij,nj,nkj->nik", axes, held, axes),
        )
    return {} if np.array_equal(found, inertia) else {"inertia": found}


def _refuse_dead_point(mechanism: Mechanism, state: State) -> None:
    """Raise if a prescribed rate requires unbounded speeds: at a dead point of the coordinate.

    No mechanism can pass it at that rate.

    Raises:
        PartError: naming the drive or start.
    """
    joints, params = mechanism.compiled.joints, mechanism.params
    asked: dict[tuple[str, str], tuple[float, bool]] = {}
    for name, drive in mechanism.drives.items():
        at = joints.acted_on(drive, ("drives", name))
        rate = driven(drive, joints, params)["rate"]
        asked["drives", name] = rate, at.coordinate.angular
    for name, ends in start_ends(mechanism).items():
        if (rate := mechanism.start[name].rate) is not None:
            own = float(with_values(rate, params["parameters"]))
            asked["start", name] = own, ends.coordinate.angular
    if not asked:
        return
    reach, d = _reaches(mechanism, params), mechanism.d
    size = float(np.max(reach))
    v = np.abs(np.asarray(state.v)).reshape(len(reach), -1)
    fastest = max(np.max(v[:, :d]), np.max(v[:, d:] * reach[:, None]))
    rough = np.abs(mechanism.geometry.v).reshape(v.shape)
    rates = {key: abs(x) * (size if angular else 1.0) for key, (x, angular) in asked.items()}
    beside = max(*rates.values(), np.max(rough[:, :d]), np.max(rough[:, d:]) * size)
    if fastest > DEAD_POINT * beside and beside > ROUND_OFF_RATE * size:
        where = max(rates, key=lambda key: rates[key])
        raise PartError(
            where,
            f"asks for a rate of {asked[where][0]:.4g} {'rad' if asked[where][1] else 'm'}/s at a "
            f"dead point, where the fastest body would have {fastest:.1e} m/s; start beside that "
            "point, or drive another joint.",
        )


def _turned(mechanism: Mechanism) -> dict[int, float]:
    """Start values of angles that count turns, by entry of q."""
    turns, values = mechanism.compiled.joints.turns, mechanism.params["parameters"]
    found = {}
    for name, ends in start_ends(mechanism).items():
        entry, value = turns.entry(ends), mechanism.start[name].value
        if mechanism.d == 3 and value is not None and entry is not None:
            found[entry] = float(with_values(value, values))
    return found


def _placed(
    mechanism: Mechanism,
    held: tuple[AbstractConstraint, ...],
    q,
    v,
    stepped: bool = True,
    still: bool = False,
    params: dict | None = None,
) -> State:
    """Project a state onto the held constraints and those of the mechanism.

    If `still`, drives are at rest; `params` may give other parameters for the metric.
    """
    compiled = mechanism.compiled
    own = compiled.still if still else compiled.tied
    model = (compiled.still_with if still else compiled.tied_with)(held) if held else own
    parts = (own, held) if held else None
    geometry, guess = compiled.geometry, np.asarray(q)
    apart = None if compiled.tree is not None else lambda q, M: geometry.displacement(q, guess, M)
    try:
        return placed(model, q, v, parts=parts, stepped=stepped, params=params, apart=apart).state
    except NotFiniteError as error:
        _refuse_undefined(mechanism, error.constraint)
        raise
    except PlacementError as error:
        failed = error.placement.state
    phi, _ = residuals(model.constraints, failed, model.params)
    if phi.max(initial=0.0) <= OPEN:
        # Only the rates are impossible; the positions are as requested.
        raise _unplaced(mechanism, model, failed)
    # Axes at exactly right angles to their target have a zero gradient.
    angular = np.array([unit == "rad/s" for unit in model.system.velocity_units])
    for size, drawn in zip(
        SHAKEN, np.random.default_rng(1828).standard_normal((3, len(angular))), strict=True
    ):
        shaken = moved(model.dynamics(), q, size * drawn * angular, 0.0)
        with contextlib.suppress(PlacementError):
            return placed(model, shaken, v, parts=parts, stepped=stepped, params=params).state
    raise _unplaced(mechanism, model, failed)


def _beside(mechanism: Mechanism) -> str:
    """Conditions on a position in addition to its joints."""
    values = any(x.value is not None for x in mechanism.start.values())
    beside = [x for x, given in (("start values", values), ("drives", mechanism.drives)) if given]
    return f", {' and '.join(beside)}" if beside else ""


def _refuse_contradiction(mechanism: Mechanism, ends: dict[str, Ends]) -> None:
    """Raise if [start] and a drive give different values of one coordinate.

    Raises:
        PartError: naming both.
    """
    joints, params = mechanism.compiled.joints, mechanism.params
    for drive_name, drive in mechanism.drives.items():
        at = joints.acted_on(drive, ("drives", drive_name))
        found = None
        for name, begin in mechanism.start.items():
            if (ends[name].a, ends[name].b, ends[name].coordinate.name) != (
                at.a,
                at.b,
                at.coordinate.name,
            ):
                continue
            found = driven(drive, joints, params) if found is None else found
            for which, value in found.items():
                given = getattr(begin, which)
                if given is None:
                    continue
                off = float(with_values(given, params["parameters"])) - value
                if mechanism.d == 3 and at.coordinate.angular and which == "value":
                    off = float(np.angle(np.exp(1j * off)))
                if abs(off) > OPEN * max(1.0, abs(value)):
                    raise PartError(
                        ("start", name),
                        f"{which} is {float(given):g}, where the drive {drive_name!r} has "
                        f"{value:g} at t = 0; leave one of them out, or make them alike.",
                    )


def _half_a_turn_off(mechanism: Mechanism, name: str, q: np.ndarray) -> AssemblyError:
    """The error of a joint whose points are half a turn apart."""
    joint = mechanism.joints[name]
    assert joint.between is not None
    return AssemblyError(
        f"{mechanism.name} cannot be put together: the z axes of {' and '.join(joint.between)}, or "
        f"all their axes, point against each other in {name!r}, half a turn off; reverse the axis "
        "of one of the two points, or draw the bodies the right way up.",
        mechanism,
        name,
        q,
    )


def _refuse_undefined(mechanism: Mechanism, name: str) -> None:
    """Raise if the equations of a joint are undefined, with the condition of its kind.

    Raises:
        PartError: naming the joint.
    """
    if name not in mechanism.joints:
        return
    equations = mechanism.compiled.joints.kind(name).equations(mechanism.d)
    if equations is not None and equations.undefined:
        raise PartError(("joints", name), equations.undefined) from None


def _unplaced(mechanism: Mechanism, model: Model, state: State) -> AssemblyError:
    """The error of an assembly that ended in a state."""
    c = model.constraints
    phi, psi = residuals(c, state, model.params)
    # An open joint makes every velocity wrong, too, so its position is reported first.
    residual = phi if phi.max(initial=0.0) > OPEN else psi
    worst = c.worst(residual)
    what = "stays open by" if residual is phi else "has its rate off by"
    size = residual[c.row_slices[worst]].max()
    joint = mechanism.joints.get(worst)
    ends = f" between {' and '.join(joint.between)}" if joint and joint.between else ""
    advice = f"check lengths and joints{_beside(mechanism)}, or start from a closer guess"
    if residual is psi:
        advice = "a coordinate with a rate stands at a dead point, or rates contradict each other"
    if mechanism.compiled.loops.locked:
        advice = "; ".join(mechanism.compiled.loops.locked)
    return AssemblyError(
        f"{mechanism.name} cannot be put together: {worst!r}{ends} {what} {size:.3g} at best; "
        f"{advice}.",
        mechanism,
        worst,
        np.asarray(state.q),
    )
