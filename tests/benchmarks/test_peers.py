"""The problems and peers of the benchmarks are comparable: a benchmark must not compare different
problems.
"""

import dataclasses

import numpy as np
import pytest
from benchmarks.peers import ALL_PEERS, by_key, chosen, process
from benchmarks.peers.equations import equations
from benchmarks.peers.handwritten import acceleration, runge_kutta_4
from benchmarks.peers.peer import steps
from benchmarks.peers.points import points_of
from benchmarks.peers.precision import judged, ladder, reaching
from benchmarks.peers.problems import (
    GROUND,
    PROBLEMS,
    SAMPLES,
    Linkage,
    four_bars,
    instants,
    plane_chain,
)

SMALL = [name for name in PROBLEMS if name != "a02-40"]
LINKAGES = ("a02-2", "five-bar", "3rrr")
"""Also written in natural coordinates: hinges of three bodies, a redundant row, motors and a body
on three hinges.
"""
WRITTEN = [(name, False) for name in SMALL] + [(name, True) for name in LINKAGES]
DIFFERENCE = 1e-6
"""Step of central differences, whose error is then near 1e-10."""
COARSE = {"rtol": 1e-6, "step [s]": 4e-3}
"""Settings at which every peer is right to 1e-2, first order methods included."""
OTHERS = [peer for peer in ALL_PEERS if not peer.compiles]


def differences(f, x):
    columns = [
        (f(x + DIFFERENCE * e) - f(x - DIFFERENCE * e)) / (2 * DIFFERENCE) for e in np.eye(len(x))
    ]
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize(("name", "points"), WRITTEN)
def test_equations_by_hand_are_derivatives_of_their_residual(name, points):
    e, rng = equations(PROBLEMS[name](), points), np.random.default_rng(0)
    q, v, multipliers = (
        e.q0 + 0.1 * rng.normal(size=e.n),
        rng.normal(size=e.n),
        rng.normal(size=e.m),
    )
    assert np.allclose(e.A(q), differences(e.phi, q), atol=1e-8)
    assert np.allclose(e.slope(q, v), differences(lambda x: e.A(x) @ v, q), atol=1e-8)
    assert np.allclose(e.b(q, v), -e.slope(q, v) @ v, atol=1e-12)
    assert np.allclose(
        e.curvature(q, multipliers), differences(lambda x: e.A(x).T @ multipliers, q), atol=1e-8
    )
    gradient = differences(lambda x: np.array([e.potential(x)]), q)[0]
    assert np.allclose(e.weight, -gradient, atol=1e-7)
    assert np.allclose(
        e.force_slope(0.3, q), differences(lambda x: e.force(0.3, x, v), q), atol=1e-8
    )


@pytest.mark.parametrize(("name", "points"), [*WRITTEN, ("a02-40", False), ("a02-40", True)])
def test_every_problem_starts_on_its_constraints_with_no_error(name, points):
    problem = PROBLEMS[name]()
    e = equations(problem, points)
    assert np.max(np.abs(e.phi(e.q0))) < 1e-13
    assert np.max(np.abs(e.A(e.q0) @ e.v0)) < 1e-13
    if name not in ("3rrr", "chain"):  # whose references are at the end
        assert problem.error(np.zeros(1), e.bodies(e.q0[None], e.v0[None])[0]) < 1e-12


@pytest.mark.parametrize("name", LINKAGES)
def test_natural_coordinates_are_the_same_motion(name):
    """Energy and acceleration at the start and after 20 steps, which are M, weight, torques and
    rows in one.
    """
    problem = PROBLEMS[name]()
    (e, f), (own, g) = (acceleration(problem, 0.0, points) for points in (True, False))
    moved = runge_kutta_4(f, e.q0, e.v0, 5e-3, 1)
    q, v = e.bodies(moved.q, moved.v)
    assert np.allclose(q[0], own.q0, atol=1e-14) and np.allclose(v[0], own.v0, atol=1e-14)
    assert own.violation(q) < 1e-8 and np.max(np.abs(own.A(q[-1]) @ v[-1])) < 1e-7
    assert np.allclose(e.energy(moved.q, moved.v), own.energy(q, v), atol=1e-8)
    for i in (
        0,
        -1,
    ):  # rates are linear in those of the points, so that accelerations go the same way
        a = e.bodies(moved.q[i : i + 1 or None], f(0.1, moved.q[i], moved.v[i])[None])[1][0]
        assert np.allclose(a, g(0.1, q[i], v[i]), atol=1e-6)


def test_a_hinge_of_several_bodies_is_one_point_and_a_free_end_is_one_too():
    assert sum(GROUND not in p for p in points_of(four_bars(3))) == 4
    assert max(len(p) for p in points_of(four_bars(3))) == 3
    chain = equations(plane_chain(5), points=True)
    assert (chain.n, chain.m) == (10, 5)
    poses, _ = chain.bodies(chain.q0[None], chain.v0[None])
    assert np.allclose(poses[0], plane_chain(5).pose.ravel())


@pytest.mark.parametrize(
    "problem", [four_bars(3), PROBLEMS["3rrr"](), plane_chain(20)], ids=lambda p: p.key
)
def test_spanning_tree_carries_every_body_once_with_its_branches_next_to_it(problem):
    carried, loops = problem.tree()
    bodies = [body for body, _ in carried]
    assert sorted(bodies) == list(range(len(problem.mass)))
    assert len(carried) + len(loops) == len(problem.pins)
    ancestors: list[int] = []
    for (
        body,
        pin,
    ) in carried:  # depth first: the carrier is the last body or one of its own carriers
        while ancestors and ancestors[-1] != pin.first:
            ancestors.pop()
        assert pin.second == body and (pin.first == GROUND or ancestors)
        ancestors.append(body)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("five-bar", False),
        ("five-bar", True),
        ("3rrr", True),
        pytest.param("chain", False, marks=pytest.mark.slow),
    ],
)
def test_handwritten_acceleration_is_that_of_zwang(name, points):
    from benchmarks.peers.ours import model_of

    import zwang as zw

    e, f = acceleration(PROBLEMS[name](), 0.0, points)
    found = zw.motion(model_of(PROBLEMS[name](), points), e.q0, e.v0).acceleration
    assert np.allclose(found, f(0.0, e.q0, e.v0), atol=1e-8)


@pytest.mark.parametrize("peer", OTHERS, ids=lambda p: p.key)
@pytest.mark.parametrize("name", ["a01", "3rrr"])
def test_every_peer_that_is_installed_finds_the_motion(name, peer):
    problem = PROBLEMS[name]()
    if sentence := peer.missing() or peer.cannot(problem):
        pytest.skip(sentence)
    outcome = peer.prepare(problem, COARSE[peer.knob])()
    given = {"q": outcome.q, "v": outcome.v, **({} if outcome.t is None else {"t": outcome.t})}
    found = judged(problem, given)
    assert outcome.q.shape == (SAMPLES + 1, equations(problem).n)
    assert found["error"] < 1e-2 and found["violation"] < 1e-4
    assert found["energy"] is None if name == "3rrr" else found["energy"] < 0.1


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["a02-2", *(pytest.param(name, marks=pytest.mark.slow) for name in ("five-bar", "3rrr"))],
)
def test_zwang_in_natural_coordinates_finds_the_motion(name):
    problem = PROBLEMS[name]()
    problem = dataclasses.replace(problem, duration=min(problem.duration, 2.0))
    outcome = by_key("zwang-points").prepare(problem, 1e-8)()
    found = judged(problem, {"q": outcome.q, "v": outcome.v})
    assert found["error"] < 1e-6 and found["violation"] < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("key", ["zwang", "zwang-compiled", "zwang-points"])
def test_zwang_finds_all_small_problems(key):
    for name in SMALL:
        problem = PROBLEMS[name]()
        if by_key(key).cannot(problem):
            continue
        outcome = by_key(key).prepare(problem, 1e-8)()
        found = judged(problem, {"q": outcome.q, "v": outcome.v})
        assert found["error"] < 1e-5 and found["violation"] < 1e-12, name


def test_steps_divide_the_intervals_between_samples():
    for make in PROBLEMS.values():
        problem = make()
        count, step = steps(problem, 4e-3)
        assert np.isclose(count * step * SAMPLES, problem.duration) and 3e-3 < step < 5e-3
        assert len(instants(problem)) == SAMPLES + 1


def test_a_name_means_one_peer_or_all_of_a_program():
    assert [p.key for p in chosen("exudyn")] == ["exudyn-alpha", "exudyn-explicit"]
    assert [p.key for p in chosen("ida")] == ["ida", "ida-points"]
    assert [p.key for p in chosen("drake")] == ["drake"]
    assert len({p.key for p in ALL_PEERS}) == len(ALL_PEERS)


def test_what_a_peer_cannot_do_is_said_and_not_left_out(tmp_path):
    peer = by_key("exudyn-explicit")
    record, *rest = ladder("five-bar", PROBLEMS["five-bar"](), peer, 1, tmp_path)
    assert record["status"] in ("cannot", "missing") and record["sentence"] and not rest
    for name in ("a01", "chain"):
        assert "points" in by_key("numpy-dop853-points").cannot(PROBLEMS[name]())


def test_a_process_that_fails_or_hangs_costs_a_sentence():
    assert "No module named" in process.run(["no_such_module_anywhere"], 30.0)[1]
    sleeping = ["timeit", "-n", "1", "-r", "1", "import time; time.sleep(60)"]
    assert process.run(sleeping, 1.0)[1] == "not done within 1 s"
    assert process.run(["platform"], 30.0)[1] == ""


def test_only_runs_that_reach_the_error_are_compared():
    run = lambda error, seconds, status="ran": {
        "problem": "x",
        "peer": "p",
        "status": status,
        "error": error,
        "warm": {"median": seconds},
    }
    found = {
        "1": run(1e-3, 0.1),
        "2": run(1e-7, 1.0),
        "3": run(1e-8, 2.0),
        "4": run(1e-9, 0.01, "other motion"),
    }
    assert reaching(found, "x", "p", 1e-6) == found["2"]
    assert reaching(found, "x", "p", 1e-9) is None


def test_point_mass_is_the_only_body_without_inertia():
    massless = [
        n
        for n, make in PROBLEMS.items()
        if isinstance(p := make(), Linkage) and not np.all(p.inertia > 0)
    ]
    assert massless == ["a01"]
