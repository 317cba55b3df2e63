"""zwang beside other programs: the same problems, the same machine, each in a process of its own,
at settings from coarse to fine.

| file | what |
|---|---|
| `problems.py` | the problems as plain data, and their references |
| `equations.py` | M, F, φ, A, b by hand in NumPy; what every result is judged by |
| `points.py` | linkages in natural coordinates, by hand in NumPy |
| `peer.py` | what a peer is |
| `ours.py` | zwang |
| `handwritten.py` | NumPy with `pinv`; SciPy's DOP853, or Runge-Kutta of order 4 |
| `ida.py` | SUNDIALS' IDA on the stabilized index-2 equations |
| `of_pinocchio.py` | Pinocchio's constraintDynamics, and its lcaba |
| `of_exudyn.py` | Exudyn, generalized-alpha and explicit |
| `of_mujoco.py` | MuJoCo as it comes, and at its stiffest |
| `of_drake.py` | Drake's SAP |
| `worker.py` | one run, in its own process |
| `precision.py` | the diagrams of error against time |
| `evaluation.py` | one acceleration or one step against the number of bodies |
| `reference.py` | end of the spatial chain, and how it was found |
"""

from __future__ import annotations

from benchmarks.peers.handwritten import Dop853, Dop853Points, Rk4
from benchmarks.peers.ida import Ida, IdaPoints
from benchmarks.peers.of_drake import Drake
from benchmarks.peers.of_exudyn import ExudynExplicit, ExudynGeneralizedAlpha
from benchmarks.peers.of_mujoco import MujocoDefault, MujocoStiff
from benchmarks.peers.of_pinocchio import Pinocchio, PinocchioRecursive
from benchmarks.peers.ours import Zwang, ZwangCompiled, ZwangPoints
from benchmarks.peers.peer import Peer as Peer

ALL_PEERS: tuple[Peer, ...] = (
    Zwang(),
    ZwangCompiled(),
    ZwangPoints(),
    Dop853(),
    Dop853Points(),
    Rk4(),
    Ida(),
    IdaPoints(),
    Pinocchio(),
    PinocchioRecursive(),
    ExudynGeneralizedAlpha(),
    ExudynExplicit(),
    MujocoStiff(),
    MujocoDefault(),
    Drake(),
)


def by_key(key: str) -> Peer:
    """The peer of that name."""
    return next(peer for peer in ALL_PEERS if peer.key == key)


def chosen(name: str) -> tuple[Peer, ...]:
    """Peers of that name, or whose names begin with it: `exudyn` means both of Exudyn's."""
    return tuple(peer for peer in ALL_PEERS if peer.key == name or peer.key.startswith(f"{name}-"))
