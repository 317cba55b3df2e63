"""`--set name=value`: text is converted to the type of the setting."""

import pytest

from zwang.cli.failure import UserError
from zwang.cli.timing import covered
from zwang.cli.values import assignments, like, number_or_list


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2", 2.0),
        ("1e-3", 1e-3),
        ("-4.5", -4.5),
        ("1,2,3", [1, 2, 3]),
        ("[1, 2]", [1, 2]),
        ("[[1,0],[0,1]]", [[1, 0], [0, 1]]),
    ],
)
def test_numbers_and_lists_are_read(text, value):
    assert number_or_list(text, "x") == value


@pytest.mark.parametrize("text", ["", "a", "1;2", "true", "[]", "[1", '{"a": 1}', "1,a"])
def test_anything_else_is_refused(text):
    with pytest.raises(UserError, match="expected a finite number"):
        number_or_list(text, "x")


@pytest.mark.parametrize(
    ("text", "default", "value"),
    [
        ("3", 2, 3),
        ("3", 2.0, 3.0),
        ("yes", False, True),
        ("slow", "fast", "slow"),
        ("1,2", (0.0, 0.0), (1, 2)),
        ("5", [1.0], [5.0]),
    ],
)
def test_a_value_takes_the_type_of_the_default(text, default, value):
    got = like(text, default, "x")
    assert got == value and type(got) is type(value)


@pytest.mark.parametrize(
    ("text", "default"), [("2.5", 2), ("maybe", True), ("1,2", 1.0), ("1,2,3", (0.0, 0.0))]
)
def test_a_value_of_another_type_is_refused(text, default):
    with pytest.raises(UserError, match="^x "):
        like(text, default, "x")


def test_assignments_keep_equals_signs_in_the_value():
    assert assignments(["a=1", "label=x=y"]) == {"a": "1", "label": "x=y"}


def test_time_is_counted_once_where_pieces_overlap():
    assert covered([(0.0, 2.0), (1.0, 3.0), (1.2, 1.4), (5.0, 6.0)]) == 4.0
