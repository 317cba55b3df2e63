"""The scene of a robot: shapes at the positions of its bodies, axes at its joints."""

import numpy as np
import pytest

pytest.importorskip(
    "mujoco", reason="the extra `robots` is not installed: pip install 'zwang[robots]'"
)

import zwang as zw
from zwang.robots.scene import scene

ARM = """<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="0 0 -0.5"/><geometry><box size="0.1 0.1 1"/></geometry></visual></link>
  <link name="lower"><inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><mesh filename="nowhere.stl"/></geometry></visual></link>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
  <axis xyz="0 1 0"/></joint>
  <joint name="slide" type="prismatic"><parent link="upper"/><child link="lower"/>
  <origin xyz="0 0 -1"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"""


def test_bodies_and_joints_are_where_they_are(tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM)
    robot = zw.robot(tmp_path / "arm.urdf")
    drawn = scene(robot)
    assert [(j.name, j.symbol) for j in drawn.joints] == [("shoulder", "pin"), ("slide", "slide")]
    assert [s.kind for s in drawn.bodies["upper"]] == ["box"] and drawn.bodies[
        "lower"
    ] == ()  # its mesh is not there
    angle, way = 0.3, 0.2
    seen = drawn.at(np.array([[0.0, 0.0], [angle, way]]))
    c, s = np.cos(angle), np.sin(angle)
    assert np.allclose(seen.axes, [[[0, 1, 0], [1, 0, 0]], [[0, 1, 0], [c, 0, -s]]], atol=1e-14)
    lower = drawn.points.index("lower")
    assert np.allclose(seen.places[1, lower], [-s + way * c, 0, -c - way * s], atol=1e-14)
    upper = list(drawn.bodies).index("upper")
    assert np.allclose(
        seen.poses[1, upper], [0, 0, 0, np.cos(angle / 2), 0, np.sin(angle / 2), 0], atol=1e-14
    )
