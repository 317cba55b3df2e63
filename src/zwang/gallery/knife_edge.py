"""A blade on ice, level or inclined: a nonholonomic constraint that forbids sliding sideways.

    u · n(θ) = 0,  u the velocity of the edge, n its normal
    the center of mass is `offset` a ahead of the edge, I = J + m a²
    Chaplygin's sleigh, level ice:  u = U tanh(κ t + δ),  θ̇ = W sech(κ t + δ),
                                    U = √(2 E/m),  W = √(2 E/I),  κ = m a U/I
    a = 0 on a slope α:             θ = θ₀ + ω t,  u = u₀ + (g sin α/ω)(cos θ − cos θ₀)

Source: Neimark and Fufaev (1972), Dynamics of Nonholonomic Systems, chapter II. Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.bodies import Body, PlanarBodies
from zwang.dynamics.model import Model
from zwang.equations.constraint import Nonholonomic
from zwang.gallery.drawing import paths
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.scene import array_namespace, bars_scene

ENTRY = Entry(
    "knife-edge",
    "a blade on ice that cannot slide sideways: Chaplygin's sleigh, or an edge on a slope",
    6.0,
    {
        "offset": Setting(0.3, "center of mass ahead of the edge", "m"),
        "mass": Setting(1.0, "mass", "kg"),
        "inertia": Setting(0.1, "moment of inertia about the center of mass", "kg m²"),
        "speed": Setting(-1.0, "start speed of the edge, forward", "m/s"),
        "spin": Setting(1.5, "start rate of turning", "rad/s"),
        "angle": Setting(30.0, "start heading, from the x axis", "deg"),
        "slope": Setting(
            0.0,
            "slope of the ice, falling towards -y; exact only with offset or slope 0",
            "deg",
        ),
        "gravity": GRAVITY,
    },
    "textbook: Neimark and Fufaev, chapter II",
    ("plane", "nonholonomic", "exact"),
)

BLADE = 0.3
"""Length that is drawn [m]."""


def build(*, offset, mass, inertia, speed, spin, angle, slope, gravity) -> Example:
    """The model; the slope falls towards −y."""
    pull = gravity * np.sin(np.radians(slope))
    bodies = PlanarBodies([Body("blade", mass, inertia)], gravity=(0.0, -pull))

    def sideways(q, v, t, p):
        edge = bodies.velocity(q, v, 0, jnp.stack([-p["offset"], 0.0]))
        return edge[1] * jnp.cos(q[2]) - edge[0] * jnp.sin(q[2])

    model = Model(
        bodies.system,
        [Nonholonomic(sideways, name="edge")],
        {**bodies.params, "offset": offset},
        name="knife-edge",
    )
    heading = np.radians(angle)
    ahead, left = (
        np.array([np.cos(heading), np.sin(heading)]),
        np.array([-np.sin(heading), np.cos(heading)]),
    )
    motion = (
        _sleigh(offset, mass, inertia, speed, spin, heading)
        if pull == 0
        else _inclined(pull, speed, spin, heading)
    )
    exact = None if pull != 0 and offset != 0 else lambda t: _center(motion, offset, t)
    return Example(
        model,
        q0=np.r_[offset * ahead, heading],
        v0=np.r_[speed * ahead + offset * spin * left, spin],
        duration=6.0,
        description=f"A blade that cannot slide sideways, {offset:g} m behind the center of mass, "
        f"on a slope of {slope:g}°.",
        figures={"Path": paths(lambda q: _points(q, offset), ["edge", "center of mass"])},
        exact=exact,
        scene=bars_scene(
            lambda q: _drawn(q, offset), ("blade", "arm"), traces=("arm.start", "arm.end")
        ),
    )


def _drawn(q, offset):
    """The blade, and the arm from its middle to the center of mass, shape (2, 2, 2)."""
    xp = array_namespace(q)
    ahead = xp.stack([xp.cos(q[2]), xp.sin(q[2])])
    edge, half = q[:2] - offset * ahead, BLADE / 2 * ahead
    return xp.stack([xp.stack([edge - half, edge + half]), xp.stack([edge, q[:2]])])


def _points(q, offset):
    """Paths of edge and center of mass, shape (2, 2, samples)."""
    x, y, angle = q.T
    return [(x - offset * np.cos(angle), y - offset * np.sin(angle)), (x, y)]


def _sleigh(offset, mass, inertia, speed, spin, heading):
    """t → (θ, u) of Chaplygin's sleigh."""
    I = inertia + mass * offset**2
    energy = mass * speed**2 / 2 + I * spin**2 / 2
    U, W = np.sqrt(2 * energy / mass), np.sign(spin) * np.sqrt(2 * energy / I)
    kappa = mass * offset * U / I
    if kappa == 0 or spin == 0:
        return lambda t: (heading + spin * t, speed + 0 * t)
    delta = np.arctanh(speed / U)

    def motion(t):
        turned = 2 * np.arctan(np.tanh((kappa * t + delta) / 2)) - 2 * np.arctan(np.tanh(delta / 2))
        return heading + W / kappa * turned, U * np.tanh(kappa * t + delta)

    return motion


def _inclined(pull, speed, spin, heading):
    """t → (θ, u) of an edge under its center of mass, pulled towards −y by `pull` [m/s²]."""
    if spin == 0:
        return lambda t: (heading + 0 * t, speed - pull * np.sin(heading) * t)
    return lambda t: (
        heading + spin * t,
        speed + pull / spin * (np.cos(heading + spin * t) - np.cos(heading)),
    )


def _center(motion, offset, t):
    """Coordinates at times t: the path of the edge is the integral of u (cos θ, sin θ), by Gauss
    quadrature to round-off.
    """
    nodes, weights = np.polynomial.legendre.leggauss(12)
    pieces = np.linspace(0.0, 1.0, 33)
    t = np.asarray(t, float)
    edges = np.r_[0.0, t]
    starts = (edges[:-1, None] + np.diff(edges)[:, None] * pieces[:-1])[..., None]
    width = (np.diff(edges)[:, None] / 32)[..., None]
    theta, u = motion(starts + width * (nodes + 1) / 2)
    x, y = (
        np.cumsum(np.sum(u * f(theta) * weights * width / 2, axis=(1, 2))) for f in (np.cos, np.sin)
    )
    angle = motion(t)[0]
    return {
        "blade.x": x + offset * np.cos(angle),
        "blade.y": y + offset * np.sin(angle),
        "blade.angle": angle,
    }
