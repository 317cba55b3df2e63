"""Paths of version 0.1 go on working, say once where things are now, and cost nothing before."""

import importlib
import subprocess
import sys

import pytest

import zwang.renamed
from zwang.algebra.pseudoinverse import AbstractPseudoinverse
from zwang.algebra.pseudoinverse.svd import SVD
from zwang.dynamics.equation_of_motion import Dynamics

IMPORTS = """
import sys, zwang
heavy = ("jax", "numpy", "zwang.")
print([name for name in sys.modules if name.startswith(heavy)])
"""


@pytest.fixture
def unseen(monkeypatch):
    """No old path was imported before."""
    for name in list(sys.modules):
        if type(sys.modules[name]).__name__ == "_OldModule":
            monkeypatch.delitem(sys.modules, name)


@pytest.mark.parametrize("old", sorted(zwang.renamed.MODULES))
def test_what_stood_at_an_old_path_is_what_stands_at_the_new_one(old, unseen):
    new = importlib.import_module(f"zwang.{zwang.renamed.MODULES[old]}")
    here = importlib.import_module(f"zwang.{old}")
    moved = {
        name: x
        for name, x in vars(new).items()
        if getattr(x, "__module__", "").startswith("zwang.") and not name.startswith("_")
    }
    for name, path in zwang.renamed.NAMES.get(old, {}).items():
        home, _, now = path.rpartition(".")
        moved[name] = getattr(importlib.import_module(f"zwang.{home}"), now)
    with pytest.warns(DeprecationWarning):
        assert all(getattr(here, name) is x for name, x in moved.items())


def test_an_old_import_gives_one_warning_that_names_the_new_path(unseen):
    with pytest.warns(DeprecationWarning) as said:
        from zwang.pseudoinverse import AbstractPseudoinverse as Old
    assert Old is AbstractPseudoinverse
    assert [str(x.message) for x in said] == [
        "zwang.pseudoinverse is zwang.algebra.pseudoinverse now; the old path goes after this "
        "version."
    ]
    assert said[0].filename == __file__


def test_a_module_below_an_old_package_is_found(unseen):
    with pytest.warns(DeprecationWarning, match=r"zwang\.algebra\.pseudoinverse\.svd now") as said:
        from zwang.pseudoinverse.svd import SVD as OLD
    assert OLD is SVD
    assert len(said) == 1


def test_a_package_at_the_path_of_an_old_module_knows_its_names():
    with pytest.warns(DeprecationWarning, match=r"zwang\.dynamics\.equation_of_motion\.Dynamics"):
        from zwang.dynamics import Dynamics as Old
    assert Old is Dynamics


@pytest.mark.parametrize("old", sorted(zwang.renamed.NAMES))
def test_every_name_that_has_moved_has_a_home(old):
    for path in zwang.renamed.NAMES[old].values():
        home, _, name = path.rpartition(".")
        assert hasattr(importlib.import_module(f"zwang.{home}"), name), path


def test_what_never_existed_is_not_found(unseen):
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("zwang.nonsense")
    with pytest.raises(ImportError):
        from zwang.pseudoinverse import nonsense  # noqa: F401
    with pytest.raises(
        AttributeError, match=r"formerly 'zwang.kernel', has no attribute 'nonsense'"
    ):
        importlib.import_module("zwang.kernel").nonsense  # noqa: B018


def test_importing_zwang_imports_only_its_version_and_the_table_of_old_paths():
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True)
    imported = "['zwang.renamed', 'zwang.version']"
    assert done.stdout.split("\n")[0] == imported, done.stdout + done.stderr
