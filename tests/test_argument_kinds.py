"""Each check of an argument accepts valid values and names invalid ones; its limits are exact."""

import functools
import re
import types

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

from zwang.errors import LONGEST_WORD, ModelError, shortened
from zwang.inputs import arguments as a
from zwang.inputs.text import checked_name, escaped, is_hidden

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
    refused(lambda: a.strategy((NAN,), tuple, "s", ""), "a number of s is NaN, expected numbers")
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


class Inner(eqx.Module):
    """Fields as strategies declare them: by their text."""

    threshold: "float" = 1e-8
    sweeps: "int" = 3
    quick: "bool" = True


class Outer(eqx.Module):
    rate: 'Float[Array, "..."] | float' = 1.0
    inner: Inner = eqx.field(default_factory=Inner)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (Outer(rate=-1.0), r"s: rate is -1\.0, expected a number, at least 0"),
        (Outer(rate=np.array([1.0, -2.0])), "s: rate is array.*expected numbers of at least 0"),
        (Outer(inner=Inner(threshold=-1e-9)), "s: threshold is -1e-09"),
        (Outer(inner=Inner(threshold=np.ones(2))), "s: threshold is array"),
        (Outer(inner=Inner(sweeps=2.5)), "s: sweeps is 2.5"),
        (Outer(inner=Inner(quick=1)), "s: quick is 1"),
    ],
    ids=str,
)
def test_fields_of_a_strategy_are_of_their_kind(value, says):
    refused(lambda: a.strategy(value, Outer, "s", "an Outer()"), says)


def test_fields_of_a_strategy_at_their_limits_are_taken():
    for value in (
        Outer(0.0),
        Outer(INF),
        Outer(np.array([0.0, 2.0])),
        Outer(inner=Inner(0.0)),
        Outer(inner=Inner(INF)),
    ):
        a.strategy(value, Outer, "s", "an Outer()")
    # its numbers are not known, and neither is their sign
    jax.jit(lambda x: a.strategy(Outer(x), Outer, "s", "an Outer()") or x)(-np.ones(2))


def test_a_label_is_a_text():
    assert a.label("pin", "x") == "pin"
    for value in (3, None, b"pin", ["pin"]):
        refused(lambda value=value: a.label(value, "x"), "x is .*, expected a text")


def test_objects_are_shown_by_what_they_are():
    assert a.shown(len) == "the function len"
    # it can be called and has no name; it has one and cannot be called
    assert a.shown(functools.partial(len)).startswith("functools.partial")
    assert a.shown(types.SimpleNamespace(__name__="thing")).startswith("namespace(")
    assert len(a.shown("x" * 200)) == 60 and a.shown("y" * 58) == repr("y" * 58)
    assert a.shown("z" * 59) == "'" + "z" * 58 + "…"


def test_a_call_that_does_not_fit_a_function_of_the_host_is_one_sentence():
    @a.host_only("call it outside")
    def weighed(mass, scale=1.0):
        return len(mass) * scale

    assert weighed([1.0, 2.0], scale=3.0) == 6.0
    refused(lambda: weighed([1.0], sclae=2.0), "weighed.*sclae")
    refused(weighed, "weighed.*mass")
    with pytest.raises(TypeError):
        weighed(3.0)  # a fault of the function's own is not blamed on the call
