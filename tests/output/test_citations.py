"""BibTeX entries for the methods that a run used."""

import re

import pytest

import zwang as zw
from zwang.objects.families import (
    DRIFTS,
    FORMULATIONS,
    GAINS,
    INTEGRATORS,
    NULL_SPACES,
    PSEUDOINVERSES,
)
from zwang.output.citations import CITED, ENTRIES

METHODS = [
    member.name
    for family in (INTEGRATORS, PSEUDOINVERSES, FORMULATIONS, DRIFTS, GAINS, NULL_SPACES)
    for member in family.members.values()
]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_says_what_it_is_cited_by(name):
    assert all(key in ENTRIES for key in CITED[name])


def test_every_entry_is_cited_by_something():
    cited = {key for keys in CITED.values() for key in keys} | {"zwang", "udwadia1992"}
    assert cited == set(ENTRIES)


def test_a_run_is_cited_by_its_methods():
    run = zw.gallery.load("pendulum").run(duration=0.1, integrator=zw.methods.Tsit5(), rtol=1e-4)
    text = zw.cite(run)
    keys = re.findall(r"^@\w+\{(\w+),$", text, re.MULTILINE)
    assert keys == ["zwang", "udwadia1992", "tsitouras2011", "hairer2006", "parikh2014"]
    assert text.count("{") == text.count("}")
    assert "% integrator Tsit5" in text and "% drift Projection" in text
    assert "doi = {10.1016/j.camwa.2011.06.002}" in text
    assert "url = {https://doi.org/10.1016/j.camwa.2011.06.002}" in text


def test_a_doi_has_the_form_of_one():
    """A prefix of the registrar and a suffix, as they are resolved, without an address."""
    found = [fields["doi"] for _, fields in ENTRIES.values() if "doi" in fields]
    assert len(found) > 15
    assert [x for x in found if not re.fullmatch(r"10\.\d{4}/[^\s{}%]+", x)] == []


def test_only_runs_are_cited():
    with pytest.raises(zw.ModelError, match="expected a Run"):
        zw.cite("run.nc")
