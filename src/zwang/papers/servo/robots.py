"""The coordinated robots: the appendix, the motion, and the ranges of the torques beside the
printed ones.
"""

from __future__ import annotations

import numpy as np

import zwang.gallery
from zwang.gallery import Example
from zwang.papers.claim import Claim, Grid, Part, Verdict, compared
from zwang.papers.drawing import figures_of
from zwang.simulation.results import Run

RANGES = {
    "u1": (0, 10),
    "u2": (3, 5),
    "u3": (-8, -5.5),
    "u4": (4.5, 10),
    "u5": (-4.5, 0.5),
    "u6": (-5, 0),
}
"""Of the torques [N m], as the paper's text gives them for Figures 9-14."""
READ = 0.5
"""Error [N m] of a number read from a figure whose axis has ticks a few N m apart."""
ROBOTS_AGREE = 1e-8
SPREAD = {
    "mass": np.array([0.7, 1.1, 1.6, 0.9, 1.3]),
    "inertia": np.array([0.5, 0.8, 1.2, 1.7, 0.6]),
    "length": 0.7,
    "gravity": 9.8,
}
"""Unequal links, so that every coefficient of the appendix counts."""


def reproduced() -> Part:
    """Eq. (48)-(71), the appendix, Figures 3-14."""
    example = zwang.gallery.load("coordinated-robots")
    run = example.run()
    least = zwang.gallery.load("coordinated-robots", choice="least")
    shortest = least.run()
    wanted = {title: title for title in example.figures if title.startswith("Figure")}
    figures = figures_of(
        example,
        run,
        "coordinated-robots",
        {"Robots": "Figure 3: the robots and their object", **wanted},
    )
    claims = [*_appendix(example), *_motion(example, run), *_ranges(run), _reacts(run)]
    return Part(claims, [_table(run, shortest)], figures)


def appendix(theta, rate, m, inertia, l, g) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """M, C and G as the paper prints them, eq. (A2)-(A4), for links of one length."""
    after = np.cumsum(m[::-1])[::-1] - m
    coupled = lambda i, j: m[max(i, j)] / 2 + after[max(i, j)]
    M, C = np.zeros((5, 5)), np.zeros((5, 5))
    for i in range(5):
        M[i, i] = (m[i] / 4 + after[i]) * l**2 + inertia[i]
        for j in range(5):
            if i != j:
                M[i, j] = coupled(i, j) * l**2 * np.cos(theta[i] - theta[j])
                C[i, j] = coupled(i, j) * l**2 * np.sin(theta[i] - theta[j]) * rate[j]
    return M, C, (m / 2 + after) * g * l * np.cos(theta)


def _appendix(example: Example) -> list[Claim]:
    theta, rate = np.array([0.3, -0.8, 1.2, 2.0, -0.4]), np.array([0.5, -0.2, 0.9, 0.1, -0.7])
    M, C, G = appendix(
        theta, rate, SPREAD["mass"], SPREAD["inertia"], SPREAD["length"], SPREAD["gravity"]
    )
    system = example.model.passive.system
    by_jacobians = _from_jacobians(theta)
    errors = {
        "eq. (A2)": (
            "M",
            max(
                np.abs(system.mass_matrix(theta, 0.0, SPREAD) - M).max(),
                np.abs(by_jacobians - M).max(),
            ),
        ),
        "eq. (A3), (A4)": (
            "C θ̇ + G",
            np.abs(np.asarray(system.force(theta, rate, 0.0, SPREAD)) + C @ rate + G).max(),
        ),
    }
    return [
        Claim(
            place,
            f"{what} of the chain",
            "closed forms",
            f"differ by {float(error):.0e} from our own{' and from Σ JᵀmJ' if what == 'M' else ''}",
            compared(bool(error < 1e-12)),
            "Unequal links. Misprints around them: (58) has no sign, (59) q for q̇, (64) two first "
            "derivatives among second ones, (A1) a stray “= J”."
            if what == "M"
            else "",
        )
        for place, (what, error) in errors.items()
    ]


def _from_jacobians(theta: np.ndarray) -> np.ndarray:
    """`Σ m_k J_kᵀ J_k + I_k ωᵀω` of eq. (51), with the Jacobian of each link's center."""
    M = np.diag(SPREAD["inertia"]).astype(float)
    for k in range(5):
        lever = SPREAD["length"] * np.where(
            np.arange(5) < k, 1.0, np.where(np.arange(5) == k, 0.5, 0.0)
        )
        J = np.stack([-lever * np.sin(theta), lever * np.cos(theta)])
        M += SPREAD["mass"][k] * J.T @ J
    return M


def _motion(example: Example, run: Run) -> list[Claim]:
    error = example.error(run)
    middle = int(np.argmin(abs(run.t - np.pi)))
    degrees = ", ".join(f"{round(x)}" for x in np.degrees(run.q[middle]))
    off = float(np.abs(np.degrees(run.q[middle]) - [90, 0, 0, 0, -90]).max())
    flat = float(np.abs(run.q[:, 2]).max())
    return [
        Claim(
            "Figures 4-8",
            "motion of the links",
            "curves",
            f"closed form to {error:.0e} rad",
            compared(error < ROBOTS_AGREE),
        ),
        Claim(
            "Figures 4, 8",
            "angles when the object is highest [deg]",
            "90, 0, 0, 0, −90",
            degrees.replace("-", "−"),
            compared(off < 1.0),
            "At the sample nearest to π s.",
        ),
        Claim(
            "Figure 6",
            "θ₃ and its derivatives are zero",
            "0",
            f"|θ₃| ≤ {flat:.0e} rad",
            compared(flat < ROBOTS_AGREE),
        ),
    ]


def _ranges(run: Run) -> list[Claim]:
    made = []
    for i, (name, printed) in enumerate(RANGES.items()):
        u = run.dataset.control.sel(actuator=name).values
        found = (float(u.min()), float(u.max()))
        agrees = max(abs(a - b) for a, b in zip(printed, found, strict=True)) <= READ
        why = (
            ""
            if agrees
            else "One end differs; −4.5, where our curve ends, is what Figure 11 must show for "
            "−5.5."
        )
        made.append(
            Claim(
                f"Figure {i + 9}",
                f"range of {name} [N m]",
                _span(printed),
                _span(found),
                compared(agrees),
                why,
                Verdict.NOT if name == "u3" else Verdict.REPRODUCED,
            )
        )
    return made


def _reacts(run: Run) -> Claim:
    """The hinge holds, because its force knows of the control."""
    torn = float(run.dataset.violation.values.max())
    correction = (
        "Q^c in eq. (71) is the force that really acts, not that of eq. (14), which does not "
        "know of B u."
    )
    return Claim(
        "eq. (71)",
        "the hinge holds under the torques",
        "0",
        f"open by {torn:.0e} m at most",
        compared(torn < 1e-12, correction),
        correction,
        Verdict.CORRECTED,
    )


def _table(run: Run, shortest: Run) -> Grid:
    rows = []
    for name, printed in RANGES.items():
        spans = (
            run.dataset.control.sel(actuator=name).values,
            shortest.dataset.control.sel(actuator=name).values,
        )
        rows.append([name, _span(printed), *(_span((x.min(), x.max())) for x in spans)])
    norms = [float(np.linalg.norm(r.dataset.control.values, axis=1).max()) for r in (run, shortest)]
    return Grid(
        "Figures 9-14: ranges of the torques [N m]",
        ("torque", "printed", "eq. (71), hinge force that acts", "shortest torques"),
        rows,
        f"Both move the object alike; the longest vector of torques is {norms[0]:.2f} N m by "
        f"eq. (71), {norms[1]:.2f} N m at least.",
    )


def _span(ends) -> str:
    low, high = (f"{round(float(x), 2) + 0.0:g}".replace("-", "−") for x in ends)
    return f"{low} … {high}"
