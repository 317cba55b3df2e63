"""Every class is either abstract or final: behavior is changed by composition, never by overriding
a concrete class.
"""

import importlib
import inspect
import pkgutil

import pytest

from zwang.objects.record import Record


def module_names():
    package = importlib.import_module("zwang")
    found = pkgutil.walk_packages(package.__path__, prefix="zwang.")
    return sorted(module.name for module in found if not module.name.endswith(".__main__"))


@pytest.fixture(scope="module")
def classes():
    """Every `Record` of zwang; a module that does not import fails the tests here."""
    found = set()
    for name in module_names():
        module = importlib.import_module(name)
        found |= {
            cls
            for cls in vars(module).values()
            if inspect.isclass(cls)
            and issubclass(cls, Record)
            and cls.__module__ == name != Record.__module__
        }
    assert found, "zwang defines no record"
    return sorted(found, key=full_name)


def full_name(cls):
    return f"{cls.__module__}.{cls.__qualname__}"


def is_abstract(cls):
    """True if a method or a field (`eqx.AbstractVar`, `eqx.AbstractClassVar`) is still to be
    given.
    """
    return bool(cls.__abstractmethods__ or cls.__abstractvars__ or cls.__abstractclassvars__)


def test_a_concrete_class_has_no_subclasses(classes):
    wrong = [
        f"{full_name(cls)} inherits from {full_name(base)}, which is complete; compose instead"
        for cls in classes
        for base in cls.__bases__
        if base in classes and not is_abstract(base)
    ]
    assert not wrong, "\n".join(wrong)


def test_a_class_called_abstract_is_abstract(classes):
    wrong = [
        full_name(cls)
        for cls in classes
        if cls.__name__.lstrip("_").startswith("Abstract") and not is_abstract(cls)
    ]
    assert not wrong, f"nothing is left to implement in: {', '.join(wrong)}"


def test_an_abstract_class_is_called_abstract(classes):
    wrong = [
        full_name(cls)
        for cls in classes
        if is_abstract(cls) and not cls.__name__.lstrip("_").startswith("Abstract")
    ]
    assert not wrong, (
        f"begin these names with Abstract, or implement what is missing: {', '.join(wrong)}"
    )
