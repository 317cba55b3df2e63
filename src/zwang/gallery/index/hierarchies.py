"""Members assembled from modules, level by level."""

from __future__ import annotations

from zwang.gallery.index.entry import GRAVITY, Entry, Setting

HIERARCHIES = (
    Entry(
        "3rrr",
        "a planar parallel robot from ten modules on three levels: parts, chains, mechanism",
        "zwang.gallery.hierarchies.three_rrr",
        2.0,
        {
            "base": Setting(0.5, "distance of the motors from the center", "m"),
            "bar": Setting(0.25, "length of the driven bars", "m"),
            "link": Setting(0.35, "length of the links", "m"),
            "platform": Setting(0.1, "radius of the platform", "m"),
            "motor_inertia": Setting(0.004, "inertia of each motor", "kg m²"),
            "bar_mass": Setting(0.8, "mass of each driven bar, uniform", "kg"),
            "link_mass": Setting(0.6, "mass of each link, uniform", "kg"),
            "platform_mass": Setting(1.2, "mass of the platform, a disk", "kg"),
            "torque": Setting(1.0, "factor of the motors' torques"),
            "gravity": Setting(0.0, "acceleration of gravity in the plane", "m/s²"),
        },
        "Orsino, recursive modular modelling, Figures 2-4",
        ("plane", "hierarchy", "parallel robot", "paper"),
    ),
    Entry(
        "scissor-lift",
        "a scissor lift of any number of stages, its pins guided besides: overconstrained "
        "everywhere",
        "zwang.gallery.hierarchies.scissor_lift",
        10.0,
        {
            "stages": Setting(5, "number of stages"),
            "length": Setting(1.0, "length of a bar", "m"),
            "bar_mass": Setting(0.5, "mass of a bar, uniform", "kg"),
            "platform_mass": Setting(5.0, "mass of the platform", "kg"),
            "angle": Setting(
                35.0, "start angle of the bars above the horizontal, from rest", "deg"
            ),
            "rest_angle": Setting(
                45.0, "angle at which the spring across the foot carries the lift", "deg"
            ),
            "stiffness": Setting(
                4.0,
                "how fast the spring's force grows, over that of the load; more than about 1 is "
                "stable",
            ),
            "gravity": GRAVITY,
        },
        "textbook",
        ("plane", "hierarchy", "overconstrained", "scaling"),
    ),
    Entry(
        "four-bars",
        "N four-bar loops in a row as a hierarchy: bars, loops, linkage",
        "zwang.gallery.hierarchies.four_bars",
        10.0,
        {
            "N": Setting(2, "number of loops"),
            "length": Setting(1.0, "length of every bar", "m"),
            "mass": Setting(1.0, "mass of every bar, uniform", "kg"),
            "gravity": GRAVITY,
            "speed": Setting(1.0, "start speed of the crank tips", "m/s"),
        },
        "IFToMM benchmark A02",
        ("plane", "hierarchy", "linkage", "singular", "exact"),
    ),
    Entry(
        "stewart",
        "a Stewart platform: six legs of cylinder and piston, each on a spring, carry a "
        "platform in space",
        "zwang.gallery.hierarchies.stewart",
        10.0,
        {
            "base": Setting(1.0, "radius of the lower joints", "m"),
            "top": Setting(0.6, "radius of the upper joints", "m"),
            "height": Setting(1.2, "height of the platform at the start", "m"),
            "platform_mass": Setting(10.0, "mass of the platform, a disk", "kg"),
            "leg_mass": Setting(0.5, "mass of each cylinder and each piston", "kg"),
            "stiffness": Setting(4000.0, "stiffness of each leg's spring", "N/m"),
            "speed": Setting(0.3, "start speed of the platform, along x", "m/s"),
            "spin": Setting(
                0.8, "start angular velocity of the platform about the vertical", "rad/s"
            ),
            "gravity": GRAVITY,
        },
        "textbook",
        ("space", "hierarchy", "parallel robot"),
    ),
    Entry(
        "delta",
        "a delta robot: three arms with two rods each carry a platform that moves without turning",
        "zwang.gallery.hierarchies.delta",
        5.0,
        {
            "base": Setting(0.3, "distance of the arms' axes from the center", "m"),
            "platform": Setting(
                0.1, "distance of the rods' joints from the platform's center", "m"
            ),
            "arm": Setting(0.4, "length of the arms", "m"),
            "rod": Setting(0.8, "length of the rods", "m"),
            "gap": Setting(0.12, "distance between the two rods of an arm", "m"),
            "arm_mass": Setting(0.8, "mass of each arm, uniform", "kg"),
            "rod_mass": Setting(0.2, "mass of each rod, uniform", "kg"),
            "platform_mass": Setting(1.0, "mass of the platform", "kg"),
            "angle": Setting(20.0, "start angle of the arms below the horizontal", "deg"),
            "stiffness": Setting(30.0, "stiffness of the spring at each arm's axis", "N m"),
            "gravity": GRAVITY,
        },
        "Clavel (1988), the delta robot; numbers ours",
        ("space", "hierarchy", "parallel robot"),
    ),
    Entry(
        "motor-linkage",
        "a motor's circuit, of first order, drives a slider-crank, of second order, through a gear",
        "zwang.gallery.hierarchies.motor_linkage",
        2.0,
        {
            "crank": Setting(0.1, "length of the crank", "m"),
            "rod": Setting(0.3, "length of the rod", "m"),
            "crank_mass": Setting(0.5, "mass of the crank, uniform", "kg"),
            "rod_mass": Setting(0.4, "mass of the rod, uniform", "kg"),
            "slider_mass": Setting(1.0, "mass of the slider", "kg"),
            "inductance": Setting(0.01, "inductance of the motor", "H"),
            "resistance": Setting(0.5, "resistance of the motor", "Ω"),
            "torque_constant": Setting(0.1, "torque per current, and voltage per speed", "N m/A"),
            "rotor": Setting(2e-4, "inertia of the rotor", "kg m²"),
            "friction": Setting(1e-4, "friction of the rotor", "N m s"),
            "ratio": Setting(5.0, "turns of the motor per turn of the crank"),
            "voltage": Setting(24.0, "voltage, from t = 0", "V"),
            "gravity": GRAVITY,
        },
        "textbook",
        ("plane", "hierarchy", "electromechanical", "first order"),
    ),
)
