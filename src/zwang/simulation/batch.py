"""Many motions of one model at once, with different starts or parameters."""

from __future__ import annotations

import copy
import dataclasses
import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, NamedTuple

import jax
import numpy as np
from jaxtyping import PyTree

from zwang.algebra.pseudoinverse import CompleteOrthogonal, Proximal
from zwang.compile import Many
from zwang.dynamics.model import Model
from zwang.errors import ModelError, Result, SimulationError
from zwang.inputs.arguments import (
    choice,
    count,
    host_only,
    instance,
    numbers,
    optional_function,
    real_array,
)
from zwang.inputs.arrays import require_float64
from zwang.simulation.batch_result import Batch, whole_params
from zwang.simulation.listener import Listener
from zwang.simulation.nearly_parallel import is_nearly_parallel
from zwang.simulation.parameter_names import read_of
from zwang.simulation.simulate import MAX_STEPS, simulate
from zwang.simulation.single_precision import narrowed
from zwang.simulation.switching import declared_switches
from zwang.simulation.trajectory import (
    OPTIONS,
    Trajectory,
    refuse_others,
    trajectory,
    violations,
)

CHUNK_OF_MEMBERS, WIDE = 32, 256
"""Default number of batch members in one call, on a processor and on an accelerator. On a
processor, as many as fill its registers and fit into the cache of a core (five-bar: with 32, a
member takes 0.6 of the processor time that it takes with 256), so that few members wait for the
slowest one. On an accelerator more, because its speed grows with the size of the batch.
"""


Precision = Literal["double", "single"]


class _Members(NamedTuple):
    """Starts and parameters of a batch.

    Attributes:
        arguments: q0, v0 and a dictionary of parameters.
        axes: for each of them 0 if it has a leading batch axis, else None.
        number: number of batch members.
    """

    arguments: tuple
    axes: tuple
    number: int

    def part(self, first: int, size: int) -> tuple:
        """Return the arguments of `size` members from `first` on. The last member is repeated to
        fill a chunk, so that all chunks have one shape and share one compiled program.
        """
        index = np.minimum(np.arange(first, first + size), self.number - 1)
        take = lambda x, axis: x if axis is None else x[index]
        (q0, v0, params), axes = self.arguments, self.axes
        return (
            take(q0, axes[0]),
            take(v0, axes[1]),
            {name: take(value, axes[2][name]) for name, value in params.items()},
        )

    def params(self, of_each: bool) -> dict[str, np.ndarray]:
        """Return the parameters that differ between members (`of_each`), or those that are shared
        by all members and differ from the model's.
        """
        params, axes = self.arguments[2], self.axes[2]
        return {name: np.asarray(params[name]) for name in params if (axes[name] == 0) is of_each}


class Program:
    """A compiled batch. Calling it runs all members and returns a `Batch`.

    Attributes:
        memory_per_member: bytes that the program needs for a member, results included.
    """

    def __init__(self, motions: _Motions, members: _Members, chunk: int, cores: int | None):
        self._workers = max(1, min(cores or os.cpu_count() or 1, members.number // 16))
        self._model, self._times, self._members = motions.model, motions.times, members
        self._size = min(chunk, -(-members.number // self._workers))
        example = members.part(0, self._size)
        one = functools.update_wrapper(functools.partial(_one_member, motions), _one_member)
        self._compiled = Many(one, motions.axes, example)
        self.memory_per_member = self._compiled.memory

    def with_members(self, q0, v0, params: dict) -> Program:
        """Return the same program for other members. Arrays need a leading batch axis where the
        arrays had one for which the program was compiled.
        """
        (q, v, p), axes = self._members.arguments, self._members.axes
        given = [(q0, q, axes[0]), (v0, v, axes[1])]
        given += [(params.get(name), p[name], axes[2][name]) for name in p]
        sizes = set()
        for new, old, axis in given:
            if axis is not None:
                sizes.add(len(new))
            if np.shape(new)[axis is not None :] != np.shape(old)[axis is not None :]:
                raise ModelError(
                    f"the program was compiled for arrays of shape {np.shape(old)}, got "
                    f"{np.shape(new)}; prepare another one."
                )
        if len(sizes) != 1:
            raise ModelError(f"got different numbers of members: {sorted(sizes)}.")
        made = copy.copy(self)
        made._members = _Members((q0, v0, params), axes, sizes.pop())
        return made

    def __call__(
        self,
        progress: Callable[[float], None] | None = None,
        pool: ThreadPoolExecutor | None = None,
    ) -> Batch:
        """Run all members, chunk by chunk. `progress` is called with the fraction that is complete.
        The chunks run in new threads, or in those of a `pool` that several batches share.
        """
        if pool is None:
            with ThreadPoolExecutor(self._workers) as own:
                return self._run(progress, own)
        return self._run(progress, pool)

    def _run(self, progress: Callable[[float], None] | None, pool: ThreadPoolExecutor) -> Batch:
        chunks: list[Trajectory] = []
        starts = range(0, self._members.number, self._size)

        def part(first: int):
            found = self._compiled(*self._members.part(first, self._size))
            return jax.tree_util.tree_map(np.asarray, found)

        # the compiled program runs without Python's global interpreter lock
        try:
            for first, chunk in zip(starts, pool.map(part, starts), strict=True):
                chunks.append(chunk)
                if progress is not None:
                    progress(min(1.0, (first + self._size) / self._members.number))
        except KeyboardInterrupt as stop:
            pool.shutdown(wait=True, cancel_futures=True)  # drops waiting chunks
            number = self._members.number
            done = min(len(chunks) * self._size, number)
            kept = self._joined(chunks, done) if done else None
            raise _interrupted(self._model, kept, done, number, str(stop)) from stop.__cause__
        return self._joined(chunks, self._members.number)

    def _joined(self, chunks: list[Trajectory], members: int) -> Batch:
        """Return the batch of the first members of consecutive chunks."""
        x = jax.tree_util.tree_map(lambda *parts: np.concatenate(parts)[:members], *chunks)
        return Batch(
            self._model,
            self._times,
            x.q,
            x.v,
            x.violation,
            x.start_violation,
            x.steps,
            x.rejected,
            x.result,
            self.memory_per_member,
            x.end,
            {name: each[:members] for name, each in self._members.params(of_each=True).items()},
            self._members.params(of_each=False),
        )


def _interrupted(
    model: Model, batch: Batch | None, done: int, number: int, why: str
) -> SimulationError:
    """Return the exception of a batch that was stopped by Ctrl-C, or for the reason `why`. It
    contains the members that are complete.
    """
    kept = f"; members 0 to {done - 1} are in `run` of this exception" if done else ""
    return SimulationError(
        f"{model.name}: {Result.INTERRUPTED.sentence} after {done} of "
        f"{number} members{f': {why}' if why else ''}{kept}.",
        Result.INTERRUPTED,
        batch,
    )


@host_only("zw.trajectory can, also with jax.vmap over many starts")
def batch(
    model: Model,
    q0,
    v0,
    times,
    *,
    params: PyTree = None,
    chunk: int | None = None,
    cores: int | None = None,
    precision: Precision = "double",
    progress: Callable[[float], None] | None = None,
    **options,
) -> Batch:
    """Run one model from many starts, with many parameters, or both.

    Args:
        model: the model.
        q0, v0: starts, shapes (members, nq) and (members, nv); or (nq,) and (nv,), shared by all.
        times: common sample times [s]; the first is the start.
        params: parameters that differ from the model's; each of the model's shape, shared by all,
            or with a leading batch axis.
        chunk: number of members that run at once on a core, by default `CHUNK_OF_MEMBERS` on a
            processor and `WIDE` on an accelerator. Every core runs one chunk at a time, which takes
            as long as its slowest member. Memory is `chunk` times `Batch.memory_per_member` times
            the number of cores.
        progress: called between chunks with the fraction that is complete.
        cores: number of cores; by default all, as long as each gets 16 members.
        precision: "single" for 32-bit numbers. It needs a `step`, and every step loses about 1e-7
            of each quantity. The `violation` of the result is evaluated in double precision.
        options: `rtol`, `atol`, `step`, `longest_step`, `stop`, `integrator`, `drift`,
            `pseudoinverse`, `start_tolerance` of `zw.trajectory`, and `max_steps` of `zw.simulate`.

    The members of a model with unilateral constraints (`zw.Inequality`), dry friction
    (`zw.DryFriction`) or switched constraints run one after another by `zw.simulate`, on one core.

    Returns:
        A `Batch`. A member that fails keeps the samples that it reached, and `.failures` states the
        reason; the other members continue. `.warnings` lists the members whose servo constraints
        were not met. As in `zw.trajectory`, a step across a gap between two branches that almost
        meet is not detected.

    Raises:
        ModelError: if shapes disagree, or an option is none of those named here.
        SimulationError: after Ctrl-C, or if `progress` fails; its `run` contains the members that
            are complete.
    """
    optional_function(progress, "progress", "(fraction)")
    arguments = {"params": params, "chunk": chunk, "cores": cores, "precision": precision}
    if isinstance(model, Model) and changes(model):
        motions, members, *_ = _asked(model, q0, v0, times, **arguments, **options)
        return _one_by_one(motions, members, Listener.of(progress))
    run = functools.partial(prepare, model, q0, v0, times, **arguments, **options)
    try:
        found = run()(Listener.of(progress))
        by_default = precision == "double" and options.get("pseudoinverse") is None
        if by_default and is_nearly_parallel(found.result):
            found = run(pseudoinverse=CompleteOrthogonal())(Listener.of(progress))
    except KeyboardInterrupt:  # while the program is compiled
        raise SimulationError(
            f"{model.name}: {Result.INTERRUPTED.sentence} before the first member.",
            Result.INTERRUPTED,
        ) from None
    return found


def changes(model: Model) -> bool:
    """Return whether a model has inequalities, dry friction or switched constraints, so that
    `zw.simulate` has to compute each of its motions.
    """
    return bool(model.constraints.loose or declared_switches(model))


def _one_by_one(motions: _Motions, members: _Members, heard: Listener) -> Batch:
    """Run all members one after another."""
    if motions.precision != "double":
        raise ModelError(
            f"{motions.model.name}: inequalities, dry friction and switched constraints need "
            "double precision; leave precision= out."
        )
    model, times, runs = motions.model, motions.times, []
    span: dict[str, Any] = {"times": times.tolist(), "t0": float(times[0]), "throw": False}
    failure = None
    try:
        for i in range(members.number):
            q0, v0, params = members.part(i, 1)
            alone = lambda x, axis: x if axis is None else x[0]
            q0, v0 = alone(q0, members.axes[0]), alone(v0, members.axes[1])
            own = {name: alone(x, members.axes[2][name]) for name, x in params.items()}
            try:
                given = {**span, **motions.options, "params": whole_params(model, own)}
                run = simulate(model, q0, v0, **given)
            except ModelError as error:
                raise ModelError(f"member {i}: {error}") from error
            if run.result is Result.INTERRUPTED:
                raise KeyboardInterrupt
            runs.append(run)
            heard((i + 1) / members.number)
    except KeyboardInterrupt as stop:
        failure = stop
    done = len(runs)
    varied, shared = (members.params(of_each=x) for x in (True, False))
    batch = None
    if runs:
        varied = {name: x[:done] for name, x in varied.items()}
        batch = Batch.of_runs(model, times, runs, varied=varied, shared=shared)
    if failure is not None:
        raise _interrupted(model, batch, done, members.number, str(failure)) from failure.__cause__
    assert batch is not None  # a batch has at least one member
    return batch


def prepare(
    model: Model,
    q0,
    v0,
    times,
    *,
    params: PyTree = None,
    chunk: int | None = None,
    cores: int | None = None,
    precision: Precision = "double",
    **options,
) -> Program:
    """Compile `batch` without running it, to run it several times or to time it. The arguments are
    those of `batch`.
    """
    given = {"params": params, "chunk": chunk, "cores": cores, "precision": precision}
    return Program(*_asked(model, q0, v0, times, **given, **options))


def _asked(
    model: Model,
    q0,
    v0,
    times,
    *,
    params: PyTree,
    chunk: int | None,
    cores: int | None,
    precision: Precision,
    **options,
) -> tuple[_Motions, _Members, int, int | None]:
    """Return the motions and members of a batch, the number of members that run at once on a core,
    and the number of cores.
    """
    require_float64()
    instance(model, Model, "batch: model", "a zw.Model")
    refuse_others("zw.batch", (name for name in options if name not in OPTIONS))
    choice(precision, "precision", ("double", "single"))
    q0, v0 = (np.asarray(real_array(x, name)) for x, name in ((q0, "q0"), (v0, "v0")))
    # the default of one run: the memory of a batch does not grow with it, unlike that of a gradient
    options.setdefault("max_steps", MAX_STEPS)
    params = {} if params is None else params
    if not isinstance(params, dict) or (params and not isinstance(model.params, dict)):
        raise ModelError(
            "batch takes params as a dictionary of those that differ from the model's."
        )
    axes, members = _axes(model, q0, v0, params)
    if chunk is None:
        chunk = CHUNK_OF_MEMBERS if jax.default_backend() == "cpu" else WIDE
    chunk = count(chunk, "chunk", least=1)
    cores = None if cores is None else count(cores, "cores", least=1)
    times = np.asarray(real_array(times, "times", "instants [s]"))
    params = {name: np.asarray(numbers(x, f"params[{name!r}]")) for name, x in params.items()}
    if precision != "double":
        if options.get("step") is None:
            raise ModelError(
                "single precision has no error control; give step=, the length of a step in "
                "seconds."
            )
        # The damping lies as far above the round-off of single precision, 1e-7, as the default
        # damping above that of double precision; more sweeps compensate for it. `five-bar`, 2 s
        # through its singular configuration: error 7e-6 rad (7e-3 with a damping of 1e-5).
        options.setdefault("pseudoinverse", Proximal(damping=1e-4, sweeps=6))
    motions = _Motions(model, times, options, axes, precision)
    return motions, _Members((q0, v0, params), axes, members), chunk, cores


class _Motions(NamedTuple):
    """Model, sample times and options that the motions of all members have in common."""

    model: Model
    times: np.ndarray
    options: dict
    axes: tuple
    precision: Precision

    def one(self, q, v, p) -> Trajectory:
        """Return the motion of one member."""
        params = whole_params(self.model, p)
        return trajectory(self.model, q, v, self.times, params=params, **self.options)

    def violation(self, q, v, p, found: Trajectory):
        """Return the constraint violation of the motion of one member."""
        return violations(self.model, q, v, whole_params(self.model, p), found)


def _one_member(motions: _Motions, q0, v0, params) -> Trajectory:
    """Return the motion of one member. In single precision, the motion is computed in 32-bit
    numbers and its violation in 64-bit numbers.
    """
    if motions.precision == "double":
        return motions.one(q0, v0, params)
    found = narrowed(motions.one)(q0, v0, params)
    violation = motions.violation(q0, v0, params, found)
    return dataclasses.replace(found, violation=violation)


def _axes(model: Model, q0, v0, params: dict) -> tuple[tuple, int]:
    """Return the batch axis of each argument for `vmap`, and the number of members."""
    expected = {"q0": (model.system.nq,), "v0": (model.system.nv,)} | {
        k: np.shape(read_of(model, k)) for k in params
    }
    sizes, axes = {}, {}
    for name, value in {"q0": q0, "v0": v0, **params}.items():
        shape, one = np.shape(value), expected[name]
        if shape != one and shape[1:] != one:
            raise ModelError(
                f"{name} has shape {shape}, expected {one} for all members or "
                f"({'members, ' + str(one)[1:]} for each."
            )
        axes[name] = None if shape == one else 0
        if axes[name] == 0:
            sizes[name] = shape[0]
    if not sizes:
        raise ModelError(
            "batch got one start and one set of parameters; give q0, v0 or a parameter a "
            "leading axis of members."
        )
    if len(set(sizes.values())) > 1 or 0 in sizes.values():
        raise ModelError(
            "batch got different numbers of members: "
            f"{', '.join(f'{k}: {n}' for k, n in sizes.items())}."
        )
    return (axes["q0"], axes["v0"], {k: axes[k] for k in params}), next(iter(sizes.values()))
