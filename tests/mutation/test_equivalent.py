"""The list of mutants that change nothing names mutants that there are."""

from tests.mutation.__main__ import path_of
from tests.mutation.equivalent import key, listed
from tests.mutation.groups import GROUPS
from tests.mutation.mutants import mutants


def test_every_mutant_that_is_listed_exists_and_has_a_reason():
    files = {module for group in GROUPS.values() for module in group.files}
    for (module, line, what), why in listed().items():
        assert module in files and len(why.split()) >= 4
        source = path_of(module).read_text()
        found = {key(module, mutant, source) for mutant in mutants(source)}
        assert (module, line, what) in found, f"{module} has no mutant {what} in {line!r}"
