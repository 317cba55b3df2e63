"""The mechanical problems of the Test Set for IVP Solvers, compared with its reference solutions.

Facts from: Mazzia and Magherini (2008), Test Set for Initial Value Problem Solvers, release 2.4,
University of Bari: `andrews` (t = 0.03 s, computed by PSIDE) and `caraxis` (t = 3, by GAMD in
quadruple precision).
"""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np

import zwang as zw
from verification.line import NOT_MODELED, Line, judged

SUITE = "Test Set for IVP Solvers"
ALLOWED = 1e-6
"""Of each quantity, relative to its largest published value."""
RTOL = 1e-12
COMMAND = "python -m verification ivp"
SQUEEZER_START = (
    np.array([14222.4439199541138705911625887, -10666.8329399655854029433719415, 0, 0, 0, 0, 0]),
    np.array([98.5668703962410896057654982170, -6.12268834425566265503114393122, 0, 0, 0, 0]),
)
"""First accelerations and multipliers."""
SQUEEZER_END = {
    "angles": [
        0.1581077119629904e2,
        -0.1575637105984298e2,
        0.4082224013073101e-1,
        -0.5347301163226948,
        0.5244099658805304,
        0.5347301163226948,
        0.1048080741042263e1,
    ],
    "velocities": [
        0.1139920302151208e4,
        -0.1424379294994111e4,
        0.1103291221937134e2,
        0.1929337464421385e2,
        0.5735699284790808,
        -0.1929337464421385e2,
        0.3231791658026955,
    ],
    "accelerations": [
        -0.2463176316945196e5,
        0.5185037701610329e5,
        0.3241025686413781e6,
        0.5667493645176213e6,
        0.1674362929479361e5,
        -0.5667493645176222e6,
        0.9826520791458422e4,
    ],
    "multipliers": [
        0.1991753333731910e3,
        -0.2975531228015052e2,
        0.2306654119098399e2,
        0.3145271365475927e2,
        0.2264249232082739e2,
        0.1161740700019673e2,
    ],
}
CAR_END = {
    "positions": [
        0.493455784275402809122e-1,
        0.496989460230171153861,
        0.104174252488542151681e1,
        0.373911027265361256927,
    ],
    "velocities": [
        -0.770583684040972357970e-1,
        0.744686658723778553466e-2,
        0.175568157537232222276e-1,
        0.770341043779251976443,
    ],
    "multipliers": [-0.473688659084893324729e-2, -0.110468033125734368808e-2],
}
SQUEEZER_WHY = (
    "The reference is good to eight digits: ours and the printed equations, integrated by SciPy, "
    "agree to ten (tests/gallery/test_squeezer.py)."
)
LEFT_OUT = {
    "slider-crank": "its connecting rod is elastic, and elastic bodies are not part of zwang",
    "wheelset": "not modeled yet: a wheelset on profiled rails with creep forces",
}


def car_axis() -> tuple[zw.Model, np.ndarray, np.ndarray]:
    """An axis on a bumpy road: two wheels, a spring at each, the chassis mass ε²M/2 at each end.

    K v̇ = F + Aᵀ λ,   x_l x_b + y_l y_b = 0,   |p_l − p_r|² = L²,   y_b = r sin ω t
    """
    mass, length, rest = 1e-4 * 10 / 2, 1.0, 0.5

    def road(t):
        y = 0.1 * jnp.sin(10.0 * t)
        return jnp.stack([jnp.sqrt(length**2 - y**2), y])

    def force(q, v, t, p):
        left, right = q[:2], q[2:] - road(t)
        pull = lambda x: (rest - jnp.linalg.norm(x)) / jnp.linalg.norm(x) * x
        return jnp.concatenate([pull(left), pull(right)]) - mass * jnp.array([0.0, 1.0, 0.0, 1.0])

    system = zw.System(
        4, lambda q, t, p: mass * jnp.ones(4), force, coordinates=["xl", "yl", "xr", "yr"]
    )
    across = zw.Holonomic(lambda q, t, p: q[:2] @ road(t), name="across")
    rigid = zw.Holonomic(lambda q, t, p: jnp.sum((q[:2] - q[2:]) ** 2) - length**2, name="rigid")
    model = zw.Model(system, [across, rigid], name="car axis")
    return model, np.array([0.0, 0.5, 1.0, 0.5]), np.array([-0.5, 0.0, -0.5, 0.0])


def lines(suite: str) -> list[Line]:
    """The lines of the suite."""
    member = zw.gallery.load("squeezer")
    squeezer = member.model, member.q0, member.v0
    made = compared("Andrews' squeezing mechanism", squeezer, 0.03, SQUEEZER_END, SQUEEZER_WHY)
    made += compared("car axis", car_axis(), 3.0, CAR_END, "")
    return made + [
        Line(SUITE, case, "end state", "", "", math.nan, math.nan, NOT_MODELED, why, COMMAND)
        for case, why in LEFT_OUT.items()
    ]


def compared(case, given, end: float, published: dict[str, list[float]], why: str) -> list[Line]:
    """A line for each quantity at the end of a run."""
    model, q0, v0 = given
    run = zw.simulate(model, q0, v0, duration=end, rtol=RTOL, atol=RTOL, samples=3)
    sign = -1.0 if "accelerations" in published else 1.0  # of multipliers: K v̇ = F − Gᵀ λ there
    ours = {
        "angles": run.q[-1],
        "positions": run.q[-1],
        "velocities": run.v[-1],
        "accelerations": run.dataset["acceleration"].values[-1],
        "multipliers": sign * run.dataset["multipliers"].values[-1],
    }
    made = []
    for name, values in published.items():
        theirs = np.array(values)
        apart = float(np.max(np.abs(ours[name] - theirs)) / np.max(np.abs(theirs)))
        made.append(
            Line(
                SUITE,
                case,
                f"{len(values)} {name} at t = {end:g} s",
                "reference solution",
                f"apart by {apart:.1e}",
                apart,
                ALLOWED,
                judged(apart, ALLOWED),
                why,
                COMMAND,
            )
        )
    return made
