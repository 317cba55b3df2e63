"""Acceleration of a hierarchy from one factor per module and one factor of the joint rows.

    modules   a_i = M_i⁻¹F_i + A_i⊕ (b_i − A_i M_i⁻¹F_i),   T_i = (I − A_i⊕A_i) W_i
    joints    v̇ = a + T (J T)⁺ (b̃ − J a)

It needs one small factor per module, computed by `vmap`, and one factor of the joint rows.

A module acts on the joints as a body with the mobility T_i T_iᵀ in place of M_i⁻¹. This is
(4.14)-(4.16) with the levels within the modules first and the level that joins them last; the flat
model factors all rows at once. If each joint row involves few modules, J T has few entries per row
and its factor is sparse (`zwang.algebra.elimination`).
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from zwang.algebra.elimination.elimination import plan
from zwang.algebra.elimination.matrix import Layout, SparseMatrix
from zwang.algebra.elimination.probing import detect
from zwang.algebra.gauss import Gauss, constrained_acceleration
from zwang.algebra.judgement import relative_residual
from zwang.algebra.mass_matrix import DiagonalMass, factor_mass
from zwang.algebra.pseudoinverse import Proximal
from zwang.algebra.pseudoinverse.sparse import Sparse
from zwang.algebra.sparsity_pattern import colors
from zwang.compile import model_program
from zwang.dynamics import functions
from zwang.dynamics.model import Model
from zwang.dynamics.sparse_structure import Sparsity, Structure, fewest_sparse_rows
from zwang.equations.constraint import Constraints
from zwang.errors import ModelError, Result
from zwang.hierarchy.instances import Instances, merged, taken
from zwang.hierarchy.replicated_constraint import ReplicatedConstraint
from zwang.hierarchy.tree_layout import assembly_of
from zwang.inputs.arrays import is_concrete
from zwang.objects.record import Record
from zwang.thresholds import ACCEPTED_VIOLATION, AGREEMENT

PASSES = 2
"""Number of corrections of the residuals of modules and joints: a may be 10⁵ times as large as v̇,
so the first correction leaves the round-off of a, and the second that of v̇.
"""


@dataclasses.dataclass(frozen=True, eq=False)
class Block:
    """Modules of one kind, each evaluated as a separate model."""

    model: Model
    tag: object
    instances: Instances

    @property
    def kind(self):
        return self.tag

    def at(self, instances: Instances) -> Block:
        return Block(self.model, self.tag, instances)


class Modular:
    """Hierarchy prepared for `acceleration`, with its kinds of modules and the modules that each
    joint row involves.

    Args:
        model: result of `zw.Hierarchy`, with ideal constraints and a positive definite mass matrix.

    Raises:
        ModelError: for any other model.
    """

    def __init__(self, model: Model):
        assembly = assembly_of(model)
        if assembly is None or model.singular_mass or model.servo is not None:
            raise ModelError(
                f"{model.name}: expected a zw.Hierarchy without a servo and with a positive "
                "definite mass matrix."
            )
        if any(c.nonideal is not None for c in model.constraints.members):
            raise ModelError(
                f"{model.name}: expected ideal constraints; use zw.motion for nonideal ones."
            )
        place = lambda node: Instances.whole(node.model.params).moved(
            node.path, node.q.start, node.v.start
        )
        self.model = model
        self.blocks = merged(
            Block(node.model, node.kind, place(node))
            for node in assembly.top.modules
            if node.model.system.nv
        )
        # constraints of the modules are in the factors of the modules; the others join modules
        own = [c for c in model.constraints.members if not isinstance(c, ReplicatedConstraint)]
        self.joints = Constraints(own, model.system, model.parameters())
        self.pattern = _pattern(self)

    def acceleration(self, q, v, t=0.0, *, params: PyTree = None) -> Float[Array, " nv"]:
        """Return v̇, shape (nv,), also inside `jit`, `vmap` and `grad`, where it is NaN if
        constraints contradict each other.

        Raises:
            ModelError: for contradictory constraints, or a joint row that involves a module that
                was not found in the preparation.
        """
        p = self.model.parameters(params)
        s = self.model.state(q, v, t)
        answer, missed = _acceleration(_Fixed(self), s.q, s.v, s.t, p)
        if is_concrete(answer) and not np.all(np.isfinite(answer)):
            result = Result.INCONSISTENT if missed <= AGREEMENT else Result.OUTSIDE_STRUCTURE
            raise ModelError(f"{self.model.name}: {result.sentence}.")
        return answer


class _Fixed:
    """Static part of a program, hashed by identity."""

    def __init__(self, modular: Modular):
        self.modular = modular

    def __hash__(self):
        return id(self.modular)

    def __eq__(self, other):
        return isinstance(other, _Fixed) and self.modular is other.modular


@model_program
def _acceleration(fixed: _Fixed, q, v, t, p):
    x = fixed.modular
    F, nothing = functions.force(x.model.system, q, v, t, p), jnp.zeros(())
    a, tangents, own = jnp.zeros(len(v)), [], []
    for block in x.blocks:
        at_q, at_v = block.instances.q(block.model.system), block.instances.v(block.model.system)
        alone = lambda q, v, F, p, model=block.model: _module(model, q, v, t, F, p)
        given = taken(q, at_q), taken(v, at_v), taken(F, at_v)
        free, T, back, rows = block.instances.each(alone, p, *given)
        # modules do not share velocities, so entries are set and not added
        a, tangents = a.at[at_v].set(free), [*tangents, (at_v, T)]
        own += [(at_v, back, *rows)] if block.model.constraints.m else []
    if not x.joints.m:
        return a, nothing
    b = x.joints.rhs(q, v, t, p)
    # T contains the mobility already: in these coordinates the mass is the identity
    unit = DiagonalMass(jnp.ones(len(v)))
    if x.pattern is None:
        J, missed = x.joints.matrix(q, v, t, p), nothing
        JT = jnp.zeros_like(J)
        for at_v, T in tangents:
            JT = JT.at[:, at_v].set(jnp.einsum("rin,ink->rik", J[:, at_v], T))
        gauss = Gauss(unit, JT, Proximal())
    else:
        product = x.joints.product(q, v, t, p)
        J = x.pattern.structure.layout.evaluate(product)
        # the pattern was found at a few states; entries that appear elsewhere are detected
        missed = x.pattern.structure.outside(J, product)
        method, rows = Sparse().suited(len(b)).sweeps, x.pattern.times(J, tangents)
        gauss = Gauss(unit, rows, method, plan=x.pattern.structure.plan)

    def corrected(_, y):
        for at_v, back, A_i, b_i in own:
            off = b_i - jnp.einsum("irn,in->ir", A_i, y[at_v])
            y = y.at[at_v].add(jnp.einsum("inr,ir->in", back, off))
        moved = gauss.correct(b - J @ y)
        for at_v, T in tangents:
            y = y.at[at_v].add(jnp.einsum("ink,ik->in", T, moved[at_v]))
        return y

    moved = jax.lax.fori_loop(0, PASSES, corrected, a)
    # the residual is compared with its terms, because a may be much larger than v̇
    terms = jnp.abs(b) + abs(J) @ (jnp.abs(a) + jnp.abs(moved))
    met = relative_residual(jnp, J @ moved - b, terms, gauss.units()) <= ACCEPTED_VIOLATION
    return jnp.where(met & (missed <= AGREEMENT), moved, jnp.nan), missed


def _module(model: Model, q, v, t, F, p):
    """Return a and T of one module with its constraints, A_i⊕ as a matrix, and A_i and b_i."""
    mass = factor_mass(functions.mass_matrix(model.system, q, t, p))
    rows = model.constraints
    A, b = rows.matrix(q, v, t, p), rows.rhs(q, v, t, p)
    gauss = Gauss(mass, A, Proximal())
    a = constrained_acceleration(mass.solve(F), gauss, b)
    T = jax.vmap(lambda y: gauss.tangent(mass.unweigh(y)), out_axes=1)(jnp.eye(len(F)))
    return a, T, jax.vmap(gauss.correct, out_axes=1)(jnp.eye(rows.m)), (A, b)


class _Pattern(Record):
    """Structural nonzeros of `J T`: all velocities of every module that a row involves.

    Attributes:
        structure: structure of J and of J T, one column at a time.
        present: whether a row has an entry of a color, shape (colors, m).
        source: colors of the columns of the module of each entry, shape (largest number of
            velocities, colors, m); one past the last for modules with fewer velocities.
    """

    structure: Structure
    present: Float[Array, "colors m"]
    source: Int[Array, "k colors m"]

    def times(self, J: SparseMatrix, tangents) -> SparseMatrix:
        """`J T`."""
        columns = jnp.zeros((len(self.source), J.shape[1]))
        for at_v, T in tangents:
            columns = columns.at[: T.shape[1], at_v.ravel()].set(
                T.transpose(1, 0, 2).reshape(T.shape[1], -1)
            )
        data = jnp.concatenate([J.data[:, 0], jnp.zeros((1, J.data.shape[2]))])
        terms = (
            jnp.take_along_axis(data, self.source[k], axis=0) * columns[k][J.layout.block]
            for k in range(len(self.source))
        )
        return SparseMatrix((self.present * sum(terms))[:, None], J.layout)


def _pattern(x: Modular) -> _Pattern | None:
    """Find the pattern; None for few joints, or if a dense factor of their rows costs less."""
    m, nv = x.joints.m, x.model.system.nv
    if m < fewest_sparse_rows():
        return None
    starts = np.sort(np.concatenate([np.array(block.instances.v_starts) for block in x.blocks]))
    sizes = np.diff(np.append(starts, nv))
    module = np.repeat(np.arange(len(starts)), sizes)
    # different numbers for the velocities of one module, so that entries of opposite sign do not
    # cancel
    sign = np.random.default_rng(1867).uniform(0.5, 1.5, nv)
    looked = Sparsity(x.model.system, x.joints, x.model.parameters())
    found = [
        detect(lambda w, s=state: looked.product_at(s)(w[:, module] * sign), m, len(starts), 1)
        for state in looked.states
    ]
    if not found or any(f is None for f in found):
        return None
    row, touched = np.unique(
        np.concatenate([np.stack(f) for f in found if f is not None], axis=1), axis=1
    )
    row, touched = np.repeat(row, sizes[touched]), np.repeat(touched, sizes[touched])
    first = np.concatenate([[True], (row[1:] != row[:-1]) | (touched[1:] != touched[:-1])])
    column = (
        starts[touched]
        + np.arange(len(row))
        - np.maximum.accumulate(np.where(first, np.arange(len(row)), 0))
    )
    color = colors(row, column, m, nv)
    layout = Layout(row, column, color, (m, nv), 1)
    structure = Structure(layout, plan(row, column, color, (m, nv), 1))
    # an elimination with much fill-in is not faster than the dense factor
    if not structure.pays:
        return None
    present = np.zeros((layout.colors, m))
    present[color[column], row] = 1.0
    source = np.full((int(sizes.max()), layout.colors, m), layout.colors)
    for k in range(len(source)):
        has = sizes[touched] > k
        source[k, color[column[has]], row[has]] = color[starts[touched[has]] + k]
    return _Pattern(structure, jnp.asarray(present), jnp.asarray(source))
