"""`zw.study.monte_carlo`: the rate of success of a closed loop."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from zwang.dynamics.model import Model
from zwang.errors import ModelError
from zwang.inputs.arguments import count, instance, labels, mapping
from zwang.inputs.call import misfits_named
from zwang.servo.loop import Loop
from zwang.study.result import Sweep
from zwang.study.sampling import draws
from zwang.study.sweep import sweep

OF_LOOPS = ("sample_time", "delay", "noise_q", "noise_v")
"""Settings of a loop that may vary from case to case."""


@misfits_named
def monte_carlo(
    loop: Loop,
    model: Model,
    over: Mapping[str, Any],
    start,
    *,
    cases: int = 1000,
    seed: int = 0,
    inputs=(),
    **options,
) -> Sweep:
    """Run a closed loop many times with random numbers, and count its successes.

    The noise of every case has a seed of its own. The controller knows the parameters of a case
    unless the loop has a model of its own: `zw.Loop(model=model)` uses the parameters of that
    model.

    Args:
        loop: the common part of all cases.
        model: the model with its control law.
        over: random quantities by name, as in `zw.sweep`: parameters, `sample_time`, `delay`,
            `noise_q` and `noise_v` of the loop, and those that `inputs` names.
        start: as in `zw.sweep`.
        cases: number of runs.
        seed: of the random quantities and of the noise; the same seed gives the same study.
        inputs: names in `over` that only `start` reads.
        options: of `zw.sweep`: `duration`, `success`, `outputs`, `out`, `workers` ...

    Returns:
        A `Sweep`; `.success()` is the rate with its interval.

    Example:
        >>> study = zw.study.monte_carlo(
        ...     zw.Loop(sample_time=0.01, noise_q=1e-3, model=arm), arm,
        ...     {"payload.mass": scipy.stats.norm(2.0, 0.3), "delay": "0:0.03"}, (q0, v0),
        ...     duration=2.0, outputs=["elbow.max"], success="elbow.max < 1.2", cases=500)
        >>> study.success()
    """
    instance(loop, Loop, "monte_carlo: loop", "zw.Loop(...)")
    if instance(model, Model, "monte_carlo: model", "a zw.Model").servo is None:
        raise ModelError(
            f"monte_carlo: {model.name} has no control for the loop: zw.Model(..., "
            "servo=zw.Servo(...)), or servo=regulator.feedback() of a zw.analysis.lqr."
        )
    over = mapping(over, "monte_carlo: over", "{'mass': '0.5:2'}")
    varied = tuple(name for name in over if name in OF_LOOPS)
    if "sample" in options or "loop" in options:
        raise ModelError(
            "monte_carlo draws its cases, of the loop that comes first: leave out "
            "sample= and loop=, or call zw.sweep."
        )
    return sweep(
        model,
        over,
        start,
        sample=draws(count(cases, "monte_carlo: cases", least=1), seed=seed),
        loop=Drawn(loop, varied, seed),
        inputs=(*labels(inputs, "inputs"), *varied),
        **options,
    )


@dataclasses.dataclass(frozen=True)
class Drawn:
    """The loop of a case.

    Attributes:
        loop: the common part of all cases.
        names: settings that vary from case to case.
        seed: that of the first case.
    """

    loop: Loop
    names: tuple[str, ...]
    seed: int

    def __call__(self, values: Mapping[str, float]) -> Loop:
        settings = {x.name: getattr(self.loop, x.name) for x in dataclasses.fields(self.loop)}
        drawn = {name: values[name] for name in self.names}
        own = (self.seed + int(values["case"])) % 2**32
        return Loop(**{**settings, **drawn, "seed": own})
