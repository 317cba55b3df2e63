"""Functions that run the command line in this process, and a small model for it."""

import contextlib
import dataclasses
import io
import textwrap
from collections.abc import Iterator
from pathlib import Path

from zwang.cli import COMMANDS, main, speak_of

PENDULUM = """
    import jax.numpy as jnp
    import zwang as zw

    system = zw.System(
        nq=2,
        mass_matrix=lambda q, t, p: p["m"] * jnp.ones(2),
        force=lambda q, v, t, p: jnp.array([0.0, -p["m"] * p["g"]]),
        potential=lambda q, t, p: p["m"] * p["g"] * q[1],
        coordinates=["x", "y"],
        units=["m", "m"],
    )
    rod = zw.Holonomic(lambda q, t, p: q @ q - p["length"] ** 2, name="rod")
    model = zw.Model(system, [rod], params={"m": 1.0, "g": 9.81, "length": 1.0}, name="pendulum")
    q0, v0 = [1.0, 0.0], [0.0, 0.0]
    duration = 1.0
"""


@dataclasses.dataclass
class Answer:
    code: int
    out: str
    err: str


def zwang(*words):
    """`zwang WORDS` in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in words])
    return Answer(code, out.getvalue(), err.getvalue())


def write(folder: Path, text: str, name: str = "pendulum.py") -> Path:
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return path


@contextlib.contextmanager
def spoken_to(command: str) -> Iterator[None]:
    """Sentences as a command says them, by the name of its module."""
    speak_of(next(name for name, module in COMMANDS.items() if module == command))
    try:
        yield
    finally:
        speak_of(None)
