"""Members that move by themselves: nature enforces their constraints."""

from __future__ import annotations

from zwang.gallery.index.entry import GRAVITY, Entry, Setting

PASSIVE = (
    Entry(
        "pendulum",
        "a point mass on a rod in the plane, in Cartesian coordinates",
        "zwang.gallery.pendulum",
        10.0,
        {
            "length": Setting(1.0, "length of the rod", "m"),
            "mass": Setting(1.0, "mass", "kg"),
            "angle": Setting(90.0, "start angle from hanging down, released from rest", "deg"),
            "gravity": GRAVITY,
        },
        "textbook",
        ("plane", "exact"),
    ),
    Entry(
        "double-pendulum",
        "two rods in a chain, each with three coordinates",
        "zwang.gallery.double_pendulum",
        10.0,
        {
            "length1": Setting(1.0, "length of the upper rod", "m"),
            "length2": Setting(1.0, "length of the lower rod", "m"),
            "mass1": Setting(1.0, "mass of the upper rod, uniform", "kg"),
            "mass2": Setting(1.0, "mass of the lower rod, uniform", "kg"),
            "angle1": Setting(
                120.0, "start angle of the upper rod from hanging down, released from rest", "deg"
            ),
            "angle2": Setting(90.0, "start angle of the lower rod from hanging down", "deg"),
            "gravity": GRAVITY,
        },
        "textbook",
        ("plane", "chaos"),
    ),
    Entry(
        "latching-pendulums",
        "two rods on one pivot that latch where they meet and let go later: a constraint "
        "switched on and off",
        "zwang.gallery.latching_pendulums",
        5.0,
        {
            "length1": Setting(1.0, "length of the first rod", "m"),
            "length2": Setting(0.6, "length of the second rod", "m"),
            "mass1": Setting(1.0, "mass of the first rod, uniform", "kg"),
            "mass2": Setting(2.0, "mass of the second rod, uniform", "kg"),
            "angle1": Setting(
                80.0, "start angle of the first rod from hanging down, from rest", "deg"
            ),
            "angle2": Setting(-40.0, "start angle of the second rod from hanging down", "deg"),
            "release": Setting(1.7, "time at which the latch opens", "s"),
            "gravity": GRAVITY,
        },
        "textbook",
        ("plane", "switched", "impact", "exact"),
    ),
    Entry(
        "rod-chain",
        "a pendulum of N rods, each with three coordinates; any N, its cost is linear",
        "zwang.gallery.rod_chain",
        5.0,
        {
            "N": Setting(10, "number of rods"),
            "length": Setting(1.0, "length of the whole chain", "m"),
            "mass": Setting(1.0, "mass of the whole chain, uniform", "kg"),
            "angle": Setting(
                60.0,
                "start angle of the straight chain from hanging down, released from rest",
                "deg",
            ),
            "gravity": GRAVITY,
        },
        "textbook",
        ("plane", "large"),
    ),
    Entry(
        "log-spiral",
        "a particle driven along a logarithmic spiral: two constraints, no freedom",
        "zwang.gallery.log_spiral",
        30.0,
        {"mass": Setting(1.0, "mass", "kg"), "gravity": GRAVITY},
        "review of the Udwadia-Kalaba approach, section 8.1",
        ("plane", "rheonomic", "paper", "exact"),
    ),
    Entry(
        "swarm",
        "five robots that gather without colliding, each with its velocity prescribed",
        "zwang.gallery.swarm",
        10.0,
        {
            "mass": Setting(2.0, "mass of each robot", "kg"),
            "start": Setting(
                "rest", "velocities at the start: rest, consistent (no error), or scattered"
            ),
            "pull": Setting(
                2.0,
                "rate at which the error of the start decays; 0 as printed keeps it for ever",
                "1/s",
            ),
        },
        "review of the Udwadia-Kalaba approach, section 8.2",
        ("plane", "nonholonomic", "paper"),
    ),
    Entry(
        "five-bar",
        "three parallel cranks and a coupler: 12 rows of rank 11, and 10 where all bars are "
        "collinear",
        "zwang.gallery.five_bar",
        20.0,
        {
            "angle": Setting(
                45.0, "start angle of the cranks above the horizontal, released from rest", "deg"
            ),
            "crank_mass": Setting(1.0, "mass of each crank", "kg"),
            "crank_inertia": Setting(0.1, "inertia of each crank about its center", "kg m²"),
            "coupler_mass": Setting(2.0, "mass of the coupler", "kg"),
            "coupler_inertia": Setting(0.2, "inertia of the coupler about its center", "kg m²"),
            "gravity": GRAVITY,
        },
        "de Falco, Pennestrì and Vita, pseudoinverse calculations in multibody dynamics, Figure 1",
        ("plane", "linkage", "redundant", "singular", "exact"),
    ),
    Entry(
        "n-four-bar",
        "N four-bar loops in a row, whose bars are all collinear twice a turn",
        "zwang.gallery.n_four_bar",
        10.0,
        {
            "N": Setting(2, "number of loops"),
            "length": Setting(1.0, "length of each bar", "m"),
            "mass": Setting(1.0, "mass of each bar, uniform", "kg"),
            "gravity": GRAVITY,
            "speed": Setting(1.0, "speed of the crank tips at the start, to the right", "m/s"),
            "units": Setting(
                "m-kg",
                "units of the model: m-kg, or mm-g for millimetres and grams (energy then in nJ)",
            ),
            "row_factor": Setting(
                1.0, "rows are multiplied by factors from 1/row_factor to row_factor"
            ),
            "repeat": Setting(1, "how often each constraint is written down"),
        },
        "IFToMM library of computational benchmark problems, A02",
        ("plane", "linkage", "redundant", "singular", "exact", "benchmark"),
    ),
    Entry(
        "spherical-pendulum",
        "a rod on a ball joint, with a unit quaternion",
        "zwang.gallery.spherical_pendulum",
        10.0,
        {
            "length": Setting(1.0, "distance from the joint to the center of mass", "m"),
            "mass": Setting(1.0, "mass", "kg"),
            "inertia": Setting(
                0.1, "moment of inertia across the rod about the center of mass", "kg m²"
            ),
            "axial_inertia": Setting(0.01, "moment of inertia about the rod", "kg m²"),
            "angle": Setting(60.0, "start angle from hanging down", "deg"),
            "speed": Setting(1.5, "start speed of the center of mass, sideways", "m/s"),
            "spin": Setting(0.0, "spin about the rod; 0 for the exact solution", "rad/s"),
            "gravity": GRAVITY,
        },
        "textbook: Whittaker, section 55",
        ("space", "quaternion", "exact"),
    ),
    Entry(
        "free-body",
        "a rigid body without torque; about its middle axis it tumbles",
        "zwang.gallery.free_body",
        20.0,
        {
            "inertia": Setting((1.0, 2.0, 2.8), "principal moments of inertia", "kg m²"),
            "spin": Setting(
                (0.02, 2.0, 0.0), "angular velocity at the start, along the principal axes", "rad/s"
            ),
            "mass": Setting(1.0, "mass", "kg"),
        },
        "textbook: Landau and Lifshitz, section 37",
        ("space", "quaternion", "exact"),
    ),
    Entry(
        "rolling-disk",
        "a thin disk rolls in a circle without slipping",
        "zwang.gallery.rolling_disk",
        10.0,
        {
            "radius": Setting(0.5, "radius", "m"),
            "mass": Setting(1.0, "mass", "kg"),
            "tilt": Setting(20.0, "tilt from upright", "deg"),
            "precession": Setting(1.5, "rate at which it turns round", "rad/s"),
            "wobble": Setting(
                0.0, "rate of tilting at the start; 0 for the exact, steady motion", "rad/s"
            ),
            "gravity": GRAVITY,
        },
        "textbook: Neimark and Fufaev, chapter II",
        ("space", "quaternion", "nonholonomic", "exact"),
    ),
    Entry(
        "knife-edge",
        "a blade on ice that cannot slide sideways: Chaplygin's sleigh, or an edge on a slope",
        "zwang.gallery.knife_edge",
        6.0,
        {
            "offset": Setting(0.3, "center of mass ahead of the edge", "m"),
            "mass": Setting(1.0, "mass", "kg"),
            "inertia": Setting(0.1, "moment of inertia about the center of mass", "kg m²"),
            "speed": Setting(-1.0, "start speed of the edge, forward", "m/s"),
            "spin": Setting(1.5, "start rate of turning", "rad/s"),
            "angle": Setting(30.0, "start heading, from the x axis", "deg"),
            "slope": Setting(
                0.0,
                "slope of the ice, falling towards -y; exact only with offset or slope 0",
                "deg",
            ),
            "gravity": GRAVITY,
        },
        "textbook: Neimark and Fufaev, chapter II",
        ("plane", "nonholonomic", "exact"),
    ),
    Entry(
        "appell-hamel",
        "a particle whose rate of climb is tied to its ground speed, nonlinear in the velocities",
        "zwang.gallery.appell_hamel",
        5.0,
        {
            "ratio": Setting(1.5, "ground speed over rate of climb"),
            "speed": Setting(1.0, "ground speed at the start", "m/s"),
            "direction": Setting("down", "up or down"),
            "turning": Setting(2.0, "rate at which a gyroscopic force turns the path", "rad/s"),
            "mass": Setting(1.0, "mass", "kg"),
            "gravity": GRAVITY,
        },
        "Appell 1911, Hamel 1949",
        ("space", "nonholonomic", "nonlinear", "exact"),
    ),
    Entry(
        "rough-incline",
        "a particle slides down a rough plane: Coulomb friction as a nonideal constraint",
        "zwang.gallery.rough_incline",
        2.0,
        {
            "angle": Setting(30.0, "slope of the plane", "deg"),
            "mu": Setting(0.2, "coefficient of friction"),
            "mass": Setting(2.0, "mass", "kg"),
            "speed": Setting(0.5, "start speed down the plane; negative for up", "m/s"),
            "gravity": GRAVITY,
        },
        "Liu et al., servo constraints, eq. (12)-(13)",
        ("plane", "nonideal", "friction", "paper", "exact"),
    ),
    Entry(
        "rough-circle",
        "a bead on a rough ring, lying flat or, with gravity, standing upright",
        "zwang.gallery.rough_circle",
        5.0,
        {
            "radius": Setting(1.5, "radius of the ring", "m"),
            "mu": Setting(0.2, "coefficient of friction"),
            "mass": Setting(2.0, "mass", "kg"),
            "speed": Setting(2.0, "start speed, counterclockwise", "m/s"),
            "angle": Setting(-60.0, "start angle from the lowest point", "deg"),
            "gravity": Setting(0.0, "acceleration of gravity in the plane of the ring", "m/s²"),
        },
        "Liu et al., servo constraints, eq. (12)-(13)",
        ("plane", "nonideal", "friction", "paper", "exact"),
    ),
    Entry(
        "jerk-track",
        "a tram on a circular track, from rest to rest by a programme of its jerk: third order",
        "zwang.gallery.jerk_track",
        4.0,
        {
            "radius": Setting(2.0, "radius of the track", "m"),
            "distance": Setting(4.0, "way along the track", "m"),
            "time": Setting(4.0, "time that it takes", "s"),
        },
        "textbook; orders as in Orsino, recursive modular modelling, section 2",
        ("plane", "third order", "exact"),
    ),
)
