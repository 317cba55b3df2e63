"""Kinds of constraints by Frobenius's condition, with Lemma 1 as the case of three coordinates;
Propositions 1-5.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from zwang.algebra.pseudoinverse import ALL_PSEUDOINVERSES, AbstractPseudoinverse, Proximal
from zwang.dynamics.model import Model
from zwang.equations.constraint import Nonholonomic
from zwang.equations.state import State
from zwang.equations.system import System
from zwang.papers.claim import Claim, Part, Verdict, compared

POINT, RATE = np.array([0.3, -0.7, 1.1]), np.array([0.5, 0.2, -0.4])
"""Point and velocity at which Examples 2-4 are evaluated; arbitrary, without zeros."""
EXACT = 1e-13
"""Round-off of a few products of numbers of order one."""


def frobenius(form: Callable, at) -> float:
    """Largest entry of `ω ∧ dω`, zero everywhere if and only if `ω = Σ ω_i dx_i = 0` is holonomic;
    three coordinates: eq. (11).

    Args:
        form: x → coefficients ω, both of shape (n,); time may be one of the coordinates.
        at: point, shape (n,).
    """
    at = jnp.asarray(at, float)
    w, d = np.asarray(form(at)), np.asarray(jax.jacfwd(form)(at))
    # dω; ω ∧ dω vanishes exactly where an integrating factor exists (Frobenius)
    curl = d - d.T  # (∂_j ω_i − ∂_i ω_j)
    triples = itertools.combinations(range(len(w)), 3)
    values = [w[i] * curl[j, k] + w[j] * curl[k, i] + w[k] * curl[i, j] for i, j, k in triples]
    return float(max(values, key=abs))


EXAMPLES = {
    "Example 2, eq. (12)": (
        lambda x: jnp.stack([1.0, 2 * x[1], 1.0, 0 * x[3]]),
        True,
        True,
        "(19)",
        -2 * RATE[1] ** 2,
    ),
    "Example 3, eq. (14)": (
        lambda x: jnp.stack([1.0, 2 * x[1], 1.0, -1.0 + 0 * x[3]]),
        True,
        False,
        "(19)",
        -2 * RATE[1] ** 2,
    ),
    "Example 4, eq. (16)": (
        lambda x: jnp.stack([1.0, 2 * x[2], 1.0, 0 * x[3]]),
        False,
        True,
        "(20)",
        -2 * RATE[1] * RATE[2],
    ),
}
"""Place in the paper → coefficients of (dx, dy, dz, dt), True if holonomic, True if scleronomic,
its second-order form, and b at the point.
"""


def reproduced() -> Part:
    """Examples 2-4 and Propositions 1-5."""
    claims = []
    for place, (form, holonomic, timeless, second, b) in EXAMPLES.items():
        claims += [kind_of(place, form, holonomic, timeless), _standard(place, form, second, b)]
    # Proximal is exact only if r is in the range of C
    methods = [kind for kind in ALL_PSEUDOINVERSES if kind is not Proximal]
    return Part([*claims, value_of_lemma_1(), *propositions(methods)])


def kind_of(place: str, form: Callable, holonomic: bool, timeless: bool) -> Claim:
    """Scleronomic, rheonomic or nonholonomic, from the form alone."""
    # one point is sufficient, because the examples are polynomials without zeros there
    at = np.append(POINT, 0.4)
    found = frobenius(form, at)
    no_time = float(form(at)[3]) == 0 and not np.any(jax.jacfwd(form)(at)[:, 3])
    name = lambda integrable, still: (
        ("scleronomic" if still else "rheonomic") if integrable else "nonholonomic"
    )
    ours = name(abs(found) < EXACT, no_time)
    printed = name(holonomic, timeless)
    return Claim(
        place,
        "kind of constraint",
        printed,
        f"{ours} (ω ∧ dω = {found:.2g})",
        compared(ours == printed),
    )


def _standard(place: str, form: Callable, second: str, b: float) -> Claim:
    """A and b of the library compared with the printed ones."""
    system = System(3, lambda q, t, p: jnp.ones(3), lambda q, v, t, p: jnp.zeros(3))
    constraint = Nonholonomic(lambda q, v, t, p: form(jnp.append(q, t)) @ jnp.append(v, 1.0))
    dynamics = Model(system, [constraint]).dynamics()
    state = State(jnp.asarray(POINT), jnp.asarray(RATE), jnp.asarray(0.4))
    A, rhs = np.asarray(dynamics.matrix(state))[0], float(dynamics.rhs(state)[0])
    # the coefficients of dx, dy, dz, without that of dt
    wanted = np.asarray(form(np.append(POINT, 0.4)))[:3]
    error = max(float(abs(A - wanted).max()), abs(rhs - b))
    return Claim(
        f"{place}, eq. {second}",
        "A and b of its second-order form",
        f"b = {b:.3g} at the place looked at",
        f"differ by {error:.0e}",
        compared(error < EXACT),
        "By automatic differentiation of the constraint.",
    )


def value_of_lemma_1() -> Claim:
    """Eq. (17), which prints 1."""
    found = frobenius(lambda x: jnp.stack([1.0, 2 * x[2], 1.0]), POINT)
    correction = "∂β/∂z of β = 2z is 2; nonholonomic either way."
    return Claim(
        "eq. (17)",
        "left side of eq. (11) for Example 4",
        "1",
        f"{found:g}",
        compared(abs(found - 2) < EXACT, correction),
        correction,
        Verdict.CORRECTED,
    )


def propositions(methods: Sequence[type[AbstractPseudoinverse]]) -> list[Claim]:
    """Propositions 1-5 and Penrose's conditions for given methods."""
    random = np.random.default_rng(0)
    a, B, C = random.normal(size=(1, 5)), random.normal(size=(2, 4)), random.normal(size=(3, 2))
    # a matrix of rank one, for which methods that need full rank fail
    deficient = np.outer(random.normal(size=4), random.normal(size=3))
    block = np.block([[B, np.zeros((2, 2))], [np.zeros((3, 4)), C]])
    facts = {
        "Proposition 1": (
            "(λA)⁺ = A⁺/λ",
            lambda plus: plus(-2.5 * deficient) + plus(deficient) / 2.5,
        ),
        "Proposition 2": ("a⁺ = aᵀ/(a aᵀ), row", lambda plus: plus(a) - a.T / (a @ a.T)),
        "Proposition 3": ("a⁺ = aᵀ/(aᵀ a), column", lambda plus: plus(a.T) - a / (a @ a.T)),
        "Proposition 4": (
            "(aᵀa)⁺ = aᵀa/(a aᵀ)²",
            lambda plus: plus(a.T @ a) - a.T @ a / (a @ a.T) ** 2,
        ),
        "Proposition 5": (
            "(B ⊕ C)⁺ = B⁺ ⊕ C⁺",
            lambda plus: (
                plus(block) - np.block([[plus(B), np.zeros((4, 3))], [np.zeros((2, 2)), plus(C)]])
            ),
        ),
        "eq. (32)-(35)": (
            "conditions of Penrose, 4 × 3 of rank one",
            lambda plus: _penrose(deficient, plus(deficient)),
        ),
    }
    made = []
    for place, (what, difference) in facts.items():
        worst = max(
            float(
                np.abs(
                    difference(
                        lambda X, kind=kind: np.asarray(kind().factor(jnp.asarray(X)).matrix())
                    )
                ).max()
            )
            for kind in methods
        )
        made.append(
            Claim(
                place,
                what,
                "equal",
                f"differ by at most {worst:.0e}",
                compared(worst < EXACT),
                f"By {len(methods)} methods: {', '.join(kind.__name__ for kind in methods)}.",
            )
        )
    return made


def _penrose(A, X) -> np.ndarray:
    products = (A @ X @ A - A, X @ A @ X - X, A @ X - (A @ X).T, X @ A - (X @ A).T)
    return np.array([np.abs(x).max() for x in products])
