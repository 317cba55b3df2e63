"""How long a model of about 24 coordinates and 23 rows takes from its functions to its first
sample, and the second time.

A bicycle: frame, fork and two wheels as rigid bodies with unit quaternions (24 velocities), three
hinges written with five rows each, two contacts, and rolling written with all three components of
the contact point's velocity, one of which the contact already implies: 23 rows, 21 of them
independent.
"""

from __future__ import annotations

import time

import jax
import jax.numpy as jnp
import numpy as np

import zwang as zw
from zwang.bodies import Body, RigidBodies

UP, ACROSS, RADIUS = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0]), 0.3
WHEELS = np.array([0, 3])
STEER = np.array([-np.sin(0.3), 0.0, np.cos(0.3)])


def bicycle() -> tuple[zw.Model, np.ndarray, np.ndarray]:
    """The model, upright and rolling at 5 m/s."""
    bodies = RigidBodies(
        [
            Body("rear wheel", 2.0, (0.06, 0.12, 0.06)),
            Body("frame", 80.0, (9.0, 11.0, 3.0)),
            Body("fork", 4.0, (0.06, 0.06, 0.01)),
            Body("front wheel", 3.0, (0.14, 0.28, 0.14)),
        ]
    )
    place = np.array([[0.0, 0.0, RADIUS], [0.3, 0.0, 0.9], [0.9, 0.0, 0.7], [1.0, 0.0, RADIUS]])
    pins = np.array([place[0], [0.85, 0.0, 0.8], place[3]])  # rear hub, steering head, front hub
    first, second = np.array([1, 1, 2]), np.array([0, 2, 3])
    axes = np.stack([ACROSS, STEER, ACROSS])
    across = np.stack(
        [[np.cross(a, b) for b in np.eye(3)[np.argsort(np.abs(a))[:2]]] for a in axes]
    )

    def hinges(q, t, p):
        gap = bodies.point(q, first, pins - place[first]) - bodies.point(
            q, second, pins - place[second]
        )
        axis = bodies.direction(q, first, axes)
        tilt = jnp.einsum("kij,krj,ki->kr", bodies.rotation(q, second), jnp.asarray(across), axis)
        return jnp.concatenate([gap, tilt], axis=1).ravel()

    def to_contact(q):
        axis = bodies.direction(q, WHEELS, np.stack([ACROSS, ACROSS]))
        down = -UP + axis[:, 2:] * axis
        return RADIUS * down / jnp.linalg.norm(down, axis=1, keepdims=True)

    def contact(q, t, p):
        return bodies.position(q, WHEELS)[:, 2] + to_contact(q)[:, 2]

    def rolling(q, v, t, p):
        return (
            v.reshape(-1, 6)[WHEELS, :3]
            + jnp.cross(bodies.angular_velocity(q, v, WHEELS), to_contact(q))
        ).ravel()

    constraints = [
        zw.Holonomic(hinges, name="hinges"),
        zw.Holonomic(contact, name="contact"),
        zw.Nonholonomic(rolling, name="rolling"),
    ]
    q0 = np.concatenate([[*x, 1.0, 0.0, 0.0, 0.0] for x in place])
    speed, spin = np.array([5.0, 0.0, 0.0]), ACROSS * 5.0 / RADIUS
    v0 = np.concatenate([[*speed, *(spin if i in WHEELS else 0 * spin)] for i in range(4)])
    return zw.Model(bodies.system, constraints, bodies.params, name="bicycle"), q0, v0


def run() -> dict:
    model, q0, v0 = bicycle()
    v0 = np.asarray(zw.consistent_state(model, q0, v0).state.v)
    jax.clear_caches()
    seen = {}
    for what, settings in (
        ("first", {"rtol": 1e-8}),
        ("second, another tolerance", {"rtol": 1e-9}),
    ):
        start = time.perf_counter()
        result = zw.simulate(model, q0, v0, times=[0.5], **settings)
        seen[what] = time.perf_counter() - start
    diagnosis = zw.check(model, q0, v0)
    print(
        f"bicycle, {diagnosis.nv} velocities, {diagnosis.m} rows of rank {diagnosis.rank}: ", end=""
    )
    print(f"first run {seen['first']:.1f} s (compilation), ", end="")
    print(
        f"second {seen['second, another tolerance'] * 1e3:.0f} ms; violation "
        f"{float(result.dataset.violation.max()):.0e} m"
    )
    return seen
