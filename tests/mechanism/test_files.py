"""Mechanism files: errors are one sentence with the line, and those of the gallery are well
formed.
"""

import dataclasses
import textwrap

import numpy as np
import pytest

import zwang as zw
from tests.cli.command_line import zwang
from zwang.compile.program_cache.fingerprint import Fingerprint
from zwang.gallery.index.mechanisms import FOLDER
from zwang.mechanism import Joint, Link, Mechanism, Point, read
from zwang.mechanism.mechanism import PARTS
from zwang.mechanism.mistakes import OTHER_WORDS

GOOD = """\
    [parameters]
    l = 1.0

    [bodies]
    crank = { length = "l", mass = 1.0, guess = [[0, 0], [0, 1]] }

    [bodies.rocker]
    length = 2.5
    mass = 2.5
    guess = [[1, 0], [1, 2]]

    [joints]
    A = { kind = "revolute", between = ["ground", "crank.start"] }
    B = { kind = "revolute", between = ["crank.end", "rocker.end"] }

    [drives]
    motor = { joint = "A", rate = "2*t" }
    """

HINGE = 'kind = "revolute", between = ["crank'
WRONG = {
    "no TOML": ("[joints]", "[joints", "line 12"),
    "an unknown field": (
        "length = 2.5",
        "lenght = 2.5",
        "line 8: bodies.rocker.lenght: there is no 'lenght' here; did you mean 'length'?",
    ),
    "an unknown table": (
        "[drives]",
        "[drive]",
        "line 16: drive: there is no 'drive' here; did you mean 'drives'",
    ),
    "a text for a number": (
        "mass = 2.5",
        'mass = "heavy"',
        "line 9: bodies.rocker.mass: 'heavy' uses 'heavy', which has no value here",
    ),
    "a list for a number": ("mass = 2.5", "mass = [1, 2]", "line 9: bodies.rocker.mass"),
    "a negative mass": (
        "mass = 2.5",
        "mass = -2.5",
        "line 9: bodies.rocker.mass: is -2.5, expected a positive number",
    ),
    "an unknown point": (
        '"crank.end"',
        '"crank.edn"',
        "line 14: joints.B.between: there is no point 'crank.edn'; did you mean",
    ),
    "an unknown joint": (
        HINGE,
        HINGE.replace("revolute", "revolt"),
        "line 14: joints.B.kind: there is no joint",
    ),
    "a joint of space": (
        HINGE,
        HINGE.replace("revolute", "screw"),
        "there is no screw joint in the plane",
    ),
    "a joint that misses a number": (
        HINGE,
        HINGE.replace("revolute", "rod"),
        "line 14: joints.B: a rod joint needs length",
    ),
    "a number that a joint does not have": (
        '"rocker.end"]',
        '"rocker.end"], length = 2',
        "line 14: joints.B.length",
    ),
    "both ends on one body": (
        '"crank.end", "rocker.end"',
        '"rocker.start", "rocker.end"',
        "are on the same body",
    ),
    "a missing field": (HINGE, 'between = ["crank', "line 14: joints.B: kind is missing"),
    "a drive without a joint": (
        'joint = "A", ',
        "",
        "line 17: drives.motor: expected either between or joint",
    ),
    "a drive of nothing": (
        'joint = "A"',
        'joint = "Z"',
        "line 17: drives.motor.joint: there is no joint 'Z'",
    ),
    "a formula with an unknown name": ("2*t", "2*s", "line 17: drives.motor.rate: '2*s' uses 's'"),
    "a formula with code in it": ("2*t", "__import__('os').getcwd()", "not allowed"),
    "a place of three numbers": (
        "[[1, 0], [1, 2]]",
        "[[1, 0, 0], [1, 2, 0]]",
        "line 10: bodies.rocker.guess: each place has 3 numbers",
    ),
    "a number for a list": (
        "[[1, 0], [1, 2]]",
        "1",
        "line 10: bodies.rocker.guess: expected a list in brackets, got 1.",
    ),
    "a text for a table": (
        "[drives]",
        "E = 'revolute'\n[drives]",
        "line 16: joints.E: expected a table",
    ),
    "an infinite length": (
        "length = 2.5",
        "length = inf",
        "line 8: bodies.rocker.length: is inf, expected a finite number",
    ),
    "a name that stands twice": ("B = {", "A = {", "a name may stand only once in a table"),
    "a run of no length": (
        "[drives]",
        "[run]\nduration = 0\n[drives]",
        "line 17: run.duration: is 0, expected a number above 0",
    ),
    "a mesh that is not there": (
        "mass = 2.5",
        'mass = 2.5\nshapes = [{ kind = "mesh", file = "no.stl" }]',
        "no.stl",
    ),
    "a parameter that is none": (
        "l = 1.0",
        "l = true",
        "line 2: parameters.l: expected a number or a formula",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_file_is_told_in_one_sentence_with_the_line(what, tmp_path):
    old, new, says = WRONG[what]
    text = textwrap.dedent(GOOD)
    assert old in text
    path = tmp_path / "machine.toml"
    path.write_text(text.replace(old, new))
    with pytest.raises(zw.ModelError) as told:
        read(path)
    assert (
        says in str(told.value)
        and "machine.toml" in str(told.value)
        and "\n" not in str(told.value)
    )


def test_all_mistakes_of_a_file_are_told_and_words_of_other_programs_known(tmp_path):
    path = tmp_path / "machine.toml"
    text = textwrap.dedent(GOOD)
    path.write_text(
        text.replace("length = 2.5", "lenght = 2.5").replace('"2*t" }', '"2*t", pace = 3 }')
        + '[forces]\npush = { on = "rocker", force = ["1", "2"] }\n'
    )
    with pytest.raises(zw.ModelError) as told:
        read(path)
    said = str(told.value)
    assert "line 8: bodies.rocker.lenght: there is no 'lenght' here; did you mean" in said
    assert " Also line 17: drives.motor.pace: there is no 'pace' here; line 19: " in said
    assert "line 19: forces.push: effort is missing." in said
    path.write_text(text + '[forces]\npush = { on = "rocker", force = ["1", "2"] }\n')
    with pytest.raises(zw.ModelError, match="there is no 'force' here; did you mean 'effort'"):
        read(path)
    path.write_text(text.replace('"rocker.end"] }', '"rocker.end"], axis = [1, 0] }', 1))
    with pytest.raises(zw.ModelError, match="no 'axis' here; axes belong to points"):
        read(path)


def test_every_other_word_for_a_field_leads_to_one():
    for table, words in OTHER_WORDS.items():
        fields = {f.name for f in dataclasses.fields(PARTS[table])}
        for word, meant in words.items():
            assert word not in fields and (meant in fields or " " in meant), (table, word)


def test_a_hinge_drawn_at_right_angles_to_its_axis_is_put_together():
    """No direction is downhill there, and a rough guess is all that is asked of a user."""
    arm = Link(2.0, inertia=(0.01, 0.2, 0.2), at=(0.5, 0, 1), points={"a": (-0.5, 0, 0)})
    pin = Joint("revolute", between=("ground.tower", "arm.a"))
    tower = Point((0.0, 0.0, 1.0), axis=(0.0, 1.0, 0.0))
    m = Mechanism({"arm": arm}, joints={"pin": pin}, ground={"tower": tower}, world="space")
    state = m.start_state
    assert np.max(np.abs(m.model.constraints.position_residual(state.q, 0.0, m.params))) < 1e-12


def test_a_mesh_lies_beside_its_mechanism(tmp_path):
    (tmp_path / "hand.stl").write_text("solid hand\nendsolid hand\n")
    (tmp_path / "machine.toml").write_text(
        textwrap.dedent(GOOD).replace(
            "mass = 2.5", 'mass = 2.5\nshapes = [{ kind = "mesh", file = "hand.stl" }]'
        )
    )
    assert read(tmp_path / "machine.toml").bodies["rocker"].shapes[0].file == str(
        tmp_path / "hand.stl"
    )


def test_parameters_change_what_is_built(tmp_path):
    path = tmp_path / "machine.toml"
    path.write_text(textwrap.dedent(GOOD))
    assert read(path).bodies["crank"].length == 1.0
    assert read(path, l=1.5).bodies["crank"].length == 1.5
    with pytest.raises(zw.ModelError, match="there is no parameter 'k'"):
        read(path, k=1.0)


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.toml")), ids=lambda f: f.stem)
def test_a_file_of_the_gallery_is_well_formed(file):
    mechanism = read(file)
    assert mechanism.name == file.stem in zw.gallery.NAMES
    assert mechanism.description and mechanism.source


@pytest.mark.slow
def test_a_mechanism_that_cannot_be_put_together_names_the_open_joint(tmp_path):
    path = tmp_path / "short.toml"
    path.write_text(
        textwrap.dedent(GOOD).replace(
            "[joints]",
            '[ground]\nfar = [9, 0]\n[joints]\nC = { kind = "revolute", between = '
            '["ground.far", "rocker.start"] }',
        )
    )
    with pytest.raises(
        zw.mechanism.AssemblyError, match=r"short cannot be put together: '[ABC]' between"
    ) as told:
        _ = read(path).start_state
    assert told.value.joint in "ABC" and np.all(np.isfinite(told.value.q))
    answer = zwang("check", path)
    assert answer.code == 2 and "cannot be put together" in answer.err
    assert (tmp_path / "short-assembly.svg").is_file() and "short-assembly.svg" in answer.err


def test_compiled_programs_of_a_file_can_be_kept_and_know_its_formulas(tmp_path):
    def key(text: str) -> str:
        path = tmp_path / "machine.toml"
        path.write_text(textwrap.dedent(text))
        found = Fingerprint()
        found.add(read(path).model.constraints)
        return found.hexdigest()

    assert key(GOOD) == key(GOOD) != key(GOOD.replace('"2*t"', '"3*t"'))


def test_a_mistake_in_a_point_of_the_ground_is_one_and_names_no_type(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text('[bodies]\n[ground]\nrail = { at = [0, 0], angle = "-90°" }\n')
    with pytest.raises(zw.ModelError) as caught:
        read(path)
    assert "line 3: ground.rail.angle: '-90°' is no formula" in str(caught.value)
    assert "tuple" not in str(caught.value) and "Point" not in str(caught.value)


def test_a_table_in_a_field_of_a_point_is_a_mistake_of_that_field(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text("[bodies]\n[ground]\nrail = { at = [0, 0], x = { a = 1 } }\n")
    with pytest.raises(zw.ModelError, match=r"line 3: ground\.rail\.x: expected a list .* a table"):
        read(path)
