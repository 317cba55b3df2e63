"""Analyses of a model that need no simulation.

| file | content |
|---|---|
| `check.py`, `check_text.py` | `check`: one report on a model at one state; the same as text |
| `redundancy.py` | redundant rows, free motions, looser joints |
| `pfaffian.py` | integrability of velocity constraints, and reachable configurations |
| `branches.py` | `branches`, `passages`: motions through a singular configuration |
| `assembly_modes.py` | `assembly_modes`: all configurations at given inputs |
| `distinct.py` | comparison of configurations: which of them are the same |
| `quadratic_loops.py`, `quadratic_postures.py` | rows as quadratic equations |
| `homotopy.py` | all solutions of quadratic equations |
| `driving_torque.py` | `driving_torque`: kinetostatics |
| `workspace.py`, `workspace_fill.py` | `workspace`: reach and singularities over a grid of inputs |
| `design.py`, `design_problem.py`, `design_targets.py` | `design`: dimensions that meet targets |
| `moving_mechanism.py` | configurations, motions and torques that JAX differentiates |
| `kinematics.py`, `kinematics_result.py` | `kinematics`: motion of a mechanism over its input |
| `kinematics_batch.py` | `kinematics_batch`: certified paths of many sets of parameters at once |
| `path.py` | path following along a branch, with limits and singular configurations |
| `curve.py` | certified steps along a curve of configurations |
| `interval.py` | bounds of a JAX function over a box |
| `subject.py` | the subject of an analysis: coordinates and points by name |
| `side_by_side.py` | `side_by_side`: one acceleration by eight principles of mechanics |
| `equilibrium.py`, `balance_problem.py`, `balance_search.py` | `equilibrium`: balance of forces |
| `resting.py` | equilibria with closed gaps and with static friction |
| `continuation.py` | `continuation`: equilibria followed in a parameter |
| `branch.py` | one branch of equilibria, with its folds, branch points and Hopf points |
| `final_state.py` | `final_state`: derivatives through impacts, stick and slip |
| `linearize.py` | `linearize`: minimal linear equations about a state |
| `stability.py`, `aside.py` | stability of a state; forces near it and at later times |
| `linear_system.py`, `modes.py` | poles, zeros, controllability, descriptor; modes |
| `sensitivity.py` | derivatives of results by parameters: the implicit function theorem |
| `moving_state.py` | an equilibrium or a steady motion as a function of parameters |
| `linear_sensitivity.py` | eigenvalues and gains as functions that JAX differentiates |
| `lqr.py` | `lqr`: gains on the full coordinates |
| `time_varying.py` | linear equations and gains along a trajectory |
| `stable_inversion.py` | `stable_inversion`: the bounded motion of an unstable inversion |
| `optimal_control.py`, `optimal_problem.py` | `optimal_control`: the cheapest motion |
| `optimal_phase.py`, `optimal_junction.py` | phases between events, and their junctions |
| `optimal_interval.py`, `control_pieces.py` | one interval; a control as polynomials |
| `optimal_motion.py` | the result of `optimal_control` |
| `transcription.py` | the motion as a nonlinear program on a grid |
| `nonlinear_program.py` | nonlinear programs, by IPOPT |
| `base_parameters.py` | `base_parameters`: masses that torques identify |
| `symmetry.py` | symmetries of a model (the directions of steady motions) and moving axes |
| `constrained_state.py` | a state on its constraints, with its tangent space |
| `local_equations.py` | derivatives of the equations at a state |
| `inputs.py` | inputs and outputs by name |
| `result.py` | results as text, pictures and files |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zwang.namespace import offer

if TYPE_CHECKING:
    from zwang.analysis.assembly_modes import assembly_modes as assembly_modes
    from zwang.analysis.base_parameters import base_parameters as base_parameters
    from zwang.analysis.branches import branches as branches
    from zwang.analysis.branches import passages as passages
    from zwang.analysis.continuation import continuation as continuation
    from zwang.analysis.design import design as design
    from zwang.analysis.driving_torque import driving_torque as driving_torque
    from zwang.analysis.equilibrium import equilibrium as equilibrium
    from zwang.analysis.final_state import final_state as final_state
    from zwang.analysis.kinematics import kinematics as kinematics
    from zwang.analysis.kinematics_batch import kinematics_batch as kinematics_batch
    from zwang.analysis.linearize import linearize as linearize
    from zwang.analysis.lqr import lqr as lqr
    from zwang.analysis.optimal_control import optimal_control as optimal_control
    from zwang.analysis.optimal_phase import Phase as Phase
    from zwang.analysis.side_by_side import side_by_side as side_by_side
    from zwang.analysis.stable_inversion import stable_inversion as stable_inversion
    from zwang.analysis.workspace import workspace as workspace
    from zwang.simulation.mode import contact_mode as contact_mode

offer(__name__)
