"""The list of equivalent mutants contains only existing mutants."""

import pytest

from tests.mutation.__main__ import path_of
from tests.mutation.equivalent import key, listed
from tests.mutation.groups import GROUPS
from tests.mutation.mutants import mutants


@pytest.mark.slow
def test_every_mutant_that_is_listed_exists_and_has_a_reason():
    files = {module for group in GROUPS.values() for module in group.files}
    wanted = listed()
    assert all(len(why.split()) >= 4 for why in wanted.values())
    for module in {module for module, _, _ in wanted}:
        assert module in files
        source = path_of(module).read_text()
        found = {key(module, mutant, source) for mutant in mutants(source)}
        missing = {name for name in wanted if name[0] == module} - found
        assert not missing, f"{module} has no mutants {missing}"
