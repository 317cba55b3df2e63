"""The acceleration of a hierarchy with the modules' own factors: block diagonal at level 1, a Schur complement of the joints above.

    level 1   a_i = M_i⁻¹F_i + A_i⊕ (b_i − A_i M_i⁻¹F_i),   S_i = (I − A_i⊕A_i) M_i⁻¹      one small factor per module, by `vmap`
    joints    G = Σ J_i S_i J_iᵀ,   G λ = b̃ − J a,   v̇_i = a_i + S_i J_iᵀ λ                 one factor of the joints' rows alone

It is (4.14)-(4.16) with all levels above the first taken together; the flat model factors all rows at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from zwang.constraint import Constraints
from zwang.errors import ModelError
from zwang.factor import Cholesky
from zwang.hierarchy.assembly import Leaf
from zwang.hierarchy.placed import Placed, stacked_parameters
from zwang.kernel import WeightedPseudoinverse, constrained_acceleration, row_scale
from zwang.mass import factor_mass
from zwang.model import Model
from zwang.pseudoinverse import Proximal
from zwang.pseudoinverse.proximal import swept


class Modular:
    """A hierarchy prepared for `acceleration`: which modules are one definition, and which joint rows touch which module.

    Args:
        model: of `zw.Hierarchy`, with ideal constraints and a positive definite mass matrix.
        q, v, t: a state in general position, at which the joints' rows are looked at.

    Raises:
        ModelError: for any other model.
    """

    def __init__(self, model: Model, q, v, t=0.0):
        assembly = model.assembly
        if assembly is None or model.singular_mass or model.servo is not None:
            raise ModelError(f"{model.name}: expected a zw.Hierarchy without a servo and with a positive definite mass matrix.")
        if any(c.nonideal is not None for c in model.constraints.members):
            raise ModelError(f"{model.name}: expected ideal constraints; use zw.motion for nonideal ones.")
        own: dict[int, list[Placed]] = {}
        starts = {leaf.v_start: leaf for leaf in assembly.leaves if leaf.system.nv}
        joints = []
        for c in model.constraints.members:
            leaf = starts.get(c.v_start) if isinstance(c, Placed) else None
            if leaf is not None and isinstance(c, Placed) and c.home is leaf.system:
                own.setdefault(leaf.v_start, []).append(c)
            else:
                joints.append(c)
        groups: dict[object, list[Leaf]] = {}
        for leaf in assembly.leaves:
            kinds = tuple((c.copies, c.level) for c in own.get(leaf.v_start, ()))
            groups.setdefault((id(leaf.system), leaf.params, kinds), []).append(leaf)
        self.model, self.groups = model, tuple(tuple(group) for group in groups.values())
        self.own = tuple(tuple(own.get(group[0].v_start, ())) for group in self.groups)
        self.joints = Constraints(joints, model.system, model.params)
        J = (
            np.asarray(self.joints.matrix(*model_state(model, q, v, t), model.params))
            if self.joints.m
            else np.zeros((0, model.system.nv))
        )
        self.entries = tuple(_entries([x.v_start for x in g], g[0].system.nv) for g in self.groups)
        self.places = tuple(_entries([x.q_start for x in g], g[0].system.nq) for g in self.groups)
        self.rows = tuple(_touched(J, entries) for entries in self.entries)

    def acceleration(self, q, v, t=0.0, *, params: PyTree = None) -> Float[Array, " nv"]:
        """v̇, shape (nv,); inside `jit`, `vmap` and `grad` as well."""
        p = self.model.params if params is None else self.model.merged(params)
        return _acceleration(_Fixed(self), *model_state(self.model, q, v, t), p)


class _Fixed:
    """What is known before a program runs, hashed by identity."""

    def __init__(self, modular: Modular):
        self.modular = modular

    def __hash__(self):
        return id(self.modular)

    def __eq__(self, other):
        return isinstance(other, _Fixed) and self.modular is other.modular


def model_state(model: Model, q, v, t):
    s = model.state(q, v, t)
    return s.q, s.v, s.t


@eqx.filter_jit
def _acceleration(fixed: _Fixed, q, v, t, p):
    x = fixed.modular
    F = jnp.asarray(x.model.system.force(q, v, t, p))
    a, mobility = jnp.zeros(x.model.system.nv), []
    for group, own, at_q, at_v in zip(x.groups, x.own, x.places, x.entries, strict=True):
        level = jax.vmap(lambda *each, g=group, c=own: _module(g[0], c, t, *each))
        params = stacked_parameters(p, [leaf.path for leaf in group]) if group[0].params else None
        parts, S = level(q[at_q], v[at_v], F[at_v], params)
        a = a.at[at_v].set(parts)
        mobility.append(S)
    if not x.joints.m:
        return a
    J, b = x.joints.matrix(q, v, t, p), x.joints.rhs(q, v, t, p)
    m = len(b)
    padded, G = jnp.concatenate([J, jnp.zeros((1, J.shape[1]))]), jnp.zeros((m + 1, m + 1))
    for S, rows, at_v in zip(mobility, x.rows, x.entries, strict=True):
        Ji = padded[rows[:, :, None], at_v[:, None, :]]
        G = G.at[rows[:, :, None], rows[:, None, :]].add(jnp.einsum("irn,inm,ism->irs", Ji, S, Ji))
    G = G[:m, :m]
    scale = row_scale(jnp.sqrt(jnp.diag(G)))
    gram, method = scale[:, None] * G * scale, Proximal()
    multipliers = scale * swept(gram, Cholesky(gram + method.damping * jnp.eye(m)), scale * (b - J @ a), method.sweeps)
    pushed = multipliers @ J
    for S, at_v in zip(mobility, x.entries, strict=True):
        a = a.at[at_v].add(jnp.einsum("inm,im->in", S, pushed[at_v]))
    return a


def _module(leaf: Leaf, own: Sequence[Placed], t, q, v, F, p):
    """a and S of one module with its own constraints."""
    system = leaf.system
    mass = factor_mass(jnp.asarray(system.mass_matrix(q, t, p), v.dtype))
    rows = Constraints([c.constraint for c in own], system, p)
    weighted = WeightedPseudoinverse(mass, rows.matrix(q, v, t, p), Proximal())
    free = mass.solve(F)
    constrained = constrained_acceleration(free, weighted, rows.rhs(q, v, t, p))
    return constrained, jax.vmap(lambda f: weighted.tangent(mass.solve(f)), out_axes=1)(jnp.eye(len(F)))


def _entries(starts: Sequence[int], size: int) -> np.ndarray:
    return np.array(starts)[:, None] + np.arange(size)


def _touched(J: np.ndarray, entries: np.ndarray) -> np.ndarray:
    """Rows of J that touch each module, shape (modules, most rows), filled up with one row more than there are."""
    touching = [np.flatnonzero(np.any(J[:, own] != 0, axis=1)) for own in entries]
    most = max((len(rows) for rows in touching), default=0)
    return np.array([np.pad(rows, (0, most - len(rows)), constant_values=len(J)) for rows in touching]).reshape(
        len(entries), most
    )
