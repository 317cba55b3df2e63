"""Modes of a linearization: frequencies, damping, shapes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import PyTree

from zwang.algebra.decomposition import solve_square
from zwang.algebra.spectrum import eigenvectors
from zwang.analysis.result import AbstractResult, dataset_of, table
from zwang.errors import ModelError
from zwang.inputs.arguments import count
from zwang.plots.script import opens_in_scripts
from zwang.thresholds import AGREEMENT, DERIVED, SOLUTION_ERROR

if TYPE_CHECKING:
    import xarray as xr

    from zwang.analysis.linearize import Linearization
    from zwang.plots import Picture


@dataclasses.dataclass(frozen=True, eq=False)
class Mode:
    """One real eigenvalue, or a pair of conjugate ones.

    Attributes:
        eigenvalue: [1/s], the one with a positive imaginary part.
        frequency: `|λ|`/2π of an oscillation [Hz], 0 of a real eigenvalue.
        damping: −Re λ/`|λ|`; 1 for a decaying real mode, −1 for a growing one, 0 if λ = 0.
        shape: amplitudes of the coordinates, complex, shape (nq,); the largest entry is 1.
        shape_v: amplitudes of the velocities, on the same scale, shape (nv,).
        names: coordinates that move most, the largest first.
    """

    eigenvalue: complex
    frequency: float
    damping: float
    shape: np.ndarray
    shape_v: np.ndarray
    names: tuple[str, ...]

    def __repr__(self) -> str:
        most = ", ".join(self.names)
        value = f"{self.eigenvalue + 0.0:.6g} 1/s, {self.frequency:.6g} Hz"
        return f"Mode({self.kind}, {value}, moves most {most})"

    @property
    def kind(self) -> str:
        """In words: "oscillates", "decays", "grows", "free"."""
        real = self.eigenvalue.real
        if self.eigenvalue == 0:
            return "free"
        if self.eigenvalue.imag == 0:
            return "grows" if real > 0 else "decays"
        # an eigenvalue below this fraction of the largest counts as zero (a free motion, or a
        # family of steady motions); round-off changes a double zero to 1e-8
        tiny = abs(real) <= DERIVED * abs(self.eigenvalue)
        return "oscillates" if tiny else f"oscillates, {'grows' if real > 0 else 'decays'}"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Modes(AbstractResult):
    """Modes of a linearization, slowest first; `str()` prints them.

    Attributes:
        linearization: the linearization that they belong to.
        members: the modes.
    """

    linearization: Linearization
    members: tuple[Mode, ...]

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[Mode]:
        return iter(self.members)

    def __getitem__(self, i: int) -> Mode:
        return self.members[i]

    @property
    def frequencies(self) -> np.ndarray:
        """Frequencies of all modes [Hz]; 0 for real ones."""
        return np.array([mode.frequency for mode in self.members])

    def eigenvalues(self, params: PyTree, v: ArrayLike | None = None) -> Array:
        """The eigenvalues as a function of parameters, in the order of the modes, complex; inside
        `jax.grad` (of a real function of them) and `jit`.

        The equilibrium or the steady motion changes with the parameters. Value and first
        derivatives are exact at the parameters of this result; an eigenvalue of zero stays zero.

        Args:
            params: as in `zw.analysis.linearize`.
            v: velocities of the steady motion, shape (nv,); the eigenvalues can be differentiated
                by them as well. By default the rates of its symmetries stay the same, as far as the
                balance of forces permits.

        Raises:
            ModelError: for a moving state, or a multiple eigenvalue.
        """
        from zwang.analysis.linear_sensitivity import eigenvalues_at

        return eigenvalues_at(self.linearization, self.members, params, v)

    @property
    def damping(self) -> np.ndarray:
        return np.array([mode.damping for mode in self.members])

    @property
    def dataset(self) -> xr.Dataset:
        """Eigenvalues, frequencies, damping and shapes."""
        at = self.linearization
        values = np.array([mode.eigenvalue for mode in self.members], complex)
        shapes = np.array([mode.shape for mode in self.members]).reshape(
            len(self), at.model.system.nq
        )
        return dataset_of(
            at.model,
            {
                "eigenvalue_real": ("mode", np.real(values), {"units": "1/s"}),
                "eigenvalue_imaginary": ("mode", np.imag(values), {"units": "1/s"}),
                "frequency": ("mode", self.frequencies, {"units": "Hz"}),
                "damping": ("mode", self.damping, {"units": "1"}),
                "shape_real": (("mode", "coordinate"), np.real(shapes)),
                "shape_imaginary": (("mode", "coordinate"), np.imag(shapes)),
            },
            {"mode": np.arange(len(self))},
            kind=at.kind,
        )

    @opens_in_scripts
    def plot(self) -> Picture:
        """The eigenvalues in the complex plane."""
        return self.linearization.plot()

    def motion(self, mode: int, times, amplitude: float = 0.1) -> np.ndarray:
        """Coordinates along one mode, without growth or decay, shape (samples, nq).

        Args:
            mode: index of the mode.
            times: in periods of the mode; for a real mode, of a slow oscillation along its shape.
            amplitude: of the coordinate that moves most, in its own unit.
        """
        which = count(mode, "mode")
        if which >= len(self):
            raise ModelError(f"mode is {which}, but there are {len(self)} modes, from 0 on.")
        phase = np.exp(2j * np.pi * np.asarray(times, float))
        moved = np.real(phase[:, None] * self.members[which].shape)
        return self.linearization.q + amplitude * moved

    def __str__(self) -> str:
        head = ("mode", "eigenvalue [1/s]", "frequency [Hz]", "damping", "kind", "moves most")
        rows: list[tuple[str, ...]] = [head]
        rounded = lambda x: 0.0 if abs(x) < SOLUTION_ERROR else x
        for i, mode in enumerate(self.members):
            x = mode.eigenvalue
            real = 0.0 if abs(x.real) < SOLUTION_ERROR * abs(x) else x.real
            shown = f"{real:+.6g}" + (f" ± {x.imag:.6g}i" if x.imag else "")
            cells = ("0" if x == 0 else shown, f"{mode.frequency:.6g}" if x.imag else "–")
            named = ", ".join(mode.names[:4]) + (" …" if len(mode.names) > 4 else "")
            rows.append((str(i), *cells, f"{rounded(mode.damping):+.4g}", mode.kind, named))
        lines, at = list(table(rows)), self.linearization
        if at.kind == "steady motion" and at.neutral.shape[1]:
            k = at.neutral.shape[1]
            along = f"{k} symmetr{'y' if k == 1 else 'ies'}"
            lines.append(f"  and {along}, along which nothing changes")
        return "\n".join(lines)


def modes(linear: Linearization) -> Modes:
    """Modes of A, the slowest first; for a steady motion without the symmetries."""
    if not len(linear.A):
        return Modes(linear, ())
    values, vectors = _eigenvectors(linear)
    size, nv = np.max(np.abs(values), initial=0.0), linear.model.system.nv
    made = []
    for value, z in zip(values, vectors.T, strict=True):
        # round-off may turn a double zero into a conjugate pair, which still counts as two modes
        value = 0j if abs(value) <= DERIVED * size else complex(value)
        if value.imag < 0:
            continue
        velocity = (linear.basis @ z)[nv:]
        made.append(_mode(linear, value, linear.basis_q @ z, velocity))
    order = np.lexsort(
        ([m.eigenvalue.real for m in made], [round(abs(m.eigenvalue), 9) for m in made])
    )
    return Modes(linear, tuple(made[i] for i in order))


def _eigenvectors(linear: Linearization) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors of A. In a steady motion they are computed across the
    symmetries, because the multiple zeros of the symmetries would have only half the digits.
    """
    if linear.kind != "steady motion":
        values, _, vectors = eigenvectors(linear.A)
        return values, vectors
    R, along = linear.across, linear.neutral
    values, _, short = eigenvectors(R.T @ linear.A @ R)
    size, full = np.max(np.abs(values), initial=0.0), []
    inside = along.T @ linear.A @ along
    for value, y in zip(values, short.T, strict=True):
        z = R @ y.astype(complex)
        if abs(value) > DERIVED * size:  # the component of the mode along the symmetries
            turn = value * np.eye(len(inside)) - inside
            z = z + along @ solve_square(turn, along.T @ linear.A @ z)
        full.append(z)
    return values, np.array(full).reshape(-1, len(linear.A)).T


def _mode(linear: Linearization, value: complex, q: np.ndarray, v: np.ndarray) -> Mode:
    system = linear.model.system
    at_rest = np.max(np.abs(q), initial=0.0) <= AGREEMENT * np.max(np.abs(v), initial=0.0)
    largest = (v if at_rest else q)[np.argmax(np.abs(v if at_rest else q))]
    q, v = q / largest, v / largest
    size = np.abs(v if at_rest else q)
    names = system.velocities if at_rest else system.coordinates
    # coordinates with at least 0.3 of the largest amplitude are named
    named = [i for i in np.argsort(-size.round(6), kind="stable") if size[i] >= 0.3]
    damping = 0.0 if value == 0 else -value.real / abs(value) + 0.0
    return Mode(
        value,
        abs(value) / (2 * np.pi) if value.imag else 0.0,
        float(damping),
        q,
        v,
        tuple(names[i] for i in named),
    )
