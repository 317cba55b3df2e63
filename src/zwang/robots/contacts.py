"""Inequalities and friction of a robot: joint limits, dry friction of joints, and contacts.

    x − least, most − x                          limits of a joint
    |τ| ≤ τ₀, τ = −τ₀ sign(ẋ)                    dry friction of a joint
    g of a plane and a shape                     spheres, capsules, cylinders, boxes on the ground
    g of a pair of shapes                        contacts of bodies

The gaps are those of `zwang.bodies.contact`. Contacts and limits are hard: the compliance that a
format gives them is not modeled.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from zwang.bodies.body import entry
from zwang.bodies.contact import known_pair, rows_of, touch
from zwang.bodies.features import Touch, join
from zwang.bodies.shape import Shape
from zwang.compile.hints import shared_code
from zwang.equations.constraint import AbstractConstraint, DryFriction, Inequality
from zwang.errors import ModelError
from zwang.inputs.suggestions import did_you_mean
from zwang.robots.description import CONTACTS, FRICTION, LIMITS, Description, LettingGo
from zwang.robots.loop_constraints import relative_ends
from zwang.robots.text import of_quaternion

if TYPE_CHECKING:
    from zwang.bodies import BodyTree


FLOOR = "plane"
"""The shape of the ground."""


class OnGround(NamedTuple):
    """A shape of a body that may touch the ground.

    Attributes:
        body: its name; frame: of the shape on the body, shape (4, 4).
        shape: what it is; names: of its rows.
    """

    body: str
    frame: np.ndarray
    shape: Shape
    names: tuple[str, ...]


def on_ground_of(made: Description) -> tuple[list[OnGround], list[str]]:
    """The shapes by which bodies touch the ground, and names of bodies with other shapes."""
    found, other = [], []
    for body, shapes in made.touching.items():
        own = [x for x in shapes if known_pair(FLOOR, x.kind)]
        other += [body] * (len(shapes) - len(own))
        counts = [rows_of((FLOOR, x.kind), (0, len(x.size))) for x in own]
        rows = sum(counts)
        names = iter(
            [f"{body} ground {i + 1}" if rows > 1 else f"{body} ground" for i in range(rows)]
        )
        for shape, count in zip(own, counts, strict=True):
            frame = of_quaternion(shape.position, shape.orientation)
            found.append(OnGround(body, frame, shape, tuple(itertools.islice(names, count))))
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
        shapes, _ = on_ground_of(made)
        found += _on_ground(shapes, tree, asked) if shapes else []
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
                "spheres, capsules and boxes, or a cylinder with a sphere or a capsule."
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


def _on_ground(
    shapes: list[OnGround], tree: BodyTree, asked: LettingGo
) -> list[AbstractConstraint]:
    bodies, height = [int(entry(tree._index, x.body)) for x in shapes], asked.ground
    assert height is not None
    names = [name for x in shapes for name in x.names]

    # of all rows at once, as programs trace it once for all of their frictions
    @partial(shared_code, always=True)
    def rows(q, p) -> Touch:
        return _rows_of(shapes, tree.poses(q, p)[np.array(bodies)], height)

    found: list[AbstractConstraint] = [
        Inequality(
            lambda q, t, p: rows(q, p).gap,
            within=lambda q, t, p: rows(q, p).way,
            name="ground",
            parts=names,
            restitution=asked.restitution,
            unit="m",
        )
    ]
    if not asked.grip:
        return found
    owners = np.repeat(bodies, [len(x.names) for x in shapes])

    @partial(shared_code, always=True)
    def slips(q, v, p):
        moves, lowest = tree.twists(q, v, p)[owners], rows(q, p).place
        lowest = lowest + jnp.array([0.0, 0.0, height])
        return (moves[:, :3] + jnp.cross(moves[:, 3:], lowest))[:, :2]

    slip = lambda row: lambda q, v, t, p: slips(q, v, p)[row]
    found += [
        DryFriction(slip(row), load=name, static=asked.grip, name=f"{name} grip", unit="m/s")
        for row, name in enumerate(names)
    ]
    return found


def _rows_of(shapes: list[OnGround], poses: Array, height: float) -> Touch:
    """Return the rows of all shapes, in axes of the ground, from the poses of their bodies. Shapes
    of one kind are computed together, as programs would otherwise grow with their number.
    """
    kinds: dict[str, list[int]] = {}
    for k, x in enumerate(shapes):
        kinds.setdefault(x.shape.kind, []).append(k)
    counts = np.array([len(x.names) for x in shapes])
    first, found, order = np.cumsum(counts) - counts, [], []
    for kind, own in kinds.items():
        at = poses[np.array(own)] @ np.stack([shapes[k].frame for k in own])
        place = at[:, :3, 3] - jnp.array([0.0, 0.0, height])
        sizes = jnp.asarray(np.stack([np.asarray(shapes[k].shape.size, float) for k in own]))
        of_one = lambda size, *at, kind=kind: touch((FLOOR, kind), (jnp.zeros(0), size), *at)
        each = jax.vmap(of_one)(sizes, place, at[:, :3, :3])
        found.append(Touch(*(x.reshape(-1, *x.shape[2:]) for x in each)))
        order += [first[k] + np.arange(counts[k]) for k in own]
    order = np.argsort(np.concatenate(order))
    return Touch(*(x[order] for x in join(*found)))


def left_out(made: Description, asked: LettingGo) -> list[str]:
    """Unsupported content of a file, without the parts that contacts include."""
    _, other = on_ground_of(made)
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
            found.append(
                f"contacts of shapes that are no sphere, capsule, cylinder or box: {names}"
            )
    return found
