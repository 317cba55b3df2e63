"""Jumps of the velocity within a run are reported with impulse and energy, for every cause."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw

G = 9.81


def body(mass: float, pull: float = 0.0) -> zw.System:
    return zw.System(1, lambda q, t, p: jnp.array([mass]), lambda q, v, t, p: jnp.array([pull]))


ROPE = zw.Model(
    body(1.0, -G),
    [zw.Holonomic(lambda q, t, p: jnp.minimum(q[0] + 1.0, 0.0), name="rope")],
    name="falling",
)
"""A mass that falls for 1 m, until its rope runs out."""
RATE = zw.Model(
    body(2.0),
    [zw.Nonholonomic(lambda q, v, t, p: v[0] - jnp.where(t < 0.503, 2.0, 1.0), name="drive")],
    name="drive by rate",
)
PLACE = zw.Model(
    body(2.0),
    [
        zw.Holonomic(
            lambda q, t, p: q[0] - jnp.where(t < 0.503, t, 0.503 + 2 * (t - 0.503)), name="drive"
        )
    ],
    name="drive by place",
)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "model, v0, constraint, impulse, energy, time",
    [
        (ROPE, 0.0, "rope", np.sqrt(2 * G), "lost 9.81 J", np.sqrt(2 / G)),
        (RATE, 2.0, "drive", 2.0, "lost 3 J", 0.503),
        (PLACE, 1.0, "drive", 2.0, "gained 3 J", 0.503),
    ],
)
def test_a_jump_is_reported_with_its_impulse_and_energy(
    model, v0, constraint, impulse, energy, time
):
    run = zw.simulate(model, [0.0], [v0], duration=1.0, samples=3)
    (said,) = run.warnings
    assert f"({constraint!r}, impulse {impulse:.4g}, energy {energy})" in said
    assert np.isclose(float(said.split("t = ")[1].split(" s")[0]), time, atol=1e-4)


def test_a_drive_without_a_jump_reports_none():
    smooth = zw.Holonomic(lambda q, t, p: q[0] - jnp.sin(9 * t) / 9, name="drive")
    model = zw.Model(body(2.0), [smooth], name="smooth")
    assert zw.simulate(model, [0.0], [1.0], duration=2.0, samples=3, rtol=1e-5).warnings == ()
