"""Examples of the folder `Elementary` with masses on lines, springs in series and other parts that
mechanisms do not have: equations as plain functions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

import zwang as zw
from verification.modelica.case import Case, Example, G, moving, of
from verification.modelica.solids import box, link, solid
from zwang.mechanism import Mechanism

GRAVITY = jnp.array([0.0, -G, 0.0])
HEAT = {"stiffness": 30.0, "damping": 2.0, "rest": 0.1}
"""Of the springs and dampers of `HeatLosses` [N/m, N·s/m, m]."""


def mass_on_spring() -> Example:
    """A point mass on a spring with half its mass in its middle: the middle is a point mass too,
    and a constraint holds it halfway.
    """
    masses = np.repeat([1.0, 0.5], 3)

    def force(q, v, t, p):
        apart = jnp.linalg.norm(q[:3])
        pull = -40.0 * (apart - 0.2) / apart * q[:3]
        return masses * jnp.tile(GRAVITY, 2) + jnp.concatenate([pull, jnp.zeros(3)])

    middle = zw.Holonomic(lambda q, t, p: q[3:] - q[:3] / 2, name="middle")
    system = zw.System(6, lambda q, t, p: jnp.asarray(masses), force)
    start = np.array([0.0, -0.3, 0.0])

    def signals(run):
        # no force turns the body
        return {
            "body.frame_a.r_0": run.q[:, :3],
            "body.v_0": run.v[:, :3],
            "body.w_a": np.zeros((len(run.t), 3)),
        }

    model = zw.Model(system, [middle], name="mass on a spring with mass")
    return Example(model, np.concatenate([start, start / 2]), np.zeros(6), signals)


def masses_on_line() -> Example:
    """A box on a hinge and a damper to the ground, with a point mass at 0.2 m from each end of the
    damper, which constraints hold there.

    q = (angle, both masses), all in the plane
    """
    arm, pivot, foot = 0.7, jnp.array([0.0, 0.3]), jnp.array([0.0, -0.9])
    part = box((arm, 0.0, 0.0))
    about_pivot = part.inertia[2, 2] + part.mass * (arm / 2) ** 2
    masses = jnp.array([about_pivot, 1.0, 1.0, 1.0, 1.0])

    def line(q):
        end = pivot + arm * jnp.stack([jnp.cos(q[0]), jnp.sin(q[0])])
        length = jnp.linalg.norm(end - foot)
        return end, length, (end - foot) / length

    def held(q, t, p):
        end, _, along = line(q)
        return q[1:] - jnp.concatenate([foot + 0.2 * along, end - 0.2 * along])

    def force(q, v, t, p):
        reach = jax.grad(lambda q: line(q)[1])(q)
        torque = -part.mass * G * arm / 2 * jnp.cos(q[0])
        weight = jnp.array([torque, 0.0, -G, 0.0, -G])
        return weight - 3.0 * (reach @ v) * reach

    system = zw.System(5, lambda q, t, p: masses, force)
    model = zw.Model(system, [zw.Holonomic(held, name="line")], name="masses on a line")
    q = np.zeros(5)
    q[1:] = -np.asarray(held(jnp.zeros(5), 0.0, {}))

    def signals(run):
        found = {"phi": run.q[:, 0], "w": run.v[:, 0]}
        return {f"revolute{i}.{x}": values for i in (1, 2) for x, values in found.items()}

    return Example(model, q, np.zeros(5), signals)


def heated() -> Example:
    """Three bodies on springs and dampers; the third has a damper in series with a spring, whose
    length s is a coordinate that no velocity moves, beside another spring.

        c (l − s₀ − s) = d ṡ
    """
    posts = jnp.array([[0.3, 0.0], [0.6, 0.0], [0.9, 0.0]])
    c, d, rest = HEAT["stiffness"], HEAT["damping"], HEAT["rest"]
    low, inertia = -0.2, 0.1

    def ends(q):
        body = q[:9].reshape(3, 3)
        arm = low * jnp.stack([-jnp.sin(body[:, 2]), jnp.cos(body[:, 2])], axis=1)
        return jnp.linalg.norm(body[:, :2] - arm - posts, axis=1)

    def force(q, v, t, p):
        length = ends(q)
        reach = jax.jacfwd(ends)(q)[:, :9]
        speed = reach @ v
        series = c * (length[2] - rest - q[9])
        single = c * (length[2] - 0.2)
        parallel = c * (length[:2] - rest) + d * speed[:2]
        weight = jnp.tile(jnp.array([0.0, -G, 0.0]), 3)
        return weight - reach.T @ jnp.append(parallel, series + single)

    system = zw.System(
        10,
        lambda q, t, p: jnp.tile(jnp.array([1.0, 1.0, inertia]), 3),
        force,
        nv=9,
        velocity_map=lambda q, t, p: jnp.eye(10, 9),
        offset=lambda q, t, p: jnp.zeros(10).at[9].set(c / d * (ends(q)[2] - rest - q[9])),
    )
    model = zw.Model(system, [], name="heat losses")
    spin = math.radians(2.0)
    q = np.array([x for post in (0.3, 0.6, 0.9) for x in (post, -0.2 + low, 0.0)] + [0.0])
    v = np.tile([-low * spin, 0.0, spin], 3)

    def signals(run):
        made = {"springDamperSeries.s_damper": run.q[:, 9]}
        still = np.zeros(len(run.t))
        for i in range(3):
            x, y, angle = run.q[:, 3 * i : 3 * i + 3].T
            vx, vy, w = run.v[:, 3 * i : 3 * i + 3].T
            ax, ay = -low * np.sin(angle), low * np.cos(angle)
            made[f"body{i + 1}.frame_a.r_0"] = np.column_stack([x - ax, y - ay, still])
            made[f"body{i + 1}.v_0"] = np.column_stack([vx + w * ay, vy - w * ax, still])
            made[f"body{i + 1}.w_a"] = np.column_stack([still, still, w])
        return made

    return Example(model, q, v, signals)


SPRINGS = jnp.array([20.0, 20.0, 40.0])
"""Of the springs to both posts and to the body [N/m], 0.1 m long at rest."""
POSTS = jnp.array([[0.3, 0.0, 0.0], [0.0, 0.0, 0.3]])


def node_energy(node, end):
    """Energy of three springs that meet in a node, the third of which ends at the body."""
    lengths = jnp.linalg.norm(jnp.concatenate([POSTS, end[None]]) - node, axis=1)
    return jnp.sum(SPRINGS * (lengths - 0.1) ** 2) / 2


def resting(end: np.ndarray) -> np.ndarray:
    """The node where it rests with the body's end at a place, by Newton's method."""
    node = jnp.array([0.2, -0.2, 0.1])
    for _ in range(30):
        slope = jax.grad(node_energy)(node, end)
        node = node - jnp.linalg.solve(jax.hessian(node_energy)(node, end), slope)
    return np.asarray(node)


def three_springs() -> Example:
    """A body on three springs that meet in a node without mass.

    The node is a coordinate that follows the body so that it stays at rest, ∂V/∂n = 0:

        ṅ = −(∂²V/∂n²)⁻¹ ∂²V/∂n∂e ė
    """
    part = solid(0.8, (0.0, -0.2, 0.0), (0.1, 0.1, 0.1))
    free = of(
        Mechanism(
            bodies={"body1": link(part, (0.5, -0.3, 0.0))},
            world="space",
            gravity=(0.0, -G, 0.0),
        ),
        moving("body1", "body1.frame_a.r_0"),
    )
    base, params = free.model.system, free.model.params
    mechanism = free.mechanism
    assert mechanism is not None and base.velocity_map is not None
    index = mechanism.geometry.index["body1.frame"]

    def end(q):
        return mechanism.compiled.joints.frames(q[:7], params).place[index]

    def reach(q):
        return jax.jacfwd(end)(q)[:, :7]

    def follow(q):
        node = q[7:]
        stiff = jax.hessian(node_energy)(node, end(q))
        mixed = jax.jacfwd(jax.grad(node_energy), argnums=1)(node, end(q))
        return -jnp.linalg.solve(stiff, mixed)

    def velocity_map(q, t, p):
        body = base.velocity_map(q[:7], t, p)
        return jnp.concatenate([body, follow(q) @ reach(q) @ body])

    def force(q, v, t, p):
        pull = -jax.grad(node_energy, argnums=1)(q[7:], end(q))
        return base.force(q[:7], v, t, p) + base.velocity_map(q[:7], t, p).T @ (reach(q).T @ pull)

    def retract(q, dv, t, p):
        node = q[7:] + velocity_map(q, t, p)[7:] @ dv
        return jnp.concatenate([base.retract(q[:7], dv, t, p), node])

    system = zw.System(
        10,
        lambda q, t, p: base.mass_matrix(q[:7], t, p),
        force,
        nv=6,
        velocity_map=velocity_map,
        retract=retract,
    )
    model = zw.Model(system, [], params, name="three springs")
    q = np.concatenate([free.q, resting(np.asarray(end(jnp.asarray(free.q))))])
    return Example(model, q, free.v, free.signals)


def cases() -> Iterator[Case]:
    """The examples of the folder that are plain functions."""
    yield Case(
        "Elementary/HeatLosses",
        heated,
        "its mechanics, on which the heat has no influence",
    )
    yield Case("Elementary/LineForceWithTwoMasses", masses_on_line)
    yield Case("Elementary/SpringWithMass", mass_on_spring)
    yield Case("Elementary/ThreeSprings", three_springs)
