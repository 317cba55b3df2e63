"""Model: a free system, its constraints and its parameters."""

from __future__ import annotations

import abc
import dataclasses
import operator
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from zwang.algebra.elimination.probing import MOST_COLORS
from zwang.algebra.pseudoinverse import AbstractPseudoinverse, Proximal
from zwang.algebra.pseudoinverse.sparse import Sparse
from zwang.compile.flat import with_known_zeros
from zwang.dynamics.control_law import AbstractControlLaw
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.formulation.base import AbstractFormulation
from zwang.dynamics.matrix_structure import DENSE, AbstractStructure
from zwang.dynamics.sparse_structure import Structure, sparsity_of
from zwang.equations.constraint import AbstractConstraint, Constraints
from zwang.equations.state import State
from zwang.equations.system import System
from zwang.errors import ModelError
from zwang.inputs.arguments import flag, instance, items, label, number, optional, shown, strategy
from zwang.inputs.arrays import (
    as_parameters,
    host_array,
    is_concrete,
    merged_parameters,
    on_device,
    refuse_unknown,
    require_float64,
    vector,
)
from zwang.inputs.call import misfits_named
from zwang.inputs.tracing import outcome, returned
from zwang.objects.by_identity import ByIdentity
from zwang.objects.display import present
from zwang.objects.record import Record, field, replace

_PARAMETERS: ByIdentity[tuple[list, object, PyTree]] = ByIdentity()
"""Packed parameters of a model, and the leaves and structure of `params` they are made of."""
_DYNAMICS: ByIdentity[Dynamics] = ByIdentity()
"""Equation of motion of a model with its own parameters and the default methods."""
IDLE: ByIdentity[tuple[str, ...]] = ByIdentity()
"""Constraints of a model that are declared as inactive at the start of a motion."""


class AbstractParameterLayout:
    """Form in which the functions of a model receive its parameters.

    Attributes:
        with_control: whether it also applies to a model with a servo.
        fixed: keys, from the top of the tree, of numbers that are constant.
    """

    with_control = False
    fixed: frozenset[tuple] = frozenset()

    @abc.abstractmethod
    def packed(self, p: PyTree) -> PyTree:
        """Return the parameters in the form that the functions of the model take."""


class Model(Record):
    """Constrained system, passive or with a control law.

    Args:
        system: the free system.
        constraints: any number of constraints with different names; redundant rows are allowed.
        params: `p`, a pytree of numbers that every function receives as its last argument. Numbers
            become float64 arrays, so that a run with other values needs no compilation.
        servo: a `zw.Servo` (or another control law) whose actuators act on the system:
            `M v̇ = F + Q_c + B u(q, v, t)`. Passive constraints are enforced as without a servo;
            servo constraints are satisfied as well as their gains and actuators permit.
        singular_mass: whether to treat M as singular from the start. `zw.motion`, `zw.simulate` and
            `zw.check` detect a singular M; functions that are compiled into a program of the user
            (`zw.trajectory`, `zw.batch`) need this argument. Constraints must restrict every
            direction without mass.
        name: name in titles and reports.
        layout: form in which the functions receive the parameters, if it differs from `params`;
            given by `zw.Hierarchy` and by mechanisms.

    Raises:
        ModelError: if a function fails for the shapes of the model or returns a wrong shape.

    Example:
        >>> rod = zw.Holonomic(lambda q, t, p: q @ q - p["length"] ** 2, name="rod")
        >>> model = zw.Model(system, constraints=[rod], params={"m": 1.0, "length": 1.0})
    """

    system: System
    constraints: Constraints
    params: PyTree
    servo: AbstractControlLaw | None
    singular_mass: bool
    name: str
    layout: AbstractParameterLayout | None
    _names: tuple = field(static=True)

    @misfits_named
    def __init__(
        self,
        system: System,
        constraints: Sequence[AbstractConstraint] = (),
        params: PyTree = None,
        *,
        servo: AbstractControlLaw | None = None,
        singular_mass: bool = False,
        name: str = "model",
        layout: AbstractParameterLayout | None = None,
    ):
        require_float64()
        self.system = instance(system, System, "Model: system", "a zw.System or zw.Lagrangian(...)")
        self.singular_mass = flag(singular_mass, "Model: singular_mass")
        self.name = label(name, "Model: name")
        self.layout = optional(layout, AbstractParameterLayout, "Model: layout", "None")
        constraints = items(
            constraints,
            AbstractConstraint,
            "Model: constraints",
            "zw.Holonomic, zw.Nonholonomic or zw.AccelerationConstraint",
        )
        for c in constraints:  # a class of the user's checks no names
            for part in (c.name, *c.parts):
                label(part, "Model: the name of a constraint")
        # the law is checked against the passive dynamics, which must not contain it yet
        self.params, self.servo = as_parameters(params), None
        self._names = _names_of(self.params)
        p = self.parameters()
        _check_shapes(system, p)
        self.constraints = Constraints(constraints, system, p)
        if servo is not None:
            expected = "zw.Servo(constraints, actuation, ...) or a law such as regulator.feedback()"
            instance(servo, AbstractControlLaw, "Model: servo", expected)
            lets_go = not servo.by_constraints
            servo.checked(self.dynamics(pseudoinverse=Proximal(), lets_go=lets_go))
            self.servo = servo

    def __repr__(self) -> str:
        return present("text_of", self, "model")

    def _repr_html_(self) -> str:
        """Return the display in a notebook."""
        return present("notebook_of", self, "model")

    @property
    def passive(self) -> Model:
        """Model without its control; the model itself if it has no control."""
        return self if self.servo is None else replace(self, servo=None)

    def dynamics(
        self,
        params: PyTree = None,
        pseudoinverse: AbstractPseudoinverse | None = None,
        formulation: AbstractFormulation | None = None,
        implicit: bool = False,
        lets_go: bool = False,
    ) -> Dynamics:
        """Return the equation of motion with given parameters and methods, and the structure that
        an implicit integrator needs. `lets_go` is set by callers that determine the active set.
        """
        # cached, because callers need it at every instant, and it takes a fifth of the time of one
        plain = params is pseudoinverse is formulation is None and not implicit
        p = self._own_parameters() if params is None else _copied(self.parameters(params))
        known = _DYNAMICS.get(self) if plain else None
        if known is not None and known.p is p and (lets_go or not known.constraints.loose):
            return known
        if not lets_go:
            refuse_letting_go(self)
        if not lets_go and (idle := IDLE.get(self)):
            raise ModelError(
                f"{self.name}: constraint {idle[0]!r} is inactive at the start and switched on "
                "later, which only zw.simulate supports; leave its switch out here, or the "
                "constraint."
            )
        strategy(
            pseudoinverse,
            (AbstractPseudoinverse, Sparse),
            "pseudoinverse",
            "zw.methods.Proximal(), zw.methods.SVD() ...",
        )
        strategy(
            formulation, AbstractFormulation, "formulation", "zw.methods.Campbell() or another one"
        )
        method = pseudoinverse
        if method is None:
            method = self._default(formulation, implicit)
        if formulation is not None and self.singular_mass and not formulation.singular_mass:
            raise ModelError(
                f"{type(formulation).__name__} needs a positive definite mass matrix, but the "
                "model has singular_mass=True."
            )
        structure: AbstractStructure = DENSE
        if isinstance(method, Sparse):
            method, structure = (
                method.suited(self.constraints.m),
                self._structure(formulation, implicit),
            )
        found = Dynamics(
            self.system,
            self.constraints,
            p,
            method,
            formulation,
            None,
            self.singular_mass,
            self.servo,
            structure,
        )
        if plain and is_concrete(p):  # traced values belong to one program
            _DYNAMICS.keep(self, found)
        return found

    def _own_parameters(self) -> PyTree:
        """Return `parameters()` from a cache until other numbers are put into the model."""
        leaves, tree = jax.tree_util.tree_flatten(self.params)
        known = _PARAMETERS.get(self)
        if known is not None and tree == known[1] and all(map(operator.is_, leaves, known[0])):
            return known[2]
        p = _copied(self.parameters())
        # the entries of a NumPy array may change
        if is_concrete(p) and not any(isinstance(x, np.ndarray) for x in leaves):
            _PARAMETERS.keep(self, (leaves, tree, p))
        return p

    def _default(self, formulation, implicit: bool) -> AbstractPseudoinverse:
        """Return `Sparse` if it is faster and nothing else needs A as an array."""
        # formulations, M + AᵀDA and control laws multiply A as an array
        whole = formulation is not None or self.singular_mass or self.servo is not None
        return Proximal() if whole or not sparsity_of(self).pays(implicit) else Sparse()

    def _structure(self, formulation, implicit: bool) -> Structure:
        """Return the sparse structure of the model, or the reason why it is not used."""
        for given, what in (
            (formulation is not None, "formulation= is given"),
            (self.singular_mass, "the model has singular_mass=True"),
            (self.servo is not None, "the model has a servo"),
        ):
            if given:
                raise ModelError(
                    f"{self.name}: zw.methods.Sparse() cannot be used where {what}; leave "
                    "pseudoinverse= out."
                )
        if (found := sparsity_of(self).structure) is None:
            raise ModelError(
                f"{self.name}: zw.methods.Sparse() found no sparsity: it needs constraints, a mass "
                "matrix given as its diagonal or in blocks, rows that touch less than "
                f"{MOST_COLORS} blocks of velocities, and constraints that are finite at random "
                "states."
            )
        return dataclasses.replace(found, newton=sparsity_of(self).newton) if implicit else found

    def parameters(self, params: PyTree = None) -> PyTree:
        """Return `p` in the form that functions receive: the parameters of the model, replaced by
        those in `params`; for a hierarchy, the parameters of equal modules are stacked.
        """
        if (names := _names_of(self.params)) != self._names:
            refuse_unknown(self._names, self.params, self.name)
            lost = next(x for x in self._names if x not in names)
            raise ModelError(
                f"{self.name} has lost its parameter {shown(lost)}; put it back into model.params."
            )
        p = self.params if params is None else self.merged(params)
        # the library stores JAX arrays; anything else was assigned by a user
        assigned = int, float, complex, str, bytes, np.ndarray
        if any(isinstance(x, assigned) for x in jax.tree_util.tree_leaves(p)):
            p = as_parameters(p)
        if self.layout is not None and (self.servo is None or self.layout.with_control):
            p = self.layout.packed(p)
        return with_known_zeros(p) if params is None else p

    def with_parts(
        self,
        *,
        constraints: Sequence[AbstractConstraint] | None = None,
        servo: AbstractControlLaw | None = None,
    ) -> Model:
        """Return a model of the same system with other constraints, and with a given control law or
        none.
        """
        return Model(
            self.system,
            self.constraints.members if constraints is None else constraints,
            self.params,
            servo=servo,
            singular_mass=self.singular_mass,
            name=self.name,
            layout=self.layout,
        )

    def with_params(self, params: PyTree) -> Model:
        """Return the model with other parameter values; every name must exist, and None changes
        nothing.

        Its system and constraints are the same objects, so that structures and programs of one
        model serve the other.
        """
        # structures and programs of the constraints are cached by identity
        return self if params is None else replace(self, params=self.merged(params))

    def merged(self, params: PyTree) -> PyTree:
        """Return the parameters with those of `params` replaced; every name must exist."""
        return merged_parameters(self.params, params, self.name)

    def state(self, q, v, t=0.0, *, on_host: bool = False) -> State:
        """Return q, v, t as a checked `State`, with NumPy arrays if `on_host`."""
        s, time = self.system, number(t, "t", unit="s")
        return State(
            vector(q, s.nq, "q", s.coordinates, on_host=on_host),
            vector(v, s.nv, "v", s.velocities, on_host=on_host),
            host_array(time) if on_host else on_device(time),
        )


def _names_of(params: PyTree) -> tuple:
    """Return the names of the parameters in one order, none for parameters without names."""
    return tuple(sorted(params, key=str)) if isinstance(params, dict) else ()


def refuse_letting_go(model: Model) -> None:
    """Raise an error for constraints that may become inactive or slide, which only a run follows.

    Raises:
        ModelError: with the name of the first such constraint.
    """
    if loose := model.constraints.loose:
        raise ModelError(
            f"{model.name}: constraint {loose[0]!r} is an inequality or a dry friction, which "
            "this function does not support; use zw.simulate, zw.batch, zw.sweep, zw.check, "
            "zw.analysis.equilibrium, C, FMUs or pages, and zw.analysis.final_state for "
            "derivatives; take the equations that hold at a state by "
            "zw.analysis.contact_mode(model, q, v), or leave it out here."
        )


def _check_shapes(system: System, p: PyTree) -> None:
    """Check the shapes of the functions of the system without compilation."""
    q, v, t = system.shapes
    nq, nv = system.nq, system.nv

    def shape(function, what, *args, lists=False):
        whole = lambda *a: jnp.asarray(returned(function(*a), what, integers=True, lists=lists))
        return outcome(whole, what, *args, p).shape

    M = shape(system.mass_matrix, "mass_matrix(q, t, p)", q, t, lists=True)
    if not (M in ((nv,), (nv, nv)) or (len(M) == 3 and M[0] * M[1] == nv and M[1] == M[2])):
        raise ModelError(
            f"mass_matrix(q, t, p) returns shape {M}, expected ({nv},) diagonal, ({nv}, {nv}) "
            f"dense or (blocks, k, k) with blocks·k = {nv}."
        )
    F = shape(system.force, "force(q, v, t, p)", q, v, t, lists=True)
    if F != (nv,):
        raise ModelError(f"force(q, v, t, p) returns shape {F}, expected ({nv},).")
    for function, what, args, expected in (
        (system.velocity_map, "velocity_map(q, t, p)", (q, t), (nq, nv)),
        (system.offset, "offset(q, t, p)", (q, t), (nq,)),
        (system.retract, "retract(q, dv, t, p)", (q, v, t), (nq,)),
        (system.potential, "potential(q, t, p)", (q, t), ()),
    ):
        if function is not None and (got := shape(function, what, *args)) != expected:
            raise ModelError(f"{what} returns shape {got}, expected {expected}.")


def _copied(p: PyTree) -> PyTree:
    """Return parameters in containers of their own: `model.params["m"] = 2.0` must not change
    dynamics that were bound before.
    """
    return jax.tree_util.tree_map(lambda x: x, p)
