"""A run in pieces for co-simulation: between two pieces its applied force and its parameters may be
changed, and after each piece its state is read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, PyTree

from zwang.algebra.mass_matrix import dense_mass
from zwang.compile import BoundProgram
from zwang.dynamics.control_law import AbstractLoop
from zwang.dynamics.evaluation import ModelEvaluation, untreated, with_scales
from zwang.dynamics.model import Model
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.errors import Result, SimulationError
from zwang.inputs.arguments import instance, number
from zwang.inputs.arrays import host_array, vector
from zwang.objects.record import Record, replace
from zwang.simulation.driver import drive
from zwang.simulation.listener import Listener
from zwang.simulation.monitor import MotionEndError
from zwang.simulation.run_setup import RunRequest, set_up
from zwang.simulation.stepper import check_methods
from zwang.simulation.switching import Switch, declared_switches
from zwang.simulation.turning import Turning
from zwang.stepping import AbstractIntegrator, Dopri8
from zwang.stepping.step import Progress
from zwang.thresholds import DEFAULT_RTOL


class AppliedForce(Record):
    """F plus an external force, which is an array, so that another value needs no compilation.

    Attributes:
        force: the system's own, `(q, v, t, p)` → F.
        applied: added to it, shape (nv,).
    """

    force: Callable
    applied: Float[Array, " nv"]

    def __call__(self, q, v, t, p):
        return self.force(q, v, t, p) + self.applied


class Observed(NamedTuple):
    """Quantities at the end of a piece.

    Attributes:
        rate: q̇, shape (nq,); acceleration: v̇, shape (nv,).
        constraint_force: generalized constraint force, which adds to F, shape (nv,).
        control: u, shape (nu,).
        violation: largest residual of the constraints at position and velocity level.
    """

    rate: np.ndarray
    acceleration: np.ndarray
    constraint_force: np.ndarray
    control: np.ndarray
    violation: float


class Snapshot(NamedTuple):
    """Everything that the further course of a run in pieces depends on."""

    here: Progress
    flow: ConstrainedVectorField
    parts: tuple
    turned: tuple
    memory: dict


class PiecewiseRun:
    """A run that advances piece by piece; `zw.simulate` computes the same run in one call.

    Sampled controllers keep their instants, and switches their positions, from piece to piece.

    Args:
        model: the model.
        q0, v0: start, shapes (nq,) and (nv,), projected onto the constraints.
        t0: initial time [s].
        params: parameters that differ from the model's.
        applied: force added to F, shape (nv,); a sampled controller does not take it into account.
        rtol, atol, loop, switches, integrator, step, longest_step: as in `zw.simulate`.

    Raises:
        ModelError: as `zw.simulate` does.
    """

    def __init__(
        self,
        model: Model,
        q0,
        v0,
        *,
        t0: float = 0.0,
        params: PyTree = None,
        applied=None,
        rtol: float = DEFAULT_RTOL,
        atol=None,
        loop: AbstractLoop | None = None,
        switches: Sequence[Switch] | None = None,
        integrator: AbstractIntegrator | None = None,
        step: float | None = None,
        longest_step: float = np.inf,
    ):
        instance(model, Model, "PiecewiseRun: model", "a zw.Model")
        check_methods(integrator)
        nv = model.system.nv
        given = np.zeros(nv) if applied is None else applied
        force = AppliedForce(model.system.force, host_array(given))
        pushed = replace(model, system=replace(model.system, force=force))
        self.model, t0 = model, number(t0, "t0", unit="s")
        asked = RunRequest(
            model=pushed,
            state=pushed.state(q0, v0, t0),
            instants=np.array([t0, t0 + 1.0]),
            span=1.0,
            rtol=rtol,
            atol=atol,
            params=params,
            loop=loop,
            switches=declared_switches(model) if switches is None else switches,
            integrator=Dopri8() if integrator is None else integrator,
            step=step,
            longest_step=longest_step,
            # the start is given coordinate by coordinate, and projected however far it is off
            start_tolerance=1.0,
            max_steps=2**62,
        )
        self._run = set_up(asked).run(Listener(None), model=pushed)

    @property
    def t(self) -> float:
        """Present time [s]."""
        return self._run.t

    @property
    def q(self) -> np.ndarray:
        """Present coordinates, shape (nq,)."""
        return self._run.y[: self.model.system.nq]

    @property
    def v(self) -> np.ndarray:
        """Present velocities, shape (nv,)."""
        return self._run.y[self.model.system.nq :]

    def change(self, *, applied=None, params: PyTree = None) -> None:
        """Change the applied force or the parameters from now on.

        The parameters with which a sampled controller computes remain unchanged.
        """
        flow = self._run.flow
        if applied is not None:
            force = vector(applied, self.model.system.nv, "applied", self.model.system.velocities)
            system, given = flow.dynamics.system, flow.dynamics.system.force
            assert isinstance(given, AppliedForce)
            pushed = replace(system, force=replace(given, applied=host_array(force)))
            flow = replace(flow, dynamics=replace(flow.dynamics, system=pushed))
        if params is not None:
            p = self.model.parameters(params)
            flow = dataclasses.replace(flow, dynamics=dataclasses.replace(flow.dynamics, p=p))
        self._run.flow = flow
        for x in self._run.monitors:
            if isinstance(x, Turning):
                try:
                    x.changed(self._run, params)
                except MotionEndError as end:
                    raise self._stopped(end.result, end.detail) from None

    def advance(self, duration: float) -> None:
        """Advance by some time [s].

        Raises:
            SimulationError: if the motion ends before; its end is then the present state.
        """
        duration = number(duration, "PiecewiseRun: duration", least=0, unit="s")
        if duration == 0:
            return
        run, begun = self._run, self.t
        run.instants = np.array([begun, begun + duration])
        result = drive(run)
        run.forget()
        if result is not Result.SUCCESS:
            raise self._stopped(result, run.detail)

    def _stopped(self, result: Result, detail: str | None) -> SimulationError:
        """Return the exception of a motion that cannot continue from the present state."""
        why = f": {detail}" if detail else ""
        said = result.said_of(type(self._run.integrator).__name__)
        return SimulationError(
            f"{self.model.name}: stopped at t = {self.t:.6g} s: {said}{why}.", result
        )

    def observed(self) -> Observed:
        """Return rates, forces, control and violation at the present state."""
        flow = self._run.flow
        held = host_array(flow.held_input(self._run.here.controller_state))
        dynamics = flow.with_input(held).dynamics
        given = np.float64(self.t), np.asarray(self._run.y)
        found = BoundProgram(untreated, (with_scales(dynamics), flow.drift), given)(*given)
        at, rates, nq = found.at, np.asarray(found.rate), self.model.system.nq
        balance = dense_mass(np.asarray(at.M)) @ rates[nq:] - np.asarray(at.F)
        residuals = np.concatenate([np.asarray(at.phi), np.asarray(at.psi)])
        return Observed(
            rates[:nq],
            rates[nq:],
            balance - np.asarray(at.actuator_force),
            self._control(at, held),
            float(np.max(np.abs(residuals), initial=0.0)),
        )

    def _control(self, at: ModelEvaluation, held: Array) -> np.ndarray:
        """Return u: the value that a sampler holds, or that of the control law at the present
        state.
        """
        if at.control is None:
            return np.zeros(0)
        return np.asarray(at.control.u if self._run.flow.sampler is None else held)

    def saved(self) -> Snapshot:
        """Return the state of the run for `restore`."""
        run = self._run
        lists = tuple(run.parts), tuple(run.turned)
        return Snapshot(run.here, run.flow, *lists, run.memory())

    def restore(self, snapshot: Snapshot) -> None:
        """Return to the state in which `saved` was called."""
        run = self._run
        run.here, run.flow = snapshot.here, snapshot.flow
        run.parts, run.turned = list(snapshot.parts), list(snapshot.turned)
        run.recall(snapshot.memory)
