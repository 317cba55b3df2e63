"""Sine and cosine in native code compared with 50 digits."""

import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from zwang.native import function, trigonometry


def arguments() -> np.ndarray:
    rng = np.random.default_rng(1)
    quarter = np.arange(-1020, 1021) * (np.pi / 2)
    near = [quarter, np.nextafter(quarter, 1e9), np.nextafter(quarter, -1e9)]
    spread = [rng.uniform(-s, s, 1500) for s in (1e-3, 1.0, 4.0, 100.0, 1600.0)]
    tiny = [np.array([5e-324, 1e-310, 1e-200, 1e-20, 1e-9, -1e-8])]
    return np.concatenate([*near, *spread, *tiny, rng.uniform(1600, 1e8, 200)])


def errors_in_units(found: np.ndarray, exact: list) -> np.ndarray:
    """Errors in units in the last place of the exact result."""
    units = [np.spacing(abs(float(e))) for e in exact]
    pairs = zip(found, exact, units, strict=True)
    return np.array([abs(float((mpmath.mpf(float(y)) - e) / u)) for y, e, u in pairs])


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_the_error_is_below_one_unit_in_the_last_place(name):
    x = arguments()
    found = function(getattr(jnp, name), x)(x)
    with mpmath.workdps(50):
        exact = [getattr(mpmath, name)(mpmath.mpf(float(y))) for y in x]
        errors = errors_in_units(found, exact)
    assert errors.max() < 0.8, (x[errors.argmax()], errors.max())


def test_angles_side_by_side_are_those_of_one_to_the_bit():
    x = np.array([0.3, -2.0, 0.0, -0.0, np.inf, np.nan, 1e7, 12.5, 1e-9, 3.0, -1599.0])
    both = lambda x: (jnp.sin(x), jnp.cos(x), jnp.sin(x) * 2.0)
    together, one = function(both, x), function(both, x[0])
    alone = np.array([one(angle) for angle in x]).T
    assert together.code.instructions < x.size * one.code.instructions / 2
    np.testing.assert_array_equal(np.array(together(x)).view(np.int64), alone.view(np.int64))


def test_special_values():
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan])
    s, c = function(lambda x: (jnp.sin(x), jnp.cos(x)), x)(x)
    assert np.array_equal(s, [0.0, 0.0, np.nan, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(np.signbit(s[:2]), [False, True])
    assert np.array_equal(c, [1.0, 1.0, np.nan, np.nan, np.nan], equal_nan=True)


def interpolation(f, first, last, n: int) -> list[float]:
    """Coefficients of the polynomial that agrees with a function at n Chebyshev nodes."""
    angles = [(2 * k + 1) * mpmath.pi / (2 * n) for k in range(n)]
    nodes = [(first + last + (last - first) * mpmath.cos(angle)) / 2 for angle in angles]
    powers = mpmath.matrix([[z**j for j in range(n)] for z in nodes])
    return [float(c) for c in mpmath.lu_solve(powers, mpmath.matrix([f(z) for z in nodes]))]


def test_coefficients_are_those_of_the_interpolation():
    with mpmath.workdps(50):
        most = (mpmath.pi / 4) ** 2 * mpmath.mpf("1.0001")
        root = mpmath.sqrt
        functions = {
            trigonometry.S: lambda z: (mpmath.sin(root(z)) - root(z)) / root(z) ** 3,
            trigonometry.C: lambda z: (mpmath.cos(root(z)) - 1 + z / 2) / z**2,
        }
        for coefficients, f in functions.items():
            found = interpolation(f, mpmath.mpf(0), most, len(coefficients))
            assert found == list(coefficients)
        assert abs(mpmath.fsum(trigonometry.HALF_PI) - mpmath.pi / 2) < 1e-36
