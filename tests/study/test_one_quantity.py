"""A study of one quantity on a grid: curves, and no confidence interval, because nothing is
random.
"""

import zwang as zw


def test_a_grid_of_one_quantity_is_shown_as_curves_without_a_confidence_interval(tmp_path):
    example = zw.gallery.load("pendulum")
    study = zw.sweep(
        example.model,
        {"length": [0.5, 1.0, 1.5]},
        lambda x: ([x["length"], 0.0], [0.0, 0.0]),
        duration=0.2,
        samples=3,
        outputs=["y.min"],
    )
    assert "reached the end    3 of 3 (100 %)\n" in str(study)
    found = study.success("y.min < -1e9")
    assert (found.low, found.rate, found.high) == (0.0, 0.0, 0.0)
    page = study.report(tmp_path / "report.html").read_text("utf-8")
    assert 'id="curves"' in page and "y.min [m]" in page
