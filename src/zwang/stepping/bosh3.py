"""Bogacki and Shampine, order 3(2)."""

from __future__ import annotations

from zwang.stepping.explicit import AbstractExplicit
from zwang.stepping.tableau import Tableau

TABLEAU = Tableau(
    c=(0.0, 1 / 2, 3 / 4, 1.0),
    a=((), (1 / 2,), (0.0, 3 / 4), (2 / 9, 1 / 3, 4 / 9)),
    b=(2 / 9, 1 / 3, 4 / 9, 0.0),
    b_error=(2 / 9 - 7 / 24, 1 / 3 - 1 / 4, 4 / 9 - 1 / 3, -1 / 8),
)


class Bosh3(AbstractExplicit):
    """Explicit Runge-Kutta method of order 3 with an embedded error estimate, 4 stages.

    It is suitable for loose tolerances (1e-2 to 1e-4) and for forces with many kinks, such as
    contact and friction laws, for which a method of higher order rejects more steps than it saves.

    Reference: Bogacki and Shampine (1989), Appl. Math. Lett. 2(4), 321-325.
    """

    @property
    def tableau(self) -> Tableau:
        return TABLEAU

    @property
    def order(self) -> int:
        return 3
