"""Each check of an argument takes what is right and names what is wrong; its limits are exact."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zwang import arguments as a
from zwang.errors import LONGEST_WORD, ModelError, shortened
from zwang.text import checked_name, escaped, is_hidden

NAN, INF = float("nan"), float("inf")


def refused(do, says):
    with pytest.raises(ModelError, match=says):
        do()


@pytest.mark.parametrize(
    ("value", "limits", "says"),
    [
        (0.0, {"above": 0}, r"x is 0\.0, expected a positive number\."),
        (1.0, {"above": 2}, "a finite number, above 2"),
        (1.0, {"least": 2}, "a finite number, at least 2"),
        (3.0, {"most": 2}, "at most 2"),
        (3.0, {"least": 1, "most": 2}, "at least 1 and at most 2"),
        (NAN, {}, "x is nan, expected a finite number"),
        (INF, {}, "x is inf"),
        (NAN, {"infinite": True}, "expected a number"),
        (True, {}, "x is True"),
        ("1", {}, "x is '1'"),
        (1j, {}, "x is 1j"),
        (np.ones(2), {}, "x is array"),
        (np.array(True), {}, "x is"),
        (10**400, {}, "x is inf"),
        (-1.0, {"above": 0, "unit": "s"}, r"a positive number \[s\]"),
    ],
    ids=str,
)
def test_a_number_outside_its_limits_is_refused(value, limits, says):
    refused(lambda: a.number(value, "x", **limits), says)


@pytest.mark.parametrize(
    ("value", "limits"),
    [
        (2.0, {"least": 2, "most": 2}),
        (2, {"above": 1.9}),
        (np.float32(2), {}),
        (np.array(2), {}),
        (np.int64(2), {"least": 2}),
    ],
    ids=str,
)
def test_a_number_at_its_limits_is_taken_as_a_float(value, limits):
    found = a.number(value, "x", **limits)
    assert found == 2.0 and isinstance(found, float)
    assert a.number(INF, "x", infinite=True) == INF
    refused(lambda: a.number(INF, "x", infinite=True, most=3), "at most 3")


def test_counts_are_whole_and_within_limits():
    assert a.count(np.array(3), "n") == 3 and a.count(0, "n") == 0
    assert a.count(np.int32(5), "n", least=5, most=5) == 5
    for wrong in (2.0, True, "2", None, np.array(2.0), np.ones(2, int)):
        refused(lambda x=wrong: a.count(x, "n"), "n is .*expected a whole number of at least 0")
    refused(lambda: a.count(4, "n", least=5), "at least 5")
    refused(lambda: a.count(6, "n", most=5), "and at most 5")
    assert a.count(a.LARGEST_COUNT, "n") == a.LARGEST_COUNT
    refused(lambda: a.count(a.LARGEST_COUNT + 1, "n"), "at most 1000000000")


def test_flags_and_choices_are_exact():
    assert a.flag(np.True_, "f") is True and a.flag(False, "f") is False
    refused(lambda: a.flag(1, "f"), "f is 1, expected True or False")
    assert a.choice("b", "c", ("a", "b")) == "b" and a.choice(None, "c", (None,)) is None
    refused(lambda: a.choice("x", "c", ("a", "b")), "c is 'x', expected 'a' or 'b'")
    assert a.known("m", ["m"], "none has") == "m"
    refused(lambda: a.known("lenght", ["length"], "p has no"), "p has no 'lenght'; did you mean")


def test_objects_are_of_their_kind():
    assert a.instance(3, int, "n", "a number") == 3 and a.optional(None, int, "n", "") is None
    assert a.optional(3, int, "n", "") == 3
    refused(lambda: a.instance("3", int, "n", "a number"), "n is '3', expected a number")
    refused(lambda: a.instance(bool, int, "n", ""), r"n is the class bool, .*zw\.bool\(\.\.\.\)")
    refused(lambda: a.instance(str, int, "n", "a number"), "the class str, expected a number")
    assert a.strategy(None, tuple, "s", "") is None
    assert a.strategy((1.0, 2, np.ones(2)), tuple, "s", "") is None
    refused(lambda: a.strategy((NAN,), tuple, "s", ""), "a number of s is nan, expected no NaN")
    refused(lambda: a.strategy(("x",), tuple, "s", ""), "a number of s is 'x'")


def test_functions_take_what_they_will_be_given():
    good = lambda q, t, p: q
    assert a.function(good, "f", "(q, t, p)") is good
    assert a.function(lambda *x: x, "f", "(q, t, p)") and a.function(max, "f", "(q)")
    assert a.optional_function(None, "f", "(q)") is None
    refused(lambda: a.function(3, "f", "(q)"), r"f is 3, expected a function \(q\)")
    refused(lambda: a.function(float, "f", "(q)"), "f is the class float")
    refused(lambda: a.function(lambda q: q, "f", "(q, t)"), r"f takes \(q\), expected a function")


def test_lists_are_read_once_and_hold_their_kind():
    assert a.items((x for x in (1, 2)), int, "n", "whole numbers") == (1, 2)
    assert a.items([(1,)], tuple, "n", "pairs") == ((1,),)
    refused(lambda: a.items(3, int, "the n", ""), r"the n is one int, expected a list: n=\[")
    refused(lambda: a.items(int, int, "n", ""), "n is one int, expected a list")
    refused(lambda: a.items(["x"], int, "n", "whole numbers"), "n holds 'x', expected whole")
    refused(lambda: a.items([bool], int, "n", ""), "an entry of n is the class bool")
    for wrong in ("ab", b"ab", {"a": 1}, 3, None):
        refused(lambda x=wrong: a.listed(x, "n", "a list"), "n is .*expected a list")
    assert a.labels(["a", "b"], "n") == ("a", "b") and a.texts(["", "m"], "u") == ("", "m")
    refused(lambda: a.labels(["a", 1], "n"), "an entry of n is 1, expected a text")
    refused(lambda: a.labels([""], "n"), "is empty")
    refused(lambda: a.texts([None], "u"), "an entry of u is None")
    assert a.mapping({"a": 1}, "m", "") == {"a": 1}
    refused(lambda: a.mapping({1: 1}, "m", "{'a': 1}"), "m is .*expected a dictionary by name")
    refused(lambda: a.mapping([], "m", ""), "a dictionary")


def test_arrays_are_real():
    found = a.real_array([1, 2], "x")
    assert found.dtype == np.float64 and np.array_equal(found, [1.0, 2.0])
    assert a.real_array([], "x").shape == (0,)
    refused(lambda: a.real_array([1j], "x"), "x is complex, expected real numbers")
    refused(lambda: a.real_array([True], "x"), "x is .*expected numbers")
    refused(lambda: a.real_array(["a"], "x", "lengths"), "expected lengths")
    refused(lambda: a.real_array([[1], [1, 2]], "x"), "expected numbers")


def test_values_are_shown_in_few_words():
    assert a.shown("x" * 100, 10) == "'" + "x" * 8 + "…"
    assert a.shown(np.zeros(9)) == "an array of shape (9,) and type float64"
    assert a.shown([1] * 9) == "a list of 9 entries" and a.shown([1]) == "[1]"
    assert "array" in a.shown(np.zeros(8)) and "shape" not in a.shown(np.zeros(8))
    assert a.shown(len) == "the function len" and a.shown("a\x1bb") == "'a\\x1bb'"
    assert a.shown([1] * 8) == str([1] * 8)


def test_names_can_be_shown_and_have_a_length():
    assert checked_name("x" * 200, "n") == "x" * 200
    refused(lambda: checked_name("x" * 201, "n"), "n has 201 characters .*at most 200")
    refused(lambda: checked_name(3, "n"), "n is 3, expected a text")
    refused(lambda: checked_name(" ", "n"), "n is empty")
    refused(lambda: checked_name("a\x1b", "n"), r"control character U\+001B")
    assert is_hidden("\u202e") and is_hidden("\ud800") and not is_hidden("é")
    assert escaped("é\n\x9b") == "é\n\\x9b" and escaped("a\nb", lines=False) == "a\\nb"
    assert escaped("a b") == "a b"


def test_words_without_end_are_shown_by_their_ends():
    word = "a" * LONGEST_WORD
    assert shortened(f"'{word[2:]}' is long") == f"'{word[2:]}' is long"
    found = str(ModelError(f"{word}b is long"))
    assert re.fullmatch("a{60}…a{19}b is long", found)
    assert shortened(f"/{word}/{word}.py") == f"/{word}/{word}.py".replace(
        f"{word}.py", shortened(f"{word}.py")
    )


def test_numbers_that_are_traced_pass_where_they_may():
    traced = lambda do, x: jax.make_jaxpr(do)(x)
    assert traced(lambda x: a.number(x, "x", above=0), 1.0)
    refused(lambda: traced(lambda x: a.number(x, "x"), np.ones(2)), r"traced with shape \(2,\)")
    refused(lambda: traced(lambda x: a.number(x, "x"), 1j), "traced with .* complex128")
    refused(lambda: traced(lambda n: a.count(n, "n"), 1), "n is .*known before compilation")
    assert traced(lambda x: a.real_array(x, "x"), 1.0)
    assert traced(lambda x: a.real_array([x, 2.0], "x"), 1.0)
    refused(lambda: a.real_array(jnp.ones(2) * 1j, "x"), "x is complex")
    refused(lambda: a.real_array(jnp.ones(2, bool), "x"), "expected numbers")
