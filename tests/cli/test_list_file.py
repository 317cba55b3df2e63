"""`zwang list NAME --file` prints the source file of a model."""

import pytest

from zwang.gallery.index import ENTRIES
from zwang.gallery.index.files import file_of
from zwang.mechanism import read

from .command_line import zwang


@pytest.mark.parametrize("name", ENTRIES)
def test_every_model_has_its_file(name):
    text = file_of(ENTRIES[name]).read_text(encoding="utf-8")
    assert f'"{name}"' in text  # it states its own name


def test_a_printed_mechanism_is_a_file_that_runs(tmp_path):
    answer = zwang("list", "four-bar", "--file")
    assert (answer.code, answer.err) == (0, "")
    file = tmp_path / "mine.toml"
    file.write_text(answer.out, encoding="utf-8")
    assert read(file).name == "four-bar"


def test_a_name_that_is_none_is_refused_with_the_nearest():
    answer = zwang("list", "four-ba", "--file")
    assert answer.code == 2 and "did you mean 'four-bar'" in answer.err
