"""A report on a model at a state: rank, redundant rows, degrees of freedom, consistency, and the
kind of each constraint.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from zwang.algebra.decomposition import Decomposition, outside, pivots
from zwang.algebra.metric import condition_of_mass, dense_metric
from zwang.algebra.pseudoinverse.proximal import Proximal
from zwang.analysis.check_text import lines
from zwang.analysis.pfaffian import Reach, integral, reach
from zwang.analysis.redundancy import (
    Dependency,
    FreeMotion,
    Suggestion,
    dependencies,
    free_motions,
    suggestions,
)
from zwang.compile import program
from zwang.dynamics.consistency import LATER, vanishing_rows
from zwang.dynamics.control_law import AbstractControlLaw, Control
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.evaluation import evaluate
from zwang.dynamics.initial_conditions import (
    Start,
    begin,
    refuse_asymmetric_elsewhere,
    refuse_non_finite,
    refuse_singular_mass,
    with_mass,
)
from zwang.dynamics.model import Model
from zwang.dynamics.motion import motion_of, row_name
from zwang.dynamics.uniqueness import uniqueness_at
from zwang.equations.constraint import DryFriction, Holonomic
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.hierarchy.describe import LevelReport, level_reports, tree_lines
from zwang.inputs.arguments import host_only, instance
from zwang.mechanism.mechanism import Mechanism
from zwang.objects.display import present
from zwang.simulation.mode import mode_of, without

INTEGRABLE = "holonomic, given by velocities"
"""Kind of an integrable velocity constraint; "scleronomic" or "rheonomic" precedes it."""


@dataclasses.dataclass(frozen=True)
class ConstraintReport:
    """One constraint.

    Attributes:
        name, kind, rows: the constraint.
        redundant: number of rows that the constraints before it already imply.
        shares: True if its rows take part in a linear dependency.
        unique_force: True if its generalized force is determined; its multipliers are determined if
            `shares` is False.
        unique_rows: for each of its multipliers, True if it is determined.
        phi, psi: largest position and velocity residual, in the rows' own units; None if it has
            none.
    """

    name: str
    kind: str
    rows: int
    redundant: int
    shares: bool
    unique_force: bool
    unique_rows: tuple[bool, ...]
    phi: float | None
    psi: float | None


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """Result of `zw.check`; `str()` prints it.

    Attributes:
        model, nq, nv, m: name and sizes.
        rank: rank of A by `DEPENDENT_ROWS`.
        position_rank: rank of the holonomic rows alone.
        singular_values: of A with rows at unit length, largest first.
        constraints: a `ConstraintReport` each.
        independent: velocities that may be chosen freely; one of several possible choices.
        position_violation, velocity_violation, residual: dimensionless; of the state and of `A v̇ =
            b`.
        accuracy: estimate of the relative error of v̇, as in `Motion`.
        mass_condition: condition of M at unit diagonal; infinite if M is singular.
        singular_mass: whether M is singular here.
        consistent: True if the state satisfies the constraints and the constraints do not
            contradict each other.
        unheld: rows without a gradient, which a run refuses, with the reason why no force can
            enforce them.
        actuators: names of the actuators; empty without control.
        control: u at the state and its effect; None without control.
        control_law: the states that the control adds to the system, such as integrators; "" if
            none.
        levels: for a hierarchy, the contribution of each level, lowest first.
        tree: for a hierarchy, its modules as lines of text, each with its own degrees of freedom.
        dependencies: for each redundant row a smallest combination of other rows that implies it.
        free_motions: a basis of the directions in which the model may move.
        reach: the states that velocity constraints leave reachable (Frobenius' theorem); None
            without velocity constraints.
        integrals: by name, the position constraints equivalent to velocity constraints that are
            integrable separately.
        suggestions: for a mechanism, joints that can be replaced by less restrictive ones to reduce
            redundancy.
        loose: by name, the mode of each inequality and dry friction from this state on: a gap is
            "open" or "closed", a dry friction "sticks", "slides" or is "not loaded". Rows of closed
            gaps and of sticking frictions count.
        unique_motion: True if the motion is unique; it is not if friction depends on forces that
            are not unique.
    """

    model: str
    nq: int
    nv: int
    m: int
    rank: int
    position_rank: int
    singular_values: np.ndarray
    constraints: tuple[ConstraintReport, ...]
    independent: tuple[str, ...]
    position_violation: float
    velocity_violation: float
    residual: float
    accuracy: float
    mass_condition: float
    singular_mass: bool
    consistent: bool
    unheld: dict[str, str] = dataclasses.field(default_factory=dict)
    actuators: tuple[str, ...] = ()
    control: Control | None = None
    control_law: str = ""
    levels: tuple[LevelReport, ...] = ()
    tree: tuple[str, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    free_motions: tuple[FreeMotion, ...] = ()
    reach: Reach | None = None
    integrals: dict[str, Holonomic] = dataclasses.field(default_factory=dict)
    suggestions: tuple[Suggestion, ...] = ()
    loose: dict[str, str] = dataclasses.field(default_factory=dict)
    unique_motion: bool = True

    @property
    def degrees_of_freedom(self) -> int:
        """Independent velocities, nv − rank."""
        return self.nv - self.rank

    @property
    def redundant_rows(self) -> int:
        return self.m - self.rank

    def __str__(self) -> str:
        return "\n".join(lines(self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """HTML for a notebook."""
        return present("notebook_of_diagnosis", self)


@host_only("call it outside of them, with the numbers of one state")
def check(model, q=None, v=None, t=0.0, *, params: PyTree = None) -> Diagnosis:
    """Diagnose a model at a state, which need not meet the constraints.

    Args:
        model: a `zw.Model`, or a `zw.Mechanism`, for which less restrictive joints are suggested.
        q, v: state, shapes (nq,) and (nv,); v is zero by default, and the default q of a mechanism
            is its initial configuration.
        t: time [s].
        params: parameters that differ from the model's.

    Raises:
        ModelError: for functions that return NaN, and for a direction with neither mass nor
            constraint.
    """
    mechanism = model if isinstance(model, Mechanism) else None
    if mechanism is not None:
        own, model = mechanism.start_state, mechanism.model
        q, v = (own.q, own.v if v is None else v) if q is None else (q, v)
    model = instance(model, Model, "check: model", "a zw.Model")
    if q is None:
        raise ModelError("check: q is missing: give the coordinates to check the model at.")
    state = model.state(q, np.zeros(model.system.nv) if v is None else v, t)
    loose, unique = {}, None
    if model.constraints.loose:
        # a state that violates its constraints is diagnosed as well
        mode = mode_of(model, state.q, state.v, float(state.t), params, np.inf)
        loose, unique = mode.held, uniqueness_at(mode.dynamics, mode.state).motion
        model = mode.model
        if np.any(mode.sliding):
            model = without(model, lambda c: isinstance(c, DryFriction))
    # all singular values are needed, so a sparse A has no advantage
    dynamics = model.dynamics(params, Proximal())
    # a singular M is detected here, before any solve with it
    dynamics = with_mass(model, dynamics, state)
    start = begin(dynamics, state)
    refuse_non_finite(model, start)
    refuse_singular_mass(model, start)
    refuse_asymmetric_elsewhere(model, dynamics, state)
    found = _diagnose(model, dynamics, state, start, mechanism)
    if unique is None:
        unique = not dynamics.rough or uniqueness_at(dynamics, start.placement.state).motion
    found = dataclasses.replace(found, loose=loose, unique_motion=unique)
    # the diagnosis of the passive model is the same with and without a servo
    if model.servo is None:
        return found
    control = jax.tree_util.tree_map(np.asarray, _control(dynamics, state))
    names, remark = model.servo.names(len(control.u)), model.servo.remark
    return dataclasses.replace(found, actuators=names, control=control, control_law=remark)


@program
def _control(dynamics: Dynamics, state: State) -> Control:
    assert isinstance(dynamics.law, AbstractControlLaw)
    return dynamics.law.control(dynamics.passive, state)


def _diagnose(
    model: Model, dynamics: Dynamics, state: State, start: Start, mechanism: Mechanism | None
) -> Diagnosis:
    c, A = model.constraints, np.asarray(start.at.A)
    metric = dense_metric(start.at.M, A if dynamics.singular_mass else None)
    # relative to typical lengths, so that units do not decide whether a row counts as absent
    unit_rows = metric.rows(A, typical=np.asarray(start.scales.row_length))
    C, rank = unit_rows.C, unit_rows.rank
    null = unit_rows.split.left_kernel
    phi, psi = np.full(c.m, np.nan), np.full(c.m, np.nan)
    phi[c.position_rows], psi[c.velocity_rows] = np.abs(start.at.phi), np.abs(start.at.psi)
    reports, span = [], np.zeros((0, model.system.nv))
    kinds, known = _kinds(dynamics, state), unit_rows.unique
    linear = {n: c.row_slices[n] for n, kind in kinds.items() if kind.startswith("linear")}
    scale = 1 / np.sqrt(np.diag(metric.M))
    # with geometric mean one, so that lengths keep the magnitude of the model's units
    scale = scale / np.exp(np.mean(np.log(scale)))
    bent = {n: c.row_slices[n] for n, kind in kinds.items() if kind.startswith("nonlinear")}
    reached = reach(dynamics, state, linear, scale, bent) if linear or bent else None
    integrals = {}
    for name in reached.integrable if reached else ():
        how = "rheonomic" if reached and name in reached.rheonomic else "scleronomic"
        kinds[name] = kinds[name].replace("linear nonholonomic", f"{how} {INTEGRABLE}")
        integrals[name] = integral(dynamics, state, name, linear[name], scale)
    for name, rows in c.row_slices.items():
        # in the order of the constraints: of two equal rows, the later one counts as redundant
        new = _directions(C[rows], span)
        span, share = np.concatenate([span, new]), null[rows]
        reports.append(
            ConstraintReport(
                name,
                kinds[name],
                rows.stop - rows.start,
                (rows.stop - rows.start) - len(new),
                bool(np.any(np.abs(share) > 1e-6)),
                bool(np.all(np.abs(C[rows].T @ share) < 1e-6)),
                tuple(bool(x) for x in known[rows]),
                _largest(phi[rows]),
                _largest(psi[rows]),
            )
        )
    gone = vanishing_rows(dynamics.passive, start.there, start.placement.state)
    violation, speed = start.placement.violation_before, start.placement.velocity_violation_before
    residual = start.verdict.residual
    return Diagnosis(
        model.name,
        model.system.nq,
        model.system.nv,
        c.m,
        rank,
        Decomposition(C[c.position_rows]).rank,
        unit_rows.split.singular_values,
        tuple(reports),
        # the velocities that span the free directions best
        tuple(model.system.velocities[i] for i in pivots(unit_rows.split.kernel.T)),
        violation,
        speed,
        residual,
        _accuracy(dynamics, start),
        np.inf if dynamics.singular_mass else condition_of_mass(start.at.M),
        dynamics.singular_mass,
        violation < 1e-6 and speed < 1e-6 and start.verdict.consistent and not gone,
        {row_name(model, row): why for row, why in gone.items()},
        levels=level_reports(model, C),
        tree=tree_lines(model, C),
        dependencies=tuple(
            x
            for x in dependencies(C, c.row_slices, rank)
            if x.others or c.row_slices[x.row[0]].start + x.row[1] not in gone
        ),
        free_motions=free_motions(unit_rows.kernel.T, model.system.velocities),
        reach=reached,
        integrals={name: x for name, x in integrals.items() if x is not None},
        suggestions=() if mechanism is None else suggestions(mechanism, C, c.row_slices, rank),
    )


def _accuracy(dynamics: Dynamics, start: Start) -> float:
    """Estimate of the relative error of v̇ at the projected state."""
    state, applied = start.placement.state, start.there.actuator_force
    return float(motion_of(dynamics.passive, state, 0.0, applied, start.scales).accuracy)


def _largest(x: np.ndarray) -> float | None:
    return None if np.all(np.isnan(x)) else float(np.nanmax(x))


def _directions(rows: np.ndarray, span: np.ndarray) -> np.ndarray:
    """Orthonormal directions of rows of unit length outside the span of others, which is
    orthonormal.
    """
    return Decomposition(outside(rows, span), beside=1.0).row_space.T


def _kinds(dynamics: Dynamics, s: State) -> dict[str, str]:
    """Kind of each constraint, from evaluations at random states and times nearby."""
    c, system, p = dynamics.constraints, dynamics.system, dynamics.p
    random = np.random.default_rng(1996)
    at = lambda q=s.q, v=s.v, t=s.t: evaluate(dynamics, State(q, v, t))
    differ = lambda x, y: (
        np.abs(np.asarray(x) - np.asarray(y)) > 1e-10 * (1 + np.abs(np.asarray(x)))
    )
    moving, nonlinear = np.zeros(c.m, bool), np.zeros(c.m, bool)
    nearby = [
        system.move(s.q, jnp.asarray(0.1 * random.standard_normal(system.nv)), s.t, p)
        for _ in range(2)
    ]
    for q in [s.q, *nearby]:
        here = at(q).phi
        for later in LATER:
            moving[c.position_rows] |= differ(here, at(q, t=s.t + later).phi)
    rows = [
        np.asarray(at(v=s.v + jnp.asarray(random.standard_normal(system.nv))).A) for _ in range(3)
    ]
    # if A depends on v, ψ is not linear in v
    nonlinear |= np.any(differ(rows[0], rows[1]) | differ(rows[1], rows[2]), axis=1)
    kinds = {}
    for name, own in c.row_slices.items():
        constraint = c.owners[name]
        kind = constraint.level.kind(bool(moving[own].any()), bool(nonlinear[own].any()))
        kinds[name] = kind + ("" if constraint.nonideal is None else ", nonideal")
    return kinds
