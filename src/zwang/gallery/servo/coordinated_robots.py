"""Two planar robots of three links that grip one object rigidly: a chain of five bars with a hinge
at both ends.

    M = (Wᵀ m W) ∘ cos(θᵢ − θⱼ) + diag(I),   F = −(Wᵀ m W) ∘ sin(θᵢ − θⱼ) θ̇² − g (Wᵀ m) cos θ
    W_ki = l for i < k, l/2 for i = k: the center of bar k is at Σ W_ki (cos θᵢ, sin θᵢ)

    hinge:   Σ l cos θᵢ = 3 l,  Σ l sin θᵢ = 0               passive, reacts to the control
    object:  x₃ = 1.5 l,  y₃ = h (1 − cos ω t)/2,  θ₃ = 0    servo, six torques on three freedoms
    exact:   θ₁ = α + β,  θ₂ = α − β,  θ₄ = −θ₂,  θ₅ = −θ₁,
             tan α = y₃/l,  cos β = √(l² + y₃²)/(2 l)

`choice` selects among the torques that meet the task: `paper` follows the paper's eq. (71) with the
true hinge force; `least` has the least norm; `weighted` uses `weights`; `preferred` is nearest to
given torques. The paper's Table I is missing: the initial state at rest follows from its Figure 3
and eq. (64).
Source: Liu et al., servo constraints, sections V and VI. Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.equations.system import System
from zwang.errors import ModelError
from zwang.gallery.drawing import Linkage
from zwang.gallery.example import Example
from zwang.gallery.index.entry import RATE, Entry, Setting
from zwang.gallery.servo.checks import lengths, not_negative, null_space, positive
from zwang.gallery.servo.drawing import controls, over_time
from zwang.gallery.servo.tracking import decay
from zwang.scene import array_namespace
from zwang.servo import Servo

ENTRY = Entry(
    "coordinated-robots",
    "two robots of three links lift one object: six torques for three degrees of freedom",
    6.283185307179586,
    {
        "mass": Setting((1.0, 1.0, 1.0, 1.0, 1.0), "masses of the links, uniform", "kg"),
        "inertia": Setting(
            (1.0, 1.0, 1.0, 1.0, 1.0), "inertias of the links about their centers", "kg m²"
        ),
        "length": Setting(1.0, "length of each link", "m"),
        "height": Setting(1.0, "height to which the object is lifted", "m"),
        "frequency": Setting(1.0, "angular frequency of the lift", "rad/s"),
        "gravity": Setting(9.8, "acceleration of gravity", "m/s²"),
        "rate": RATE,
        "offset": Setting(0.0, "start error of the object's height", "m"),
        "choice": Setting(
            "paper", "which of the torques that work: paper, least, weighted or preferred"
        ),
        "weights": Setting((1.0, 1.0, 1.0, 1.0, 1.0, 1.0), "weights of the torques, for weighted"),
        "preferred": Setting(
            (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), "torques to stay near to, for preferred", "N m"
        ),
    },
    "Liu et al., servo constraints, sections V and VI",
    ("servo", "redundant", "linkage", "robot", "paper", "exact"),
)

NAME = "coordinated-robots"
LINKS = 5
LEVER = np.tril(np.ones((LINKS, LINKS)), -1) + 0.5 * np.eye(LINKS)
"""W in units of the link length."""
ACTUATION = np.array(
    [
        [1, -1, 0, 0, 0, 0],
        [0, 1, -1, 0, 0, 0],
        [0, 0, 1, 1, 0, 0],
        [0, 0, 0, -1, 1, 0],
        [0, 0, 0, 0, -1, 1],
    ],
    float,
)
"""B, eq. (70): the torque of each joint acts on both its links."""
ACTUATORS = [f"u{i}" for i in range(1, 7)]


def build(
    *, mass, inertia, length, height, frequency, gravity, rate, offset, choice, weights, preferred
) -> Example:
    """The model, at rest with the object `offset` [m] above the lowest point of its path."""
    lengths(NAME, LINKS, mass=mass, inertia=inertia)
    lengths(NAME, 6, weights=weights, preferred=preferred)
    positive(NAME, mass=mass, inertia=inertia, length=length, frequency=frequency)
    not_negative(NAME, rate=rate)
    # with an initial error the object may be above the path
    highest = max(abs(offset), abs(height), abs(height + offset))
    if not highest < np.sqrt(3) * length:
        raise ModelError(
            f"{NAME}: the object is to rise to {highest:g} m, but arms of two links of "
            f"{length:g} m are stretched out at {np.sqrt(3) * length:.4g} m; lower height or "
            "offset."
        )
    choices = ("paper", "least", "weighted", "preferred")
    servo = Servo(
        [Holonomic(_object, name="object")],
        ACTUATION,
        actuators=ACTUATORS,
        actuator_units=["N m"] * 6,
        gains=rate or None,
        null_space=null_space(NAME, choices, choice, weights, preferred),
    )
    params = {
        "mass": mass,
        "inertia": inertia,
        "length": length,
        "gravity": gravity,
        "height": height,
        "frequency": frequency,
    }

    def angles(t):
        risen = height / 2 * (1 - np.cos(frequency * t)) + decay(rate, (offset, 0.0), t)[0]
        lean, half = np.arctan2(risen, length), np.arccos(np.hypot(risen, length) / (2 * length))
        first, second = lean + half, lean - half
        return np.stack([first, second, 0 * first, -second, -first])

    return Example(
        Model(_system(), [Holonomic(_hinge, name="hinge")], params, servo=servo, name=NAME),
        q0=angles(np.asarray(0.0)),
        v0=np.zeros(LINKS),
        duration=2 * np.pi,
        description=(
            "Two robots of three links, six torques in all, lift an object straight up and "
            f"down without turning it; of all torques that do so, the choice is {choice!r}."
        ),
        figures={
            **_paper_figures(),
            "Robots": Linkage(lambda q: bars(q, length), until=np.pi / frequency),
        },
        exact=lambda t: dict(zip(_coordinates(), angles(np.asarray(t)), strict=True)),
    )


def _system() -> System:
    def mass_matrix(q, t, p):
        lever = p["length"] * LEVER
        coupling = (lever.T * p["mass"]) @ lever
        return coupling * jnp.cos(q[:, None] - q) + jnp.diag(p["inertia"])

    def force(q, v, t, p):
        lever = p["length"] * LEVER
        coupling = (lever.T * p["mass"]) @ lever
        return -(coupling * jnp.sin(q[:, None] - q)) @ v**2 - p["gravity"] * (
            p["mass"] @ lever
        ) * jnp.cos(q)

    def potential(q, t, p):
        return p["gravity"] * p["length"] * p["mass"] @ (LEVER @ jnp.sin(q))

    return System(
        LINKS,
        mass_matrix,
        force,
        potential=potential,
        coordinates=_coordinates(),
        units=["rad"] * LINKS,
    )


def _coordinates() -> list[str]:
    return [f"link {i}.angle" for i in range(1, LINKS + 1)]


def _hinge(q, t, p):
    return p["length"] * jnp.stack([jnp.sum(jnp.cos(q)) - 3, jnp.sum(jnp.sin(q))])


def _object(q, t, p):
    x, y = (p["length"] * (LEVER[2] @ f(q)) for f in (jnp.cos, jnp.sin))
    path = 0.5 * p["height"] * (1 - jnp.cos(p["frequency"] * t))
    return jnp.stack([x - 1.5 * p["length"], y - path, q[2]])


def _paper_figures() -> dict:
    """Figures 4 to 14 of the paper: each angle with its rate and acceleration, and each torque,
    over one lift.
    """

    def angle(i):
        return over_time(
            f"θ{i} and its derivatives [rad, rad/s, rad/s²]",
            lambda run: {
                f"angle θ{i} [rad]": run.q[:, i - 1],
                "velocity [rad/s]": run.v[:, i - 1],
                "acceleration [rad/s²]": run.variables["acceleration"].values[:, i - 1],
            },
        )

    angles = {f"Figure {i + 3}: motion of link {i}": angle(i) for i in range(1, LINKS + 1)}
    torques = {
        f"Figure {i + 8}: torque u{i}": controls(f"u{i} [N m]", [f"u{i}"]) for i in range(1, 7)
    }
    return {**angles, **torques}


def bars(q: np.ndarray, length: float) -> np.ndarray:
    """Ends of the five links, shape (5, 2, 2)."""
    xp = array_namespace(q)
    ends = length * xp.cumsum(xp.stack([xp.cos(q), xp.sin(q)], axis=1), axis=0)
    return xp.stack([xp.concatenate([np.zeros((1, 2)), ends[:-1]]), ends], axis=1)
