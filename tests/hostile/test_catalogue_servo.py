"""Every case of the catalogue of servos and conditions ends in its sentence."""

import pytest

from tests.hostile.case import fault, outcome
from tests.hostile.catalogue_servo import CASES


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_hostile_case_ends_in_its_sentence(case, tmp_path):
    code, text = outcome(case, tmp_path, lambda words: (None, ""))
    assert fault(case, code, text) is None


def test_names_are_unique():
    assert len({case.name for case in CASES}) == len(CASES)
