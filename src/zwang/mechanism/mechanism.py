"""A mechanism as declared in a file or in Python, with its model and its start."""

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
    """Positions of a mechanism's parts.

    Attributes:
        points: all points, in the order of `geometry`.
        bodies: coordinates of all bodies, as `Mechanism.maximal` has them.
    """

    points: Frames
    bodies: Float[Array, " nq"]


MOST_PLACED_BY_NUMPY = 500
"""Number of configurations of a tree of bodies from which on NumPy, with a millisecond each, takes
longer than the compilation of a program.
"""


def _placed(frames, body_state, params, still, q) -> Placed:
    return Placed(frames(q, params), body_state(q, still).q)


def same_numbers(x, y) -> bool:
    """Return whether two trees of parameters hold the same numbers."""
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
"""Parts of a mechanism by name, and their classes."""


@dataclasses.dataclass(frozen=True)
class Mechanism:
    """Bodies and joints as a model.

    Bodies keep all their coordinates (`zwang.bodies`); joints and drives are constraints, springs
    and forces are forces. Every part has a name, which results use. Joints may be redundant. In
    joint coordinates a spanning tree of joints carries the bodies and is no constraint; all other
    joints are. Both kinds of coordinates give the same motion.

    Args:
        bodies: by name.
        joints: by name, of the kinds in `zwang.mechanism.KINDS`.
        drives, springs, bushings, forces: by name.
        laws: relations between coordinates of several joints, by name.
        gaps: unilateral conditions on such coordinates, by name: walls, backlash.
        ropes: ropes over points, which only pull, by name.
        contacts: contacts of two shapes, by name.
        frictions: dry friction between such coordinates, by name: brakes, clutches, slipping
            drives, wheels on the ground.
        switches: when joints, laws and drives hold, by their names; `zw.simulate` takes them.
        tables: functions for formulas, by name.
        servo: servo constraints, by name, which the actuators enforce; passive joints react to
            them.
        actuators: by name.
        ground: points of the frame, by name.
        world: "plane" or "space".
        gravity: acceleration of gravity [m/s²]; by default 9.81 downwards along the last axis.
        start: initial values of joints, by name of the joint, or of its coordinate ("shaft.first")
            if it has several; the rest is as near to the bodies' rough positions as the joints
            allow.
        coordinates: "maximal" (every body's) or "joint".
        parallel: angle up to which axes of joints in a closed loop count as parallel, or as meeting
            in a point [rad] (`zwang.mechanism.loop_rows`); 0 keeps every row of every joint.
        parameters: numbers for formulas, by name; traced, so that other values compile nothing.
        run, look: how to run and draw it.
        name, description, source, tags: texts for readers, without effect on the model.

    Raises:
        PartError: for an invalid part, by name.
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
        """Raise for a value of a wrong type; the schema checks files, but not Python arguments."""
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
        return present("text_of", self, "mechanism")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return present("notebook_of", self, "mechanism")

    @property
    def notes(self) -> tuple[str, ...]:
        """Suspicious data in the model, a sentence each.

        They are moments of inertia that no body can have, which are used unchanged, as in robot
        files; and axes of loops with deviations above round-off, with the angle, whose rows were
        dropped.
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
        """The compiled mechanism: joints, tree, forces, servo, and model."""
        return CompiledMechanism(self)

    @cached_property
    def maximal(self) -> Mechanism:
        """The same mechanism with all coordinates of its bodies."""
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
        """Parameters of the model's functions.

        They are masses, positions of points, options of joints, springs, parameters of formulas.
        """
        return self.compiled.params

    def with_params(self, params: dict) -> Mechanism:
        """Return the mechanism with other numbers in its model, as `params` of a run set them.

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
        """Return the mechanism with the parameters of a run, whose model may have further ones."""
        given, own = run.flow.dynamics.p, self.params
        changed = {n: given[n] for n in own if n in given and not same_numbers(given[n], own[n])}
        return self.with_params(changed) if changed else self

    @property
    def constraints(self) -> tuple[AbstractConstraint, ...]:
        """Constraints: one function for the joints of a kind, then drives."""
        return self.compiled.constraints

    @cached_property
    def start_state(self) -> State:
        """The assembled start, nearest to the rough start: positions, then velocities.

        The distance of velocities is measured in the mass metric.

        Raises:
            AssemblyError: if it cannot be assembled, with the joint of the largest residual.
        """
        idle = idle_at_start(self.switches)
        if not idle:
            with outside_of_programs():
                return assemble(self)
        # Parts that do not hold at the start are left out, and so are inequalities and friction.
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
        """Frames of all points, in the order of `geometry`."""
        return self.compiled.joints.frames(q, self.params)

    def placed(self, q) -> Placed:
        """Positions of points and bodies in many configurations, shape (n, nq).

        They are computed on the host, or traced if q is.
        """
        made, tree = self.compiled, self.compiled.tree
        still = np.zeros(len(made.geometry.v) if tree is None else tree.tree.branching.nv)
        if not is_concrete(q) or (tree is not None and len(q) > MOST_PLACED_BY_NUMPY):
            return mapped(_placed, (made.joints.frames, made.body_state, self.params, still), q)
        q = np.asarray(q, float)
        # Without a tree the first entries of q are those of the bodies.
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
