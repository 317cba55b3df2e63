"""Properties that every kind of joint must have, for all members of the registry."""

import dataclasses
import functools
import subprocess
import sys
import textwrap
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.mechanism import KINDS, Joint, Link, Mechanism, Point, read
from zwang.mechanism.drawing import picture
from zwang.mechanism.joint_constraints import RATES
from zwang.mechanism.registry import OPTIONS, by_format, table
from zwang.mechanism.scene import scene

from .machines import ROWS, WORLDS, every_joint

PAIRS = [(world, name) for world in WORLDS for name in ROWS[world]]
PAGE = Path(__file__).resolve().parents[2] / "docs" / "mechanisms.md"


def carrying(world: str) -> list[str]:
    return [name for name in ROWS[world] if KINDS[name].carries(2 + WORLDS.index(world))]


@functools.cache
def tree(world: str) -> Mechanism:
    """A body on every joint that can carry one, with turned axes, met from either body."""
    d = 2 if world == "plane" else 3
    axes = {"angle": 0.3} if d == 2 else {"axis": (0.3, -0.2, 1.0), "x": (1.0, 0.4, 0.2)}
    bodies, joints = {}, {}
    for i, name in enumerate(carrying(world)):
        inertia = 0.1 if d == 2 else (0.1, 0.2, 0.25)
        bodies[name] = Link(1.0, inertia, points={"p": Point((0.1, 0.2, 0.3)[:d], **axes)})
        ends = ("ground.p", f"{name}.p")
        joints[name] = Joint(name, ends if i % 2 else ends[::-1], **KINDS[name].example)
    ground = {"p": Point((0.5, -0.2, 0.1)[:d], **axes)}
    return Mechanism(bodies, joints, ground=ground, world=world, coordinates="joint")


@pytest.mark.parametrize("name", KINDS)
def test_a_joint_describes_itself(name):
    kind = KINDS[name]
    assert kind.summary and (kind.plane or kind.space)
    assert set(kind.example) == {x.name for x in kind.options if x.as_drawn is None}
    assert all(option.meaning for option in kind.options)
    assert (kind.symbol is None) == bool(kind.couples)


@pytest.mark.parametrize(("world", "name"), PAIRS)
def test_a_joint_is_read_from_a_file(world, name, tmp_path):
    kind, d = KINDS[name], 2 + WORLDS.index(world)
    options = "".join(
        f", {key} = {list(value) if isinstance(value, tuple) else repr(value)}"
        for key, value in kind.example.items()
    ).replace("'", '"')
    inertia = "0.1" if d == 2 else "[0.1, 0.1, 0.1]"
    ends = 'joints = ["one", "two"]' if kind.couples else 'between = ["ground", "a"]'
    file = tmp_path / "one.toml"
    file.write_text(
        textwrap.dedent(f"""\
            world = "{world}"
            [bodies]
            a = {{ inertia = {inertia} }}
            b = {{ inertia = {inertia} }}
            [joints]
            one = {{ kind = "revolute", between = ["ground", "a"] }}
            two = {{ kind = "prismatic", between = ["ground", "b"] }}
            it = {{ kind = "{name}", {ends}{options} }}
            """)
    )
    acts_on = {"joints": ("one", "two")} if kind.couples else {"between": ("ground", "a")}
    assert read(file).joints["it"] == Joint(name, **acts_on, **kind.example)


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.example])
def test_a_joint_without_its_option_is_refused(name):
    kind = KINDS[name]
    missing = min(kind.example)
    given = {key: value for key, value in kind.example.items() if key != missing}
    acts_on = {"joints": ("hinge", "hinge")} if kind.couples else {"between": ("ground", "a")}
    joints = {"hinge": Joint("revolute", ("ground", "a")), "it": Joint(name, **acts_on, **given)}
    world, inertia = ("plane", 0.1) if kind.plane else ("space", (0.1, 0.1, 0.1))
    with pytest.raises(zw.ModelError, match=f"joints.it: a {name} joint needs {missing}"):
        Mechanism({"a": Link(inertia=inertia)}, joints, world=world)


@pytest.mark.parametrize("world", ["plane", pytest.param("space", marks=pytest.mark.slow)])
def test_the_coordinate_of_a_joint_in_a_tree_moves_its_body_along_its_rows(world):
    m, random = tree(world), np.random.default_rng(5)
    system, maximal = m.model.system, m.maximal
    q = system.move(
        jnp.asarray(m.compiled.tree.tree.home), 0.7 * random.normal(size=system.nv), 0.0, m.params
    )
    v = random.normal(size=system.nv)
    bodies, c = m.body_state(q, v), maximal.model.constraints

    @jax.jit
    def residuals(s):
        return (
            c.position_residual(s.q, s.t, maximal.params),
            c.velocity_residual(s.q, s.v, s.t, maximal.params),
        )

    assert c.m == sum(ROWS[world][name] for name in carrying(world))
    for residual in residuals(bodies):
        assert np.abs(residual).max() < 1e-14
    back = m.compiled.tree.joint_state(bodies, m.params)
    assert np.allclose(back.q, q, atol=1e-14) and np.allclose(back.v, v, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_the_force_of_a_joint_does_no_virtual_work(world):
    """Displacements that keep the rows, found from differences of the rows and not from A."""
    m, random = every_joint(world), np.random.default_rng(2)
    s, model = m.start_state, m.model
    c, p, nv = model.constraints, model.params, model.system.nv
    by_constraint = zw.motion(model, s.q, 0 * s.v, throw=False).by_constraint
    # rows of velocities are taken along each displacement, rows of positions over it
    h = 1e-5
    rows = np.searchsorted(c.velocity_rows, c.position_rows)

    @jax.jit
    def changes(dv):
        ends = [
            c.position_residual(model.system.move(s.q, x * dv, 0.0, p), 0.0, p) for x in (h, -h)
        ]
        still = c.velocity_residual(s.q, 0 * dv, 0.0, p)
        return (
            (c.velocity_residual(s.q, dv, 0.0, p) - still)
            .at[rows]
            .set((ends[0] - ends[1]) / (2 * h))
        )

    J = np.stack([np.asarray(changes(dv)) for dv in np.eye(nv)], axis=1)
    for name in ROWS[world]:
        names = [n for n in (name, name + RATES) if n in c.row_slices]
        own = np.vstack(
            [J[np.searchsorted(c.velocity_rows, np.r_[c.row_slices[n]])] for n in names]
        )
        force = sum(np.asarray(by_constraint[n]) for n in names)
        displacement = random.normal(size=nv)
        displacement -= np.linalg.pinv(own) @ (own @ displacement)
        assert abs(force @ displacement) < 1e-7 * max(np.abs(force).max(), 1.0)  # of differences


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_every_joint_is_drawn(world):
    m = every_joint(world)
    marks = {mark.name: mark for mark in scene(m).joints}
    for name in ROWS[world]:
        kind = KINDS[name]
        assert kind.couples or marks[name].symbol == kind.symbol
    picture(m, m.geometry.q)


def test_an_option_has_one_type_in_all_kinds():
    fields = {x.name for x in dataclasses.fields(Joint)}
    assert fields == {
        "kind",
        "between",
        "joints",
        "friction",
        "stop",
        "backlash",
        "ratchet",
        *OPTIONS,
    }


NEW = """\
    from zwang.mechanism.joint_kind import JointEquations, JointKind, Option

    JOINT = JointKind(
        name="line",
        summary="a point at a height",
        plane=JointEquations(
            removes=1, position=lambda pose, options: pose.displacement[1] - options["height"]
        ),
        options=(Option(name="height", meaning="above x", unit="m"),),
        symbol="slide",
        example={"height": 0.0},
    )
    """
USED = """\
    import sys
    import types
    from pathlib import Path

    import jax
    jax.config.update("jax_enable_x64", True)
    import zwang

    # the folder of joints as it would be with one more file
    joints = types.ModuleType("zwang.mechanism.joints")
    joints.__path__ = [str(Path(zwang.__file__).parent / "mechanism" / "joints"), sys.argv[1]]
    sys.modules["zwang.mechanism.joints"] = joints

    from zwang.mechanism import read
    from zwang.mechanism.registry import table
    from zwang.mechanism.scene import scene

    mechanism = read(sys.argv[2])
    assert mechanism.joints["it"].height == 0.5
    assert "| `line` | a point at a height | 1 |  | `height` [m] |" in table()
    assert mechanism.model.constraints.names == ("it",)
    constraints = mechanism.model.constraints
    print(constraints.position_residual(mechanism.geometry.q, 0.0, mechanism.params))
    print(scene(mechanism).joints[0].symbol)
    """


@pytest.mark.slow
def test_one_more_file_is_one_more_joint(tmp_path):
    """Schema, files, documentation, model and viewer find it."""
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "line.py").write_text(textwrap.dedent(NEW))
    file = tmp_path / "line.toml"
    file.write_text(
        "[bodies]\nbead = { inertia = 1.0, at = [0.3, 0.7] }\n[joints]\n"
        'it = { kind = "line", between = ["ground", "bead"], height = 0.5 }\n'
    )
    command = [sys.executable, "-c", textwrap.dedent(USED), str(folder), str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    residual, symbol = done.stdout.split("\n")[:2]
    assert np.isclose(float(residual.strip("[]")), 0.2) and symbol == "slide"


def test_other_formats_have_one_kind_for_each_of_their_names():
    for format in ("sdf", "urdf", "mjcf", "mjcf equality"):
        names = [x for kind in KINDS.values() for x in kind.formats.get(format, ())]
        assert len(names) == len(set(names)) == len(by_format(format)) > 0


def test_the_documentation_has_the_table_of_joints():
    assert "```{family-table} joints\n" in PAGE.read_text()
    rows = table().splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == [*KINDS]
