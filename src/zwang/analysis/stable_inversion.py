"""`zw.analysis.stable_inversion`: the bounded motion that meets servo constraints with unstable
zero dynamics.

Integrated forward in time, a servo with unstable zero dynamics diverges for all gains. For a
maneuver from rest to rest, exactly one motion stays bounded: it begins along growing directions
before the maneuver (pre-actuation), and ends along decaying directions. Its control is a
feedforward, which a time-varying regulator stabilizes.

Source: Devasia, Chen and Paden (1996), Nonlinear inversion-based output tracking, IEEE Trans.
    Automatic Control 41, 930-942; servo constraints: Seifried and Blajer (2013), Analysis of
    servo-constraint problems for underactuated multibody systems, Mechanical Sciences 4, 113-129.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import PyTree

from zwang.analysis.linearize import linearize
from zwang.analysis.lqr import lqr
from zwang.analysis.result import AbstractResult, dataset_of
from zwang.analysis.time_varying import TrackingRegulator
from zwang.dynamics.model import Model
from zwang.errors import ModelError
from zwang.inputs.arguments import count, host_only, number, real_array
from zwang.inputs.text import counted
from zwang.plots import Curve, Panel, Picture
from zwang.plots.script import opens_in_scripts
from zwang.servo.bounded_motion import (
    RestOnZ,
    bounded_motion,
    control_along,
    first_guess,
    rest_on,
)
from zwang.servo.control import controller
from zwang.servo.feedback import Feedback
from zwang.servo.limits import Limits
from zwang.servo.servo import Servo
from zwang.servo.tracking import SPLINE_DEGREE, piecewise
from zwang.thresholds import RESOLVED

if TYPE_CHECKING:
    import xarray as xr

MOST_NODES = 2000
"""Number of nodes at which refinement ends."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class StableInversion(AbstractResult):
    """Result of `stable_inversion`; `str()` prints it, `.plot()` draws it.

    Attributes:
        passive: the model without control.
        servo: the servo constraints.
        span: beginning and end of the maneuver [s].
        t, q, v, u: motion and control at the nodes, shapes (nodes,), (nodes, nq), (nodes, nv) and
            (nodes, nu).
        eigenvalues: of the zero dynamics at the start [1/s].
        pre_actuation, post_actuation: time for which the actuators act before the span, and after
            it [s].
        error: largest relative error of a step, or of the control between nodes.
    """

    passive: Model
    servo: Servo
    span: tuple[float, float]
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    u: np.ndarray
    eigenvalues: np.ndarray
    pre_actuation: float
    post_actuation: float
    error: float

    def regulator(self, Q=None, R=None) -> TrackingRegulator:
        """Gains along the motion, by `zw.analysis.lqr`.

        Args:
            Q, R: weights of all coordinates and velocities, and of the actuators.
        """
        # gains are computed at up to 80 instants and interpolated between them
        count = min(len(self.t), 80)
        at = np.unique(np.linspace(0, len(self.t) - 1, count).round().astype(int))
        q, v, t = self.q[at], self.v[at], self.t[at]
        return lqr(linearize(self.passive, q, v, t=t, inputs=self.servo), Q, R)

    def feedback(self, Q=None, R=None, limits: Limits | None = None) -> Feedback:
        """The feedforward with its regulator as a control law.

        Args:
            Q, R: as in `regulator`.
            limits: of the actuators.
        """
        found = self.regulator(Q, R)
        motion = self.t, self.q, self.v
        return found.feedback(
            self.servo.actuation, self.u, motion=motion, joints=self.span, limits=limits
        )

    @property
    def model(self) -> Model:
        """The model under `feedback()`, for a simulation from `q[0]`, `v[0]` at `t[0]`."""
        return self.with_law(self.feedback())

    def with_law(self, law: Feedback) -> Model:
        """The model under a control law."""
        return self.passive.with_parts(servo=law)

    @property
    def dataset(self) -> xr.Dataset:
        """Motion and control over time with their names."""
        data = {
            "q": (("time", "coordinate"), self.q),
            "v": (("time", "velocity"), self.v),
            "control": (("time", "actuator"), self.u),
        }
        coords = {"time": self.t, "actuator": list(self.servo.names(self.u.shape[1]))}
        return dataset_of(self.passive, data, coords, pre_actuation=self.pre_actuation)

    @opens_in_scripts
    def plot(self) -> Picture:
        """Plot controls and coordinates over time, with marks at the beginning and the end of the
        maneuver.
        """
        nu, system = self.u.shape[1], self.passive.system
        several = lambda names: names if len(names) > 1 else [""]

        def panel(values, names, label):
            curves = [
                Curve(self.t, x, n) for x, n in zip(values.T, several(list(names)), strict=True)
            ]
            ends = [np.min(values), np.max(values)]
            marks = [Curve([x, x], ends, color="#59636e", width=0.8) for x in self.span]
            return Panel([*curves, *marks], label)

        return Picture(
            [
                panel(self.u, self.servo.names(nu), "control"),
                panel(self.q, system.coordinates, "coordinates"),
            ],
            title=f"{self.passive.name}: bounded motion",
        )

    def __str__(self) -> str:
        growing = int(np.sum(np.real(self.eigenvalues) > 0))
        kind = f"{counted(len(self.eigenvalues), 'state')} of the zero dynamics"
        shown = ", ".join(
            f"{x.real:.4g}{f'{x.imag:+.4g}i' * bool(x.imag)}" for x in self.eigenvalues
        )
        return (
            f"{self.passive.name}: bounded motion of {len(self.t)} nodes from t = "
            f"{self.t[0]:.4g} s to {self.t[-1]:.4g} s; of {kind} {growing} grow "
            f"({shown or 'none'} 1/s); the "
            f"actuators begin {self.pre_actuation:.3g} s before the motion asked for and end "
            f"{self.post_actuation:.3g} s after it; error {self.error:.1e}"
        )


@host_only("call it outside of them, with the numbers of one maneuver")
def stable_inversion(
    model: Model,
    servo: Servo | None = None,
    q=None,
    v=None,
    span=(0.0, 1.0),
    *,
    before: float | None = None,
    after: float | None = None,
    rtol: float = 1e-9,
    nodes: int = 40,
    params: PyTree = None,
) -> StableInversion:
    """The bounded motion from rest to rest on the servo constraints, and its feedforward control.

        ẋ = f(x) + g(x) u(x) on Z,    start on the unstable, end on the stable manifold of rest

    Args:
        model: the model; its own servo is used if none is given.
        servo: servo constraints at their relative degree (`with_found_degrees(...).servo`); gains
            have no influence, because the constraints hold exactly.
        q, v: a state near equilibrium at the start, shapes (nq,) and (nv,); v is zero by default.
        span: beginning and end of the maneuver [s]; outside it the servo constraints must not
            depend on time.
        before, after: largest time of the motion before and after the span [s]; by default until a
            deviation has decayed to 1e-10.
        rtol: largest relative error of a step between nodes, and of the control between them; the
            number of nodes is doubled until it is met.
        nodes: initial number of steps within the span.
        params: parameters that differ from the model's.

    Returns:
        A `StableInversion`: `.t`, `.q`, `.v`, `.u`, `.pre_actuation`, `.feedback()`, `.model`.

    Raises:
        ModelError: if the motion does not begin and end at rest, if the zero dynamics neither decay
            nor grow, or if the iteration does not converge.

    Example:
        >>> found = zw.analysis.stable_inversion(model, servo, q0, span=(0.0, 2.0))
        >>> run = zw.simulate(found.model, found.q[0], found.v[0], t0=found.t[0], duration=...)
    """
    bound = controller(model, servo, params)
    if q is None:
        raise ModelError(
            "stable_inversion needs a state near rest: zw.analysis.stable_inversion(model, servo, "
            "q, span=(0.0, 2.0))."
        )
    ends = np.asarray(real_array(span, "stable_inversion: span", "(begin, end) [s]"))
    if ends.shape != (2,) or not ends[0] < ends[1]:
        raise ModelError(f"stable_inversion: span is {span}, expected (begin, end) [s].")
    first, last = ends.tolist()
    rtol = number(rtol, "stable_inversion: rtol", above=0.0)
    steps = count(nodes, "stable_inversion: nodes", least=2, most=MOST_NODES)
    v = np.zeros(model.system.nv) if v is None else v
    state = model.state(q, v, first)
    start = rest_on(bound, state.q, state.v, first, "the start")
    end = rest_on(bound, start.q, start.v, last, "the end")
    before = _reach(start, 1.0) if before is None else number(before, "before", least=0.0)
    after = _reach(end, -1.0) if after is None else number(after, "after", least=0.0)
    found = None
    while True:
        h = (last - first) / steps
        parts = [(first - before, first), (first, last), (last, last + after)]
        sampled = [
            np.linspace(a, b, max(1, int(np.ceil((b - a) / h - 1e-9))) + 1)[:-1]
            for a, b in parts
            if b > a
        ]
        t = np.concatenate([*sampled, [last + after]])
        guess = first_guess(bound, start, t) if found is None else found.at(t)
        found = bounded_motion(bound, start, end, guess)
        u = control_along(bound, found)
        error = max(found.error, _error_between(found.t, u, (first, last)))
        if error <= rtol or 2 * len(t) > MOST_NODES:
            break
        steps *= 2
    if error > rtol:
        raise ModelError(
            f"stable_inversion: with {len(found.t)} nodes the error of a step, or of the control "
            f"between nodes, is still {error:.1e}; take a larger rtol, or shorter before= and "
            "after=."
        )
    acting, still = found.t[_changed(u, u[0])], found.t[_changed(u, u[-1])]
    begins = acting[0] if len(acting) else first
    stops = still[-1] if len(still) else last
    return StableInversion(
        model.passive.with_params(params),
        bound.servo,
        (first, last),
        found.t,
        found.q,
        found.v,
        u,
        start.eigenvalues,
        max(0.0, float(first - begins)),
        max(0.0, float(stops - last)),
        error,
    )


def _changed(u: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Mask of the nodes at which a control differs from its value at rest."""
    change = np.abs(u - rest)
    # a control counts as different if it has changed by one thousandth of its largest change
    return np.any(change * 1000 > np.max(change, initial=0.0), axis=1)


def _reach(rest: RestOnZ, sign: float) -> float:
    """Time in which the slowest growing (+1) or decaying (−1) deviation changes by the factor
    `RESOLVED`.
    """
    rates = sign * np.real(rest.eigenvalues)
    return float(-np.log(RESOLVED) / np.min(rates[rates > 0])) if np.any(rates > 0) else 0.0


def _error_between(t: np.ndarray, u: np.ndarray, joints: tuple[float, float]) -> float:
    """Relative error of the control between nodes, estimated by the interpolation of every second
    node from the others, whose error is larger by 2 to the power of the splines' order.
    """
    from scipy.interpolate import PPoly

    kept = (np.arange(len(t)) % 2 == 0) | np.isin(t, joints)
    kept[-1] = True
    pieces = piecewise(t[kept], u[kept], SPLINE_DEGREE, joints)
    found = PPoly(np.swapaxes(pieces, 0, 1), t[kept])(t)
    size = np.max(np.abs(u - u[0]), initial=1e-300)
    return float(np.max(np.abs(found - u), initial=0.0) / size) / 2 ** (SPLINE_DEGREE + 1)
