"""Rows that grow along a run: levers that extend to many times their initial length."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import zwang as zw
from zwang.mechanism import Joint, Link, Mechanism, Point

SPEED, TIME = 30.0, 2.0


def pin(seed: int) -> tuple[Mechanism, Rotation, np.ndarray]:
    """A body on a cylindrical joint whose rows are written in its own axes; it slides away and
    turns at 1 rad/s, without forces. Also its first attitude and the axis.
    """
    random = np.random.default_rng(seed)
    axle = Rotation.from_rotvec(random.normal(size=3)).as_matrix()
    attitude = Rotation.from_rotvec(random.normal(size=3))
    place = 0.3 * random.normal(size=3)
    R, axis = attitude.as_matrix(), axle[:, 2]
    own, at = R.T @ axle, -R @ place
    body = Link(
        mass=1.0,
        inertia=(0.1, 0.2, 0.05),
        points={"axis": Point(tuple(place), axis=tuple(own[:, 2]), x=tuple(own[:, 0]))},
        at=tuple(at),
        turn=tuple(attitude.as_rotvec()),
        velocity=tuple(SPEED * axis + np.cross(axis, at)),
        angular_velocity=tuple(R.T @ axis),
    )
    ground = Point((0.0, 0.0, 0.0), axis=tuple(axis), x=tuple(axle[:, 0]))
    return (
        Mechanism(
            bodies={"pin": body},
            joints={"pin": Joint("cylindrical", between=("pin.axis", "ground.axle"))},
            ground={"axle": ground},
            world="space",
            gravity=(0.0, 0.0, 0.0),
        ),
        attitude,
        axis,
    )


@pytest.mark.parametrize(("seed", "rtol"), [(0, 1e-8), (1, 1e-8), (2, 1e-8), (0, 1e-13)])
def test_a_cylindrical_joint_turns_evenly_while_it_slides_60_m_away(seed, rtol):
    """The angle with three sweeps; with rows of their length at the start it is off by
    1e-7, as the damping is relative to the longest row.
    """
    mechanism, attitude, axis = pin(seed)
    start = mechanism.start_state
    run = zw.simulate(mechanism.model, start.q, start.v, duration=TIME, samples=3, rtol=rtol)
    R = np.asarray(mechanism.frames(run.q[-1]).attitude)[0]
    right = (Rotation.from_rotvec(TIME * axis) * attitude).as_matrix()
    assert np.abs(Rotation.from_matrix(R @ right.T).as_rotvec()).max() < 1e-11
    assert not [x for x in run.warnings if "accurate" in x and rtol > 1e-9]
    place = run.q[:, :3]
    towards = np.outer(place @ axis, axis) - place  # it turns at 1 rad/s
    found = run.observation.motion
    off = np.linalg.norm(found.acceleration[:, :3] - towards, axis=1)
    # what is said of the accuracy is a bound, and nothing in it is called "not meant"
    assert np.all(off <= found.accuracy * np.linalg.norm(found.acceleration, axis=1) + 1e-15)
    assert all("are known to be accurate to" in x for x in run.warnings)
    # the estimate assumes that all round-off lies along the shortest direction, 1.6e-8 here
    said = [float(x.split("accurate to ")[1].split(" only")[0]) for x in run.warnings]
    assert all(np.max(off / np.linalg.norm(found.acceleration, axis=1)) <= x < 1e-9 for x in said)


def test_a_bead_on_a_turning_rod_flies_out_by_its_closed_form():
    """`s = cosh(ω t)` up to 904 m: beside the lever of the rod, its drive is a short row. With rows
    of their length at the start it is off by 4e-6 after 9590 steps.
    """
    rod = zw.Holonomic(lambda q, t, p: q[1] * jnp.cos(q[2]) - q[0] * jnp.sin(q[2]), name="rod")
    drive = zw.Holonomic(lambda q, t, p: q[2] - 3.0 * t, name="drive")
    system = zw.System(3, lambda q, t, p: jnp.ones(3), lambda q, v, t, p: jnp.zeros(3))
    model = zw.Model(system, [rod, drive], name="bead")
    run = zw.simulate(
        model, [1.0, 0.0, 0.0], [0.0, 3.0, 3.0], duration=2.5, samples=3, rtol=1e-12,
    )  # fmt: skip
    assert np.allclose(np.linalg.norm(run.q[:, :2], axis=1), np.cosh(3.0 * run.t), rtol=1e-11)
    assert np.allclose(run.q[:, 2], 3.0 * run.t, atol=1e-11) and len(run.steps.t) < 1100
