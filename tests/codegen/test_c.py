"""Generated C: compiled with all warnings as errors, it agrees with the model in Python."""

import subprocess

import jax
import numpy as np
import pytest

import zwang as zw
from zwang.codegen.c import Library, agreement, c_code, compiler

pytestmark = pytest.mark.skipif(compiler() is None, reason="no C compiler")
STATES = 1000
AGREES = 1e-12


def compared(name, **settings):
    """Largest relative difference of v̇, Q_c and, with a servo, u over random states."""
    example = zw.gallery.load(name, **settings)
    code = c_code(example.model, example.q0, example.v0)
    return max(agreement(code, example.q0, example.v0, STATES).values())


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ["pendulum", "two-mass-spring", "appell-hamel", "rough-incline"])
def test_the_code_agrees_with_the_model(name):
    assert compared(name) < AGREES


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["log-spiral", "knife-edge", "rolling-disk", "four-bar", "spherical-pendulum", "scara",
     "flexible-joint", "cart-pole-track", "coordinated-robots", "3rrr", "five-bar",
     "five-bar-driven"],
)  # fmt: skip
def test_the_code_of_larger_systems_agrees_with_the_model(name):
    assert compared(name) < AGREES


@pytest.fixture(scope="module")
def pendulum():
    example = zw.gallery.load("pendulum")
    code = c_code(example.model, example.q0, example.v0)
    return example, code, Library(code)


def test_the_test_driver_passes_and_would_notice_an_error(pendulum, tmp_path):
    _, code, _ = pendulum
    code.write(tmp_path)
    build = lambda: subprocess.run(
        f"{compiler()} -std=c99 -Wall -Wextra -Werror {code.name}.c {code.name}_test.c -lm -o run",
        shell=True, cwd=tmp_path, check=True,
    )  # fmt: skip
    build()
    assert subprocess.run("./run", cwd=tmp_path, capture_output=True).returncode == 0
    source = tmp_path / f"{code.name}.c"
    source.write_text(source.read_text().replace("vdot[1] = ", "vdot[1] = 1.001 * "))
    build()
    assert subprocess.run("./run", cwd=tmp_path, capture_output=True).returncode == 1


def test_fixed_steps_follow_the_elliptic_functions_with_order_four(pendulum):
    example, _, library = pendulum
    errors = []
    for steps in (100, 200):
        t, q, _ = library.step(2.0 / steps, 0.0, example.q0, example.v0, steps=steps)
        exact = example.exact(np.array([t]))
        errors.append(np.hypot(q[0] - exact["x"][0], q[1] - exact["y"][0]))
    assert 12 < errors[0] / errors[1] < 20
    assert library.violation(q, np.zeros(2)) < 1e-14


def test_a_projection_moves_along_the_rod(pendulum):
    _, _, library = pendulum
    q, v = library.project([1.2, 0.0], [0.5, 1.0])
    np.testing.assert_allclose(q, [1.0, 0.0], atol=1e-14)
    np.testing.assert_allclose(v, [0.0, 1.0], atol=1e-14)


def test_a_force_can_be_applied(pendulum):
    example, _, library = pendulum
    vdot, force, _ = library.motion([0.0, -1.0], [0.0, 0.0], applied=[2.0, 0.0])
    np.testing.assert_allclose(vdot, [2.0, 0.0], atol=1e-14)
    np.testing.assert_allclose(force, [0.0, 9.81], rtol=1e-14)
    assert example.model.params["mass"] == 1.0


@pytest.mark.slow
def test_redundant_rows_need_nothing_more():
    example = zw.gallery.load("pendulum")
    rod = example.model.constraints.members[0]
    twice = zw.Holonomic(lambda q, t, p: 3 * rod.phi(q, t, p), name="again")
    model = zw.Model(example.model.system, [rod, twice], example.model.params, name="twice")
    library = Library(c_code(model, example.q0, example.v0))
    once = zw.motion(example.model, example.q0, [0.3, 0.1]).acceleration
    np.testing.assert_allclose(library.motion(example.q0, [0.3, 0.1])[0], once, rtol=1e-13)


@pytest.mark.slow
def test_a_linkage_passes_its_singular_configurations_at_fixed_step():
    example = zw.gallery.load("five-bar")
    library = Library(c_code(example.model, example.q0, example.v0))
    t, q, v = library.step(1e-3, 0.0, example.q0, example.v0, steps=5000)
    exact = example.exact(np.array([t]))
    names = list(example.model.system.coordinates)
    assert max(abs(q[names.index(k)] - x[0]) for k, x in exact.items()) < 1e-8
    assert library.violation(q, v, t) < 1e-12


@pytest.mark.slow
def test_the_energy_of_a_driven_robot_changes_by_the_work_of_its_motors():
    """3rrr is driven: 5 s cost it 3e-4 J, whatever the step, and its motors took them."""
    from scipy.integrate import simpson

    example = zw.gallery.load("3rrr")
    library = Library(c_code(example.model, example.q0, example.v0))
    system, p = example.model.system, example.model.parameters()
    names = list(system.coordinates)
    motors = [i for i, name in enumerate(names) if name.endswith("motor.angle")]
    q, v, t, h = np.asarray(example.q0), np.asarray(example.v0), 0.0, 2e-3
    before, steps = library.energy(q, v), 2500
    moving, angles = np.zeros((2, steps + 1, len(names)))
    moving[0], angles[0] = v, q
    for k in range(steps):
        t, q, v = library.step(h, t, q, v)
        moving[k + 1], angles[k + 1] = v, q
    times = h * np.arange(steps + 1)
    torque = jax.jit(jax.vmap(lambda q, v, t: system.force(q, v, t, p)))(angles, moving, times)
    power = np.sum(np.asarray(torque)[:, motors] * moving[:, motors], axis=1)
    work, change = simpson(power, dx=h), library.energy(q, v, t) - before
    assert abs(change) > 1e-4 and change == pytest.approx(work, abs=1e-9)


def test_a_law_of_the_state_is_part_of_the_code_and_of_the_formulas():
    hold = zw.servo.Feedback(lambda q, v, t, p: -3.0 * v[:1] - 2.0 * q[1:], [[1.0], [0.5]])
    example = zw.gallery.load("pendulum")
    model = zw.Model(
        example.model.system, example.model.constraints.members, example.model.params, servo=hold
    )
    code = c_code(model, example.q0, example.v0)
    assert max(agreement(code, example.q0, example.v0, states=20).values()) < 1e-12
    assert "3" in str(zw.derive(model, example.q0, example.v0, states=20).acceleration)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: zw.Model(m.system, m.constraints.members, m.params, singular_mass=True), "mass"),
        (lambda m: m.system, "expected a zw.Model"),
    ],
)
def test_what_code_cannot_hold_is_refused(change, said):
    with pytest.raises(zw.ModelError, match=said):
        c_code(change(zw.gallery.load("pendulum").model))


@pytest.fixture(scope="module")
def ball():
    example = zw.gallery.load("bouncing-ball")
    code = c_code(example.model, example.q0, example.v0)
    return example, code, Library(code)


def steps_of(library, example, end, h=1e-3):
    """q, v and how gaps and frictions are held after fixed steps that follow changes."""
    modes = np.zeros(library.loose + 1)
    q, v = library.change(example.q0, example.v0, modes)
    _, q, v = library.step(h, 0.0, q, v, steps=round(end / h), modes=modes)
    return q, v, modes


def test_a_ball_bounces_and_rests_as_its_closed_form(ball):
    """From 1 m with e = 0.5 it rests at √(2h/g)(1 + e)/(1 − e) = 1.3545709 s."""
    example, _, library = ball
    g, first = 9.81, np.sqrt(2 / 9.81)
    (_, height), (_, rate), modes = steps_of(library, example, 1.2)
    # after n impacts: 1 + 2 (e + e² + …) falls, and e^n of the speed
    hits = [first * (1 + 2 * sum(0.5**k for k in range(1, n))) for n in (1, 2, 3)]
    since, begun = 1.2 - hits[-1], 0.5**3 * g * first
    assert 0 < since < 2 * begun / g and modes[0] == 0
    assert height == pytest.approx(begun * since - g * since**2 / 2, abs=1e-11)
    assert rate == pytest.approx(begun - g * since, abs=1e-10)
    rest = first * 1.5 / 0.5
    assert rest == pytest.approx(1.3545709, abs=5e-8)
    assert steps_of(library, example, rest - 1e-3)[2][0] == 0
    q, v, modes = steps_of(library, example, rest)
    assert modes[0] == 1 and abs(q[1]) < 1e-15 and v[1] == 0.0


def test_a_host_with_its_own_integrator_asks_for_events_and_changes(ball):
    _, _, library = ball
    fast, modes = [0.3, -2.0], np.zeros(2)
    assert library.events([0.0, 0.1], fast)[0] == pytest.approx(-0.1, abs=1e-12)
    found = library.events([0.0, -1e-9], fast)
    assert found[0] > 0
    q, v = library.change([0.0, -1e-9], fast, modes, events=found)
    np.testing.assert_allclose(v, [0.3, 1.0], rtol=1e-12)
    assert modes[0] == 0 and modes[1] == pytest.approx(2.0)
    # at rest it closes, and its force is the weight
    q, v = library.change([0.0, 0.0], [0.3, 0.0], modes)
    assert modes[0] == 1
    np.testing.assert_allclose(library.motion(q, v, modes=modes)[1], [0.0, 9.81], rtol=1e-12)


def test_the_test_driver_of_what_lets_go_passes(ball, tmp_path):
    _, code, _ = ball
    code.write(tmp_path)
    words = f"{compiler()} -std=c99 -Wall -Wextra -Werror {code.name}.c {code.name}_test.c -lm"
    subprocess.run([*words.split(), "-o", "run"], cwd=tmp_path, check=True)
    assert subprocess.run("./run", cwd=tmp_path, capture_output=True).returncode == 0


@pytest.mark.slow
def test_a_spring_with_dry_friction_loses_four_times_its_band_a_cycle():
    """Its turning points come 2F/k nearer each half cycle; steps keep their order through them."""
    example = zw.gallery.load("dry-spring")
    library = Library(c_code(example.model, example.q0, example.v0))
    end = 2.0
    run = zw.simulate(example.model, example.q0, example.v0, duration=end, rtol=1e-12)
    errors = [abs(steps_of(library, example, end, h)[0][0] - run.q[-1, 0]) for h in (0.02, 0.01)]
    assert 12 < errors[0] / errors[1] < 20


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["thrown-sphere", "block-on-incline", "rocking-block", "falling-ladder"]
)
def test_steps_follow_changes_of_larger_models(name):
    """Impacts, sliding and sticking."""
    example = zw.gallery.load(name)
    library = Library(c_code(example.model, example.q0, example.v0))
    run = zw.simulate(example.model, example.q0, example.v0, duration=1.5, rtol=1e-11)
    q, v, _ = steps_of(library, example, 1.5)
    np.testing.assert_allclose([*q, *v], [*run.q[-1], *run.v[-1]], atol=1e-7)
