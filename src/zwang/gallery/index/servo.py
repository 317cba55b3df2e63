"""Members with actuators: a control enforces what they are to do."""

from __future__ import annotations

from zwang.gallery.index.entry import GRAVITY, Entry, Setting

RATE = Setting(5.0, "rate at which an error decays, all poles at -rate; 0 keeps it", "1/s")

SERVO = (
    Entry(
        "two-mass-spring",
        "two masses with a spring between them, and one force that keeps their distance",
        "zwang.gallery.servo.two_mass_spring",
        5.0,
        {
            "mass1": Setting(1.0, "mass that the force acts on", "kg"),
            "mass2": Setting(2.0, "mass that only the spring acts on", "kg"),
            "stiffness": Setting(10.0, "stiffness of the spring", "N/m"),
            "length": Setting(1.0, "length of the spring without force", "m"),
            "distance": Setting(2.0, "distance to keep; the paper has twice the length", "m"),
            "rate": Setting(
                5.0,
                "rate at which an error decays; 0 keeps it, as the paper prints the force",
                "1/s",
            ),
            "offset": Setting(0.3, "start error of the distance", "m"),
            "offset_rate": Setting(0.0, "rate of the start error", "m/s"),
            "speed": Setting(0.0, "start speed of the first mass", "m/s"),
        },
        "Liu et al., servo constraints, section IV",
        ("servo", "underactuated", "paper", "exact"),
    ),
    Entry(
        "coordinated-robots",
        "two robots of three links lift one object: six torques for three degrees of freedom",
        "zwang.gallery.servo.coordinated_robots",
        6.283185307179586,
        {
            "mass": Setting((1.0, 1.0, 1.0, 1.0, 1.0), "masses of the links, uniform", "kg"),
            "inertia": Setting(
                (1.0, 1.0, 1.0, 1.0, 1.0), "inertias of the links about their centers", "kg m²"
            ),
            "length": Setting(1.0, "length of each link", "m"),
            "height": Setting(1.0, "height to which the object is lifted", "m"),
            "frequency": Setting(1.0, "angular frequency of the lift", "rad/s"),
            "gravity": Setting(9.8, "acceleration of gravity", "m/s²"),
            "rate": RATE,
            "offset": Setting(0.0, "start error of the object's height", "m"),
            "choice": Setting(
                "paper", "which of the torques that work: paper, least, weighted or preferred"
            ),
            "weights": Setting(
                (1.0, 1.0, 1.0, 1.0, 1.0, 1.0), "weights of the torques, for weighted"
            ),
            "preferred": Setting(
                (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), "torques to stay near to, for preferred", "N m"
            ),
        },
        "Liu et al., servo constraints, sections V and VI",
        ("servo", "redundant", "linkage", "robot", "paper", "exact"),
    ),
    Entry(
        "flexible-joint",
        "an arm whose motors drive its links through springs: relative degree three and four",
        "zwang.gallery.servo.flexible_joint",
        5.0,
        {
            "mass": Setting((1.0, 1.0), "masses of the links", "kg"),
            "length": Setting(1.0, "length of the first link", "m"),
            "center": Setting(
                (0.5, 0.5), "distance of each link's center of mass from its joint", "m"
            ),
            "inertia": Setting((1.0, 1.0), "inertias of the links about their centers", "kg m²"),
            "motor_inertia": Setting((1.0, 1.0), "inertias of the motors", "kg m²"),
            "stiffness": Setting((1.0, 1.0), "stiffness of the joints", "N m/rad"),
            "gravity": GRAVITY,
            "task": Setting(
                "speeds",
                "speeds: the link velocities add up to 0; angles: both links follow a path",
            ),
            "rate": RATE,
            "speeds": Setting((1.0, -0.1), "start velocities of the links, for speeds", "rad/s"),
            "amplitude": Setting((0.8, 0.5), "amplitudes of the links' paths, for angles", "rad"),
            "frequency": Setting(
                1.5, "angular frequency of the first link's path, half that of the second", "rad/s"
            ),
            "offset": Setting((0.3, -0.2), "start errors of the links, for angles", "rad"),
        },
        "review of the Udwadia-Kalaba approach, section 8.3",
        ("servo", "underactuated", "flexible", "relative degree", "robot", "paper", "exact"),
    ),
    Entry(
        "scara",
        "a SCARA robot whose joints drive its hand along a helix",
        "zwang.gallery.servo.scara",
        20.0,
        {
            "mass": Setting((20.0, 15.0, 15.0, 0.5), "masses", "kg"),
            "length": Setting((0.2, 0.25), "lengths of the two arms", "m"),
            "center": Setting(
                (0.1, 0.125), "distance of each arm's center of mass from its axis", "m"
            ),
            "inertia": Setting((0.27, 0.31, 0.02, 0.0001), "inertias about the vertical", "kg m²"),
            "radius": Setting(0.05, "radius of the helix", "m"),
            "middle": Setting(0.35, "distance of the helix from the first axis", "m"),
            "period": Setting(5.0, "time for one turn of the helix", "s"),
            "climb": Setting(0.02, "climb of the helix", "m/s"),
            "damping": Setting(0.5, "damping of the error, alpha of the paper", "1/s"),
            "stiffness": Setting(
                200.0, "stiffness of the error, beta of the paper; with damping 0 for none", "1/s²"
            ),
            "start": Setting(
                "paper",
                "paper: printed velocities; rounded: printed angles too; exact: on the path",
            ),
            "elbow": Setting("right", "right or left"),
            "gravity": GRAVITY,
        },
        "dynamic modeling of the SCARA robot, eq. (34)-(54)",
        ("servo", "full actuation", "robot", "paper", "exact"),
    ),
    Entry(
        "crane",
        "an overhead crane that carries its load along a path by trolley and hoist",
        "zwang.gallery.servo.crane",
        10.0,
        {
            "trolley_mass": Setting(300.0, "mass of the trolley", "kg"),
            "winch_mass": Setting(100.0, "inertia of the winch over its radius squared", "kg"),
            "load_mass": Setting(1000.0, "mass of the load", "kg"),
            "rope_stiffness": Setting(2e5, "stiffness of the rope", "N/m"),
            "gravity": GRAVITY,
            "start": Setting(
                (0.0, -6.0), "where the path starts, the trolley being at height 0", "m"
            ),
            "goal": Setting((8.0, -3.0), "where it ends", "m"),
            "travel_time": Setting(6.0, "how long it takes", "s"),
            "rate": Setting(
                2.0, "rate at which an error decays, all four poles at -rate; 0 keeps it", "1/s"
            ),
            "offset": Setting((0.4, -0.3), "start error of the load", "m"),
        },
        "textbook: Fliess, Lévine, Martin and Rouchon 1995",
        ("servo", "underactuated", "flat", "relative degree", "plane", "exact"),
    ),
    Entry(
        "cart-pole-track",
        "a cart with a pole whose motor prescribes the cart's path or the pole's angle",
        "zwang.gallery.servo.cart_pole_track",
        5.0,
        {
            "cart_mass": Setting(1.0, "mass of the cart", "kg"),
            "pole_mass": Setting(0.3, "mass of the pole, uniform", "kg"),
            "pole_length": Setting(1.0, "length of the pole", "m"),
            "gravity": GRAVITY,
            "task": Setting("pole", "what is prescribed: pole or cart"),
            "pose": Setting(
                "upright", "pole upright or hanging; with task cart, upright is unstable"
            ),
            "lean": Setting(20.0, "amplitude of the pole's angle, for pole", "deg"),
            "travel": Setting(0.5, "amplitude of the cart's path, for cart", "m"),
            "frequency": Setting(3.0, "angular frequency", "rad/s"),
            "rate": RATE,
            "offset": Setting(0.0, "start error of what is prescribed", "deg or m"),
        },
        "textbook",
        ("servo", "underactuated", "zero dynamics", "plane", "exact"),
    ),
    Entry(
        "five-bar-driven",
        "the linkage of five-bar with motors on one, two or all three cranks: preload and "
        "shared effort",
        "zwang.gallery.servo.five_bar_driven",
        5.0,
        {
            "driven": Setting(3, "number of cranks with a motor: 1, 2 or 3"),
            "choice": Setting(
                "weighted", "which of the torques that work: least, weighted or preferred"
            ),
            "weights": Setting((1.0, 2.0, 4.0), "weights of the torques, for weighted"),
            "preferred": Setting(
                (20.0, 0.0, -20.0), "torques to stay near to, for preferred", "N m"
            ),
            "middle": Setting(90.0, "middle of the cranks' path, above the horizontal", "deg"),
            "swing": Setting(40.0, "amplitude of the cranks' path", "deg"),
            "frequency": Setting(2.0, "angular frequency", "rad/s"),
            "rate": RATE,
            "offset": Setting(10.0, "start error of the cranks", "deg"),
            "crank_mass": Setting(1.0, "mass of each crank", "kg"),
            "crank_inertia": Setting(0.1, "inertia of each crank about its center", "kg m²"),
            "coupler_mass": Setting(2.0, "mass of the coupler", "kg"),
            "coupler_inertia": Setting(0.2, "inertia of the coupler about its center", "kg m²"),
            "gravity": GRAVITY,
        },
        "de Falco, Pennestrì and Vita, Figure 1, with motors",
        ("servo", "redundant", "plane", "linkage", "parallel robot", "exact"),
    ),
)
