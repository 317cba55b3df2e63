"""Fingerprints of programs: every change of a program changes its fingerprint, and objects without
a fingerprint are refused.
"""

import functools
import types

import equinox as eqx
import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

import zwang as zw
from zwang.compile.flat import NotCacheableError
from zwang.compile.program_cache import source_digest
from zwang.compile.program_cache.fingerprint import Fingerprint
from zwang.compile.program_cache.source_digest import ModuleConstants


def fingerprint(*things) -> str:
    found = Fingerprint()
    for x in things:
        found.add(x)
    return found.hexdigest()


def written(source: str, **names):
    """`f` of a user's file, read as if in a process of its own."""
    file = types.ModuleType("users_file")
    vars(file).update({"jnp": jnp, "np": np, **names})
    exec(source, vars(file))
    return file.f


def closed_over(x):
    return written("def outer(x):\n    return lambda q: q * x\nf = outer(x)", x=x)


class Spring:
    def __init__(self, k):
        self.k = k

    def force(self, q):
        return -self.k * q


class Slotted:
    __slots__ = ("k",)

    def __init__(self, k):
        self.k = k


def module(text: str):
    found = types.ModuleType("helper")
    exec(text, vars(found))
    return found


DATACLASS = "import dataclasses\n@dataclasses.dataclass\nclass S:\n    k: int = {}\nf = S"
MAKING = (
    "import dataclasses\n@dataclasses.dataclass\nclass S:\n    k: int = 1\n    def "
    "__init__(self):\n        self.k = {}\nf = S"
)
COUNTER = (
    "def outer():\n    n = 0\n    def f(q):\n        nonlocal n\n        n += 1\n        return "
    "n * q\n    return f\nf = outer()"
)
MODULE = """
class S(eqx.Module):
    k: float
    gain: float = eqx.field(static=True, default={})
    def __call__(self, q):
        return {} * q
f = S(1.0)
"""
METHOD = "class S:\n    def force(self, q):\n        return {} * q\nf = S().force"
CASES = {
    "a constant": ("f = lambda q: 2.0 * q", "f = lambda q: 3.0 * q"),
    "the sign of zero": ("f = lambda q: q + 0.0", "f = lambda q: q + -0.0"),
    "the kind of a number": ("f = lambda q: q * 1", "f = lambda q: q * 1.0"),
    "a truth for a number": ("f = lambda q: (1, q)", "f = lambda q: (True, q)"),
    "an operation": ("f = lambda q: q + q", "f = lambda q: q * q"),
    "a function of a library": ("f = lambda q: jnp.sin(q)", "f = lambda q: jnp.cos(q)"),
    "a global number": ("g = 9.81\nf = lambda q: g * q", "g = 1.62\nf = lambda q: g * q"),
    "a helper": ("h = lambda q: q\nf = lambda q: h(q)", "h = lambda q: -q\nf = lambda q: h(q)"),
    "a helper's helper": (
        "a = 1\nh = lambda q: a * q\nf = lambda q: h(q)",
        "a = 2\nh = lambda q: a * q\nf = lambda q: h(q)",
    ),
    "a nested function": (
        "def f(q):\n    return (lambda x: x + 1)(q)",
        "def f(q):\n    return (lambda x: x + 2)(q)",
    ),
    "a nested function's global": (
        "a = 1\ndef f(q):\n    return (lambda x: x + a)(q)",
        "a = 2\ndef f(q):\n    return (lambda x: x + a)(q)",
    ),
    "a default": ("f = lambda q, k=1.0: k * q", "f = lambda q, k=2.0: k * q"),
    "a keyword's default": ("f = lambda q, *, k=1.0: k * q", "f = lambda q, *, k=2.0: k * q"),
    "a global array": (
        "a = np.ones(2)\nf = lambda q: a * q",
        "a = np.array([1.0, 2.0])\nf = lambda q: a * q",
    ),
    "an array of JAX's": (
        "a = jnp.ones(2)\nf = lambda q: a * q",
        "a = jnp.zeros(2)\nf = lambda q: a * q",
    ),
    "a dictionary": (
        "a = {'k': 1}\nf = lambda q: a['k'] * q",
        "a = {'k': 2}\nf = lambda q: a['k'] * q",
    ),
    "a dictionary's order": (
        "a = {'k': 1, 'l': 2}\nf = lambda q: list(a)",
        "a = {'l': 2, 'k': 1}\nf = lambda q: list(a)",
    ),
    "the order of functions": (
        "f = (lambda q: q, lambda q: -q)",
        "f = (lambda q: -q, lambda q: q)",
    ),
    "a method's class": (METHOD.format(1), METHOD.format(2)),
    "an inherited method": (
        "class B:\n    def k(self): return 1\nclass S(B): pass\nf = S()",
        "class B:\n    def k(self): return 2\nclass S(B): pass\nf = S()",
    ),
    "a class's number": ("class S:\n    k = 1\nf = S()", "class S:\n    k = 2\nf = S()"),
    "a dataclass's default": (DATACLASS.format(1), DATACLASS.format(2)),
    "a dataclass's own making": (MAKING.format(1), MAKING.format(2)),
    "an exception's name": ("def f(q):\n    raise ValueError", "def f(q):\n    raise TypeError"),
    "a branch": (
        "f = lambda q: q if True in (True,) else 0",
        "f = lambda q: q if True in (False,) else 0",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_change_of_what_a_function_does_changes_its_fingerprint(name):
    before, after = CASES[name]
    assert fingerprint(written(before)) != fingerprint(written(after))


@pytest.mark.parametrize("name", CASES)
def test_the_same_text_read_twice_has_one_fingerprint(name):
    assert fingerprint(written(CASES[name][0])) == fingerprint(written(CASES[name][0]))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (closed_over(1.0), closed_over(2.0)),
        (closed_over(np.ones(3)), closed_over(np.ones((3, 1)))),
        (closed_over(np.ones(3)), closed_over(np.ones(3, np.float32))),
        (closed_over(np.array([1, 2])), closed_over(np.array([2, 1]))),
        (closed_over(Spring(1.0)), closed_over(Spring(2.0))),
        (closed_over(Slotted(1.0)), closed_over(Slotted(2.0))),
        (closed_over(closed_over(1)), closed_over(closed_over(2))),
        (Spring(1.0).force, Spring(2.0).force),
        (functools.partial(closed_over(1), 2), functools.partial(closed_over(1), 3)),
        (functools.partial(closed_over(1), q=2), functools.partial(closed_over(1), k=2)),
        (jax.jit(closed_over(1)), jax.jit(closed_over(2))),
        (jax.vmap(closed_over(1), in_axes=0), jax.vmap(closed_over(1), in_axes=1)),
        (jnp.float32, jnp.float64),
        (zw.methods.Proximal, zw.methods.SVD),
        (zw.methods.Proximal(), zw.methods.Proximal(sweeps=5)),
        ((1, (2, 3)), ((1, 2), 3)),
        (["ab", "c"], ["a", "bc"]),
        (jax.tree_util.tree_structure((1, 2)), jax.tree_util.tree_structure([1, 2])),
        (module("k = 1\nf = lambda q: k * q"), module("k = 2\nf = lambda q: k * q")),
    ],
)
def test_a_change_of_what_is_held_changes_the_fingerprint(before, after):
    assert fingerprint(before) != fingerprint(after)


def test_an_array_that_was_written_to_has_another_fingerprint():
    a = np.ones(3)
    f = closed_over(a)
    before = fingerprint(f)
    a[1] = 2.0
    assert fingerprint(f) != before


def test_equal_bytecode_with_another_global_has_another_fingerprint():
    source = "f = lambda q: h(q)"
    assert (
        written(source, h=jnp.sin).__code__.co_code == written(source, h=jnp.cos).__code__.co_code
    )
    assert fingerprint(written(source, h=jnp.sin)) != fingerprint(written(source, h=jnp.cos))


def test_functions_that_refer_to_each_other_come_to_an_end():
    source = "def f(q):\n    return g(q)\ndef g(q):\n    return {} * f(q)"
    assert fingerprint(written(source.format(1))) == fingerprint(written(source.format(1)))
    assert fingerprint(written(source.format(1))) != fingerprint(written(source.format(2)))


def test_structures_of_other_shape_differ():
    def of(tree):
        found = Fingerprint()
        found.structure(jax.tree_util.tree_structure(tree))
        return found.hexdigest()

    trees = [
        {"a": 1, "b": 2},
        {"a": 1, "c": 2},
        (1, 2),
        [1, 2],
        (1, (2,)),
        ((1,), 2),
        (1, None, 2),
        zw.methods.Proximal(),
    ]
    assert len({of(x) for x in trees}) == len(trees)


REFUSED = {
    "a file that is read": "f = lambda q: open('gains.txt').read()",
    "a table that is read": "f = lambda q: np.loadtxt('gains.txt') * q",
    "a table by another name": "def f(q, lib=np):\n    return lib.loadtxt('gains.txt') * q",
    "a table by its function": "from numpy import loadtxt\nf = lambda q: loadtxt('gains.txt') * q",
    "an import of what is no library": "def f(q):\n    import time\n    return q * time.time()",
    "a module of the system": "import os\nf = lambda q: q * float(os.environ['K'])",
    "chance": "f = lambda q: q * np.random.rand()",
    "a name looked up by its text": "g = 1\nf = lambda q: q * globals()['g']",
    "text that is run": "f = lambda q: eval('q * g')",
    "a counter": "n = 0\ndef f(q):\n    global n\n    n += 1\n    return n * q",
    "a counter in a closure": COUNTER,
    "a generator": "g = iter([1, 2])\nf = lambda q: q * next(g)",
    "a generator of random numbers": "g = np.random.default_rng(1)\nf = lambda q: q * g.random()",
    "an open file": "g = open('/dev/null')\nf = lambda q: g",
    "a callback": "import jax\nf = lambda q: jax.pure_callback(h, q, q)",
    "a print": "f = lambda q: print(q)",
    "a name that is not there": "f = lambda q: nowhere * q",
    "objects in an array": "a = np.array([object()])\nf = lambda q: a",
    "functions in a set": "a = {lambda q: q, lambda q: -q}\nf = lambda q: a",
    "a cache": "import functools\nf = functools.lru_cache(lambda q: q)",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_known_is_refused(name):
    with pytest.raises(NotCacheableError):
        fingerprint(written(REFUSED[name]))


def test_numbers_of_zwang_that_somebody_has_set_are_seen(monkeypatch):
    import zwang.algebra.gauss
    import zwang.dynamics.model

    modules = ModuleConstants()
    before = modules.digest({"zwang.dynamics.model"})
    name = next(
        n for n, x in vars(zwang.algebra.gauss).items() if n.isupper() and isinstance(x, float)
    )
    with monkeypatch.context() as patch:
        patch.setattr(zwang.algebra.gauss, name, 0.125)
        assert modules.digest({"zwang.dynamics.model"}) != before
    assert modules.digest({"zwang.dynamics.model"}) == before


def test_a_function_in_the_place_of_zwangs_is_refused(monkeypatch):
    import zwang.algebra.gauss
    import zwang.dynamics.model

    modules = ModuleConstants()
    modules.digest({"zwang.dynamics.model"})
    with monkeypatch.context() as patch, pytest.raises(NotCacheableError, match="replaced"):
        patch.setattr(zwang.algebra.gauss, "row_lengths", lambda C: C)
        modules.digest({"zwang.dynamics.model"})
    with monkeypatch.context() as patch, pytest.raises(NotCacheableError, match="replaced"):
        patch.setattr(zw.methods.Proximal, "relaxed", lambda self, violation: self)
        modules.digest({"zwang.dynamics.model"})


def test_libraries_outside_of_the_folders_of_python_are_libraries_still(monkeypatch):
    """As `pip install --target` puts them, for `PYTHONPATH`."""
    monkeypatch.setattr(source_digest, "INSTALLED", ())
    source_digest._refuse_foreign(jaxtyping.PyTree, "PyTree")
    with pytest.raises(NotCacheableError, match="replaced"):
        source_digest._refuse_foreign(pytest.Item, "Item")


def test_a_module_of_a_users_own_class_is_known_by_its_code():
    made = lambda *numbers: fingerprint(written(MODULE.format(*numbers), eqx=eqx))
    assert made(1, 2) == made(1, 2)
    assert len({made(1, 2), made(1, 3), made(2, 2)}) == 3
