"""Draws the motion that each kind of joint leaves into `_static/joints`, where it has changed."""

import dataclasses
import hashlib
import tempfile
from pathlib import Path

from joint_examples import DURATION, EXAMPLES, JointExample

import zwang as zw
from zwang.cli.startup import start_jax
from zwang.mechanism import drawing, guides

FOLDER = Path(__file__).parent / "_static" / "joints"


def draw(example: JointExample) -> None:
    """Draw the motion of an example, unless the same one stands there."""
    path, drawn = FOLDER / f"{example.name}.svg", FOLDER / f"{example.name}.digest"
    digest = hashlib.sha256(example.text.encode())
    for module in (drawing, guides):
        digest.update(Path(str(module.__file__)).read_bytes())
    if path.exists() and drawn.exists() and drawn.read_text(encoding="ascii") == digest.hexdigest():
        return
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / "example.toml"
        file.write_text(example.text, encoding="utf-8")
        mechanism = zw.mechanism.read(file)
    state = mechanism.start_state
    run = zw.simulate(mechanism.model, state.q, state.v, duration=DURATION, samples=21)
    dataclasses.replace(drawing.motion_picture(mechanism)(run), width=4.4, height=3.3).save(path)
    drawn.write_text(digest.hexdigest(), encoding="ascii")


if __name__ == "__main__":
    start_jax()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for example in EXAMPLES:
        draw(example)
