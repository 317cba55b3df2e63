"""Modules of different origins in one hierarchy: functions, a Lagrangian, an imported robot, a
mechanism, another hierarchy.
"""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw

ARM = """<mujoco><option gravity="0 0 -9.81"/><worldbody><body name="upper" pos="0 0 1">
<joint name="shoulder" axis="0 1 0"/>
<geom size="0.05" mass="2" pos="0.3 0 0"/><body name="lower" pos="0.6 0 0">
<joint name="elbow" axis="0 1 0"/>
<geom size="0.04" mass="1" pos="0.2 0 0"/></body></body></worldbody></mujoco>"""


@pytest.mark.slow
def test_modules_of_every_origin_move_as_alone_and_then_joined(tmp_path):
    file = tmp_path / "arm.xml"
    file.write_text(ARM)
    robot = zw.robot(file)
    swing = zw.Lagrangian(
        lambda q, v, t, p: 0.5 * p["m"] * v[0] ** 2,
        lambda q, t, p: -p["m"] * 9.81 * jnp.cos(q[0]),
        nq=1,
        coordinates=["angle"],
    )
    particle = zw.System(
        2,
        lambda q, t, p: jnp.ones(2),
        lambda q, v, t, p: jnp.array([0.0, -9.81]),
        coordinates=("x", "y"),
    )
    four_bar = zw.gallery.load("four-bar")
    pair = zw.Hierarchy(
        [
            [
                zw.Module(swing, name="left", params={"m": 1.0}),
                zw.Module(swing, name="right", params={"m": 2.0}),
            ]
        ]
    )
    modules = {
        "arm": (robot.model, robot.start_state.q),
        "point": (zw.Model(particle, []), np.array([0.5, 0.2])),
        "pendulum": (zw.Model(swing, [], {"m": 3.0}), np.array([0.4])),
        "linkage": (four_bar.model, four_bar.q0),
        "pair": (pair, np.array([0.1, 0.2])),
    }
    parts = [zw.Module(model, name=name) for name, (model, _) in modules.items()]
    tie = zw.Holonomic(
        lambda q, t, p: q["arm.elbow"] + q["pair.right.angle"] - q["pendulum.angle"] + 0.2,
        name="tie",
    )
    apart, joined = zw.Hierarchy([parts]), zw.Hierarchy([parts, [tie]])
    q = np.concatenate([np.asarray(q) for _, q in modules.values()])
    v = np.zeros(apart.system.nv)
    alone = np.concatenate(
        [
            np.asarray(zw.motion(model, q, np.zeros(model.system.nv)).acceleration)
            for model, q in modules.values()
        ]
    )
    np.testing.assert_allclose(zw.motion(apart, q, v).acceleration, alone, atol=1e-10)
    names = joined.system.velocities
    elbow, right, pendulum = (
        next(i for i, x in enumerate(names) if n in x)
        for n in ("arm.elbow", "pair.right.angle", "pendulum.angle")
    )
    together = np.asarray(zw.motion(joined, q, v).acceleration)
    assert abs(together[elbow] + together[right] - together[pendulum]) < 1e-10
    assert np.abs(together - alone).max() > 0.1
