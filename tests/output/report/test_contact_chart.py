"""The figure of contacts: bands, impulses, and friction within its cone."""

import numpy as np

import zwang as zw
from zwang.output.report.contact import contact


def test_a_block_that_rocks_shows_its_edges_impulses_and_friction():
    run = zw.gallery.load("rocking-block").run(duration=1.0, rtol=1e-8)
    chart, _ = contact(run)
    bands, impulses, friction = chart.figure.panels
    table = chart.tables["held"]
    held = {name: values for (name, _), values in zip(table.columns, table.values.T, strict=True)}
    # it stands on one edge at a time, whose grip sticks
    assert np.all(held["left"] + held["right"] == 1)
    np.testing.assert_array_equal(held["left grip"], held["left"])
    hits = [x for x in run.switches if x.hit]
    assert [c.label for c in impulses.curves] == ["left", "right"]
    sizes = np.concatenate([c.y[1::3] for c in impulses.curves])
    assert sorted(sizes) == sorted(v[0] for x in hits for v in x.multipliers.values())
    used = np.concatenate([c.y for c in friction.curves])
    assert 0 < np.nanmax(used) < 1
    # a band ends where its impact is
    ends = np.concatenate([c.x[1::3] for c in bands.curves])
    assert all(np.any(np.abs(ends - x.time) < 1e-12) for x in hits)


def test_friction_lies_in_its_cone_with_its_sign_and_slides_by_its_own_speed():
    """A mass on a belt, its spring pulling back: it sticks up to 0.5 N, and slides by 0.3 N."""
    example = zw.gallery.load("belt-oscillator")
    run = example.run(duration=3.0, rtol=1e-8)
    _, chart = contact(run)
    (panel,) = chart.figure.panels
    *edges, belt = panel.curves
    stiffness, load = example.model.params["stiffness"], belt.y[0]
    assert np.all(belt.y == load) and len(edges) == 2
    sticks = np.abs(run.v[:, 0] - run.v[0, 0]) < 1e-9
    assert sticks.any() and not sticks.all()
    np.testing.assert_allclose(belt.x[sticks], stiffness * run.q[sticks, 0], atol=1e-9)
    mu = [np.unique(np.round(belt.x[~sticks] / load, 12)), max(edges[1].x) / load]
    assert mu == [[example.model.params["kinetic"]], example.model.params["static"]]


def test_a_model_that_holds_for_good_has_none():
    assert contact(zw.gallery.load("pendulum").run(duration=0.1)) == []
