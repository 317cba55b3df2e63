"""Scopes of an SDF file: its world and its nested and included models, with their names and frames.

A pose is given in the frame that `relative_to` names, otherwise in the enclosing frame: that of a
joint in its child's, that of a frame in the one that it is attached to. Frames may refer to each
other in any order, so they are resolved on demand.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

import numpy as np

from zwang.bodies.screws.twist import inverse
from zwang.errors import ModelError
from zwang.files.limits import limit
from zwang.robots.sdf_includes import Source, included, merged
from zwang.robots.sdf_specification import INERTIAL_RELATIVE_UNTIL
from zwang.robots.text import numbers, of_quaternion, placed

MODEL, WORLD, BETWEEN = "__model__", "world", "::"
"""Names of the frames of a model and of the world, and the separator of nested names."""
FRAMES = ("link", "frame", "joint", "model")
"""Elements that have a frame, in the order in which a name is looked up."""
POSE_FRAME_UNTIL, MODEL_AXES_UNTIL = (1, 6), (1, 4)
"""The last versions with the attribute `frame` of a pose, and with axes in the model's frame."""
TRUE, FALSE = ("1", "true"), ("0", "false")


class Scope:
    """A world or a model.

    Attributes:
        source: its file.
        element: the world or model.
        parent: the enclosing scope.
        prefix: of its names in the robot, "" or "model::".
        static: whether it is at rest, by itself or by an enclosing scope.
        parts: its links, frames, joints and models by kind and name.
        models: its nested and included models by name.
    """

    def __init__(self, source: Source, element: Element, parent: Scope | None, prefix: str):
        self.source, self.element, self.parent, self.prefix = source, element, parent, prefix
        self.shown = source.shown
        self.name = element.get("name") or ""
        own = flag(element, "static", f"{self.shown}: model {self.name!r}")
        self.static = own or (parent is not None and parent.static)
        self.sources: dict[int, Source] = {}
        self.parts: dict[str, dict[str, Element]] = {kind: {} for kind in FRAMES}
        for part in self._contents():
            self._add(part)
        self.models: dict[str, Scope] = {}
        self._frames: dict[str, np.ndarray] = {}
        self._pending: list[str] = []

    @property
    def is_world(self) -> bool:
        """Return whether it is a world."""
        return self.element.tag == "world"

    def _contents(self) -> Iterator[Element]:
        """Elements of the scope, includes replaced by their content."""
        for part in self.element:
            if part.tag != "include":
                yield part
                continue
            source, model = included(part, self.source)
            if model is None:
                continue
            if truth(part.get("merge"), f"{self.shown}: include: merge", False):
                for brought in merged(model, source):
                    self.sources[id(brought)] = source
                    yield brought
            else:
                self.sources[id(model)] = source
                yield model

    def _add(self, part: Element) -> None:
        if part.tag not in FRAMES:
            return
        name, named = part.get("name"), self.parts[part.tag]
        if not name:
            raise ModelError(f"{self.shown}: a {part.tag} has no name.")
        if name in named:
            raise ModelError(
                f"{self.shown}: two {part.tag}s are named {name!r}; give each its own name."
            )
        named[name] = part
        if len(named) > limit("bodies"):
            raise ModelError(
                f"{self.shown} has {len(named)} {part.tag}s, expected at most {limit('bodies')}."
            )

    def open_models(self, bare: str | None = None) -> None:
        """Open the models of the scope; `bare` names the one whose names get no prefix."""
        for name, element in self.parts["model"].items():
            prefix = "" if name == bare else f"{self.prefix}{name}{BETWEEN}"
            source = self.sources.get(id(element), self.source)
            self.models[name] = Scope(source, element, self, prefix)
            self.models[name].open_models()

    def all(self) -> Iterator[Scope]:
        """The scope and all below it."""
        yield self
        for model in self.models.values():
            yield from model.all()

    # --- frames

    @property
    def frame(self) -> np.ndarray:
        """The scope's own frame in the world, a rigid motion (4, 4)."""
        if self.parent is None:
            return np.eye(4) if self.is_world else self._stands(np.eye(4), None)
        return self.parent.frame @ self.parent.local(self.name)

    def local(self, name: str, where: str = "") -> np.ndarray:
        """A named frame in the scope's own, a rigid motion (4, 4).

        Raises:
            ModelError: for an unknown name, or frames that refer to each other in a circle.
        """
        if name not in self._frames:
            if name in self._pending:
                raise ModelError(
                    f"{self.shown}: the frames {', '.join(self._pending)} are relative to each "
                    "other in a circle."
                )
            if len(self._pending) >= limit("xml_depth"):
                raise ModelError(
                    f"{self.shown}: more than {limit('xml_depth')} frames are relative to each "
                    "other in a row."
                )
            self._pending.append(name)
            try:
                self._frames[name] = self._found(name, where)
            finally:
                self._pending.pop()
        return self._frames[name]

    def _found(self, name: str, where: str) -> np.ndarray:
        if name == (WORLD if self.is_world else MODEL):
            return np.eye(4)
        outer, between, inner = name.partition(BETWEEN)
        if between and not self._kinds(name):
            return self.local(outer, where) @ self._model(outer, where).local(inner, where)
        part, what = self.part(name, where), f"{name!r}"
        if part.tag == "model":
            return self.models[name]._stands(np.eye(4), self)
        around = np.eye(4)
        if part.tag == "frame" and part.get("attached_to"):
            around = None if _relative(part, self) else self.local(part.get("attached_to", ""))
        if part.tag == "joint":
            child = (part.findtext("child") or "").strip()
            around = None if _relative(part, self) else self.local(child, f"joint {what}")
        return self.pose(part, around, f"{part.tag} {what}")

    def _stands(self, around: np.ndarray, scope: Scope | None) -> np.ndarray:
        """The model's frame from its pose, which may be that of another frame of the model."""
        what = f"model {self.name!r}"
        if scope is None and _relative(self.element, self):
            raise ModelError(
                f"{self.shown}: {what}: a pose relative to {_relative(self.element, self)!r}, but "
                "nothing is around the model; give it in the world's axes."
            )
        at = (scope or self).pose(self.element, around, what)
        placement = self.element.get("placement_frame")
        return at @ inverse(self.local(placement, what)) if placement else at

    def pose(self, element: Element, around: np.ndarray | None, what: str) -> np.ndarray:
        """The frame of an element in the scope's own, from its pose.

        Args:
            element: it may have no pose.
            around: the frame of its pose if it names no other.
            what: the element, for messages.
        """
        pose, relative = element.find("pose"), _relative(element, self)
        if relative:
            around = self.local(relative, what)
        assert around is not None
        return around if pose is None else around @ _motion(pose, f"{self.shown}: {what}: pose")

    # --- names

    def _kinds(self, name: str) -> list[str]:
        return [kind for kind in FRAMES if name in self.parts[kind]]

    def part(self, name: str, where: str = "") -> Element:
        """The link, frame, joint or model of a name.

        Raises:
            ModelError: if there is none, or if there are two.
        """
        kinds, beginning = self._kinds(name), f"{self.shown}: {where}: " if where else self.shown
        if len(kinds) > 1 and self.source.version > POSE_FRAME_UNTIL:
            raise ModelError(
                f"{self.shown}: a {kinds[0]} and a {kinds[1]} are named {name!r}, so that the "
                "frame of this name could be either; rename one of them."
            )
        if not kinds:
            raise ModelError(f"{beginning.rstrip(': ')}: there is no frame {name!r}.")
        return self.parts[kinds[0]][name]

    def _model(self, name: str, where: str) -> Scope:
        if name not in self.models:
            raise ModelError(f"{self.shown}: {where}: there is no model {name!r}.")
        return self.models[name]

    def link(self, name: str, where: str, met: tuple[str, ...] = ()) -> str | None:
        """The full name of the link that a named frame is fixed to; None for the ground.

        Raises:
            ModelError: for an unknown name, or frames that are attached to each other in a circle.
        """
        if name in met:
            raise ModelError(
                f"{self.shown}: the frames {', '.join(met)} are attached to each other in a circle."
            )
        if name == WORLD and not self._kinds(name):
            return None
        if name == MODEL and not self.is_world:
            return self._canonical(where)
        outer, between, inner = name.partition(BETWEEN)
        if between and not self._kinds(name):
            return self._model(outer, where).link(inner, where)
        part, met = self.part(name, where), (*met, name)
        if part.tag == "link":
            return self.prefix + name
        if part.tag == "model":
            return self.models[name]._canonical(where)
        if part.tag == "joint":
            return self.link((part.findtext("child") or "").strip(), where, met)
        return self.link(part.get("attached_to") or (WORLD if self.is_world else MODEL), where, met)

    def _canonical(self, where: str) -> str | None:
        if self.static:
            return None
        name = self.element.get("canonical_link") or next(iter(self.parts["link"]), None)
        if name is not None:
            return self.link(name, where)
        if not self.models:
            raise ModelError(f"{self.shown}: {where}: the model {self.name!r} has no links.")
        return next(iter(self.models.values()))._canonical(where)


def _relative(element: Element, scope: Scope) -> str:
    """The name of the frame that the pose of an element is relative to; "" for none."""
    pose = element.find("pose")
    if pose is None or (
        element.tag == "inertial" and scope.source.version > INERTIAL_RELATIVE_UNTIL
    ):
        return ""
    old = pose.get("frame") if scope.source.version <= POSE_FRAME_UNTIL else None
    return pose.get("relative_to") or old or ""


def _motion(pose: Element, where: str) -> np.ndarray:
    """The rigid motion (4, 4) of a pose's numbers."""
    text = (pose.text or "").strip() or None
    degrees = truth(pose.get("degrees"), f"{where}: degrees", False)
    form = pose.get("rotation_format") or "euler_rpy"
    if form == "quat_xyzw":
        if degrees:
            raise ModelError(f"{where}: degrees beside quat_xyzw, expected one of them.")
        values = numbers(text, 7, where, (0, 0, 0, 0, 0, 0, 1))
        if not np.any(values[3:]):
            raise ModelError(f"{where}: the quaternion is zero.")
        return of_quaternion(values[:3], np.roll(values[3:], 1))
    if form != "euler_rpy":
        raise ModelError(
            f"{where}: rotation_format is {form!r}, expected 'euler_rpy' or 'quat_xyzw'."
        )
    values = numbers(text, 6, where, np.zeros(6))
    return placed(values[:3], np.deg2rad(values[3:]) if degrees else values[3:])


def truth(text: str | None, where: str, default: bool) -> bool:
    """Parse a truth value of SDF.

    Raises:
        ModelError: for anything else.
    """
    word = (text or "").strip().lower()
    if word in ("", *TRUE, *FALSE):
        return word in TRUE if word else default
    raise ModelError(f"{where}: {word!r:.60}, expected true or false.")


def flag(element: Element, tag: str, where: str, default: bool = False) -> bool:
    """The truth value of a child of an element."""
    return truth(element.findtext(tag), f"{where}: {tag}", default)
