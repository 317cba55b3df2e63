"""zwang: constrained motion and servo control by the Udwadia-Kalaba equation.

    import zwang as zw

Nothing here imports JAX before it is used: names are loaded from the modules that define them on
first access.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from zwang.version import __version__ as __version__

_HOME = {
    "System": "equations.system",
    "Lagrangian": "equations.lagrangian",
    "Holonomic": "equations.constraint",
    "Nonholonomic": "equations.constraint",
    "AccelerationConstraint": "equations.constraint",
    "Inequality": "equations.constraint",
    "DryFriction": "equations.constraint",
    "Model": "dynamics.model",
    "Motion": "dynamics.motion",
    "motion": "dynamics.motion",
    "simulate": "simulation",
    "Stop": "simulation",
    "Switch": "simulation.switching",
    "consistent_state": "dynamics.initial_conditions",
    "check": "analysis.check",
    "equilibrium": "analysis.equilibrium",
    "Equilibrium": "analysis.equilibrium",
    "continuation": "analysis.continuation",
    "Continuation": "analysis.continuation",
    "linearize": "analysis.linearize",
    "Linearization": "analysis.linearize",
    "TimeVaryingLinearization": "analysis.time_varying",
    "Modes": "analysis.modes",
    "lqr": "analysis.lqr",
    "Regulator": "analysis.lqr",
    "kinematics": "analysis.kinematics",
    "Kinematics": "analysis.kinematics_result",
    "kinematics_batch": "analysis.kinematics_batch",
    "KinematicsBatch": "analysis.kinematics_batch",
    "assembly_modes": "analysis.assembly_modes",
    "AssemblyModes": "analysis.assembly_modes",
    "design": "analysis.design",
    "Design": "analysis.design",
    "driving_torque": "analysis.driving_torque",
    "DrivingTorque": "analysis.driving_torque",
    "workspace": "analysis.workspace",
    "Workspace": "analysis.workspace",
    "branches": "analysis.branches",
    "Branches": "analysis.branches",
    "passages": "analysis.branches",
    "side_by_side": "analysis.side_by_side",
    "trajectory": "simulation.trajectory",
    "Trajectory": "simulation.trajectory",
    "contact_mode": "simulation.mode",
    "batch": "simulation.batch",
    "Batch": "simulation.batch_result",
    "fit": "simulation.fit",
    "Fit": "simulation.fit",
    "load": "archive",
    "cite": "output.citations",
    "sweep": "study.sweep",
    "monte_carlo": "study.monte_carlo",
    "long_run": "study.long_run",
    "resume": "study.long_run",
    "grid": "study.sampling",
    "sobol": "study.sampling",
    "draws": "study.sampling",
    "Sweep": "study.result",
    "Run": "simulation.results",
    "Crossing": "simulation.results",
    "Switched": "simulation.results",
    "Projection": "dynamics.drift",
    "Baumgarte": "dynamics.drift",
    "BaumgarteRates": "dynamics.drift",
    "BaumgarteGains": "dynamics.drift",
    "Stabilized": "dynamics.drift",
    "NoStabilization": "dynamics.drift",
    "Dopri8": "stepping",
    "Tsit5": "stepping",
    "Kvaerno5": "stepping",
    "Rattle": "stepping",
    "Bosh3": "stepping.bosh3",
    "Proximal": "algebra.pseudoinverse",
    "CompleteOrthogonal": "algebra.pseudoinverse",
    "SVD": "algebra.pseudoinverse",
    "Varga": "algebra.pseudoinverse",
    "Sparse": "algebra.pseudoinverse",
    "Greville": "algebra.pseudoinverse",
    "Householder": "algebra.pseudoinverse",
    "GramSchmidt": "algebra.pseudoinverse",
    "Jacobi": "algebra.pseudoinverse.jacobi",
    "UdwadiaKalaba": "dynamics.formulation",
    "Campbell": "dynamics.formulation",
    "CampbellSingular": "dynamics.formulation",
    "UdwadiaPhohomsiri": "dynamics.formulation",
    "LagrangeMultipliers": "dynamics.formulation",
    "Nullspace": "dynamics.formulation",
    "Servo": "servo",
    "Control": "servo",
    "Feedback": "servo",
    "control": "servo",
    "law": "servo",
    "inverse_dynamics": "servo",
    "relative_degree": "servo",
    "with_found_degrees": "servo",
    "dynamic_extension": "servo",
    "zero_dynamics": "servo",
    "SecondOrder": "servo",
    "FirstOrder": "servo",
    "Poles": "servo",
    "Rate": "servo",
    "Robust": "servo",
    "Butterworth": "servo.gains.butterworth",
    "Lyapunov": "servo",
    "Limits": "servo",
    "Loop": "servo",
    "LeastNorm": "servo",
    "WeightedNorm": "servo",
    "Preferred": "servo",
    "PaperLeastNorm": "servo",
    "Module": "hierarchy",
    "Hierarchy": "hierarchy",
    "enforce": "hierarchy",
    "impose": "hierarchy",
    "Enforced": "hierarchy",
    "HigherOrder": "dynamics.higher_order",
    "Relation": "dynamics.higher_order",
    "Mechanism": "mechanism",
    "AssemblyError": "mechanism",
    "closed": "mechanism",
    "Scene": "scene",
    "c_code": "codegen.c",
    "fmu": "codegen.fmu",
    "stablehlo": "codegen.stablehlo",
    "derive": "symbolic",
    "Plant": "learning.plant",
    "environment": "learning.environment",
    "Robot": "robots",
    "robot": "robots",
    "keep_programs": "compile",
    "compiler_options": "compile",
    "program": "compile",
    "ModelError": "errors",
    "OutputError": "errors",
    "SimulationError": "errors",
    "Result": "errors",
}
_OTHER = {"robot": "read"}
"""Names that are other ones at home."""
_MODULES = ("bodies", "gallery", "mechanism", "symbolic", "testing")

__all__ = [*_HOME, *_MODULES, "__version__"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str):
    if name in _HOME:
        home = importlib.import_module(f"zwang.{_HOME[name]}")
        made = _of_users(getattr(home, _OTHER.get(name, name)))
        globals()[name] = made  # so that it is looked up once
        return made
    if name in _MODULES:
        return importlib.import_module(f"zwang.{name}")
    # members of a family that are not listed above are found in their folders
    if name[:1].isupper() and (member := _members().get(name)) is not None:
        return _of_users(member.load())
    said = f"module 'zwang' has no attribute {name!r}"
    if not name.startswith("_"):  # which Python and its tools ask for
        from zwang.suggestions import did_you_mean

        said += did_you_mean(name, __dir__())
    raise AttributeError(said)


def _of_users(made):
    """A class or a function as users take it: wrong arguments of a class are said, too."""
    from zwang.call import class_of_users

    return class_of_users(made)


def __dir__():
    return sorted({*__all__, *_members()})


def _members():
    from zwang.families import ALL_FAMILIES

    return {m.name: m for family in ALL_FAMILIES for m in family.members.values()}


if TYPE_CHECKING:  # what editors and type checkers see
    from zwang.algebra.pseudoinverse import SVD as SVD
    from zwang.algebra.pseudoinverse import CompleteOrthogonal as CompleteOrthogonal
    from zwang.algebra.pseudoinverse import GramSchmidt as GramSchmidt
    from zwang.algebra.pseudoinverse import Greville as Greville
    from zwang.algebra.pseudoinverse import Householder as Householder
    from zwang.algebra.pseudoinverse import Proximal as Proximal
    from zwang.algebra.pseudoinverse import Sparse as Sparse
    from zwang.algebra.pseudoinverse import Varga as Varga
    from zwang.algebra.pseudoinverse.jacobi import Jacobi as Jacobi
    from zwang.analysis.assembly_modes import AssemblyModes as AssemblyModes
    from zwang.analysis.assembly_modes import assembly_modes as assembly_modes
    from zwang.analysis.branches import Branches as Branches
    from zwang.analysis.branches import branches as branches
    from zwang.analysis.branches import passages as passages
    from zwang.analysis.check import check as check
    from zwang.analysis.continuation import Continuation as Continuation
    from zwang.analysis.continuation import continuation as continuation
    from zwang.analysis.design import Design as Design
    from zwang.analysis.design import design as design
    from zwang.analysis.driving_torque import DrivingTorque as DrivingTorque
    from zwang.analysis.driving_torque import driving_torque as driving_torque
    from zwang.analysis.equilibrium import Equilibrium as Equilibrium
    from zwang.analysis.equilibrium import equilibrium as equilibrium
    from zwang.analysis.kinematics import kinematics as kinematics
    from zwang.analysis.kinematics_batch import KinematicsBatch as KinematicsBatch
    from zwang.analysis.kinematics_batch import kinematics_batch as kinematics_batch
    from zwang.analysis.kinematics_result import Kinematics as Kinematics
    from zwang.analysis.linearize import Linearization as Linearization
    from zwang.analysis.linearize import linearize as linearize
    from zwang.analysis.lqr import Regulator as Regulator
    from zwang.analysis.lqr import lqr as lqr
    from zwang.analysis.modes import Modes as Modes
    from zwang.analysis.side_by_side import side_by_side as side_by_side
    from zwang.analysis.time_varying import TimeVaryingLinearization as TimeVaryingLinearization
    from zwang.analysis.workspace import Workspace as Workspace
    from zwang.analysis.workspace import workspace as workspace
    from zwang.archive import load as load
    from zwang.codegen.c import c_code as c_code
    from zwang.codegen.fmu import fmu as fmu
    from zwang.codegen.stablehlo import stablehlo as stablehlo
    from zwang.compile import compiler_options as compiler_options
    from zwang.compile import keep_programs as keep_programs
    from zwang.compile import program as program
    from zwang.dynamics.drift import Baumgarte as Baumgarte
    from zwang.dynamics.drift import BaumgarteGains as BaumgarteGains
    from zwang.dynamics.drift import BaumgarteRates as BaumgarteRates
    from zwang.dynamics.drift import NoStabilization as NoStabilization
    from zwang.dynamics.drift import Projection as Projection
    from zwang.dynamics.drift import Stabilized as Stabilized
    from zwang.dynamics.formulation import Campbell as Campbell
    from zwang.dynamics.formulation import CampbellSingular as CampbellSingular
    from zwang.dynamics.formulation import LagrangeMultipliers as LagrangeMultipliers
    from zwang.dynamics.formulation import Nullspace as Nullspace
    from zwang.dynamics.formulation import UdwadiaKalaba as UdwadiaKalaba
    from zwang.dynamics.formulation import UdwadiaPhohomsiri as UdwadiaPhohomsiri
    from zwang.dynamics.higher_order import HigherOrder as HigherOrder
    from zwang.dynamics.higher_order import Relation as Relation
    from zwang.dynamics.initial_conditions import consistent_state as consistent_state
    from zwang.dynamics.model import Model as Model
    from zwang.dynamics.motion import Motion as Motion
    from zwang.dynamics.motion import motion as motion
    from zwang.equations.constraint import AccelerationConstraint as AccelerationConstraint
    from zwang.equations.constraint import DryFriction as DryFriction
    from zwang.equations.constraint import Holonomic as Holonomic
    from zwang.equations.constraint import Inequality as Inequality
    from zwang.equations.constraint import Nonholonomic as Nonholonomic
    from zwang.equations.lagrangian import Lagrangian as Lagrangian
    from zwang.equations.system import System as System
    from zwang.errors import ModelError as ModelError
    from zwang.errors import OutputError as OutputError
    from zwang.errors import Result as Result
    from zwang.errors import SimulationError as SimulationError
    from zwang.hierarchy import Enforced as Enforced
    from zwang.hierarchy import Hierarchy as Hierarchy
    from zwang.hierarchy import Module as Module
    from zwang.hierarchy import enforce as enforce
    from zwang.hierarchy import impose as impose
    from zwang.learning.environment import environment as environment
    from zwang.learning.plant import Plant as Plant
    from zwang.mechanism import AssemblyError as AssemblyError
    from zwang.mechanism import Mechanism as Mechanism
    from zwang.mechanism import closed as closed
    from zwang.output.citations import cite as cite
    from zwang.robots import Robot as Robot
    from zwang.robots import read as robot  # noqa: F401
    from zwang.scene import Scene as Scene
    from zwang.servo import Control as Control
    from zwang.servo import Feedback as Feedback
    from zwang.servo import FirstOrder as FirstOrder
    from zwang.servo import LeastNorm as LeastNorm
    from zwang.servo import Limits as Limits
    from zwang.servo import Loop as Loop
    from zwang.servo import Lyapunov as Lyapunov
    from zwang.servo import PaperLeastNorm as PaperLeastNorm
    from zwang.servo import Poles as Poles
    from zwang.servo import Preferred as Preferred
    from zwang.servo import Rate as Rate
    from zwang.servo import Robust as Robust
    from zwang.servo import SecondOrder as SecondOrder
    from zwang.servo import Servo as Servo
    from zwang.servo import WeightedNorm as WeightedNorm
    from zwang.servo import control as control
    from zwang.servo import dynamic_extension as dynamic_extension
    from zwang.servo import inverse_dynamics as inverse_dynamics
    from zwang.servo import law as law
    from zwang.servo import relative_degree as relative_degree
    from zwang.servo import with_found_degrees as with_found_degrees
    from zwang.servo import zero_dynamics as zero_dynamics
    from zwang.servo.gains.butterworth import Butterworth as Butterworth
    from zwang.simulation import Stop as Stop
    from zwang.simulation import simulate as simulate
    from zwang.simulation.batch import batch as batch
    from zwang.simulation.batch_result import Batch as Batch
    from zwang.simulation.fit import Fit as Fit
    from zwang.simulation.fit import fit as fit
    from zwang.simulation.mode import contact_mode as contact_mode
    from zwang.simulation.results import Crossing as Crossing
    from zwang.simulation.results import Run as Run
    from zwang.simulation.results import Switched as Switched
    from zwang.simulation.switching import Switch as Switch
    from zwang.simulation.trajectory import Trajectory as Trajectory
    from zwang.simulation.trajectory import trajectory as trajectory
    from zwang.stepping import Dopri8 as Dopri8
    from zwang.stepping import Kvaerno5 as Kvaerno5
    from zwang.stepping import Rattle as Rattle
    from zwang.stepping import Tsit5 as Tsit5
    from zwang.stepping.bosh3 import Bosh3 as Bosh3
    from zwang.study.long_run import long_run as long_run
    from zwang.study.long_run import resume as resume
    from zwang.study.monte_carlo import monte_carlo as monte_carlo
    from zwang.study.result import Sweep as Sweep
    from zwang.study.sampling import draws as draws
    from zwang.study.sampling import grid as grid
    from zwang.study.sampling import sobol as sobol
    from zwang.study.sweep import sweep as sweep
    from zwang.symbolic import derive as derive
