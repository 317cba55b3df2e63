"""zwang: constrained motion and servo control by the Udwadia-Kalaba equation.

    import zwang as zw

Here stands what one types first. Integrators, pseudoinverses, formulations and drift methods are in
`zw.methods`, questions that a model answers without a simulation in `zw.analysis`, parts of servo
control in `zw.servo`, studies and runs that outlive their process in `zw.study`. Nothing imports
JAX before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zwang.namespace import offer
from zwang.version import __version__ as __version__

if TYPE_CHECKING:
    from zwang.analysis.check import check as check
    from zwang.archive import load as load
    from zwang.codegen.c import c_code as c_code
    from zwang.codegen.fmu import fmu as fmu
    from zwang.codegen.stablehlo import stablehlo as stablehlo
    from zwang.compile import keep_programs as keep_programs
    from zwang.compile import program as program
    from zwang.dynamics.consistent_state import consistent_state as consistent_state
    from zwang.dynamics.higher_order import HigherOrder as HigherOrder
    from zwang.dynamics.higher_order import Relation as Relation
    from zwang.dynamics.model import Model as Model
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
    from zwang.hierarchy import Hierarchy as Hierarchy
    from zwang.hierarchy import Module as Module
    from zwang.hierarchy import enforce as enforce
    from zwang.hierarchy import impose as impose
    from zwang.learning.environment import environment as environment
    from zwang.learning.plant import Plant as Plant
    from zwang.mechanism import Mechanism as Mechanism
    from zwang.output.citations import cite as cite
    from zwang.robots import read as robot  # noqa: F401
    from zwang.scene import Scene as Scene
    from zwang.servo import Loop as Loop
    from zwang.servo import Servo as Servo
    from zwang.servo import control as control
    from zwang.simulation import Stop as Stop
    from zwang.simulation import simulate as simulate
    from zwang.simulation.batch import batch as batch
    from zwang.simulation.fit import fit as fit
    from zwang.simulation.project import project as project
    from zwang.simulation.switching import Switch as Switch
    from zwang.simulation.trajectory import trajectory as trajectory
    from zwang.study.sweep import sweep as sweep
    from zwang.symbolic import derive as derive

offer(
    __name__,
    modules=("bodies", "gallery", "mechanism", "symbolic", "testing"),
    namespaces=("analysis", "methods", "servo", "study"),
    families=("CONSTRAINTS",),
)
