"""A mechanism with other masses, lengths and rates reuses the compiled programs."""

import dataclasses
import re
from pathlib import Path

import jax
import numpy as np
import pytest

import zwang as zw
from zwang import gallery, mechanism
from zwang.compile import keep_programs
from zwang.compile.events import LOADED, MADE
from zwang.compile.program_cache import fingerprint

FILES = Path(gallery.__file__).parent / "mechanisms"
QUICK = (("four-bar", "maximal"), ("bennett", "maximal"), ("digger", "maximal"))
"""In the plane, in space, and with a servo; the rest is for the slow run."""
ALL = [
    pytest.param(path.stem, coordinates, marks=() if (path.stem, coordinates) in QUICK else slow)
    for slow in [pytest.mark.slow]
    for path in sorted(FILES.glob("*.toml"))
    for coordinates in ("maximal", "joint")
]


def changed(text: str) -> str:
    """The file with other numbers: masses, stiffnesses, radii, and the values of parameters."""
    number = r"([0-9.]+)\s*$"
    text = re.sub(
        rf"^(mass|stiffness|damping|radius) = {number}",
        lambda m: f"{m[1]} = {1.1 * float(m[2])}",
        text,
        flags=re.M,
    )
    return re.sub(r"value = ([0-9.]+)", lambda m: f"value = {1.01 * float(m[1])}", text)


def both(name: str, folder: Path, coordinates: str = "maximal") -> list:
    text = (FILES / f"{name}.toml").read_text()
    assert changed(text) != text
    found = []
    for i, content in enumerate((text, changed(text))):
        path = folder / f"{i}.toml"
        path.write_text(content)
        made = mechanism.read(path)
        if made.coordinates != coordinates:
            made = dataclasses.replace(made, coordinates=coordinates)
        found.append(made)
    return found


def digest(model: zw.Model) -> str:
    """What programs of a model are known by, apart from their own function."""
    leaves, tree = jax.tree_util.tree_flatten(model.dynamics(lets_go=True))
    found = fingerprint.Fingerprint()
    found.structure(tree)
    for x in leaves:
        if not isinstance(x, jax.Array | np.ndarray):
            found.add(x)
    return found.hexdigest()


@pytest.mark.parametrize(("name", "coordinates"), ALL)
def test_other_numbers_are_known_by_the_same_programs(name, coordinates, tmp_path):
    before, after = both(name, tmp_path, coordinates)
    assert digest(before.model) == digest(after.model)


@pytest.mark.slow
def test_a_file_with_other_numbers_compiles_nothing_and_moves_as_it_should(tmp_path):
    def run(made):
        q, v = made.start_state.q, made.start_state.v
        return zw.simulate(made.model, q, v, duration=0.2, samples=3)

    before, after = both("four-bar", tmp_path)
    alone = run(after)
    assert keep_programs(tmp_path / "programs") == ""
    heard: list[str] = []
    listen = lambda event, seconds, **_: heard.append(event)
    run(before)
    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        again = run(both("four-bar", tmp_path)[1])
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    assert MADE not in heard
    assert LOADED not in heard  # at hand already
    np.testing.assert_array_equal(alone.steps.y, again.steps.y)
    assert not np.allclose(again.dataset.v[-1], run(before).dataset.v[-1], rtol=1e-3)
