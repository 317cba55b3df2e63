"""Servo control: constraints that actuators enforce, for fully, under- and redundantly actuated
systems.

| file | what |
|---|---|
| `servo.py` | `Servo`: constraints, actuators, gains, choice among controls |
| `feedback.py` | `Feedback`: controls, or forces, as a function of the state |
| `tracking.py` | linear feedback about a state, and along a trajectory |
| `laws.py` | `law`: impedance, computed torque, path following … by name |
| `actuation.py` | the actuators that both have |
| `gains.py` | how fast an error decays |
| `lyapunov.py` | `Lyapunov`: a function that is to fall, as a row |
| `within.py` | `within`: a quantity that stays between limits, as a servo constraint |
| `null_space.py` | which control where many work |
| `controller.py` | the equations: u, reacting passive force, residual, rank, authority |
| `control.py` | `control`: all that at one state |
| `limits.py` | `Limits` of the actuators, and the quadratic program that keeps them |
| `keeping.py` | inequalities and limits in one problem |
| `loop.py` | `Loop`: sampled, delayed, noisy control, and controllers that believe another model |
| `lie_derivative.py`, `relative_degree.py` | constraints reached after more differentiation |
| `dynamic_extension.py`, `input_chain.py` | integrators before actuators that act too early |
| `extension_search.py` | which integrators |
| `adaptation.py` | gains that learn a bound, as states of the controller |
| `extended_servo.py` | `ExtendedServo`: the servo behind them, and the actuators' own controls |
| `zero_dynamics.py` | the motion that servo constraints leave free, and whether it is stable |
| `bounded_motion.py` | the motion on servo constraints that stays bounded though that grows |
| `inverse_dynamics.py` | the control for a given acceleration of a closed chain |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zwang.namespace import offer

if TYPE_CHECKING:
    from zwang.servo.control import control as control
    from zwang.servo.dynamic_extension import dynamic_extension as dynamic_extension
    from zwang.servo.dynamic_extension import with_found_degrees as with_found_degrees
    from zwang.servo.feedback import Feedback as Feedback
    from zwang.servo.gains import FirstOrder as FirstOrder
    from zwang.servo.gains import Poles as Poles
    from zwang.servo.gains import Rate as Rate
    from zwang.servo.gains import Robust as Robust
    from zwang.servo.gains import SecondOrder as SecondOrder
    from zwang.servo.gains import SlidingSurface as SlidingSurface
    from zwang.servo.gains.adaptive import Adaptive as Adaptive
    from zwang.servo.gains.butterworth import Butterworth as Butterworth
    from zwang.servo.inverse_dynamics import inverse_dynamics as inverse_dynamics
    from zwang.servo.laws import law as law
    from zwang.servo.limits import Limits as Limits
    from zwang.servo.loop import Loop as Loop
    from zwang.servo.lyapunov import Lyapunov as Lyapunov
    from zwang.servo.null_space import LeastNorm as LeastNorm
    from zwang.servo.null_space import PaperLeastNorm as PaperLeastNorm
    from zwang.servo.null_space import Preferred as Preferred
    from zwang.servo.null_space import WeightedNorm as WeightedNorm
    from zwang.servo.relative_degree import relative_degree as relative_degree
    from zwang.servo.servo import Servo as Servo
    from zwang.servo.within import within as within
    from zwang.servo.zero_dynamics import zero_dynamics as zero_dynamics

offer(__name__, families=("GAINS", "NULL_SPACES"))
