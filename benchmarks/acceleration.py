"""Microseconds per acceleration, `A, b` by automatic differentiation included, for each
pseudoinverse at m = n = 12 and 60.

The neighbour is what people write by hand today: NumPy, analytic `A` and `b`, `pinv(A M^-1/2)`. Its
`pinv` step alone is a line of its own. The model is `five-bar` (12 rows of rank 11), and five of
them side by side as one dense model (60 rows of rank 55).
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from benchmarks.timing import called, interleaved, looped
from zwang.algebra.pseudoinverse import ALL_PSEUDOINVERSES, Proximal

G, THETA = 9.81, np.pi / 4
MASS = np.array([1, 1, 0.1] * 3 + [2, 2, 0.2])
PIVOT, OFFSET = np.arange(3.0), np.array([-1.0, 0.0, 1.0])


def five_bars(copies: int):
    """The model: `copies` five-bar linkages, coordinates (x, y, angle) of three cranks and the
    coupler each.
    """
    import zwang as zw

    mass = jnp.tile(jnp.asarray(MASS), copies)

    def phi(q, t, p):
        x, y, a = jnp.moveaxis(q.reshape(copies, 4, 3), 2, 0)
        c, s = 0.5 * jnp.cos(a[:, :3]), 0.5 * jnp.sin(a[:, :3])
        tip_x, tip_y = x[:, 3:] + OFFSET * jnp.cos(a[:, 3:]), y[:, 3:] + OFFSET * jnp.sin(a[:, 3:])
        rows = (x[:, :3] - c - PIVOT, y[:, :3] - s, x[:, :3] + c - tip_x, y[:, :3] + s - tip_y)
        return jnp.stack(rows, axis=2).ravel()

    weight = -G * jnp.tile(jnp.array([0.0, 1.0, 0.0]), 4 * copies) * mass
    system = zw.System(12 * copies, lambda q, t, p: mass, lambda q, v, t, p: weight)
    cranks = [[i + 0.5 * np.cos(THETA), 0.5 * np.sin(THETA), THETA] for i in range(3)]
    q = np.tile(np.concatenate([*cranks, [1 + np.cos(THETA), np.sin(THETA), 0.0]]), copies)
    return zw.Model(system, [zw.Holonomic(phi, name="pins")]), jnp.asarray(q)


def by_hand(copies: int):
    """The same acceleration as people write it in NumPy, and its pinv step alone."""
    n = 12 * copies
    minus_half = np.tile(MASS**-0.5, copies)
    free = np.tile([0.0, -G, 0.0], 4 * copies)

    def matrices(q, v):
        A, b = np.zeros((n, n)), np.zeros(n)
        for copy in range(copies):
            o = 12 * copy
            for i in range(3):
                r, a, w = o + 4 * i, q[o + 3 * i + 2], v[o + 3 * i + 2]
                k, ak, wk = o + 9, q[o + 11], v[o + 11]
                s, c, sk, ck = np.sin(a), np.cos(a), np.sin(ak), np.cos(ak)
                x = o + 3 * i
                A[r, x] = A[r + 1, x + 1] = A[r + 2, x] = A[r + 3, x + 1] = 1.0
                A[r, x + 2], A[r + 1, x + 2], A[r + 2, x + 2], A[r + 3, x + 2] = (
                    0.5 * s,
                    -0.5 * c,
                    -0.5 * s,
                    0.5 * c,
                )
                A[r + 2, k] = A[r + 3, k + 1] = -1.0
                A[r + 2, k + 2], A[r + 3, k + 2] = OFFSET[i] * sk, -OFFSET[i] * ck
                b[r], b[r + 1] = -0.5 * c * w * w, -0.5 * s * w * w
                b[r + 2] = 0.5 * c * w * w - OFFSET[i] * ck * wk * wk
                b[r + 3] = 0.5 * s * w * w - OFFSET[i] * sk * wk * wk
        return A, b

    def acceleration(q, v):
        A, b = matrices(q, v)
        return free + minus_half * (np.linalg.pinv(A * minus_half, rcond=1e-10) @ (b - A @ free))

    return matrices, acceleration, minus_half


def measure(copies: int) -> dict:
    """Seconds of everything, and that all agree."""
    model, q = five_bars(copies)
    v = jnp.zeros_like(q)
    matrices, acceleration, minus_half = by_hand(copies)
    C = matrices(np.asarray(q), np.asarray(v))[0] * minus_half
    count = 4000 // copies**2
    expected = acceleration(np.asarray(q), np.asarray(v))

    def compiled(method):
        dynamics = model.dynamics(pseudoinverse=method)

        def evaluate(q):
            return dynamics.acceleration(dynamics.equation_at(model.state(q, v)))

        assert np.allclose(evaluate(q), expected, atol=1e-8), f"{type(method).__name__} disagrees"
        return looped(evaluate, q, count)

    methods = [
        member if not isinstance(member, type) else member() for member in ALL_PSEUDOINVERSES
    ]
    calls = {type(method).__name__: compiled(method) for method in methods}
    calls["NumPy by hand"] = called(
        lambda: acceleration(np.asarray(q), np.asarray(v)), max(count // 10, 20)
    )
    calls["NumPy pinv alone"] = called(lambda: np.linalg.pinv(C, rcond=1e-10), max(count // 10, 20))
    return interleaved(calls)


def run() -> dict:
    results = {}
    for copies in (1, 5):
        size = 12 * copies
        seen = results[f"m = n = {size}"] = measure(copies)
        default = seen[Proximal.__name__]["median"]
        print(
            f"acceleration at m = n = {size}      µs: median (min … max)   NumPy by hand/it   "
            "NumPy pinv alone/it"
        )
        for name, x in seen.items():
            row = f"{x['median'] * 1e6:9.1f} ({x['min'] * 1e6:.1f} … {x['max'] * 1e6:.1f})"
            hand, alone = (
                seen[k]["median"] / x["median"] for k in ("NumPy by hand", "NumPy pinv alone")
            )
            print(f"  {name:22s} {row:36s} {hand:8.1f} {alone:18.1f}")
        print(f"  proximal is {seen['SVD']['median'] / default:.1f} times as fast as SVD")
        print()
    return results
