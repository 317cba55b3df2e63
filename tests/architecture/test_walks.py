"""The number of files that a reader opens to follow a call to its result.

A walk is a list of functions and classes in which every entry is called by an earlier entry. It
omits parts that a reader need not open to follow the computation: checks of arguments, the
compilation and caching of programs (`compile`), alternatives to a part in the list (one integrator,
one joint and one pseudoinverse represent all), and code that runs only before an error.

The lists are written by hand, because no program can determine which code a reader needs. About
twice as many files execute code as in version 0.1.0: `python -m tests.architecture.executed` counts
84, 31 and 25, and 42, 19 and 22 there. The limits were set relative to 38, 12 and 8 files of 0.1.0,
whose counting was not written down. If those were the files that execute, the walks have become
longer, not shorter.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "zwang"

SIMULATE = (
    ("simulation/simulate.py", "simulate"),
    ("simulation/run_setup.py", "set_up"),
    ("dynamics/initial_conditions.py", "checked_start"),
    ("dynamics/placement.py", "place"),
    ("dynamics/evaluation.py", "evaluate"),
    ("dynamics/equation_of_motion.py", "Dynamics"),
    ("equations/constraint/equation.py", "Constraints"),
    ("algebra/gauss.py", "Gauss"),
    ("algebra/pseudoinverse/proximal.py", "Proximal"),
    ("simulation/driver.py", "drive"),
    ("stepping/step_loop.py", "advance"),
    ("stepping/step.py", "attempt"),
    ("stepping/dopri8.py", "Dopri8"),
    ("stepping/explicit.py", "AbstractExplicit"),
    ("dynamics/drift/projection.py", "Projection"),
    ("simulation/results/record.py", "Run"),
    ("simulation/results/observe.py", "observe"),
    ("simulation/results/dataset.py", "variables_of"),
)
"""From `zw.simulate` to `run.dataset`."""
TOML = (
    ("mechanism/toml.py", "read"),
    ("mechanism/mechanism.py", "Mechanism"),
    ("mechanism/compiler.py", "CompiledMechanism"),
    ("mechanism/geometry.py", "geometry_of"),
    ("mechanism/joint_constraints.py", "JointConstraints"),
    ("mechanism/joint_kind.py", "JointKind"),
    ("bodies/planar.py", "PlanarBodies"),
    ("dynamics/model.py", "Model"),
)
"""From a mechanism file to its model."""
SERVO = (
    ("servo/control.py", "control"),
    ("servo/servo.py", "Servo"),
    ("servo/controller.py", "Controller"),
    ("dynamics/equation_of_motion.py", "Dynamics"),
    ("servo/null_space.py", "LeastNorm"),
    ("servo/limits.py", "limited"),
)
"""From a servo to u."""


def defined(path: str) -> set[str]:
    """Functions and classes of a file."""
    tree = ast.parse((SOURCE / path).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


@pytest.mark.parametrize(
    ("walk", "most"), [(SIMULATE, 20), (TOML, 8), (SERVO, 6)], ids=["simulate", "toml", "servo"]
)
def test_a_walk_opens_few_files(walk, most):
    opened: list[str] = []
    for path, name in walk:
        assert name in defined(path), f"{path} has no {name}"
        named = [x for x in opened if re.search(rf"\b{name}\b", (SOURCE / x).read_text())]
        assert named or not opened, f"nothing on the way names {name} of {path}"
        opened.append(path)
    assert len(set(opened)) <= most


def test_importing_zwang_imports_only_its_version():
    named = "sorted(x for x in sys.modules if x[:4] in ('jax', 'zwan'))"
    program = f"import sys, zwang; print({named})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "['zwang', 'zwang.namespace', 'zwang.version']", (
        done.stdout + done.stderr
    )
