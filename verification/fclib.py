"""One-step problems of contacts with Coulomb's friction in space, which the Siconos team publishes
with their solvers (`numerics/src/FrictionContact/test/data` of siconos/siconos, Apache-2.0), some
of them of FCLIB: `W r + q` against r in cones, by `zwang.algebra.cone_complementarity`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from verification.line import FAILED, Line, judged
from zwang.algebra.cone_complementarity import Disk, frictional

SUITE = "FCLIB, problems of Siconos' tests"
COMMAND = "python -m verification fclib --data siconos"
FOLDER = Path("numerics/src/FrictionContact/test/data")
MOST_CONTACTS = 300
"""Contacts of a problem beyond which it is left out: it would take minutes as a dense one."""
ALLOWED = 1e-12
"""Natural residual that counts as solved, relative to the length of q."""


class Problem(NamedTuple):
    """W, q and μ of each contact; rows are normal, first and second tangent, contact by contact."""

    W: np.ndarray
    q: np.ndarray
    mu: np.ndarray


def lines(data: Path) -> list[Line]:
    return list(_lines(data / FOLDER))


def _lines(folder: Path) -> Iterator[Line]:
    for path in sorted(folder.iterdir()):
        if (problem := read(path)) is None or len(problem.mu) > MOST_CONTACTS:
            continue
        r = solved(problem)
        left = natural_residual(problem, r) if r is not None else np.nan
        yield Line(
            SUITE,
            path.name,
            f"{len(problem.mu)} contacts, rank {np.linalg.matrix_rank(problem.W)}",
            "",
            "",
            float(left),
            ALLOWED,
            judged(left, ALLOWED) if r is not None else FAILED,
            "" if r is not None else "no start of Newton's method ends",
            COMMAND,
        )


def solved(problem: Problem) -> np.ndarray | None:
    """r, with the rows brought to unit length as a run does."""
    n = len(problem.mu)
    order = np.concatenate([3 * np.arange(n), (3 * np.arange(n)[:, None] + [1, 2]).ravel()])
    size = np.sqrt(np.diag(problem.W))[order]
    size[n:] = np.repeat(np.max(size[n:].reshape(n, 2), axis=1), 2)
    unit = 1 / size
    D = unit[:, None] * problem.W[np.ix_(order, order)] * unit
    disks = [
        Disk(n + 2 * k + np.arange(2), k, float(mu * unit[k] / unit[n + 2 * k]), 0.0)
        for k, mu in enumerate(problem.mu)
    ]
    z = frictional(D, unit * problem.q[order], n, disks)
    if z is None:
        return None
    r = np.zeros(3 * n)
    r[order] = unit * z
    return r


def natural_residual(problem: Problem, r: np.ndarray) -> float:
    """‖r − P(r − (u + μ |u_t| n))‖ / ‖q‖, P onto the cones of Coulomb; in extended precision, as r
    may be so much larger than u that the difference rounds off more than a solution leaves.
    """
    mu, W, q, r = (np.asarray(x, np.longdouble) for x in (problem.mu, problem.W, problem.q, r))
    u = (W @ r + q).reshape(-1, 3)
    y = r.reshape(-1, 3) - u
    y[:, 0] -= mu * np.linalg.norm(u[:, 1:], axis=1)
    rubs = np.linalg.norm(y[:, 1:], axis=1)
    onto = np.where((mu * rubs <= -y[:, 0])[:, None], 0.0, y)
    rim = (rubs > mu * y[:, 0]) & (mu * rubs > -y[:, 0])
    push = (y[rim, 0] + mu[rim] * rubs[rim]) / (1 + mu[rim] ** 2)
    onto[rim, 0] = push
    onto[rim, 1:] = y[rim, 1:] * (mu[rim] * push / rubs[rim])[:, None]
    return float(np.linalg.norm(r - onto.ravel()) / np.linalg.norm(q))


def read(path: Path) -> Problem | None:
    """A problem in space that is given by W; None of any other file."""
    if path.suffix == ".hdf5":
        return _of_hdf5(path)
    try:
        numbers = np.array(path.read_text().split(), float)
    except ValueError:
        return None
    if len(numbers) < 5 or numbers[0] != 3 or numbers[2] not in (0, 1):
        return None
    contacts, stored, rows = numbers[1:4].astype(int)
    if rows != 3 * contacts:
        return None  # with M and H in place of W
    rest = _Numbers(numbers[5:])
    W = _of_blocks(rest, rows) if stored else rest.take(2 + rows**2)[2:].reshape(rows, rows)
    return Problem(W, rest.take(rows), rest.take(contacts))


class _Numbers:
    """Numbers that are read one after another."""

    def __init__(self, numbers: np.ndarray):
        self.numbers, self.at = numbers, 0

    def take(self, count: int) -> np.ndarray:
        self.at += count
        return self.numbers[self.at - count : self.at]


def _of_blocks(rest: _Numbers, rows: int) -> np.ndarray:
    """W from blocks in compressed rows, each with its number before it and column by column."""
    integers = lambda count: rest.take(count).astype(int)
    _, down, across = integers(3)
    top, left = np.append(0, integers(down)), np.append(0, integers(across))
    counts = integers(2)
    first, column = integers(counts[0]), integers(counts[1])
    W = np.zeros((rows, rows))
    for i in range(down):
        for j in column[first[i] : first[i + 1]]:
            shape = left[j + 1] - left[j], top[i + 1] - top[i]
            block = rest.take(1 + shape[0] * shape[1])[1:].reshape(shape).T
            W[top[i] : top[i + 1], left[j] : left[j + 1]] = block
    return W


def _of_hdf5(path: Path) -> Problem | None:
    import h5py
    from scipy.sparse import coo_array, csc_array, csr_array

    with h5py.File(path) as file:
        if "fclib_local" not in file:
            return None
        W, vectors = file["fclib_local/W"], file["fclib_local/vectors"]
        m, n, kind = (int(np.ravel(W[name][()])[0]) for name in ("m", "n", "nz"))
        i, p, x = (W[name][()] for name in "ipx")
        if kind == -1:
            matrix = csc_array((x, i, p), shape=(m, n))
        elif kind == -2:
            matrix = csr_array((x, i, p), shape=(m, n))
        else:
            matrix = coo_array((x, (i, p)), shape=(m, n))
        return Problem(matrix.toarray(), vectors["q"][()], vectors["mu"][()])
