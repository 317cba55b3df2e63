"""A hopper jumps on its leg, and a racket juggles a ball, both with least effort.

Phases between events: the foot leaves the floor, reaches its height, lands and stays; the ball is
hit and rises. Needs the extra `optimal`.

    python examples/optimal_hop.py
"""

import jax
import jax.numpy as jnp
import numpy as np

import zwang as zw

jax.config.update("jax_enable_x64", True)
Phase = zw.analysis.Phase
GRAVITY = 9.81  # m/s²
MASSES = jnp.array([0.2, 1.0])  # foot and body [kg]
STANDING = np.array([0.0, 0.6])  # m


def hopper():
    """A foot and a body above it, which a force between them drives apart."""
    system = zw.System(
        2,
        lambda q, t, p: MASSES,
        lambda q, v, t, p: -GRAVITY * MASSES,
        coordinates=("foot", "body"),
        units=("m", "m"),
    )
    floor = zw.Inequality(lambda q, t, p: q[0], name="floor", unit="m")
    return zw.Model(system, [floor], name="hopper")


def hop(height=0.1, **options):
    """The foot leaves the floor, reaches a height, and stands again; landing is a plastic
    impact.
    """
    leg = zw.servo.Feedback(
        lambda q, v, t, p: jnp.zeros(1),
        np.array([[-1.0], [1.0]]),
        actuators=["leg"],
        actuator_units=["N"],
    )
    low, high = np.array([0.0, 0.4]), np.array([0.0, 0.8])
    top = np.array([height, 0.85])
    phases = [
        Phase((0.1, 1.0), holds="floor", guess=[STANDING, low, high]),
        Phase((0.05, 1.0), end=lambda q, v, t, p: q[0] - height, guess=[high, top]),
        Phase((0.05, 1.0), guess=[top, high]),
        Phase((0.1, 1.0), holds="floor", guess=[high, low, STANDING]),
    ]

    def length(q, v, u, t, p):
        return q[1] - q[0]

    given = {"bounds": {length: (0.3, 0.8), "leg": (-20.0, 60.0)}, "intervals": 8} | options
    still = (STANDING, np.zeros(2))
    return zw.analysis.optimal_control(hopper(), still, still, phases, inputs=leg, **given)


def juggle(height=1.5, restitution=0.9, **options):
    """A racket hits a ball that falls from 1 m, so that it rises to a height."""
    system = zw.System(
        2,
        lambda q, t, p: jnp.ones(2),
        lambda q, v, t, p: jnp.array([0.0, -GRAVITY]),
        coordinates=("racket", "ball"),
        units=("m", "m"),
    )
    gap = zw.Inequality(lambda q, t, p: q[1] - q[0], name="gap", restitution=restitution, unit="m")
    phases = [Phase((0.1, 1.0), rebounds="gap"), Phase((0.1, 1.0))]
    given = {"inputs": ["racket"], "intervals": 3} | options
    return zw.analysis.optimal_control(
        zw.Model(system, [gap], name="juggler"),
        ([0.0, 1.0], [0.0, 0.0]),
        ([np.nan, height], [np.nan, 0.0]),
        phases,
        **given,
    )


if __name__ == "__main__":
    for found in (hop(rtol=1e-6), juggle()):
        print(found)
        run = zw.simulate(found.model, found.q[0], found.v[0], duration=found.duration, rtol=1e-9)
        print(run)
        print("replayed forward, off by", np.max(np.abs(run.q[-1] - found.q[-1])), "m")
