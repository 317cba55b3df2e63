"""Exponential and logarithm in native code compared with 50 digits."""

import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from tests.native.test_trigonometry import errors_in_units, interpolation
from zwang.native import exponentials, function


def arguments() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    half = (np.arange(-1400, 1400) + 0.5) * np.log(2) / 2
    normal = half[(half > -708) & (half < 709)]
    around_one = np.concatenate([1 + rng.uniform(-s, s, 800) for s in (1e-12, 1e-3, 0.6)])
    powers = np.ldexp(rng.uniform(0.5, 1, 1500), rng.integers(-1020, 1024, 1500))
    return {
        "exp": np.concatenate([normal, *(rng.uniform(-s, s, 1500) for s in (1e-9, 0.4, 30, 700))]),
        "log": np.concatenate([around_one, powers, [0.5**0.5, np.nextafter(0.5**0.5, 0), 2**0.5]]),
    }


@pytest.mark.parametrize("name", ["exp", "log"])
def test_the_error_is_below_one_unit_in_the_last_place(name):
    x = arguments()[name]
    found = function(getattr(jnp, name), x)(x)
    with mpmath.workdps(50):
        exact = [getattr(mpmath, name)(mpmath.mpf(float(y))) for y in x]
        errors = errors_in_units(found, exact)
    assert errors.max() < 0.9, (x[errors.argmax()], errors.max())


def test_special_values():
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 709.8, -745.2, -745.1, -1.0, 5e-324])
    power, logarithm = function(lambda x: (jnp.exp(x), jnp.log(x)), x)(x)
    nan, inf = np.nan, np.inf
    np.testing.assert_array_equal(power[:-2], [1, 1, inf, 0, nan, inf, 0, 5e-324])
    np.testing.assert_array_equal(logarithm[:5], [-inf, -inf, inf, nan, nan])
    np.testing.assert_array_equal(logarithm[6:-1], [nan] * 3)
    assert logarithm[-1] == pytest.approx(-744.4400719213812, rel=2e-16)


def test_numbers_without_full_precision_are_rounded_once():
    x = np.linspace(-745, -708.5, 400)
    found = function(jnp.exp, x)(x)
    with mpmath.workdps(50):
        exact = [mpmath.exp(mpmath.mpf(float(y))) for y in x]
        assert errors_in_units(found, exact).max() < 1.0


def test_coefficients_are_those_of_the_interpolation():
    with mpmath.workdps(60):
        bound = mpmath.log(2) / 2 * mpmath.mpf("1.0001")
        ratio = (mpmath.sqrt(2) - 1) / (mpmath.sqrt(2) + 1) * mpmath.mpf("1.0001")
        root = mpmath.sqrt
        functions = {
            exponentials.E: (-bound, bound, lambda r: (mpmath.exp(r) - 1 - r - r**2 / 2) / r**3),
            exponentials.L: (
                mpmath.mpf(0),
                ratio**2,
                lambda z: (mpmath.log((1 + root(z)) / (1 - root(z))) / root(z) - 2) / z,
            ),
        }
        for coefficients, (first, last, f) in functions.items():
            assert interpolation(f, first, last, len(coefficients)) == list(coefficients)
        assert abs(mpmath.fsum(exponentials.LN_2) - mpmath.log(2)) < 2e-26
