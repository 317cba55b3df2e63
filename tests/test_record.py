"""The base class of data: fields, pytrees, copies with other fields, and display."""

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.compile.derivative import CustomDerivative
from zwang.dynamics.equation_of_motion import Scales
from zwang.objects.record import (
    AbstractClassVar,
    AbstractVar,
    Record,
    combine,
    field,
    partition,
    replace,
)


class AbstractShape(Record):
    corners: AbstractVar[int]
    plural: AbstractClassVar[str]

    def size(self):
        return self.corners


class Polygon(AbstractShape):
    side: jax.Array
    corners: int = field(static=True, default=4)
    plural = "polygons"

    def __post_init__(self):
        self.side = jnp.asarray(self.side, float)


class Ring(AbstractShape):
    """It has an `__init__` of its own, and leaves a default as it is."""

    radius: float
    corners: int = 0
    plural = "rings"

    def __init__(self, diameter):
        self.radius = diameter / 2


def test_a_record_is_a_pytree_whose_static_fields_are_structure():
    given = Polygon(2.0, corners=3)
    leaves, tree = jax.tree_util.tree_flatten(given)
    assert leaves == [2.0] and tree != jax.tree_util.tree_structure(Polygon(2.0))
    doubled = jax.tree_util.tree_map(lambda x: 2 * x, given)
    assert type(doubled) is Polygon and doubled.side == 4.0 and doubled.corners == 3
    ((path, _),) = jax.tree_util.tree_flatten_with_path(given)[0]
    assert jax.tree_util.keystr(path) == ".side"
    assert jax.jit(lambda x: x.size() * x.side)(given) == 6.0
    assert jax.tree_util.tree_leaves(Ring(4.0)) == [2.0, 0]


def test_a_record_is_frozen_once_it_is_made():
    given = Ring(1.0)
    for change in (lambda: setattr(given, "radius", 2.0), lambda: delattr(given, "radius")):
        with pytest.raises(dataclasses.FrozenInstanceError, match="'radius'"):
            change()
    with pytest.raises(dataclasses.FrozenInstanceError, match="'colour'"):
        given.colour = "red"
    assert vars(given) == {"radius": 0.5, "corners": 0}
    assert str(inspect.signature(Ring)) == "(diameter)"
    assert list(inspect.signature(Polygon).parameters) == ["side", "corners"]


def test_what_is_abstract_is_not_made():
    class AbstractLarge(AbstractShape):
        corners: int = 5

    with pytest.raises(TypeError, match="AbstractLarge is abstract, it lacks plural"):
        AbstractLarge()
    with pytest.raises(TypeError, match="AbstractPseudoinverse"):
        zw.methods.Proximal.__mro__[1]()


def test_records_are_equal_by_class_structure_and_numbers():
    assert Polygon(2.0) == Polygon(2.0) != Polygon(2.0, corners=3)
    assert Polygon(2.0) != Polygon(3.0) and Ring(2.0) == Ring(2.0) != Polygon(1.0)
    assert (
        hash(zw.methods.Projection())
        == hash(zw.methods.Projection())
        != hash(zw.methods.Projection(iterations=3))
    )
    ones = Scales(np.ones(2), np.array(3.0), np.array(4.0))
    assert ones == copy.deepcopy(ones) == pickle.loads(pickle.dumps(ones))
    assert ones != replace(ones, row_length=np.ones(3))


def test_arrays_and_other_leaves_come_apart_and_together():
    given = {"a": np.ones(2), "b": ("text", jnp.zeros(3), None)}
    arrays, others = partition(given)
    assert others == {"a": None, "b": ("text", None, None)} and arrays["b"][0] is None
    assert combine(arrays, others)["b"] == given["b"]


def test_a_derivative_of_its_own_sees_what_changes():
    seen = []

    @CustomDerivative
    def product(f, x, n, y):
        return f(x) * n * y

    @product.def_jvp
    def of_product(primals, tangents):
        f, x, n, y = primals
        seen.append([dx is None for dx in tangents])
        _, dx, _, dy = tangents
        along = jnp.cos(x) * dx if dy is None else 100.0 * dy
        return product(*primals), n * y * along

    g = lambda x, y: product(jnp.sin, x, jnp.array(3), y)
    assert jax.grad(g)(0.5, 2.0) == pytest.approx(6 * np.cos(0.5))
    assert jax.jacfwd(g, 1)(0.5, 2.0) == pytest.approx(600.0)
    assert seen == [[True, False, True, True], [True, True, True, False]]


def test_a_copy_has_other_fields_and_leaves_the_record_as_it_is():
    given = Scales(np.ones(2), np.array(3.0), np.array(4.0))
    copy, usual = (f(given, curvature=5.0) for f in (replace, dataclasses.replace))
    assert type(copy) is Scales and vars(copy) == vars(usual)
    assert copy.row_length is given.row_length and given.curvature == 3.0
    with pytest.raises(TypeError, match=r"Scales has no field \['curve'\]"):
        replace(given, curve=1.0)


def test_a_record_is_shown_by_its_constructor():
    assert repr(zw.methods.Projection()) == "Projection()"
    assert repr(zw.methods.Projection(iterations=3)) == "Projection(iterations=3)"
    assert repr(Polygon(np.ones(2))) == "Polygon(side=f64[2])"


def test_a_run_imports_no_equinox():
    said = """
import jax, sys
jax.config.update("jax_enable_x64", True)
import zwang as zw
from zwang import gallery
example = gallery.load("pendulum")
zw.simulate(example.model, example.q0, example.v0, duration=0.1, samples=2).dataset
sys.exit("equinox" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", said]).returncode == 0


def test_a_derivative_of_its_own_is_kept_where_jax_reverses_a_loop():
    """x²⁷ by three cubes, whose derivative is stated; alone and side by side."""

    @CustomDerivative
    def cube(x):
        return jax.lax.stop_gradient(x) ** 3

    @cube.def_jvp
    def of_cube(primals, tangents):
        return cube(*primals), 3 * primals[0] ** 2 * tangents[0]

    power = jax.hessian(lambda x: jax.lax.fori_loop(0, 3, lambda _, y: cube(y), x))
    x = jnp.array([1.0, 1.1])
    assert np.allclose(power(1.1), 27 * 26 * 1.1**25, rtol=1e-13)
    assert np.allclose(jax.jit(jax.vmap(power))(x), 27 * 26 * x**25, rtol=1e-13)
