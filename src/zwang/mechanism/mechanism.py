"""A mechanism: parts in, a model on its constraints out."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import ClassVar, Literal

import jax.numpy as jnp
import numpy as np

from zwang.bodies import BodyTree, PlanarBodies, RigidBodies
from zwang.dynamics.initial_conditions import PlacementError, consistent_state
from zwang.dynamics.model import Model
from zwang.equations.constraint import AbstractConstraint
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.mechanism.actuation import servo
from zwang.mechanism.branches import Branches
from zwang.mechanism.efforts import Efforts
from zwang.mechanism.joints import KINDS
from zwang.mechanism.layout import Layout, lay_out, meant
from zwang.mechanism.pairs import Frames
from zwang.mechanism.parts import (
    STRICT,
    Actuator,
    Begin,
    Bushing,
    Drive,
    Force,
    Joint,
    Link,
    Look,
    Number,
    PartError,
    Point,
    ServoConstraint,
    Settings,
    Spring,
    Vector,
)
from zwang.mechanism.rows import Ends, Joints
from zwang.servo import Servo


class AssemblyError(ModelError):
    """A mechanism cannot be put together.

    Attributes:
        mechanism: the mechanism.
        joint: the joint that stays open most.
        q: where the attempt ended, shape (nq,).
    """

    def __init__(self, message: str, mechanism: Mechanism, joint: str, q: np.ndarray):
        super().__init__(message)
        self.mechanism, self.joint, self.q = mechanism, joint, q


@dataclasses.dataclass(frozen=True)
class Mechanism:
    """Bodies and joints as a model.

    Bodies keep all their coordinates (`zwang.bodies`); joints and drives are constraints, springs
    and forces are forces. Every part has a name, by which results know it. Redundant joints are
    normal. In joint coordinates, joints that span a tree carry the bodies and are no constraints;
    all others are, as before. Both have one motion.

    Args:
        bodies: by name.
        joints: by name, of the kinds in `zwang.mechanism.joints`.
        drives, springs, bushings, forces: by name.
        servo: servo constraints, by name, which the actuators enforce; passive joints react to
            them.
        actuators: by name.
        ground: points of the frame, by name.
        world: "plane" or "space".
        gravity: acceleration of gravity [m/s²]; downwards along the last axis unless given.
        start: where joints start, by name of the joint; the rest is as near to the bodies' rough
            places as the joints allow.
        coordinates: "maximal" (every body's) or "joint".
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
        >>> run = zw.simulate(mechanism.model, mechanism.start_state.q, mechanism.start_state.v, duration=1.0)
    """

    bodies: dict[str, Link]
    joints: dict[str, Joint] = dataclasses.field(default_factory=dict)
    drives: dict[str, Drive] = dataclasses.field(default_factory=dict)
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
    parameters: dict[str, Number] = dataclasses.field(default_factory=dict)
    run: Settings = Settings()
    look: Look = Look()
    name: str = "mechanism"
    description: str = ""
    source: str = ""
    tags: tuple[str, ...] = ()
    __pydantic_config__: ClassVar = STRICT

    def __post_init__(self):
        if not self.bodies:
            raise PartError(("bodies",), "there are no bodies.")
        if self.gravity is not None and len(self.gravity) != self.d:
            raise PartError(("gravity",), f"has {len(self.gravity)} numbers, expected {self.d}.")
        rows = [*self.joints, *self.drives]
        if repeated := {name for name in rows if rows.count(name) > 1}:
            raise PartError(
                ("drives", min(repeated)), "has the name of a joint; give each its own."
            )
        for field, least in (("duration", 0.0), ("rtol", 0.0), ("samples", 1)):
            if not least < (value := getattr(self.run, field)) < np.inf:
                raise PartError(("run", field), f"is {value:g}, expected a number above {least:g}.")
        for i, point in enumerate(self.look.traces):
            self.layout.point(point, ("look", "traces", str(i)))
        for name, drive in self.drives.items():
            self._joints.drive(name, drive, _no_rate)
        for name in self.start:
            if name not in self.joints:
                raise PartError(
                    ("start", name), f"there is no joint {name!r}{meant(name, self.joints)}"
                )
            self._joints.of(name, None, ("start", name))
        _ = self._efforts, self._servo

    @property
    def d(self) -> int:
        """2 in the plane, 3 in space."""
        return 2 if self.world == "plane" else 3

    @cached_property
    def layout(self) -> Layout:
        """Bodies and points at the rough start."""
        return lay_out(self.bodies, self.ground, self.d)

    @cached_property
    def _joints(self) -> Joints:
        formulas = tuple(self.parameters)
        if self._branches is None:
            return Joints(self.joints, self.layout, formulas)
        return Joints(self.joints, self.layout, formulas, self._branches.poses)

    @cached_property
    def maximal(self) -> Mechanism:
        """The same with all coordinates of its bodies."""
        return (
            self
            if self.coordinates == "maximal"
            else dataclasses.replace(self, coordinates="maximal")
        )

    @cached_property
    def _branches(self) -> Branches | None:
        """The bodies in joint coordinates, or None."""
        if self.coordinates == "maximal":
            return None
        ends = {
            n: (x[0].a, x[0].b)
            for n, x in self.maximal._joints.ends.items()
            if not KINDS[self.joints[n].kind].couples
        }

        def build(branches):
            return BodyTree(
                branches,
                gravity=(*self._gravity, *(0.0,) * (3 - self.d)),
                force=self._further,
                potential=self._potential,
            )

        return Branches(self.joints, ends, self.layout, build)

    def frames(self, q) -> Frames:
        """Where all points are, in the order of `layout`."""
        return self._joints.frames(q, self.params)

    def body_state(self, q, v) -> State:
        """Coordinates and velocities of all bodies, as `maximal` has them."""
        if self._branches is None:
            return State(jnp.asarray(q), jnp.asarray(v), jnp.zeros(()))
        places, rates = self._branches.at_bodies(jnp.asarray(q), jnp.asarray(v), self.params)
        return State(places, rates, jnp.zeros(()))

    @cached_property
    def _efforts(self) -> Efforts:
        return Efforts(self.springs, self.bushings, self.forces, self._joints)

    @property
    def _gravity(self) -> Vector:
        return (0.0,) * (self.d - 1) + (-9.81,) if self.gravity is None else self.gravity

    def _further(self, q, v, t, p):
        """Generalized force of dampers and forces; made when it is first traced, because it takes
        coordinates that it acts on.
        """
        force = self._efforts.force(self._rate)
        return 0.0 if force is None else force(q, v, t, p)

    def _potential(self, q, t, p):
        energy = self._efforts.potential
        return jnp.zeros(()) if energy is None else energy(q, t, p)

    @cached_property
    def _servo(self) -> Servo | None:
        taken = (*self.joints, *self.drives)
        return servo(
            self.servo,
            self.actuators,
            self._joints,
            taken,
            self._rate,
            lambda: self._bodies.system.nv,
        )

    @cached_property
    def _bodies(self) -> PlanarBodies | RigidBodies | BodyTree:
        if self._branches is not None:
            return self._branches.tree
        kind, size = (PlanarBodies, 3) if self.d == 2 else (RigidBodies, 6)
        force = self._efforts.force(self._rate)
        wrench = None if force is None else lambda q, v, t, p: force(q, v, t, p).reshape(-1, size)
        return kind(
            list(self.layout.bodies),
            gravity=self._gravity,
            wrench=wrench,
            potential=self._efforts.potential,
        )

    def _rate(self, q, v, t, p):
        """q̇."""
        return self._bodies.system.rate(q, v, t, p)

    @cached_property
    def params(self) -> dict:
        """What the model's functions are handed: masses, places of points, sizes of joints,
        springs, parameters of formulas.
        """
        places = {"offset": self.layout.offset, "orientation": self.layout.orientation}
        return {
            **self._bodies.params,
            **places,
            "sizes": self.maximal._joints.sizes(
                self.layout.q, {k: np.asarray(x) for k, x in places.items()}
            ),
            "springs": self._efforts.params,
            "parameters": dict(self.parameters),
        }

    @cached_property
    def constraints(self) -> tuple[AbstractConstraint, ...]:
        """Joints of a kind under one function, then drives."""
        drives = [
            self._joints.drive(name, drive, self._rate) for name, drive in self.drives.items()
        ]
        carrying = self._branches.carrying if self._branches else ()
        return (*self._joints.constraints(self._rate, carrying), *drives)

    @cached_property
    def model(self) -> Model:
        """The mechanism as a `zw.Model`, with its servo if it has one."""
        return self._model((), self._servo)

    def _model(self, held: tuple[AbstractConstraint, ...], control: Servo | None = None) -> Model:
        return Model(
            self._bodies.system,
            [*self.constraints, *held],
            self.params,
            servo=control,
            name=self.name,
        )

    def ends(self, name: str) -> Ends:
        """The two points of a joint, of the first one that it couples, or of a drive's joint.

        Raises:
            PartError: if there is no such joint or drive.
        """
        joint = self.drives[name].joint if name in self.drives else name
        if joint not in self.joints:
            raise PartError(
                (), f"there is no joint {name!r}{meant(name, [*self.joints, *self.drives])}"
            )
        return self._joints.ends[joint][0]

    @cached_property
    def start_state(self) -> State:
        """The mechanism put together: positions first, then velocities, least moved from the rough
        start in the mass metric.

        Raises:
            AssemblyError: if it cannot be, with the joint that stays open most.
        """
        if self._branches is not None:
            points = {"offset": self.layout.offset, "orientation": self.layout.orientation}
            state = self._branches.joint_state(self.maximal.start_state, points)
            return self._placed((), state.q, state.v)
        ends = {name: self._joints.of(name, None, ("start", name)) for name in self.start}
        values = [(n, x.value) for n, x in self.start.items() if x.value is not None]
        rates = [(n, x.rate) for n, x in self.start.items() if x.rate is not None]
        q, v = self.layout.q, self.layout.v
        if values:
            q = self._placed(
                tuple(self._joints.start_value(n, ends[n], x) for n, x in values), q, 0 * v
            ).q
        return self._placed(
            tuple(self._joints.start_rate(n, ends[n], x, self._rate) for n, x in rates), q, v
        )

    def _placed(self, held: tuple[AbstractConstraint, ...], q, v) -> State:
        model = self._model(held) if held else self.model.passive
        try:
            return consistent_state(model, q, v).state
        except PlacementError as error:
            raise self._unplaced(model, error.placement.state) from None

    def _unplaced(self, model: Model, state: State) -> AssemblyError:
        """The error of an assembly that ended in a state."""
        c = model.constraints
        phi = np.zeros(c.m)
        phi[c.position_rows] = np.abs(c.position_residual(state.q, state.t, model.params))
        psi = np.zeros(c.m)
        psi[c.velocity_rows] = np.abs(c.velocity_residual(state.q, state.v, state.t, model.params))
        open_ = phi if phi.max(initial=0.0) > 1e-9 else psi
        worst = max(c.row_slices, key=lambda n: float(open_[c.row_slices[n]].max(initial=0.0)))
        what = "stays open by" if open_ is phi else "has its rate off by"
        size = open_[c.row_slices[worst]].max()
        joint = self.joints.get(worst)
        between = (
            f" between {' and '.join(joint.between)}" if joint is not None and joint.between else ""
        )
        return AssemblyError(
            f"{self.name} cannot be put together: {worst!r}{between} {what} {size:.3g} at best; "
            "check lengths and joints, or start from a closer guess.",
            self,
            worst,
            np.asarray(state.q),
        )


def _no_rate(q, v, t, p):
    raise NotImplementedError
