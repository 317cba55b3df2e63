"""Closed forms compared with the numeric model, and with the equations printed in the papers."""

import html
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import zwang as zw
from zwang.codegen.names import identifier
from zwang.codegen.samples import samples
from zwang.symbolic import equations, weighted_pseudoinverse
from zwang.symbolic.elimination import plain
from zwang.symbolic.printing import page

AGREES = 1e-12
PAPER = [
    "four-bar", "scara", "flexible-joint", "rolling-disk", "knife-edge", "spherical-pendulum",
    "five-bar",
    "cart-pole-track", "coordinated-robots",
]  # fmt: skip


def derived(name, **settings):
    example = zw.gallery.load(name, **settings)
    return zw.derive(example.model, example.q0, example.v0)


def symbol(found, name):
    (match,) = [s for s in found.latex_names if s.name == name]
    return match


@pytest.fixture(scope="module")
def pendulum():
    return derived("pendulum")


@pytest.fixture(scope="module")
def spring():
    return derived("two-mass-spring", rate=0.0)


def worst(found):
    return max(x for x in found.digits.values() if x is not None)


@pytest.mark.slow
def test_every_printed_function_agrees_at_a_thousand_states(pendulum, spring):
    for found in (pendulum, spring):
        assert found.states == 1000 and worst(found) < AGREES


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPER)
def test_every_printed_function_of_larger_systems_agrees(name):
    assert worst(derived(name)) < AGREES


@pytest.mark.slow
@pytest.mark.parametrize("name", ["appell-hamel", "rough-incline"])
def test_velocities_and_friction_may_enter_nonlinearly(name):
    assert worst(derived(name)) < AGREES


def test_the_pendulum_has_the_closed_form_of_the_textbook(pendulum):
    x, y, u, v, g = (symbol(pendulum, n) for n in ("x", "y", "x_dot", "y_dot", "gravity"))
    tension = (g * y - u**2 - v**2) / (x**2 + y**2)
    expected = sp.Matrix([x * tension, y * tension - g])
    assert sp.simplify(pendulum.acceleration - expected) == sp.zeros(2, 1)


def test_the_control_of_the_servo_paper_comes_out_as_printed(spring):
    """Eq. (47): F = −(1 + m₁/m₂) k (x₂ − x₁ − l)."""
    x1, x2, m1, m2 = (symbol(spring, n) for n in ("x1", "x2", "mass1", "mass2"))
    k, l = symbol(spring, "stiffness"), symbol(spring, "length")
    assert sp.simplify(spring.control[0] + (1 + m1 / m2) * k * (x2 - x1 - l)) == 0


@pytest.mark.slow
def test_the_driven_spiral_of_the_review_comes_out_as_printed():
    """Eq. (57) with both constraints, whose residuals at velocity level stand in eq. (59)."""
    found = derived("log-spiral")
    theta, rate = symbol(found, "theta"), symbol(found, "theta_dot")
    r_rate = symbol(found, "r_dot")
    expected = sp.Matrix([sp.exp(theta / 10) * rate**2 / 100, 0])
    assert sp.simplify(found.acceleration - expected) == sp.zeros(2, 1)
    residuals = sp.Matrix([r_rate - sp.exp(theta / 10) * rate / 10, rate + 1])
    assert sp.simplify(found.equations.psi - residuals) == sp.zeros(2, 1)


def test_energy_is_found_as_a_first_integral(pendulum):
    assert list(pendulum.integrals) == ["energy"]


def test_a_cyclic_coordinate_keeps_its_momentum():
    import jax.numpy as jnp

    kinetic = lambda q, v, t, p: 0.5 * p["m"] * (v[0] ** 2 + q[0] ** 2 * v[1] ** 2)
    system = zw.Lagrangian(
        kinetic, lambda q, t, p: -p["m"] / q[0] + 0.0 * jnp.sum(q), nq=2,
        coordinates=["r", "angle"],
    )  # fmt: skip
    found = zw.derive(zw.Model(system, [], {"m": 2.0}, name="planet"), [1.0, 0.0], [0.1, 1.0])
    assert set(found.integrals) == {"momentum of angle", "energy"}


@pytest.mark.slow
def test_redundant_rows_are_left_out_and_named():
    example = zw.gallery.load("pendulum")
    rod = example.model.constraints.members[0]
    twice = zw.Holonomic(lambda q, t, p: 2 * rod.phi(q, t, p), name="again")
    model = zw.Model(example.model.system, [rod, twice], example.model.params, name="twice")
    found = zw.derive(model, example.q0, example.v0)
    assert found.rows == (0,) and worst(found) < AGREES
    assert any("rank 1 of 2 rows" in x for x in found.assumptions)


def test_files_hold_the_functions_and_the_digits(pendulum, tmp_path):
    names = {path.name for path in pendulum.write(tmp_path)}
    endings = (".html", ".tex", ".py", ".c", ".h", "_test.c", ".m", ".jl")
    assert names == {f"pendulum{x}" for x in endings}
    for ending in (".html", ".py", ".tex", ".m", ".jl", ".h"):
        assert "1000 random states" in (tmp_path / f"pendulum{ending}").read_text()
    assert "\\begin{document}" in (tmp_path / "pendulum.tex").read_text()


def test_the_page_is_one_document_whose_formulas_are_mathml(pendulum):
    """It is read by a parser of XML, which knows nothing of HTML's leniency."""
    import xml.etree.ElementTree as ET

    page = pendulum.sources["pendulum.html"].replace("<!doctype html>", "")
    page = page.replace('<meta charset="utf-8">', "")
    math = list(ET.fromstring(page).iter("math"))
    # q, v, p before they are used, M, F, φ, ψ, A, b, v̇, Q_c
    assert len(math) == 11 + len(pendulum.integrals)
    assert [x[0].text for x in math[:4]] == ["q", "v", "p", "M"]
    assert "̇" not in page and "˙" in page and "_dot" not in page


def test_the_report_of_a_run_prints_the_derivation_that_it_is_given(pendulum, tmp_path):
    example = zw.gallery.load("pendulum")
    run = zw.simulate(example.model, example.q0, example.v0, duration=0.1, samples=3)
    text = run.report(tmp_path / "report.html", derivation=pendulum).read_text()
    assert text.count("<math") == pendulum.sources["pendulum.html"].count("<math")
    assert 'href="#derivation"' in text and "1000 random states" in text
    assert "<math" not in run.report(tmp_path / "report.html").read_text()


def test_a_run_without_formulas_says_why():
    import jax.numpy as jnp

    from zwang.cli.run import _derivation

    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: -q[jnp.argmax(q)] * q)
    target = SimpleNamespace(own_model=zw.Model(system), q0=[1.0, 2.0], v0=[0.0, 0.0])
    silent, warnings = SimpleNamespace(says=lambda text: None, ends=lambda text: None), []
    assert _derivation(target, silent, silent, warnings) is None
    assert "the report has no formulas" in warnings[0] and "argmax" in warnings[0]


def test_a_large_model_is_refused_before_it_is_traced():
    example = zw.gallery.load("n-four-bar", N=30)
    with pytest.raises(zw.ModelError, match="expected at most 40 where formulas are printed"):
        zw.derive(example.model, example.q0, example.v0)


def test_some_forms_may_be_chosen(pendulum, tmp_path):
    assert [x.name for x in pendulum.write(tmp_path, ["latex"])] == ["pendulum.tex"]
    with pytest.raises(zw.ModelError, match="julia"):
        pendulum.write(tmp_path, ["fortran"])


def test_the_julia_text_has_the_values_of_the_model(pendulum, spring):
    """Julia is rarely installed: a small evaluator of the tests reads what was printed."""
    from .julia_text import evaluated

    for found in (pendulum, spring):
        source = found.sources[f"{identifier(found.model.name)}.jl"]
        given = samples(found.model, count=20, seed=3)
        reference = given.reference()
        wanted = {"acceleration": reference.acceleration, "control": reference.u}
        for name in wanted.keys() & found.outputs.keys():
            for i, state in enumerate(zip(given.q, given.v, given.t, given.p, strict=True)):
                values = evaluated(source, name, *state)
                np.testing.assert_allclose(values, wanted[name][i], rtol=1e-11, atol=1e-11)


def test_the_evaluator_of_julia_knows_its_operators():
    from .julia_text import evaluated

    source = """
    function f(q, v, t, p)
        a = q[2]
        b = ((a > 1) ? (-a^2) : ((a < -1) ? (2 ./ a) : (0)))
        return [b, (1//2)*sqrt(4) + 2^-1, -2^2]
    end
    """
    np.testing.assert_allclose(evaluated(source, "f", [0, 3.0], [], 0.0, []), [-9, 1.5, -4])
    np.testing.assert_allclose(evaluated(source, "f", [0, -4.0], [], 0.0, []), [-0.5, 1.5, -4])


def test_what_is_not_executed_is_said(pendulum, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    found = derived("pendulum")
    assert found.digits["Octave: acceleration"] is None
    assert "not executed" in found.verdict() and worst(found) < AGREES


def test_a_wrong_function_is_not_handed_over(monkeypatch):
    from zwang.symbolic.printing import python

    source = python.source
    wrong = lambda *given: {k: x.replace("**2", "**3") for k, x in source(*given).items()}
    monkeypatch.setattr(python, "source", wrong)
    with pytest.raises(zw.ModelError, match="differs from the numeric model"):
        derived("pendulum")


def test_a_model_comes_back_through_its_formulas():
    """Model → SymPy → model: the same acceleration."""
    from zwang.symbolic.functions import Names

    example = zw.gallery.load("log-spiral")
    found = equations(example.model)
    named = found.symbols
    values = dict(zip(named.p, (x for _, x in found.source.parameters), strict=True))
    q, v = np.array([2.0, 1.0]), np.array([0.3, -0.4])
    names = Names(named.q, named.v, values)
    F = names.function(found.F, "F", with_v=True)(q, v, 0.0, names.params)
    np.testing.assert_allclose(F, example.model.system.force(q, v, 0.0, example.model.params))


def test_the_pseudoinverse_of_any_rank_has_a_closed_form():
    x, y, m, n = sp.symbols("x y m n", positive=True)
    A, M = sp.Matrix([[x, y], [2 * x, 2 * y]]), sp.diag(m, n)
    found = weighted_pseudoinverse(A, M)
    put = {x: 0.7, y: -0.4, m: 2.0, n: 0.5}
    root = np.diag(np.sqrt([2.0, 0.5]))
    C = np.array(A.subs(put), float) @ np.linalg.inv(root)
    expected = np.linalg.inv(root) @ np.linalg.pinv(C)
    np.testing.assert_allclose(np.array(found.subs(put), float), expected, rtol=1e-12)


@pytest.mark.slow
def test_names_that_the_printer_uses_itself_may_be_the_users():
    """Coordinates, parameters and intermediate results keep apart."""
    import jax.numpy as jnp

    system = zw.System(
        2,
        lambda q, t, p: jnp.stack([p["d_1"], p["s0"]]),
        lambda q, v, t, p: jnp.stack([jnp.sin(q[1]) * p["c1"], -p["s0"] * p["lambda"] * v[0] ** 2]),
        coordinates=["y0_1_1", "end"],
    )
    row = zw.Nonholonomic(lambda q, v, t, p: jnp.cos(q[1]) * v[0] + q[0] * jnp.exp(q[1]) * v[1])
    params = {"d_1": 1.5, "s0": 0.7, "c1": 2.0, "lambda": 0.3}
    found = zw.derive(zw.Model(system, [row], params, name="if"), [1.0, 0.5], [0.2, 0.3])
    assert worst(found) < AGREES


@pytest.mark.slow
def test_a_larger_matrix_than_two_by_two_is_printed_as_definitions():
    import jax.numpy as jnp

    def mass(q, t, p):
        c = jnp.cos(q[0] - q[1])
        return (
            jnp.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.0]])
            .at[0, 1]
            .add(0.1 * c)
            .at[1, 0]
            .add(0.1 * c)
        )

    force = lambda q, v, t, p: jnp.stack([jnp.sin(q[0]), v[1] * v[2], -q[2]])
    rows = zw.Holonomic(
        lambda q, t, p: jnp.stack([q[0] ** 2 + q[1] * q[2] - 1, jnp.sin(q[0]) - q[2] + t])
    )
    model = zw.Model(zw.System(3, mass, force), [rows], name="dense")
    found = zw.derive(model, [0.5, 0.6, 0.7], [0.1, -0.2, 0.3])
    assert found.definitions and worst(found) < AGREES
    assert r"\begin{align*}" in found.latex
    # one letter, with what tells it apart above and its numbers below
    assert r"z_{2, 1}^{\mathrm{c}} &=" in found.latex and "zc_" not in found.latex
    letter = "<msubsup><mi>z</mi><mn>2 1</mn><mtext>c</mtext></msubsup>"
    assert letter in found._repr_html_() and "zc" not in found._repr_html_()


def test_parentheses_of_sums_with_fractions_or_cases_are_drawn_as_high_as_these():
    x, y = sp.symbols("x y", real=True)
    shown = lambda expression: page._Printer({}).doprint(expression)
    low = shown(y * (x + 1))
    assert "<mo>(</mo>" in low and page.ROUND not in low
    for high in (y * (x + 1 / y), (1 + sp.Piecewise((x, x > 0), (y, True))) ** 2):
        assert page.ROUND in shown(high) and "<mo>(</mo>" not in shown(high)


def test_squares_of_sine_and_cosine_are_added_and_cases_decided():
    x, y, m = sp.symbols("x y m", real=True)
    square = lambda f: f(x) ** 2
    assert plain(3 * m * square(sp.sin) + y + 3 * m * square(sp.cos)) == 3 * m + y
    assert plain(square(sp.sin) / m + square(sp.cos) / m) == 1 / m
    assert plain(square(sp.sin) - square(sp.cos)) == square(sp.sin) - square(sp.cos)
    inner = sp.Piecewise((1 / y, y > 0), (1, True))
    decided = plain(sp.Piecewise((x * inner, y > 0), (0, True)))
    assert decided == sp.Piecewise((x / y, y > 0), (0, True))


@pytest.mark.slow
def test_formulas_have_cases_fractions_greek_letters_and_rows_as_declared():
    system = zw.System(
        2,
        lambda q, t, p: jnp.stack([p["m"], p["J"] * (jnp.sin(q[1]) ** 2 + jnp.cos(q[1]) ** 2)]),
        lambda q, v, t, p: jnp.stack([jnp.where(v[0] > 0, -p["mu"], q[0] / 2), 0.0]),
        coordinates=("x", "theta_1"),
    )
    second = zw.Holonomic(lambda q, t, p: q[0] - q[1], name="b, declared first")
    first = zw.Holonomic(lambda q, t, p: q[1] - jnp.sin(t), name="a, declared second")
    found = zw.derive(zw.Model(system, [second, first], params={"m": 1.0, "J": 2.0, "mu": 0.3}))
    page, latex = html.unescape(found._repr_html_()), found.latex
    assert found.equations.M[1, 1] == found.equations.symbols.p[0]
    assert "otherwise" in page and "piecewise" not in page and "<mi>μ</mi>" in page
    assert r"\begin{cases}" in latex and r"\mu" in latex and r"\frac{x}{2}" in latex
    assert "J, m, μ > 0." in found.assumptions and "J, m, μ > 0." in page
    assert r"$\mu$ > 0." in latex and latex.index("p = (") < latex.index("M = ")
    assert r"$A^{\oplus} = " in latex and "enforces A dv/dt = b" in page
    assert [str(x) for x in found.equations.phi] == ["-theta_1 + x", "theta_1 - sin(t)"]
