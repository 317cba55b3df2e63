"""Construction of a Kalman filter from a user's arguments: see `zw.Plant.kalman_filter`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from zwang.algebra.decomposition import Decomposition, compressed
from zwang.analysis.inputs import Inputs, chosen_inputs, chosen_outputs
from zwang.compile import program
from zwang.errors import ModelError
from zwang.hierarchy.level_selection import root_of
from zwang.inputs.arguments import flag, mapping, real_array
from zwang.learning.kalman_filter import Estimate, KalmanFilter, measured
from zwang.objects.record import replace

if TYPE_CHECKING:
    from zwang.learning.plant import Plant


def kalman_filter(
    plant: Plant, outputs, noise, *, force_noise, unknown, spread_q, spread_v, unscented
) -> KalmanFilter:
    """See `zw.Plant.kalman_filter`."""
    model, system = plant.model, plant.model.system
    given = {} if unknown is None else mapping(unknown, "kalman_filter: unknown", "{name: spread}")
    begins, drifts = _unknown(given)
    measure, _ = chosen_outputs(model, outputs)
    random = _each(force_noise, system.nv, "force_noise")
    watched, places = _extended(plant, tuple(given), np.flatnonzero(random))
    s = plant.start
    shape = jax.eval_shape(lambda: jnp.atleast_1d(measure(s.q, s.v, s.t, plant.parameters()))).shape
    made = KalmanFilter(
        plant=watched,
        places=places,
        measure=measure,
        root=jnp.asarray(_root(noise, shape[0])),
        force_noise=jnp.asarray(random[random > 0]),
        drift=jnp.asarray(drifts) * np.sqrt(plant.length),
        unscented=flag(unscented, "kalman_filter: unscented"),
        start=None,
    )
    sizes = [_each(spread_q, system.nv, "spread_q"), _each(spread_v, system.nv, "spread_v"), begins]
    return replace(made, start=_started(made, np.concatenate(sizes)))


def _started(made: KalmanFilter, sizes: np.ndarray) -> Estimate:
    """The prior, conditioned on the constraints by a measurement without noise."""
    plant, k, n = made.plant, len(made.drift), len(sizes)
    begun = Estimate(
        plant.start,
        jnp.zeros(k),
        jnp.eye(n),
        jnp.zeros(len(made.root)),
        jnp.zeros(()),
    )

    def residuals(y):
        s, d = made.at(begun, y, False)
        dynamics = plant._flow(made.inputs(None, d), None).dynamics
        return jnp.concatenate([dynamics.position_residual(s), dynamics.velocity_residual(s)])

    C = np.asarray(program(jax.jacfwd(residuals))(np.zeros(n)))
    free = n - (Decomposition(C).rank if C.size else 0)
    spread = jnp.diag(sizes)
    if C.size:
        spread = spread @ measured(C * sizes, jnp.zeros(len(C)), None).spread
    return replace(begun, spread=compressed(spread, free))


def _unknown(given: Mapping[str, ArrayLike]) -> tuple[np.ndarray, np.ndarray]:
    """Standard deviations of unknown inputs at the start, and of their change per second."""
    found = []
    for name, value in given.items():
        said = f"kalman_filter: unknown[{name!r}]"
        x = np.ravel(np.asarray(real_array(value, said), float))
        if x.size > 2 or not np.all(np.isfinite(x) & (x >= 0)):
            raise ModelError(
                f"{said} is {value}, expected the standard deviation at the start, or a pair with "
                "that of its change in a second."
            )
        found.append([x[0], x[1] if x.size == 2 else 0.0])
    both = np.array(found).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _each(value, size: int, name: str) -> np.ndarray:
    """Standard deviations, a number or one for each velocity."""
    x = np.asarray(real_array(value, f"kalman_filter: {name}"), float)
    if x.shape not in ((), (size,)) or not np.all(np.isfinite(x) & (x >= 0)):
        raise ModelError(
            f"kalman_filter: {name} is {value}, expected standard deviations, a number or "
            f"({size},), 0 or more."
        )
    return np.broadcast_to(x, size)


def _root(noise, m: int) -> np.ndarray:
    """R^½ of standard deviations, or of a covariance."""
    x = np.asarray(real_array(noise, "kalman_filter: noise"), float)
    if x.shape == (m, m) and m > 1:
        return np.asarray(root_of(x, m, "noise"))
    if x.shape not in ((), (m,)) or not np.all(np.isfinite(x) & (x > 0)):
        raise ModelError(
            f"kalman_filter: noise is {noise}, expected standard deviations above 0, a number or "
            f"({m},), one for each output, or a covariance."
        )
    return np.diag(np.broadcast_to(x, m))


def _extended(plant: Plant, names: tuple[str, ...], random: np.ndarray):
    """The plant with additional inputs, and the indices of its own inputs, of those given by name,
    and of random forces.
    """
    own, system = plant._inputs, plant.model.system
    extra = chosen_inputs(plant.model, plant._params, names)
    parts = [own.actuation, extra.actuation, np.eye(system.nv)[:, random]]
    parts = [x for x in parts if x is not None]

    def actuation(q, t, p):
        found = [x(q, t, p) if callable(x) else x for x in parts]
        return jnp.concatenate([jnp.asarray(x, float) for x in found], axis=1)

    sizes = [len(own.parameters), len(extra.parameters)]
    sizes += [len(own.names) - sizes[0], len(extra.names) - sizes[1], len(random)]
    ends = np.cumsum([0, *sizes])
    span = lambda i: tuple(range(ends[i], ends[i + 1]))
    forces = np.zeros(sum(sizes[2:]))
    nominal = [own.nominal[: sizes[0]], extra.nominal[: sizes[1]], forces]
    combined = Inputs(
        own.model,
        (*own.names, *extra.names, *(f"random force {i}" for i in random)),
        None,
        actuation,
        np.concatenate(nominal),
        own.parameters + extra.parameters,
    )
    return plant.with_inputs(combined), (span(0) + span(2), span(1) + span(3), span(4))
