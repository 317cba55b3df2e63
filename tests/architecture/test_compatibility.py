"""Private names of JAX are used in one file, declared there, and imported only when needed."""

import ast
import functools
import re
import subprocess
import sys
import tomllib

import pytest
from tests.architecture.table import ROOT, tree_of

from zwang.compile.compatibility import TESTED_VERSIONS

PRIVATE = re.compile(
    r"(jax\._src|jax\.experimental|jax\.interpreters|equinox\.internal|jaxlib\.xla)\b"
)
WITHOUT_PROMISE = {
    "jax.core.Tracer",
    "jax.core.eval_jaxpr",
    "jax.custom_batching.custom_vmap",
    "jax.extend.core.ClosedJaxpr",
    "jax.extend.core.Jaxpr",
    "jax.extend.core.JaxprEqn",
    "jax.extend.core.Literal",
    "jax.extend.core.Primitive",
    "jax.extend.core.get_opaque_trace_state",
    "jax.extend.core.jaxpr_as_fun",
}
"""Public names that JAX does not promise to keep: those of traced programs, and one decorator."""

IMPORT_HOOK = """
import builtins, importlib, sys
private = ("jax._src", "jax.experimental", "equinox.internal")
real_import, real_import_module = builtins.__import__, importlib.import_module

def refuse(origin, names):
    if origin.partition(".")[0] == "zwang" and any(name.startswith(private) for name in names):
        raise AssertionError(f"{origin} imports {names}")

def checked_import(name, globals=None, locals=None, fromlist=(), level=0):
    refuse((globals or {}).get("__name__") or "", [name, *(f"{name}.{x}" for x in fromlist or ())])
    return real_import(name, globals, locals, fromlist, level)

def checked_import_module(name, package=None):
    refuse(sys._getframe(1).f_globals.get("__name__", ""), [name])
    return real_import_module(name, package)

builtins.__import__, importlib.import_module = checked_import, checked_import_module
"""
MAKE_A_MODEL = """
import operator
import jax, jax.numpy as jnp
jax.config.update("jax_enable_x64", True)
import zwang as zw
from zwang.inputs.call import public_names
for name in public_names().values():
    operator.attrgetter(name.removeprefix("zw."))(zw)
from zwang import gallery
weight = lambda q, v, t, p: jnp.array([0.0, -p["m"]])
system = zw.System(2, lambda q, t, p: p["m"] * jnp.eye(2), weight)
zw.Model(system, [zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="rod")], {"m": 1.0})
gallery.load("five-bar")
print("made")
"""
RUN_IT = """
try:
    zw.motion(gallery.load("five-bar").model, *gallery.load("five-bar").start)
except AssertionError as refused:
    print(refused)
"""


@functools.cache
def names() -> frozenset[tuple[str, str]]:
    """Files, and the dotted names that each imports or reaches by attributes."""
    inside = tree_of(ROOT).inside
    return frozenset((file, name) for file, nodes in inside.items() for name in names_of(nodes))


def names_of(nodes):
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute) and (name := dotted(node)):
            yield re.sub(r"^eqx\b", "equinox", name)


def dotted(node):
    """A name and its attributes; empty for any other expression."""
    if isinstance(node, ast.Attribute):
        return (before := dotted(node.value)) and f"{before}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)


def test_importing_zwang_and_making_a_model_touches_no_private_name():
    ended = run(IMPORT_HOOK + MAKE_A_MODEL)
    assert ended.stdout.strip() == "made", ended.stderr


@pytest.mark.slow
def test_the_hook_of_that_test_notices_a_private_name():
    ended = run(IMPORT_HOOK + "import zwang.compile.compatibility as c\nc.trace_state_clean()")
    assert "zwang.compile.compatibility imports ['jax._src', 'jax._src.core']" in ended.stderr


OWN_PRIMITIVE = {
    (file, f"jax.interpreters.{name}")
    for file in ("compile/derivative.py", "simulation/reverse.py")
    for name in ("ad", "batching", "mlir")
}
"""What JAX's documentation gives for a primitive of one's own."""


def test_private_names_stand_in_one_file():
    found = {(file, name) for file, name in names() if PRIVATE.match(name)} - OWN_PRIMITIVE
    used = {name for file, name in found if file == "compile/compatibility.py"}
    dead_code = "jax.interpreters.partial_eval.dce_jaxpr"
    assert used == {"jax._src.core", "jax._src.config", dead_code}
    elsewhere = [x for x in found if x[0] != "compile/compatibility.py"]
    assert not elsewhere, f"use zwang.compile.compatibility instead of {sorted(elsewhere)}"


def test_public_names_without_a_promise_are_listed():
    beginnings = ("jax.core.", "jax.extend.", "jax.custom_batching.")
    assert {name for _, name in names() if name.startswith(beginnings)} == WITHOUT_PROMISE


def test_tested_versions_are_those_of_the_constraints_and_bound_the_dependencies():
    pinned = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split())
    assert {name: pinned[name] for name in TESTED_VERSIONS} == TESTED_VERSIONS
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    major, minor = TESTED_VERSIONS["jax"].split(".")[:2]
    assert f"jax>=0.10,<{major}.{int(minor) + 1}" in required
