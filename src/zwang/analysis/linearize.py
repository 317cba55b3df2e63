"""Minimal linear equations on the tangent space of the constraint manifold.

A state x = (q, v) on the constraints moves by ẋ = f(x). If the motion is steady, that is, along a
symmetry Ξ of the model (zero at an equilibrium), small deviations in axes that move with Ξ obey

    ż = A z + B u,    A = T⁺ (∂f − ∂Ξ) T,    (ξ, δv) = T z,

with constant coefficients. T is a basis of the tangent space, orthonormal in the mass metric
(`constrained_state.py`). Redundant rows do not change the tangent space; nonholonomic rows reduce
the velocities but not the positions.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import PyTree

from zwang.algebra.decomposition import Decomposition, pivots
from zwang.analysis.aside import Time, explicit_time
from zwang.analysis.constrained_state import (
    ConstrainedState,
    TangentSpace,
    aligned,
    dynamics_of,
    placed,
    refuse_friction,
    solve,
)
from zwang.analysis.inputs import Inputs, chosen_inputs, chosen_outputs
from zwang.analysis.linear_system import Descriptor, LinearSystem, descriptor
from zwang.analysis.local_equations import (
    Generator,
    Variation,
    energy_rates,
    output_slopes,
    time_derivatives,
)
from zwang.analysis.result import AbstractResult, eigenvalue_picture
from zwang.analysis.symmetry import Symmetries, symmetries
from zwang.compile.compatibility import outside_of_programs
from zwang.dynamics.model import Model
from zwang.errors import ModelError
from zwang.inputs.arguments import host_only, instance
from zwang.inputs.text import counted
from zwang.plots.script import opens_in_scripts
from zwang.thresholds import ALL_BUT_ZERO, DERIVED

if TYPE_CHECKING:
    import xarray as xr

    from zwang.analysis.modes import Modes
    from zwang.analysis.moving_state import Motion
    from zwang.analysis.sensitivity import Root
    from zwang.analysis.stability import Verdict
    from zwang.plots import Picture


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Linearization(LinearSystem, AbstractResult):
    """Result of `zw.analysis.linearize`; `str()` prints it.

    Attributes:
        A, B, C, D: `ż = A z + B u`, `δy = C z + D u`.
        states, inputs, outputs: names; a state "x" is a position with its largest component along
            the velocity named x, "x rate" a velocity.
        model, q, v, t: the model and the state on the constraints.
        kind: "equilibrium", "steady motion", or "moving state" with coefficients that change with
            time; A is then that of the instant.
        basis: T, shape (2 nv, n): (ξ, δv) = T z. Its upper rows are orthonormal in the mass metric,
            and so are the columns of the velocities.
        basis_q: δq = basis_q z, shape (nq, n).
        project: T⁺, shape (n, 2 nv).
        multipliers: λ at the state.
        defect: relative part of (∂f − ∂Ξ) T outside the tangent space; round-off except for a
            moving state.
        neutral: directions along symmetries of the model, shape (n, k).
        descriptor: the linear equations including constraints and multipliers.
        nominal_inputs: value of each input at the state, shape (nu,).
        acting, here, found: the inputs, the state with its derivatives, its symmetries.
        loads_change: True if forces at rest change with time and balance only at t.
    """

    model: Model
    q: np.ndarray
    v: np.ndarray
    t: float
    kind: str
    basis: np.ndarray
    basis_q: np.ndarray
    project: np.ndarray
    multipliers: np.ndarray
    defect: float
    descriptor: Descriptor
    nominal_inputs: np.ndarray
    acting: Inputs = dataclasses.field(repr=False)
    here: ConstrainedState = dataclasses.field(repr=False)
    found: Symmetries | None = dataclasses.field(repr=False)
    loads_change: bool = False

    @property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues of A [1/s], the largest real part first."""
        return self.poles

    @functools.cached_property
    def _judged(self) -> Verdict:
        from zwang.analysis.stability import judged

        return judged(self)

    @property
    def stable(self) -> bool | None:
        """True if small deviations stay small (in a steady motion, without symmetries); None if
        neither eigenvalues nor a potential decide, see `verdict`.
        """
        return self._judged.stable

    @property
    def verdict(self) -> str:
        """Stability in words: "stable", "unstable", or a statement of what is undecided."""
        return self._judged.words

    @property
    def along(self) -> Generator | None:
        """The symmetry that the state moves along; None at an equilibrium."""
        return None if self.found is None else self.found.combined(self._steady_rates[0])

    @property
    def unexplained(self) -> float:
        """The relative part of (v, v̇) outside the symmetry, a measure of its accuracy."""
        if self.found is None:
            return 0.0
        own = np.concatenate([self.here.state.v, self.here.w])
        return float(np.linalg.norm(self._steady_rates[1]) / max(np.linalg.norm(own), 1e-300))

    @functools.cached_property
    def _steady_rates(self) -> tuple[np.ndarray, np.ndarray]:
        assert self.found is not None
        return self.found.rates(self.here.dynamics, self.here.state, self.here.w)

    @functools.cached_property
    def symmetric_directions(self) -> np.ndarray:
        """Direction of z under each symmetry of the model, shape (n, symmetries)."""
        found = symmetries(self.here.dynamics, self.here) if self.found is None else self.found
        return self.project @ found.directions(self.here.dynamics, self.here.state, self.here.w)

    @functools.cached_property
    def neutral(self) -> np.ndarray:
        return Decomposition(self.symmetric_directions).range

    @functools.cached_property
    def balance(self) -> tuple[Motion, Root]:
        """The equations of an equilibrium or a steady motion, and their solution."""
        from zwang.analysis.moving_state import balance_at

        with outside_of_programs():
            rates = () if self.found is None else self._steady_rates[0]
        here = self.here
        return balance_at(here.dynamics, self.q, self.t, here.multipliers, self.found, rates)

    def reduced(self) -> LinearSystem:
        """The system without the directions of symmetries, along which nothing changes: for a
        bicycle, without its position, its heading and the angles of its wheels.
        """
        if not self.neutral.shape[1]:
            return self
        R = self.across
        return LinearSystem(
            R.T @ self.A @ R,
            R.T @ self.B,
            self.C @ R,
            self.D,
            tuple(self.states[i] for i in pivots(R.T)),
            self.inputs,
            self.outputs,
        )

    @functools.cached_property
    def across(self) -> np.ndarray:
        """An orthonormal basis of the complement of the symmetries, shape (n, n − k)."""
        return aligned(Decomposition(self.neutral).left_kernel)

    def modes(self) -> Modes:
        """Frequencies, damping and shapes."""
        from zwang.analysis.modes import modes

        return modes(self)

    @property
    def dataset(self) -> xr.Dataset:
        """Matrices, bases and eigenvalues with their names."""
        data, system = self._variables(), self.model.system
        data["basis_q"] = (("coordinate", "state_"), self.basis_q)
        data["q"], data["v"] = ("coordinate", self.q), ("velocity", self.v)
        data = data.assign_coords(
            coordinate=list(system.coordinates), velocity=list(system.velocities)
        )
        data.attrs.update(model=self.model.name, kind=self.kind, verdict=self.verdict)
        if self.stable is not None:
            data.attrs["stable"] = int(self.stable)
        return data

    @opens_in_scripts
    def plot(self) -> Picture:
        """The eigenvalues in the complex plane."""
        return eigenvalue_picture(
            [self.eigenvalues], [self.model.name], f"{self.model.name}: eigenvalues"
        )

    def __str__(self) -> str:
        s = self.model.system
        head = (
            f"{self.model.name}: linearized at "
            f"{'an' if self.kind == 'equilibrium' else 'a'} {self.kind}: "
            f"{counted(len(self.A), 'state')}, "
            f"{counted(len(self.inputs), 'input')}, {counted(len(self.outputs), 'output')}\n"
            f"  state                 orthonormal basis of the tangent space in the mass metric "
            f"({s.nv} velocit{'y' if s.nv == 1 else 'ies'})\n"
            f"  verdict               {self.verdict}\n"
        )
        return head + str(self.modes())

    __repr__ = AbstractResult.__repr__


@host_only("call it outside of them, with the numbers of one state")
def linearize(
    model: Model,
    q,
    v=None,
    *,
    t: ArrayLike = 0.0,
    params: PyTree = None,
    inputs: object = (),
    outputs: Sequence[str] | Callable | None = None,
) -> Any:
    """Linear equations for small deviations from an equilibrium, a steady motion or a trajectory.

        ż = A z + B u,    δy = C z + D u,    (ξ, δv) = T z

    The state z is minimal: T is a basis of the tangent space of the constraint manifold,
    orthonormal in the mass metric, with positions first. Rows may be redundant or nonholonomic. A
    state that violates its constraints is first projected onto them.

    Args:
        model: the model; with a servo, its closed loop.
        q, v: the state, shapes (nq,) and (nv,); v is zero by default. With a leading axis of
            samples, and t of shape (samples,), the result is the linearization along a trajectory,
            a `TimeVaryingLinearization`.
        t: time [s].
        params: parameters that differ from the model's.
        inputs: names of parameters, names of velocities (a generalized force along each), an array
            B of shape (nv, nu), a function `(q, t, p)` → B, or a `zw.Servo` for its actuators.
        outputs: names of coordinates and velocities, or a function `(q, v, t, p)` → y; all
            coordinates and velocities by default.

    Raises:
        ModelError: for a state that cannot be projected onto its constraints, an unknown or
            ambiguous name, an input that changes the constraints themselves, or Coulomb friction.

    Example:
        >>> linear = zw.analysis.linearize(model, q=[0.0], v=[0.0], inputs=["torque"])
        >>> print(linear.modes())
    """
    instance(model, Model, "linearize: model", "a zw.Model")
    acting = chosen_inputs(model, params, inputs)
    model = acting.model
    dynamics = dynamics_of(model, params)
    if np.ndim(q) == 2:
        from zwang.analysis.time_varying import linearize_along

        return linearize_along(model, dynamics, q, v, t, acting, outputs)
    state = placed(model, dynamics, q, v, t, "linearize")
    refuse_friction(model, dynamics, state)
    here = solve(dynamics, state)
    return linear_at(model, here, acting, outputs)


def linear_at(model: Model, here: ConstrainedState, acting: Inputs, outputs) -> Linearization:
    """The linearization at a state on the constraints."""
    system, s = model.system, here.state
    function, names = chosen_outputs(model, outputs)
    rest = (np.max(np.abs(here.w), initial=0.0), np.max(np.abs(s.v), initial=0.0))
    # a state counts as at rest by comparison with its acceleration without constraints
    free = np.linalg.norm(here.mass.solve(here.local.F))
    found, field, kind, time = None, None, "equilibrium", Time.NOTHING
    # DERIVED: largest relative q̇ and v̇ of an equilibrium
    if rest[0] > DERIVED * (free + 1e-6) or rest[1] > DERIVED:
        found, field, kind = _steady(here)
    else:
        time = explicit_time(here)
        if time is Time.COEFFICIENTS:  # such as a bead at rest on the axis of a rotating hoop
            found, field, kind = _steady(here)
    varied = here.varied(field, acting.directions)
    tangent = here.tangent_by(varied)
    # the basis rotates with the motion, which a constant basis does not include
    turns = kind == "moving state"
    A, B, C, D, defect = coefficients(here, varied, tangent, acting, function, turns)
    return Linearization(
        A,
        B,
        C,
        D,
        state_names(system.velocities, tangent),
        acting.names,
        names,
        model,
        np.asarray(s.q),
        np.asarray(s.v),
        float(s.t),
        kind,
        tangent.basis,
        here.local.N @ tangent.basis[: system.nv],
        tangent.project,
        here.multipliers,
        defect,
        descriptor(here, varied, acting),
        acting.nominal,
        acting,
        here,
        found,
        time is Time.LOADS,
    )


def _steady(here: ConstrainedState) -> tuple[Symmetries | None, Generator | None, str]:
    """The symmetry along which a state moves, if there is one."""
    if _changes_energy(here):
        return None, None, "moving state"
    found = symmetries(here.dynamics, here)
    if found.base is not None:
        rates, left = found.rates(here.dynamics, here.state, here.w)
        own = np.concatenate([here.state.v, here.w])
        # DERIVED: largest relative part of (v, v̇) outside the symmetries in a steady motion
        if np.linalg.norm(left) <= DERIVED * max(np.linalg.norm(own), 1.0):
            return found, found.combined(rates), "steady motion"
    return None, None, "moving state"


def _changes_energy(here: ConstrainedState) -> bool:
    """True if the kinetic energy T = ½ vᵀ M v changes (T′, or at rest T″ = wᵀ M w), so that no
    symmetry can move the state. This avoids a search for symmetries, which takes seconds for a
    humanoid.
    """
    M, v, w = here.local.M, np.asarray(here.state.v), here.w
    by_place, by_velocity = map(float, energy_rates(here.dynamics, here.state, jnp.asarray(w)))
    size = max(float(np.linalg.norm(np.concatenate([v, w]))), 1.0)
    # ten times the part of (v, w) that may be outside the symmetries in a steady motion
    off = ALL_BUT_ZERO * size
    terms = np.linalg.norm(M @ v) + np.linalg.norm(M @ w) + abs(by_place)
    changes = abs(by_place + by_velocity) > off * terms
    return bool(changes or (not np.any(v) and np.linalg.norm(w) > off))


def coefficients(
    here: ConstrainedState,
    varied: Variation,
    tangent: TangentSpace,
    acting: Inputs,
    outputs: Callable,
    turns: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
    """A, B, C and D at a state, and the relative part outside the tangent space, which is zero if
    the flow maps this space onto itself.

    Args:
        turns: True if the basis moves with the state.
    """
    T, back, nv = tangent.basis, tangent.project, here.dynamics.system.nv
    moved = generator_of_deviations(here, varied) @ T
    A = back @ moved
    defect = np.linalg.norm(moved - T @ A) / max(np.linalg.norm(moved), 1e-300) if A.size else 0.0
    A = A + moving_frame(here, tangent) if turns else A
    B = back[:, nv:] @ input_accelerations(here, varied, acting)
    C, D = output_slopes(here.dynamics, here.state, outputs, acting.directions)
    forces = np.zeros((len(C), len(acting.names) - D.shape[1]))
    return A, B, np.asarray(C) @ T, np.hstack([D, forces]), float(defect)


def generator_of_deviations(here: ConstrainedState, d: Variation) -> np.ndarray:
    """∂f − ∂Ξ on (ξ, δv), shape (2 nv, 2 nv).

    δv̇ = A⊕ δ(b − A w) − W Zᵀ δ(M w − F − Aᵀλ) at constant w and λ; Z = W without sliding friction.
    """
    nv, turned = here.dynamics.system.nv, here.turned(d.rate, d.dynamic)
    return np.vstack([d.kinematic, turned - d.generator])[:, : 2 * nv]


def input_accelerations(here: ConstrainedState, d: Variation, acting: Inputs) -> np.ndarray:
    """δv̇ for each input, shape (nv, nu).

    Raises:
        ModelError: for a parameter that moves the constraint manifold.
    """
    moving = np.abs(np.vstack([d.phi_input, d.psi_input]))
    if moving.size and np.max(moving) > 0:
        name = acting.names[int(np.argmax(np.max(moving, axis=0)))]
        raise ModelError(
            f"input {name!r} moves the constraints themselves, so that the state would have to "
            "jump with it; let it act on forces, or through an actuator."
        )
    acting_forces = here.free @ (here.unpushed.T @ acting.matrix_at(here))
    return np.hstack([here.turned(d.rate_input, d.dynamic_input), acting_forces])


def moving_frame(here: ConstrainedState, tangent: TangentSpace) -> np.ndarray:
    """The contribution to A of the motion of the basis, for a moving state without a symmetry.

    The basis moves by `Yᵀ M Ẏ = −½ Yᵀ Ṁ Y`, the least rotation that keeps it orthonormal.
    """
    M_rate, A_rate, N_rate = (
        np.asarray(x) for x in time_derivatives(here.dynamics, here.state, jnp.asarray(here.w))
    )
    Y, W, M = tangent.Y, tangent.W, here.metric
    rows = here.dynamics.constraints.velocity_rows
    leaving = -here.mass.rows(here.local.A[rows]).correct(A_rate[rows] @ W)
    ny = Y.shape[1]
    added = np.zeros((tangent.n, tangent.n))
    added[:ny, :ny] = 0.5 * Y.T @ M_rate @ Y - Y.T @ M @ N_rate @ Y
    added[ny:, ny:] = 0.5 * W.T @ M_rate @ W
    added[ny:, :ny] = (leaving.T @ M + W.T @ M_rate) @ tangent.lean
    return added


def state_names(velocities, tangent: TangentSpace) -> tuple[str, ...]:
    """Names of positions and of their rates, after the velocities of their largest components."""
    nw = tangent.W.shape[1]
    first = [velocities[i] for i in pivots(tangent.W.T)]
    rest = []
    for column in np.abs(tangent.Y[:, nw:]).T:
        order = [velocities[i] for i in np.argsort(-column, kind="stable")]
        rest.append(next(x for x in order if x not in first and x not in rest))
    return (*first, *rest, *(f"{x} rate" for x in first))
