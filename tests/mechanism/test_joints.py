"""Every kind of joint: its rows, its degrees of freedom, its reactions."""

import functools
from pathlib import Path

import jax
import numpy as np
import pytest

import zwang as zw
from zwang.mechanism import KINDS, Force, Joint, Link, Mechanism, reaction
from zwang.mechanism import joints as joint_files
from zwang.mechanism.joint_constraints import RATES

from .machines import AHEAD, HOLDS_ONE, ROWS, WORLDS, evaluated, every_joint

H = 1e-6


@functools.cache
def program(world):
    return evaluated(world)


@functools.cache
def assembled(world):
    return every_joint(world).start_state


@functools.cache
def at_rest(world):
    m, s = every_joint(world), assembled(world)
    return zw.motion(m.model, s.q, 0 * s.v, throw=False)


def test_every_kind_is_tested():
    folder = Path(joint_files.__file__).parent
    files = {path.stem for path in folder.glob("[!_]*.py")}
    assert set(ROWS["plane"]) | set(ROWS["space"]) == set(KINDS)
    assert {name.replace("-", "_") for name in KINDS} == files


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_rows_agree_with_finite_differences(world):
    system, at = every_joint(world).model.system, program(world)
    random = np.random.default_rng(3)
    move = jax.jit(lambda q, dv: system.move(q, dv, 0.0, every_joint(world).model.params))
    q = np.asarray(move(assembled(world).q, 0.1 * random.standard_normal(system.nv)))
    v, vdot, t = random.standard_normal(system.nv), random.standard_normal(system.nv), 0.4
    c = every_joint(world).model.constraints
    _, psi, A, b, _ = at(q, v, t)
    after, before = (
        at(move(q, H * v), v + H * vdot, t + H),
        at(move(q, -H * v), v - H * vdot, t - H),
    )
    held = np.searchsorted(c.velocity_rows, c.position_rows)
    assert np.allclose(
        (after[0] - before[0]) / (2 * H), psi[held], atol=1e-6
    )  # truncation and round-off of central differences
    assert np.allclose((after[1] - before[1]) / (2 * H), A @ vdot - b, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("world", "kind"), [(w, k) for w in WORLDS for k in ROWS[w]])
def test_a_joint_takes_the_degrees_of_freedom_it_should(world, kind):
    A, rows = np.asarray(at_rest(world).matrix), every_joint(world).model.constraints.row_slices
    own = np.vstack([A[rows[n]] for n in (kind, kind + RATES) if n in rows])
    assert np.linalg.matrix_rank(own, tol=1e-9) == ROWS[world][kind]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "kind"),
    [(w, k) for w in WORLDS for k in HOLDS_ONE if k in ROWS[w] and k != "revolute"],
)
def test_a_reaction_is_what_its_body_needs(world, kind):
    """Newton and Euler of a body at rest that one joint holds: f = m (a − g), τ about the joint
    from r × f and J α.
    """
    m, s, d = every_joint(world), assembled(world), every_joint(world).d
    got = reaction(m, s.q, pulled(world, at_rest(world).by_constraint, kind), kind)
    i, n = list(m.bodies).index(kind), 3 * (d - 1)
    acceleration = np.asarray(at_rest(world).acceleration).reshape(-1, n)[i]
    force = 1.5 * (acceleration[:d] + 9.81 * np.eye(d)[-1])
    arm = np.asarray(AHEAD[:d])
    spin = (0.1 if d == 2 else np.array([0.1, 0.2, 0.25])) * acceleration[d:]
    torque = (
        spin - np.cross(arm, force) if d == 3 else spin[0] - (arm[0] * force[1] - arm[1] * force[0])
    )
    assert np.allclose(got.force, force, atol=1e-9)
    assert np.allclose(got.torque, torque, atol=1e-9)


def pulled(world, by_constraint, kind):
    """With the share of the drive that pulls the prismatic joint."""
    by_constraint = {name: np.asarray(force) for name, force in by_constraint.items()}
    return by_constraint | (
        {kind: by_constraint[kind] + by_constraint["pull"]} if kind == "prismatic" else {}
    )


def test_pin_of_a_falling_rod_carries_a_quarter_of_its_weight():
    rod = Mechanism(
        {"rod": Link(2.0, length=1.2, guess=((0, 0), (1.2, 0)))},
        {"pin": Joint("revolute", ("ground", "rod.start"))},
    )
    s = rod.start_state
    got = reaction(rod, s.q, zw.motion(rod.model, s.q, s.v).by_constraint, "pin")
    assert np.allclose(got.force, [0.0, 2.0 * 9.81 / 4], atol=1e-12)
    assert abs(got.torque) < 1e-12


@pytest.mark.slow
def test_a_clamped_beam_needs_its_weight_and_the_moment_of_its_weight():
    beam = Mechanism(
        {"beam": Link(2.0, length=1.2, guess=((0, 0), (1.2, 0)))},
        {"wall": Joint("fixed", ("ground", "beam.start"))},
    )
    s = beam.start_state
    got = reaction(beam, s.q, zw.motion(beam.model, s.q, s.v).by_constraint, "wall")
    assert np.allclose(got.force, [0.0, 2.0 * 9.81], atol=1e-12)
    assert got.torque == pytest.approx(2.0 * 9.81 * 0.6, abs=1e-12)


@pytest.mark.slow
def test_couplings_and_rolling_transmit_what_their_wheels_need():
    """A torque T turns wheels, and a weight pulls along x: a = T/ΣI with inertias as the first
    wheel feels them, and I a − T from the
    coupling; a disk rolls under g with x″ = m g/(m + I/r²), held back by I x″/r² at its rim.
    """
    T, I, other, m, r, g = 1.5, 0.1, 0.3, 2.0, 0.2, 2.0
    bodies, joints, forces = (
        {"disk": Link(m, I, at=(0.0, r))},
        {"rolling": Joint("rolling", ("ground", "disk"), radius=r)},
        {},
    )
    for kind, own in (
        ("gear", {"ratio": (20, 30)}),
        ("belt", {"ratio": (20, 30)}),
        ("rack", {"radius": r}),
        ("cam", {"lift": f"{r}*angle"}),
    ):
        slides = kind in ("rack", "cam")
        bodies |= {f"{kind} 1": Link(1.0, I), f"{kind} 2": Link(m, other)}
        joints[f"axle of {kind}"] = Joint("revolute", ("ground", f"{kind} 1"))
        joints[f"far {kind}"] = Joint(
            "prismatic" if slides else "revolute", ("ground", f"{kind} 2")
        )
        joints[kind] = Joint(kind, joints=(f"axle of {kind}", f"far {kind}"), **own)
        forces[kind] = Force(T, joint=f"axle of {kind}")
    machine = Mechanism(bodies, joints, forces=forces, gravity=(g, -9.0))
    q = machine.geometry.q
    by_constraint = zw.motion(machine.model, q, np.zeros(len(q))).by_constraint
    turned = {kind: T / (I + other * (20 / 30) ** 2) for kind in ("gear", "belt")}
    pushed = {kind: (T + m * g * r) / (I + m * r**2) for kind in ("rack", "cam")}
    for kind, acceleration in (turned | pushed).items():
        got = reaction(machine, q, by_constraint, kind)
        assert got.torque == pytest.approx(I * acceleration - T, abs=1e-12) and np.allclose(
            got.force, 0.0, atol=1e-12
        )
    back = -I / r**2 * m * g / (m + I / r**2)
    got = reaction(machine, q, by_constraint, "rolling")
    assert np.allclose(got.force, [back, m * 9.0], atol=1e-12) and got.torque == pytest.approx(
        r * back, abs=1e-12
    )


@pytest.mark.slow
def test_efforts_do_the_work_that_the_energy_of_springs_gives():
    """At rest the force of a spring is −∂V/∂x; the coil's torque is stiffness times rest."""
    for world in WORLDS:
        m, s = every_joint(world), assembled(world)
        F = np.asarray(program(world)(s.q, 0 * s.v, 0.0)[4]).reshape(len(m.bodies), -1)
        i = list(m.bodies).index("revolute")
        assert F[i, -1] == pytest.approx(3.0 * 0.1, abs=1e-12)
        at = np.array((0.4, 0.3, 0.2)[: m.d])
        pull = -20.0 * (np.linalg.norm(at) - 0.2) * at / np.linalg.norm(at)
        soft = -np.array((30.0, 40.0, 50.0)[: m.d]) * at
        wind = np.array((0.0, 0.4, 3.0)[: m.d])
        weight = -9.81 * np.eye(m.d)[-1]
        assert np.allclose(
            F[list(m.bodies).index("free"), : m.d], pull + soft + wind + weight, atol=1e-12
        )
