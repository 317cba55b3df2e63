"""The equations of sections 3 and 4, tested on random problems."""

from __future__ import annotations

import numpy as np

from zwang.algebra.pseudoinverse import SVD
from zwang.dynamics.formulation import Nullspace
from zwang.hierarchy import enforce
from zwang.output.report.figures import Chart
from zwang.papers.claim import Claim, Verdict, compared
from zwang.papers.recursive.problems import ROWS, Batch, N, draw, kalman, model, one_shot, solved
from zwang.plots import Curve, Panel, Picture
from zwang.plots.data import DASHED

EQUAL_DEVIATION = 1e-10
"""Largest deviation that counts as equal: round-off times the largest condition number of the
random problems, about 1e5.
"""
CLEARANCES = (1e2, 1.0, 1e-2, 1e-4, 1e-6, 1e-8)


def claims() -> tuple[list[Claim], list[Chart]]:
    """All claims, and the figure of the effect of a clearance."""
    full, dependent = solved(draw(dependent=False)), solved(draw(dependent=True))
    contradictory = solved(draw(dependent=True, contradictory=True))
    clearances, chart = _clearances(draw(dependent=True))
    made = [
        *_recursion(full, dependent),
        *_corollaries(full, dependent),
        _priority(contradictory),
        *clearances,
        _singular(),
    ]
    return made, [chart]


def _deviation(x, y) -> float:
    return float(np.max(np.abs(np.asarray(x) - np.asarray(y))))


def _equal(
    place: str,
    what: str,
    deviation: float,
    why: str = "",
    correction: str = "",
    allowed: float = EQUAL_DEVIATION,
) -> Claim:
    verdict = compared(deviation < allowed, correction)
    expected = Verdict.CORRECTED if correction else Verdict.REPRODUCED
    return Claim(
        place, what, "equal", f"differ by {deviation:.1e}", verdict, correction or why, expected
    )


def _transposed(x):
    return np.swapaxes(x, -1, -2)


def _recursion(full: Batch, dependent: Batch) -> list[Claim]:
    ends = np.cumsum(ROWS)
    each = max(
        _deviation(full.levels[:, r], one_shot(full, slice(0, end))) for r, end in enumerate(ends)
    )
    H = dependent.H[:, ROWS[0] : ROWS[0] + ROWS[1]]
    first = dependent.H[:, : ROWS[0]]
    P = np.eye(N) - np.linalg.pinv(first) @ first
    # the matrix that the paper's formula inverts
    condition = np.linalg.cond(H @ P @ _transposed(H))
    return [
        _equal(
            "(4.9), (4.14)",
            "the recursion gives at each level what solving its rows at once gives",
            each,
        ),
        _equal(
            "(4.16)",
            "the same with rows that depend on lower levels",
            _deviation(dependent.acceleration, one_shot(dependent)),
            correction=(
                "K = PH̃*(H̃PH̃*)⁻¹ as in the boxed algorithm inverts a matrix of condition "
                f"{np.min(condition):.0e} and more; with K = (H̃P)⁺ it is right."
            ),
        ),
    ]


def _corollaries(full: Batch, dependent: Batch) -> list[Claim]:
    made = []
    for name, x in (("independent", full), ("dependent", dependent)):
        P = np.eye(N) - np.linalg.pinv(x.H, rcond=1e-10) @ x.H
        made.append(
            _equal(
                "Corollary 3.3, (4.15)",
                f"the projector of the recursion is I − H⁺H, {name} rows",
                _deviation(x.P, P),
            )
        )
        HG, GH = x.H @ x.G, x.G @ x.H
        first = max(_deviation(HG @ x.H, x.H), _deviation(GH, _transposed(GH)))
        made.append(
            _equal(
                "Corollary 3.4, (3.13)",
                f"the recursion gives a {{1,4}}-inverse, {name} rows",
                first,
            )
        )
    # a generalized inverse, but not the Moore-Penrose inverse
    from_pinv = _deviation(dependent.G, np.linalg.pinv(dependent.H, rcond=1e-10))
    same = _deviation(full.G, np.linalg.pinv(full.H))
    made.append(
        Claim(
            "after Corollary 3.4",
            "with dependent rows it is not the Moore-Penrose inverse",
            "not ensured",
            f"differs by up to {from_pinv:.2g}; {same:.0e} with independent rows",
            compared(from_pinv > 1e-2 and same < EQUAL_DEVIATION),
            "H Hᵍ is not symmetric then; the motion does not depend on it.",
        )
    )
    K = np.linalg.pinv(dependent.H[:, : ROWS[0]])
    I_KH = np.eye(N) - K @ dependent.H[:, : ROWS[0]] * 1.0
    # any K that is not orthogonal shows the effect of the star
    tilted = I_KH + 0.1 * np.eye(N)[:, ::-1] @ I_KH
    symmetric = _deviation(tilted @ _transposed(tilted), _transposed(tilted @ _transposed(tilted)))
    literal = _deviation(tilted @ tilted, _transposed(tilted @ tilted))
    made.append(
        Claim(
            "(3.10), (4.15), (4.18)",
            "the last form keeps P symmetric, whatever K is",
            "(I − K H̃) P (I − K H̃), its star lost",
            f"asymmetry {symmetric:.0e} with the star, {literal:.2g} without",
            compared(symmetric < EQUAL_DEVIATION < literal, "star"),
            "The last factor is (I − K H̃)*, and K R K* in (4.18).",
            Verdict.CORRECTED,
        )
    )
    return made


def _priority(x: Batch) -> Claim:
    # the residual of the level with priority, for each method
    lower = np.einsum("kij,kj->ki", x.A[:, : ROWS[0]], x.acceleration) - x.b[:, : ROWS[0]]
    at_once = np.einsum("kij,kj->ki", x.A[:, : ROWS[0]], one_shot(x)) - x.b[:, : ROWS[0]]
    kept, lost = float(np.abs(lower).max()), float(np.abs(at_once).max(axis=1).min())
    return Claim(
        "(4.14), rows that contradict lower levels",
        "any {1,4}-inverse will do",
        "no practical disadvantage",
        f"recursion: lower level misses {kept:.0e}; at once: at least {lost:.2g}",
        compared(kept < EQUAL_DEVIATION < lost, "priority"),
        "Only rows that agree give the same. Otherwise the recursion keeps the lower level "
        "exactly, and solving at once takes the least squares of all: a priority that "
        "zw.enforce reports.",
        Verdict.CORRECTED,
    )


def _clearances(problems) -> tuple[list[Claim], Chart]:
    rigid = solved(problems)
    distances, worst_filter, worst_stiff = [], 0.0, 0.0
    for r in CLEARANCES:
        x = solved(problems, r)
        stiff = x.M + _transposed(x.A) @ x.A / r
        penalty = np.linalg.solve(stiff, x.f[:, :, None] + _transposed(x.A) @ x.b[:, :, None] / r)[
            :, :, 0
        ]
        mean, P = kalman(x, r)
        relative = max(1.0, 1e-4 / r)  # the condition number of both textbook forms grows like 1/r
        worst_filter = max(
            worst_filter,
            _deviation(x.acceleration, mean) / relative,
            _deviation(x.covariance, P) / relative,
        )
        worst_stiff = max(worst_stiff, _deviation(x.acceleration, penalty) / relative)
        distances.append(np.median(np.linalg.norm(x.acceleration - rigid.acceleration, axis=1)))
    # from two small clearances, in the asymptotic range
    slope = float(np.log(distances[-3] / distances[-1]) / np.log(CLEARANCES[-3] / CLEARANCES[-1]))
    made = [
        _equal(
            "(4.14)-(4.18)",
            "the recursion is a Kalman filter of a static state: mean and covariance",
            worst_filter,
            "Textbook filter row by row in v̇, prior M⁻¹f and M⁻¹, R = r from 1e2 to 1e-8.",
        ),
        _equal(
            "(4.17)",
            "a clearance r is a compliance: (M + A*A/r) v̇ = f + A*b/r",
            worst_stiff,
            "The deviation is divided by 1e-4/r below r = 1e-4: the stiff system is that "
            "ill-conditioned.",
        ),
        Claim(
            "(4.17), r → 0",
            "clearances as noise tend to the rigid constraints",
            "not computed",
            f"distance like r^{slope:.3f}",
            compared(abs(slope - 1) < 0.01),
            "First order in r.",
        ),
    ]
    first = [distances[2] * r / CLEARANCES[2] for r in CLEARANCES[2:]]
    curves = [
        Curve(CLEARANCES, distances, "median of the problems", marker="o"),
        Curve(CLEARANCES[2:], first, "first order", dash=DASHED),
    ]
    panel = Panel(curves, "distance of v̇ from that of rigid rows [m/s²]", logarithmic=True)
    figure = Picture([panel], "clearance r [m²/s⁴]", height=2.8, logarithmic=True)
    caption = (
        "What a clearance r of every row does to the acceleration: free to the right, rigid to "
        "the left."
    )
    return made, Chart(
        "clearance", "Section 4: clearances between rigid and free", caption, figure, {}
    )


def _singular() -> Claim:
    """(3.4) with two massless coordinates that the rows determine."""
    x = draw(dependent=False)
    one = model(singular_mass=True)
    worst = 0.0
    for k in range(5):
        M = x["M"][k].copy()
        # two massless coordinates
        M[-2:], M[:, -2:] = 0.0, 0.0
        p = {"M": M, "f": x["f"][k], "A": x["A"][k], "b": x["b"][k]}
        ours = enforce(one, np.zeros(N), np.zeros(N), params=p).acceleration
        KKT = np.block([[M, -p["A"].T], [p["A"], np.zeros((len(p["A"]),) * 2)]])
        exact = np.linalg.solve(KKT, np.r_[p["f"], p["b"]])[:N]
        worst = max(
            worst,
            _deviation(ours, exact),
            _deviation(Nullspace().acceleration(M, p["f"], p["A"], p["b"], SVD()), exact),
        )
    return _equal(
        "(3.4)",
        "with a singular mass matrix, if [M; A] has full column rank",
        worst,
        "The recursion ends each level with the motion along what is free; also by the stacked "
        "matrix, and by a saddle-point system with multipliers.",
    )
