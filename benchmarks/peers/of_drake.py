"""Drake: `MultibodyPlant` in discrete time with SAP, the only mode that takes constraints; loops
closed by ball constraints.
"""

from __future__ import annotations

import numpy as np

from benchmarks.peers.peer import STEPS, Outcome, Peer, coordinates, steps, timed, turned
from benchmarks.peers.problems import GROUND, Linkage, RodChain, instants

THIN = 1e-3
"""Inertia of a rod about its own axis beside that about the others; Drake refuses none, and it is
never felt.
"""


class Drake(Peer):
    key, title, package, module = "drake", "Drake, SAP", "drake", "pydrake"
    how = (
        "MultibodyPlant in discrete time, SAP, revolute joints and ball constraints, its "
        "compiled Simulator"
    )
    knob = "step [s]"

    def settings(self, problem):
        return STEPS

    def prepare(self, problem, setting):
        from pydrake.systems.analysis import Simulator

        diagram, plant, bodies, start = self.built(problem, steps(problem, setting)[1])
        times = instants(problem)
        read = _ends if isinstance(problem, RodChain) else _poses

        def go():
            simulator = Simulator(diagram)
            context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
            for joint, rate in start:
                joint(context, rate)
            simulator.Initialize()
            seen = [read(problem, plant, context, bodies)]
            for t in times[1:]:
                simulator.AdvanceTo(t)
                seen.append(read(problem, plant, context, bodies))
            places, rates = (np.array(x) for x in zip(*seen, strict=True))
            if isinstance(problem, RodChain):
                return Outcome(places, rates)
            return coordinates(problem, turned(places, problem.pose), rates)

        return go

    def built(self, problem, h):
        """Diagram, plant, bodies and what sets the start."""
        from pydrake.math import RigidTransform, RotationMatrix
        from pydrake.multibody.plant import DiscreteContactApproximation, MultibodyPlant
        from pydrake.systems.framework import DiagramBuilder

        builder = DiagramBuilder()
        plant = builder.AddSystem(MultibodyPlant(h))
        plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
        if isinstance(problem, RodChain):
            bodies, start = _chain(plant, problem, RigidTransform)
        else:
            bodies, start = _linkage(plant, problem, RigidTransform, RotationMatrix)
        plant.Finalize()
        _motors(builder, plant, problem)
        return builder.Build(), plant, bodies, start

    def evaluation(self, problem):
        from pydrake.systems.analysis import Simulator

        diagram, *_ = self.built(problem, 1e-3)
        simulator = Simulator(diagram)
        simulator.Initialize()
        done = [0]

        def step():
            done[0] += 1
            simulator.AdvanceTo(1e-3 * done[0])

        return "step of 1 ms", timed(step)


def _linkage(plant, problem: Linkage, RigidTransform, RotationMatrix):
    """A body for each bar, framed at its center of mass; joints at the start's angles are zero."""
    from pydrake.multibody.tree import RevoluteJoint, SpatialInertia, UnitInertia

    plant.mutable_gravity_field().set_gravity_vector([0, -problem.gravity, 0])
    bodies, start = {GROUND: plant.world_body()}, []
    carried, loops = problem.tree()
    rate = lambda body: 0.0 if body == GROUND else problem.rate[body][2]
    angle = lambda body: 0.0 if body == GROUND else problem.pose[body][2]
    for body, pin in carried:
        m, J = problem.mass[body], problem.inertia[body]
        bodies[body] = plant.AddRigidBody(
            f"body {body}", SpatialInertia(m, np.zeros(3), UnitInertia(J / m, J / m, J / m))
        )
        turned_by = RotationMatrix.MakeZRotation(angle(body) - angle(pin.first))
        on_parent = _frame(
            f"P{body}", bodies[pin.first], RigidTransform(turned_by, [*pin.at_first, 0.0])
        )
        on_body = _frame(f"C{body}", bodies[body], RigidTransform([*pin.at_second, 0.0]))
        joint = plant.AddJoint(
            RevoluteJoint(
                f"hinge {body}", plant.AddFrame(on_parent), plant.AddFrame(on_body), [0, 0, 1]
            )
        )
        if any(body == b for b, *_ in problem.sines):
            plant.AddJointActuator(f"motor {body}", joint)
        start.append((joint.set_angular_rate, rate(body) - rate(pin.first)))
    for pin in loops:
        plant.AddBallConstraint(
            bodies[pin.first], [*pin.at_first, 0.0], bodies[pin.second], [*pin.at_second, 0.0]
        )
    return [bodies[i] for i in range(len(problem.mass))], start


def _frame(name, body, X):
    from pydrake.multibody.tree import FixedOffsetFrame

    return FixedOffsetFrame(name, body, X)


def _chain(plant, problem: RodChain, RigidTransform):
    """Rods framed at their joints."""
    from pydrake.multibody.tree import BallRpyJoint, SpatialInertia, UnitInertia

    plant.mutable_gravity_field().set_gravity_vector([0, 0, -problem.gravity])
    l, m = problem.length, problem.mass
    before, bodies, start = plant.world_body(), [], []
    for i in range(problem.rods):
        rod = UnitInertia(THIN * l * l / 12, l * l / 3, l * l / 3)
        body = plant.AddRigidBody(f"rod {i}", SpatialInertia(m, np.array([l / 2, 0, 0]), rod))
        at = plant.AddFrame(_frame(f"P{i}", before, RigidTransform([l if i else 0.0, 0, 0])))
        joint = plant.AddJoint(BallRpyJoint(f"ball {i}", at, body.body_frame()))
        start.append((joint.set_angular_velocity, [0, 0, 0.0 if i else problem.spin]))
        bodies.append(body)
        before = body
    return bodies, start


def _motors(builder, plant, problem):
    """Sources of sines on the actuators, in the order in which they were added."""
    if not getattr(problem, "sines", ()):
        return
    from pydrake.systems.primitives import Sine

    order = (
        {name: i for i, name in enumerate(plant.GetActuatorNames())}
        if hasattr(plant, "GetActuatorNames")
        else {}
    )
    sines = sorted(problem.sines, key=lambda s: order.get(f"motor {s[0]}", s[0]))
    source = builder.AddSystem(Sine(*(np.array([s[k] for s in sines]) for k in (1, 2, 3))))
    builder.Connect(source.get_output_port(0), plant.get_actuation_input_port())


def _poses(problem, plant, context, bodies):
    poses, rates = [], []
    for body in bodies:
        X, V = (
            plant.EvalBodyPoseInWorld(context, body),
            plant.EvalBodySpatialVelocityInWorld(context, body),
        )
        R = X.rotation().matrix()
        poses.append([*X.translation()[:2], np.arctan2(R[1, 0], R[0, 0])])
        rates.append([*V.translational()[:2], V.rotational()[2]])
    return np.array(poses), np.array(rates)


def _ends(problem, plant, context, bodies):
    ends, rates = [], []
    for body in bodies:
        X, V = (
            plant.EvalBodyPoseInWorld(context, body),
            plant.EvalBodySpatialVelocityInWorld(context, body),
        )
        arm = problem.length * X.rotation().matrix()[:, 0]
        ends.append(X.translation() + arm)
        rates.append(V.translational() + np.cross(V.rotational(), arm))
    return np.concatenate(ends), np.concatenate(rates)
