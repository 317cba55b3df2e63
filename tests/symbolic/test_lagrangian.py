"""Models from Lagrangians in SymPy."""

import subprocess
import sys

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import zwang as zw
from zwang.symbolic import from_lagrangian

m, g, l = sp.symbols("m g l")
VALUES = {m: 1.3, g: 9.81, l: 0.8}


def test_a_rod_gives_the_pendulum_of_the_gallery():
    x, y = dynamicsymbols("x y")
    L = m * (x.diff() ** 2 + y.diff() ** 2) / 2 - m * g * y
    model = from_lagrangian(L, [x, y], params=VALUES, holonomic={"rod": x**2 + y**2 - l**2})
    own = zw.gallery.load("pendulum", mass=1.3, length=0.8).model
    q, v = [0.48, -0.64], [0.8, 0.6]
    found, expected = zw.motion(model, q, v), zw.motion(own, q, v)
    np.testing.assert_allclose(found.acceleration, expected.acceleration, rtol=1e-13)
    np.testing.assert_allclose(found.by_constraint["rod"], expected.by_constraint["rod"])


def test_a_moving_frame_gives_centrifugal_and_coriolis_forces():
    """A bead on a rod that turns at the rate w: r̈ = w² r."""
    r, t, w = sp.Symbol("r"), dynamicsymbols._t, sp.Symbol("w")
    rate = sp.Symbol("r_dot")
    place = sp.Matrix([r * sp.cos(w * t), r * sp.sin(w * t)])
    velocity = place.diff(r) * rate + place.diff(t)
    model = from_lagrangian(m * velocity.dot(velocity) / 2, [r], params={m: 1.3, w: 2.0})
    found = zw.motion(model, [0.7], [0.2], 0.4).acceleration
    np.testing.assert_allclose(found, [4.0 * 0.7], rtol=1e-12)


def test_a_blade_and_a_force_act():
    x, y, a = dynamicsymbols("x y a")
    L = m * (x.diff() ** 2 + y.diff() ** 2 + l**2 * a.diff() ** 2) / 2
    slip = -sp.sin(a) * x.diff() + sp.cos(a) * y.diff()
    model = from_lagrangian(
        L, [x, y, a], params=VALUES, force=[m * g, 0, 0], nonholonomic={"blade": slip}
    )
    angle, speed, spin = 0.3, 1.1, 0.7
    v = [speed * np.cos(angle), speed * np.sin(angle), spin]
    along = np.array([np.cos(angle), np.sin(angle)])
    across = np.array([-along[1], along[0]])
    expected = 9.81 * along[0] * along + speed * spin * across
    found = zw.motion(model, [0.0, 0.0, angle], v).acceleration
    np.testing.assert_allclose(found[:2], expected, rtol=1e-12)


def test_a_symbol_that_means_nothing_is_named():
    x = dynamicsymbols("x")
    with pytest.raises(zw.ModelError, match="contains k"):
        from_lagrangian(m * x.diff() ** 2 / 2 - sp.Symbol("k") * x, [x], params={m: 1.0})


def test_importing_zwang_imports_no_sympy():
    program = "import sys, zwang; zwang.c_code; print('sympy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
