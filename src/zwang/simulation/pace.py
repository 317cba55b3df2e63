"""Whether a run comes to its end within the steps that it may take, and what keeps them short."""

from __future__ import annotations

from zwang.dynamics.control_law import AbstractControlLaw

MEASURED = 1024
"""Attempted steps over which a pace is measured."""
GROWTH = 2.0
"""A run whose steps become this much longer from one window to the next is still finding its
length."""
HOPELESS = 1e3
"""A run is given up if the rest takes this many times the steps that are left to it."""
FOLLOWED = 0.01
"""Steps are as short as a gain makes them if it decays by this exponent or more within one."""


class Pace:
    """How fast a run comes on.

    Args:
        start, end: of the run [s].
        limit: of attempted steps.
    """

    def __init__(self, start: float, end: float, limit: int):
        self.end, self.limit = end, limit
        self.last, self.before = (0, start), None

    def given_up(self, tried: int, t: float) -> str:
        """Why it is no use to go on, or "": steps of constant length, as stability sets them to
        an explicit integrator in a stiff system, of which the rest takes far more than the limit.

        Args:
            tried: attempted steps so far.
            t: time that is reached [s].
        """
        count = tried - self.last[0]
        if count < MEASURED:
            return ""
        length, before = (t - self.last[1]) / count, self.before
        self.last, self.before = (tried, t), length
        left = (self.end - t) / max(length, 1e-300)
        grows = before is None or length > GROWTH * before
        if grows or not left > HOPELESS * (self.limit - tried):
            return ""
        return (
            f"the last {count} steps took {length:.1e} s each, so that the rest would take "
            f"{left:.0e} of them"
        )


def stiff_gain(law: AbstractControlLaw | None, step: float) -> str:
    """The gain that keeps steps as short as they are, in words; empty if none does."""
    rates = {} if law is None else law.decay_rates()
    name = max(rates, key=rates.__getitem__, default="")
    if not name or not rates[name] * step > FOLLOWED:
        return ""
    return (
        f"the gain of {name!r} makes its error decay at {rates[name]:.1e} 1/s, which steps of "
        f"{step:.1e} s follow: give a smaller one"
    )
