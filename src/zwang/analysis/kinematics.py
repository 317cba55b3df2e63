"""Position, velocity and acceleration analysis of a mechanism over its input, without dynamics."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from zwang.algebra.mass_matrix import dense_mass
from zwang.algebra.pseudoinverse.proximal import Proximal
from zwang.analysis.curve import Curve, FreedomError
from zwang.analysis.kinematics_result import Kinematics, Trace, Watched
from zwang.analysis.moving_mechanism import rates
from zwang.analysis.path import Path, follow_branch
from zwang.analysis.subject import Quantity, Subject, quantity_rates, subject_of, with_inputs
from zwang.compile.blocks import mapped
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.evaluation import evaluate
from zwang.dynamics.model import Model
from zwang.dynamics.number_range import LARGEST_SIZE
from zwang.dynamics.tangent_cone import may_branch, tangent_cone
from zwang.equations.state import host_state
from zwang.errors import ModelError
from zwang.inputs.arguments import choice, count, host_only, listed, mapping, number, real_array
from zwang.remedy import Remedy, advice
from zwang.thresholds import ACCEPTED_VIOLATION, ALL_BUT_ZERO, SOLUTION_ERROR

TIME = "time"
"""Name of the input of a model whose own constraints depend on t."""


@host_only("follow the branch once, and use .configurations(params), which can be differentiated")
def kinematics(
    model,
    input,
    over,
    *,
    q=None,
    params: PyTree = None,
    rate: float = 1.0,
    samples: int = 201,
    output=(),
    transmission=None,
    trace=(),
    at_limit: str = "stop",
    at_singular: str = "straight",
    bounds: str = "auto",
) -> Kinematics:
    """Configurations, velocities and accelerations of a mechanism over its input, on one branch.

        φ(q) = 0,   x(q) = t        A q′ = −∂φ/∂t,   A q″ = b(q, q′)

    The branch of the start is followed in steps that are certified by interval arithmetic: each
    step encloses exactly one configuration for every value along it, so that no step jumps to
    another branch. The path ends or turns back at limit positions. Singular configurations, where
    branches meet, are located, reported and crossed along the smooth branch.

    Args:
        model: a `zw.Model` with holonomic constraints, or a `zw.Mechanism` (without its drives).
        input: the name of a coordinate ("crank.angle") or of a joint; a function `(q, t, p)`;
            several as a dictionary from names to functions of t; or "time" for a model whose own
            constraints prescribe its motion.
        over: first and last value of the input [its unit], or all values, monotone.
        q: a configuration near the desired branch, shape (nq,); by default the initial
            configuration of a mechanism.
        params: parameters that differ from the model's.
        rate: rate of the input [unit/s], constant; velocities and accelerations refer to it.
        samples: number of values if `over` gives only two.
        output: names or functions for which rates, mechanical advantage and dead points are
            computed.
        transmission: two angles, of coupler and output link, whose difference folded into [0, π/2]
            is the transmission angle; where the output slides along its x axis, this is the
            pressure angle, the transmission angle is the rest to π/2.
        trace: points whose paths (coupler curves) are computed: "body.point" of a mechanism, a
            body, or functions.
        at_limit: "stop", or "follow" the branch while the input turns back.
        at_singular: "straight" or "stop".
        bounds: method for bounds of the second derivatives of the constraints along a step:
            "interval" certifies the step; "sampled" evaluates them at random points and does not;
            "auto" uses intervals, and samples if an operation of the model has no interval rule.

    Returns:
        A `Kinematics`: `.q`, `.v`, `.a` over `.input`, `.limits`, `.dead_points`, `.singular`;
        can be printed, plotted and saved.

    Raises:
        ModelError: for unknown names, a number of inputs that does not fit the degrees of freedom,
            nonholonomic constraints, or a start that is not on the branch.

    Reference: Kearfott and Xing (1994), SIAM J. Numer. Anal. 31, 892-914 (steps); Gosselin and
        Angeles (1990), IEEE Trans. Robot. Autom. 6, 281-290 (kinds of singularities).
    """
    choice(at_limit, "kinematics: at_limit", ("stop", "follow"))
    choice(at_singular, "kinematics: at_singular", ("straight", "stop"))
    choice(bounds, "kinematics: bounds", ("auto", "interval", "sampled"))
    rate = number(rate, "kinematics: rate", least=-LARGEST_SIZE, most=LARGEST_SIZE)
    if rate == 0:
        raise ModelError("kinematics: rate is 0, expected the rate of an input that moves.")
    # checked first, so that a wrong argument costs no compilation
    wanted = _values(over, samples)
    own = isinstance(input, str) and input == TIME
    subject = subject_of(
        model, q, params, "kinematics", t=wanted[0] if own else 0.0, keep_drives=own
    )
    inputs = _inputs(subject, input)
    held = with_inputs(subject.model, inputs) if inputs else subject.model
    dynamics = held.dynamics(params, Proximal())
    outputs = [subject.quantity(x, "kinematics: output") for x in _several(output, "output")]
    bounded = bounds != "sampled"
    ways = {"at_limit": at_limit, "at_singular": at_singular}
    path = _followed(subject, dynamics, inputs, wanted, outputs, bounded, ways)
    if not path.q:
        raise ModelError(
            f"{held.name}: the input cannot reach {wanted[0]:g} on this branch: the path "
            f"{_ended(path)}."
        )
    points = [subject.point(x, "kinematics: trace") for x in _several(trace, "trace")]
    angle = _transmission(subject, dynamics, path, transmission)
    return _analyzed(subject, held, dynamics, path, inputs, rate, outputs, points, angle)


def _values(over, samples: int) -> np.ndarray:
    values = np.asarray(real_array(over, "kinematics: over"), float)
    if values.ndim != 1 or len(values) < 2 or not np.all(np.isfinite(values)):
        raise ModelError(
            "kinematics: over is expected to be the first and the last value of the input, such as "
            "(0, 6.28), or all values."
        )
    if len(values) == 2:
        samples = count(samples, "kinematics: samples", least=2)
        values = np.linspace(values[0], values[1], samples)
    step = np.diff(values)
    if not (np.all(step > 0) or np.all(step < 0)):
        raise ModelError("kinematics: the values of over neither increase nor decrease throughout.")
    return values


def _several(given, what: str) -> tuple:
    """One name or function, or several."""
    if isinstance(given, str) or callable(given):
        return (given,)
    return listed(given, f"kinematics: {what}", "names or functions")


def _inputs(subject: Subject, given) -> tuple[tuple[Quantity, Callable | None], ...]:
    if isinstance(given, str) and given == TIME:
        return ()
    if not isinstance(given, Mapping):
        return ((subject.quantity(given, "kinematics: input"), None),)
    mapping(given, "kinematics: input", '{"left.angle": lambda t: t}')
    found = []
    for name, course_of in given.items():
        quantity = subject.quantity(name, "kinematics: input")
        if not callable(course_of):
            value = float(number(course_of, f"kinematics: input {name!r}"))
            course_of = Constant(value)
        found.append((quantity, course_of))
    return tuple(found)


@dataclasses.dataclass(frozen=True)
class Constant:
    """An input with a constant value; equal to another one with the same value."""

    value: float

    def __call__(self, t):
        return self.value + 0.0 * t


def _followed(
    subject: Subject, dynamics: Dynamics, inputs, wanted, outputs, bounded: bool, ways: dict
) -> Path:
    """The path through the given values, after the path from the start to the first of them."""
    q, name = subject.q, subject.model.name
    single = len(inputs) == 1 and inputs[0][1] is None
    t = _value(inputs[0][0], dynamics, q, wanted[0]) if single else float(wanted[0])
    curve = Curve(dynamics, scales(dynamics, q, t), bounded)
    _refuse_off(subject, dynamics, inputs, q, t)
    try:
        # scale t so that its unit is as long as the motion that it causes; the first frame is used
        # only for this scale
        tangent = curve.frame(q, t).tangent
        speed, slope = np.linalg.norm(tangent[:-1]), abs(tangent[-1])
        scale = np.append(curve.scale[:-1], slope / speed if slope else 1.0)
        curve = Curve(dynamics, scale, bounded)
        watch = tuple(Watched(x, curve) for x in outputs)
        if t != wanted[0]:
            # first follow the given branch from the given configuration to the first value of
            # `over`
            approach = follow_branch(curve, q, t, wanted[:1], at_singular=ways["at_singular"])
            if not approach.q:
                return approach
            q, t = approach.q[-1], float(wanted[0])
        return follow_branch(curve, q, t, wanted, watch=watch, **ways)
    except FreedomError as error:
        if inputs and error.freedom > 1 and _meet(subject):
            raise ModelError(
                f"{name}: the start is a singular configuration in which branches of motion meet, "
                "so that the input does not determine how the mechanism moves on: give a q= near "
                "it on the intended branch (zw.analysis.branches lists them)."
            ) from None
        raise ModelError(_freedom_sentence(name, error, dynamics)) from None


def _meet(subject: Subject) -> bool:
    """True if several branches of motion meet at the start, without the inputs."""
    dynamics = subject.model.dynamics(subject.params, Proximal())
    if not may_branch(dynamics):
        return False
    cone = tangent_cone(dynamics, subject.q, 0.0)
    return cone.isolated and len(cone.tangents) > 1


def scales(dynamics: Dynamics, q, t) -> np.ndarray:
    """Length of one unit of each velocity direction: 1/√M_ii, normalized to 1 on average; 1 for
    t.
    """
    nv = dynamics.system.nv
    state = host_state(q, np.zeros(nv), t)
    mass = np.diag(dense_mass(np.asarray(evaluate(dynamics, state).M)))
    # massless directions would get infinite lengths, so they get the average length
    heavy = mass > SOLUTION_ERROR * np.max(mass, initial=0.0)
    if not np.any(heavy):
        return np.ones(nv + 1)
    scale = np.sqrt(np.mean(mass[heavy]) / np.where(heavy, mass, np.mean(mass[heavy])))
    return np.append(scale, 1.0)


def _value(quantity: Quantity, dynamics: Dynamics, q, t) -> float:
    still = np.zeros(dynamics.system.nv)
    return float(quantity_rates(quantity, dynamics, q, still, still, t)[0])


OF_ALL_STARTS = Remedy(
    "give a q that has it (zw.analysis.assembly_modes lists all)",
    (("set", "`zwang assembly-modes` lists all starts, choose one by --set"),),
)


def _refuse_off(subject: Subject, dynamics: Dynamics, inputs, q, t) -> None:
    """Raise if a start does not have the values that several inputs prescribe there."""
    for quantity, wanted in inputs:
        if wanted is None:
            continue
        value, asked = _value(quantity, dynamics, q, t), float(wanted(jnp.asarray(t)))
        if abs(value - asked) > ACCEPTED_VIOLATION * (1 + abs(asked)):
            raise ModelError(
                f"{subject.model.name}: input {quantity.name!r} is {value:.6g} at the start, but "
                f"{asked:.6g} is prescribed for {t:g}: {advice(OF_ALL_STARTS)}."
            )


def _freedom_sentence(name: str, error: FreedomError, dynamics: Dynamics) -> str:
    if not error.freedom:
        return f"{name}: the mechanism is locked: no motion is left with the input given."
    velocities = dynamics.system.velocities
    size = np.linalg.norm(error.free[:, :-1], axis=0)
    free = [velocities[i] for i in np.argsort(-size)[:4] if size[i] > ALL_BUT_ZERO]
    several = Remedy(
        'give a dictionary, input={"a.angle": lambda t: t, "b.angle": 0.5}',
        (("", "the command takes one, its function in Python several"),),
    )
    return (
        f"{name}: {error.freedom - 1} degrees of freedom are left with the input given, in "
        f"{', '.join(map(repr, free))}; a mechanism needs as many inputs as degrees of freedom: "
        f"{advice(several)}."
    )


def _ended(path: Path) -> str:
    return {
        "limit": f"ends at a limit position at {path.limits[-1].t:.6g}" if path.limits else "",
        "singular": "ends at a singular configuration",
        "lost": "comes to a configuration beyond which no step can be certified",
    }.get(path.ended, "ends before")


# --- velocities, accelerations, and derived quantities


def _analyzed(
    subject: Subject,
    held: Model,
    dynamics: Dynamics,
    path: Path,
    inputs,
    rate: float,
    outputs: list[Quantity],
    points: list[Quantity],
    angle: np.ndarray | None,
) -> Kinematics:
    q, t = np.array(path.q), np.array(path.t)
    v, a = mapped(rates, (dynamics,), q, t)

    def trace(quantity: Quantity) -> Trace:
        y, dy, ddy = quantity_rates(quantity, dynamics, q, v, a, t)
        return Trace(quantity.name, quantity.unit, y, dy * rate, ddy * rate**2)

    single = len(inputs) == 1 and inputs[0][1] is None
    return Kinematics(
        model=held,
        params=subject.params,
        input_name=inputs[0][0].name if single else "t" if inputs else TIME,
        input_unit=inputs[0][0].unit if single else "s" if not inputs else "",
        rate=float(rate),
        input=t,
        q=q,
        v=v * rate,
        a=a * rate**2,
        outputs=tuple(map(trace, outputs)),
        limits=tuple(path.limits),
        dead_points={
            x.name: tuple((p.t, p.q) for p in zeros)
            for x, zeros in zip(outputs, path.zeros, strict=True)
        },
        singular=tuple(path.meetings),
        certified=path.certified,
        steps=path.steps,
        ended=path.ended,
        transmission=angle,
        traces=tuple(map(trace, points)),
        quantities=tuple(outputs),
    )


def _transmission(subject: Subject, dynamics: Dynamics, path: Path, given) -> np.ndarray | None:
    """The angle between two links, folded into [0, π/2], shape (n,)."""
    if given is None:
        return None
    pair = listed(given, "kinematics: transmission", "two angles")
    if len(pair) != 2:
        raise ModelError(
            "kinematics: transmission is expected to be two angles, of the coupler and of the "
            'output link, such as ("coupler.angle", "rocker.angle").'
        )
    angles = [subject.link(x, "kinematics: transmission") for x in pair]
    q, still = np.array(path.q), np.zeros((len(path.q), dynamics.system.nv))
    first, second = (quantity_rates(x, dynamics, q, still, still, path.t)[0] for x in angles)
    # the angle between lines, not vectors, and therefore in [0, π/2]
    return np.abs(np.arcsin(np.abs(np.sin(first - second))))
