"""Small systems with closed forms, mostly in maximal coordinates."""

import jax.numpy as jnp
import numpy as np

import zwang as zw
from zwang.bodies import Body, RigidBodies

G = 9.81


def distance(i, j, length, name):
    """A rod between points i and j of a plane; j < 0 is the origin."""

    def phi(q, t, p):
        away = q[2 * i : 2 * i + 2] - (q[2 * j : 2 * j + 2] if j >= 0 else 0.0)
        return away @ away - length**2

    return zw.Holonomic(phi, name=name)


def double_pendulum(copies=1):
    """Point masses 2 and 1 kg on rods of 1 and 0.5 m, each rod stated `copies` times."""
    system = zw.System(
        nq=4,
        mass_matrix=lambda q, t, p: jnp.array([2.0, 2.0, 1.0, 1.0]),
        force=lambda q, v, t, p: jnp.array([0.0, -2 * G, 0.0, -G]),
        coordinates=("a.x", "a.y", "b.x", "b.y"),
    )
    rods = [distance(0, -1, 1.0, f"upper {k}") for k in range(copies)]
    rods += [distance(1, 0, 0.5, f"lower {k}") for k in range(copies)]
    return zw.Model(system, rods, name="double pendulum")


def governor():
    """A bead on a hoop of radius 1 m that spins freely about its vertical diameter."""

    def force(q, v, t, p):
        s, c = jnp.sin(q[1]), jnp.cos(q[1])
        return jnp.array([-2 * s * c * v[0] * v[1], s * c * v[0] ** 2 - G * s])

    system = zw.System(
        nq=2,
        mass_matrix=lambda q, t, p: jnp.array([0.3 + jnp.sin(q[1]) ** 2, 1.0]),
        force=force,
        coordinates=("spin", "angle"),
        units=("rad", "rad"),
    )
    return zw.Model(system, name="governor")


def driven_governor():
    """The same hoop turned at a given speed, with the angle alone."""
    system = zw.System(
        nq=1,
        mass_matrix=lambda q, t, p: jnp.ones(1),
        force=lambda q, v, t, p: p["speed"] ** 2 * jnp.sin(q) * jnp.cos(q) - G * jnp.sin(q),
        coordinates=("angle",),
        units=("rad",),
    )
    return zw.Model(system, params={"speed": 2.0}, name="driven governor")


def spring_four_bar(crank=0.6, coupler=1.5, mass=2.0, stiffness=40.0, offset=0.8):
    """A parallelogram with its mass on the coupler, and a spring without free length that pulls the
    left end of the coupler to the point (offset, 0).

        V = m g a sin θ − k a s cos θ + const
    """

    def force(q, v, t, p):
        pull = stiffness * (jnp.array([offset, 0.0]) - q[:2])
        return jnp.concatenate([pull, jnp.zeros(2)]) + jnp.array(
            [0.0, -0.5 * mass * G, 0.0, -0.5 * mass * G]
        )

    def right(q, t, p):
        away = q[2:] - jnp.array([coupler, 0.0])
        return away @ away - crank**2

    system = zw.System(4, lambda q, t, p: 0.5 * mass * jnp.ones(4), force)
    rods = [
        distance(0, -1, crank, "left crank"),
        zw.Holonomic(right, name="right crank"),
        distance(1, 0, coupler, "coupler"),
    ]
    return zw.Model(system, rods, name="four-bar with a spring")


def chain(n, copies=1):
    """Unit masses with unit springs between two walls; the walls are masses that are held by rows,
    each stated `copies` times.
    """

    def force(q, v, t, p):
        pull = jnp.diff(q)
        return jnp.concatenate([pull, jnp.zeros(1)]) - jnp.concatenate([jnp.zeros(1), pull])

    system = zw.System(n + 2, lambda q, t, p: jnp.ones(n + 2), force)
    walls = [
        zw.Holonomic(lambda q, t, p, i=i: q[i], name=f"wall {i} {k}")
        for i in (0, n + 1)
        for k in range(copies)
    ]
    return zw.Model(system, walls, name="chain")


def cart_pole():
    """A cart on a rail and a bob on a rod, all of it points; the rod is stated twice."""
    system = zw.System(
        nq=4,
        mass_matrix=lambda q, t, p: jnp.array([1.0, 1.0, 0.2, 0.2]),
        force=lambda q, v, t, p: jnp.array([p["push"], -G, 0.0, -0.2 * G]),
        coordinates=("cart.x", "cart.y", "bob.x", "bob.y"),
    )
    rows = [zw.Holonomic(lambda q, t, p: q[1], name="rail")]
    rows += [distance(1, 0, 0.5, name) for name in ("rod", "rod again")]
    return zw.Model(system, rows, {"push": 0.0}, name="cart-pole")


def rolling_disk(copies=1):
    """A thin disk of radius 0.5 m on a plane; its inertia is a parameter."""
    bodies = RigidBodies([Body("disk", 1.0, (0.0625, 0.0625, 0.125))], gravity=(0.0, 0.0, -G))
    up = np.array([0.0, 0.0, 1.0])

    def to_contact(q):
        axis = bodies.direction(q, "disk", up)
        return -0.5 * (up - axis[2] * axis) / jnp.sqrt(1 - axis[2] ** 2)

    def slip(q, v, t, p):
        return v[:2] + jnp.cross(bodies.angular_velocity(q, v, "disk"), to_contact(q))[:2]

    rows = [zw.Holonomic(lambda q, t, p: q[2] + to_contact(q)[2], name="contact")]
    rows += [zw.Nonholonomic(slip, name=f"rolling {k}") for k in range(copies)]
    return zw.Model(bodies.system, rows, bodies.params, name="rolling disk")


def rolling_state(speed):
    """Upright and straight ahead along x: q and v."""
    half = np.sqrt(0.5)  # the axis, z of the body, along −y
    q = np.array([0.0, 0.0, 0.5, half, half, 0.0, 0.0])
    return q, np.array([speed, 0.0, 0.0, 0.0, 0.0, -speed / 0.5])
