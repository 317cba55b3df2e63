"""Models that an SDF file includes from other files."""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from zwang.errors import ModelError
from zwang.files import is_file
from zwang.files.limits import limit
from zwang.files.reading import shown_path
from zwang.robots.text import parsed

DEFAULT_VERSION = (1, 6)
"""The version of a file that names none."""
DEEPEST = 16
"""Largest depth of files that include each other; a circle would have no end."""
MERGE_SINCE = (1, 7)
"""Models of older versions may have axes in the model's frame, which merging would change."""


@dataclasses.dataclass
class Source:
    """A file.

    Attributes:
        path: its path.
        root: its element `sdf`.
        version: of the format, such as (1, 10).
        above: the files that include it, outermost first.
        missing: included files that do not exist, of all files together.
        opened: every file with its root and its opened includes, of all files together.
    """

    path: Path
    root: Element
    version: tuple[int, int]
    above: tuple[Path, ...]
    missing: list[str]
    opened: list[Source]

    @property
    def shown(self) -> str:
        """The file, for messages."""
        return shown_path(self.path)


def opened(path: Path, by: Source | None = None) -> Source:
    """Open an SDF file.

    Raises:
        ModelError: for a file that is not SDF, or that includes itself.
    """
    above = () if by is None else (*by.above, by.path)
    if path in above or len(above) > DEEPEST:
        raise ModelError(f"{shown_path(path)} includes itself, or files more than {DEEPEST} deep.")
    _, root = parsed(path)
    if root.tag != "sdf":
        raise ModelError(f"{shown_path(path)}: has the element {root.tag!r:.60}, expected <sdf>.")
    made = Source(path, root, _version(root, path), above, [], [])
    if by is not None:
        made.missing, made.opened = by.missing, by.opened
    made.opened.append(made)
    if len(made.opened) > limit("bodies"):
        raise ModelError(f"{made.opened[0].shown} includes more than {limit('bodies')} files.")
    return made


def _version(root: Element, path: Path) -> tuple[int, int]:
    """Parse two integers: 1.10 comes after 1.9."""
    text = root.get("version")
    if text is None:
        return DEFAULT_VERSION
    found = re.fullmatch(r"\s*(\d{1,4})\.(\d{1,4})\s*", text)
    if found is None or found[1] != "1":
        raise ModelError(
            f"{shown_path(path)}: version: {text!r:.60}, expected 1 number such as 1.9 or 1.12."
        )
    return int(found[1]), int(found[2])


def included(include: Element, by: Source) -> tuple[Source, Element | None]:
    """The model of an include, with overridden values; None if its file is missing."""
    uri = (include.findtext("uri") or "").strip()
    file = _file(uri, by.path)
    if file is None:
        by.missing.append(uri)
        return by, None
    source = opened(file, by)
    models = source.root.findall("model")
    if len(models) != 1:
        raise ModelError(f"{source.shown}: has {len(models)} models, expected 1 to be included.")
    model = copy.deepcopy(models[0])
    for child in ("static", "pose"):
        if (given := include.find(child)) is not None:
            for old in model.findall(child):
                model.remove(old)
            model.append(copy.deepcopy(given))
    if name := (include.findtext("name") or "").strip():
        model.set("name", name)
    if frame := (include.findtext("placement_frame") or "").strip():
        if include.find("pose") is None:
            raise ModelError(f"{by.shown}: include {uri!r}: placement_frame without a pose.")
        model.set("placement_frame", frame)
    return source, model


def merged(model: Element, source: Source) -> Iterator[Element]:
    """The parts of a model that is merged into another one, with a frame in place of its own."""
    name = f"_merged__{model.get('name')}__model__"
    if source.version < MERGE_SINCE:
        raise ModelError(
            f"{source.shown}: merge takes SDF 1.7 or later; write the file in a later version."
        )
    attached = model.get("canonical_link") or next(
        (link.get("name", "") for link in model.findall("link")), "__model__"
    )
    if model.get("placement_frame"):
        raise ModelError(f"{source.shown}: a merged model with a placement_frame; give its pose.")
    if (model.findtext("static") or "").strip().lower() in ("1", "true"):
        raise ModelError(
            f"{source.shown}: a static model is merged into one; include it by itself."
        )
    frame = Element("frame", {"name": name, "attached_to": attached})
    pose = copy.deepcopy(model.find("pose"))
    pose = Element("pose") if pose is None else pose
    pose.set("relative_to", pose.get("relative_to") or "__model__")
    frame.append(pose)
    yield frame
    for part in copy.deepcopy(model):
        if part.tag in ("pose", "static"):
            continue
        if part.tag == "frame" and not part.get("attached_to"):
            part.set("attached_to", name)
        if part.tag in ("link", "model") or (part.tag == "frame" and part.get("attached_to")):
            own = part.find("pose")
            if own is None and part.tag != "frame":
                own = Element("pose")
                part.append(own)
            if own is not None and part.tag != "frame" and not own.get("relative_to"):
                own.set("relative_to", name)
        for element in part.iter():
            for attribute in ("relative_to", "expressed_in", "attached_to"):
                if element.get(attribute) == "__model__":
                    element.set(attribute, name)
            if element.tag in ("parent", "child") and (element.text or "").strip() == "__model__":
                element.text = name
        yield part


def _file(uri: str, beside: Path) -> Path | None:
    """The SDF file of an included model: the file itself, or the one in its folder."""
    scheme, _, rest = uri.rpartition("://")
    rest = rest.strip("/") if scheme else rest
    if not rest or scheme not in ("", "model", "package", "file"):
        return None
    folders = [beside.parent] if scheme in ("", "file") else [*beside.resolve().parents]
    if scheme == "file" and uri.startswith("file:///"):
        rest = f"/{rest}"
    for folder in folders:
        at = folder / rest
        if is_file(at):
            return at.resolve()
        if is_file(at / "model.config"):
            return _of_config(at)
        if is_file(at / "model.sdf"):
            return (at / "model.sdf").resolve()
    return None


def _of_config(folder: Path) -> Path | None:
    """The file that a model's description names, that of the newest version of the format."""
    _, root = parsed(folder / "model.config")
    named = []
    for entry in root.findall("sdf"):
        words = (entry.get("version") or "1.0").strip().split(".")
        order = tuple(int(x) if x.isdigit() and len(x) < 5 else 0 for x in words)
        named.append((order, (entry.text or "").strip()))
    files = [folder / name for _, name in sorted(named, reverse=True) if name]
    return next((file.resolve() for file in files if is_file(file)), None)
