"""A robot as a model: a tree in joint coordinates, its loops and couplings as hard constraints."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Array, Float

from zwang.bodies import BodyTree
from zwang.bodies.body import entry
from zwang.bodies.tree.branching import GROUND
from zwang.compile.compatibility import outside_of_programs
from zwang.dynamics.control_law import AbstractControlLaw
from zwang.dynamics.model import Model
from zwang.equations.constraint import AbstractConstraint, Holonomic
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.files.reading import file_name, shown_path
from zwang.inputs.arguments import flag, function, number
from zwang.inputs.arrays import vector
from zwang.inputs.call import misfits_named
from zwang.mechanism.loop_rows import PARALLEL, decided
from zwang.objects.display import present
from zwang.robots.configuration import configured
from zwang.robots.contacts import left_out, loose_constraints, touching_pairs
from zwang.robots.description import Description, LettingGo
from zwang.robots.exact_loops import chain_of, exact_loops
from zwang.robots.judgement import notes
from zwang.robots.loop_constraints import (
    JointNumbers,
    closing,
    coupled,
    coupling_numbers,
    loop_numbers,
)
from zwang.robots.loop_forces import LoopForces, joint_springs
from zwang.robots.motors import PointTask, free_motors
from zwang.robots.text import parsed
from zwang.servo.feedback import Feedback
from zwang.servo.laws import law
from zwang.simulation.results.presentation import keep_presentation
from zwang.simulation.results.units import force_unit

FORMATS = (".urdf", ".xml", ".mjcf", ".sdf", ".usda", ".yaml", ".yml")
"""File name extensions that `read` accepts."""


@partial(misfits_named, name="robot")
def read(path: Path | str, *, floating: bool | None = None, parallel: float = PARALLEL) -> Robot:
    """Read a robot from URDF, with or without a file of its loops, MJCF, SDF, or USD text.

    Trees, inertias, armature, damping, springs of joints, loops, couplings (equality constraints,
    mimic joints) and actuators are included, constraints as hard ones. Other content of the file is
    listed by `Robot.unsupported`.

    Args:
        path: the file; .urdf, .xml or .mjcf (URDF or MJCF, by its content), .sdf or .usda; or
            the .yaml of loops next to a URDF (`zwang.robots.urdf_loops`).
        floating: whether bodies that no joint carries move freely or are held; the default is that
            of the format: held in URDF and MJCF, free in SDF and USD.
        parallel: angle up to which axes of hinges in a closed loop count as parallel, or as meeting
            in a point [rad]; rows of the loop that are then redundant are dropped and listed by
            `Robot.unsupported`. 0 keeps every row hard.

    Warns:
        UserWarning: for a loop whose axes are off by more, but by so little that exact ones were
            most probably meant.

    Raises:
        ModelError: one sentence for a file that cannot be read.
    """
    path = file_name(path, "robot: path")
    floating = None if floating is None else flag(floating, "robot: floating")
    parallel = number(parallel, "robot: parallel", least=0.0, unit="rad")
    if path.suffix.lower() not in FORMATS:
        raise ModelError(
            f"{shown_path(path)} is no robot file; expected one that ends in {', '.join(FORMATS)}."
        )
    if not os.path.lexists(path):
        raise ModelError(f"there is no file {shown_path(path)}.")
    description = _described(path, floating)
    if not any(b.joints for b in description.branches):
        raise ModelError(
            f"{path}: no joint moves any of the bodies; give a joint, or floating=True."
        )
    description.parallel = parallel
    robot = Robot(description)
    for sentence in robot.warnings:
        warnings.warn(f"{shown_path(path)}: {sentence}.", stacklevel=3)
    return robot


def _described(path: Path, floating: bool | None) -> Description:
    """Read a file by the reader of its format, which its root element determines."""
    if path.suffix.lower() == ".usda":
        from zwang.robots.usd import read as read_usd

        return read_usd(path, floating=floating)
    if path.suffix.lower() in (".yaml", ".yml"):
        from zwang.robots.urdf_loops import read as read_urdf_loops

        return read_urdf_loops(path, floating=floating)
    root = None if path.suffix.lower() == ".sdf" else parsed(path)[1]
    if root is None or root.tag == "sdf":
        from zwang.robots.sdf import read as read_sdf

        return read_sdf(path, floating=floating)
    if root.tag == "robot":
        from zwang.robots.urdf import read as read_urdf

        return read_urdf(path, root, floating=floating)
    if root.tag != "mujoco":
        raise ModelError(
            f"{shown_path(path)}: its root is the element {root.tag:.40}, expected robot (URDF), "
            "mujoco (MJCF) or sdf."
        )
    from zwang.robots.mujoco_reader import read as read_mjcf

    return read_mjcf(path, root, floating=floating)


def _motors(q, t, p):
    return p["actuation"]


class Robot:
    """A robot as a `zw.Model`, in joint coordinates.

        M(q) v̇ = −h(q, v) − D v − K (q − q₀) + B u + Aᵀλ

    Parameters: those of `zwang.bodies.BodyTree`, and `p["damping"]` D [N·m·s/rad, N·s/m], shape
        (nv,); `p["stiffness"]` K [N·m/rad, N/m] and `p["rest"]` q₀, (nq,); `p["actuation"]` B,
        (nv, nu); `p["loops"]` and `p["couplings"]`, frames and weights of the constraints.

    Args:
        description: the result of a reader.

    Attributes:
        tree: the `BodyTree`: frames, Jacobians, mass matrix and bias.
        params: its parameters.
        actuators: names of the file's actuators.
        motors: the motors for `driven` and `law`: the actuators, or, for a file without any, one at
            every joint with one coordinate that carries a body and follows no other joint.
        unsupported: content of the file that this model omits, a sentence each.
        notes: content of the model that may be wrong in the file, or hard to run, a sentence each.
        ranges: least and greatest coordinate [rad, m] by joint, as in the file; the model has no
            limits except by `with_contacts`.
        efforts: largest force or torque [N, N·m] by joint, as in the file, for `zw.servo.Limits`;
            the model has none.
        keyframes: names of the file's configurations, for `state`.
        warnings: loops that are most probably locked by the round-off of their file, a sentence
            each.
        shapes: appearance of bodies, by body a tuple of `Shape`.

    Example:
        >>> arm = zw.robot("ur5.urdf")
        >>> run = zw.simulate(arm.model, arm.start_state.q, arm.start_state.v, duration=1.0)
    """

    def __init__(self, description: Description):
        self.description, self.name = description, description.name
        self.ranges, self.keyframes = dict(description.ranges), tuple(description.keyframes)
        self.efforts = dict(description.efforts)
        self.shapes = {body: tuple(shapes) for body, shapes in description.shapes.items()}
        self.actuators = tuple(description.actuators)
        self.motors = self.actuators or free_motors(description)
        self._given = description
        bare = BodyTree(description.branches, gravity=list(description.gravity))
        exact = exact_loops(description, bare)
        self.description = description = exact.description
        self._others = LoopForces(description, bare)
        self.tree = self._tree()
        chains = [chain_of(self.tree, name, loop) for name, loop in description.loops.items()]
        self._rows = decided(chains, description.parallel)
        self.warnings = (*self._rows.locked, *exact.locked)
        asked = description.letting_go
        listed = description.unsupported if asked is None else left_out(description, asked)
        self.unsupported = (*listed, *self._rows.notes, *exact.notes)
        self.params = {
            **self.tree.params,
            "damping": self.filled(description.damping, "velocity", np.zeros(self.tree.system.nv)),
            "stiffness": self.filled(
                description.stiffness, "coordinate", np.zeros(self.tree.system.nq)
            ),
            "rest": self.filled(description.rest, "coordinate", np.zeros(self.tree.system.nq)),
            "actuation": self._columns(),
            "loops": loop_numbers(description.loops, self._rows),
            "couplings": coupling_numbers(self.filled, description.couplings, self.tree.system.nq),
            **({"forces": self._others.params} if self._others.params else {}),
        }
        followers = {n for x in description.couplings.values() for n in x.first}
        found = notes(self.tree, self.params["damping"], followers)
        self.notes = (*description.notes, *found)

    def __str__(self) -> str:
        """Its coordinates, loops and actuators, and unsupported content of its file."""
        return present("text_of", self, "robot")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return present("notebook_of", self, "robot")

    def filled(self, given: dict, which: str, values: np.ndarray) -> np.ndarray:
        """Put values by joint at their entries of q ("coordinate") or v ("velocity")."""
        for name, x in given.items():
            values[getattr(self.tree, which)(name)] = x
        return values

    def _columns(self) -> np.ndarray:
        if not self.actuators:
            return self.actuation(self.motors)
        B = np.zeros((self.tree.system.nv, len(self.actuators)))
        for i, name in enumerate(self.actuators):
            for joint, gear in self.description.actuators[name].items():
                B[self.tree.velocity(joint), i] = gear
        return B

    def _tree(self) -> BodyTree:
        made, others = self.description, self._others
        dampers = others.force if others.damped else None

        def force(q, v, t, p):
            damped = -p["damping"] * v
            return damped if dampers is None else damped + dampers(q, v, t, p)

        def potential(q, t, p):
            return joint_springs(q, t, p) + others.energy(q, t, p)

        sprung = any(made.stiffness.values())
        return BodyTree(
            made.branches,
            gravity=list(made.gravity),
            armature=made.armature,
            force=force,
            potential=potential if others.stored else joint_springs if sprung else None,
        )

    # --- actuators

    @property
    def actuation_matrix(self) -> np.ndarray:
        """B of the motors: generalized force per unit of each one's force, shape (nv, nu)."""
        return self.params["actuation"]

    def actuation(self, joints: Sequence[str]) -> np.ndarray:
        """B of motors at joints, by name, for files that name no actuators, shape (nv, nu)."""
        B = np.zeros((self.tree.system.nv, 0))
        for name in joints:
            B = np.hstack([B, np.eye(len(B))[:, self.tree.velocity(name)]])
        return B

    def law(
        self,
        name: str,
        target: Mapping[str, Any] | Callable | Sequence[float] | None = None,
        *,
        body: str | None = None,
        offset: Sequence[float] = (0.0, 0.0, 0.0),
        **numbers,
    ) -> AbstractControlLaw:
        """Make a control law by its name in `zw.servo.law`, for `driven(servo=...)`.

        Args:
            name: "gravity compensation", "impedance" or "computed torque".
            target: joint → desired coordinate, a number or a function of time; or, for a `body`,
                the position [m] of its point at `offset` [m] in its own frame, shape (3,), or a
                function of time.
            numbers: further arguments of `zw.servo.law`: stiffness, damping, gains, limits ...
        """
        task: dict[str, Any] = {"target": target}
        if body is not None:
            phi = PointTask(self.tree, int(entry(self.tree._index, body)), offset, target)
            task = {"task": Holonomic(phi, name=body, unit="m")}
        return law(name, self.model, _motors, **task, **{**self._labels, **numbers})

    @cached_property
    def _labels(self) -> dict[str, Any]:
        """Names and units of the motors."""
        system = self.tree.system
        units = [
            force_unit(system.velocity_units[i], system.energy_unit)
            for i in np.argmax(np.abs(self.actuation_matrix), axis=0)
        ]
        return {"actuators": self.motors, "actuator_units": units}

    # --- constraints

    @cached_property
    def constraints(self) -> tuple[AbstractConstraint, ...]:
        """Loops, with one function for those of a kind, and couplings."""
        made: list[AbstractConstraint] = []
        loops = self.description.loops
        for kind in self.params["loops"]:
            # Loops of a kind share one function, so that a hundred compile like one.
            names = [name for name, loop in loops.items() if loop.kind == kind]
            phi = closing(self.tree, kind, self._ends[kind])
            made.append(Holonomic(phi, name=f"loops {kind}", parts=names))
        if self.description.couplings:
            made.append(
                Holonomic(coupled, name="couplings", parts=tuple(self.description.couplings))
            )
        return tuple(made)

    @property
    def _ends(self) -> dict[str, list[tuple[int, int]]]:
        """The two bodies of all loops of each kind."""
        found: dict[str, list[tuple[int, int]]] = {}
        for loop in self.description.loops.values():
            pair = self._body(loop.first[0]), self._body(loop.second[0])
            found.setdefault(loop.kind, []).append(pair)
        return found

    def _body(self, name: str | None) -> int:
        return GROUND if name is None else int(entry(self.tree._index, name))

    @cached_property
    def model(self) -> Model:
        """The robot with its actuators at rest."""
        return self.driven()

    def driven(
        self,
        control: Callable | AbstractControlLaw | None = None,
        *,
        constraints: Sequence[AbstractConstraint] = (),
        params: dict | None = None,
        servo=None,
    ) -> Model:
        """The robot with a control of its actuators, and more constraints or parameters.

        Args:
            control: `(q, v, t, p)` → u, shape (nu,), forces of the `motors` [N, N·m], a control
                law such as `law` makes, or a regulator of `zw.analysis.lqr`; none by default.
            constraints: in addition to its own.
            params: more parameters, by name.
            servo: as in `zw.Model`, in place of `control`.
        """
        if control is not None and servo is not None:
            raise ModelError(
                f"{self.name}: driven has control= and servo=, expected one of them: a model has "
                "one control law."
            )
        if (feedback := getattr(control, "feedback", None)) is not None:
            control = feedback()  # of a regulator
        if isinstance(control, AbstractControlLaw):
            servo = control
        elif control is not None:
            # a law and no force, so that runs record its torques and `zw.Loop` samples them
            given = function(control, "driven: control", "(q, v, t, p) → u")
            servo = Feedback(given, _motors, **self._labels, name="driven: control")
        asked = self.description.letting_go
        loose = [] if asked is None else loose_constraints(self.description, self.tree, asked)
        made = Model(
            self.tree.system,
            [*self.constraints, *loose, *constraints],
            {**self.params, **(params or {})},
            servo=servo,
            name=self.name,
            layout=JointNumbers(self.tree, self._ends),
        )
        # A local variable, so that caches keyed by the model do not keep the robot alive.
        description = self.description
        keep_presentation(made, lambda: present("presentation_of_robot", Robot(description)))
        return made

    def with_contacts(
        self,
        *,
        limits: bool = True,
        friction: bool = True,
        ground: float | None = None,
        grip: float = 0.0,
        restitution: float = 0.0,
        pairs: Sequence[tuple[str, str]] = (),
    ) -> Robot:
        """The robot with inequality constraints and friction, hard even if compliant in its file.

        Args:
            limits, friction: whether joints have their `ranges` and the file's dry friction.
            ground: height of a floor [m] for the file's shapes of contacts, or None.
            grip: coefficient of friction on it.
            restitution: e of joints at their limits, and of bodies, from 0 to 1.
            pairs: pairs of bodies with contacts, smooth (`zwang.bodies.contact`).
        """
        asked = LettingGo(
            flag(limits, "with_contacts: limits"),
            flag(friction, "with_contacts: friction"),
            None if ground is None else number(ground, "with_contacts: ground", unit="m"),
            number(grip, "with_contacts: grip", least=0.0),
            number(restitution, "with_contacts: restitution", least=0.0, most=1.0),
            touching_pairs(self._given, pairs),
        )
        return Robot(dataclasses.replace(self._given, letting_go=asked))

    def state(self, start: Mapping | str | None = None, *, near: Mapping | None = None) -> State:
        """The state at rest with prescribed joints, the others moved until all constraints hold.

        Each correction is the least in the mass metric.

        Args:
            start: coordinates of joints by name, which are held: a number, or a unit quaternion of
                a ball joint; or the name of a configuration of the file, for the nearest one that
                closes.
            near: initial values of further joints, by name; the file's own start by default.

        Raises:
            ModelError: for an unknown name, or if loops and couplings do not allow the held values.
        """
        return configured(self, start, near)

    @cached_property
    def holding(self) -> dict[int, Model]:
        """Models for `state`, by the number of coordinates that they hold."""
        return {}

    @cached_property
    def start_state(self) -> State:
        """The file's configuration, with its loops closed, at rest."""
        with outside_of_programs():
            return self.state()

    def jacobian(self, q, body: str, offset=(0.0, 0.0, 0.0)) -> Float[Array, "6 nv"]:
        """J with J v the velocity [m/s] of a point and the angular velocity [rad/s] of its body.

        The point is at `offset` [m] in the body's own frame; both velocities are in world axes.
        """
        q, offset = (
            vector(q, len(self.tree.home), "jacobian: q"),
            vector(offset, 3, "jacobian: offset"),
        )
        return self.tree.frame_jacobian(q, body, self.params, offset)
