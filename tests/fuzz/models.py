"""Random models, simulated for a second: energy, residual, and an independent final state."""

from __future__ import annotations

import jax
import numpy as np
from scipy.integrate import simpson

import zwang as zw
from tests.laws.random_models import FAMILIES, Case, draw, oracle

SPAN, SAMPLES, RTOL = 1.0, 401, 1e-9
ENERGY, RESIDUAL, END = 1e-5, 1e-6, 1e-3
"""Largest errors that pass: energy beside its largest value and what is dissipated; rows at unit
length beside the speed; the end beside that of `CompleteOrthogonal`, which sees other round-off
that a fast motion amplifies."""


def case_of(*names: str, second: bool = True):
    """A fuzz case that draws from families by name, all unless given."""
    families = [FAMILIES[name] for name in names or FAMILIES]

    def case(random: np.random.Generator) -> None:
        family = families[int(random.integers(len(families)))]
        assert_right(draw(family, int(random.integers(2**31))), second)

    return case


case = case_of()


def assert_right(case: Case, second: bool) -> None:
    """A run keeps its energy balance and its constraints, and ends where the other member ends."""
    who = f"{case.family.name}, seed {case.seed}"
    t, q, v = motion_of(case)
    facts = at_samples(case, t, q, v)
    if case.family.scleronomic and (off := imbalance(t, facts)) >= ENERGY:
        # a spring that nearly vanishes damps in a jerk, which needs more samples to be summed up
        fine = motion_of(case, samples=16 * SAMPLES)
        off = imbalance(fine[0], at_samples(case, *fine))
        assert off < ENERGY, f"{who}: energy is off by {off:.1e}"
    speed = np.sqrt(2 * facts["kinetic"])[:, None] + 1e-6
    slip = np.abs(facts["speed"]) / (facts["row"] * speed)
    assert slip.max(initial=0.0) < RESIDUAL, f"{who}: rows slip by {slip.max():.1e}"
    if second:
        _, q2, v2 = motion_of(case, pseudoinverse=zw.methods.CompleteOrthogonal())
        unit = case.params["unit"]
        far = np.abs((q[-1] - q2[-1]) / unit).max() / (1 + np.abs(q / unit).max())
        assert far < END, f"{who}: CompleteOrthogonal ends {far:.1e} away"


def imbalance(t, facts: dict) -> float:
    """What the energy at the end lacks beside what the dampers took, relative to its largest."""
    lost = simpson(facts["loss"], x=t)
    size = np.abs(facts["energy"]).max() + facts["kinetic"].max() + lost
    return abs(facts["energy"][-1] - facts["energy"][0] + lost) / max(size, 1e-12)


def motion_of(case: Case, **options):
    asked = {"duration": SPAN, "samples": SAMPLES, "rtol": RTOL, "max_steps": 20_000, **options}
    found = zw.simulate(case.model, case.q, case.v, params=case.params, **asked).dataset
    return found.time.values, found.q.values, found.v.values


def at_samples(case: Case, t, q, v) -> dict:
    """What the oracle says at all samples; the mass gives the length of each row."""
    over = jax.vmap(oracle(case.family), (0, 0, 0, 0, None))
    facts = {k: np.asarray(x) for k, x in over(q, v, 0 * v, t, case.params).items()}
    inverse = np.linalg.inv(facts["mass"])
    square = np.einsum("smi,sij,smj->sm", facts["A"], inverse, facts["A"])
    facts["row"] = np.sqrt(square) + 1e-300
    facts["kinetic"] = 0.5 * np.einsum("si,sij,sj->s", v, facts["mass"], v)
    return facts
