"""Commands that analyze mechanisms: the same names as in Python."""

import pytest
import xarray as xr

from zwang.cli.analyses.design import links
from zwang.cli.failure import UserError

from .command_line import PENDULUM, write, zwang

ARM = """
import jax.numpy as jnp
import zwang as zw

system = zw.System(
    2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: -q * p["stiffness"],
    coordinates=("a.x", "a.y"),
)
model = zw.Model(system, params={"stiffness": 1.0}, name="arm")
q0, v0 = jnp.array([0.3, 0.4]), jnp.zeros(2)
"""


def test_a_workspace_is_mapped_and_written(tmp_path):
    script = write(tmp_path, ARM)
    answer = zwang(
        *("workspace", script, "a", "--input", "a.x=0:1", "--input", "a.y=0:1"),
        *("--samples", "5", "--out", tmp_path / "out"),
    )
    assert answer.code == 0, answer.err
    assert "25 of 25 places" in answer.out
    with xr.open_dataset(tmp_path / "out" / "workspace.nc", engine="h5netcdf") as data:
        assert int(data["reached"].sum()) == 25
    assert (tmp_path / "out" / "workspace.svg").is_file()


def test_a_range_of_another_form_is_one_sentence(tmp_path):
    answer = zwang("workspace", write(tmp_path, PENDULUM), "x", "--input", "x=1")
    assert answer.code == 2 and "expected NAME=LOW:HIGH" in answer.err
    answer = zwang("assembly-modes", write(tmp_path, PENDULUM), "--input", "x")
    assert answer.code == 2 and "expected NAME=VALUE" in answer.err


def test_assembly_modes_of_a_pendulum_are_both_and_written(tmp_path):
    model = write(tmp_path, PENDULUM)
    answer = zwang("assembly-modes", model, "--input", "x=0.6", "--out", tmp_path / "out")
    assert answer.code == 0 and "2 assembly modes" in answer.out, answer.err
    with xr.open_dataset(tmp_path / "out" / "assembly-modes.nc", engine="h5netcdf") as data:
        assert sorted(data["q"].values[:, 1].round(9)) == [-0.8, 0.8]


def test_driving_torque_branches_and_a_linearization_are_printed(tmp_path):
    model = write(tmp_path, PENDULUM)
    answer = zwang("driving-torque", model, "y", "--from", "0", "--to", "0.5", "--samples", "5")
    assert answer.code == 0 and "largest force" in answer.out, answer.err
    answer = zwang("branches", model)
    assert answer.code == 0 and "1 branch" in answer.out, answer.err
    answer = zwang("linearize", model, "--input", "x", "--lqr", "--out", tmp_path / "out")
    assert answer.code == 0 and "controllable: all 2 states" in answer.out, answer.err
    assert "regulator with 1 input" in answer.out
    assert (tmp_path / "out" / "regulator.nc").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("off", [0.0, 0.05])
def test_a_regulator_of_an_upright_start_says_which_equilibrium_it_took(tmp_path, off):
    model = write(tmp_path, INVERTED.replace("OFF", str(off)))
    answer = zwang("linearize", model, "--input", "tip", "--lqr")
    assert answer.code == 0, answer.err
    assert "about the equilibrium at tip = 3.14159265, a minimum" in answer.out
    assert "not a minimum; --find nearest returns it" in answer.out
    answer = zwang("linearize", model, "--input", "tip", "--lqr", "--find", "nearest")
    assert answer.code == 0 and "about the equilibrium at tip = 0, the nearest" in answer.out
    assert "verdict               unstable" in answer.out
    assert "--find" not in answer.out
    answer = zwang("modes", model, "--find", "nearest")
    assert answer.code == 0 and "grows" in answer.out, answer.err


INVERTED = """
import jax.numpy as jnp
import zwang as zw

system = zw.System(
    1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: 9.81 * jnp.sin(q), coordinates=("tip",)
)
model = zw.Model(system, name="inverted")
q0, v0 = [OFF], [0.0]
"""


@pytest.mark.slow
def test_continuation_follows_a_parameter(tmp_path):
    script = write(tmp_path, ARM)
    answer = zwang("continuation", script, "stiffness", "--from", "0.5", "--to", "2")
    assert answer.code == 0 and "points over stiffness" in answer.out, answer.err


def test_check_writes_its_report(tmp_path):
    answer = zwang("check", write(tmp_path, PENDULUM), "--out", tmp_path / "out")
    assert answer.code == 0 and "consistent" in (tmp_path / "out" / "check.txt").read_text()


FOUR_BAR_IN_SPACE = """
name = "four-bar in space"
world = "space"

[bodies]
crank = { length = 1.0, radius = 0.05, guess = [[0, 0, 0], [0, 1, 0]] }
coupler = { length = 3.0, radius = 0.05, guess = [[0, 1, 0], [2.9, 2.4, 0]] }
rocker = { length = 2.5, radius = 0.05, guess = [[3.5, 0, 0], [2.9, 2.4, 0]] }

[ground]
right = [3.5, 0.0, 0.0]

[joints]
A = { kind = "revolute", between = ["ground", "crank.start"] }
B = { kind = "revolute", between = ["crank.end", "coupler.start"] }
C = { kind = "revolute", between = ["coupler.end", "rocker.end"] }
D = { kind = "revolute", between = ["ground.right", "rocker.start"] }
"""


@pytest.mark.slow
def test_check_suggests_looser_joints_of_a_mechanism_file(tmp_path):
    file = write(tmp_path, FOUR_BAR_IN_SPACE, "four_bar.toml")
    answer = zwang("check", file, "--out", tmp_path / "out")
    assert answer.code == 0, answer.err
    assert "make 'C' spherical: 3 redundant rows to 1" in answer.out
    assert (tmp_path / "out" / "free-motion-0.html").is_file()


@pytest.mark.slow
def test_a_quick_return_is_designed():
    answer = zwang(
        *("design", "quick-return", "shaft", "--from", "0", "--to", "2*pi"),
        *("--vary", "crank=0.05:0.3", "--time-ratio", "guide=2"),
    )
    assert answer.code == 0 and "the same, every step certified" in answer.out, answer.err


@pytest.mark.parametrize(("text", "least"), [("a,b,0.5", 0.5), ("a,b,90deg", 1.5707963267948966)])
def test_the_least_transmission_angle_may_be_typed_in_degrees(text, least):
    assert links(text) == (("a", "b"), least)


def test_a_least_transmission_angle_in_another_unit_is_refused():
    with pytest.raises(UserError, match="'a,b,40mm', expected two angles .*,40deg"):
        links("a,b,40mm")
