"""The subject of an analysis: a model or a mechanism, with its coordinates and points by name."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from zwang.compile import model_program
from zwang.compile.blocks import mapped
from zwang.dynamics.consistent_state import consistent_state
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.errors import ModelError
from zwang.inputs.arguments import instance, refuse
from zwang.inputs.suggestions import did_you_mean
from zwang.mechanism.mechanism import Mechanism
from zwang.mechanism.relative_pose import wrapped


@dataclasses.dataclass(frozen=True)
class Entry:
    """One or several coordinates as a function. Functions of the same coordinates are equal."""

    index: int | tuple[int, ...]

    def __call__(self, q, t, p):
        if isinstance(self.index, int):
            return q[self.index]
        return jnp.stack([q[i] for i in self.index])


@dataclasses.dataclass(frozen=True)
class Quantity:
    """A function of the configuration, with a name and a unit.

    Attributes:
        name: in results.
        value: `(q, t, p)` → number or position.
        unit: "" if it is unknown.
        turning: True if it is an angle that is determined only up to whole turns.
    """

    name: str
    value: Callable
    unit: str = ""
    turning: bool = False


@dataclasses.dataclass(frozen=True)
class Subject:
    """A model without control and drives, with an initial configuration.

    Attributes:
        model: the model.
        q: coordinates on the constraints, shape (nq,).
        params: parameters that differ from the model's.
        mechanism: the mechanism that the model was built from, or None.
    """

    model: Model
    q: np.ndarray
    params: PyTree
    mechanism: Mechanism | None

    def quantity(self, given, what: str) -> Quantity:
        """A coordinate of the model, of a joint of the mechanism, or a function.

        Raises:
            ModelError: for an unknown name.
        """
        if isinstance(given, Quantity):
            return given
        if callable(given):
            name = getattr(given, "__name__", "function")
            return Quantity(what.split()[-1] if name == "<lambda>" else name, given)
        if not isinstance(given, str):
            refuse(what, given, "the name of a coordinate or a function (q, t, p)")
        system = self.model.system
        if given in system.coordinates:
            i = system.coordinates.index(given)
            return Quantity(given, Entry(i), system.units[i])
        made = self.mechanism
        known = [*system.coordinates, *(made.joints if made else ())]
        if made is not None:
            joint, _, coordinate = (
                (given, "", "") if given in made.joints else given.rpartition(".")
            )
            # "joint", or "joint.coordinate" for a joint with several coordinates
            if joint in made.joints:
                ends = made.compiled.joints.of(joint, coordinate or None, ())
                value = made.compiled.joints.coordinate(ends)
                turning = made.d == 3 and ends.coordinate.angular
                named = lambda q, t, p: value(q, p)
                return Quantity(given, named, ends.coordinate.unit, turning)
        raise ModelError(
            f"{what}: there is no coordinate {given!r:.60}{did_you_mean(given, known)}"
        )

    def link(self, given, what: str) -> Quantity:
        """The angle of a body in the frame, or a function, which is not checked.

        Raises:
            ModelError: for an unknown name, a unit other than rad, or a joint of two bodies.
        """
        found = self.quantity(given, what)
        if found.unit not in ("", "rad"):
            raise ModelError(
                f"{what}: {found.name} is in {found.unit}, expected an angle; of a slide, give "
                'the angle of the body that slides, such as "piston.angle".'
            )
        joint = self.mechanism.joints.get(given) if self.mechanism else None
        owners = [x.split(".")[0] for x in joint.between or ()] if joint else []
        if owners and "ground" not in owners:
            raise ModelError(
                f"{what}: {given} is the angle between {owners[0]} and {owners[1]}, expected "
                f'the angle of a body in the frame, such as "{owners[1]}.angle".'
            )
        return found

    def point(self, given, what: str) -> Quantity:
        """A position: "body.point" of a mechanism, a body in the plane or in space by the names of
        its coordinates, or a function.

        Raises:
            ModelError: for an unknown name.
        """
        if callable(given):
            return self.quantity(given, what)
        if not isinstance(given, str):
            refuse(what, given, "the name of a point or a function (q, t, p)")
        if self.mechanism is not None:
            made = self.mechanism
            i = made.geometry.point(given, ())
            return Quantity(given, lambda q, t, p: made.compiled.joints.frames(q, p).place[i], "m")
        names = self.model.system.coordinates
        own = tuple(names.index(f"{given}.{x}") for x in "xyz" if f"{given}.{x}" in names)
        if not own:
            bodies = sorted({re.sub(r"\.x$", "", n) for n in names if n.endswith(".x")})
            raise ModelError(
                f"{what}: there is no point {given!r:.60}{did_you_mean(given, bodies)}"
            )
        return Quantity(given, Entry(own), self.model.system.units[own[0]])


@dataclasses.dataclass(frozen=True)
class Follows:
    """φ = x(q) − w(t). Objects with equal parts are equal, so that a second analysis needs no
    compilation.
    """

    quantity: Callable
    motion: Callable | None
    turning: bool

    def __call__(self, q, t, p):
        wanted = t if self.motion is None else self.motion(t)
        error = self.quantity(q, t, p) - wanted
        return wrapped(error) if self.turning else error


def with_inputs(model: Model, inputs: tuple[tuple[Quantity, Callable | None], ...]) -> Model:
    """The model with inputs as additional constraints; a motion of None is t itself."""
    further = [
        Holonomic(Follows(x.value, motion, x.turning), name=f"input {x.name}", unit=x.unit or ())
        for x, motion in inputs
    ]
    return model.with_parts(constraints=[*model.constraints.members, *further])


def subject_of(
    given, q, params: PyTree, where: str, *, t=0.0, keep_drives=False, place=True
) -> Subject:
    """The subject of an analysis, with q projected onto the constraints.

    Args:
        given: a `zw.Model`, or a `zw.Mechanism`, whose initial configuration is used unless q is
            given.
        q: coordinates near the desired configuration; None for that of a mechanism.
        params: parameters that differ from the model's.
        where: name of the calling function, for messages.
        t: time [s], of a model whose constraints depend on it.
        keep_drives: keep a mechanism's drives, as for a motion over time.
        place: project q onto the constraints.

    Raises:
        ModelError: for rows that are not holonomic, or an initial configuration that cannot be
            assembled.
    """
    instance(given, (Model, Mechanism), f"{where}: model", "a zw.Model or zw.Mechanism")
    mechanism = None
    if isinstance(given, Mechanism):
        mechanism = dataclasses.replace(
            given, servo={}, actuators={}, **({} if keep_drives else {"drives": {}})
        )
        q = mechanism.start_state.q if q is None else q
        model = mechanism.model
    else:
        model = given.passive
        if q is None:
            raise ModelError(
                f"{where}: q is missing: give the coordinates of a configuration on the branch "
                "meant, q=..."
            )
    # with velocity constraints the configuration depends on the path
    for name, constraint in model.constraints.owners.items():
        if not constraint.level.has_phi:
            raise ModelError(
                f"{where}: constraint {name!r} is a velocity constraint, so inputs do not "
                "determine the configuration; use zw.simulate."
            )
    state = model.state(q, np.zeros(model.system.nv))
    placed = consistent_state(model, state.q, t=t, params=params).state.q if place else state.q
    return Subject(model, np.asarray(placed), params, mechanism)


# --- values and rates of a quantity


def _with_rates(value: Callable, dynamics: Dynamics, q, v, a, t):
    """A quantity and its first two derivatives along a motion."""
    p, system = dynamics.p, dynamics.system

    def rate(q, v, t):
        return jax.jvp(
            lambda q, t: jnp.asarray(value(q, t, p)), (q, t), (system.rate(q, v, t, p), 1.0)
        )

    (y, dy), (_, ddy) = jax.jvp(rate, (q, v, t), (system.rate(q, v, t, p), a, 1.0))
    return y, dy, ddy


def quantity_rates(quantity: Quantity, dynamics: Dynamics, q, v, a, t) -> tuple[np.ndarray, ...]:
    """A quantity, its rate and its acceleration per unit of t, along a motion at t; for many
    instants if t has an axis of samples.
    """
    if np.ndim(t):
        return mapped(_with_rates, (quantity.value, dynamics), q, v, a, t)
    q, v, a = (np.asarray(x) for x in (q, v, a))
    found = _with_rates_once(quantity.value, dynamics, q, v, a, np.float64(t))
    return tuple(np.asarray(x) for x in found)


_with_rates_once = model_program(_with_rates)
