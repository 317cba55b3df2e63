"""Modules by the paths that they had in version 0.1: these go on working for one version, with a
`DeprecationWarning` that names the new path.

Nothing is imported before an old path is. The finder stands last in `sys.meta_path`, where Python
asks it only for what no other finder knows.
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

MODULES = {
    "cli.closing": "cli.summary_table",
    "cli.wall": "cli.timing",
    "constraint": "equations.constraint",
    "constraint.pattern": "algebra.sparsity_pattern",
    "course": "simulation.driver",
    "diagnosis": "analysis.check",
    "drift": "dynamics.drift",
    "ensemble": "simulation",
    "ensemble.names": "simulation.parameter_names",
    "ensemble.narrow": "simulation.single_precision",
    "ensemble.problem": "simulation.fit_problem",
    "factor": "algebra.cholesky",
    "flow": "dynamics.vector_field",
    "formulation": "dynamics.formulation",
    "hierarchy.chosen": "hierarchy.level_selection",
    "hierarchy.names": "hierarchy.named_views",
    "hierarchy.packed": "hierarchy.stacked_parameters",
    "hierarchy.placed": "hierarchy.replicated_constraint",
    "hierarchy.places": "hierarchy.instances",
    "integrate": "stepping",
    "integrate.loop": "stepping.step_loop",
    "kernel": "algebra.kernel",
    "lagrangian": "equations.lagrangian",
    "law": "dynamics.control_law",
    "mass": "algebra.mass_matrix",
    "model": "dynamics.motion",  # which knows `Model`, too
    "orders": "dynamics.higher_order",
    "picture": "plots",
    "programs": "compile",
    "programs.fingerprint": "compile.program_cache.fingerprint",
    "programs.follow": "compile.interpreter",
    "programs.keep": "compile.interface",
    "programs.known": "compile.program_cache.purity",
    "programs.objects": "compile.program_cache.objects",
    "programs.own": "compile.program_cache.source_digest",
    "programs.setting": "compile.program_cache.environment",
    "programs.store": "compile.program_cache.store",
    "pseudoinverse": "algebra.pseudoinverse",
    "report": "output.report",
    "robots.compiled": "robots.mujoco_reader",
    "run": "simulation.results",
    "servo.prolonged": "servo.lie_derivative",
    "sparse": "algebra.elimination",
    "sparse.elimination": "algebra.elimination.elimination",
    "sparse.factor": "algebra.elimination.factor",
    "sparse.gather": "algebra.elimination.gather",
    "sparse.matrix": "algebra.elimination.matrix",
    "sparse.method": "algebra.pseudoinverse.sparse",
    "sparse.newton": "algebra.elimination.newton",
    "sparse.order": "algebra.elimination.order",
    "sparse.pattern": "algebra.elimination.pattern",
    "sparse.structure": "dynamics.sparse_structure",
    "sparse.weighted": "algebra.operator.sparse",
    "start": "dynamics.initial_conditions",
    "state": "equations.state",
    "switching": "simulation.switching",
    "system": "equations.system",
    "viewer": "output.viewer",
}
"""Old path → new path, both within `zwang`; what is below an old package is below the new one."""
NAMES = {
    "ensemble": {
        "Batch": "simulation.batch_result.Batch",
        "Fit": "simulation.fit.Fit",
        "Trajectory": "simulation.trajectory.Trajectory",
        "batch": "simulation.batch.batch",
        "fit": "simulation.fit.fit",
        "prepare": "simulation.batch.prepare",
        "trajectory": "simulation.trajectory.trajectory",
    },
    "sparse": {
        "MISSED": "dynamics.sparse_structure.MISSED",
        "MOST_COLORS": "algebra.elimination.pattern.MOST_COLORS",
        "Sparse": "algebra.pseudoinverse.Sparse",
        "SparseMatrix": "algebra.elimination.matrix.SparseMatrix",
        "Sparsity": "dynamics.sparse_structure.Sparsity",
        "Structure": "dynamics.sparse_structure.Structure",
    },
    "course": {"Course": "simulation.driver.RunDriver"},
    "drift": {"Settled": "dynamics.drift.ProjectedStep"},
    "drift.base": {"Settled": "dynamics.drift.base.ProjectedStep"},
    "dynamics": {
        **{
            name: f"dynamics.equation_of_motion.{name}"
            for name in ("Dynamics", "Equation", "Scales", "augmentation")
        },
        "CONSISTENT": "algebra.judgement.CONSISTENT",
    },
    "flow": {
        "MotionFlow": "dynamics.vector_field.ConstrainedVectorField",
        "Turn": "dynamics.vector_field.SwitchCondition",
    },
    "hierarchy.packed": {"Packed": "hierarchy.stacked_parameters.StackedParameters"},
    "hierarchy.placed": {"Placed": "hierarchy.replicated_constraint.ReplicatedConstraint"},
    "hierarchy.places": {"Places": "hierarchy.instances.Instances"},
    "orders": {"Tower": "dynamics.higher_order.DifferentiatedRelation"},
    "programs.follow": {"Follower": "compile.interpreter.JaxprInterpreter"},
    "programs.keep": {"keep_programs": "compile.program_cache.cache.keep_programs"},
    "programs.known": {"UnknownError": "compile.flat.NotCacheableError"},
    "programs.own": {"sources": "compile.program_cache.source_digest.source_digest"},
    "programs.setting": {"setting": "compile.program_cache.environment.environment_key"},
}
"""Names that are not found under the same name in the module that took the place of theirs."""


def new_path(old: str) -> str | None:
    """The path, within `zwang`, that took the place of an old one; None for any other path."""
    start, rest = old, ""
    while start:
        if start in MODULES:
            return MODULES[start] + rest
        start, dot, last = start.rpartition(".")
        rest = dot + last + rest
    return None


def moved_names(package: str):
    """`__getattr__` of a package that has the path of an old module: that module's names.

    Raises:
        AttributeError: by what it returns, for any other name.
    """
    old = package.removeprefix("zwang.")

    def find(name: str):
        if name not in NAMES[old]:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home, _, new = NAMES[old][name].rpartition(".")
        warnings.warn(
            f"{package}.{name} is zwang.{home}.{new} now; the old path goes after this version.",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(importlib.import_module(f"zwang.{home}"), new)

    return find


class _OldModule(ModuleType):
    """Stands at an old path and hands out what is at the new one."""

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        old = self.__name__.removeprefix("zwang.")
        home, new = new_path(old), name
        if name in NAMES.get(old, {}):
            home, _, new = NAMES[old][name].rpartition(".")
        try:
            found = getattr(importlib.import_module(f"zwang.{home}"), new)
        except AttributeError:
            raise AttributeError(
                f"module 'zwang.{home}', formerly {self.__name__!r}, has no attribute {new!r}"
            ) from None
        warnings.warn(
            f"{self.__name__} is zwang.{home} now; the old path goes after this version.",
            DeprecationWarning,
            stacklevel=2,
        )
        setattr(self, name, found)  # asked for twice by `from … import`: one warning
        return found


class _OldPaths:
    """Finds and makes the modules at old paths."""

    def find_spec(self, name: str, path=None, target=None) -> ModuleSpec | None:
        new = new_path(name.removeprefix("zwang.")) if name.startswith("zwang.") else None
        if new is None or importlib.util.find_spec(f"zwang.{new}") is None:
            return None
        loader: Any = self  # has what a loader needs, without importing importlib.abc
        return ModuleSpec(name, loader, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _OldModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def install() -> None:
    """Let `import` find old paths, after all else."""
    if not any(type(finder).__name__ == _OldPaths.__name__ for finder in sys.meta_path):
        finder: Any = _OldPaths()
        sys.meta_path.append(finder)
