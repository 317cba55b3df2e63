"""Small models and calls for the catalogues of hostile arguments; each is made once, and almost
nothing is compiled.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

import zwang as zw
from zwang.mechanism import Joint, Link

Q, V = np.array([1.0, 0.0]), np.zeros(2)
GRAVITY = lambda q, v, t, p: jnp.array([0.0, -9.81])
UNIT = lambda q, t, p: jnp.ones(2)
WIRE = lambda q, t, p: q @ q - p["length"] ** 2
MANY = 10**400


@functools.cache
def system() -> zw.System:
    return zw.System(2, UNIT, GRAVITY, coordinates=("x", "y"))


def rod(phi: Callable = WIRE, **options) -> zw.Holonomic:
    return zw.Holonomic(phi, **{"name": "rod", **options})


@functools.cache
def pendulum() -> zw.Model:
    tree = {"mass": 1.0, "length": 1.0, "springs": {"slide": np.ones(3)}}
    return zw.Model(system(), [rod()], tree, name="pendulum")


@functools.cache
def bare() -> zw.Model:
    return zw.Model(system(), name="bare")


@functools.cache
def two() -> zw.Model:
    return zw.Hierarchy([[zw.Module(bare(), name="a"), zw.Module(bare(), name="b")]], name="two")


@functools.cache
def driven() -> zw.Model:
    return zw.Model(system(), servo=servo(), name="driven")


def servo(**options) -> zw.Servo:
    height = zw.Holonomic(lambda q, t, p: q[1] - 0.1, name="height")
    given = {"constraints": [height], "actuation": np.array([[1.0, 0.0], [0.0, 1.0]]), "gains": 4.0}
    return zw.Servo(**{**given, **options})


def changed(value):
    """The parameters of a model of which one has been assigned to."""
    model = zw.Model(system(), params={"m": 1.0})
    model.params["m"] = value
    return model.parameters()


def with_phi(phi: Callable) -> zw.Model:
    return zw.Model(system(), [rod(phi)], {"length": 1.0})


def with_psi(psi: Callable) -> zw.Model:
    return zw.Model(system(), [zw.Nonholonomic(psi, name="blade")])


def with_mass(mass: Callable) -> zw.Model:
    return zw.Model(zw.System(2, mass, GRAVITY), name="body")


def with_force(force: Callable) -> zw.Model:
    return zw.Model(zw.System(2, UNIT, force))


def run(q=Q, v=V, model: Callable = pendulum, **options):
    return zw.simulate(model(), q, v, **{"duration": 1.0, **options})


def fall(**options):
    """A run of a model whose switched constraint exists; it is refused before it begins."""
    return zw.simulate(pendulum(), Q, V, duration=1.0, **options)


def path(times=(0.0, 1.0), q=Q, v=V, **options):
    return zw.trajectory(pendulum(), q, v, times, **options)


def many(q=None, **options):
    return zw.batch(pendulum(), np.tile(Q, (2, 1)) if q is None else q, V, [0.0, 1.0], **options)


def fitted(observed=None, parameters=("mass",), times=(0.0, 1.0), **options):
    observed = {"x": [1.0, 0.9]} if observed is None else observed
    return zw.fit(pendulum(), times, observed, parameters, **{"q0": Q, "v0": V, **options})


def branch(**options):
    """Where the pendulum hangs, for other masses."""
    return zw.analysis.continuation(pendulum(), [0.0, -1.0], over="mass", to=(0.5, 2.0), **options)


def seen(outputs):
    """Where the pendulum hangs, seen by a function or by names."""
    return zw.analysis.linearize(pendulum(), [0.0, -1.0], outputs=outputs)


def sum_of(motion) -> jax.Array:
    return jnp.sum(motion.q[-1])


def lazy(*constraints):
    return (c for c in constraints)


def broken(*given):
    raise ZeroDivisionError("one over none")


class Unshowable:
    def __repr__(self):
        raise RuntimeError("no words")


@functools.cache
def skewed() -> zw.Model:
    return with_mass(lambda q, t, p: jnp.array([[1.0, 0.5], [0.0, 1.0]]))


@functools.cache
def turning() -> zw.Model:
    return with_mass(
        lambda q, t, p: jnp.array([[2.0, 0.0], [0.0, 2.0]]).at[0, 1].set(jnp.sin(q[0]))
    )


@functools.cache
def blocks() -> zw.Model:
    return with_mass(lambda q, t, p: jnp.array([[[1.0, 0.5], [0.0, 1.0]]]))


def mechanism(**options) -> zw.Mechanism:
    rods = {"rod": Joint("rod", between=("ground", "bar.start"), **options)}
    return zw.Mechanism(bodies={"bar": Link(length=1.0)}, joints=rods)


def grad(function: Callable) -> Callable:
    """`jax.grad`, traced and not compiled."""
    return jax.make_jaxpr(jax.grad(function))


def jacfwd(function: Callable) -> Callable:
    """`jax.jacfwd`, traced and not compiled."""
    return jax.make_jaxpr(jax.jacfwd(function))
