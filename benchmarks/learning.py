"""Microseconds per step of environments for learning: a pole on a cart (4 coordinates, 2 rows), one
step of Tsit5 with its projection, observation and reward included: a loop of steps as native code,
`env.step` of one environment, and of 64 that are stepped together.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.timing import called, interleaved, wait_until_optimized
from zwang.compile import program

STEP = 50e-6
"""Target [s] of one step."""
COUNT, MEMBERS = 2000, 64
LENGTH = 0.5


def cart_pole():
    """A cart on a rail, x and height, and the bob of a pole on it."""
    import zwang as zw

    system = zw.System(
        nq=4,
        mass_matrix=lambda q, t, p: jnp.array([1.0, 1.0, 0.1, 0.1]),
        force=lambda q, v, t, p: jnp.array([0.0, -9.81, 0.0, -0.981]),
        coordinates=("cart.x", "cart.y", "bob.x", "bob.y"),
    )
    rail = zw.Holonomic(lambda q, t, p: q[1], name="rail")
    rod = zw.Holonomic(lambda q, t, p: jnp.sum((q[2:] - q[:2]) ** 2) - LENGTH**2, name="rod")
    return zw.Model(system, [rail, rod], name="cart and pole")


def run() -> dict:
    import zwang as zw

    plant = zw.Plant(cart_pole(), ["cart.x"], q0=[0.0, 0.0, 0.0, LENGTH], step=0.02)
    options = {"limits": 20.0, "horizon": 10**9, "spread_q": 0.0, "spread_v": 0.0}
    reward = lambda q, v, u, t, p: q[3] - 0.001 * u @ u
    one = zw.environment(plant, reward, **options)
    many = zw.environment(plant, reward, members=MEMBERS, **options)
    one.reset(seed=0)
    many.reset(seed=0)
    still, all_still, start = np.zeros(1), np.zeros((MEMBERS, 1)), one.state
    after = lambda _, s: one.task.advanced(s, still)[0]
    loop = program(lambda s: jax.lax.fori_loop(0, COUNT, after, s))
    for step in (lambda: loop(start), lambda: one.step(still), lambda: many.step(all_still)):
        wait_until_optimized(step)
    one.reset(seed=0)
    many.reset(seed=0)
    calls = {
        "one, native code alone": called(lambda: loop(start), 1, per=COUNT),
        "one, env.step": called(lambda: one.step(still), COUNT),
        f"each of {MEMBERS}, env.step": called(lambda: many.step(all_still), 200, per=MEMBERS),
    }
    seen = interleaved(calls)
    bare = seen["one, native code alone"]["median"]
    for name, x in seen.items():
        print(
            f"  learning, {name:24s} {x['median'] * 1e6:7.2f} µs ({x['min'] * 1e6:.2f} … "
            f"{x['max'] * 1e6:.2f}), {x['median'] / bare:.1f} × the native code, target "
            f"{STEP * 1e6:.0f}"
        )
    return seen
