"""Exudyn, its version without range checks, without result files, one thread: maximal coordinates
with Lagrange multipliers.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from benchmarks.peers.peer import STEPS, Outcome, Peer, coordinates, steps
from benchmarks.peers.problems import GROUND, SAMPLES, Linkage, Problem, RodChain

SPARSE = 10
"""Bodies from which on Eigen's sparse solver is faster than its dense one."""


class ExudynGeneralizedAlpha(Peer):
    key, title, package, module = "exudyn-alpha", "Exudyn, generalized-α", "exudyn", "exudyn"
    how = (
        "index 3, spectral radius 0.9, modified Newton, RigidBody2D with RevoluteJoint2D, no "
        "files, fast version, fixed step"
    )
    knob = "step [s]"

    def settings(self, problem):
        return (*STEPS, 5e-5)  # of order 2, so that it needs one more than those of order 4

    def prepare(self, problem, setting):
        exu = load()
        mbs, read = chain(exu, problem) if isinstance(problem, RodChain) else linkage(exu, problem)
        settings = settings_for(exu, problem, setting)

        def go():
            if not mbs.SolveDynamic(
                settings, solverType=exu.DynamicSolverType.GeneralizedAlpha, showHints=False
            ):
                raise RuntimeError("Exudyn's solver did not reach the end")
            return read()

        return go

    def evaluation(self, problem):
        exu = load()
        mbs, _ = linkage(exu, problem)
        settings = settings_for(exu, problem, 1e-3)
        settings.solution.sensors.active = False

        def seconds(count: int) -> float:
            settings.timeIntegration.numberOfSteps, settings.timeIntegration.endTime = (
                count,
                count * 1e-3,
            )
            begun = time.perf_counter()
            mbs.SolveDynamic(
                settings, solverType=exu.DynamicSolverType.GeneralizedAlpha, showHints=False
            )
            return time.perf_counter() - begun

        return "step of 1 ms", lambda: (seconds(21) - seconds(1)) / 20  # without what is done once


class ExudynExplicit(Peer):
    key, title, package, module = "exudyn-explicit", "Exudyn, explicit", "exudyn", "exudyn"
    how = "DOPRI5 with step control on a KinematicTree, no files, fast version"
    knob = "rtol"

    def cannot(self, problem):
        if isinstance(problem, Linkage) and not problem.tree()[1] and len(problem.mass) == 1:
            return ""
        if isinstance(problem, RodChain):
            return (
                "its explicit integrators take no algebraic constraints, and its trees have no "
                "ball joints"
            )
        return "its explicit integrators take no algebraic constraints, which a closed loop needs"

    def settings(self, problem):
        return (1e-4, 1e-6, 1e-8, 1e-10)

    def prepare(self, problem, setting):
        exu = load()
        mbs, read = hinge(exu, problem)
        settings = settings_for(exu, problem, 1e-2)
        time = settings.timeIntegration
        time.automaticStepSize, time.numberOfSteps = True, SAMPLES
        time.absoluteTolerance = time.relativeTolerance = setting

        def go():
            if not mbs.SolveDynamic(
                settings, solverType=exu.DynamicSolverType.DOPRI5, showHints=False
            ):
                raise RuntimeError("Exudyn's solver did not reach the end")
            return read()

        return go


def load():
    """Exudyn without range checks and greeting."""
    sys.exudynFast = True  # type: ignore[attr-defined]
    import exudyn

    return exudyn


def settings_for(exu, problem: Problem, step: float):
    """Settings of a run that writes nothing but samples in memory."""
    count, _ = steps(problem, step)
    x = exu.SimulationSettings()
    x.timeIntegration.numberOfSteps, x.timeIntegration.endTime = count * SAMPLES, problem.duration
    x.timeIntegration.verboseMode = 0
    x.timeIntegration.generalizedAlpha.spectralRadius = 0.9
    x.timeIntegration.newton.useModifiedNewton = True
    x.solution.file.write = False
    x.solution.sensors.writePeriod = problem.duration / SAMPLES
    x.parallel.numberOfThreads = 1
    bodies = problem.rods if isinstance(problem, RodChain) else len(problem.mass)
    x.linearSolver.solverType = (
        exu.LinearSolverType.EigenSparse if bodies >= SPARSE else exu.LinearSolverType.EXUdense
    )
    if problem.redundant:
        x.linearSolver.solverType = exu.LinearSolverType.EigenDense
        x.linearSolver.ignoreSingularJacobian = True
    return x


def stored(mbs, sensors) -> np.ndarray:
    """What sensors stored, shape (samples, sensors, values)."""
    return np.stack([mbs.GetSensorStoredData(s)[:, 1:] for s in sensors], axis=1)


def linkage(exu, problem: Linkage):
    """Bodies of the plane with joints, or a point mass with a distance."""
    import exudyn.itemInterface as item  # noqa: N813

    mbs = exu.SystemContainer().AddSystem()
    ground = mbs.AddObject(item.ObjectGround())
    if problem.point_mass:
        return _point_mass(exu, item, mbs, ground, problem)
    nodes, bodies = [], {GROUND: ground}
    for i, (mass, J) in enumerate(zip(problem.mass, problem.inertia, strict=True)):
        nodes.append(
            mbs.AddNode(
                item.NodeRigidBody2D(
                    referenceCoordinates=list(problem.pose[i]),
                    initialVelocities=list(problem.rate[i]),
                )
            )
        )
        bodies[i] = mbs.AddObject(item.RigidBody2D(nodeNumber=nodes[i], mass=mass, inertia=J))
        center = mbs.AddMarker(item.MarkerBodyRigid(bodyNumber=bodies[i], localPosition=[0, 0, 0]))
        if problem.gravity:
            mbs.AddLoad(item.Force(markerNumber=center, loadVector=[0, -mass * problem.gravity, 0]))
        for body, a, w, phase in problem.sines:
            if body == i:
                law = lambda mbs, t, load, a=a, w=w, phase=phase: [0, 0, a * np.sin(w * t + phase)]
                mbs.AddLoad(item.Torque(markerNumber=center, loadVectorUserFunction=law))
    for p in problem.pins:
        ends = [
            mbs.AddMarker(item.MarkerBodyRigid(bodyNumber=bodies[b], localPosition=[*at, 0]))
            for b, at in ((p.first, p.at_first), (p.second, p.at_second))
        ]
        mbs.AddObject(item.RevoluteJoint2D(markerNumbers=ends))
    sensors = _coordinate_sensors(exu, item, mbs, nodes)
    mbs.Assemble()

    def read():
        moved, rates = (stored(mbs, s) for s in sensors)
        return coordinates(problem, moved + problem.pose, rates)

    return mbs, read


def _coordinate_sensors(exu, item, mbs, nodes):
    """Sensors of displacements and of velocities."""
    kinds = (exu.OutputVariableType.Coordinates, exu.OutputVariableType.Coordinates_t)
    sensor = lambda node, kind: mbs.AddSensor(
        item.SensorNode(nodeNumber=node, storeInternal=True, outputVariableType=kind)
    )
    return [[sensor(node, kind) for node in nodes] for kind in kinds]


def _point_mass(exu, item, mbs, ground, problem):
    """A mass point on a connector of constant length."""
    node = mbs.AddNode(
        item.NodePoint2D(
            referenceCoordinates=list(problem.pose[0, :2]),
            initialVelocities=list(problem.rate[0, :2]),
        )
    )
    mbs.AddObject(item.MassPoint2D(nodeNumber=node, mass=problem.mass[0]))
    fixed = mbs.AddMarker(item.MarkerBodyPosition(bodyNumber=ground, localPosition=[0, 0, 0]))
    ends = [fixed, mbs.AddMarker(item.MarkerNodePosition(nodeNumber=node))]
    mbs.AddLoad(
        item.Force(markerNumber=ends[1], loadVector=[0, -problem.mass[0] * problem.gravity, 0])
    )
    mbs.AddObject(
        item.DistanceConstraint(markerNumbers=ends, distance=float(np.hypot(*problem.pose[0, :2])))
    )
    sensors = _coordinate_sensors(exu, item, mbs, [node])
    mbs.Assemble()

    def read():
        moved, rates = (stored(mbs, s)[:, 0] for s in sensors)
        return Outcome(moved + problem.pose[0, :2], rates)

    return mbs, read


def hinge(exu, problem: Linkage):
    """One body on one hinge as a tree in joint coordinates, the only problem here that needs no
    constraint.
    """
    import exudyn.itemInterface as item  # noqa: N813

    mbs = exu.SystemContainer().AddSystem()
    pin, pose = problem.pins[0], problem.pose[0]
    arm = -np.asarray(pin.at_second)
    angle = item.NodeGenericODE2(
        referenceCoordinates=[pose[2]],
        initialCoordinates=[0.0],
        initialCoordinates_t=[problem.rate[0, 2]],
        numberOfODE2Coordinates=1,
    )
    node = mbs.AddNode(angle)
    matrices, vectors = exu.Matrix3DList, exu.Vector3DList
    tree = item.ObjectKinematicTree(
        nodeNumber=node,
        jointTypes=[exu.JointType.RevoluteZ],
        linkParents=[-1],
        jointTransformations=matrices([np.eye(3)]),
        jointOffsets=vectors([[*pin.at_first, 0.0]]),
        linkInertiasCOM=matrices([np.diag([0.0, 0.0, problem.inertia[0]])]),
        linkCOMs=vectors([[*arm, 0.0]]),
        linkMasses=[problem.mass[0]],
        baseOffset=[0.0, 0.0, 0.0],
        gravity=[0.0, -problem.gravity, 0.0],
    )
    mbs.AddObject(tree)
    sensors = _coordinate_sensors(exu, item, mbs, [node])
    mbs.Assemble()

    def read():
        t, angle, rate = (
            mbs.GetSensorStoredData(sensors[0][0])[:, 0],
            *(stored(mbs, s)[:, 0, 0] for s in sensors),
        )
        a, l = angle + pose[2], np.hypot(*arm)
        return Outcome(
            l * np.stack([np.cos(a), np.sin(a)], axis=1),
            l * rate[:, None] * np.stack([-np.sin(a), np.cos(a)], axis=1),
            t,
        )

    return mbs, read


def chain(exu, problem: RodChain):
    """Rigid bodies with Euler parameters on spherical joints."""
    import exudyn.itemInterface as item  # noqa: N813
    from exudyn.rigidBodyUtilities import RigidBodyInertia

    mbs, l, m = exu.SystemContainer().AddSystem(), problem.length, problem.mass
    before, spin, J = (
        mbs.AddObject(item.ObjectGround()),
        np.array([0.0, 0.0, problem.spin]),
        m * l * l / 12,
    )
    at, sensors = 0.0, ([], [])
    place_before = [0.0, 0.0, 0.0]
    for _ in range(problem.rods):
        center = np.array([at + l / 2, 0.0, 0.0])
        body = mbs.CreateRigidBody(
            inertia=RigidBodyInertia(mass=m, inertiaTensor=np.diag([1e-3 * J, J, J])),
            referencePosition=list(center),
            initialVelocity=list(np.cross(spin, center)),
            initialAngularVelocity=list(spin),
            gravity=[0, 0, -problem.gravity],
        )
        ends = [
            mbs.AddMarker(item.MarkerBodyRigid(bodyNumber=b, localPosition=p))
            for b, p in ((before, place_before), (body, [-l / 2, 0, 0]))
        ]
        mbs.AddObject(item.SphericalJoint(markerNumbers=ends))
        for k, kind in enumerate(
            (exu.OutputVariableType.Position, exu.OutputVariableType.Velocity)
        ):
            sensors[k].append(
                mbs.AddSensor(
                    item.SensorBody(
                        bodyNumber=body,
                        localPosition=[l / 2, 0, 0],
                        storeInternal=True,
                        outputVariableType=kind,
                    )
                )
            )
        before, place_before, at = body, [l / 2, 0, 0], at + l
    mbs.Assemble()
    return mbs, lambda: Outcome(*(stored(mbs, s).reshape(SAMPLES + 1, -1) for s in sensors))
