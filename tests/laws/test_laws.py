"""Laws of mechanics hold for random models; failures are reported with family and seed.

Four models each by default, fewer if each is simulated; `ZWANG_LAWS=…` sets another number. A
thousand models for each law, and as many hierarchies compared with their flat models:

    python -m pytest -q -m slow tests/laws
    ZWANG_LAWS=1000 python -m pytest -q -m slow tests/hierarchy/test_trees.py
"""

from __future__ import annotations

import functools
import json
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.laws.random_models import (
    FAMILIES,
    Case,
    dissipation,
    draw,
    kinetic,
    potential,
    rotated,
    turned,
    unit_rows,
)
from zwang.dynamics.motion import Motion
from zwang.objects.families import FORMULATIONS

FEW = int(os.environ.get("ZWANG_LAWS", "4"))
FEWEST = int(os.environ.get("ZWANG_LAWS", "4"))
"""Models of a law for which each of them is run."""
of_runs = pytest.mark.parametrize("count", [FEWEST, pytest.param(1000, marks=pytest.mark.slow)])
counts = pytest.mark.parametrize("count", [FEW, pytest.param(1000, marks=pytest.mark.slow)])
MEMBERS = (
    zw.methods.CompleteOrthogonal,
    zw.methods.SVD,
    zw.methods.Varga,
    zw.methods.Greville,
    zw.methods.Householder,
    zw.methods.GramSchmidt,
)


def cases(count: int, *names: str):
    """Random models, the families in turn."""
    families = [FAMILIES[name] for name in names or FAMILIES]
    return (draw(families[seed % len(families)], seed) for seed in range(count))


def holds(law, drawn, allowed: float) -> None:
    """Assert that a law, a case → its relative deviation, is met by every case."""
    wrong, seen = [], 0
    for case in drawn:
        seen += 1
        deviation = float(law(case))
        if not deviation <= allowed:
            wrong.append(f"{case.family.name}, seed {case.seed}: off by {deviation:.2e}")
    assert seen, "no case was drawn"
    assert not wrong, f"{len(wrong)} of {seen} (allowed {allowed:g}):\n" + "\n".join(wrong)


def motion(case: Case, **methods) -> Motion:
    return zw.motion(case.model, case.q, case.v, params=case.params, **methods)


@functools.lru_cache(4096)
def _solved(name: str, seed: int):
    case = draw(FAMILIES[name], seed)
    answer = motion(case)
    return answer, case.facts(answer.acceleration)


def solved(case: Case):
    """The library's motion and the oracle's facts about it; computed once for all laws."""
    return _solved(case.family.name, case.seed)


def in_mass_norm(case: Case, x) -> float:
    return float(np.linalg.norm(np.linalg.cholesky(case.facts()["mass"]).T @ np.asarray(x)))


def apart(case: Case, x, y) -> float:
    """Distance of two accelerations in the norm of M, relative to what they are made of."""
    facts = case.facts()
    size = in_mass_norm(case, y) + in_mass_norm(
        case, np.linalg.solve(facts["mass"], facts["force"])
    )
    return in_mass_norm(case, np.asarray(x) - np.asarray(y)) / max(size, 1e-12)


@pytest.mark.slow
@counts
def test_energy_changes_by_the_power_of_forces(count):
    def law(case):
        answer, facts = solved(case)
        power = float(answer.constraint_force @ case.v) - facts["loss"]
        size = np.abs(facts["force"]) @ np.abs(case.v)
        size += np.abs(np.asarray(answer.constraint_force)) @ np.abs(case.v)
        return abs(facts["energy_rate"] - power) / max(size, 1e-12)

    holds(law, cases(count), 1e-10)


@counts
def test_constraints_at_rest_take_and_give_no_power(count):
    def law(case):
        force = np.asarray(solved(case)[0].constraint_force)
        return abs(force @ case.v) / max(np.abs(force) @ np.abs(case.v), 1e-12)

    holds(law, (c for c in cases(count) if c.family.scleronomic), 1e-9)


@counts
def test_ideal_forces_do_no_virtual_work(count):
    def law(case):
        answer, facts = solved(case)
        C, _, L = unit_rows(facts)
        _, sigma, directions = np.linalg.svd(C)
        force = np.linalg.solve(L, np.asarray(answer.ideal_force))
        work = directions[np.sum(sigma > 1e-6) :] @ force
        return np.linalg.norm(work) / max(np.linalg.norm(force), 1e-12)

    holds(law, cases(count), 1e-9)


@counts
def test_momentum_of_a_free_system_changes_by_its_weight_alone(count):
    def law(case):
        facts = solved(case)[1]
        size = np.abs(facts["load"]).max() + np.abs(case.facts()["momentum_rate"]).max()
        size += in_mass_norm(case, solved(case)[0].acceleration)
        return np.abs(facts["momentum_rate"] - facts["load"]).max() / max(size, 1e-12)

    free = [name for name, family in FAMILIES.items() if family.floating]
    assert len(free) >= 2
    holds(law, cases(count, *free), 1e-9)


@counts
def test_rows_are_the_rates_of_what_was_given(count):
    def law(case):
        answer, facts = solved(case)
        A, b = np.asarray(answer.matrix), np.asarray(answer.rhs)
        size = np.linalg.norm(facts["A"], axis=1) + 1e-300
        speed = size * (1 + np.linalg.norm(case.v)) ** 2 + np.abs(facts["b"])
        rows = np.abs(A - facts["A"]).max(1, initial=0.0) / size
        return max(rows.max(initial=0.0), (np.abs(b - facts["b"]) / speed).max(initial=0.0))

    holds(law, cases(count), 1e-11)


@counts
def test_gauss_quantity_is_least(count):
    """Beside a particular solution and a minimum over the null space, by singular values."""

    def law(case):
        answer, facts = solved(case)
        C, size, L = unit_rows(facts)
        left, sigma, right = np.linalg.svd(C)
        rank = int(np.sum(sigma > 1e-6))
        target = left.T[:rank] @ (facts["b"] / size) / sigma[:rank]
        free = np.linalg.solve(L, facts["force"])
        least = right[:rank].T @ target + right[rank:].T @ (right[rank:] @ free)
        assert rank == int(answer.rank), f"{case.family.name}, seed {case.seed}: rank"
        return apart(case, answer.acceleration, np.linalg.solve(L.T, least))

    holds(law, cases(count), 1e-9)


@counts
def test_motion_does_not_depend_on_the_frame(count):
    def law(case):
        random = np.random.default_rng(case.seed)
        seen = rotated(case, angle := random.uniform(0, 6), random.uniform(-3, 3, 2))
        back = turned_velocity(case, motion(seen).acceleration, -angle)
        return apart(case, back, solved(case)[0].acceleration)

    holds(law, cases(count), 1e-8)


def turned_velocity(case: Case, x, angle: float) -> np.ndarray:
    """A vector of velocities or accelerations, turned in the plane."""
    x, points = np.array(x), 2 * case.family.points
    for part in (x[:points].reshape(-1, 2), x[points:].reshape(-1, 3)):
        part[:, :2] = turned(np.full(len(part), angle), part[:, :2])
    return x


@counts
def test_motion_does_not_depend_on_the_unit_of_length(count):
    def law(case):
        metre, kilo = (draw(case.family, case.seed, unit) for unit in (1.0, 1000.0))
        scaled = np.asarray(motion(kilo).acceleration) / kilo.params["unit"]
        return apart(metre, scaled, motion(metre).acceleration)

    holds(law, cases(count), 1e-8)


@counts
def test_motion_does_not_depend_on_the_factors_of_rows(count):
    def law(case):
        plain = with_unit_factors(case)
        return apart(case, solved(case)[0].acceleration, motion(plain).acceleration)

    holds(law, cases(count), 1e-8)


def with_unit_factors(case: Case) -> Case:
    ones = {k: np.ones_like(x) for k, x in case.params.items() if k.startswith("factor_")}
    return Case(case.family, case.seed, case.q, case.v, {**case.params, **ones})


METHOD_FAMILIES = ("doubled",)
"""One small shape by default, as each method is compiled for each of them."""


def of_methods(count: int):
    names = METHOD_FAMILIES if count <= 100 else ("redundant", "tree", "sleigh", "driven")
    return cases(count, *names)


def some_by_default(methods, *names: str):
    """All methods, of which only the named ones are in the default run: each compiles its own."""
    slow = lambda m: () if m.__name__ in names else pytest.mark.slow
    return [pytest.param(m, marks=slow(m), id=m.__name__) for m in methods]


@pytest.mark.slow
@counts
@pytest.mark.parametrize(
    "formulation", some_by_default(FORMULATIONS.classes(), "UdwadiaKalaba", "Nullspace")
)
def test_every_formulation_gives_the_same_motion(formulation, count):
    def law(case):
        other = with_unit_factors(draw(case.family, case.seed, 1.0))
        found = motion(other, formulation=formulation()).acceleration
        return apart(other, found, motion(other).acceleration)

    holds(law, of_methods(count), 1e-7)


@pytest.mark.slow
@counts
@pytest.mark.parametrize("member", some_by_default(MEMBERS, "CompleteOrthogonal", "Greville"))
def test_every_pseudoinverse_gives_the_same_motion(member, count):
    def law(case):
        found = motion(case, pseudoinverse=member()).acceleration
        return apart(case, found, solved(case)[0].acceleration)

    holds(law, of_methods(count), 1e-8)


@pytest.mark.slow
@counts
def test_sparse_and_dense_give_the_same_motion(count):
    def law(case):
        found = motion(case, pseudoinverse=zw.methods.Sparse())
        return apart(case, found.acceleration, solved(case)[0].acceleration)

    holds(law, cases(count, "rope"), 1e-8)


@pytest.mark.slow
@counts
def test_joint_angles_and_pins_give_the_same_motion(count):
    """The chain in absolute angles by Lagrange's equations, which know no constraint."""
    family = FAMILIES["chain"]
    in_angles = chain_in_angles()

    def law(case):
        angle, spin = case.q[2::3], case.v[2::3]
        p = {k: x for k, x in case.params.items() if k in in_angles.params}
        found = np.asarray(zw.motion(in_angles, angle, spin, params=p).acceleration)
        expected = np.asarray(solved(case)[0].acceleration)[2::3]
        return np.abs(found - expected).max() / (1e-12 + np.abs(expected).max())

    holds(law, cases(count, family.name), 1e-8)


@functools.cache
def chain_in_angles() -> zw.Model:
    family = FAMILIES["chain"]

    def coordinates(angle, p):
        """Bodies hung at each other by their pins, in metres."""
        place, hung = jnp.zeros(2), []
        for i, pin in enumerate(family.pins):
            before = angle[pin[0]] if pin[0] >= 0 else 0.0
            at = place + turned(before, p["pins"][i, 0])
            place = at - turned(angle[i], p["pins"][i, 1])
            hung += [place, angle[i : i + 1]]
        return jnp.concatenate(hung)

    def energy(angle, spin, t, p):
        x, w = jax.jvp(lambda a: coordinates(a, p), (angle,), (spin,))
        return kinetic(family, x, w, p)

    def height(angle, t, p):
        x = coordinates(angle, p)
        return potential(family, x * p["unit"], p)

    def damping(angle, spin, t, p):
        x = coordinates(angle, p) * p["unit"]
        along = lambda s: jax.jvp(lambda a: coordinates(a, p), (angle,), (s,))[1]
        rate = lambda s: along(s) * p["unit"]
        return -jax.grad(lambda s: dissipation(family, x, rate(s), p))(spin)

    system = zw.Lagrangian(energy, height, damping, nq=3)
    return zw.Model(system, params=draw(family, 0).params, name="chain in angles")


@pytest.mark.slow
@of_runs
def test_time_runs_backward_as_forward(count):
    def law(case):
        undamped = {**case.params, "damping": 0 * case.params["damping"]}
        ahead = run(case, case.q, case.v, undamped)
        back = run(case, ahead.q.values[-1], -ahead.v.values[-1], undamped)
        return apart_at_end(case, back.q.values[-1], -back.v.values[-1], case.q, case.v)

    holds(law, cases(count, "tree"), 1e-6)


def run(case: Case, q, v, params, **options):
    return zw.simulate(
        case.model, q, v, duration=0.25, samples=2, rtol=1e-11, params=params, **options
    ).dataset


def apart_at_end(case: Case, q, v, q2, v2) -> float:
    unit = case.params["unit"]
    far = np.abs((q - q2) / unit).max()
    return max(far, np.abs((v - v2) / unit).max() / (1 + np.abs(v2 / unit).max()))


@of_runs
def test_a_batch_moves_as_its_members_alone(count):
    drawn = list(cases(count, "tree"))
    params = {name: np.stack([c.params[name] for c in drawn]) for name in drawn[0].params}
    q, v = np.stack([c.q for c in drawn]), np.stack([c.v for c in drawn])
    batch = zw.batch(drawn[0].model, q, v, [0.0, 0.25], params=params, rtol=1e-11)
    assert not batch.failures, batch.failures
    place = {case.seed: i for i, case in enumerate(drawn)}

    def law(case):
        alone, i = run(case, case.q, case.v, case.params), place[case.seed]
        q, v = alone.q.values[-1], alone.v.values[-1]
        return apart_at_end(case, batch.q[i, -1], batch.v[i, -1], q, v)

    holds(law, drawn, 1e-7)


@pytest.mark.slow  # some models of the gallery: tests/simulation/test_execution.py
@pytest.mark.parametrize("count", [1000])
def test_native_code_and_xla_give_the_same_motion(count, monkeypatch):
    def law(case):
        native, xla = [], []
        for engine, ends in (("native", native), ("xla", xla)):
            monkeypatch.setenv("ZWANG_ENGINE", engine)
            found = run(case, case.q, case.v, case.params)
            ends += found.q.values[-1], found.v.values[-1]
        ends = (*native, *xla)
        return apart_at_end(case, *ends)

    holds(law, cases(count, "tree"), 1e-7)


@pytest.mark.slow  # a block that sticks and slips: tests/simulation/test_stick_slip.py
@pytest.mark.parametrize("count", [100])
def test_native_code_and_xla_turn_the_same_switch(count, monkeypatch):
    """Rods let go by the clock, and where the bodies are."""

    def off(q, v, t, p, force):
        away = jnp.sum((q / p["unit"]) ** 2)
        return t - 0.1 + 0.02 * away / (1 + away)

    def law(case):
        ends, turned = [], []
        for engine in ("native", "xla"):
            monkeypatch.setenv("ZWANG_ENGINE", engine)
            switches = [zw.Switch("rods", off=off)]
            found = run(case, case.q, case.v, case.params, switches=switches)
            ends += found.q.values[-1], found.v.values[-1]
            turned.append(len(json.loads(found.attrs["switches"])))
        assert turned[0] == turned[1]
        return apart_at_end(case, *ends)

    holds(law, cases(count, "tree"), 1e-7)
