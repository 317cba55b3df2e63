"""Servo control: constraints that actuators enforce, for fully, under- and redundantly actuated
systems.

| file | content |
|---|---|
| `servo.py` | `Servo`: constraints, actuators, gains, choice among controls |
| `feedback.py` | `Feedback`: controls, or forces, as a function of the state |
| `tracking.py` | linear feedback about a state, and along a trajectory |
| `laws.py` | `law`: impedance, computed torque, path following … by name |
| `actuation.py` | the actuators that both have |
| `gains/` | gains: the rate at which an error decays |
| `lyapunov.py` | `Lyapunov`: a Lyapunov function with a prescribed decay, as a row |
| `within.py` | `within`: a quantity that stays between limits, as a servo constraint |
| `null_space.py` | the choice among the controls of a redundant actuation |
| `controller.py` | the equations for u, passive force, residual, rank and authority |
| `control.py` | `control`: u and these quantities at one state |
| `limits.py` | `Limits` of the actuators, and the quadratic program that enforces them |
| `keeping.py` | inequalities and limits in one problem |
| `loop.py` | `Loop`: sampled, delayed, noisy control, and controllers with another model |
| `lie_derivative.py`, `relative_degree.py` | constraints of higher relative degree |
| `dynamic_extension.py`, `input_chain.py` | integrators at the inputs (dynamic extension) |
| `extension_search.py` | the search for these integrators |
| `adaptation.py` | adaptive gains, whose bounds are states of the controller |
| `extended_servo.py` | `ExtendedServo`: a servo with integrators between it and the actuators |
| `zero_dynamics.py` | the motion that servo constraints leave free, and whether it is stable |
| `bounded_motion.py` | the bounded motion on servo constraints with unstable zero dynamics |
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
