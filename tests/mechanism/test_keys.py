"""The page of keys: it contains every key of a file, and explains each."""

import re

import pytest

from tests.cli.command_line import zwang
from zwang.mechanism import toml
from zwang.mechanism.keys import sections, table
from zwang.mechanism.registry import JOINT_KINDS


def test_no_key_that_files_are_checked_against_is_missing():
    schema = toml._reader().json_schema()
    shown = [{x.name for x in section.keys} - {"file"} for section in sections()]
    options = {option.name for kind in JOINT_KINDS.values() for option in kind.options}
    for name, part in schema["$defs"].items():
        expected = {*part["properties"]} - (options if name == "Joint" else {"file"})
        assert expected in shown, name
    tables = {re.split(r"[\].]", x.header[1:])[0] for x in sections() if x.header[0] == "["}
    assert {*schema["properties"]} == tables | {x.name for x in sections()[0].keys}
    assert options == {x.name for s in sections() if "kind =" in s.header for x in s.keys}


def test_every_key_has_a_meaning_and_says_what_it_takes():
    for section in sections():
        for key in section.keys:
            assert key.meaning.strip(" ."), (section.header, key.name)
            assert key.takes


def test_a_key_has_its_unit_and_default():
    (springs,) = sections("[springs")
    known = {key.name: key for key in springs.keys}
    assert known["stiffness"][1:4] == ("number", "N/m or N·m/rad", "0")
    (gear,) = (x for x in sections("gear") if "kind" in x.header)
    assert gear.keys[0][:4] == ("ratio", "two numbers", "", "required")
    assert "| `gravity` | list of numbers | m/s² |" in table()


def test_the_command_line_prints_them():
    said = zwang("list", "--keys", "spring").out
    assert "[springs.NAME]" in said and "N·s/m or N·m·s/rad" in said
    assert "no key with 'sprnig'" in zwang("list", "--keys", "sprnig").err


@pytest.mark.parametrize("word", ["damping", "DAMPING"])
def test_a_word_finds_the_keys_that_have_it(word):
    found = {(x.header, key.name) for x in sections(word) for key in x.keys}
    assert found == {("[springs.NAME]", "damping"), ("[bushings.NAME]", "damping")}
