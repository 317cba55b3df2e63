"""A servo: constraints that are enforced by actuators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import jax.numpy as jnp
import numpy as np

from zwang.algebra.pseudoinverse import AbstractPseudoinverse, Proximal
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.constraint import AbstractConstraint, Constraints
from zwang.equations.constraint.level import Cone
from zwang.errors import ModelError
from zwang.inputs.arguments import count, items, mapping, strategy
from zwang.inputs.arrays import require_float64
from zwang.inputs.call import misfits_named
from zwang.inputs.suggestions import did_you_mean
from zwang.objects.display import present
from zwang.objects.record import field, replace
from zwang.servo.actuation import AbstractActuated
from zwang.servo.controller import Controller, blank
from zwang.servo.gains import AbstractGain, as_gain, fit_rows, require_decay, require_real
from zwang.servo.limits import Limits
from zwang.servo.null_space import AUTHORITY_THRESHOLD, AbstractNullSpace, LeastNorm
from zwang.servo.start_error import kept_errors


class Servo(AbstractActuated):
    """Servo constraints, the actuators that enforce them, gains, and the choice among controls.

        M v̇ = F + Q_c + B u,    A_s v̇ = b_s − (gain) (residuals)

    Args:
        constraints: `Holonomic`, `Nonholonomic` or `AccelerationConstraint` objects with different
            names. An `Inequality` is a gap, or a velocity, that the actuators keep nonnegative with
            priority over the other servo constraints (`zwang.servo.keeping`).
        actuation: `(q, t, p)` → B, shape (nv, nu), or a matrix: `B u` is the generalized force of
            the actuators. For a hierarchy also by name, `{"motor": {"leg a.crank.angle": 1.0}}`:
            the velocities that each actuator acts on, or a function that returns such a mapping.
        actuators: names of the actuators; u0, u1 … by default.
        actuator_units: unit of each control, such as "N m", for axes; empty by default.
        gains: by constraint name, or one for all: a gain of `zwang.servo.gains`, or a number k
            [1/s] for poles at −k. A constraint without a gain keeps its error (only ‖φ̈‖ = 0 is
            enforced), which is suitable if the initial error is zero. A gain is refused if a pole
            of its error dynamics has a real part that is not negative. An `Inequality` needs a gain
            with real poles: with a pole at −k, a gap g closes at a speed of at most k g.
        null_space: the choice among all controls that meet the constraints, `LeastNorm()` by
            default; see `zwang.servo.null_space`.
        limits: `zw.servo.Limits` of the actuators; none by default. At a limit, servo constraints
            are met as well as the limits allow; passive constraints are always met exactly.
        degrees: by constraint name, its relative degree as found by `relative_degree`, if it is
            more than 2 at position level or 1 at velocity level.
        pseudoinverse: method for (C B̄)⁺; by default five proximal sweeps, exact to 1e-10 for
            singular values down to 1e-4 of the longest row and bounded below 1e-5, where actuators
            lose a direction.

    Example:
        >>> height = zw.Holonomic(lambda q, t, p: q[1] - jnp.sin(t), name="height")
        >>> servo = Servo(
        ...     [height], jnp.array([[1.0], [0.0]]), actuators=["motor"], gains={"height": 4.0})
    """

    constraints: tuple[AbstractConstraint, ...]
    actuation: Callable
    actuators: tuple[str, ...] | None
    actuator_units: tuple[str, ...] | None
    gains: dict[str, AbstractGain]
    null_space: AbstractNullSpace
    limits: Limits | None
    degrees: dict[str, int] = field(static=True)
    pseudoinverse: AbstractPseudoinverse

    @misfits_named
    def __init__(
        self,
        constraints: Sequence[AbstractConstraint],
        actuation,
        *,
        actuators: Sequence[str] | None = None,
        actuator_units: Sequence[str] | None = None,
        gains: Mapping[str, AbstractGain | float] | AbstractGain | float | None = None,
        null_space: AbstractNullSpace | None = None,
        limits: Limits | None = None,
        degrees: Mapping[str, int] | None = None,
        pseudoinverse: AbstractPseudoinverse | None = None,
    ):
        constraints = items(
            constraints,
            AbstractConstraint,
            "Servo: constraints",
            "zw.Holonomic, zw.Nonholonomic, zw.AccelerationConstraint or zw.Inequality",
        )
        for c in constraints:
            if c.level.cone is Cone.RUBS:
                raise ModelError(
                    f"servo constraint {c.name!r} is a zw.{type(c).__name__}: friction cannot be "
                    "a servo constraint; give a zw.Holonomic, a zw.Nonholonomic or a "
                    "zw.Inequality."
                )
            # a nonideal force is a property of a physical contact, not of a control objective
            if c.nonideal is not None:
                raise ModelError(
                    f"servo constraint {c.name!r} has a nonideal force; actuators have none: "
                    "model it in the system."
                )
        require_float64()
        self.constraints = constraints
        self._take_actuators(actuation, actuators, actuator_units, limits)
        strategy(null_space, AbstractNullSpace, "Servo: null_space", "zw.servo.LeastNorm() ...")
        strategy(
            pseudoinverse,
            AbstractPseudoinverse,
            "Servo: pseudoinverse",
            "zw.methods.Proximal() ...",
        )
        self.null_space = LeastNorm() if null_space is None else null_space
        self.pseudoinverse = (
            Proximal(sweeps=5, rank_threshold=AUTHORITY_THRESHOLD)
            if pseudoinverse is None
            else pseudoinverse
        )
        degrees = {} if degrees is None else mapping(degrees, "Servo: degrees", "name -> degree")
        self.degrees = self._checked_degrees(degrees)
        self.gains = self._checked_gains(gains)

    def __repr__(self) -> str:
        return present("text_of", self, "servo")

    def _checked_degrees(self, degrees: dict[str, int]) -> dict[str, int]:
        natural = {c.name: c.level.order for c in self.constraints}
        for name, degree in degrees.items():
            if name not in natural:
                raise ModelError(
                    f"Servo: degrees names {name!r}, which is no servo constraint"
                    f"{did_you_mean(name, natural)}"
                )
            count(degree, f"Servo: degree of {name!r}")
            if degree < natural[name] or (natural[name] == 0 and degree > 0):
                raise ModelError(
                    f"Servo: degree {degree} of {name!r} does not fit its level; "
                    f"{natural[name]} is its natural one."
                )
        return {**natural, **degrees}

    def _checked_gains(self, gains) -> dict[str, AbstractGain]:
        controlled = [name for name, degree in self.degrees.items() if degree > 0]
        gains = {} if gains is None else gains
        # acceleration constraints have no residual that could decay, and therefore no gain
        if not isinstance(gains, Mapping):
            gains = dict.fromkeys(controlled, gains)
        for name in gains:
            if name not in controlled:
                raise ModelError(
                    f"Servo: gains names {name!r}, which is no constraint with a residual"
                    f"{did_you_mean(name, controlled)}"
                )
        checked = {name: as_gain(gain, name) for name, gain in gains.items()}
        for name, gain in checked.items():
            require_decay(name, gain, self.degrees[name])
        for name in self.inequalities:
            if name not in checked:
                raise ModelError(
                    f"Servo: {name!r} is a zw.Inequality and has no gain: give gains={{{name!r}: "
                    "k}, with which it may close at k times its gap."
                )
            require_real(name, checked[name], self.degrees[name])
        return checked

    @property
    def inequalities(self) -> tuple[str, ...]:
        """Names of the constraints that are inequalities."""
        return tuple(c.name for c in self.constraints if c.level.lets_go)

    def by_name(self, names, constraint):
        def actuation(q, t, p):
            B = self.actuation(names.coordinates(q), t, names.parameters(p))
            if not isinstance(B, Mapping):
                return B
            return jnp.stack(
                [names.velocities(jnp.zeros(names.nv)).row(pushed) for pushed in B.values()], axis=1
            )

        named = lambda f: (
            lambda q, v, t, p: f(names.coordinates(q), names.velocities(v), t, names.parameters(p))
        )
        # functions of the null-space choice also get the state by name
        null_space = self.null_space.with_functions(named)
        constraints = tuple(map(constraint, self.constraints))
        return replace(self, constraints=constraints, actuation=actuation, null_space=null_space)

    def checked(self, passive: Dynamics) -> int:
        """Number of actuators, after a check of B against a model's shapes; compiles nothing.

        Raises:
            ModelError: if `actuation` fails or has a wrong shape, or names clash with passive
                constraints.
        """
        nu = super().checked(passive)
        # reports and datasets list both kinds together, so their names must differ
        both = set(passive.constraints.names) & {c.name for c in self.constraints}
        if both:
            raise ModelError(
                f"{sorted(both)[0]!r} is the name of a passive and of a servo constraint; give "
                "each its own name=."
            )
        # this evaluates the shapes of their functions
        rows = Constraints(self.constraints, passive.system, passive.p).row_slices
        for name, gain in self.gains.items():
            fit_rows(name, gain, self.degrees[name], rows[name].stop - rows[name].start)
        return nu

    def residual_units(self):
        return {c.name: c.residual_units for c in self.constraints}

    def decay_rates(self):
        poles = {name: g.error_poles(self.degrees[name]) for name, g in self.gains.items()}
        return {name: float(np.max(np.abs(x))) for name, x in poles.items() if len(x)}

    def kept_layers(self):
        second = {name: g for name, g in self.gains.items() if self.degrees[name] == 2}
        kept = {name: vars(g) for name, g in second.items() if g.keeps_layer}
        return {name: (float(x["k"]), float(x["layer"])) for name, x in kept.items()}

    def kept_errors(self, passive, s, reach, speed):
        return kept_errors(self, passive, s, reach, speed)

    def bound(self, passive: Dynamics) -> Controller:
        """The servo bound to a passive system."""
        return Controller(passive, self)

    def choose(self, passive, eq, before=None, elapsed=0.0):
        return self.bound(passive).choose(eq, before, elapsed)

    def diagnose(self, passive, choice, u=None):
        return choice.controller.diagnosis(choice, u)

    def blank(self, passive):
        return blank(self, (c.name for c in self.constraints), passive)


def degrees_in_words(degrees: Mapping[str, int | None]) -> str:
    """The relative degree of each constraint by name."""
    return f"relative degree {', '.join(f'{name!r} {degree}' for name, degree in degrees.items())}"
