"""A mechanism as a file or Python declares it, and what it becomes: its model and its start."""

from __future__ import annotations

import copy
import dataclasses
import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float

from zwang.bodies.inertia import NO_BODY, impossible
from zwang.compile.blocks import mapped
from zwang.compile.compatibility import outside_of_programs
from zwang.dynamics.model import Model
from zwang.equations.constraint import AbstractConstraint
from zwang.equations.state import State
from zwang.inputs.arguments import (
    choice,
    instance,
    label,
    mapping,
    named,
    number,
    real_array,
    refuse,
)
from zwang.inputs.arithmetic import on_host
from zwang.inputs.arrays import host_array, is_concrete
from zwang.inputs.suggestions import did_you_mean
from zwang.mechanism.assembly import assemble, start_ends
from zwang.mechanism.compiler import CompiledMechanism
from zwang.mechanism.contact_schema import Contact, Gap, Rope, Slip
from zwang.mechanism.field_types import STRICT, Number, PartError, Vector
from zwang.mechanism.geometry import Geometry
from zwang.mechanism.loop_rows import PARALLEL
from zwang.mechanism.relative_pose import Frames
from zwang.mechanism.resolution import Ends
from zwang.mechanism.schema import (
    Actuator,
    Begin,
    Bushing,
    Drive,
    Force,
    Joint,
    Law,
    Link,
    Look,
    Point,
    ServoConstraint,
    Settings,
    Spring,
    Table,
    Toggle,
)
from zwang.mechanism.switches import idle_at_start
from zwang.objects.display import present
from zwang.simulation.switching import keep_switches

if TYPE_CHECKING:
    from zwang.simulation.results import Run


class Placed(NamedTuple):
    """Where a mechanism's parts are.

    Attributes:
        points: all points, in the order of `geometry`.
        bodies: coordinates of all bodies, as `Mechanism.maximal` has them.
    """

    points: Frames
    bodies: Float[Array, " nq"]


MOST_PLACED_BY_NUMPY = 500
"""Configurations from which on those of a tree of bodies take longer by NumPy, a millisecond each,
than a program takes to compile."""


def _placed(frames, body_state, params, still, q) -> Placed:
    return Placed(frames(q, params), body_state(q, still).q)


def same_numbers(x, y) -> bool:
    """Whether two trees of parameters hold the same numbers."""
    alike = jax.tree.map(np.shape, x) == jax.tree.map(np.shape, y)
    return alike and jax.tree.all(jax.tree.map(np.array_equal, x, y))


PARTS: dict[str, type] = {
    "bodies": Link,
    "joints": Joint,
    "drives": Drive,
    "laws": Law,
    "gaps": Gap,
    "ropes": Rope,
    "contacts": Contact,
    "frictions": Slip,
    "switches": Toggle,
    "tables": Table,
    "springs": Spring,
    "bushings": Bushing,
    "forces": Force,
    "start": Begin,
    "servo": ServoConstraint,
    "actuators": Actuator,
}
"""Parts of a mechanism by name, and what each of them is."""


@dataclasses.dataclass(frozen=True)
class Mechanism:
    """Bodies and joints as a model.

    Bodies keep all their coordinates (`zwang.bodies`); joints and drives are constraints, springs
    and forces are forces. Every part has a name, by which results know it. Redundant joints are
    normal. In joint coordinates, joints that span a tree carry the bodies and are no constraints;
    all others are, as before. Both have one motion.

    Args:
        bodies: by name.
        joints: by name, of the kinds in `zwang.mechanism.KINDS`.
        drives, springs, bushings, forces: by name.
        laws: relations between coordinates of several joints, by name.
        gaps: what may open and close between such coordinates, by name: walls, play.
        ropes: what pulls only, over points, by name.
        contacts: shapes that touch each other, by name.
        frictions: dry friction between such coordinates, by name: brakes, clutches, drives that
            give way, wheels on the ground.
        switches: when joints, laws and drives hold, by their names; `zw.simulate` takes them.
        tables: functions that formulas may call, by name.
        servo: servo constraints, by name, which the actuators enforce; passive joints react to
            them.
        actuators: by name.
        ground: points of the frame, by name.
        world: "plane" or "space".
        gravity: acceleration of gravity [m/s²]; by default 9.81 downwards along the last axis.
        start: where joints start, by name of the joint, or of its coordinate ("shaft.first") where
            it has several; the rest is as near to the bodies' rough places as the joints allow.
        coordinates: "maximal" (every body's) or "joint".
        parallel: angle up to which axes of joints in a closed loop count as parallel, or as meeting
            in a point [rad] (`zwang.mechanism.loop_rows`); 0 keeps every row of every joint.
        parameters: numbers for formulas, by name; traced, so that other ones compile nothing.
        run, look: how to run and draw it.
        name, description, source, tags: for people.

    Raises:
        PartError: for a part that makes no sense, naming it.
    Example:
        >>> mechanism = Mechanism(
        ...     bodies={"rod": Link(length=1.0, angle=0.5)},
        ...     joints={"pivot": Joint("revolute", between=("ground", "rod.start"))},
        ... )
        >>> start = mechanism.start_state
        >>> run = zw.simulate(mechanism.model, start.q, start.v, duration=1.0)
    """

    bodies: dict[str, Link]
    joints: dict[str, Joint] = dataclasses.field(default_factory=dict)
    drives: dict[str, Drive] = dataclasses.field(default_factory=dict)
    laws: dict[str, Law] = dataclasses.field(default_factory=dict)
    gaps: dict[str, Gap] = dataclasses.field(default_factory=dict)
    ropes: dict[str, Rope] = dataclasses.field(default_factory=dict)
    contacts: dict[str, Contact] = dataclasses.field(default_factory=dict)
    frictions: dict[str, Slip] = dataclasses.field(default_factory=dict)
    switches: dict[str, Toggle] = dataclasses.field(default_factory=dict)
    tables: dict[str, Table] = dataclasses.field(default_factory=dict)
    springs: dict[str, Spring] = dataclasses.field(default_factory=dict)
    bushings: dict[str, Bushing] = dataclasses.field(default_factory=dict)
    forces: dict[str, Force] = dataclasses.field(default_factory=dict)
    servo: dict[str, ServoConstraint] = dataclasses.field(default_factory=dict)
    actuators: dict[str, Actuator] = dataclasses.field(default_factory=dict)
    ground: dict[str, Point | Vector] = dataclasses.field(default_factory=dict)
    world: Literal["plane", "space"] = "plane"
    gravity: Vector | None = None
    start: dict[str, Begin] = dataclasses.field(default_factory=dict)
    coordinates: Literal["maximal", "joint"] = "maximal"
    parallel: Number = PARALLEL
    parameters: dict[str, Number] = dataclasses.field(default_factory=dict)
    run: Settings = Settings()
    look: Look = Look()
    name: str = "mechanism"
    description: str = ""
    source: str = ""
    tags: tuple[str, ...] = ()
    __pydantic_config__: ClassVar = STRICT

    def __post_init__(self):
        self._refuse_kinds()
        if not self.bodies:
            raise PartError(("bodies",), "there are no bodies.")
        if self.gravity is not None and len(self.gravity) != self.d:
            raise PartError(("gravity",), f"has {len(self.gravity)} numbers, expected {self.d}.")
        tables = ("drives", "frictions", "contacts", "ropes", "gaps", "laws")
        rows = [*self.joints, *(name for table in tables for name in getattr(self, table))]
        if repeated := {name for name in rows if rows.count(name) > 1}:
            table = next(x for x in tables if min(repeated) in getattr(self, x))
            other = "law" if min(repeated) not in self.joints else "joint"
            raise PartError(
                (table, min(repeated)), f"has the name of a {other}; give each its own."
            )
        for field, least in (("duration", 0.0), ("rtol", 0.0), ("samples", 1)):
            if not least < (value := getattr(self.run, field)) < np.inf:
                raise PartError(("run", field), f"is {value:g}, expected a number above {least:g}.")
        for i, point in enumerate(self.look.traces):
            self.geometry.point(point, ("look", "traces", str(i)))
        start_ends(self)
        self.compiled.check()

    def _refuse_kinds(self) -> None:
        """Raise for what is of a wrong kind; files are checked by the schema, Python is not."""
        said = "Mechanism: {}".format
        for name, kind in PARTS.items():
            named(getattr(self, name), kind, said(name), f"{kind.__name__}(...)")
        for name, kind in (("run", Settings), ("look", Look)):
            instance(getattr(self, name), kind, said(name), f"{kind.__name__}(...)")
        for name in ("ground", "parameters"):
            mapping(getattr(self, name), said(name), "{'name': 1.0}")
        for key, x in self.parameters.items():
            real_array(x, said(f"parameters[{key!r}]"))
        for key, x in self.ground.items():
            if not isinstance(x, Point):
                real_array(x, said(f"ground[{key!r}]"), "numbers of a point")
        choice(self.world, said("world"), ("plane", "space"))
        choice(self.coordinates, said("coordinates"), ("maximal", "joint"))
        number(self.parallel, said("parallel"), least=0.0, unit="rad")
        if self.gravity is not None and np.ndim(real_array(self.gravity, said("gravity"))) != 1:
            refuse(said("gravity"), self.gravity, f"{self.d} numbers")
        label(self.name, said("name"))

    def __str__(self) -> str:
        """Its bodies and joints, with masses and inertias."""
        return present("text_of_mechanism", self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return present("notebook_of_mechanism", self)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is in the model and looks wrong, a sentence each: moments of inertia that no body
        has, which are taken as they stand, as in robot files; axes of loops that are off by more
        than round-off, with the angle, whose rows were taken out.
        """
        found = []
        for body in self.geometry.bodies if self.d == 3 else ():
            own = np.asarray(body.inertia, float)
            moments = impossible(body.mass, np.diag(own) if own.ndim == 1 else own)
            if moments is not None:
                found.append(f"{body.name} ({', '.join(f'{x:.3g}' for x in moments)} kg·m²)")
        loops = self.compiled.loops.notes
        return (f"{NO_BODY}: {'; '.join(found)}", *loops) if found else loops

    @property
    def d(self) -> int:
        """2 in the plane, 3 in space."""
        return 2 if self.world == "plane" else 3

    @cached_property
    def compiled(self) -> CompiledMechanism:
        """What it becomes: joints, tree, forces, servo, and the model of them."""
        return CompiledMechanism(self)

    @cached_property
    def maximal(self) -> Mechanism:
        """The same with all coordinates of its bodies."""
        if self.coordinates == "maximal":
            return self
        return dataclasses.replace(self, coordinates="maximal")

    @property
    def geometry(self) -> Geometry:
        """Bodies and points at the rough start."""
        return self.compiled.geometry

    @property
    def layout(self) -> Geometry:
        """The old name of `geometry`."""
        warnings.warn("Mechanism.layout is now geometry.", DeprecationWarning, stacklevel=2)
        return self.geometry

    @property
    def model(self) -> Model:
        """The mechanism as a `zw.Model`, with its servo if it has one."""
        return self.compiled.model

    @property
    def params(self) -> dict:
        """Parameters of the model's functions: masses, places of points, options of joints,
        springs, parameters of formulas.
        """
        return self.compiled.params

    def with_params(self, params: dict) -> Mechanism:
        """The same mechanism with other numbers in its model, as `params` of a run are to it.

        Args:
            params: parameters that differ, as in `zw.simulate`.

        Raises:
            ModelError: for a name or shape that the model does not have.
        """
        model = self.model.with_params(params)
        keep_switches(model, self.compiled.switches)
        compiled = copy.copy(self.compiled)
        found = model.parameters()
        with on_host():
            geometry = compiled.derived.geometry(found["parameters"])
            placed = {x: np.asarray(found[x]) for x in ("offset", "orientation")}
            geometry = dataclasses.replace(geometry, **placed)
        loops = compiled.decided_loops(geometry, found)
        vars(compiled).update(params=found, model=model, geometry=geometry, loops=loops)
        other = copy.copy(self)
        vars(other).pop("maximal", None)
        vars(other)["compiled"] = compiled
        if self.coordinates == "joint":
            tree = self.compiled.tree
            assert tree is not None
            of_bodies = tree.of_bodies(found, self.maximal.params)
            vars(other)["maximal"] = self.maximal.with_params(of_bodies)
        return other

    def of_run(self, run: Run) -> Mechanism:
        """The mechanism with the parameters of a run, whose model may have more of its own."""
        given, own = run.flow.dynamics.p, self.params
        changed = {n: given[n] for n in own if n in given and not same_numbers(given[n], own[n])}
        return self.with_params(changed) if changed else self

    @property
    def constraints(self) -> tuple[AbstractConstraint, ...]:
        """Joints of a kind under one function, then drives."""
        return self.compiled.constraints

    @cached_property
    def start_state(self) -> State:
        """The mechanism put together: positions first, then velocities, least moved from the rough
        start in the mass metric.

        Raises:
            AssemblyError: if it cannot be, with the joint that stays open most.
        """
        idle = idle_at_start(self.switches)
        if not idle:
            with outside_of_programs():
                return assemble(self)
        # what does not hold at the start is not there, nor what may let go of it
        parts = ("joints", "laws", "drives")
        held = {x: {n: y for n, y in getattr(self, x).items() if n not in idle} for x in parts}
        loose = {x: {} for x in ("switches", "gaps", "ropes", "contacts", "frictions")}
        found = dataclasses.replace(self, **loose, **held).start_state
        if len(found.q) != self.model.system.nq:
            raise PartError(
                ("switches", idle[0]),
                "does not hold at the start and counts turns of an angle that nothing else counts; "
                "give initially = true: give that joint a spring, a law or a force by its angle as "
                "well.",
            )
        return found

    def frames(self, q) -> Frames:
        """Where all points are, in the order of `geometry`."""
        return self.compiled.joints.frames(q, self.params)

    def placed(self, q) -> Placed:
        """Where points and bodies are in many configurations, shape (n, nq): on the host, or traced
        where q is.
        """
        made, tree = self.compiled, self.compiled.tree
        still = np.zeros(len(made.geometry.v) if tree is None else tree.tree.branching.nv)
        if not is_concrete(q) or (tree is not None and len(q) > MOST_PLACED_BY_NUMPY):
            return mapped(_placed, (made.joints.frames, made.body_state, self.params, still), q)
        q = np.asarray(q, float)
        # without a tree the first ones of q are those of the bodies
        places = q[:, : made.joints.turns.bodies]
        params = jax.tree.map(np.asarray, self.params)
        with on_host():
            found = [made.joints.frames(x, params) for x in q]
            if tree is not None:
                places = np.stack([tree.body_state(x, still, params)[0] for x in q])
        frames: list[Any] = [np.stack(x) for x in zip(*found, strict=True)]
        return Placed(Frames(*frames), host_array(places))

    def body_state(self, q, v) -> State:
        """Coordinates and velocities of all bodies, as `maximal` has them."""
        return self.compiled.body_state(q, v)

    def ends(self, name: str) -> Ends:
        """The two points of a joint, of the first one that it couples, or of a drive's joint.

        Raises:
            PartError: if there is no such joint or drive.
        """
        if name in self.drives:
            return self.compiled.joints.acted_on(self.drives[name], ("drives", name))
        if name not in self.joints:
            known = [*self.joints, *self.drives]
            raise PartError((), f"there is no joint {name!r}{did_you_mean(name, known)}")
        return self.compiled.joints.ends[name][0]
