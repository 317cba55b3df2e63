"""The flexible-joint arm: five interpretations of its control, two of which reproduce the paper,
and a servo of relative degree three.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

import zwang.gallery
from zwang.dynamics.model import Model
from zwang.dynamics.motion import motion
from zwang.equations.constraint import Nonholonomic
from zwang.equations.system import System
from zwang.papers.claim import Claim, Grid, Part, Verdict, compared
from zwang.papers.drawing import curves

READINGS = {
    "literal_motor": (0.0, 0.0, 1.0),
    "motor_with_elastic": (0.0, 1.0, 1.0),
    "link_printed": (1.0, 0.0, 1.0),
    "link_K(q1-q2)": (1.0, 1.0, 1.0),
    "virtual_Kq2": (1.0, 0.0, 0.0),
}
"""Interpretation → three flags: u acts on the links (otherwise on the motors); F^c includes the
angle at the other end of the spring; this angle acts on the links.
"""
WORDS = {
    "literal_motor": "u on the motors, as eq. (66) has it",
    "motor_with_elastic": "u on the motors, K(q₁ − q₂) in F^c",
    "link_printed": "u on the links, q₁ in F^c as printed",
    "link_K(q1-q2)": "u on the links, K(q₁ − q₂) in F^c",
    "virtual_Kq2": "K q₂ is u, a virtual control",
}
FALLS = ("link_K(q1-q2)", "virtual_Kq2")
GAINS = (1.0, 2.0, 5.0)
"""P⁻¹ [1/s]."""
DECAY = 5.0
"""Decay rate: all poles of the servo of relative degree three are at −DECAY [1/s]."""
START = np.array([0, 0, 0, 0, 1, -0.1, 0, 0])
TIMES = np.linspace(0, 5, 201)
AGREES = 1e-9


@functools.cache
def arm() -> Model:
    """The links only, on springs with ends fixed at p["far"], and with the constraint as a passive
    one.
    """
    plant, params = _plant().system, _plant().params

    def force(q, v, t, p):
        still = jnp.zeros(2)
        there = jnp.concatenate([q, p["far"]])
        return plant.force(there, jnp.concatenate([v, still]), t, p)[:2]

    system = System(
        2, lambda q, t, p: plant.mass_matrix(jnp.concatenate([q, q]), t, p)[:2, :2], force
    )
    beta = Nonholonomic(lambda q, v, t, p: v[0] + v[1], name="beta")
    return Model(system, [beta], {**params, "far": np.zeros(2)}, name="links")


@functools.cache
def _plant() -> Model:
    return zwang.gallery.load("flexible-joint").model.passive


def paper_control(x, gain, knows):
    """u of eq. (72), `F^c − D Aᵀ (A Aᵀ)⁻¹ P⁻¹ β`, with F^c from the kernel.

    Errata: eq. (71), (72) print q₁ for K q₁, and (68) m₁ in c₁₁ for m₂; the initial velocities are
        in rad/s.

    Args:
        x: angles and velocities of links and motors, shape (8,).
        gain: P⁻¹ [1/s].
        knows: 1 if F^c contains the angles of the motors, else 0.
    """
    q, v = x[:2], x[4:6]
    answer = motion(arm(), q, v, params={"far": knows * x[2:4]}, throw=False)
    D = arm().system.mass_matrix(q, 0.0, arm().params)
    return answer.ideal_force - D @ jnp.ones(2) / 2 * gain * (v[0] + v[1])


def rate_of(x, gain, reading):
    """ẋ of the arm with motors under the paper's u in one of the interpretations."""
    on_links, knows, felt = reading
    u = paper_control(x, gain, knows)
    q, v, p = x[:4], x[4:], _plant().params
    F = _plant().system.force(q, v, 0.0, p) + jnp.concatenate([on_links * u, (1 - on_links) * u])
    F = F.at[:2].add(-(1 - felt) * p["stiffness"] * q[2:])
    return jnp.concatenate([v, jnp.linalg.solve(_plant().system.mass_matrix(q, 0.0, p), F)])


def histories(gains=GAINS, times=TIMES) -> dict[tuple[str, float], np.ndarray]:
    """x(t) by interpretation and gain, shape (times, 8), all integrated together by DOP853."""
    cases = [(name, gain) for name in READINGS for gain in gains]
    readings, values = (
        np.array([READINGS[name] for name, _ in cases]),
        np.array([gain for _, gain in cases]),
    )
    arm()  # built outside the traced function
    slope = jax.jit(jax.vmap(rate_of))
    # by an integrator of SciPy, as an independent check
    run = solve_ivp(
        lambda t, x: np.asarray(slope(x.reshape(-1, 8), values, readings)).ravel(),
        (0, times[-1]),
        np.tile(START, len(cases)),
        method="DOP853",
        rtol=1e-11,
        atol=1e-12,
        t_eval=times,
    )
    return dict(zip(cases, run.y.reshape(len(cases), 8, -1).transpose(0, 2, 1), strict=True))


def growth() -> float:
    """The largest real part of the eigenvalues of the literal interpretation at rest; the least of
    these over `GAINS` [1/s].
    """
    arm()
    jacobian = jax.jit(
        jax.jacfwd(lambda x, gain: rate_of(x, gain, np.array(READINGS["literal_motor"])))
    )
    return min(
        float(np.linalg.eigvals(np.asarray(jacobian(np.zeros(8), gain))).real.max())
        for gain in GAINS
    )


def reproduced() -> Part:
    """Eq. (66)-(72), Figures 10 and 11."""
    found = histories()
    beta = {case: x[:, 4] + x[:, 5] for case, x in found.items()}
    run = zwang.gallery.load("flexible-joint", rate=DECAY).run(times=TIMES)
    servo = run.v[:, 0] + run.v[:, 1]
    figures = [
        curves(
            "figure10",
            "Figure 10: error of the constraint, P⁻¹ = 2/s",
            "Only two readings, and the servo on the motors, bring it to zero.",
            ("time [s]", "|β| [rad/s]"),
            {
                **{WORDS[r]: (TIMES, abs(beta[r, 2.0])) for r in READINGS},
                "motors, relative degree three": (TIMES, abs(servo)),
            },
            logarithmic=True,
        ),
        curves(
            "figure11",
            "Figure 11: velocities of the links, P⁻¹ = 2/s",
            "u on the links with K(q₁ − q₂) in F^c.",
            ("time [s]", "velocity [rad/s]"),
            {f"link {i + 1}": (TIMES, found["link_K(q1-q2)", 2.0][:, 4 + i]) for i in range(2)},
        ),
    ]
    return Part([*_readings(beta), _degree_three(servo, DECAY)], [_table(beta)], figures)


def _readings(beta: dict) -> list[Claim]:
    literal = min(float(abs(beta["literal_motor", g])[TIMES >= 2].max()) for g in GAINS)
    worst = growth()
    made = [
        Claim(
            "eq. (66), (72), Figure 10",
            "with u of eq. (72) on the motors β vanishes within 2 s",
            "0 after 2 s",
            f"|β| reaches {literal:.2f} rad/s or more after 2 s",
            compared(literal < 0.1),
            "F^c is a force on the links. On the motors it makes rest unstable: an eigenvalue "
            f"with real part {worst:.2f}/s or more.",
            Verdict.NOT,
        )
    ]
    for name in FALLS:
        # β̇ = −β/P in closed form, from 0.9 at the start
        off = max(float(abs(beta[name, g] - 0.9 * np.exp(-g * TIMES)).max()) for g in GAINS)
        correction = f"{WORDS[name]}; rad/s for the printed m/s."
        made.append(
            Claim(
                "Figure 10",
                f"β falls: {WORDS[name]}",
                "0 after 2 s",
                f"0.9 exp(−t/P) to {off:.0e}; at 2 s "
                + ", ".join(f"{0.9 * np.exp(-2 * g):.0e} for 1/P = {g:g}" for g in GAINS),
                compared(off < AGREES, correction),
                correction,
                Verdict.CORRECTED,
            )
        )
    return made


def _degree_three(servo: np.ndarray, rate: float) -> Claim:
    """(s + r)³ β = 0 from the initial β, β̇, β̈, which are those of the free arm."""
    slope = _free_derivatives()
    # coefficients of exp(−rt) (c₀ + c₁t + c₂t²) from the initial value and two derivatives
    c = np.array([0.9, slope[0] + rate * 0.9, (slope[1] + 2 * rate * slope[0] + rate**2 * 0.9) / 2])
    exact = np.exp(-rate * TIMES) * (c[0] + c[1] * TIMES + c[2] * TIMES**2)
    off = float(abs(servo - exact).max())
    correction = (
        "The constraint differentiated until the motors reach it: relative degree three, poles "
        f"at −{rate:g}/s."
    )
    return Claim(
        "Figure 10",
        "motors bring β to zero",
        "0 after 2 s",
        f"(s + r)³ β = 0 to {off:.0e}; {abs(servo[np.searchsorted(TIMES, 2.0)]):.0e} at 2 s",
        compared(off < AGREES, correction),
        correction,
        Verdict.CORRECTED,
    )


def _free_derivatives() -> tuple[float, float]:
    """β̇ and β̈ of the arm without control at the start."""
    p, system = _plant().params, _plant().system

    def slope(x):
        q, v = x[:4], x[4:]
        a = jnp.linalg.solve(system.mass_matrix(q, 0.0, p), system.force(q, v, 0.0, p))
        return jnp.concatenate([v, a])

    x = jnp.asarray(START, float)
    first, second = jax.jvp(slope, (x,), (slope(x),))
    return float(first[4] + first[5]), float(second[4] + second[5])


def _table(beta: dict) -> Grid:
    at = int(np.searchsorted(TIMES, 2.0))
    rows = [
        [
            WORDS[r],
            *(f"{abs(beta[r, g][at]):.1e}" for g in GAINS),
            *(f"{abs(beta[r, g]).max():.1e}" for g in GAINS),
        ]
        for r in READINGS
    ]
    headings = (
        "reading",
        *(f"|β(2 s)|, 1/P = {g:g}" for g in GAINS),
        *(f"max |β|, 1/P = {g:g}" for g in GAINS),
    )
    return Grid("Readings of eq. (71), (72)", headings, rows, "rad/s; 0.9 at the start.")
