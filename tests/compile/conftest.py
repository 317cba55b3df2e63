"""Tests of the compiler choose their compilers themselves."""

import pytest


@pytest.fixture(autouse=True)
def _compilers_as_asked(compilers_as_asked):
    """Whatever the environment says."""
