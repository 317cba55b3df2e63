"""A five-bar robot and an acrobot swing up with least effort, on their loops at every instant.

The robot is that of Bordalba, Schoels, Ros, Porta and Diehl (2023), Direct collocation methods for
trajectory optimization in constrained robotic systems, IEEE Transactions on Robotics 39, 183-202,
arXiv:2304.12908: lengths, masses and friction as in the model that its authors published
(github.com/rbordalba/collocation_constrained_systems). Needs the extra `optimal`.

    python examples/optimal_swing_up.py
"""

import jax
import jax.numpy as jnp
import numpy as np

import zwang as zw
from zwang.equations.state import State

jax.config.update("jax_enable_x64", True)

BASE, CRANK, ROD = 0.12, 0.2, 0.15  # m
MASSES = jnp.array([1.2093, 1.2093, 0.8925, 0.8925, 0.5])  # cranks, rods, load [kg]
INERTIAS = jnp.array([7e-3, 7e-3, 2.3e-3 + 0.4 * 0.5 * 0.06**2, 2.3e-3])  # kg m²
FRICTION = 0.0176  # of the motors [N m s]
RATE = 40.0  # largest speed of an angle [rad/s]


def unit(angle):
    return jnp.stack([jnp.cos(angle), jnp.sin(angle)])


def centers(q):
    """Centers of cranks, rods and load, and the end of the right rod, which the load closes."""
    right = jnp.array([BASE, 0.0])
    left_elbow, right_elbow = CRANK * unit(q[0]), right + CRANK * unit(q[1])
    load = left_elbow + ROD * unit(q[2])
    return (
        jnp.stack(
            [
                0.11 * unit(q[0]),
                right + 0.11 * unit(q[1]),
                left_elbow + 0.0746 * unit(q[2]),
                right_elbow + 0.0746 * unit(q[3]),
                load,
            ]
        ),
        right_elbow + ROD * unit(q[3]),
    )


def five_bar(rows=1):
    """The robot, its loop entered `rows` times."""

    def kinetic(q, v, t, p):
        speed = jax.jvp(lambda q: centers(q)[0], (q,), (v,))[1]
        return 0.5 * jnp.sum(MASSES[:, None] * speed**2) + 0.5 * INERTIAS @ v**2

    angles = ("left", "right", "left rod", "right rod")
    system = zw.Lagrangian(
        kinetic,
        lambda q, t, p: 9.81 * MASSES @ centers(q)[0][:, 1],
        lambda q, v, t, p: -FRICTION * v * jnp.array([1.0, 1.0, 0.0, 0.0]),
        nq=4,
        coordinates=angles,
        units=("rad",) * 4,
    )
    loop = lambda q, t, p: centers(q)[0][4] - centers(q)[1]
    loops = [zw.Holonomic(loop, name=f"loop {i + 1}", unit="m") for i in range(rows)]
    return zw.Model(system, loops, name="five-bar")


def posture(load):
    """Angles for a place of the load, elbows as where it hangs."""
    angles = []
    for pivot, side in ((np.zeros(2), -1), (np.array([BASE, 0.0]), 1)):
        away = load - pivot
        r = np.hypot(*away)
        corner = np.arccos((CRANK**2 + r**2 - ROD**2) / (2 * CRANK * r))
        crank = np.arctan2(away[1], away[0]) + side * corner
        rod = load - pivot - CRANK * np.array([np.cos(crank), np.sin(crank)])
        angles.append((crank, np.arctan2(rod[1], rod[0])))
    (a, c), (b, d) = angles
    return np.array([a, b, c, d])


def swing_up_five_bar(rows=1, **options):
    """The load comes up beside the robot, pulled by motors of 5 N m."""
    turn, share = np.linspace(-np.pi / 2, np.pi / 2, 61), np.linspace(0.0, 1.0, 61)
    radius = np.interp(share, [0.0, 0.15, 1.0], [0.34, 0.25, 0.3])
    loads = np.array([0.06, 0.0]) + radius[:, None] * np.stack([np.cos(turn), np.sin(turn)], 1)
    way = np.unwrap([posture(load) for load in loads], axis=0)
    motors = zw.servo.Feedback(
        lambda q, v, t, p: jnp.zeros(2),
        np.eye(4)[:, :2],
        actuators=["motor left", "motor right"],
        actuator_units=["N m", "N m"],
    )
    model = five_bar(rows)
    bounds = {f"{name} rate": (-RATE, RATE) for name in model.system.velocities}
    bounds |= {"motor left": (-5.0, 5.0), "motor right": (-5.0, 5.0)}
    ends = (way[0], np.zeros(4)), (way[-1], np.zeros(4))
    given = {"inputs": motors, "bounds": bounds, "guess": way, "intervals": 60} | options
    return zw.analysis.optimal_control(model, *ends, 1.5, **given)


def swing_up_acrobot(**options):
    """Two rods, each by three coordinates, with a motor between them."""
    model = zw.gallery.load("double-pendulum").model

    def both(angle):
        along = np.array([np.sin(angle), -np.cos(angle)])
        return np.r_[along / 2, angle - np.pi / 2, 1.5 * along, angle - np.pi / 2]

    elbow = np.zeros((6, 1))
    elbow[2], elbow[5] = -1.0, 1.0
    names = [f"{name} rate" for name in model.system.velocities]
    bounds = {"u0": (-20.0, 20.0)} | dict.fromkeys(names, (-20.0, 20.0))
    way = [both(angle) for angle in np.linspace(0.0, np.pi, 61)]
    ends = (way[0], np.zeros(6)), (way[-1], np.zeros(6))
    given = {"inputs": elbow, "bounds": bounds, "guess": way, "intervals": 15} | options
    return zw.analysis.optimal_control(model, *ends, 3.0, **given)


def lost_between(found, degree=3, step=0.034):
    """Mean |(φ, ψ)| of polynomials through the motion at Gauss points and the begin of intervals,
    as collocation draws it: what holding the constraints at nodes alone leaves between them.
    """
    from scipy.interpolate import BarycentricInterpolator

    count = int(np.ceil(found.duration / step))
    ends = np.linspace(0.0, found.duration, count + 1)
    gauss = np.concatenate([[0.0], 0.5 * (1 + np.polynomial.legendre.leggauss(degree)[0])])
    nodes = (ends[:-1, None] + np.diff(ends)[:, None] * gauss).ravel()
    # the first node of all is the start, which the run begins at
    times = np.unique(np.append(nodes, found.duration))
    run = zw.trajectory(found.model, found.q[0], found.v[0], times, rtol=1e-10)
    at = dict(zip(times, np.hstack([run.q, run.v]), strict=True))
    dynamics, off, when = found.passive.dynamics(), [], []
    nq = found.passive.system.nq
    residuals = jax.jit(
        jax.vmap(lambda x: jnp.concatenate(dynamics.residuals(State(x[:nq], x[nq:], 0.0))))
    )
    for own, (first, last) in zip(
        nodes.reshape(count, -1), zip(ends[:-1], ends[1:], strict=True), strict=True
    ):
        inside = np.linspace(first, last, 30)
        x = BarycentricInterpolator(own, np.array([at[t] for t in own]))(inside)
        off.append(np.linalg.norm(residuals(x), axis=1))
        when.append(inside)
    return np.trapezoid(np.concatenate(off), np.concatenate(when)) / found.duration


if __name__ == "__main__":
    for swing in (swing_up_five_bar, swing_up_acrobot):
        found = swing(rtol=1e-7)
        print(found)
        print(f"polynomials of degree 3 through it leave {lost_between(found):.1e} on average")
