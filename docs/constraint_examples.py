"""A program for every kind of constraint, complete in itself; a test executes each of them, and
checks that every member of the family has one.
"""

HEAD = """\
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import zwang as zw
"""

EXAMPLES = {
    "Holonomic": HEAD
    + """
# a bead on a wire y = x², under gravity
bead = zw.System(
    nq=2, coordinates=("x", "y"), units=("m", "m"),
    mass_matrix=lambda q, t, p: jnp.ones(2),
    force=lambda q, v, t, p: jnp.array([0.0, -9.81]),
)
wire = zw.Holonomic(lambda q, t, p: q[1] - q[0] ** 2, name="wire")
model = zw.Model(bead, [wire], name="bead on a wire")
run = zw.simulate(model, q0=[1.0, 1.0], v0=[0.0, 0.0], duration=2.0)
print(run)
""",
    "Nonholonomic": HEAD
    + """
# a blade on ice, which does not slide sideways
sleigh = zw.System(
    nq=3, coordinates=("x", "y", "heading"), units=("m", "m", "rad"),
    mass_matrix=lambda q, t, p: jnp.array([1.0, 1.0, 0.1]),
    force=lambda q, v, t, p: jnp.zeros(3),
)
blade = zw.Nonholonomic(
    lambda q, v, t, p: v[1] * jnp.cos(q[2]) - v[0] * jnp.sin(q[2]), name="blade"
)
model = zw.Model(sleigh, [blade], name="knife edge")
run = zw.simulate(model, q0=[0.0, 0.0, 0.0], v0=[1.0, 0.0, 0.5], duration=2.0)
print(run)
""",
    "Inequality": HEAD
    + """
# a ball that bounces, and comes to rest
ball = zw.System(
    nq=2, coordinates=("x", "height"), units=("m", "m"),
    mass_matrix=lambda q, t, p: jnp.ones(2),
    force=lambda q, v, t, p: jnp.array([0.0, -9.81]),
)
floor = zw.Inequality(lambda q, t, p: q[1], name="floor", restitution=0.5, unit="m")
model = zw.Model(ball, [floor], name="ball")
run = zw.simulate(model, q0=[0.0, 1.0], v0=[0.3, 0.0], duration=2.0)
print(run)
""",
    "DryFriction": HEAD
    + """
# a mass on a belt, which sticks and slips
box = zw.System(
    nq=1, coordinates=("x",), units=("m",),
    mass_matrix=lambda q, t, p: jnp.ones(1),
    force=lambda q, v, t, p: -20.0 * q,
)
belt = zw.DryFriction(
    lambda q, v, t, p: v[0] - 0.2, load=9.81, static=0.5, kinetic=0.3, name="belt", unit="m/s"
)
model = zw.Model(box, [belt], name="mass on a belt")
run = zw.simulate(model, q0=[0.0], v0=[0.2], duration=3.0)
print(run)
""",
    "AccelerationConstraint": HEAD
    + """
# a cart whose acceleration is prescribed: A v' = b
cart = zw.System(
    nq=1, coordinates=("x",), units=("m",),
    mass_matrix=lambda q, t, p: jnp.ones(1),
    force=lambda q, v, t, p: jnp.zeros(1),
)
programme = zw.AccelerationConstraint(
    A=lambda q, v, t, p: jnp.ones((1, 1)), b=lambda q, v, t, p: jnp.cos(t)[None], name="programme"
)
model = zw.Model(cart, [programme], name="cart")
run = zw.simulate(model, q0=[0.0], v0=[0.0], duration=2.0)
print(run)
""",
}
"""Programs by the name of the class that they show."""
