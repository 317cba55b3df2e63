"""Two links of equal length in a vertical plane with motors in both joints, and their scene."""

from __future__ import annotations

import jax.numpy as jnp

from zwang.equations.system import System
from zwang.scene import Bar, Mark, Scene, Seen, array_namespace


def two_links() -> System:
    """The links in joint angles: a mass at the end of each, and a load in the hand."""

    def masses(p):
        """m l² of the elbow and of the hand."""
        return p["mass"] * p["length"] ** 2, (p["mass"] + p["load"]) * p["length"] ** 2

    def mass_matrix(q, t, p):
        (elbow, hand), both = masses(p), 1.0 + jnp.cos(q[1])
        rows = [jnp.stack([elbow + 2 * hand * both, hand * both])]
        return jnp.stack([*rows, jnp.stack([hand * both, hand + 0 * both])])

    def potential(q, t, p):
        elbow, hand = masses(p)
        heights = (elbow + hand) * jnp.sin(q[0]) + hand * jnp.sin(q[0] + q[1])
        return p["gravity"] / p["length"] * heights

    def force(q, v, t, p):
        (elbow, hand), g = masses(p), p["gravity"] / p["length"]
        lower = hand * g * jnp.cos(q[0] + q[1])
        upper = (elbow + hand) * g * jnp.cos(q[0]) + lower
        bend = hand * jnp.sin(q[1])
        return jnp.stack([bend * v[1] * (2 * v[0] + v[1]) - upper, -bend * v[0] ** 2 - lower])

    return System(
        2,
        mass_matrix=mass_matrix,
        force=force,
        potential=potential,
        coordinates=["shoulder", "elbow"],
        units=["rad", "rad"],
    )


def two_links_scene(length: float) -> Scene:
    """Base, elbow and hand, with the path of the hand."""

    def seen(q):
        xp = array_namespace(q)
        ways = [xp.stack([xp.cos(x), xp.sin(x)], axis=-1) for x in (q[:, 0], q[:, 0] + q[:, 1])]
        middle = length * ways[0]
        return Seen(xp.stack([0 * middle, middle, middle + length * ways[1]], axis=1))

    return Scene(
        ("base", "elbow", "hand"),
        seen,
        bars=(Bar(("base", "elbow"), "upper"), Bar(("elbow", "hand"), "lower")),
        joints=(
            Mark("shoulder", "base", "pin", True, ()),
            Mark("elbow", "elbow", "pin", constraints=()),
        ),
        traces=("hand",),
    )
