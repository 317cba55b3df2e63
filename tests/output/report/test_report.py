"""The report: self-contained, complete, safe against malicious names, and quick."""

import html.parser
import re
import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib.figure import Figure

import zwang as zw
from zwang.mechanism import Reaction
from zwang.output.report import summarize, write_report
from zwang.output.report.joints import joint_forces
from zwang.output.report.svg import inline_svg
from zwang.output.report.tables import Table
from zwang.plots import Curve, Panel, Picture

EVIL = '<script>alert("x")</script> & $\\frac$'


@pytest.fixture(scope="module")
def run():
    """A pendulum whose names are markup, in coordinates of two units."""
    system = zw.System(
        nq=3,
        mass_matrix=lambda q, t, p: jnp.ones(3),
        force=lambda q, v, t, p: jnp.array([0.0, -9.81, 0.0]),
        potential=lambda q, t, p: 9.81 * q[1],
        coordinates=["x", EVIL, "_turn"],
        units=["m", "m", "rad"],
    )
    rod = zw.Holonomic(lambda q, t, p: q[:2] @ q[:2] - 1.0, name=EVIL)
    model = zw.Model(system, [rod], name=EVIL)
    return zw.simulate(model, [1.0, 0.0, 0.0], [0.0, 0.0, 0.1], duration=1.0, samples=41)


def exact(t):
    return {"_turn": 0.1 * t}


def circle(run):
    figure = Figure()
    figure.subplots().plot(run.q[:, 0], run.q[:, 1], color="black")
    return figure


def line(run):
    curves = [
        Curve(run.q[:, 0], run.q[:, 1]),
        Curve([0, 1], [0, 1], "a bar"),
        Curve(run.q[:, 1], run.q[:, 0], sketch=True),
    ]
    return Picture([Panel(curves, "y [m]")], "x [m]")


def broken(run):
    raise ValueError("no such angle")


@pytest.fixture(scope="module")
def written(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    figures = {"circle": circle, "line": line, "broken": broken, "text": lambda run: "no figure"}
    complaints = write_report(
        run,
        folder / "report.html",
        figures=figures,
        exact=exact,
        description=EVIL,
        phases=[EVIL],
        settings={"Model": {EVIL: EVIL}},
        command=EVIL,
        wall_time={"integration": 0.01, EVIL: 1.0},
    )
    return folder, (folder / "report.html").read_text(), complaints


class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.ids, self.links, self.scripts = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.scripts += [f"{name}=" for name, _ in attrs if tag == "script"]
        self.ids += [value for name, value in attrs if name == "id"]
        self.links += [value for name, value in attrs if name in ("href", "src", "xlink:href")]


@pytest.fixture(scope="module")
def page(written):
    reader = Reader()
    reader.feed(written[1])
    return reader


def test_nothing_is_loaded_from_a_network(written, page):
    addresses = set(re.findall(r"https?://[^\s\"'<>)]+", written[1]))
    assert all(address.startswith("http://www.w3.org/") for address in addresses), addresses
    assert not {"link", "img", "iframe"} & set(page.tags)
    # the numbers of the figures and the program that draws them, both in the page
    assert page.tags.count("script") == 2 and "src=" not in "".join(page.scripts)
    assert "@import" not in written[1]


def test_names_are_text_and_never_markup(written):
    assert re.findall("<script[^>]*>", written[1])[1:] == ["<script>"]  # that of the page
    assert "<script>alert" not in written[1] and "\\u003cscript>alert" in written[1]
    assert written[1].count("&lt;script&gt;") > 5


def test_every_link_leads_somewhere(written, page):
    folder = written[0]
    for link in page.links:
        assert (
            link[1:] in page.ids
            if link.startswith("#")
            else link == "run.nc" or (folder / link).is_file()
        ), link


def test_identifiers_are_unique(page):
    assert len(page.ids) == len(set(page.ids))


def test_every_section_is_there(page):
    own, standard = (
        {"own0", "exact"},
        {"coordinates", "velocities", "violation", "energy", "forces", "rank", "steps"},
    )
    assert own | standard | {"settings"} <= set(page.ids)
    assert "phase1" in page.ids and page.tags.count("svg") == 11


def test_a_figure_that_cannot_be_drawn_is_told_and_costs_nothing_else(written):
    told, wrong = written[2]
    assert told == "figure 'broken' could not be drawn: ValueError: no such angle"
    assert wrong.endswith("expected a zwang.plots.Picture or a matplotlib Figure, got str")
    assert "no such angle" in written[1]


def test_figures_follow_the_colors_of_the_page(written):
    assert "var(--line0, #0072b2)" in written[1]
    assert not re.search(r"(?<!, )#000000", written[1])


def test_curves_are_there_as_numbers(written, run):
    folder = written[0]
    rows = (folder / "data" / "coordinates.csv").read_text().splitlines()
    assert rows[0].startswith('"time [s]","x [m]",') and len(rows) == 42
    assert np.allclose(np.loadtxt(rows[1:], delimiter=",")[:, 1:], run.q, rtol=1e-14, atol=0)


def test_curves_of_the_models_own_figures_are_numbers_too(written, run):
    for name, heading in (("circle", "x,y"), ("line", "x [m],y [m]")):
        rows = (written[0] / "data" / f"{name}.csv").read_text().splitlines()
        assert rows[0] == heading and np.allclose(
            np.loadtxt(rows[1:], delimiter=","), run.q[:, :2], rtol=1e-14, atol=0
        )


def test_a_phase_plot_has_the_rate_over_the_coordinate(written, run):
    rows = np.loadtxt(
        (written[0] / "data" / "phase1.csv").read_text().splitlines()[1:], delimiter=","
    )
    assert np.allclose(
        rows, np.column_stack([run.steps.t, run.steps.y[:, [1, 4]]]), rtol=1e-14, atol=0
    )


def test_joint_forces_are_there_by_component(run):
    transmitted = {"hinge": Reaction(np.tile([3.0, 4.0], (41, 1)), np.full(41, -2.0))}
    table = joint_forces(run, transmitted).tables["joint_forces"]
    assert table.headings == ["time [s]", "hinge fx [N]", "hinge fy [N]", "hinge τz [N m]"]
    assert np.allclose(table.values, [3.0, 4.0, -2.0], atol=0)


def test_the_summary_is_what_the_dataset_says(run):
    s = summarize(run, exact)
    assert s.violation.value == float(run.dataset["violation"].max())
    assert s.energy.conserved and s.energy.drift == float(
        np.abs(run.dataset["energy"] - run.dataset["energy"][0]).max()
    )
    assert (s.lowest_rank, s.highest_rank, s.rows) == (1, 1, 1)
    assert [(e.coordinate, e.unit) for e in s.errors] == [("_turn", "rad")]
    assert s.errors[0].value == pytest.approx(np.abs(run.q[:, 2] - 0.1 * run.t).max())


def test_energy_that_should_have_stayed_is_missed(run):
    """Nothing is said of a good run; steps of 0.5 s on the same model lose a few per cent."""
    assert summarize(run).energy.warning == ""
    coarse = zw.simulate(
        run.model,
        run.q[0],
        run.v[0],
        duration=1.0,
        samples=3,
        step=0.5,
        start_tolerance=1e-3,
        integrator=zw.methods.Tsit5(),
    )
    assert coarse.result is zw.Result.SUCCESS
    assert re.match(
        r"the energy should stay as it is but changes by \S+ J \(", summarize(coarse).energy.warning
    )


def test_a_free_system_has_a_report_too(tmp_path):
    system = zw.System(nq=1, mass_matrix=lambda q, t, p: jnp.ones(1), force=lambda q, v, t, p: -v)
    run = zw.simulate(zw.Model(system), [0.0], [1.0], duration=1.0, samples=5)
    assert write_report(run, tmp_path / "report.html") == []
    assert summarize(run).violation is None
    assert not summarize(run).energy.conserved
    assert run.save(tmp_path / "run.nc").is_file()


def test_a_table_in_the_page_says_what_it_leaves_out():
    table = Table(np.arange(100.0), [(f"q{i}", "m") for i in range(20)], np.ones((100, 20)))
    headings, rows = table.thinned()
    assert (len(headings), len(rows), len(rows[0])) == (13, 21, 13)
    assert table.note == "21 of 100 instants, 12 of 20 columns"


def test_identifiers_in_a_figure_start_with_its_key():
    for draw in (circle, line):
        svg = inline_svg(draw(type("R", (), {"q": np.eye(2)})), "mine", "a <circle>")
        assert all(i.startswith("mine-") for i in re.findall(r' id="([^"]+)"', svg))
        assert 'aria-label="a &lt;circle&gt;"' in svg


WITHOUT_MATPLOTLIB = """
import sys, types
from pathlib import Path
import numpy as np
import zwang.cli.run, zwang.gallery.servo.drawing, zwang.mechanism.drawing, zwang.output.viewer
from zwang.gallery.drawing import Linkage, curve
from zwang.output.report.page import _own_charts, _section

def late(run):
    from matplotlib.figure import Figure
    figure = Figure()
    figure.subplots().plot(run.t, run.t)
    return figure

def drawn(**figures):
    own, complaints = _own_charts(run, figures)
    assert not complaints, complaints
    return [_section(chart, Path(sys.argv[1])).svg for chart in own]

t = np.linspace(0, 1, 9)
steps = types.SimpleNamespace(t=t, y=np.stack([t, t], 1))
system = types.SimpleNamespace(
    nq=1, coordinates=("q",), velocities=("q",), units=("m",), velocity_units=("m/s",)
)
model = types.SimpleNamespace(system=system)
run = types.SimpleNamespace(t=t, q=t[:, None], steps=steps, model=model)
ours = drawn(bars=Linkage(lambda q: np.array([[[0, 0], [q[0], 1]]])), path=curve("q", "d/dt q"))
assert all(svg.startswith("<svg") for svg in ours)
print("matplotlib" in sys.modules)
(theirs,) = drawn(late=late)
print("matplotlib" in sys.modules, "var(--line0, #0072b2)" in theirs)
"""


@pytest.mark.slow
def test_only_a_users_own_figure_needs_matplotlib(tmp_path):
    """Its import and its figures took three seconds of each `zwang run`. A figure made after a late
    import is in our style, too.
    """
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_MATPLOTLIB, str(tmp_path)], capture_output=True, text=True
    )
    assert done.stdout.split() == ["False", "True", "True"], done.stdout + done.stderr
