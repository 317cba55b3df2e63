"""Assembly of free modules: M, F and N of all modules, where modules of one kind are evaluated
together under `vmap`.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from zwang.equations.system import AbstractVelocityMap, System
from zwang.errors import ModelError
from zwang.hierarchy.instances import Instances, below, taken
from zwang.hierarchy.named_views import Named, NamedParameters


@dataclasses.dataclass(frozen=True, eq=False)
class Node:
    """Module in the tree of a hierarchy.

    Attributes:
        path: names from the top, joined by dots; empty for the whole.
        level: the highest level of its constraints, 1 for a module that is not assembled from
            others.
        constraints: names of the constraints that it adds to those of its modules.
        modules: the modules from which it is assembled.
        q, v: its coordinates and velocities.
        kind: equal for modules of one definition.
        model: the module as a separate model, with the numbers of its definition; None for the
            whole.
    """

    path: str
    level: int
    constraints: tuple[str, ...]
    modules: tuple[Node, ...]
    q: slice
    v: slice
    kind: object
    model: Any

    def placed(self, prefix: str, q_start: int, v_start: int) -> Node:
        """Return the node below a path and with shifted coordinates."""
        return dataclasses.replace(
            self,
            path=below(prefix, self.path),
            constraints=tuple(below(prefix, name) for name in self.constraints),
            modules=tuple(m.placed(prefix, q_start, v_start) for m in self.modules),
            q=slice(self.q.start + q_start, self.q.stop + q_start),
            v=slice(self.v.start + v_start, self.v.stop + v_start),
        )

    def walk(self):
        yield self
        for module in self.modules:
            yield from module.walk()


@dataclasses.dataclass(frozen=True, eq=False)
class Leaf:
    """System that is not assembled from others, at all of its places."""

    system: System
    instances: Instances

    @property
    def kind(self):
        return id(self.system)

    def at(self, instances: Instances) -> Leaf:
        return Leaf(self.system, instances)

    def each(self, function: Callable, t, p, *vectors):
        """Evaluate `function(*parts, t, p)` at all places, along a leading axis; `vectors` are
        (vector, entries).
        """
        own = [taken(x, entries) for x, entries in vectors]
        return self.instances.each(lambda *a: jnp.asarray(function(*a[:-1], t, a[-1])), p, *own)


@dataclasses.dataclass(frozen=True, eq=False)
class Interaction:
    """Forces between the modules of assemblies of one kind, with their own names: springs, cables,
    motors.
    """

    names: Names
    force: Callable | None
    potential: Callable | None
    instances: Instances

    @property
    def kind(self):
        return id(self.names)

    def at(self, instances: Instances) -> Interaction:
        return Interaction(self.names, self.force, self.potential, instances)

    def added(self, F, q, v, t, p):
        """Return F with the forces of all places, each given as a vector (nv,) or by name of module
        or velocity.
        """

        force = self.force
        assert force is not None

        # the user's function returns forces by name of the module, or the whole vector
        def vector(q, v, p):
            given = force(
                self.names.coordinates(q), self.names.velocities(v), t, self.names.parameters(p)
            )
            if not isinstance(given, Mapping):
                return jnp.asarray(given)
            return self.names.velocities(jnp.zeros(self.names.nv)).row(given)

        at_v = self.instances.v(self.names)
        return F.at[at_v].add(
            self.instances.each(vector, p, taken(q, self.instances.q(self.names)), taken(v, at_v))
        )

    def energy(self, q, t, p):
        """Return the potential energy of all places."""
        potential = self.potential
        assert potential is not None
        one = lambda q, p: jnp.asarray(
            potential(self.names.coordinates(q), t, self.names.parameters(p))
        )
        return jnp.sum(self.instances.each(one, p, taken(q, self.instances.q(self.names))))


class Names:
    """Views of q, v and p by name, for functions that join modules."""

    def __init__(self, system: System, modules: Sequence[Node]):
        nodes = [node for module in modules for node in module.walk()]
        self.nq, self.nv = system.nq, system.nv
        self._q = {n: i for i, n in enumerate(system.coordinates)} | {
            node.path: node.q for node in nodes
        }
        self._v = {n: i for i, n in enumerate(system.velocities)} | {
            node.path: node.v for node in nodes
        }

    def coordinates(self, q) -> Named:
        return Named(q, self._q, "coordinates")

    def velocities(self, v) -> Named:
        return Named(v, self._v, "velocities")

    def parameters(self, p) -> NamedParameters:
        return NamedParameters({} if p is None else p)


class Assembled:
    """M, F, N, retraction and potential of leaves and interactions, as functions of `zw.System`."""

    def __init__(
        self, leaves: Sequence[Leaf], interactions: Sequence[Interaction], nq: int, nv: int
    ):
        self.leaves, self.interactions, self.nq, self.nv = (
            tuple(leaves),
            tuple(interactions),
            nq,
            nv,
        )
        self._q = [leaf.instances.q(leaf.system) for leaf in self.leaves]
        self._v = [leaf.instances.v(leaf.system) for leaf in self.leaves]
        moving = any(leaf.system.velocity_map is not None for leaf in self.leaves)
        bent = moving or any(leaf.system.retract is not None for leaf in self.leaves)
        energetic = [
            x.potential for x in (*self.interactions, *(leaf.system for leaf in self.leaves))
        ]
        self.velocity_map = VelocityMap(self) if moving else None
        self.offset = (
            self._offset if any(leaf.system.offset is not None for leaf in self.leaves) else None
        )
        self.retract = self._retract if bent else None
        self.potential = self._potential if any(f is not None for f in energetic) else None

    # --- leaves of one kind at once

    def _each(self, of: Callable, t, p, *vectors):
        """`of(system)(*parts, t, p)` of each leaf, with a leading axis over its places; `vectors`
        are (vector, entries).
        """
        return [
            leaf.each(of(leaf.system), t, p, *((x, at[i]) for x, at in vectors))
            for i, leaf in enumerate(self.leaves)
        ]

    def _gathered(self, of, entries, t, p, *vectors):
        return _in_order(self._each(of, t, p, *vectors), entries)

    # --- the functions of a System

    def mass_matrix(self, q, t, p):
        blocks = self._each(lambda s: s.mass_matrix, t, p, (q, self._q))
        k = self._block_size([b.shape[1:] for b in blocks])
        # a diagonal M remains a vector, so that no factorization is needed
        if k == 1:
            return _in_order(blocks, self._v)
        # the cost of diagonal blocks is proportional to their number, that of a dense M to its cube
        M = jnp.zeros((self.nv // k, k, k))
        for v, b in zip(self._v, blocks, strict=True):
            rows, columns, values = _positions(v, b)
            M = M.at[rows // k, rows % k, columns % k].set(values)
        return M[0] if len(M) == 1 else M

    def _block_size(self, shapes) -> int:
        """Return the smallest size of equal diagonal blocks that contain all blocks of the leaves;
        1 if M is diagonal, nv if it is dense.
        """
        cuts = {self.nv}
        for v, shape in zip(self._v, shapes, strict=True):
            # a leaf returns M as a diagonal, as one dense block or as blocks; M may be divided
            # where each of these ends
            size = {1: 1, 2: shape[0], 3: shape[-1]}[len(shape)]
            cuts |= {int(start) + i for start in v[:, 0] for i in range(0, v.shape[1], size)}
        return next(
            k
            for k in range(1, self.nv + 1)
            if self.nv % k == 0 and all(i in cuts for i in range(0, self.nv, k))
        )

    def force(self, q, v, t, p):
        F = self._gathered(lambda s: s.force, self._v, t, p, (q, self._q), (v, self._v))
        for x in self.interactions:
            F = F if x.force is None else x.added(F, q, v, t, p)
        if all(x.potential is None for x in self.interactions):
            return F
        # the gradient of a potential belongs to q and a force to v: the gradient is multiplied by
        # Nᵀ below
        slope = jax.grad(self._interaction_potential)(q, t, p)
        if self.velocity_map is None:
            return F - slope
        return F - jax.vjp(lambda w: self.along(q, w, t, p), v)[1](slope)[0]

    def along(self, q, w, t, p):
        """`N w`, leaf by leaf."""
        return self._gathered(lambda s: s.along, self._q, t, p, (q, self._q), (w, self._v))

    def _offset(self, q, t, p):
        nothing = lambda s: lambda q, t, p: jnp.zeros(s.nq)
        return self._gathered(lambda s: s.offset or nothing(s), self._q, t, p, (q, self._q))

    def whole_map(self, q, t, p):
        """N of all leaves."""
        N = jnp.zeros((self.nq, self.nv))
        identity = lambda s: lambda q, t, p: jnp.eye(s.nv)
        each = self._each(lambda s: s.velocity_map or identity(s), t, p, (q, self._q))
        for at_q, at_v, value in zip(self._q, self._v, each, strict=True):
            N = N.at[at_q[:, :, None], at_v[:, None, :]].set(value)
        return N

    def _retract(self, q, dv, t, p):
        return self._gathered(lambda s: s.move, self._q, t, p, (q, self._q), (dv, self._v))

    def _potential(self, q, t, p):
        nothing = lambda q, t, p: jnp.zeros(())
        parts = self._each(lambda s: s.potential or nothing, t, p, (q, self._q))
        return sum((jnp.sum(value) for value in parts), self._interaction_potential(q, t, p))

    def _interaction_potential(self, q, t, p):
        return sum(
            (x.energy(q, t, p) for x in self.interactions if x.potential is not None), jnp.zeros(())
        )


def _in_order(values: Sequence[Array], entries: Sequence[np.ndarray]) -> Array:
    """One vector of the values of all leaves, each in its place."""
    joined = jnp.concatenate([value.ravel() for value in values])
    order = np.concatenate([e.ravel() for e in entries])
    return joined if np.all(order[:-1] < order[1:]) else joined[np.argsort(order)]


def _positions(v: np.ndarray, blocks):
    """Rows, columns and values of the entries of leaves' mass matrices, shapes (copies,
    entries).
    """
    n = v.shape[1]
    if blocks.ndim == 2:
        rows = columns = np.arange(n)
        values = blocks
    else:
        size = blocks.shape[-1]
        start = np.arange(0, n, size)[:, None, None]
        rows = np.broadcast_to(
            start + np.arange(size)[None, :, None], (n // size, size, size)
        ).ravel()
        columns = np.broadcast_to(
            start + np.arange(size)[None, None, :], (n // size, size, size)
        ).ravel()
        values = blocks.reshape(len(blocks), -1)
    return v[:, rows], v[:, columns], values


def unique_names(names: Sequence[str]) -> None:
    """Raise an error if the name of a module is empty, contains a dot, or is used twice."""
    for name, count in Counter(names).items():
        if not name or "." in name:
            raise ModelError(
                f"a module is named {name!r}; expected a name without dots, which join the "
                "names of modules."
            )
        if count > 1:
            raise ModelError(
                f"module name {name!r} is used {count} times; give each its own name=."
            )


class VelocityMap(AbstractVelocityMap):
    """N of all leaves."""

    def __init__(self, parts: Assembled):
        self._parts = parts

    def __call__(self, q, t, p):
        return self._parts.whole_map(q, t, p)

    def along(self, q, dv, t, p):
        """`N dv`, leaf by leaf."""
        return self._parts.along(q, dv, t, p)
