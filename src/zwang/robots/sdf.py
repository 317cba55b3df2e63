"""SDF, whose joints may close loops.

The first joint that reaches a link carries it, every later one is a constraint.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from zwang.bodies import Branch, ball, prismatic
from zwang.bodies.inertia import NO_BODY
from zwang.bodies.screws.twist import inverse
from zwang.errors import ModelError
from zwang.files.limits import limit
from zwang.robots.description import AxisForce, Description, Loop
from zwang.robots.sdf_couplings import add_couplings
from zwang.robots.sdf_includes import Source, opened
from zwang.robots.sdf_inertia import inertia_of
from zwang.robots.sdf_joints import GEARBOX, TAGS, Joint, joint_of
from zwang.robots.sdf_pictures import add_pictures
from zwang.robots.sdf_scopes import Scope, flag
from zwang.robots.sdf_specification import AXES, JOINTS_STAND_STILL, PART, RULES, judge
from zwang.robots.text import numbers

GRAVITY = (0.0, 0.0, -9.8)
"""SDF's default gravity [m/s²], if no world gives another."""
NEWEST = (1, 12)
"""The newest supported version of the format."""


def read(path: Path, *, floating: bool | None = None) -> Description:
    """Read the model of an SDF file.

    Args:
        path: the file.
        floating: whether links that no joint carries are free; by default they are, except in a
            static model.

    Raises:
        ModelError: one sentence for a file that is invalid or needs unsupported features.
    """
    return _Reading(opened(path), floating).description


def _outermost(source: Source) -> Scope:
    """The world of a file, or its model, with all names in them."""
    worlds, models = source.root.findall("world"), source.root.findall("model")
    if len(worlds) > 1 or (worlds and models):
        raise ModelError(
            f"{source.shown}: has {len(worlds)} worlds and {len(models)} models beside them, "
            "expected one world or one model."
        )
    if worlds:
        scope = Scope(source, worlds[0], None, "")
        static = [
            name
            for name, x in scope.parts["model"].items()
            if flag(x, "static", f"{source.shown}: model {name!r}")
        ]
        moving = [name for name in scope.parts["model"] if name not in static]
        if not (moving or static):
            raise ModelError(f"{source.shown}: has 0 models, expected one or more in its world.")
        if scope.parts["link"]:
            raise ModelError(f"{source.shown}: a model with links is merged into the world.")
        # A single robot in its world needs no prefixes.
        alone = moving if moving else static
        scope.open_models(alone[0] if len(alone) == 1 else None)
        return scope
    if len(models) != 1:
        raise ModelError(
            f"{source.shown}: has {len(models)} models, expected an <sdf> with one <model>."
        )
    scope = Scope(source, models[0], None, "")
    scope.open_models()
    return scope


class _Reading:
    def __init__(self, source: Source, floating: bool | None):
        self.source, self.shown, self.floating = source, source.shown, floating
        self.outer = _outermost(source)
        self.scopes = [*self.outer.all()]
        self._refuse_same_names()
        self.links = {
            scope.prefix + name: (scope, name)
            for scope in self.scopes
            for name in scope.parts["link"]
        }
        if not self.links:
            raise ModelError(f"{self.shown}: the model has no links.")
        self._refuse_many()
        self.frames = {n: scope.frame @ scope.local(x) for n, (scope, x) in self.links.items()}
        models = [x for x in self.scopes if not x.is_world and x.prefix == ""]
        name = (models[0] if models else self.outer).name or source.path.stem
        self.description = made = Description(name, [], self._gravity())
        self.joints = {
            joint.name: joint
            for scope in self.scopes
            for joint in (joint_of(scope, x) for x in scope.parts["joint"].values())
        }
        self.carriers: dict[str, str] = {}
        closing = self._closing()
        judge([(x.root, x.version) for x in source.opened], made, self.shown)
        for name, joint in self.joints.items():
            if name in closing:
                made.loops[name] = self._loop(joint)
        strange: list[str] = []
        for link in self.links:
            made.branches.append(self._branch(link, strange))
        self._refuse_repeated_parts()
        add_couplings(made, self.joints, self.carriers, self.shown)
        add_pictures(self.scopes, made)
        self._tell(closing, strange)

    def _refuse_same_names(self) -> None:
        """Refuse a name of one model that is a scoped name of another."""
        for kind in ("link", "joint"):
            names = Counter(x.prefix + name for x in self.scopes for name in x.parts[kind])
            name, times = names.most_common(1)[0] if names else ("", 0)
            if times > 1:
                raise ModelError(
                    f"{self.shown}: two {kind}s of different models have the full name {name!r}; "
                    "rename one of them."
                )

    def _refuse_many(self) -> None:
        if len(self.links) > limit("bodies"):
            raise ModelError(
                f"{self.shown} has {len(self.links)} links, expected at most {limit('bodies')}."
            )

    def _gravity(self) -> np.ndarray:
        where, root = f"{self.shown}: gravity", self.source.root
        given = root.findtext("world/gravity")
        if given is None and self.source.version <= RULES["world/physics/gravity"].until:
            given = root.findtext("world/physics/gravity")
        return numbers(given, 3, where, GRAVITY)

    # --- the tree

    def _closing(self) -> set[str]:
        """Names of joints that close loops; all others carry a link."""
        closing = set()
        for name, joint in self.joints.items():
            # A gearbox is a coupling, and a joint of an unknown type is listed as unsupported.
            if not joint.known:
                continue
            child = joint.child
            if child is None or child in self.carriers or self._stands_on(joint.parent, child):
                closing.add(name)
            else:
                self.carriers[child] = name
        return closing

    def _stands_on(self, link: str | None, other: str) -> bool:
        """Return whether a link is carried by another, or is it."""
        while link is not None and link != other:
            link = self.joints[self.carriers[link]].parent if link in self.carriers else None
        return link == other

    def _branch(self, link: str, strange: list[str]) -> Branch:
        (scope, own), frame, made = self.links[link], self.frames[link], self.description
        parent, twists, carrier = None, {}, self.carriers.get(link)
        if carrier is not None:
            joint = self.joints[carrier]
            parent, twists = joint.parent, joint.twists()
            for name, force in joint.forces().items():
                made.damping[name], made.stiffness[name] = force.damping, force.stiffness
                made.rest[name] = force.rest
            made.start |= {name: np.array([x]) for name, x in joint.starts().items()}
            made.ranges |= joint.ranges()
            made.frictions |= joint.sizes("dynamics/friction")
            made.efforts |= joint.sizes("limit/effort")
        elif self._is_free(scope):
            twists = {
                f"{link}.{c}": prismatic(axis) for c, axis in zip("xyz", np.eye(3), strict=True)
            }
            twists[f"{link}.turn"] = ball(frame[:3, 3])
        element = scope.parts["link"][own]
        inertia, moments = inertia_of(scope, element)
        if moments is not None:
            strange.append(f"{link} ({', '.join(f'{x:.3g}' for x in moments)} kg·m²)")
        if not flag(element, "gravity", f"{scope.shown}: link {own!r}", True):
            made.weightless.add(link)
        R = frame[:3, :3]
        center = frame[:3, 3] + R @ inertia.center
        return Branch(link, parent, twists, inertia.mass, center, R @ inertia.tensor @ R.T, frame)

    def _is_free(self, scope: Scope) -> bool:
        """Return whether a link of a model is free if no joint carries it."""
        if self.floating is None or (self.floating and not all(self._statics())):
            return not scope.static
        return self.floating

    def _statics(self) -> list[bool]:
        return [scope.static for scope, _ in self.links.values()]

    def _loop(self, joint: Joint) -> Loop:
        at = joint.closing_frame()
        forces, pitch = [*joint.forces().values()], ()
        if joint.kind == "screw":
            # the angle of a screw in terms of its slide, which counts all turns
            pitch, scale = (joint.pitch,), 2 * np.pi / joint.pitch
            forces = [AxisForce(x.damping, x.stiffness, x.rest, scale) for x in forces]

        def on(link: str | None):
            return link, at if link is None else inverse(self.frames[link]) @ at

        return Loop(joint.kind, on(joint.parent), on(joint.child), pitch, tuple(forces))

    def _refuse_repeated_parts(self) -> None:
        """Refuse names of the parts of a joint with several axes that are names of other joints."""
        parts = Counter(name for branch in self.description.branches for name in branch.joints)
        name, times = parts.most_common(1)[0] if parts else ("", 0)
        if times > 1:
            raise ModelError(
                f"{self.shown}: two joints move by a coordinate {name!r}; rename the joint of "
                "this name."
            )

    # --- what is left out, and what may be wrong

    def _tell(self, closing: set[str], strange: list[str]) -> None:
        made, joints = self.description, self.joints.values()
        made.leave_out(
            "joints of an unknown type",
            [f"{j.name} ({j.type})" for j in joints if not j.known and j.type != GEARBOX],
        )
        made.leave_out("models included from files that are not found", self.source.missing)
        made.leave_out(
            AXES,
            [
                f"{tag} of {j.name} ({j.type})"
                for j in joints
                for tag in TAGS[len(j.axes) :]
                if j.element.find(tag) is not None
            ],
        )
        made.leave_out(
            "initial positions of joints that close loops",
            [n for j in joints if j.name in closing for n, x in j.starts().items() if x],
        )
        made.leave_out(
            "springs of joints that close loops, past half a turn",
            [
                name
                for name, loop in made.loops.items()
                if loop.kind in ("revolute", "universal") and any(x.stiffness for x in loop.forces)
            ],
        )
        moving = {j.scope.name for j in joints if j.scope.static and j.known and j.axes}
        made.leave_out(JOINTS_STAND_STILL, sorted(moving))
        newer = [x for x in self.source.opened if x.version > NEWEST]
        made.leave_out(PART, [f"version {x.version[0]}.{x.version[1]} ({x.shown})" for x in newer])
        if strange:
            made.notes.append(f"{NO_BODY}: {'; '.join(strange)}")
