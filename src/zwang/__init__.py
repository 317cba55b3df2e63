"""zwang: constrained motion and servo control by the Udwadia-Kalaba equation.

    import zwang as zw

Nothing here imports JAX before it is used: names are loaded from the modules that define them on first access.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOME = {
    "System": "system", "Lagrangian": "lagrangian",
    "Holonomic": "constraint", "Nonholonomic": "constraint", "AccelerationConstraint": "constraint",
    "Model": "model", "Motion": "model", "motion": "model",
    "simulate": "simulation", "Stop": "simulation", "consistent_state": "start", "check": "diagnosis",
    "Run": "run", "Crossing": "run",
    "Projection": "drift", "Baumgarte": "drift", "BaumgarteRates": "drift", "BaumgarteGains": "drift", "Stabilized": "drift",
    "NoStabilization": "drift",
    "Dopri8": "integrate", "Tsit5": "integrate", "Kvaerno5": "integrate",
    "Proximal": "pseudoinverse", "CompleteOrthogonal": "pseudoinverse", "SVD": "pseudoinverse", "Varga": "pseudoinverse",
    "Greville": "pseudoinverse", "Householder": "pseudoinverse", "GramSchmidt": "pseudoinverse",
    "UdwadiaKalaba": "formulation", "Campbell": "formulation", "CampbellSingular": "formulation",
    "UdwadiaPhohomsiri": "formulation", "LagrangeMultipliers": "formulation", "Nullspace": "formulation",
    "Servo": "servo", "Control": "servo", "control": "servo", "inverse_dynamics": "servo", "relative_degree": "servo",
    "with_found_degrees": "servo", "zero_dynamics": "servo",
    "SecondOrder": "servo", "FirstOrder": "servo", "Poles": "servo", "Rate": "servo",
    "LeastNorm": "servo", "WeightedNorm": "servo", "Preferred": "servo", "PaperLeastNorm": "servo",
    "ModelError": "errors", "SimulationError": "errors", "Result": "errors",
}  # fmt: skip
_MODULES = ("bodies", "gallery", "testing")

__all__ = [*_HOME, *_MODULES, "__version__"]


def __getattr__(name: str):
    if name in _HOME:
        return getattr(importlib.import_module(f"zwang.{_HOME[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"zwang.{name}")
    raise AttributeError(f"module 'zwang' has no attribute {name!r}")


def __dir__():
    return sorted(__all__)


if TYPE_CHECKING:  # what editors and type checkers see
    from zwang.constraint import AccelerationConstraint as AccelerationConstraint
