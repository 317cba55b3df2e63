"""zwang: constrained motion and servo control by the Udwadia-Kalaba equation.

    import zwang as zw

Nothing here imports JAX before it is used: names are loaded from the modules that define them on
first access.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOME = {
    "System": "system",
    "Lagrangian": "lagrangian",
    "Holonomic": "constraint",
    "Nonholonomic": "constraint",
    "AccelerationConstraint": "constraint",
    "Model": "model",
    "Motion": "model",
    "motion": "model",
    "simulate": "simulation",
    "Stop": "simulation",
    "Switch": "switching",
    "consistent_state": "start",
    "check": "diagnosis",
    "trajectory": "ensemble",
    "Trajectory": "ensemble",
    "batch": "ensemble",
    "Batch": "ensemble",
    "fit": "ensemble",
    "Fit": "ensemble",
    "Run": "run",
    "Crossing": "run",
    "Switched": "run",
    "Projection": "drift",
    "Baumgarte": "drift",
    "BaumgarteRates": "drift",
    "BaumgarteGains": "drift",
    "Stabilized": "drift",
    "NoStabilization": "drift",
    "Dopri8": "integrate",
    "Tsit5": "integrate",
    "Kvaerno5": "integrate",
    "Rattle": "integrate",
    "Proximal": "pseudoinverse",
    "CompleteOrthogonal": "pseudoinverse",
    "SVD": "pseudoinverse",
    "Varga": "pseudoinverse",
    "Sparse": "sparse",
    "Greville": "pseudoinverse",
    "Householder": "pseudoinverse",
    "GramSchmidt": "pseudoinverse",
    "UdwadiaKalaba": "formulation",
    "Campbell": "formulation",
    "CampbellSingular": "formulation",
    "UdwadiaPhohomsiri": "formulation",
    "LagrangeMultipliers": "formulation",
    "Nullspace": "formulation",
    "Servo": "servo",
    "Control": "servo",
    "control": "servo",
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
    "HigherOrder": "orders",
    "Relation": "orders",
    "Mechanism": "mechanism",
    "AssemblyError": "mechanism",
    "Scene": "scene",
    "Robot": "robots",
    "robot": "robots",
    "keep_programs": "programs",
    "compiler_options": "programs",
    "program": "programs",
    "ModelError": "errors",
    "SimulationError": "errors",
    "Result": "errors",
}
_OTHER = {"robot": "read"}
"""Names that are other ones at home."""
_MODULES = ("bodies", "gallery", "mechanism", "testing")

__all__ = [*_HOME, *_MODULES, "__version__"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str):
    if name in _HOME:
        return getattr(importlib.import_module(f"zwang.{_HOME[name]}"), _OTHER.get(name, name))
    if name in _MODULES:
        return importlib.import_module(f"zwang.{name}")
    raise AttributeError(f"module 'zwang' has no attribute {name!r}")


def __dir__():
    return sorted(__all__)


if TYPE_CHECKING:  # what editors and type checkers see
    from zwang.constraint import AccelerationConstraint as AccelerationConstraint
    from zwang.constraint import Holonomic as Holonomic
    from zwang.constraint import Nonholonomic as Nonholonomic
    from zwang.diagnosis import check as check
    from zwang.drift import Baumgarte as Baumgarte
    from zwang.drift import BaumgarteGains as BaumgarteGains
    from zwang.drift import BaumgarteRates as BaumgarteRates
    from zwang.drift import NoStabilization as NoStabilization
    from zwang.drift import Projection as Projection
    from zwang.drift import Stabilized as Stabilized
    from zwang.ensemble import Batch as Batch
    from zwang.ensemble import Fit as Fit
    from zwang.ensemble import Trajectory as Trajectory
    from zwang.ensemble import batch as batch
    from zwang.ensemble import fit as fit
    from zwang.ensemble import trajectory as trajectory
    from zwang.errors import ModelError as ModelError
    from zwang.errors import Result as Result
    from zwang.errors import SimulationError as SimulationError
    from zwang.formulation import Campbell as Campbell
    from zwang.formulation import CampbellSingular as CampbellSingular
    from zwang.formulation import LagrangeMultipliers as LagrangeMultipliers
    from zwang.formulation import Nullspace as Nullspace
    from zwang.formulation import UdwadiaKalaba as UdwadiaKalaba
    from zwang.formulation import UdwadiaPhohomsiri as UdwadiaPhohomsiri
    from zwang.hierarchy import Enforced as Enforced
    from zwang.hierarchy import Hierarchy as Hierarchy
    from zwang.hierarchy import Module as Module
    from zwang.hierarchy import enforce as enforce
    from zwang.hierarchy import impose as impose
    from zwang.integrate import Dopri8 as Dopri8
    from zwang.integrate import Kvaerno5 as Kvaerno5
    from zwang.integrate import Rattle as Rattle
    from zwang.integrate import Tsit5 as Tsit5
    from zwang.lagrangian import Lagrangian as Lagrangian
    from zwang.mechanism import AssemblyError as AssemblyError
    from zwang.mechanism import Mechanism as Mechanism
    from zwang.model import Model as Model
    from zwang.model import Motion as Motion
    from zwang.model import motion as motion
    from zwang.orders import HigherOrder as HigherOrder
    from zwang.orders import Relation as Relation
    from zwang.programs import compiler_options as compiler_options
    from zwang.programs import keep_programs as keep_programs
    from zwang.programs import program as program
    from zwang.pseudoinverse import SVD as SVD
    from zwang.pseudoinverse import CompleteOrthogonal as CompleteOrthogonal
    from zwang.pseudoinverse import GramSchmidt as GramSchmidt
    from zwang.pseudoinverse import Greville as Greville
    from zwang.pseudoinverse import Householder as Householder
    from zwang.pseudoinverse import Proximal as Proximal
    from zwang.pseudoinverse import Varga as Varga
    from zwang.robots import Robot as Robot
    from zwang.robots import read as robot  # noqa: F401
    from zwang.run import Crossing as Crossing
    from zwang.run import Run as Run
    from zwang.run import Switched as Switched
    from zwang.scene import Scene as Scene
    from zwang.servo import Control as Control
    from zwang.servo import FirstOrder as FirstOrder
    from zwang.servo import LeastNorm as LeastNorm
    from zwang.servo import Limits as Limits
    from zwang.servo import Loop as Loop
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
    from zwang.servo import relative_degree as relative_degree
    from zwang.servo import with_found_degrees as with_found_degrees
    from zwang.servo import zero_dynamics as zero_dynamics
    from zwang.simulation import Stop as Stop
    from zwang.simulation import simulate as simulate
    from zwang.sparse import Sparse as Sparse
    from zwang.start import consistent_state as consistent_state
    from zwang.switching import Switch as Switch
    from zwang.system import System as System
