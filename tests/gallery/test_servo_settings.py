"""Settings of the servo models: each setting has an effect, and invalid values are refused."""

import equinox as eqx
import jax
import numpy as np
import pytest

import zwang as zw
from zwang.gallery import ENTRIES

from .examples import example

OTHER = {
    "task": "angles",
    "choice": "least",
    "start": "exact",
    "elbow": "left",
    "pose": "hanging",
    "driven": 2,
    "path": "flip",
    "masses": 30,
    "actuators": 3,
    "metric": "torque",
}
NEEDS = {  # settings with which another one matters
    ("coordinated-robots", "weights"): {"choice": "weighted"},
    ("coordinated-robots", "preferred"): {"choice": "preferred"},
    ("five-bar-driven", "preferred"): {"choice": "preferred"},
    ("flexible-joint", "offset"): {"task": "angles"},
    ("cart-pole-track", "travel"): {"task": "cart"},
}
SERVO = [entry for entry in ENTRIES.values() if entry.module.startswith("zwang.gallery.servo.")]
EVERY = [(entry.name, setting) for entry in SERVO for setting in entry.settings]


def another(name, setting):
    """A value that differs from the default and makes sense."""
    default = ENTRIES[name].settings[setting].default
    if isinstance(default, (str, int)):
        return OTHER[setting] if (name, setting) != ("cart-pole-track", "task") else "cart"
    if isinstance(default, tuple):
        return tuple(1.1 * x + 0.1 for x in default)
    return 1.1 * default if default else 0.1


def built(member):
    """Every number of a member: start, parameters, gains, choice and loop, with the structure of
    the servo.
    """
    servo = member.model.servo
    names = [
        type(servo.null_space).__name__,
        *servo.actuators,
        *(c.name for c in getattr(servo, "constraints", ())),
    ]
    return names, [
        member.q0,
        member.v0,
        *jax.tree_util.tree_leaves(eqx.filter((member.model, member.simulate), eqx.is_array)),
    ]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("name", "setting"), EVERY, ids=lambda x: x)
def test_a_setting_changes_what_is_built(name, setting):
    base = NEEDS.get((name, setting), {})
    plain, changed = (
        built(example(name, **s)) for s in (base, {**base, setting: another(name, setting)})
    )
    same_shape = plain[0] == changed[0] and len(plain[1]) == len(changed[1])
    assert not (
        same_shape and all(np.array_equal(a, b) for a, b in zip(plain[1], changed[1], strict=True))
    )


@pytest.mark.parametrize("name", [entry.name for entry in SERVO if "exact" in entry.tags])
def test_the_start_is_that_of_the_exact_motion(name):
    settings = {"task": "angles"} if name == "flexible-joint" else {}
    member = example(name, **settings)
    found = member.exact(np.array([0.0, 1e-6]))
    columns = np.stack([found[x] for x in member.model.system.coordinates], axis=1)
    np.testing.assert_allclose(columns[0], member.q0, atol=1e-13)
    q0, v0 = (jax.numpy.asarray(x) for x in (member.q0, member.v0))
    rate = member.model.system.rate(q0, v0, 0.0, member.model.parameters())
    # of accelerations up to 1000
    np.testing.assert_allclose((columns[1] - columns[0]) / 1e-6, rate, atol=1e-3)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", [entry.name for entry in SERVO])
def test_a_start_is_accepted_as_it_is(name):
    member = example(name)
    placed = zw.consistent_state(member.model, member.q0, member.v0)
    assert placed.converged and placed.moved_q < 1e-14 and placed.moved_v < 1e-13


@pytest.mark.parametrize(
    ("name", "settings", "says"),
    [
        ("two-mass-spring", {"mass1": 0.0}, "two-mass-spring: mass1 = 0.0, expected more than 0"),
        ("two-mass-spring", {"rate": -1.0}, "rate = -1.0, expected 0 or more"),
        (
            "coordinated-robots",
            {"height": 2.0},
            "to rise to 2 m, but arms of two links of 1 m are stretched out at 1.732 m",
        ),
        ("coordinated-robots", {"mass": (1.0, 2.0)}, r"mass = \(1.0, 2.0\), expected 5 numbers"),
        (
            "coordinated-robots",
            {"choice": "best"},
            "choice is 'best', expected 'paper', 'least', 'weighted' or 'preferred'",
        ),
        (
            "coordinated-robots",
            {"weights": (1.0, 1.0, 1.0, 0.0, 1.0, 1.0)},
            "expected every entry more than 0",
        ),
        ("flexible-joint", {"task": "speed"}, "task is 'speed', expected 'speeds' or 'angles'"),
        ("flexible-joint", {"stiffness": (1.0, 0.0)}, "every entry more than 0"),
        (
            "scara",
            {"radius": 0.2},
            "the path is 0.15 to 0.55 m from the first axis, but the arm reaches from 0.05 to "
            "0.45 m",
        ),
        ("scara", {"stiffness": 0.0}, "damping = 0.5 with stiffness 0"),
        ("scara", {"elbow": "up"}, "elbow is 'up', expected 'right' or 'left'"),
        ("crane", {"goal": (8.0, 1.0)}, "the trolley runs at 0"),
        ("crane", {"travel_time": 0.5}, "a rope does not push"),
        ("cart-pole-track", {"lean": 85.0, "offset": -10.0}, "lean up to 95°"),
        ("cart-pole-track", {"pose": "lying"}, "pose is 'lying', expected 'upright' or 'hanging'"),
        ("rotational-arm", {"reach": 0.4}, "the free motion decays; a zw.Servo leads"),
        ("rotational-arm", {"travel_time": 0.1}, "expected a slower or shorter path"),
        ("adaptive-arm", {"radius": 0.5}, "leaves the reach of the arm, 0 to 1 m"),
        ("platoon", {"gaps": (1.0, 3.0, 3.0, 3.0)}, "expected distances between low = 2.5"),
        ("five-bar-driven", {"driven": 4}, "driven = 4, expected 1, 2 or 3"),
        ("five-bar-driven", {"driven": 0}, "driven = 0, expected 1, 2 or 3"),
    ],
)
def test_a_setting_that_makes_no_sense_is_told_in_a_sentence(name, settings, says):
    with pytest.raises(zw.ModelError, match=says):
        zw.gallery.load(name, **settings)
