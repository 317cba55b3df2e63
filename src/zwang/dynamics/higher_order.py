"""Systems with variables of any order, whose highest derivatives satisfy one equation.

For variables x_i of orders k_i, with the highest derivatives α_i = d^{k_i} x_i / dt^{k_i},

    M α = F + Aᵀλ,    A α = b,    α = a + A⊕ (b − A a)

where M and F depend on lower derivatives. This is the equation of second order for v = all
derivatives of order k_i − 1 and q = all lower ones:

    v̇ = α,    q̇ = N v + n(q)   N maps v to the derivatives of order k_i − 2, n each lower
    derivative
                                 to the next

A relation is differentiated s times until a highest derivative appears in it: r, ṙ, …, r^(s), the
last of which is A α − b. Then r^(s−1) is a velocity residual ψ(q, v) and r^(s−2) a position
residual φ(q); both are projected as usual. The retraction removes the residuals of lower order: it
changes the derivatives in them as the last one changes α, with the same A⊕.

Source: Orsino (2017), Proc. R. Soc. A 473, section 2.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from zwang.algebra.gauss import Gauss
from zwang.algebra.mass_matrix import factor_mass
from zwang.algebra.pseudoinverse import Proximal
from zwang.compile import program
from zwang.dynamics import functions
from zwang.dynamics.model import Model
from zwang.equations.constraint import (
    AbstractConstraint,
    AccelerationConstraint,
    Holonomic,
    Nonholonomic,
)
from zwang.equations.system import System
from zwang.errors import ModelError
from zwang.inputs.arguments import count, function, items, label, mapping, optional_function
from zwang.inputs.arrays import as_parameters
from zwang.inputs.call import misfits_named
from zwang.inputs.suggestions import did_you_mean
from zwang.inputs.text import unit_of_rate
from zwang.inputs.tracing import outcome, returned


@dataclasses.dataclass(frozen=True)
class Relation:
    """An equation between variables and their derivatives, for `zw.HigherOrder`:

        r(x, t, p) = 0

    Args:
        residual: `(x, t, p)` → residual, a scalar or shape (rows,). `x["angle"]` are the
            derivatives of a variable: `x["angle"][0]` itself, `x["angle"][1]` its rate, and so on
            up to the highest, in which the residual must be linear.
        name: name in results. If the relation is differentiated three times or more, `name [0]`,
            `name [1]` … are its lowest derivatives, whose rows of A are zero, and `name` is the one
            with the row of A.

    Example:
        >>> track = Relation(lambda x, t, p: x["x"][0] ** 2 + x["y"][0] ** 2 - 1.0, name="track")
    """

    residual: Callable
    name: str = "relation"

    def __post_init__(self):
        label(self.name, "Relation: name")
        function(self.residual, f"relation {self.name!r}: residual", "(x, t, p) → residual")


@misfits_named
def HigherOrder(
    orders: Mapping[str, int],
    mass_matrix: Callable,
    force: Callable,
    relations: Sequence[Relation | AbstractConstraint] = (),
    *,
    params: PyTree = None,
    potential: Callable | None = None,
    units: Mapping[str, str] | None = None,
    energy_unit: str = "J",
    singular_mass: bool = False,
    name: str = "model",
) -> Model:
    """Create a model whose variables have different orders: circuits (1), mechanisms (2), jerk (3),
    and any higher order, together.

        M α = F + Aᵀλ,    A α = b,    α_i = d^{k_i} x_i / dt^{k_i}

    Args:
        orders: order k ≥ 1 of each variable, by name.
        mass_matrix: `(x, t, p)` → M of `zw.System`, from the derivatives up to k − 2, as
            `x["angle"][0]`.
        force: `(x, t, p)` → F, one entry per variable, from the derivatives up to k − 1: a
            first-order variable has `x["current"][0]`.
        relations: `Relation` objects, of any order; or constraints of a `zw.Model`, in q and v as
            below.
        params: as in `zw.Model`.
        potential: `(x, t, p)` → energy in addition to ½ vᵀ M v, from the derivatives up to k − 2;
            for reports.
        units: of each variable.
        energy_unit, singular_mass, name: as in `zw.System` and `zw.Model`.

    Returns:
        A `zw.Model` like any other, also as a module of a hierarchy. A variable of order k has k −
        1 coordinates, `angle`, `angle'`, `angle''` …, and one velocity, its derivative of order k −
        1, which has the name of the variable up to k = 2: for a first-order variable q is empty and
        v is the variable itself.

    Raises:
        ModelError: for an order below 1, names that do not exist, or a relation without any of the
            variables.

    Example:
        >>> def force(x, t, p):
        ...     voltage = p["V"] - p["R"] * x["current"][0] - p["k"] * x["angle"][1]
        ...     return jnp.stack([voltage, p["k"] * x["current"][0]])
        >>> motor = HigherOrder(
        ...     {"current": 1, "angle": 2}, lambda x, t, p: jnp.array([p["L"], p["J"]]), force,
        ...     params={"L": 0.1, "J": 0.01, "V": 12.0, "R": 1.0, "k": 0.1})
    """
    orders = mapping(orders, "HigherOrder: orders", "name -> order 1, 2, 3 ...")
    if not orders:
        raise ModelError("HigherOrder: orders is empty, expected at least one variable.")
    for variable, k in orders.items():
        label(variable, "HigherOrder: the name of a variable")
        # largest order of a variable: every derivative of a relation doubles the size of its
        # program
        count(k, f"{name}: the order of variable {variable!r}", least=1, most=50)
    function(mass_matrix, "HigherOrder: mass_matrix", "(x, t, p) → M")
    function(force, "HigherOrder: force", "(x, t, p) → F")
    optional_function(potential, "HigherOrder: potential", "(x, t, p) → energy")
    relations = items(
        relations, (Relation, AbstractConstraint), "HigherOrder: relations", "zw.Relation(residual)"
    )
    layout = Layout(dict(orders))
    params = as_parameters(params)
    system = System(
        layout.nq,
        lambda q, t, p: mass_matrix(layout.split(q, None), t, p),
        lambda q, v, t, p: force(layout.split(q, v), t, p),
        nv=layout.nv,
        velocity_map=None if layout.second else lambda q, t, p: jnp.asarray(layout.N),
        offset=(lambda q, t, p: jnp.asarray(layout.carry) @ q) if layout.carry.any() else None,
        potential=None
        if potential is None
        else lambda q, t, p: potential(layout.split(q, None), t, p),
        energy_unit=energy_unit,
        **layout.names(units or {}),
    )
    known = [r for r in relations if isinstance(r, Relation)]
    differentiated = [DifferentiatedRelation(r, layout, params) for r in known]
    # two derivatives are ψ and φ, which are projected; only lower ones need a retraction
    low = [each for each in differentiated if each.times > 2]
    if low:
        system = dataclasses.replace(system, retract=Retraction(system, layout, low))
    members = [
        differentiated[known.index(r)].constraint() if isinstance(r, Relation) else r
        for r in relations
    ]
    return Model(system, members, params, singular_mass=singular_mass, name=name)


class Layout:
    """Indices of the derivatives of each variable in q and v.

    Args:
        orders: by variable.

    Attributes:
        N: of q̇ = N v + n, shape (nq, nv); carry: of n = carry q, shape (nq, nq).
    """

    def __init__(self, orders: dict[str, int]):
        self.orders, self.nv = orders, len(orders)
        ends = np.cumsum([0, *(k - 1 for k in orders.values())])
        self.start, self.nq = dict(zip(orders, map(int, ends), strict=False)), int(ends[-1])
        self.second = all(k == 2 for k in orders.values())
        self.N, self.carry = np.zeros((self.nq, self.nv)), np.zeros((self.nq, self.nq))
        for i, (variable, k) in enumerate(orders.items()):
            first = self.start[variable]
            if k > 1:
                self.N[first + k - 2, i] = 1.0
            # the rate of each lower derivative is the next one
            for j in range(first, first + k - 2):
                self.carry[j, j + 1] = 1.0

    def split(self, q, v, highest=None) -> dict[str, tuple]:
        """Return the derivatives of each variable, lowest first: those in q, then that in v and the
        highest one, if given.
        """
        return {
            variable: tuple(q[self.start[variable] + j] for j in range(k - 1))
            + (() if v is None else (v[i],))
            + (() if highest is None else (highest[i],))
            for i, (variable, k) in enumerate(self.orders.items())
        }

    def names(self, units: Mapping[str, str]) -> dict[str, Any]:
        """Return names and units for `zw.System`."""
        for variable in units:
            if variable not in self.orders:
                raise ModelError(
                    f"units names {variable!r}, which is no variable"
                    f"{did_you_mean(variable, self.orders)}"
                )
        unit = lambda x, j: unit_of_rate(units.get(x, ""), j)
        each = self.orders.items()
        return {
            "coordinates": [x + "'" * j for x, k in each for j in range(k - 1)],
            "units": [unit(x, j) for x, k in each for j in range(k - 1)],
            "velocities": [x + "'" * (k - 1 if k > 2 else 0) for x, k in each],
            "velocity_units": [unit(x, k - 1) for x, k in each],
        }

    def columns(self, below: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the entries of q with derivatives of order k − 1 − below, and their variables."""
        pairs = [
            (self.start[x] + k - 1 - below, i)
            for i, (x, k) in enumerate(self.orders.items())
            if k - 1 - below >= 0
        ]
        rows, variables = np.array(pairs, int).reshape(-1, 2).T
        return rows, variables


class DifferentiatedRelation:
    """A relation with its derivatives.

    Attributes:
        times: number of differentiations until a highest derivative appears.
    """

    def __init__(self, relation: Relation, layout: Layout, p: PyTree):
        self.relation, self.layout = relation, layout
        self.times = self._counted(p)

    def residual(self, q, v, highest, t, p):
        """Return r from all derivatives."""
        what = f"relation {self.relation.name!r}: residual(x, t, p)"
        r = returned(self.relation.residual(self.layout.split(q, v, highest), t, p), what)
        return jnp.atleast_1d(jnp.asarray(r))

    def derivative(self, order: int, q, v, highest, t, p):
        """Return r differentiated `order` times along the motion, provided that no highest
        derivative is differentiated.
        """
        if order == 0:
            return self.residual(q, v, highest, t, p)
        # a highest derivative has no rate here and needs none: r is differentiated until one
        # appears
        along = (
            jnp.asarray(self.layout.carry) @ q + jnp.asarray(self.layout.N) @ v,
            highest,
            jnp.ones_like(t),
        )
        return jax.jvp(
            lambda q, v, t: self.derivative(order - 1, q, v, highest, t, p), (q, v, t), along
        )[1]

    def _counted(self, p) -> int:
        """Return how many orders the highest derivatives are above those in the residual,
        determined at random values.
        """
        layout, random = self.layout, np.random.default_rng(2017)
        seen = np.zeros(layout.nq + 2 * layout.nv, bool)

        what = f"relation {self.relation.name!r}: residual(x, t, p)"
        first, last = layout.nq, layout.nq + layout.nv
        residual = lambda z, t, p: self.residual(z[:first], z[first:last], z[last:], t, p)
        outcome(residual, what, np.zeros(len(seen)), np.zeros(()), p)
        slope = program(jax.jacfwd(residual))
        # a slope may be zero at one place by chance, but hardly at three random ones
        for _ in range(3):
            at = random.standard_normal(len(seen)), np.float64(random.uniform())
            rows = np.asarray(slope(*at, p))
            seen |= np.any((rows != 0) | np.isnan(rows), axis=0)
        top = {}
        for i, (variable, k) in enumerate(layout.orders.items()):
            own = [
                *range(layout.start[variable], layout.start[variable] + k - 1),
                layout.nq + i,
                layout.nq + layout.nv + i,
            ]
            used = np.flatnonzero(seen[own])
            if len(used):
                top[variable] = k - int(used[-1])
        if not top:
            raise ModelError(
                f"relation {self.relation.name!r} depends on none of the variables: "
                f"{', '.join(layout.orders)}."
            )
        return min(top.values())

    def constraint(self) -> AbstractConstraint:
        """Return the relation as a constraint in q and v."""
        name, s, nv = self.relation.name, self.times, self.layout.nv
        still = jnp.zeros(nv)
        if s == 0:
            return AccelerationConstraint(
                lambda q, v, t, p: jax.jacfwd(lambda highest: self.residual(q, v, highest, t, p))(
                    still
                ),
                lambda q, v, t, p: -self.residual(q, v, still, t, p),
                name=name,
            )
        if s == 1:
            return Nonholonomic(lambda q, v, t, p: self.residual(q, v, still, t, p), name=name)
        parts = [f"{name} [{order}]" for order in range(s - 2)] + [name]
        levels = lambda q, t, p: jnp.concatenate(
            [self.derivative(j, q, still, still, t, p) for j in range(s - 1)]
        )
        return Holonomic(levels, name=name, parts=parts if s > 2 else ())


class Retraction:
    """`q ⊕ dv = q + N dv`, after which the derivatives of relations below φ are brought to zero,
    lowest first.

    x^(k−1−d) ← x^(k−1−d) − A⊕ r^(s−1−d),    d = 2 … s − 1
    """

    def __init__(
        self, system: System, layout: Layout, differentiated: Sequence[DifferentiatedRelation]
    ):
        self.system, self.layout, self.differentiated = system, layout, tuple(differentiated)

    def __call__(self, q, dv, t, p):
        deepest = max(each.times for each in self.differentiated) - 1
        return jax.lax.fori_loop(
            0,
            3,  # the start is off by the error of one step, for which two suffice
            lambda _, q: self._swept(q, t, p, deepest),
            self.system.along(q, dv, t, p) + q,
        )

    def _swept(self, q, t, p, deepest: int):
        still = jnp.zeros(self.layout.nv)
        for below in range(deepest, 1, -1):
            rows, variables = self.layout.columns(below)
            held = [each for each in self.differentiated if each.times > below]
            lowest = lambda q, held=held, below=below: jnp.concatenate(
                [each.derivative(each.times - 1 - below, q, still, still, t, p) for each in held]
            )
            A = (
                jnp.zeros((len(lowest(q)), self.layout.nv))
                .at[:, variables]
                .set(jax.jacfwd(lowest)(q)[:, rows])
            )
            mass = factor_mass(functions.mass_matrix(self.system, q, t, p))
            move = Gauss(mass, A, Proximal()).correct(lowest(q))
            q = q.at[rows].add(-move[variables])
        return q
