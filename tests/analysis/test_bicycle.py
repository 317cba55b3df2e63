"""The benchmark bicycle of Meijaard, Papadopoulos, Ruina and Schwab (2007), Proc. R. Soc. A 463,
1955-1982, table 2, from four free bodies with joints and rolling wheels.
"""

from pathlib import Path

import numpy as np
import pytest

import zwang as zw
from zwang.mechanism import read

pytestmark = pytest.mark.slow

# speed [m/s]: real eigenvalues, and of the weave its real part and the imaginary one [1/s]
PUBLISHED = {
    0: ([-5.53094371765393, -3.13164324790656, 3.13164324790656, 5.53094371765393], ()),
    1: ([-7.11008014637442, -3.13423125066578], (3.52696170990070, 0.80774027519930)),
    2: ([-8.67387984831735, -3.07158645641514], (2.68234517512745, 1.68066296590675)),
    3: ([-10.35101467245920, -2.63366137253667], (1.70675605663975, 2.31582447384325)),
    4: ([-12.15861426576447, -1.42944427361326], (0.41325331521125, 3.07910818603206)),
    5: ([-14.07838969279822, -0.32286642900409], (-0.77534188219585, 4.46486771378823)),
    6: ([-16.08537123098026, -0.00406690076970], (-1.52644486584142, 5.87673060598709)),
    7: ([-18.15788466125262, 0.10268170574766], (-2.13875644258362, 7.19525913329805)),
    8: ([-20.27940894394569, 0.14327879765713], (-2.69348683581097, 8.46037971396931)),
    9: ([-22.43788559040858, 0.15790184030917], (-3.21675402252485, 9.69377351531791)),
    10: ([-24.62459635017404, 0.16105338653172], (-3.72016840437287, 10.90681139476287)),
}
CLOSE = 1e-10
"""Largest difference, of eigenvalues up to 25."""


@pytest.fixture(scope="module")
def bicycle(tmp_path_factory):
    return benchmark_bicycle(tmp_path_factory.mktemp("bicycle"))


def benchmark_bicycle(folder: Path):
    """The gallery's bicycle with the products of inertia of the benchmark (z is up here), at 1 m/s
    straight ahead; the front wheel rolls by two joints, so that three rows are redundant.
    """
    import zwang.gallery.mechanisms as mechanisms

    text = (Path(mechanisms.__file__).parent / "bicycle.toml").read_text()
    again = 'again = { kind = "rolling", between = ["ground", "front_wheel"], radius = 0.35 }'
    for old, new in (
        ("[9.2, 11.0, 2.8]", "[9.2, 11.0, 2.8, 0, -2.4, 0]"),
        ("[0.05892, 0.06, 0.00708]", "[0.05892, 0.06, 0.00708, 0, 0.00756, 0]"),
        ("[run]", f"{again}\n\n[run]"),
    ):
        assert old in text
        text = text.replace(old, new)
    path = folder / "bicycle.toml"
    path.write_text(text)
    made = read(path, speed=1.0, lean=0.0)
    return made.model, np.asarray(made.start_state.q), np.asarray(made.start_state.v)


@pytest.mark.parametrize("speed", PUBLISHED)
def test_the_bicycle_has_its_published_eigenvalues(bicycle, speed):
    model, q, v = bicycle
    linear = zw.analysis.linearize(model, q, speed * v)
    assert linear.kind == ("steady motion" if speed else "equilibrium")
    assert linear.defect < 1e-12
    real, weave = PUBLISHED[speed]
    expected = [complex(x) for x in real]
    if weave:
        expected += [complex(*weave), complex(weave[0], -weave[1])]
    found = linear.reduced().poles
    nearest = [np.argmin(np.abs(found - x)) for x in expected]
    assert len(set(nearest)) == 4
    for i, x in zip(nearest, expected, strict=True):
        assert abs(found[i] - x) < CLOSE
    # the rest is the family of speeds, and at rest the way along which it could be pushed
    rest = np.delete(found, nearest)
    assert np.all(np.abs(rest) < 1e-6) and len(rest) <= 2
    assert linear.stable == (speed in (5, 6))


def test_the_weave_of_the_bicycle_ends_with_the_slope_of_its_growth(bicycle):
    """The weave speed is that of table 2; the slope is that of eigenvalues nearby."""
    model, q, v = bicycle
    branch = zw.analysis.continuation(
        model, q, v=4.0 * v, over="rear_frame.vx", to=(4.0, 5.0), step=0.5
    )
    (point,) = branch.hopf_points
    assert abs(point.value - 4.29238253634111) < 1e-8
    assert point.slope is not None
    ends = [
        zw.analysis.linearize(model, q, x * v).eigenvalues
        for x in point.value + np.array([-1e-3, 1e-3])
    ]
    low, high = (x[np.argmin(np.abs(x - point.eigenvalue))] for x in ends)
    assert abs(point.slope - (high - low) / 2e-3) < 1e-5
