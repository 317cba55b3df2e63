"""A parameter has an effect everywhere in its file, or is refused: `params` acts like an edit of
the file.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.crossed import crossed
from zwang.errors import ModelError
from zwang.gallery.index.mechanisms import MECHANISMS
from zwang.gallery.mechanisms import FOLDER
from zwang.mechanism import Bushing, Joint, Link, Mechanism, Spring, reactions, read
from zwang.mechanism.derived_numbers import formulas
from zwang.mechanism.expression import Expression
from zwang.mechanism.field_types import FromFormula

QUICK = ("four-bar", "bennett", "bicycle", "differential", "digger", "excavator")
FILES = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in MECHANISMS]
COORDINATES = ("maximal", "joint")
WORLDS = ("plane", "space")
ONE_PERCENT = 1.01
ROUND_OFF = 1e-12
"""Of numbers that are computed twice, beside the largest of their array."""
FEW = 2
"""Numbers of a file whose change is traced as well, which takes a program each."""


def alike(found, expected) -> None:
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        scale = np.abs(np.asarray(y)).max(initial=1e-300)
        np.testing.assert_allclose(x, y, rtol=0, atol=ROUND_OFF * scale)


def in_coordinates(mechanism: Mechanism, coordinates: str) -> Mechanism:
    return dataclasses.replace(mechanism, coordinates=coordinates)


def fixed(mechanism: Mechanism) -> set[str]:
    """Parameters that gains and limits are formulas of."""
    found = (*formulas(mechanism.servo).values(), *formulas(mechanism.actuators).values())
    return {name for x in found for name in x.expression.names}


@pytest.mark.slow
@pytest.mark.parametrize("name, coordinates", crossed(FILES, COORDINATES))
def test_every_parameter_of_the_gallery_acts_as_in_the_file(name, coordinates):
    path = FOLDER / f"{name}.toml"
    mechanism = in_coordinates(read(path), coordinates)
    for parameter, value in mechanism.parameters.items():
        edited = in_coordinates(read(path, **{parameter: ONE_PERCENT * value}), coordinates)
        given = {"parameters": {**mechanism.parameters, parameter: ONE_PERCENT * value}}
        if parameter in fixed(mechanism):
            with pytest.raises(ModelError, match=rf"gain is a formula of .*{parameter}=..."):
                mechanism.model.parameters(given)
            continue
        alike(mechanism.model.parameters(given), edited.model.params)


def every_number(part, at=()):
    """Places of all numbers that a model has, in a part of a mechanism."""
    if isinstance(part, float | int) and not isinstance(part, bool) and np.isfinite(part):
        return [at]
    if dataclasses.is_dataclass(part):
        part = {f.name: getattr(part, f.name) for f in dataclasses.fields(part)}
    entries = part.items() if isinstance(part, dict) else ()
    entries = enumerate(part) if isinstance(part, tuple) else entries
    return [found for name, x in entries for found in every_number(x, (*at, name))]


def replaced(part, at, change):
    """A part whose number at a place is changed."""
    if not at:
        return change(part)
    if isinstance(part, tuple):
        new = replaced(part[at[0]], at[1:], change)
        return (*part[: at[0]], new, *part[at[0] + 1 :])
    if isinstance(part, dict):
        return {**part, at[0]: replaced(part[at[0]], at[1:], change)}
    return dataclasses.replace(part, **{at[0]: replaced(getattr(part, at[0]), at[1:], change)})


def machine(world: str) -> Mechanism:
    """Numbers of every kind: of bodies, points, joints, springs, bushings, gravity, guesses."""
    d, rod = (2, {}) if world == "plane" else (3, {"radius": 0.1})
    size = 3 * (d - 1)
    at = lambda *x: (*x, 0.1)[:d]
    axes = {"angle": 0.3} if d == 2 else {"axis": (0.1, 0.2, 1.0), "x": (1.0, 0.2, 0.1)}
    point = zw.mechanism.Point(at(0.2, 0.1), **axes)
    turned = {"angle": 0.2} if d == 2 else {"turn": (0.1, 0.2, 0.3)}
    return Mechanism(
        {
            "rod": Link(2.0, length=1.0, **rod, points={"p": point}, at=at(0.4, 0.1), **turned),
            "block": Link(
                1.0,
                0.2 if d == 2 else (0.2, 0.3, 0.35),
                points={"p": point},
                at=at(0.8, 0.4),
                velocity=at(0.1, 0.2),
            ),
            "wheel": Link(1.0, 0.1 if d == 2 else (0.1, 0.1, 0.1), at=at(0.1, 0.2)),
        },
        {
            "pin": Joint("revolute", ("ground.a", "rod.p")),
            "slide": Joint("prismatic", ("block.p", "rod.end")),
            "axle": Joint("revolute", ("ground", "wheel")),
            "gear": Joint("gear", joints=("pin", "axle"), ratio=(2.0, 3.0)),
            "rod 2": Joint("rod", ("ground", "block"), length=0.9),
        },
        ground={"a": point},
        world=world,
        gravity=at(0.3, -9.0),
        springs={"s": Spring(("ground", "block"), stiffness=3.0, damping=0.1, rest=0.2)},
        bushings={"b": Bushing(("ground", "block.p"), (1.0,) * size, (0.1,) * size)},
    )


PARTS = ("bodies", "ground", "joints", "springs", "bushings", "gravity")


@pytest.mark.slow
@pytest.mark.parametrize(
    "world, every, coordinates",
    [
        ("plane", 2, "maximal"),
        ("space", 10, "joint"),
        *(pytest.param(w, 1, x, marks=pytest.mark.slow) for w in WORLDS for x in COORDINATES),
    ],
)
def test_every_number_of_a_mechanism_may_be_a_formula(world, every, coordinates):
    mechanism = in_coordinates(machine(world), coordinates)
    places = [(p, *x) for p in PARTS for x in every_number(getattr(mechanism, p))]
    assert len(places) >= 40
    by_formula = lambda x: FromFormula(x, Expression(f"{float(x)!r} + 0.5*delta"))
    for i, (part, *at) in enumerate(places[::every]):
        if world == "space" and ("ratio" in at or (at[-1] == "angle" and "points" not in at)):
            continue  # whole numbers; attitudes in space are turns
        whole = getattr(mechanism, part)
        linked = dataclasses.replace(
            mechanism,
            parameters={"delta": 0.0},
            **{part: replaced(whole, at, by_formula)},
        )
        edited = dataclasses.replace(
            mechanism,
            parameters={"delta": 0.02},
            **{part: replaced(whole, at, lambda x: x + 0.01)},
        )
        made, expected = linked.compiled, edited.params
        given = lambda x, made=made: made.derived.packed(
            {**made.params, "parameters": {"delta": x}}
        )
        alike(given(0.02), expected)
        if i % (len(places) // every // FEW) == 0:
            alike(jax.jit(given)(0.02), expected)


EVERY = {"four-bar": 12, "bennett": 40}
"""Files of which the fast tests try one number in this many; each number takes 0.2 s."""
GALLERY = [pytest.param(name, every, id=f"{name} {every}") for name, every in EVERY.items()]
GALLERY += [pytest.param(name, 1, marks=pytest.mark.slow, id=name) for name in MECHANISMS]


def without_keep(params: dict) -> tuple[dict, dict]:
    """Parameters, and apart from them what is kept of the rows of loops, where that is not all."""
    keep = {k: x for k, x in params.get("keep", {}).items() if np.any(x != np.eye(x.shape[-1]))}
    return {k: x for k, x in params.items() if k != "keep"}, keep


def refused_for_its_axes(change) -> bool:
    """Whether a change is refused because loops would need other rows."""
    try:
        change()
    except ModelError as error:
        return "come within" in str(error)
    return False


@pytest.mark.filterwarnings("ignore:.*axes off by")
@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("name, every", GALLERY)
def test_every_number_of_the_gallery_acts_as_in_the_file(name, every, coordinates):
    """A number of any part as a parameter, which `params`, `--set`, sweeps and fits change, beside
    the file with the other number: all numbers of the model are alike, so is its motion.
    """
    mechanism = in_coordinates(read(FOLDER / f"{name}.toml"), coordinates)
    own = mechanism.parameters
    places = [(p, *x) for p in PARTS for x in every_number(getattr(mechanism, p))]
    by_formula = lambda x: FromFormula(x, Expression(f"{float(x)!r} + delta"))
    for part, *at in places[::every]:
        angle = at[-1] == "angle" and "points" not in at
        guessed = part == "bodies" and mechanism.bodies[at[0]].guess is not None
        if (angle and (mechanism.d == 3 or guessed)) or "ratio" in at:
            continue  # attitudes in space are turns, or given by a guess; whole numbers
        whole, changed = getattr(mechanism, part), {"parameters": {**own, "delta": 0.001}}
        linked, edited = (
            dataclasses.replace(mechanism, parameters={**own, "delta": delta}, **{part: other})
            for delta, other in (
                (0.0, replaced(whole, at, by_formula)),
                (0.001, replaced(whole, at, lambda x: float(x) + 0.001)),
            )
        )
        # what `Model.parameters` does, without the tracing of a model for each number
        packed = lambda x=linked, p=changed: x.compiled.derived.packed({**x.params, **p})
        if refused_for_its_axes(packed):
            continue
        (found, kept), (expected, keep) = map(without_keep, (packed(), edited.params))
        alike(found, expected)
        alike(kept, keep)


FILE = """
[parameters]
L = 1.0
half = "L/2"
c = 0.0

[bodies.rod]
length = "L"
mass = "2*L"
angle = -0.3
at = ["half", 0]

[bodies.tip]
mass = 0.5
inertia = 0.01
points.far = ["half", 0.1]
at = ["L", 0]

[ground]
above = ["half", 1.0]

[joints]
pin = { kind = "revolute", between = ["ground", "rod.start"] }
tip = { kind = "revolute", between = ["rod.end", "tip"] }

[springs]
strut = { between = ["ground.above", "tip.far"], stiffness = "3*L", damping = "c", rest = 0.1 }

[forces]
push = { on = "rod.end", effort = ["L*sin(t)", "0"] }
"""
TIMES = np.linspace(0.0, 0.5, 5)
CHANGED = {"L": 2.0, "c": 0.7}
"""`half`, which is left out, follows L."""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "pendulum.toml"
    path.write_text(FILE)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_params_and_the_edited_file_give_one_motion(path, coordinates):
    m, n = (in_coordinates(read(path, **x), coordinates) for x in ({}, {"L": 2.0, "c": 0.7}))
    start = n.start_state
    assert n.parameters["half"] == 1.0
    given = {"duration": 0.5, "samples": 5}
    expected = zw.simulate(n.model, start.q, start.v, **given)
    run = zw.simulate(m.model, start.q, start.v, params={"parameters": CHANGED}, **given)
    np.testing.assert_array_equal(run.q, expected.q)
    for one, other in zip(reactions(m, run).values(), reactions(n, expected).values(), strict=True):
        np.testing.assert_array_equal(one.force, other.force)
    own = m.with_params({"parameters": CHANGED})
    np.testing.assert_array_equal(own.start_state.q, start.q)


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_batch_sweep_and_fit_move_as_the_edited_file(path, coordinates):
    m, n = (in_coordinates(read(path, **x), coordinates) for x in ({}, {"L": 2.0, "c": 0.7}))
    start = n.start_state
    run = zw.trajectory(n.model, start.q, start.v, TIMES, rtol=1e-10)
    at = lambda L, c: {"parameters": {"L": L, "c": c}}
    one = zw.trajectory(m.model, start.q, start.v, TIMES, params=at(2.0, 0.7), rtol=1e-10)
    np.testing.assert_allclose(one.q, run.q, atol=1e-8)
    batch = jax.vmap(
        lambda L: zw.trajectory(m.model, start.q, start.v, TIMES, params=at(L, 0.7), rtol=1e-10).q
    )(jnp.array([2.0, 2.0]))
    np.testing.assert_allclose(batch[1], run.q, atol=1e-8)
    names = m.model.system.coordinates
    data = {name: np.asarray(run.q)[:, i] for i, name in enumerate(names)}
    fitted = zw.fit(
        m.model, TIMES, data, {"L": 1.99, "c": 0.5}, q0=start.q, v0=start.v, noise=1e-6, rtol=1e-10
    )
    np.testing.assert_allclose([*fitted.parameters.values()], [2.0, 0.7], atol=1e-5)
    study = zw.sweep(
        m.model,
        {"L": [2.0], "c": [0.7]},
        (start.q, start.v),
        times=TIMES,
        outputs={name: f"{name}.final" for name in names[:1]},
        rtol=1e-10,
    )
    np.testing.assert_allclose(study.table[names[0]][0], np.asarray(run.q)[-1, 0], atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_places_of_points_act_in_both_coordinates(path, coordinates):
    """Twists of joint coordinates follow the points that a run moves."""
    m = in_coordinates(read(path), coordinates)
    longer = in_coordinates(read(path, L=1.2), coordinates)
    offset, mass = longer.params["offset"], longer.params["mass"]
    start = longer.start_state
    given = {
        "offset": offset,
        "mass": mass,
        "inertia": longer.params["inertia"],
        "springs": longer.params["springs"],
        "parameters": longer.params["parameters"],
    }
    expected = zw.simulate(longer.model, start.q, start.v, duration=0.3, samples=3)
    run = zw.simulate(m.model, start.q, start.v, params=given, duration=0.3, samples=3)
    np.testing.assert_allclose(run.q, expected.q, atol=1e-12)


def test_a_number_that_is_given_itself_is_kept(path):
    m = read(path)
    given = {"parameters": {"L": 2.0, "half": 0.9, "c": 0.0}, "mass": [7.0, 0.5]}
    p = m.model.parameters(given)
    np.testing.assert_array_equal(p["mass"], [7.0, 0.5])
    assert p["parameters"]["half"] == 0.9
    again = m.model.parameters(p)
    assert all(map(np.array_equal, jax.tree.leaves(again), jax.tree.leaves(p)))


def test_damping_that_was_declared_zero_acts_when_it_is_given(path):
    """A damper on a coordinate x: ẍ = −d ẋ/m."""
    m = Mechanism(
        {"block": Link(2.0, 1.0, velocity=(1.5, 0.0))},
        {"slide": Joint("prismatic", ("ground", "block"))},
        springs={"s": Spring(joint="slide", stiffness=0.0)},
        bushings={"b": Bushing(("ground", "block"), (0.0, 0.0, 0.0))},
        gravity=(0.0, 0.0),
    )
    start = m.start_state
    for group, d in (("slide", [[0.4]]), ("all", [[0.4, 0.0, 0.0]])):
        springs = {**m.params["springs"], group: {**m.params["springs"][group], "damping": d}}
        motion = zw.motion(m.model, start.q, start.v, params={"springs": springs})
        assert float(motion.acceleration[0]) == pytest.approx(-0.4 * 1.5 / 2.0, rel=1e-12)
