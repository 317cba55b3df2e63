"""One mechanism in body coordinates and in joint coordinates has one motion."""

import dataclasses
import sys

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import zwang as zw
from tests.eager import compilations
from zwang.algebra.mass_matrix import dense_mass
from zwang.dynamics.evaluation import evaluate
from zwang.equations.state import State
from zwang.mechanism import (
    KINDS,
    Drive,
    Force,
    Joint,
    Link,
    Mechanism,
    Point,
    Spring,
    joint_motion,
    reaction,
    shares,
)

SPACE = ("revolute", "prismatic", "cylindrical", "universal", "spherical", "planar", "fixed")
BODIES, DURATION = 5, 2.0
AGREEMENT = 1e-9
"""What both may differ by after 2 s: two runs at rtol 1e-13; one of the linkages multiplies a
difference by 1e6 on its way.
"""


def random_tree(seed: int, world: str) -> Mechanism:
    """Bodies on random joints of a tree, some met from their second body, and a free one; three
    rods close loops.
    """
    random, d = np.random.default_rng(seed), 2 if world == "plane" else 3
    kinds = (
        ("revolute", "prismatic", "revolute", "revolute")
        if d == 2
        else tuple(random.permutation(SPACE)[: BODIES - 1])
    )
    places, turns = random.normal(size=(BODIES, d)), 0.8 * random.normal(size=(BODIES, 3))
    if d == 2:
        turns[:, :2] = 0.0
    R = Rotation.from_rotvec(turns).as_matrix()[:, :d, :d]
    points: list[dict] = [{} for _ in range(BODIES)]
    ground: dict = {}

    def mark(body: int, name: str, place, turn=np.zeros(3)) -> str:
        """A point at a place in space with axes that are turned in space, in the body's own
        axes.
        """
        own = np.eye(3)
        own[:d, :d] = R[body] if body >= 0 else np.eye(d)
        axes = own.T @ Rotation.from_rotvec(turn).as_matrix()
        at = own[:d, :d].T @ (place - (places[body] if body >= 0 else 0.0))
        if d == 2:
            point = Point(tuple(at), angle=float(np.arctan2(axes[1, 0], axes[0, 0])))
        else:
            point = Point(tuple(at), axis=tuple(axes[:, 2]), x=tuple(axes[:, 0]))
        (ground if body < 0 else points[body])[name] = point
        return f"{'ground' if body < 0 else f'body{body}'}.{name}"

    joints = {}
    for i in range(BODIES):
        if i == BODIES - 1:
            continue  # free: only loops hold it
        parent = int(random.integers(-1, i)) if i else -1
        turn = random.normal(size=3) * (np.array([0, 0, 1]) if d == 2 else 1)
        place = random.normal(size=d)
        pair = [mark(parent, f"to{i}", place, turn), mark(i, "joint", place, turn)]
        joints[f"joint{i}"] = Joint(
            kinds[i], between=tuple(pair if random.random() < 0.6 else pair[::-1])
        )
    for k, (i, j) in enumerate([(0, BODIES - 1), (2, BODIES - 2), (-1, BODIES - 1)]):
        ends = random.normal(size=(2, d))
        between = (mark(i, f"rod{k}", ends[0]), mark(j, f"rod{k}", ends[1]))
        joints[f"rod{k}"] = Joint(
            "rod", between=between, length=float(np.linalg.norm(ends[1] - ends[0]))
        )
    bodies = {}
    for i in range(BODIES):
        inertia = 0.5 if d == 2 else (0.5, 0.6, 0.7)
        where = {"angle": float(turns[i, 2])} if d == 2 else {"turn": tuple(turns[i])}
        speed = {"angular_velocity": 0.3 if d == 2 else (0.3, -0.2, 0.1)}
        bodies[f"body{i}"] = Link(
            mass=1.0 + i / 5,
            inertia=inertia,
            points=points[i],
            at=tuple(places[i]),
            **where,
            **speed,
        )
    spring = Spring(between=("body0", "body3"), stiffness=3.0, damping=0.2, rest=1.0)
    push = Force(effort=("sin(t)", "0.1", "0.2*x")[:d], on="body1")
    return Mechanism(
        bodies=bodies,
        joints=joints,
        ground=ground,
        world=world,
        springs={"spring": spring},
        forces={"push": push},
    )


def agreement(mechanism: Mechanism, duration: float, rtol: float = 1e-13) -> float:
    """The largest difference between the bodies' places, quaternions up to their sign, at the
    end.
    """
    joint = dataclasses.replace(mechanism, coordinates="joint")
    ends = []
    for m in (mechanism, joint):
        start = m.start_state
        run = zw.simulate(m.model, start.q, start.v, duration=duration, rtol=rtol, samples=3)
        ends.append(np.asarray(m.frames(run.q[-1]).place))
        ends.append(np.asarray(m.frames(run.q[-1]).attitude))
    return max(np.abs(ends[0] - ends[2]).max(), np.abs(ends[1] - ends[3]).max())


def accelerated(at) -> np.ndarray:
    """v̇ of `ModelEvaluation`, by Gauss's principle written as one linear system."""
    A, M = np.asarray(at.A), dense_mass(np.asarray(at.M))
    both = np.block([[M, -A.T], [A, np.zeros((len(A), len(A)))]])
    return np.linalg.lstsq(both, np.concatenate([at.F, at.b]), rcond=1e-12)[0][: len(M)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed, world", [(1, "plane"), pytest.param(3, "space", marks=pytest.mark.slow)]
)
def test_accelerations_are_alike_in_both_coordinates(seed, world):
    mechanism = random_tree(seed, world)
    joint, layout = dataclasses.replace(mechanism, coordinates="joint"), mechanism.geometry
    zero = jnp.zeros(())
    state = joint.compiled.tree.joint_state(State(layout.q, layout.v, zero), joint.params)
    dynamics = joint.model.dynamics()
    A = np.asarray(evaluate(dynamics, state).A)
    v = np.asarray(state.v) - np.linalg.pinv(A) @ (A @ np.asarray(state.v))
    at = evaluate(dynamics, State(state.q, jnp.asarray(v), zero))
    maximal = evaluate(mechanism.model.dynamics(), joint.body_state(state.q, v))
    for residual in (at.phi, at.psi, maximal.phi, maximal.psi):
        assert np.abs(residual).max() < 1e-13
    rate, step = accelerated(at), 1e-4
    system, p = joint.model.system, joint.model.params
    ends = [
        joint.body_state(system.move(state.q, h * jnp.asarray(v), 0.0, p), v + h * rate).v
        for h in (step, -step)
    ]
    got = np.asarray(ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(
        got, accelerated(maximal), atol=1e-6 * np.abs(got).max()
    )  # of the difference, O(step²)


def transmitted_alike(m: Mechanism) -> None:
    """Forces and torques of all joints and drives, in both coordinates, at the start."""
    joint = dataclasses.replace(m, coordinates="joint")
    state = joint.start_state
    at = joint.body_state(state.q, state.v)
    got = shares(joint, state.q, state.v, 0.0, zw.motion(joint.model, state.q, state.v))
    expected = zw.motion(m.model, at.q, at.v).by_constraint
    for name in (*(n for n, x in m.joints.items() if not KINDS[x.kind].couples), *m.drives):
        mine, theirs = reaction(m, *got, name), reaction(m, at.q, expected, name)
        size = max(np.abs(theirs.force).max(), np.abs(theirs.torque).max())
        np.testing.assert_allclose(mine.force, theirs.force, atol=AGREEMENT * max(size, 1.0))
        np.testing.assert_allclose(mine.torque, theirs.torque, atol=AGREEMENT * max(size, 1.0))


@pytest.mark.slow
def test_joints_transmit_alike_in_both_coordinates():
    rods = {
        name: Link(1.0, length=1.0, at=(x, 0.0), angular_velocity=2.0)
        for name, x in (("upper", 0.5), ("lower", 1.5))
    }
    joints = {
        "shoulder": Joint("revolute", ("ground", "upper.start")),
        "elbow": Joint("revolute", ("lower.start", "upper.end")),  # met from its second body
    }
    transmitted_alike(Mechanism(rods, joints, drives={"motor": Drive("elbow", rate="2*t")}))


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed, world", [(0, "plane"), (1, "plane"), (2, "space"), (3, "space"), (4, "space")]
)
def test_joints_of_random_trees_transmit_alike_in_both_coordinates(seed, world):
    transmitted_alike(random_tree(seed, world))


def test_forces_of_joints_are_asked_for_in_the_coordinates_of_bodies():
    rod = Mechanism(
        {"rod": Link(length=1.0)},
        {"pin": Joint("revolute", ("ground", "rod.start"))},
        coordinates="joint",
    )
    with pytest.raises(zw.ModelError, match=r"take reactions\(mechanism, run\)"):
        reaction(rod, np.zeros(1), {}, "pin")


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed, world", [(0, "plane"), (1, "plane"), (2, "space"), (3, "space"), (4, "space")]
)
def test_random_trees_with_loops_move_alike_in_both_coordinates(seed, world):
    assert agreement(random_tree(seed, world), DURATION) < AGREEMENT


@pytest.mark.slow
@pytest.mark.parametrize("world", ["plane", "space"])
def test_a_mechanism_in_joint_coordinates_compiles_a_handful_of_programs(world):
    """Operations that are carried out one by one are compiled one by one: it was eighty."""
    mechanism = dataclasses.replace(random_tree(3, world), coordinates="joint")
    with compilations() as made:
        state = mechanism.start_state
        run = zw.simulate(mechanism.model, state.q, state.v, duration=0.01)
        joint_motion(mechanism, run)
        assert run.variables is not None
    assert len(made) <= 16


@pytest.mark.slow
def test_coordinates_of_joints_are_alike_one_state_at_a_time_and_all_together(monkeypatch):
    mechanism = random_tree(4, "space")
    state = mechanism.start_state
    run = zw.simulate(mechanism.model, state.q, state.v, duration=0.2)
    few = joint_motion(mechanism, run)
    monkeypatch.setattr(sys.modules["zwang.mechanism.joint_motion"], "MOST_ONE_BY_ONE", 0)
    many = joint_motion(mechanism, run)
    assert len(few) > 10 and list(few) == list(many)
    for name in few:
        np.testing.assert_allclose(
            few[name].values, many[name].values, rtol=1e-12, atol=1e-12, err_msg=name
        )
