"""The page of the paper: every claim has the verdict that is known to be right."""

import pytest

from zwang.papers import reproduce


@pytest.mark.slow
def test_no_verdict_of_the_recursive_paper_has_changed():
    page = reproduce("recursive")
    assert len(page.claims) == 24
    assert not page.changed
