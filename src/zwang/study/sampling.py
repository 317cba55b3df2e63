"""Sampling of the cases of a study.

Each quantity has a range, values or a distribution; a sample combines them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from zwang.errors import ModelError
from zwang.inputs.arguments import count, flag, real_array, refuse
from zwang.inputs.call import misfits_named
from zwang.inputs.tracing import called
from zwang.mechanism.expression import quantity
from zwang.remedy import Remedy, advice

EXPECTED = (
    "values [0.5, 1.0], a range '0.5:2:40' or 'log:0.1:10:50', or a frozen distribution of "
    "scipy.stats"
)
MOST_CASES = 100_000_000
"""Largest number of cases of one study; the numbers of more would fill the memory."""

DRAWN = Remedy(
    "zw.study.sobol(count) or zw.study.draws(count)",
    (("sample", "--sample sobol:COUNT or --sample draws:COUNT"),),
)


@dataclasses.dataclass(frozen=True)
class Axis:
    """One varied quantity.

    Attributes:
        name: as users write it.
        values: of a grid.
        low, high, log: interval of a range; None for values and distributions.
        distribution: a frozen distribution of scipy.stats, or None.
    """

    name: str
    values: np.ndarray
    low: float | None = None
    high: float | None = None
    log: bool = False
    distribution: Any = None

    def at(self, u: np.ndarray) -> np.ndarray:
        """Values at the quantiles u, shape (cases,)."""
        if self.distribution is not None:
            what = f"over[{self.name!r}]"
            x = np.asarray(real_array(called(self.distribution.ppf, f"{what}.ppf(u)", u), what))
            if x.shape != u.shape or not np.all(np.isfinite(x)):
                refuse(what, self.distribution, "a distribution of finite numbers")
            return x
        if self.low is None or self.high is None:
            return self.values[np.minimum((u * len(self.values)).astype(int), len(self.values) - 1)]
        if self.log:
            return self.low * (self.high / self.low) ** u
        return self.low + (self.high - self.low) * u


def axis(name: str, given: object, unit: str = "") -> Axis:
    """Parse a quantity and its values, in `unit` if that is known.

    Raises:
        ModelError: for anything other than `EXPECTED`.
    """
    if isinstance(given, str):
        return _range(name, given, unit)
    if callable(getattr(given, "ppf", None)):
        return Axis(name, np.zeros(0), distribution=given)
    values = np.atleast_1d(np.asarray(real_array(given, f"over[{name!r}]", EXPECTED)))
    if values.ndim != 1 or not values.size or not np.all(np.isfinite(values)):
        refuse(f"over[{name!r}]", given, EXPECTED)
    return Axis(name, values)


def _range(name: str, text: str, unit: str) -> Axis:
    """Parse `low:high:number`, `log:low:high:number`, or a list `1,2,3`; units as `30mm:45mm:8`."""
    log = text.startswith("log:")
    words = text.removeprefix("log:").split(":")
    try:
        if len(words) == 1 and not log:
            return axis(name, [quantity(word, unit) for word in text.split(",")])
        low, high = quantity(words[0], unit), quantity(words[1], unit)
        number = int(words[2]) if len(words) > 2 else 2
    except (ModelError, ValueError, IndexError):
        refuse(f"over[{name!r}]", text, EXPECTED)
    if len(words) > 3 or not np.isfinite(high - low) or not low < high or number < 2:
        refuse(f"over[{name!r}]", text, "low:high:number with low < high and at least 2 values")
    count(number, f"number of values of over[{name!r}]", most=MOST_CASES)
    if log and low <= 0:
        refuse(f"over[{name!r}]", text, "a positive lower end for a logarithmic range")
    values = np.geomspace(low, high, number) if log else np.linspace(low, high, number)
    return Axis(name, values, low, high, log)


@dataclasses.dataclass(frozen=True)
class Sample:
    """A rule that combines the quantities to cases.

    Attributes:
        kind: "grid", "sobol" or "draws".
        count: number of points; 0 for a grid, whose values determine it.
        seed: of the random numbers, or of the scrambling.
        indices: whether the points allow Sobol indices, which takes `count · (quantities + 2)`
            cases.
    """

    kind: str
    count: int = 0
    seed: int = 0
    indices: bool = False

    def cases(self, axes: Mapping[str, Axis]) -> dict[str, np.ndarray]:
        """The value of each quantity in each case, shape (cases,)."""
        if self.kind == "grid":
            for one in axes.values():
                if one.distribution is not None:
                    raise ModelError(
                        f"over[{one.name!r}] is a distribution, which has no grid; take "
                        f"{advice(DRAWN)}."
                    )
            total = int(np.prod([len(one.values) for one in axes.values()], dtype=object))
            if total > MOST_CASES:
                raise ModelError(f"the grid has {total} cases, expected at most {MOST_CASES}.")
            meshes = np.meshgrid(*(one.values for one in axes.values()), indexing="ij")
            return {name: mesh.ravel() for name, mesh in zip(axes, meshes, strict=True)}
        u = self._uniform(len(axes))
        return {name: one.at(u[:, i]) for i, (name, one) in enumerate(axes.items())}

    def _uniform(self, dimensions: int) -> np.ndarray:
        """Points in the unit cube, shape (cases, dimensions)."""
        if self.kind == "draws":
            return np.random.default_rng(self.seed).uniform(size=(self.count, dimensions))
        if self.indices:
            from SALib.sample import sobol as saltelli

            return saltelli.sample(
                problem_of(dimensions), self.count, calc_second_order=False, seed=self.seed
            )
        from scipy.stats import qmc

        points = qmc.Sobol(dimensions, rng=np.random.default_rng(self.seed))
        exponent = int(np.ceil(np.log2(self.count)))
        # The points are balanced in powers of two; scrambled ones avoid the ends of the ranges.
        return points.random_base2(exponent)[: self.count]


def problem_of(dimensions: int) -> dict[str, Any]:
    """The unit cube in SALib's format."""
    names = [f"u{i}" for i in range(dimensions)]
    return {"num_vars": dimensions, "names": names, "bounds": [[0.0, 1.0]] * dimensions}


@misfits_named
def grid() -> Sample:
    """Every combination of the values of all quantities."""
    return Sample("grid")


@misfits_named
def sobol(number: int, *, seed: int = 0, indices: bool = False) -> Sample:
    """Scrambled Sobol points, which fill ranges and distributions evenly.

    Args:
        number: of points; powers of two are balanced, and indices need one.
        seed: of the scrambling.
        indices: points for Sobol indices (`Sweep.sobol_indices`), `number · (quantities + 2)`
            cases; needs the extra `sweep`.
    Reference: Saltelli et al. (2010), Computer Physics Communications 181, 259-270.
    """
    found = count(number, "sobol: number", least=1, most=MOST_CASES)
    indices = flag(indices, "sobol: indices")
    if indices and found & (found - 1):
        near = 1 << found.bit_length()
        raise ModelError(
            f"sobol: points for Sobol indices are balanced in powers of 2 alone, got {found}; take "
            f"{near // 2} or {near}."
        )
    return Sample("sobol", found, count(seed, "sobol: seed"), indices)


@misfits_named
def draws(number: int, *, seed: int = 0) -> Sample:
    """Independent random cases, as for rates with confidence intervals.

    Args:
        number: of cases.
        seed: of the random numbers.
    """
    found = count(number, "draws: number", least=1, most=MOST_CASES)
    return Sample("draws", found, count(seed, "draws: seed"))


KINDS = {
    "grid": lambda number, seed: grid(),
    "sobol": lambda number, seed: sobol(number, seed=seed),
    "sobol-indices": lambda number, seed: sobol(number, seed=seed, indices=True),
    "draws": lambda number, seed: draws(number, seed=seed),
}
"""Samples by their names on the command line: `grid`, `sobol:4096`, `draws:1000`."""
