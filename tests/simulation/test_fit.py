"""Parameters identified from noisy data have errors within the stated uncertainty."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw

TIMES = np.linspace(0.0, 2.0, 41)


def pendulum():
    """A pendulum with viscous friction: `length` and `friction` can be told from its motion, `mass`
    only with them known.
    """
    system = zw.System(
        nq=2,
        mass_matrix=lambda q, t, p: p["mass"] * jnp.ones(2),
        force=lambda q, v, t, p: jnp.array([0.0, -p["mass"] * 9.81]) - p["oil"]["friction"] * v,
        coordinates=("x", "y"),
    )
    rod = zw.Holonomic(lambda q, t, p: q @ q - p["length"] ** 2, name="rod")
    return zw.Model(
        system,
        [rod],
        {"mass": 1.0, "length": 1.0, "oil": {"friction": 0.3}},
        name="pendulum in oil",
    )


MODEL = pendulum()
START = np.array([1.0, 0.0]), np.zeros(2)
TRUTH = {"length": 1.0, "oil.friction": 0.3}


@pytest.fixture(scope="module")
def clean():
    return np.asarray(zw.trajectory(MODEL, *START, TIMES).q)


def noisy(clean, seed, size=0.01):
    data = clean + size * np.random.default_rng(seed).standard_normal(clean.shape)
    return {"x": data[:, 0], "y": data[:, 1]}


def found(clean, seed, **options):
    guess = {"length": 1.3, "oil.friction": 0.1}
    return zw.fit(MODEL, TIMES, noisy(clean, seed), guess, q0=START[0], v0=START[1], **options)


@pytest.mark.slow
def test_truth_within_uncertainty(clean):
    """Over twelve sets of data the errors are as large as the stated standard deviations, and χ² is
    what it should be.
    """
    fits = [found(clean, seed, noise=0.01) for seed in range(12)]
    for name, truth in TRUTH.items():
        z = [(fit.parameters[name] - truth) / fit.uncertainty[name] for fit in fits]
        assert 0.5 < np.sqrt(np.mean(np.square(z))) < 1.6, (name, z)
        assert fits[0].uncertainty[name] < 0.05 * truth
    assert (
        0.85 < np.mean([np.mean(fit.residual**2) for fit in fits]) < 1.15
    )  # 984 observations: ± 0.045


@pytest.mark.slow
def test_noise_is_estimated(clean):
    fit = found(clean, 3)
    assert all(0.007 < size < 0.013 for size in fit.noise.values())
    assert np.allclose(fit.correlation, fit.correlation.T) and np.allclose(
        np.diag(fit.correlation), 1
    )
    assert "length" in str(fit) and "±" in str(fit)
    assert np.isclose(fit.model.params["oil"]["friction"], fit.parameters["oil.friction"])


@pytest.mark.slow
def test_exact_data_give_exact_parameters(clean):
    fit = zw.fit(
        MODEL,
        TIMES,
        {"x": clean[:, 0]},
        {"length": 1.3, "oil.friction": 0.1},
        q0=START[0],
        v0=START[1],
        noise=1e-3,
    )
    assert all(abs(fit.parameters[name] - truth) < 1e-8 for name, truth in TRUTH.items())


@pytest.mark.slow
def test_gaps_and_bounds(clean):
    data = noisy(clean, 5)
    data["x"][10:20] = np.nan
    fit = zw.fit(
        MODEL,
        TIMES,
        data,
        {"length": 1.3, "oil.friction": 0.1},
        q0=START[0],
        v0=START[1],
        noise=0.01,
        bounds={"length": (1.2, 2.0)},
    )
    assert fit.at_bound == ("length",) and fit.parameters["length"] == pytest.approx(1.2)
    assert len(fit.residual) == 2 * len(TIMES) - 10


@pytest.mark.slow
def test_start_is_fitted_too(clean):
    angle = 0.05
    q0 = np.array([np.cos(angle), -np.sin(angle)])
    fit = zw.fit(
        MODEL,
        TIMES,
        noisy(clean, 7, 1e-3),
        {"length": 1.1, "oil.friction": 0.1},
        q0=q0,
        v0=[0.1, 2.0],
        noise=1e-3,
        fit_start=True,
    )
    assert (
        abs(fit.parameters["length"] - 1.0) < 5e-3
        and abs(fit.parameters["oil.friction"] - 0.3) < 2e-2
    )
    assert np.max(np.abs(np.asarray(fit.start.q) - START[0])) < 5e-3
    assert fit.labels == ("length", "oil.friction", "start position 0", "start velocity 0")


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"parameters": ["mass", "length", "oil.friction"]},
            "cannot tell 'mass', 'oil.friction' apart|'oil.friction', 'mass' apart",
        ),
        (
            {"parameters": ["lenght"]},
            "unknown parameter 'lenght' of pendulum in oil; did you mean 'length'",
        ),
        ({"parameters": ["oil"]}, "is a group; name one of its members: oil.friction"),
        ({"parameters": {"length": [1.0, 2.0]}}, r"has shape \(2,\), expected \(\)"),
        ({"bounds": {"length": (2.0, 3.0)}}, "not inside its bounds"),
        ({"bounds": {"mass": (0.0, 3.0)}}, "not among the parameters to find"),
        ({"observed": {"z": np.zeros(41)}}, "'z' is no coordinate"),
        ({"observed": {"x": np.zeros(40)}}, r"\(40,\) values for \(41,\) times"),
        ({"observed": {"x": np.full(41, np.nan)}}, "'x' has no finite value"),
        ({"observed": {"x": np.r_[np.zeros(40), np.inf]}}, "'x' holds inf, expected values up to"),
        ({"noise": -1.0}, "positive standard deviations"),
        ({"bounds": {"length": (2.0, 0.5)}}, "2.0 … 0.5, expected a lowest value below"),
        ({"bounds": {"length": (np.nan, 2.0)}}, "nan … 2.0, expected a lowest value"),
        ({"parameters": {"length": np.nan}}, "first guess of 'length' is nan, expected finite"),
        ({"times": TIMES[::-1]}, "times must be finite and increasing"),
        ({"rtol": 2.0}, "rtol is 2.0, expected .* at most 1"),
        pytest.param(
            {"max_steps": 3}, "stops early: the step limit was reached", marks=pytest.mark.slow
        ),
    ],
)
def test_wrong_input(clean, change, says):
    given = {
        "times": TIMES,
        "observed": noisy(clean, 0),
        "parameters": ["length"],
        "q0": START[0],
        "v0": START[1],
        **change,
    }
    with pytest.raises(zw.ModelError, match=says):
        zw.fit(MODEL, **given)


GUESS = {"length": 1.3, "oil.friction": 0.1}


@pytest.mark.parametrize(
    ("given", "doubts"),
    [
        ({}, ()),
        ({"noise": 0.01}, ()),
        ({"scale": 1e3}, ("the curves of 'x', 'y' do not follow their data",)),
        ({"scale": 1.1, "noise": 0.01}, ("times the noise that was given",)),
        (
            {"bounds": {"oil.friction": (0.0, 0.2)}, "noise": 0.01},
            ("'oil.friction' ended on a bound", "times the noise that was given"),
        ),
    ],
)
def test_a_fit_that_does_not_follow_its_data_says_so(clean, given, doubts):
    """Data in other units, a value beyond its bounds: the search ends like any other."""
    scale = given.pop("scale", 1.0)
    data = {name: scale * x for name, x in noisy(clean, 4).items()}
    fit = zw.fit(MODEL, TIMES, data, GUESS, q0=START[0], v0=START[1], **given)
    assert len(fit.warnings) == len(doubts), fit.warnings
    assert all(says in found for says, found in zip(doubts, fit.warnings, strict=True))
    assert str(fit).count("warning: ") == len(doubts)


@pytest.mark.slow
def test_an_effect_that_is_gone_where_the_search_ends_is_named():
    """Friction that saturates at 1 N s/m: beyond it the data say nothing."""

    def force(q, v, t, p):
        return jnp.array([0.0, -9.81]) - jnp.minimum(p["friction"], 1.0) * v

    system = zw.System(2, lambda q, t, p: jnp.ones(2), force, coordinates=("x", "y"))
    rod = zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="rod")
    model = zw.Model(system, [rod], {"friction": 0.2})
    still = {"x": np.ones(41)}
    fit = zw.fit(model, TIMES, still, ("friction",), q0=START[0], v0=START[1])
    assert fit.uncertainty["friction"] == np.inf
    assert "where the search ended, 'friction' has no effect" in fit.warnings[-1]


@pytest.mark.slow
def test_slider_crank():
    """Three parameters of a mechanism from the noisy angle of its crank and place of its piston (1
    %).
    """
    example = zw.gallery.load("slider-crank")
    model, times = example.model, np.linspace(0.0, 1.0, 201)
    clean = zw.trajectory(model, example.q0, example.v0, times)
    names = {"crank.angle": 2, "piston.x": 6}
    random = np.random.default_rng(11)
    data = {}
    for name, column in names.items():
        curve = np.asarray(clean.q)[:, column]
        data[name] = curve + 0.01 * np.std(curve) * random.standard_normal(len(times))
    truth = {
        "mass[2]": 0.5,
        "springs.distance.stiffness[0,0]": 200.0,
        "springs.slide.damping[0,0]": 3.0,
    }
    fit = zw.fit(
        model,
        times,
        data,
        {name: 1.2 * x for name, x in truth.items()},
        q0=example.q0,
        v0=example.v0,
    )
    for name, value in truth.items():
        # mass and stiffness act together, so that these data tell each of them to 6 and 20 % only
        assert abs(fit.parameters[name] - value) < 3 * fit.uncertainty[name] < 0.75 * value, str(
            fit
        )


@pytest.fixture(scope="module")
def frictionless():
    """The pendulum without friction, whose mass has no effect on its motion, and its curves."""
    model = zw.Model(
        MODEL.system,
        MODEL.constraints.members,
        {"mass": 1.0, "length": 1.0, "oil": {"friction": 0.0}},
        name="pendulum in a vacuum",
    )
    return model, np.asarray(zw.trajectory(model, *START, TIMES).q)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("noise", [None, 0.01])
def test_a_single_parameter_without_effect_is_named(frictionless, noise):
    """With one unknown the ratio of singular values is 1 whatever its effect."""
    model, q = frictionless
    observed = noisy(q, 3, 1e-3)
    with pytest.raises(zw.ModelError, match="'mass' has no effect on the data"):
        zw.fit(model, TIMES, observed, ("mass",), q0=START[0], v0=START[1], noise=noise)


@pytest.mark.slow
def test_a_parameter_whose_effect_is_far_below_the_given_noise_has_no_effect(frictionless):
    model, q = frictionless
    with pytest.raises(zw.ModelError, match="'oil.friction' has no effect .* or noise"):
        zw.fit(
            model,
            TIMES,
            {"x": q[:, 0], "y": q[:, 1]},
            {"oil.friction": 1e-6},
            q0=START[0],
            v0=START[1],
            noise=0.1,
        )


def test_a_weak_parameter_beside_a_strong_one_is_found_if_the_data_show_it(clean):
    """The effect of a weak one is judged against the data, not against that of the strongest."""
    guess = {"length": 1.0, "oil.friction": 1e-7}
    observed = {"x": clean[:, 0], "y": clean[:, 1]}
    fit = zw.fit(MODEL, TIMES, observed, guess, q0=START[0], v0=START[1])
    assert fit.parameters["oil.friction"] == pytest.approx(0.3, rel=1e-5)
