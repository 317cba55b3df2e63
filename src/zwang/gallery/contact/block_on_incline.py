"""A block that slides up an incline, comes to rest, and stays or slides back.

    0 ≤ y,    |f| ≤ μ₀ N at rest, f = −μ N sign ẋ while it slides
    exact:  decelerates with g (sin α + μ cos α) upward; stays if and only if tan α ≤ μ₀, otherwise
            slides down with g (sin α − μ cos α)

Source: textbook. Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import DryFriction, Inequality
from zwang.equations.system import System
from zwang.gallery.drawing import curve
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.scene import Bar, Mark, Scene, Seen, array_namespace

ENTRY = Entry(
    "block-on-incline",
    "a block that is pushed up an incline stops and slides back, or stays if tan α ≤ μ₀",
    1.0,
    {
        "slope": Setting(0.3, "angle of the incline α", "rad"),
        "static": Setting(0.3, "coefficient of friction at rest"),
        "kinetic": Setting(0.2, "coefficient of friction while it slides"),
        "speed": Setting(1.5, "speed up the incline at the start", "m/s"),
        "gravity": GRAVITY,
    },
    "textbook",
    ("plane", "contact", "friction", "exact"),
)


def build(*, slope, static, kinetic, speed, gravity) -> Example:
    """The model in the axes of the incline, x up along it."""
    weight = lambda p: p["gravity"] * jnp.stack([-jnp.sin(p["slope"]), -jnp.cos(p["slope"])])
    system = System(
        2,
        mass_matrix=lambda q, t, p: jnp.ones(2),
        force=lambda q, v, t, p: weight(p),
        potential=lambda q, t, p: -weight(p) @ q,
        coordinates=["x", "y"],
        units=["m", "m"],
    )
    plane = Inequality(lambda q, t, p: q[1], name="plane", unit="m")
    grip = DryFriction(
        lambda q, v, t, p: v[0],
        load="plane",
        static="static",
        kinetic="kinetic",
        name="grip",
        unit="m/s",
    )
    params = {"slope": slope, "static": static, "kinetic": kinetic, "gravity": gravity}
    up = gravity * (np.sin(slope) + kinetic * np.cos(slope))
    down = gravity * (np.sin(slope) - kinetic * np.cos(slope)) * (np.tan(slope) > static)

    def exact(t):
        rose, since = np.minimum(t, speed / up), np.maximum(t - speed / up, 0.0)
        return {
            "x": speed * rose - up * rose**2 / 2 - down * since**2 / 2,
            "y": np.zeros_like(t),
        }

    lies = np.array([[np.cos(slope), np.sin(slope)], [-np.sin(slope), np.cos(slope)]])
    ways = np.linspace(0.0, ENTRY.duration)
    ends = np.array([[np.min(exact(ways)["x"]), 0.0], [1.1 * np.max(exact(ways)["x"]), 0.0]])

    def seen(q):
        xp = array_namespace(q)
        still = xp.asarray(ends) + 0 * q[:, None]
        return Seen(xp.concatenate([still, q[:, None]], axis=1) @ lies)

    return Example(
        Model(system, [plane, grip], params, name="block-on-incline"),
        q0=np.zeros(2),
        v0=np.array([speed, 0.0]),
        duration=1.0,
        description=f"A block moves up an incline of {slope:g} rad at {speed:g} m/s.",
        figures={"Phase portrait": curve("x", "d/dt x")},
        exact=exact,
        scene=Scene(
            ("foot", "top", "block"),
            seen,
            (Bar(("foot", "top"), kind="rod"),),
            joints=(Mark("block", "block", "block", constraints=("plane",)),),
        ),
    )
