"""`zw.analysis.equilibrium`: states in which forces balance, at rest or in a steady motion."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import PyTree

from zwang.algebra.spectrum import principal
from zwang.analysis.balance_problem import Point, Problem
from zwang.analysis.balance_search import (
    has_potential,
    left_behind,
    minimum,
    nearest_by_stages,
    refuse_moving,
    refuse_unbalanced,
    started,
)
from zwang.analysis.constrained_state import dynamics_of
from zwang.analysis.inputs import chosen_inputs, with_entries
from zwang.analysis.local_equations import forces_by_constraint, loads
from zwang.analysis.moving_state import (
    Motion,
    MovingState,
    balance_at,
    moving_state,
    near_balance,
)
from zwang.analysis.resting import resting
from zwang.analysis.result import AbstractResult, dataset_of, rounded, shortened
from zwang.analysis.sensitivity import Root
from zwang.compile.compatibility import outside_of_programs
from zwang.dynamics.model import Model
from zwang.equations.state import host_state
from zwang.errors import ModelError
from zwang.inputs.arguments import choice, host_only, instance, labels
from zwang.plots.script import opens_in_scripts
from zwang.remedy import Remedy, advice
from zwang.thresholds import ALL_BUT_ZERO

if TYPE_CHECKING:
    import xarray as xr

    from zwang.analysis.linearize import Linearization
    from zwang.plots import Picture

FIND = ("minimum", "nearest")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Equilibrium(AbstractResult):
    """Result of `zw.analysis.equilibrium`; `str()` prints it.

    Attributes:
        model, t: the model and the time [s].
        q, v: the state; v is zero at rest.
        params: parameters that differ from the model's, including those that were found.
        inputs: values of the parameters that were found, by name.
        multipliers: λ, shape (m,), of least norm where rows are redundant.
        constraint_force: generalized force of each constraint, by name, shape (nv,).
        unique: by name, True if that force is determined.
        gradient: unbalanced part of the forces in the tangent space, `Wᵀ (M v̇ − F)`.
        residual: its size relative to the acting forces.
        stiffness: eigenvalues of the reduced Hessian of the potential in the mass metric [1/s²],
            the least first; None in a steady motion, or if forces have no potential.
        guess_balances: True if forces also balance at the guess or close to it, and the search for
            a minimum has left this equilibrium, which is not a minimum; `find="nearest"` returns
            it.
    """

    model: Model
    q: np.ndarray
    v: np.ndarray
    t: float
    params: PyTree
    inputs: dict[str, float]
    multipliers: np.ndarray
    constraint_force: dict[str, np.ndarray]
    unique: dict[str, bool]
    gradient: np.ndarray
    residual: float
    stiffness: np.ndarray | None
    guess_balances: bool = False

    @property
    def other(self) -> str:
        """A sentence on an equilibrium at the guess that the search has left."""
        nearest = Remedy('find="nearest"', (("find", "--find nearest"),))
        return f"is also an equilibrium, or almost, but not a minimum; {advice(nearest)} returns it"

    @property
    def steady(self) -> bool:
        """True for a steady motion, False at rest."""
        return bool(np.any(self.v))

    @functools.cached_property
    def linearization(self) -> Linearization:
        """`zw.analysis.linearize` at the state, without inputs."""
        from zwang.analysis.linearize import linearize

        return linearize(self.model, self.q, self.v, t=self.t, params=self.params)

    @property
    def stable(self) -> bool | None:
        """True if small deviations stay small; None if neither eigenvalues nor a potential decide,
        see `verdict`.

        A strict minimum of the potential is stable if no force supplies energy (Lagrange and
        Dirichlet). If the Hessian has a negative eigenvalue, gyroscopic forces may still stabilize
        the state; the eigenvalues of the linearization decide.
        """
        return self.linearization.stable

    @property
    def verdict(self) -> str:
        """The verdict in words: "stable", "unstable", or a statement of what is undecided."""
        return self.linearization.verdict

    def configuration(self, params: PyTree) -> Array:
        """The coordinates as a function of parameters, shape (nq,); inside `jax.grad` and `jit`.

        One step of Newton's iteration on forces and constraints. Value and first derivatives are
        exact at the parameters of this result if the equilibrium is isolated. In a steady motion
        the position along its symmetries is fixed, and so are the rates of the symmetries if q
        alone can satisfy the balance; the symmetries are those at the parameters of this result.

        Args:
            params: as in `zw.analysis.equilibrium`.
        """
        return self._moved(params).state.q

    def velocities(self, params: PyTree) -> Array:
        """The velocities of a steady motion as a function of parameters, as `configuration`, shape
        (nv,); zero at rest.
        """
        return self._moved(params).state.v

    def constraint_forces(self, params: PyTree) -> Array:
        """Generalized forces of the constraints as a function of parameters, as `configuration`,
        shape (constraints, nv), in the order of `constraint_force`. A force that is not `unique` is
        one of those that balance.
        """
        at = self._moved(params)
        s, multipliers = at.state, jnp.asarray(at.multipliers)
        return forces_by_constraint(at.dynamics, s, multipliers)

    @functools.cached_property
    def _rest(self) -> tuple[Motion, Root]:
        """The equations of the balance at rest, and their solution."""
        own = dynamics_of(self.model, self.params)
        return balance_at(own, self.q, self.t, self.multipliers)

    def _moved(self, params: PyTree) -> MovingState:
        """The nearby state at other parameters."""
        if isinstance(self.params, dict) and isinstance(params, dict):
            params = {**self.params, **params}
        dynamics = dynamics_of(self.model, params)
        if not self.steady:
            return near_balance(*self._rest, dynamics)
        with outside_of_programs():
            linear = self.linearization
        return moving_state(linear, dynamics)

    @property
    def dataset(self) -> xr.Dataset:
        """State, multipliers, forces and stiffness with their names."""
        nv, names = self.model.system.nv, list(self.constraint_force)
        data = {
            "q": ("coordinate", self.q),
            "v": ("velocity", self.v),
            "multipliers": ("row", self.multipliers),
            "constraint_force": (
                ("constraint", "velocity"),
                np.array([self.constraint_force[x] for x in names]).reshape(-1, nv),
            ),
            "unique": ("constraint", np.array([self.unique[x] for x in names], bool)),
        }
        if self.stiffness is not None:
            data["stiffness"] = ("direction", self.stiffness, {"units": "1/s2"})
        found = {f"input {k}": x for k, x in self.inputs.items()}
        if self.stable is not None:
            found["stable"] = int(self.stable)
        attrs = {"t": self.t, "residual": self.residual, "verdict": self.verdict, **found}
        return dataset_of(self.model, data, {"constraint": names} if names else None, **attrs)

    @opens_in_scripts
    def plot(self) -> Picture:
        """Plot the eigenvalues of the linearization in the complex plane."""
        return self.linearization.plot()

    def __str__(self) -> str:
        return "\n".join(_lines(self))


@host_only("call it outside of them, with the numbers of one model")
def equilibrium(
    model: Model,
    q,
    *,
    v=None,
    t: float = 0.0,
    params: PyTree = None,
    inputs: Sequence[str] = (),
    hold: Sequence[str] = (),
    find: str = "minimum",
) -> Equilibrium:
    """The state near a guess in which forces balance, at rest or in a steady motion.

        Wᵀ F = 0,  φ = 0  at rest;    Wᵀ (M v̇ − F) = 0,  φ = ψ = 0  along a symmetry

    W is a basis of the kernel of the constraint matrix, orthonormal in the mass metric; constraint
    forces balance the other components of F. The constraints include gaps that are closed at the
    guess and loaded there, and gaps that are reached during the search. The `model` of the result
    contains the gaps that carry load, that is, the equations that hold at the result. Dry friction
    balances forces up to its limit.

    Args:
        model: the model; with a servo, its closed loop.
        q: guess of the coordinates, shape (nq,).
        v: guess of the velocities in a steady motion (a rolling disk, a rotating governor), shape
            (nv,); at rest by default. The rates of its symmetries are kept if q alone can satisfy
            the balance.
        t: time [s], constant.
        params: parameters that differ from the model's.
        inputs: names of parameters that are unknown as well (trim); q is kept if they suffice.
        hold: names of coordinates and velocities that keep the given value.
        find: "minimum" descends to a minimum of the potential, which is stable, if the forces have
            a potential and nothing is held or unknown; "nearest" finds the nearest equilibrium,
            even an unstable one. A steady motion is always the nearest.

    Raises:
        ModelError: if no balance is found, with the coordinate that is farthest from it; for an
            unknown name, Coulomb friction, or a v that is not along symmetries of the model.

    Example:
        >>> rest = zw.analysis.equilibrium(model, q=[0.3, -0.2])
        >>> print(rest, rest.stable)
    """
    instance(model, Model, "equilibrium: model", "a zw.Model")
    choice(find, "find", FIND)
    if model.constraints.loose:
        if v is not None and np.any(np.asarray(v)):
            raise ModelError(
                f"{model.name}: {model.constraints.loose[0]!r} is an inequality or dry friction, "
                "which the search for steady motions does not support; take the equations that "
                "hold by zw.analysis.contact_mode(model, q, v)."
            )
        search = lambda mode, q: equilibrium(
            mode, q, t=t, params=params, inputs=inputs, hold=hold, find=find
        )
        return resting(model, q, float(t), params, search)
    acting = chosen_inputs(model, params, labels(inputs, "inputs"))
    if acting.actuation is not None:
        raise ModelError(
            "equilibrium: inputs that are found must be parameters of the model; "
            f"{acting.names[-1]!r} is a velocity. Let a parameter be the force along it."
        )
    problem, start = started(model, q, v, t, params, hold, acting)
    # a minimum of the potential is sought only at rest and without other unknowns
    searched = not (problem.symmetric is not None or acting.names or hold)
    balances = False
    if find == "minimum" and searched and has_potential(start):
        at = minimum(problem, start)
        balances = left_behind(problem, start, at)
    else:
        at = nearest_by_stages(problem, start, bool(hold))
    refuse_unbalanced(model, problem, at)
    refuse_moving(model, problem, at)
    found = as_equilibrium(model, problem, at, params)
    return dataclasses.replace(found, guess_balances=balances)


def as_equilibrium(model: Model, problem: Problem, at: Point, params) -> Equilibrium:
    """The result for a trial that balances."""
    dynamics, names = problem.with_parameters(at.mu), problem.acting.names
    state, parts = host_state(at.q, at.v, problem.t), dynamics.constraints.row_slices
    found, by_multipliers = loads(dynamics, state, jnp.asarray(at.multipliers))
    null = at.mass.rows(at.local.A + at.local.pull.T).dependencies
    open_to = np.abs(np.asarray(by_multipliers) @ null)
    forces = dict(zip(parts, np.asarray(found), strict=True))
    unique = {x: bool(np.all(y <= ALL_BUT_ZERO)) for x, y in zip(parts, open_to, strict=True)}
    given = dict(params) if isinstance(params, dict) else params
    if problem.acting.parameters:
        given = with_entries(model, params, problem.acting, at.mu)
    potential = problem.symmetric is None and has_potential(at)
    K = at.stiffness
    return Equilibrium(
        model,
        at.q,
        at.v,
        problem.t,
        given,
        dict(zip(names, map(float, at.mu), strict=False)),
        at.multipliers,
        forces,
        unique,
        at.gradient,
        float(np.linalg.norm(problem.residual(at))),
        principal(K)[0] if potential else None,
    )


def _lines(e: Equilibrium) -> Iterator[str]:
    """The printed lines of an equilibrium."""
    system = e.model.system
    kind = "steady motion" if e.steady else "equilibrium"
    yield f"{e.model.name}: {kind}, {e.verdict}"
    yield f"  unbalanced force  {e.residual:.1e} (relative)"
    if e.stiffness is not None and len(e.stiffness):
        least, most = e.stiffness[[0, -1]]
        range_ = f"{least:.6g}" if len(e.stiffness) == 1 else f"{least:.6g} … {most:.6g}"
        yield f"  stiffness         {range_} 1/s² (reduced Hessian, mass metric)"
    if e.guess_balances:
        yield f"  guess             {e.other}"
    for name, value in e.inputs.items():
        yield f"  found             {name} = {value:.9g}"
    yield ""
    rows: list[Sequence[str]] = [("coordinate", "value", "unit")]
    rows += [
        (name, rounded(x), unit)
        for name, x, unit in zip(system.coordinates, e.q, system.units, strict=True)
    ]
    yield from shortened(rows, "coordinates")
    if e.steady:
        rows = [("velocity", "value", "unit")]
        rows += [
            (name, rounded(x), unit)
            for name, x, unit in zip(system.velocities, e.v, system.velocity_units, strict=True)
        ]
        yield ""
        yield from shortened(rows, "velocities")
    if e.constraint_force:
        yield ""
        rows = [("constraint", "multipliers", "force")]
        for name, own in e.model.constraints.row_slices.items():
            shown = ", ".join(f"{x:.6g}" for x in np.round(e.multipliers[own], 12))
            rows.append((name, shown, "unique" if e.unique[name] else "not unique"))
        yield from shortened(rows, "constraints")
