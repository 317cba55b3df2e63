"""The cache of compiled programs, with a limited number of entries."""

import numpy as np
import pytest

from zwang.compile import BoundProgram, interface
from zwang.objects import recent
from zwang.objects.recent import Recent


@pytest.fixture
def two_at_most(monkeypatch):
    monkeypatch.setattr(recent, "MOST", 2)


def test_what_was_used_longest_ago_gives_way(two_at_most):
    kept = Recent()
    for key in "ab":
        kept.put(key, key.upper())
    assert kept.get("a") == "A"
    kept.put("c", "C")
    assert list(kept) == ["a", "c"] and kept.get("b") is None and len(kept) == 2


def test_a_key_that_cannot_be_hashed_is_said_to_be_none():
    with pytest.raises(TypeError, match="unhashable"):
        Recent().get([])


def test_programs_of_many_models_do_not_pile_up(two_at_most):
    """Each holds memory mappings of its process, which are limited."""
    programs = [BoundProgram(lambda x, k=k: k * x, (), (np.zeros(3),)) for k in range(4)]
    assert len(interface._ready) <= 2
    for k, program in enumerate(programs):  # those in use live on
        np.testing.assert_array_equal(program(np.ones(3)), k)


def test_all_can_be_forgotten():
    kept = Recent()
    kept.put("a", 1)
    Recent.forget()
    assert not len(kept)
