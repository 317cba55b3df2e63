"""Models with actuators: servo constraints that a control enforces, with or without an initial
error.

| model | actuation | relative degree | zero dynamics |
|---|---|---|---|
| `two_mass_spring.py` | under: one force, two masses | 2 | the pair accelerates forever |
| `coordinated_robots.py` | redundant: six torques, three degrees of freedom | 2 | nothing |
| `flexible_joint.py` | two motors behind springs | 3 or 4 | for a speed, five states |
| `scara.py` | full: four joints, four rows | 2 | nothing |
| `crane.py` | under: two forces, four degrees of freedom | 4 | nothing: flat output |
| `quadrotor.py` | under: four rotors, six degrees of freedom | 4, 4, 4, 2 | nothing: flat outputs |
| `mass_on_car.py` | under: one force, two degrees of freedom | 2 | two states, one of which grows |
| `rotational_arm.py` | under: one motor, two joints | 2 | two states, one of which grows |
| `crane_in_wind.py` | under: one force, two degrees of freedom, estimated | 2 | a pendulum |
| `toda_lattice.py` | under: few forces, a row for the energy | 1 | all but the energy |
| `lyapunov_arm.py` | full: two joints, a Lyapunov function of each | 2 | nothing |
| `adaptive_arm.py` | full: two joints, under uncertainty of unknown size | 2 | nothing |
| `guided_boat.py` | full: two thrusters, velocities of a vector field | 1 | the position |
| `platoon.py` | full: five cars, distances within limits | 2 | nothing |
| `formation.py` | full: three thrusters, under uncertainty | 2 | nothing |
| `tumbling_bodies.py` | full attitude: six torques, under uncertainty | 2 | the centers, unmoved |
| `cart_pole_track.py` | under: one force, two degrees of freedom | 2 | cart or pole |
| `arm_on_rail.py` | redundant: two joints, one height | 2 | the hand along the rail |
| `five_bar_driven.py` | one, two or three torques, one degree of freedom | 2 | nothing |

| file | content |
|---|---|
| `tracking.py` | the exact error of a servo constraint over time |
| `two_links.py` | an arm of two links, which three models share |
| `checks.py` | checks of settings, and the choice among controls by name |
| `drawing.py` | figures of controls and errors |
"""
