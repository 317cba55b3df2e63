"""Assembly of a model level by level: `zw.Module` and `zw.Hierarchy`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import PyTree

from zwang.dynamics.control_law import AbstractControlLaw
from zwang.dynamics.model import Model
from zwang.equations.constraint import AbstractConstraint
from zwang.equations.system import System
from zwang.errors import ModelError
from zwang.hierarchy.assembly import Assembled, Interaction, Leaf, Names, Node, unique_names
from zwang.hierarchy.instances import Instances, flattened, merged
from zwang.hierarchy.replicated_constraint import ReplicatedConstraint
from zwang.hierarchy.stacked_parameters import Packing
from zwang.hierarchy.tree_layout import Assembly, ByName, assembly_of
from zwang.inputs.arguments import flag, instance, items, label, listed, mapping, optional_function
from zwang.inputs.call import misfits_named
from zwang.inputs.text import counted

LETS_GO = (
    "{}: {!r} is an inequality or dry friction, which a hierarchy does not support: put "
    "zw.Inequality and zw.DryFriction into a zw.Model of their own coordinates."
)


class Module:
    """Named system that `zw.Hierarchy` assembles.

    Args:
        system: a `zw.System`, a `zw.Lagrangian`, or a `zw.Model`: a gallery model, an imported
            robot, or a `zw.Hierarchy`.
        constraints: constraints within the module, which belong to level 1; those of a `zw.Model`
            are included.
        name: prefix of the names of its coordinates: with "crank", "angle" becomes "crank.angle".
        params: a dict of parameters; for a `zw.Model`, those that differ.

    Modules with the same system and constraints are of one kind: pass the same objects to each,
    with different names and parameters, and they are evaluated together.

    Example:
        >>> crank = zw.Model(bars.system, [pivot], bars.params)
        >>> left = zw.Module(crank, name="left")
        >>> right = zw.Module(crank, name="right", params={"length": 2.0})
    """

    def __init__(
        self,
        system: System | Model,
        constraints: Sequence[AbstractConstraint] = (),
        name: str = "module",
        params: PyTree = None,
    ):
        label(name, "Module: name")
        constraints = items(
            constraints, AbstractConstraint, f"module {name!r}: constraints", "zw.Holonomic(...)"
        )
        instance(system, (System, Model), f"module {name!r}: system", "a zw.System or a zw.Model")
        if isinstance(system, Model):
            if constraints:
                raise ModelError(
                    f"module {name!r}: a model brings its own constraints; give those that are "
                    "added to a zw.Hierarchy."
                )
            model = system if params is None else _with(system, params, name)
        else:
            model = Model(system, constraints, params, name=name)
        # a servo inside a module would not account for the joints between modules
        if model.servo is not None:
            raise ModelError(
                f"module {name!r} has a servo of its own; assemble its passive model, and give "
                "the whole a servo."
            )
        # parameters of all modules are combined in one flat mapping by module and name
        if model.params is not None and not isinstance(model.params, dict):
            raise ModelError(
                f"module {name!r}: params is a {type(model.params).__name__}, expected a dict, "
                "so that each has a name."
            )
        self.model, self.name = model, name

    def __repr__(self) -> str:
        c = self.model.constraints
        return (
            f"Module({self.name!r}: {', '.join(self.model.system.coordinates[:6])}"
            f"{' …' if self.model.system.nq > 6 else ''}; {counted(c.m, 'constraint row')})"
        )


def _with(model: Model, params: PyTree, name: str) -> Model:
    merged = model.merged(params)
    given, known = flattened(merged), flattened(model.params)
    for key in [*given, *known]:
        shapes = [jnp.shape(x[key]) if key in x else "nothing" for x in (given, known)]
        if shapes[0] != shapes[1]:
            raise ModelError(
                f"module {name!r}: parameter {key!r} has shape {shapes[0]}, expected {shapes[1]}."
            )
    return model.with_params(params)


@misfits_named
def Hierarchy(
    levels: Sequence[Sequence],
    *,
    force: Callable | None = None,
    potential: Callable | None = None,
    params: dict | None = None,
    servo: AbstractControlLaw | None = None,
    singular_mass: bool = False,
    name: str = "hierarchy",
) -> Model:
    """Assemble a model from modules, level by level.

        level 1       the modules with their constraints, independent of each other: M and F consist
                      of those of the modules
        level r + 1   A_{r+1} = [A_r; Ã_{r+1}],  b_{r+1} = [b_r; b̃_{r+1}]: constraints that join
                      them

    The result is an ordinary `zw.Model`. The names of coordinates, constraints and parameters of a
    module begin with its name: `leg a.crank.angle`, `p["leg a.crank.mass"]`. A module may be a
    hierarchy itself; its levels are then the lower levels of the whole.

    Args:
        levels: first a list of modules (`zw.Module`, or a `zw.Model`, whose name is then used),
            then a list of constraints for each further level. Their functions access q, v and p by
            name: `q["leg a.crank"]` are the coordinates of a module, `q["leg a.crank.angle"]` is
            one coordinate, `q[["leg a", "leg b"]]` are the coordinates of equal modules, stacked,
            `p["leg a"]` are the parameters of a module, and `v.row({"leg a.crank.angle": 1.0})` is
            a row of A.
        force: `(q, v, t, p)`, by name, → forces between modules [N, N·m …], as a dict by name of
            module or velocity, or a vector (nv,).
        potential: `(q, t, p)`, by name, → potential energy [J] between modules, for example of
            springs; its force is derived.
        params: parameters of these functions, by name.
        servo: a `zw.Servo` of the whole, whose functions also access q, v and p by name.
        singular_mass: as in `zw.Model`; also true if it is true for a module.
        name: name of the whole.

    Raises:
        ModelError: for names that repeat or do not exist, and for levels that are not lists of
            modules and of constraints.

    Reference: Orsino (2017), Proc. R. Soc. A 473, recursive modular modelling, section 2.

    Example:
        >>> def gap(q, t, p):
        ...     return bars.point(q["left"], 0, (1.0, 0.0)) - bars.point(q["right"], 0)
        >>> hinge = zw.Holonomic(gap, name="hinge")
        >>> model = zw.Hierarchy([[left, right], [hinge]], name="two bars")
    """
    _check_arguments(force, potential, params, servo, singular_mass, name)
    modules, added = _checked(levels, name)
    # checked first, because all other names begin with those of the modules
    unique_names([m.name for m in modules])
    nq, nv = [0], [0]
    for m in modules:
        nq.append(nq[-1] + m.model.system.nq)
        nv.append(nv[-1] + m.model.system.nv)
    leaves, interactions, nodes, members = _placed(modules, nq, nv)
    system_names: dict[str, Any] = {
        what: [f"{m.name}.{n}" for m in modules for n in getattr(m.model.system, what)]
        for what in ("coordinates", "velocities")
    }
    units: dict[str, Any] = {
        what: [u for m in modules for u in getattr(m.model.system, what)]
        for what in ("units", "velocity_units")
    }
    nothing = lambda *given: jnp.zeros(())
    # names and sizes only: the functions of the whole need the views by name, which need these
    # sizes
    sizes = System(nq[-1], nothing, nothing, nv=nv[-1], velocity_map=nothing, **system_names)
    names = Names(sizes, nodes)
    whole = _parameters(modules, params, name)
    if force is not None or potential is not None:
        # a spring between modules acts on the whole, once
        interactions.append(Interaction(names, force, potential, Instances.whole(whole)))
    parts = Assembled(merged(leaves), merged(interactions), nq[-1], nv[-1])
    system = System(
        nq[-1],
        parts.mass_matrix,
        parts.force,
        nv=nv[-1],
        velocity_map=parts.velocity_map,
        offset=parts.offset,
        retract=parts.retract,
        potential=parts.potential,
        energy_unit=modules[0].model.system.energy_unit,
        **system_names,
        **units,
    )
    for level in added:
        members.append([ByName(c, names) for c in level])
    of = lambda level: tuple(part for c in level for part in c.parts)
    level_names = tuple(of(level) for level in members)
    own_names = tuple(part for level in added for part in of(level))
    top = Node(
        "",
        len(members),
        own_names,
        tuple(nodes),
        slice(0, nq[-1]),
        slice(0, nv[-1]),
        object(),
        None,
    )
    return Model(
        system,
        [c for level in members for c in level],
        whole,
        servo=None if servo is None else servo.by_name(names, lambda c: ByName(c, names)),
        singular_mass=singular_mass or any(m.model.singular_mass for m in modules),
        name=name,
        layout=Assembly(
            top, level_names, names, parts.leaves, parts.interactions, _packing(parts.leaves)
        ),
    )


def _check_arguments(force, potential, params, servo, singular_mass, name) -> None:
    """Raise an error for arguments of `Hierarchy` of a wrong type."""
    label(name, "Hierarchy: name")
    optional_function(force, "Hierarchy: force", "(q, v, t, p) → forces by name")
    optional_function(potential, "Hierarchy: potential", "(q, t, p) → energy")
    flag(singular_mass, "Hierarchy: singular_mass")
    if params is not None:
        mapping(params, "Hierarchy: params", "name -> number")
    if servo is not None:
        instance(servo, AbstractControlLaw, "Hierarchy: servo", "zw.Servo(constraints, ...)")


class _Placed(NamedTuple):
    """Parts of all modules, and their constraints by level."""

    leaves: list[Leaf]
    interactions: list[Interaction]
    nodes: list[Node]
    members: list[list[AbstractConstraint]]


def _placed(modules: Sequence, nq: Sequence[int], nv: Sequence[int]) -> _Placed:
    """Return all parts at their places in q and v of the whole.

    Args:
        modules: the modules.
        nq, nv: indices at which the coordinates and velocities of each module start.
    """
    leaves, interactions, nodes, depth = [], [], [], 1
    placed: list[list[ReplicatedConstraint]] = []
    for m, q_start, v_start in zip(modules, nq, nv, strict=False):
        at = (m.name, q_start, v_start)
        own = assembly_of(m.model) or _single(m.model)
        leaves += [leaf.at(leaf.instances.moved(*at)) for leaf in own.leaves]
        interactions += [x.at(x.instances.moved(*at)) for x in own.interactions]
        nodes.append(dataclasses.replace(own.top.placed(*at), model=m.model))
        # a module may be a hierarchy itself; its levels remain below the new one
        depth = max(depth, own.top.level)
        # a constraint has the level that it has in its module
        level_of = {part: r for r, names in enumerate(own.levels) for part in names}
        for c in m.model.constraints.members:
            r = level_of[c.parts[0]]
            # lower levels may have been empty so far
            placed += [[] for _ in range(r + 1 - len(placed))]
            known = (
                c
                if isinstance(c, ReplicatedConstraint)
                else ReplicatedConstraint(c, m.model.system, Instances.whole(m.model.params))
            )
            placed[r].append(known.at(known.instances.moved(*at)))
    members: list[list[AbstractConstraint]] = [list(merged(level)) for level in placed]
    # levels without constraints still count, so that the numbering agrees with the tree
    members += [[] for _ in range(depth - len(members))]
    return _Placed(leaves, interactions, nodes, members)


def _single(model: Model) -> Assembly:
    """Return a model that is not assembled, as the only module of itself."""
    s, names = model.system, model.constraints.names
    kind = (id(s), *(id(c) for c in model.constraints.members))
    node = Node("", 1, names, (), slice(0, s.nq), slice(0, s.nv), kind, model)
    return Assembly(node, (names,), Names(s, ()), (Leaf(s, Instances.whole(model.params)),), ())


def _packing(leaves: Sequence[Leaf]) -> Packing:
    """Group the parameters of leaves of one kind, for one array each."""
    several = [leaf.instances for leaf in leaves if len(leaf.instances) > 1]
    return Packing(instances.named(name) for instances in several for name, _ in instances.params)


def _parameters(modules: Sequence[Module], own: dict | None, name: str) -> dict | None:
    joined = {
        f"{m.name}.{key}": value
        for m in modules
        for key, value in flattened(m.model.params).items()
    }
    for key in own or {}:
        # it would shadow the parameter of the module
        if key.split(".")[0] in {m.name for m in modules}:
            raise ModelError(
                f"{name}: parameter {key!r} begins with the name of a module; give it to that "
                "module's params."
            )
    return {**joined, **(own or {})} or None


def _checked(given: object, name: str) -> tuple[list[Module], list[list[AbstractConstraint]]]:
    given = listed(given, f"{name}: levels", "[[module, ...], [constraint, ...], ...]")
    levels: list[Any] = [
        level
        if isinstance(level, (str, bytes, Mapping)) or not isinstance(level, Iterable)
        # generators are read once here and never again
        else tuple(level)
        for level in given
    ]
    if not levels or not all(isinstance(level, tuple) for level in levels) or not levels[0]:
        raise ModelError(
            f"{name}: expected levels = [[module, ...], [constraint, ...], ...]: lists, the "
            "first one of modules."
        )
    modules: list[Any] = [Module(m, name=m.name) if isinstance(m, Model) else m for m in levels[0]]
    for m in modules:
        if not isinstance(m, Module):
            raise ModelError(
                f"{name}: level 1 holds {m!r:.80}, expected zw.Module or zw.Model; constraints "
                "begin at the next level."
            )
        if loose := m.model.constraints.loose:
            raise ModelError(LETS_GO.format(name, loose[0]))
    for r, level in enumerate(levels[1:], start=2):
        for c in level:
            if isinstance(c, AbstractConstraint) and c.level.lets_go:
                raise ModelError(LETS_GO.format(name, c.name))
            if not isinstance(c, AbstractConstraint):
                raise ModelError(
                    f"{name}: list {r} of levels holds {c!r:.80}, expected constraints such as "
                    "zw.Holonomic."
                )
    return modules, [list(level) for level in levels[1:]]
