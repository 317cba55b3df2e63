"""Tsitouras, order 5(4)."""

from __future__ import annotations

from zwang.stepping.explicit import AbstractExplicit
from zwang.stepping.tableau import Tableau

TABLEAU = Tableau(
    c=(0.0, 0.161, 0.327, 0.9, 0.9800255409045097, 1.0, 1.0),
    a=(
        (),
        (0.161,),
        (-0.008480655492356989, 0.335480655492357),
        (2.8971530571054935, -6.359448489975075, 4.3622954328695815),
        (5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525),
        (
            5.86145544294642,
            -12.92096931784711,
            8.159367898576159,
            -0.071584973281401,
            -0.028269050394068383,
        ),
        (
            0.09646076681806523,
            0.01,
            0.4798896504144996,
            1.379008574103742,
            -3.290069515436081,
            2.324710524099774,
        ),
    ),
    b=(
        0.09646076681806523,
        0.01,
        0.4798896504144996,
        1.379008574103742,
        -3.290069515436081,
        2.324710524099774,
        0.0,
    ),
    b_error=(
        0.0017800110522257773,
        0.0008164344596567463,
        -0.007880878010261994,
        0.1447110071732629,
        -0.5823571654525552,
        0.45808210592918686,
        -0.015151515151515152,
    ),
)


class Tsit5(AbstractExplicit):
    """Explicit Runge-Kutta method of order 5 with an embedded error estimate, 7 stages.

    For loose tolerances (1e-3 to 1e-6) and motion that is not smooth.

    Reference: Tsitouras (2011), Comput. Math. Appl. 62, 770-775.
    """

    @property
    def tableau(self) -> Tableau:
        return TABLEAU

    @property
    def order(self) -> int:
        return 5
