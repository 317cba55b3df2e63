"""Random systems, actuators and constraints of every rank: solved, or refused with the constraints
that cannot be met.
"""

import functools

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zwang as zw
from zwang.errors import ModelError, Result
from zwang.objects.families import NULL_SPACES
from zwang.servo import Preferred, Servo, WeightedNorm, control

NV, PASSIVE, SERVO, NU = 6, 2, 3, 4


@functools.cache
def model() -> zw.Model:
    """M, F, A and b are the parameters, so that all examples share one program."""
    system = zw.System(NV, lambda q, t, p: p["M"], lambda q, v, t, p: p["F"])
    passive = zw.AccelerationConstraint(
        lambda q, v, t, p: p["A"], lambda q, v, t, p: p["b"], name="passive"
    )
    zero = lambda *shape: np.zeros(shape)
    params = {"M": np.eye(NV), "F": zero(NV), "A": zero(PASSIVE, NV), "b": zero(PASSIVE)}
    params |= {"As": zero(SERVO, NV), "bs": zero(SERVO), "B": zero(NV, NU)}
    return zw.Model(system, [passive], params, name="random")


ROWS = [
    zw.AccelerationConstraint(
        lambda q, v, t, p, i=i: p["As"][i], lambda q, v, t, p, i=i: p["bs"][i], name=f"row {i}"
    )
    for i in range(SERVO)
]


@functools.cache
def servo(null_space) -> Servo:
    options = {Preferred: (np.arange(4.0),), WeightedNorm: (np.array([1.0, 2.0, 0.5, 3.0]),)}
    return Servo(ROWS, lambda q, t, p: p["B"], null_space=null_space(*options.get(null_space, ())))


def draw(seed: int, rank_passive: int, rank_actuation: int, rank_servo: int) -> dict:
    """Random matrices of given ranks; b in the range of A, so that passive constraints never
    contradict each other.
    """
    random = np.random.default_rng(seed)
    matrix = lambda m, n, rank: (
        random.standard_normal((m, rank)) @ random.standard_normal((rank, n))
    )
    root, A = random.standard_normal((NV, NV)), matrix(PASSIVE, NV, rank_passive)
    return {
        "M": root @ root.T + NV * np.eye(NV),
        "F": random.standard_normal(NV),
        "A": A,
        "b": A @ random.standard_normal(NV),
        "As": matrix(SERVO, NV, rank_servo),
        "bs": random.standard_normal(SERVO),
        "B": matrix(NV, NU, rank_actuation),
    }


def projected(p: dict):
    """The servo problem by the textbook, `G u = r`."""
    Mi = np.linalg.inv(p["M"])
    plus = Mi @ p["A"].T @ np.linalg.pinv(p["A"] @ Mi @ p["A"].T, rcond=1e-10)
    P, a = np.eye(NV) - plus @ p["A"], Mi @ p["F"]
    a0 = a + plus @ (p["b"] - p["A"] @ a)
    return p["As"] @ P @ Mi @ p["B"], p["bs"] - p["As"] @ a0


@pytest.mark.slow
@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    passive=st.integers(0, PASSIVE),
    actuation=st.integers(0, NU),
    rows=st.integers(0, SERVO),
    solvable=st.booleans(),
    kind=st.sampled_from(NULL_SPACES.classes()),
)
def test_control_meets_everything_or_says_what_it_misses(
    seed, passive, actuation, rows, solvable, kind
):
    p = draw(seed, passive, actuation, rows)
    G, r = projected(p)
    if solvable:  # ask for what some control does
        p["bs"] = p["bs"] - r + G @ np.random.default_rng(seed + 1).standard_normal(NU)
        r = projected(p)[1]
    left = r - G @ np.linalg.lstsq(G, r, rcond=1e-9)[0]
    c = control(model(), servo(kind), np.zeros(NV), np.zeros(NV), params=p, throw=False)
    a = np.asarray(c.acceleration)
    size = 1 + np.abs(a).max()
    np.testing.assert_allclose(p["A"] @ a, p["b"], atol=1e-10 * size * (1 + np.abs(p["A"]).max()))
    np.testing.assert_allclose(
        p["M"] @ a, p["F"] + np.asarray(c.passive_force + c.actuator_force), atol=1e-10 * size
    )
    assert (
        int(c.rank) == np.linalg.matrix_rank(G, rtol=1e-9)
        if np.abs(G).max() > 1e-9
        else int(c.rank) == 0
    )
    if np.abs(left).max() < 1e-10:
        np.testing.assert_allclose(
            p["As"] @ a, p["bs"], atol=1e-10 * size * (1 + np.abs(p["As"]).max())
        )
        assert c.result == Result.SUCCESS
    elif np.abs(left).max() > 1e-4:
        assert c.result in (Result.NO_AUTHORITY, Result.TOO_FEW_ACTUATORS)
        assert max(float(x) for x in c.missed.values()) > 1e-8


def test_answer_names_the_constraint_without_authority():
    p = draw(3, 1, 2, 3)
    Mi = np.linalg.inv(p["M"])
    plus = Mi @ p["A"].T @ np.linalg.pinv(p["A"] @ Mi @ p["A"].T, rcond=1e-10)
    reach = (np.eye(NV) - plus @ p["A"]) @ Mi @ p["B"]
    p["As"][1] -= (
        p["As"][1] @ reach @ np.linalg.pinv(reach, rcond=1e-10)
    )  # nothing that the actuators do changes row 1
    p["As"][2] = p["As"][0]
    p["bs"][2] = p["bs"][0]
    said = "no actuator .*'row 1' without authority misses by .* of the accelerations involved"
    with pytest.raises(ModelError, match=said) as caught:
        control(model(), servo(zw.servo.LeastNorm), np.zeros(NV), np.zeros(NV), params=p)
    assert "row 0" not in str(caught.value) and "row 2" not in str(caught.value)
    p["As"][1], p["bs"][1] = (
        p["As"][0],
        p["bs"][0] + 1,
    )  # two rows want different things of the same actuators
    with pytest.raises(ModelError, match="cannot meet all servo constraints together") as caught:
        control(model(), servo(zw.servo.LeastNorm), np.zeros(NV), np.zeros(NV), params=p)
    assert "row 0" in str(caught.value) and "row 1" in str(caught.value)


def test_shapes_and_names_are_checked_in_one_sentence():
    wrong = Servo(ROWS, jnp.ones((NV - 1, 2)))
    with pytest.raises(ModelError, match=r"shape \(5, 2\), expected \(6, actuators\)"):
        control(model(), wrong, np.zeros(NV), np.zeros(NV))
    with pytest.raises(ModelError, match="passive and of a servo constraint"):
        control(
            model(),
            Servo(model().constraints.members, jnp.ones((NV, 1))),
            np.zeros(NV),
            np.zeros(NV),
        )


def test_a_servo_and_a_constraint_that_miss_the_same_say_so_alike():
    """A rail that asks for 3 m/s² where another holds it, and a servo that asks for it with an
    actuator across: both miss all, in the words and by the measure of one another.
    """
    still = lambda q, v, t, p: jnp.zeros(2)
    system = zw.System(2, lambda q, t, p: jnp.ones(2), still)
    rail = zw.Holonomic(lambda q, t, p: q[0], name="rail")
    moved = zw.AccelerationConstraint(
        lambda q, v, t, p: jnp.array([[0.0, 0.0]]), lambda q, v, t, p: jnp.array([3.0]), name="x"
    )
    path = zw.Holonomic(lambda q, t, p: q[0] - 1.5 * t**2, name="x")
    rest = np.zeros(2)
    asked = zw.Servo([path], np.array([[0.0], [1.0]]))
    found = []
    for ask in (
        lambda: zw.motion(zw.Model(system, [moved]), rest, rest),
        lambda: zw.simulate(zw.Model(system, [moved]), rest, rest, duration=1.0),
        lambda: zw.control(zw.Model(system, [rail]), asked, rest, rest),
    ):
        with pytest.raises(ModelError) as caught:
            ask()
        found.append(str(caught.value))
    said = "misses by 1 of the accelerations involved"
    assert all(said in x and "'x'" in x for x in found)
