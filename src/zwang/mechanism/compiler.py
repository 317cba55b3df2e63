"""Compilation of a declared mechanism to a `zw.Model`.

Bodies are free, joints and drives are constraints, springs and forces act, actuators are a servo.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from zwang.bodies import BodyTree, PlanarBodies, RigidBodies
from zwang.bodies.rigid import velocity_map
from zwang.dynamics.initial_conditions import mass_is_positive
from zwang.dynamics.model import Model
from zwang.equations.constraint import AbstractConstraint, DryFriction
from zwang.equations.state import State
from zwang.equations.system import System
from zwang.inputs.arithmetic import on_host, xp
from zwang.mechanism.actuation import servo
from zwang.mechanism.contacts import ResolvedContact, resolved_contact
from zwang.mechanism.degrees import in_degrees
from zwang.mechanism.derived_numbers import DerivedNumbers, formulas
from zwang.mechanism.field_types import PartError
from zwang.mechanism.forces import Forces
from zwang.mechanism.gaps import ResolvedGap, resolved_gaps
from zwang.mechanism.geometry import Geometry, geometry_of
from zwang.mechanism.joint_constraints import JointConstraints
from zwang.mechanism.laws import ResolvedLaw, resolved_law
from zwang.mechanism.loop_rows import LoopDecisions, decided
from zwang.mechanism.point_masses import point_masses
from zwang.mechanism.prescribed_motion import drive_constraint, still_drive
from zwang.mechanism.slipping import joint_slip, resolved_slip
from zwang.mechanism.switches import resolved_switches
from zwang.mechanism.tables import splines
from zwang.mechanism.tree import SpanningTree
from zwang.mechanism.turns import CountingSystem
from zwang.objects.display import present
from zwang.servo import Servo
from zwang.simulation.results.presentation import keep_presentation
from zwang.simulation.switching import Switch, keep_switches

if TYPE_CHECKING:
    from zwang.mechanism.mechanism import Mechanism


class _OnTree:
    """Forces and energy of a tree's bodies, functions of its coordinates set once it is built."""

    def __init__(self):
        self.force_on: Callable | None = None
        self.energy: Callable | None = None

    def force(self, q, v, t, p):
        return 0.0 if self.force_on is None else self.force_on(q, v, t, p)

    def potential(self, q, t, p):
        return jnp.zeros(()) if self.energy is None else self.energy(q, t, p)


class _Bodies:
    """`(q, p)` → the coordinates of the bodies in space; a mechanism may have more coordinates."""

    def __init__(self, size: int):
        self.size = size

    def __call__(self, q, p):
        return q[: self.size]


class _Rate:
    """`(q, v, t, p)` → q̇, which may be referenced before all coordinates are known."""

    def __init__(self, bodies: Callable):
        self.of = bodies

    def __call__(self, q, v, t, p):
        return self.of(q, v, t, p)


class CompiledMechanism:
    """The model of a mechanism's declaration; each piece is computed on first access.

    No function of the model refers to the declaration, which holds all its numbers: a compiled
    program is keyed by everything that its functions refer to, and serves other numbers, too.

    Args:
        declared: the mechanism.
    """

    def __init__(self, declared: Mechanism):
        self.declared = declared
        self._on_tree = _OnTree()

    def check(self) -> None:
        """Resolve every joint, drive, force and servo constraint.

        Raises:
            PartError: for an invalid part, by name.
        """
        for name, drive in self.declared.drives.items():
            drive_constraint(name, drive, self.joints, self.rate)
        for name, joint in self.declared.joints.items():
            if joint.friction is not None and self.declared.coordinates == "joint":
                raise PartError(
                    ("joints", name, "friction"),
                    "has the joint's reaction as load, which joint coordinates do not have: give "
                    'coordinates = "maximal".',
                )
        _ = self.joints, self.forces, self.laws, self.gaps, self.servo, self.switches
        _ = self.frictions, self.contacts

    @cached_property
    def geometry(self) -> Geometry:
        """Bodies and points at the rough start."""
        with on_host():
            made = self.declared
            return geometry_of(made.bodies, made.ground, made.d, self.point_masses)

    @cached_property
    def point_masses(self) -> frozenset[str]:
        """Bodies in space that are points with a mass."""
        return point_masses(self.declared)

    @cached_property
    def joints(self) -> JointConstraints:
        """The joints, checked."""
        parameters, geometry, tree = tuple(self.declared.parameters), self.geometry, self.tree
        if tree is not None:
            given: tuple = (tree.poses, tree.entry, tree.tree.system.nq)
        else:
            given = (_Bodies(len(geometry.q)),) if self.declared.d == 3 else ()
        tables = tuple(splines(self.declared.tables, parameters).items())
        joints = self.declared.joints
        return JointConstraints(joints, geometry, parameters, *given, tables=tables)

    @cached_property
    def counting(self) -> CountingSystem | None:
        """The bodies with angles whose turns are counted, or None."""
        _ = self.forces, self.laws, self.gaps, self.servo, self.switches  # they count angles
        added = list(self.joints.turns.added.values())
        if not added:
            return None
        each = [self.joints.up_to_turns(ends) for ends in added]
        angles = lambda q, p: xp.stack([x(q, p) for x in each])
        force = self.forces.force(self.rate)
        made = CountingSystem(self.bodies.system, angles, force, self.forces.potential)
        self.rate.of = made.rate
        return made

    @cached_property
    def system(self) -> System:
        """The bodies, the forces on them, and their coordinates."""
        made = self.counting
        if made is None:
            return self.bodies.system
        return made.system(list(self.joints.turns.added))

    def started(self, q: ArrayLike, turned: dict[int, float]) -> np.ndarray:
        """Convert coordinates of bodies to coordinates of the mechanism.

        Each angle is in the turn of its start value, which `turned` has by entry.
        """
        with on_host():
            params = jax.tree.map(np.asarray, self.params)
            added = self.joints.turns.added.values() if self.counting else ()
            angles = [self.joints.up_to_turns(x)(np.asarray(q), params) for x in added]
        whole = np.concatenate([np.asarray(q), np.array(angles, float)])
        for entry, value in turned.items():
            whole[entry] += 2 * np.pi * np.round((value - whole[entry]) / (2 * np.pi))
        return whole

    @property
    def tree(self) -> SpanningTree | None:
        """The bodies in joint coordinates, or None."""
        return None if self.declared.coordinates == "maximal" else self.spanning

    @cached_property
    def spanning(self) -> SpanningTree:
        """A spanning tree of joints, whatever the coordinates."""
        # Joints need the poses of the tree, and the tree needs the ends of joints. These come from
        # the same mechanism in maximal coordinates.
        joints = self.declared.maximal.compiled.joints
        ends = {n: (x[0].a, x[0].b) for n, x in joints.ends.items() if not joints.kind(n).couples}

        def build(branches):
            return BodyTree(
                branches,
                gravity=(*self.gravity, *(0.0,) * (3 - self.declared.d)),
                force=self._on_tree.force,
                potential=self._on_tree.potential,
            )

        return SpanningTree(self.declared.joints, ends, self.geometry, build)

    @cached_property
    def loops(self) -> LoopDecisions:
        """Decisions about the rows of joints that close loops."""
        return self.decided_loops(self.geometry, self.derived.declared)

    def decided_loops(self, geometry: Geometry, p: dict) -> LoopDecisions:
        """The same for other positions and axes of points, and other options of joints."""
        chains = self.spanning.closed_chains(geometry, lambda n: self.joints.options_of(n, p))
        found = decided(chains, self.declared.parallel)
        if self.tree is not None:
            return found
        # In maximal coordinates exactly redundant rows stay, so that joints share reactions.
        parts = self.declared.bodies, self.declared.ground
        tilts = any({"axis", "x", "angle"} & {*where} for where in formulas(parts))
        return found.whole if tilts else found.inexact

    def kept_rows(self, loops: LoopDecisions) -> dict[str, np.ndarray]:
        """Projectors onto the kept rows, for the kinds of joints that drop any."""
        return self.joints.kept_rows(loops.keep, self.carrying)

    # --- forces

    @cached_property
    def forces(self) -> Forces:
        """Springs, bushings and forces, checked."""
        made = self.declared
        with on_host():
            return Forces(made.springs, made.bushings, made.forces, self.joints)

    @property
    def gravity(self) -> tuple[float, ...]:
        """Acceleration of gravity [m/s²]."""
        d, given = self.declared.d, self.declared.gravity
        return (0.0,) * (d - 1) + (-9.81,) if given is None else given

    @cached_property
    def laws(self) -> list[ResolvedLaw]:
        """Laws between joints, checked."""
        return [resolved_law(name, law, self.joints) for name, law in self.declared.laws.items()]

    @cached_property
    def gaps(self) -> list[ResolvedGap]:
        """Gaps between coordinates of joints, stops, backlash and ropes, checked."""
        return resolved_gaps(self.declared, self.joints)

    @cached_property
    def contacts(self) -> list[ResolvedContact]:
        """Contacts of two shapes, checked."""
        given = self.declared.contacts.items()
        return [resolved_contact(name, x, self.joints, self.rate) for name, x in given]

    @cached_property
    def frictions(self) -> list[DryFriction]:
        """Dry friction with sticking, in joints, of contacts, and between coordinates."""
        made, contacts = self.declared, self.contacts
        rough = [n for n, x in made.joints.items() if x.friction and x.friction.static is not None]
        found = [joint_slip(name, self.joints, self.rate) for name in rough]
        found += [y for x in contacts for y in x.frictions]
        loads = [*made.laws, *(x.name for x in self.gaps)]
        loads += [part for x in contacts for part in x.gap.labels]
        slips = [resolved_slip(n, x, self.joints, loads) for n, x in made.frictions.items()]
        return [*found, *(x.constraint(self.joints, self.rate) for x in slips)]

    @cached_property
    def switches(self) -> tuple[Switch, ...]:
        """Switches of joints, laws and drives, checked."""
        return resolved_switches(self)

    @cached_property
    def servo(self) -> Servo | None:
        """The servo constraints and their actuators, or None."""
        made = self.declared
        names = (*made.joints, *made.laws, *made.drives)
        return servo(made.servo, made.actuators, self.joints, names, self.rate, self._velocities)

    # --- the model

    @cached_property
    def bodies(self) -> PlanarBodies | RigidBodies | BodyTree:
        """The bodies without their constraints."""
        if self.tree is not None:
            if not self._counts:
                if (force := self.forces.force(self.rate)) is not None:
                    self._on_tree.force_on = force
                self._on_tree.energy = self.forces.potential
            return self.tree.tree
        kind, size = (PlanarBodies, 3) if self.declared.d == 2 else (RigidBodies, 6)
        # If angles are counted, forces are added to the whole system.
        force = None if self._counts else self.forces.force(self.rate)
        # Bodies take a wrench each, (bodies, size); a mechanism computes one vector.
        wrench = None if force is None else lambda q, v, t, p: force(q, v, t, p).reshape(-1, size)
        return kind(
            list(self.geometry.bodies),
            gravity=self.gravity,
            wrench=wrench,
            potential=None if self._counts else self.forces.potential,
        )

    @property
    def _counts(self) -> bool:
        _ = self.forces, self.laws, self.gaps, self.servo, self.switches
        return bool(self.joints.turns.added)

    @cached_property
    def rate(self) -> _Rate:
        """`(q, v, t, p)` → q̇."""
        # not the rate of the bodies, whose forces need it
        if self.tree is not None:
            return _Rate(self.tree.tree.system.rate)
        return _Rate(_as_they_are if self.declared.d == 2 else velocity_map.along)

    @property
    def _velocities(self) -> Callable:
        """`q` → number of velocities."""
        nv = len(self.geometry.v) if self.tree is None else self.tree.tree.branching.nv
        return lambda q: nv

    @cached_property
    def params(self) -> dict:
        """Parameters of the model's functions: masses, points, options, springs, kept rows."""
        keep = self.kept_rows(self.loops)
        kept = {"keep": keep} if keep else {}
        return {**kept, **self.bodies.params, **self.derived.declared}

    @cached_property
    def derived(self) -> DerivedNumbers:
        """Parameters that depend on other parameters."""
        return DerivedNumbers(self)

    @cached_property
    def constraints(self) -> tuple[AbstractConstraint, ...]:
        """One constraint for the joints of a kind, then laws, drives, gaps and dry frictions."""
        _ = self._counts  # coordinates are needed below
        drives = [
            drive_constraint(name, drive, self.joints, self.rate)
            for name, drive in self.declared.drives.items()
        ]
        found = self.joints.constraints(self.rate, self.carrying, self.loops.keep)
        laws = [law.constraint(self.joints) for law in self.laws]
        gaps = [gap.constraint(self.joints, self.rate) for gap in self.gaps]
        gaps += [x.gap for x in self.contacts]
        return (*found, *laws, *drives, *gaps, *self.frictions)

    @property
    def carrying(self) -> set[str]:
        """Names of joints that are not constraints."""
        return self.tree.carrying if self.tree is not None else set()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings when the model is made."""
        return (*in_degrees(self.declared), *self.loops.locked)

    @cached_property
    def model(self) -> Model:
        """The mechanism as a `zw.Model`, with its servo if it has one."""
        for sentence in self.warnings:
            warnings.warn(f"{self.declared.name}: {sentence}.", stacklevel=4)
        made = self._model(self.constraints, self.servo)
        # A copy of the declaration, so that caches keyed by the model do not keep it alive.
        declared = dataclasses.replace(self.declared)
        keep_switches(made, self.switches)
        keep_presentation(made, lambda: present("presentation_of_mechanism", declared))
        return made

    @property
    def lasting(self) -> tuple[AbstractConstraint, ...]:
        """Bilateral constraints."""
        return tuple(x for x in self.constraints if not x.level.lets_go)

    @cached_property
    def still(self) -> Model:
        """The mechanism with its drives fixed at t = 0: the constraints on a position."""
        drives, laws = self.declared.drives, self.laws
        if not drives and not laws:
            return self.tied
        stands = [still_drive(name, drive, self.joints) for name, drive in drives.items()]
        joints = self.lasting[: len(self.lasting) - len(drives) - len(laws)]
        stand = [law.constraint(self.joints, time=0.0) for law in laws]
        return self._model([*joints, *stand, *(x for x in stands if x is not None)])

    @cached_property
    def tied(self) -> Model:
        """The mechanism without inequality constraints and friction."""
        held = self.lasting
        return self.model if len(held) == len(self.constraints) else self._model(held)

    def tied_with(self, further: tuple[AbstractConstraint, ...]) -> Model:
        """`tied` with further constraints."""
        return self._model([*self.lasting, *further])

    def still_with(self, further: tuple[AbstractConstraint, ...]) -> Model:
        """`still` with further constraints."""
        return self._model([*self.still.constraints.members, *further])

    def _model(
        self, constraints: Sequence[AbstractConstraint], control: Servo | None = None
    ) -> Model:
        name = self.declared.name
        return Model(
            self.system,
            constraints,
            self.params,
            servo=control,
            singular_mass=self._lacks_mass,
            name=name,
            layout=self.derived if self.derived.is_needed else None,
        )

    @cached_property
    def _lacks_mass(self) -> bool:
        """Return whether M is singular, which a compiled program cannot find out.

        In a tree a massless body moves the bodies that it carries, and M may be positive definite.
        """
        if not self.geometry.lacks_mass or self.tree is None:
            return self.geometry.lacks_mass
        tree = self.tree.tree
        return not mass_is_positive(
            np.asarray(tree.mass_matrix(jnp.asarray(tree.home), self.params))
        )

    # --- where the bodies are

    def body_state(self, q, v) -> State:
        """Coordinates and velocities of all bodies."""
        q, v = jnp.asarray(q), jnp.asarray(v)
        q = q[: self.joints.turns.bodies]
        if self.tree is not None:
            q, v = self.tree.at_bodies(q, v, self.params)
        return State(q, v, jnp.zeros(()))


def _as_they_are(q, v, t, p):
    """q̇ of bodies in the plane."""
    return v
