"""Draws every mechanism of the gallery into `_static/mechanisms`: `make pictures`, or `python
docs/pictures.py NAME …` for some.
"""

import dataclasses
import io
import sys
from pathlib import Path

import jax
from PIL import Image

import zwang as zw
from zwang.cli.startup import start_jax
from zwang.gallery.index.mechanisms import MECHANISMS
from zwang.plots import Picture
from zwang.plots.layout import INCH, layout

FOLDER = Path(__file__).parent / "_static" / "mechanisms"
LONGEST = 6.0
"""A longer run shows no more [s]."""
SIZE, DOTS = (4.4, 3.3), 96
"""Of a picture [inch], and dots per inch."""
COLORS = 48
"""Enough for flat colors and their soft edges."""
MOST_BYTES = 40_000


def draw(name: str) -> Path:
    """Write one picture."""
    example = zw.gallery.load(name)
    picture = example.figures["Motion"](
        example.run(duration=min(example.duration, LONGEST), rtol=1e-6)
    )
    assert isinstance(picture, Picture)
    besides = layout(picture).height / INCH - picture.height
    figure = dataclasses.replace(picture, width=SIZE[0], height=SIZE[1] - besides).figure()
    path = FOLDER / f"{name}.png"
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=DOTS)
    Image.open(drawn).convert("RGB").quantize(COLORS).save(path, optimize=True)
    if path.stat().st_size > MOST_BYTES:
        raise SystemExit(
            f"{path} has {path.stat().st_size} bytes, expected at most {MOST_BYTES}; draw fewer "
            "shades."
        )
    return path


if __name__ == "__main__":
    start_jax()
    jax.config.update("jax_disable_most_optimizations", True)  # programs that run for a second
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or MECHANISMS:
        print(draw(name), flush=True)
