"""Swing a closed-loop mechanism up with a motor that is too weak to lift it: `python
examples/swing_up.py`.

Three parallel cranks and a coupler (`five-bar`) hang straight down. A motor on one crank, limited
to a third of the torque that would hold them level, is to bring them to rest upright after five
seconds. The torque is a sequence of numbers, joined linearly; its gradient is taken through the
whole run, projections and the passages through the singular configuration included, and a standard
optimizer does the rest. The picture shows angle and torque.
"""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize
from rich.progress import Progress

import zwang as zw
from zwang.gallery.five_bar import mechanism, parallel

jax.config.update("jax_enable_x64", True)

DURATION, KNOTS = 5.0, 26
LEVEL = (3 * 1.0 / 2 + 2.0) * 9.81  # N·m, holds the cranks level
LIMIT = LEVEL / 3


def powered() -> zw.Model:
    """`five-bar` with a torque on its first crank, `LIMIT · tanh(u(t))`."""
    bars, pins = mechanism(1.0, 0.1, 2.0, 0.2, 9.81)
    free = bars.system
    knots = jnp.linspace(0.0, DURATION, KNOTS)

    def force(q, v, t, p):
        return (
            free.force(q, v, t, p["bars"]).at[2].add(LIMIT * jnp.tanh(jnp.interp(t, knots, p["u"])))
        )

    system = zw.System(
        12,
        lambda q, t, p: free.mass_matrix(q, t, p["bars"]),
        force,
        coordinates=free.coordinates,
        units=free.units,
    )
    return zw.Model(system, pins, {"bars": bars.params, "u": np.zeros(KNOTS)}, name="swing-up")


def main(picture: str = "results/swing_up.png", evaluations: int = 150) -> float:
    """Optimize, draw, and return the largest of angle error [rad] and speed [rad/s] at the end."""
    model, q0, times = powered(), parallel(-np.pi / 2), np.linspace(0.0, DURATION, 101)

    def flight(u):
        return zw.trajectory(
            model,
            q0,
            jnp.zeros(12),
            times,
            params={"u": u},
            rtol=1e-6,
            gradient="reverse",
            max_steps=1024,
        )

    def cost(u):
        run = flight(u)
        angle, speed = run.q[-1, 2], run.v[-1, 2]
        return 10 * (1 - jnp.sin(angle)) + 0.2 * speed**2 + 1e-3 * jnp.mean(jnp.tanh(u) ** 2)

    value_and_gradient = jax.jit(jax.value_and_grad(cost))
    with Progress() as bar:
        task = bar.add_task("swing-up (the first step compiles)", total=evaluations)

        def step(u):
            value, slope = value_and_gradient(u)
            bar.update(task, advance=1, description=f"swing-up, cost {float(value):.2e}")
            return float(value), np.asarray(slope)

        first = 0.5 * np.sign(np.sin(2 * np.pi * 0.55 * np.linspace(0, DURATION, KNOTS)))
        best = scipy.optimize.minimize(
            step,
            first,
            jac=True,
            method="L-BFGS-B",
            options={"maxfun": evaluations, "maxiter": evaluations},
        )
    run = jax.jit(flight)(best.x)
    miss = max(
        abs(float(jnp.cos(run.q[-1, 2]))),
        abs(float(run.v[-1, 2])),
        float(1 - jnp.sin(run.q[-1, 2])),
    )
    print(
        f"cost {best.fun:.2e} after {best.nfev} runs with their gradients; at the end "
        f"{miss:.1e} rad or rad/s from rest upright;"
    )
    print(
        f"largest torque {LIMIT * np.max(np.abs(np.tanh(best.x))):.3g} of {LEVEL:.3g} N·m; "
        f"violation {float(np.max(run.violation)):.1e}"
    )
    figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(7, 5), layout="constrained")
    above.plot(times, np.degrees(np.asarray(run.q[:, 2])))
    above.axhline(90, color="0.7", zorder=0)
    above.set_ylabel("angle of the cranks [°]")
    below.plot(np.linspace(0, DURATION, KNOTS), LIMIT * np.tanh(best.x), ".-")
    below.set(xlabel="time [s]", ylabel="torque of the motor [N·m]")
    figure.savefig(picture, dpi=120)
    return miss


if __name__ == "__main__":
    sys.exit(0 if main(*sys.argv[1:2]) < 0.05 else 1)
