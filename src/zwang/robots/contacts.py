"""Inequalities and friction of a robot: joint limits, dry friction of joints, and contacts.

    x − least, most − x                          limits of a joint
    |τ| ≤ τ₀, τ = −τ₀ sign(ẋ)                    dry friction of a joint
    z of the center − radius − height            a ball of a shape on the ground
    g of a pair of shapes                        contacts of bodies

Spheres, the caps of capsules and the corners of boxes touch the ground, and bodies given in pairs
touch each other (`zwang.bodies.contact`). Contacts and limits are hard: the compliance that a
format gives them is not modeled.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import jax.numpy as jnp
import numpy as np

from zwang.bodies.body import entry
from zwang.bodies.contact import known_pair, touch
from zwang.bodies.shape import Shape
from zwang.equations.constraint import AbstractConstraint, DryFriction, Inequality
from zwang.errors import ModelError
from zwang.inputs.suggestions import did_you_mean
from zwang.robots.description import CONTACTS, FRICTION, LIMITS, Description, LettingGo
from zwang.robots.loop_constraints import relative_ends
from zwang.robots.text import of_quaternion

if TYPE_CHECKING:
    from zwang.bodies import BodyTree


class Ball(NamedTuple):
    """A ball of a body that may touch the ground: a position on the body, and a radius [m]."""

    name: str
    body: str
    place: np.ndarray
    radius: float


def balls_of(made: Description) -> tuple[list[Ball], list[str]]:
    """The balls by which bodies touch the ground, and names of bodies with other shapes."""
    found, other = [], []
    for body, shapes in made.touching.items():
        own: list[tuple[np.ndarray, float]] = []
        for shape in shapes:
            frame, size = of_quaternion(shape.position, shape.orientation), shape.size
            if shape.kind == "sphere":
                own.append((frame[:3, 3], size[0]))
            elif shape.kind == "capsule":
                half = 0.5 * size[1] * frame[:3, 2]
                own += [(frame[:3, 3] + side * half, size[0]) for side in (1, -1)]
            elif shape.kind == "box":
                signs = itertools.product((1, -1), repeat=3)
                half = 0.5 * np.asarray(size)
                own += [(frame[:3, 3] + frame[:3, :3] @ (half * x), 0.0) for x in signs]
            else:
                other.append(body)
        for i, ball in enumerate(own, start=1):
            which = f" {i}" if len(own) > 1 else ""
            found.append(Ball(f"{body} ground{which}", body, *ball))
    return found, other


def loose_constraints(
    made: Description, tree: BodyTree, asked: LettingGo
) -> list[AbstractConstraint]:
    """The inequality constraints and frictions of a robot."""
    found: list[AbstractConstraint] = []
    if asked.limits and made.ranges:
        found += _limits(made, tree, asked.restitution)
    if asked.friction:
        for name, size in made.frictions.items():
            (i,) = tree.velocity(name)
            found.append(
                DryFriction(_Along(int(i)), load=size, static=1.0, name=f"{name} friction")
            )
    if asked.ground is not None:
        balls, _ = balls_of(made)
        found += _on_ground(balls, tree, asked) if balls else []
    found += [_of_pair(made, tree, pair, asked.restitution) for pair in asked.pairs]
    return found


def touching_pairs(made: Description, pairs: Sequence) -> tuple[tuple[str, str], ...]:
    """Validate pairs of names of bodies that touch each other.

    Raises:
        ModelError: for a body without shapes for contacts, and two whose shapes have no contact.
    """
    found = []
    for pair in pairs:
        if isinstance(pair, str) or len(pair) != 2:
            raise ModelError(f"with_contacts: pairs holds {pair!r}, expected names of two bodies.")
        for name in pair:
            if name not in made.touching:
                raise ModelError(
                    f"with_contacts: pairs names {name!r}, which has no shape that touches"
                    f"{did_you_mean(name, made.touching)}"
                )
        if not _shapes_of(made, pair):
            raise ModelError(
                f"with_contacts: no shapes of {pair[0]!r} and {pair[1]!r} can touch; expected "
                "spheres, capsules and boxes, or a cylinder beside a sphere."
            )
        found.append((pair[0], pair[1]))
    return tuple(found)


def _shapes_of(made: Description, pair: Sequence[str]) -> list[tuple[Shape, Shape]]:
    """The pairs of shapes of two bodies that can touch."""
    every = itertools.product(*(made.touching[x] for x in pair))
    return [(a, b) for a, b in every if known_pair(a.kind, b.kind)]


def _of_pair(
    made: Description, tree: BodyTree, pair: tuple[str, str], restitution: float
) -> Inequality:
    """The gaps of two bodies."""
    first, second = (int(entry(tree._index, x)) for x in pair)
    shapes = _shapes_of(made, pair)
    ends = [(first, second)] * len(shapes)
    frames = [
        np.stack([of_quaternion(x.position, x.orientation) for x in side])
        for side in zip(*shapes, strict=True)
    ]
    own = dict(zip(("first", "second"), frames, strict=True))

    def rows(q, p):
        return [
            touch((a.kind, b.kind), (jnp.asarray(a.size), jnp.asarray(b.size)), *pose)
            for (a, b), *pose in zip(shapes, *relative_ends(tree, ends, q, own, p), strict=True)
        ]

    return Inequality(
        lambda q, t, p: jnp.concatenate([x.gap for x in rows(q, p)]),
        within=lambda q, t, p: jnp.concatenate([x.way for x in rows(q, p)]),
        name=" ".join(pair),
        restitution=restitution,
        unit="m",
    )


class _Along:
    """`(q, v, t, p)` → one entry of v."""

    def __init__(self, index: int):
        self.index = index

    def __call__(self, q, v, t, p):
        return v[self.index]


def _limits(made: Description, tree: BodyTree, restitution: float) -> list[AbstractConstraint]:
    sides = [
        (f"{name} {'lower' if sign > 0 else 'upper'} limit", int(tree.coordinate(name)[0]), sign, x)
        for name, ends in made.ranges.items()
        for sign, x in zip((1.0, -1.0), ends, strict=True)
        if np.isfinite(x)
    ]
    if not sides:
        return []
    names, entries, signs, ends = zip(*sides, strict=True)
    places, ways, limits = np.array(entries), np.array(signs), np.array(ends)
    gap = lambda q, t, p: ways * (q[places] - limits)
    return [Inequality(gap, name="limits", parts=names, restitution=restitution)]


def _on_ground(balls: list[Ball], tree: BodyTree, asked: LettingGo) -> list[AbstractConstraint]:
    bodies = np.array([int(entry(tree._index, x.body)) for x in balls])
    places = np.array([x.place for x in balls])
    radii = np.array([x.radius for x in balls])
    height = asked.ground
    assert height is not None

    def gap(q, t, p):
        poses = tree.poses(q, p)[bodies]
        z = poses[:, 2, 3] + jnp.einsum("ni,ni->n", poses[:, 2, :3], places)
        return z - radii - height

    names = [x.name for x in balls]
    restitution = asked.restitution
    found: list[AbstractConstraint] = [
        Inequality(gap, name="ground", parts=names, restitution=restitution, unit="m")
    ]
    if asked.grip:
        found += [
            DryFriction(
                _slip(tree, x), load=x.name, static=asked.grip, name=f"{x.name} grip", unit="m/s"
            )
            for x in balls
        ]
    return found


def _slip(tree: BodyTree, ball: Ball):
    """The sliding velocity of a ball's contact point on the ground."""
    body = int(entry(tree._index, ball.body))

    def slip(q, v, t, p):
        pose, moves = tree.poses(q, p)[body], tree.twists(q, v, p)[body]
        lowest = pose[:3, 3] + pose[:3, :3] @ ball.place - jnp.array([0.0, 0.0, ball.radius])
        return (moves[:3] + jnp.cross(moves[3:], lowest))[:2]

    return slip


def left_out(made: Description, asked: LettingGo) -> list[str]:
    """Unsupported content of a file, without the parts that contacts include."""
    _, other = balls_of(made)
    taken: dict[str, Iterable[str]] = {
        LIMITS: made.ranges if asked.limits else (),
        FRICTION: made.frictions if asked.friction else (),
        CONTACTS: made.touching if asked.ground is not None else (),
    }
    found = []
    for sentence in made.unsupported:
        head, _, names = sentence.partition(": ")
        if head in taken:
            left = [x for x in names.split(", ") if x not in taken[head]]
            found += [f"{head}: {', '.join(left)}"] if left else []
        else:
            found.append(sentence)
    if asked.ground is not None:
        but = "; ".join(" and ".join(x) for x in asked.pairs)
        found.append(f"contacts of bodies with each other{but and f', but of {but}'}")
        if other:
            names = ", ".join(dict.fromkeys(other))
            found.append(f"contacts of shapes that are no sphere, capsule or box: {names}")
    return found
