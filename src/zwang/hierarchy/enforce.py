"""Computation of the motion at one instant, level by level: `zw.enforce` and `zw.impose`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from zwang.algebra.mass_matrix import DiagonalMass, factor_mass
from zwang.compile import model_program
from zwang.dynamics import functions
from zwang.dynamics.model import Model
from zwang.equations.constraint import AbstractConstraint, Constraints
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.hierarchy.level_selection import Rows, chosen_levels, owners, root_of, roots_of
from zwang.hierarchy.recursion import Weights, step
from zwang.hierarchy.rough_levels import with_nonideal
from zwang.hierarchy.tree_layout import assembly_of
from zwang.inputs.arguments import flag, instance, mapping
from zwang.inputs.arrays import is_concrete
from zwang.inputs.call import misfits_named
from zwang.objects.record import Record, field
from zwang.thresholds import ACCEPTED_VIOLATION


class Enforced(Record):
    """Motion at one instant with constraints enforced up to one level. Every member is an array, or
    an `Enforced` for the level below.

    Attributes:
        acceleration: v̇ of this level, shape (nv,); NaN if M is singular and the constraints up to
            this level do not determine v̇.
        constraint_force: force of the constraints of this level and those below [N, N·m …], shape
            (nv,).
        level_force: contribution of this level to `constraint_force`.
        rank: number of rows of this level that are independent of those below; `total_rank`:
            including those below.
        matrix, rhs: Ã and b̃ of this level alone, shapes (rows, nv) and (rows,).
        missed: residual `b̃ − Ã v̇`, shape (rows,), due to contradictions with lower levels or to
            clearance.
        gave_way: mask of the rows whose residual exceeds round-off.
        below: the level below, which needs no computation; None before the first level.
        names: the constraints of this level.
    """

    acceleration: Float[Array, " nv"]
    rank: Int[Array, ""]
    total_rank: Int[Array, ""]
    matrix: Float[Array, "rows nv"]
    rhs: Float[Array, " rows"]
    missed: Float[Array, " rows"]
    gave_way: Bool[Array, " rows"]
    below: Enforced | None
    names: tuple[str, ...] = field(static=True)
    row_slices: tuple[tuple[int, int], ...] = field(static=True)
    soft: bool = field(static=True)
    _constraints: tuple[AbstractConstraint, ...]
    _a: Float[Array, " nv"]
    _spread: Float[Array, "nv k"]
    _gain: Float[Array, "nv rows"]
    _instant: _Instant

    @property
    def levels(self) -> tuple[Enforced, ...]:
        """This level and all below it, lowest first."""
        return () if self.below is None else (*self.below.levels, self)

    @property
    def constraint_force(self) -> Float[Array, " nv"]:
        w = self._instant.weights
        return w.apply(self.acceleration) - w.force

    @property
    def level_force(self) -> Float[Array, " nv"]:
        assert self.below is not None
        return self._instant.weights.apply(self.acceleration - self.below.acceleration)

    @property
    def projector(self) -> Float[Array, "nv nv"]:
        """P of (4.15) in mass-weighted coordinates; with clearances the covariance (4.18) in these
        coordinates.
        """
        return self._spread @ self._spread.T if self.soft else self._spread

    @property
    def covariance(self) -> Float[Array, "nv nv"]:
        """`W P Wᵀ`, remaining covariance of v̇, shape (nv, nv); M⁻¹ for a free system."""
        if self._instant.weights.singular:
            raise ModelError(
                "the covariance of the acceleration needs a positive definite mass matrix: with "
                "M⁻¹ it begins."
            )
        unweigh = self._instant.weights.mass.unweigh
        WP = jax.vmap(unweigh, in_axes=1, out_axes=1)(self._spread)
        return WP @ WP.T

    @property
    def inverse(self) -> Float[Array, "nv m"]:
        """{1,4}-inverse of H = A W for the rows of all levels, lowest first (Corollary 3.4); the
        Moore-Penrose inverse if the rows are independent.
        """
        if self.below is None:
            return jnp.zeros((len(self._a), 0))
        if self.soft:
            raise ModelError(
                "a generalized inverse of the constraint matrix exists for rigid rows only: "
                "enforce without clearance."
            )
        H, lower = self._instant.weights.mass.weigh(self.matrix), self.below.inverse
        return jnp.concatenate([lower - self._gain @ (H @ lower), self._gain], axis=1)

    @property
    def multipliers(self) -> Float[Array, " m"]:
        """λ with `constraint_force = Aᵀλ` for ideal constraints, rows of all levels, lowest first;
        dependent rows get theirs last.
        """
        w = self._instant.weights
        ideal = w.acceleration(self._a, self._spread, len(self._a) - self.total_rank)
        return self.inverse.T @ w.pulled(w.apply(ideal) - w.force)

    @property
    def conflicts(self) -> dict[str, float]:
        """Constraints that contradict lower levels, with the largest `|b̃ − Ã v̇|` of their rows;
        not available inside `jit`.
        """
        found = {}
        for level in self.levels:
            for name, (i, j) in zip(level.names, level.row_slices, strict=True):
                if not level.soft and np.any(np.asarray(level.gave_way)[i:j]):
                    found[name] = float(np.max(np.abs(np.asarray(level.missed)[i:j])))
        return found

    def __str__(self) -> str:
        nv, lines, conflicts = (
            len(self.acceleration),
            [("level", "rows", "rank", "free", "constraints")],
            self.conflicts,
        )
        for r, level in enumerate(self.levels, start=1):
            listed = ", ".join(
                n + (f" (gave way, |b − A v̇| = {conflicts[n]:.3g})" if n in conflicts else "")
                for n in level.names
            )
            lines.append(
                (
                    str(r),
                    str(len(level.rhs)),
                    str(int(level.rank)),
                    str(nv - int(level.total_rank)),
                    listed or "–",
                )
            )
        widths = [max(len(row[i]) for row in lines) for i in range(4)]
        return "\n".join(
            "  ".join([*(c.rjust(w) for c, w in zip(row, widths, strict=False)), row[4]])
            for row in lines
        )

    __repr__ = __str__


class _Whole:
    """Static container of the model and its names, hashed by identity: the names of a system are
    thousands of leaves, and flattening them would cost more than a level.
    """

    def __init__(self, model: Model):
        self.system, self.constraints = model.system, model.constraints
        self.assembly = assembly_of(model)

    def __hash__(self):
        return id(self.constraints)

    def __eq__(self, other):
        return (
            isinstance(other, _Whole)
            and self.constraints is other.constraints
            and self.assembly is other.assembly
        )


class _Instant(Record):
    """State, model and names; `impose` needs the names for constraints that use them."""

    weights: Weights
    state: State
    p: PyTree
    whole: _Whole


@misfits_named
def enforce(
    model: Model,
    q,
    v,
    t=0.0,
    *,
    levels: Sequence[Sequence[str]] | None = None,
    clearance: Mapping[str, Any] | None = None,
    params: PyTree = None,
    throw: bool = True,
) -> Enforced:
    """Compute the motion of a model at one state with constraints enforced level by level.

        K = (H̃P)⁺,   a ← a + K (b̃ − H̃ a),   P ← (I − K H̃) P   recursive paper (4.14)-(4.16)

    The top level has the acceleration of `zw.motion` if the constraints are consistent. Otherwise
    lower levels are satisfied exactly and higher levels in the least-squares sense; `conflicts`
    lists these.

    Args:
        model: the model, a `zw.Hierarchy` or any other.
        q, v, t: the state, which is not projected.
        levels: names of constraints, level by level, lowest first. The default is the levels of the
            hierarchy, or one level for each constraint of another model. Constraints that are not
            named are not enforced.
        clearance: by name of constraint, the covariance R of its right-hand side [unit of b̃,
            squared]: a number, one per row, or a matrix. R is a compliance: the result is that of
            `(M + AᵀR⁻¹A) v̇ = F + AᵀR⁻¹b`, rigid for R → 0 and free for R → ∞.
        params: parameters that differ from the model's.
        throw: raise an error if the acceleration is not finite. Inside `jit`, `vmap` and `grad` no
            error is raised.

    Returns:
        The top level; `.levels` contains all levels, lowest first, `.below` is the next lower one.

    Raises:
        ModelError: for names that do not exist or repeat, a mass matrix that is not positive
            definite and not declared singular, or a direction without mass that no constraint
            restricts.

    Reference: Orsino (2017), Proc. R. Soc. A 473, section 4.

    Example:
        >>> top = zw.enforce(model, q, v)
        >>> [level.rank for level in top.levels], top.conflicts
    """
    instance(model, Model, "enforce: model", "a zw.Model or a zw.Hierarchy")
    chosen = chosen_levels(model, levels)
    clearance = {} if clearance is None else mapping(clearance, "clearance", "name -> R")
    roots = roots_of(model, chosen, clearance)
    names = [n for level in chosen for n in level]
    nonideal = any(c.nonideal is not None for c in owners(model.constraints.members, names))
    if nonideal and any(root is not None for root in roots):
        raise ModelError(
            f"{model.name}: clearances are for ideal constraints; a nonideal force depends on a "
            "force that they blur."
        )
    if model.servo is not None:
        raise ModelError(
            f"{model.name}: enforce takes passive constraints; give it model.passive, or the "
            "servo constraints by zw.impose."
        )
    state = model.state(q, v, t)
    p = model.parameters(params)
    top = _enforce(_Whole(model), p, state, chosen, roots, model.singular_mass)
    known = is_concrete(top.acceleration)
    if flag(throw, "throw") and known and not np.all(np.isfinite(top.acceleration)):
        raise ModelError(
            f"{model.name}: the acceleration is not finite: the mass matrix is not positive "
            "definite, and "
            + (
                "a direction without mass is free"
                if model.singular_mass
                else "the model has no singular_mass=True"
            )
            + ", or a function returns NaN at this state."
        )
    return top


@misfits_named
def impose(enforced: Enforced, constraint: AbstractConstraint, *, clearance=None) -> Enforced:
    """Enforce one more constraint as a new level of a solved instant, reusing the lower levels.

    `.below` removes it again. At 300 coordinates it costs less than a tenth of a new solution
    (`make bench`).

    Args:
        enforced: result of `zw.enforce` or `impose`.
        constraint: constraint of any kind; for a hierarchy its functions access q, v and p by name.
        clearance: R of the constraint, as in `zw.enforce`.

    Raises:
        ModelError: if its name is in use, or its function fails for the shapes of the model.

    Example:
        >>> held = zw.impose(top, zw.Holonomic(lambda q, t, p: q["platform.x"], name="brake"))
        >>> held.conflicts, held.below is top
    """
    instance(enforced, Enforced, "impose: enforced", "what zw.enforce(model, q, v) returns")
    instance(constraint, AbstractConstraint, "impose: constraint", "a zw.Holonomic or another one")
    if any(constraint.name in level.names for level in enforced.levels):
        raise ModelError(
            f"constraint name {constraint.name!r} is in use; give the new one its own name=."
        )
    if clearance is not None and any(
        c.nonideal is not None for x in enforced.levels for c in x._constraints
    ):
        raise ModelError(
            "clearances are for ideal constraints; a nonideal force depends on a force that "
            "they blur."
        )
    added = _impose(
        enforced._instant,
        enforced._a,
        enforced._spread,
        enforced.total_rank,
        constraint,
        clearance,
        enforced.soft,
    )
    if constraint.nonideal is None and not any(
        c.nonideal is not None for level in enforced.levels for c in level._constraints
    ):
        return _on(enforced, added)
    return with_nonideal(_on(enforced, added))


def _on(below: Enforced, top: Enforced) -> Enforced:
    """Return a level whose `below` is the same object as the given level."""
    new = object.__new__(Enforced)
    for name, value in vars(top).items():
        object.__setattr__(new, name, value)
    object.__setattr__(new, "below", below)
    return new


@model_program
def _enforce(whole: _Whole, p, state: State, chosen, roots, singular: bool) -> Enforced:
    system = whole.system
    mass = factor_mass(functions.mass_matrix(system, state.q, state.t, p))
    force = functions.force(system, state.q, state.v, state.t, p)
    # if M may be singular, coordinates are not weighted, that is weighted by unit masses
    alone = DiagonalMass(jnp.ones(len(force), force.dtype))
    weights = Weights(alone, mass.dense(), force) if singular else Weights(mass, None, force)
    a, spread = weights.begin()
    zero = jnp.zeros((), int)
    nothing = jnp.zeros((0,))
    free = weights.acceleration(a, spread, len(a))
    instant = _Instant(weights, state, p, whole)
    level = Enforced(
        free,
        zero,
        zero,
        jnp.zeros((0, len(a))),
        nothing,
        nothing,
        nothing > 0,
        None,
        (),
        (),
        False,
        (),
        a,
        spread,
        jnp.zeros((len(a), 0)),
        instant,
    )
    rows = Rows.of(whole.constraints, state, p)
    for names, root in zip(chosen, roots, strict=True):
        level = with_nonideal(
            _level(
                level,
                instant,
                level._a,
                level._spread,
                level.total_rank,
                rows.of_level(names),
                root,
                level.soft,
            )
        )
    return level


@model_program
def _impose(
    instant: _Instant, a, spread, total_rank, constraint, clearance, soft: bool
) -> Enforced:
    assembly, s = instant.whole.assembly, instant.state
    added = Constraints(
        (constraint if assembly is None else assembly.constraint(constraint),),
        instant.whole.system,
        instant.p,
    )
    root = None if clearance is None else root_of(clearance, added.m, constraint.name)
    return _level(None, instant, a, spread, total_rank, Rows.of(added, s, instant.p), root, soft)


def _level(
    below, instant: _Instant, a, spread, total_rank, rows: Rows, root, soft: bool
) -> Enforced:
    done = step(
        instant.weights, a, spread, rows.A, rows.b, root, ACCEPTED_VIOLATION, projector=not soft
    )
    rank = total_rank + done.rank
    acceleration = instant.weights.acceleration(done.a, done.spread, len(a) - rank)
    return Enforced(
        acceleration,
        done.rank,
        rank,
        rows.A,
        rows.b,
        done.missed,
        done.gave_way,
        below,
        rows.names,
        rows.slices,
        soft or root is not None,
        rows.constraints,
        done.a,
        done.spread,
        done.gain,
        instant,
    )
