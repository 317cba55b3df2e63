"""A ball that rolls on a plane without slip."""

import numpy as np
import pytest

import zwang as zw
from zwang.mechanism import read

G = 9.81
FILE = """
world = "space"
{gravity}
[parameters]
slope = {slope}
[bodies.ball]
mass = 2.0
inertia = {inertia}
at = [0, 0, 0.1]
velocity = {velocity}
[ground]
plane = {{ at = [0, 0, 0], axis = ["sin(slope)", 0, "cos(slope)"] }}
[joints]
contact = {{ kind = "rolling-ball", between = ["ground.plane", "ball"], radius = 0.1 }}
"""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("share", [0.4, 2 / 3])
def test_a_ball_rolls_down_a_slope(tmp_path, share):
    """`a = g sin α/(1 + I/(m r²))`: 5/7 of a block's for a solid ball, 3/5 for a shell."""
    path = tmp_path / "ball.toml"
    inertia = [share * 2.0 * 0.1**2] * 3
    path.write_text(FILE.format(gravity="", slope=0.3, inertia=inertia, velocity=[0, 0, 0]))
    mechanism = read(path)
    start = mechanism.start_state
    run = zw.simulate(mechanism.model, start.q, start.v, duration=0.5, samples=3, rtol=1e-10)
    gone = np.linalg.norm(run.q[-1, :3] - run.q[0, :3])
    np.testing.assert_allclose(gone, G * np.sin(0.3) / (1 + share) * 0.5**2 / 2, rtol=1e-11)
    assert run.v[-1, 4] > 0  # it turns about the axis across the slope


@pytest.mark.slow
def test_a_ball_on_a_turntable_goes_round_in_a_circle(tmp_path):
    """Its center turns at 2/7 of the rate of the table, whatever its speed."""
    path, rate = tmp_path / "ball.toml", 3.0
    table = f"""
    [bodies.table]
    mass = 1.0
    inertia = [1.0, 1.0, 1.0]
    angular_velocity = [0, 0, {rate}]
    """
    text = FILE.format(gravity="", slope=0.0, inertia=[0.008] * 3, velocity=[0.4, 0, 0])
    text = (
        text.replace('"ground.plane", "ball"', '"table", "ball"')
        + """
    axle = { kind = "revolute", between = ["ground", "table"] }
    [drives]
    motor = { joint = "axle", rate = 3.0 }
    """
    )
    path.write_text(text.replace("[ground]", table + "\n[ground]"))
    mechanism = read(path)
    start = mechanism.start_state
    run = zw.simulate(mechanism.model, start.q, start.v, duration=1.0, samples=5, rtol=1e-10)
    ball = [i for i, n in enumerate(mechanism.model.system.velocities) if n.startswith("ball.v")]
    v = run.v[:, ball[:2]]
    turned = np.unwrap(np.arctan2(v[:, 1], v[:, 0]))
    np.testing.assert_allclose(np.diff(turned), 2 / 7 * rate * np.diff(run.t), rtol=1e-9)
