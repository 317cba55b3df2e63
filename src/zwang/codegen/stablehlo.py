"""The compiled evaluation of a model for other runtimes, by `jax.export`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
from jax import export

from zwang.codegen.names import identifier
from zwang.dynamics.model import Model, refuse_letting_go
from zwang.dynamics.motion import motion
from zwang.files import write_files
from zwang.inputs.arguments import count, instance, known, refuse, texts
from zwang.inputs.call import misfits_named
from zwang.objects.extras import require
from zwang.simulation.switching import refuse_switches

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


@dataclasses.dataclass(frozen=True)
class StableHLO:
    """A model's acceleration as StableHLO.

    Attributes:
        name: identifier.
        text: the module as text.
        data: the same serialized; `jax.export.deserialize` reads it back without zwang.
    """

    name: str
    text: str = dataclasses.field(repr=False)
    data: bytes = dataclasses.field(repr=False)

    def write(self, folder: str | Path) -> list[Path]:
        """Write `NAME.mlir` and `NAME.stablehlo` into a folder, both or none.

        Raises:
            OutputError: if a file cannot be written; earlier ones are unchanged.
        """
        files = {f"{self.name}.mlir": self.text, f"{self.name}.stablehlo": self.data}
        return write_files(folder, files)


@misfits_named
def stablehlo(
    model: Model, *, batch: int | None = None, platforms: Sequence[str] = ("cpu",)
) -> StableHLO:
    """Return `v̇ = f(q, v, t, p)` of a model as StableHLO, which XLA's runtimes and IREE execute.

    Args:
        model: the model; p is its tree of parameters.
        batch: number of states that are evaluated together, the first axis of q, v and t; one state
            without that axis by default.
        platforms: of "cpu", "cuda", "rocm" and "tpu".

    Raises:
        ModelError: for any other object than a model, or without flatbuffers (extra `export`).

    Reference: OpenXLA, StableHLO specification.

    Example:
        >>> data = zw.stablehlo(model).data
        >>> jax.export.deserialize(data).call(q, v, 0.0, model.params)
    """
    instance(model, Model, "stablehlo: model", "a zw.Model")
    refuse_switches(model, "code")
    refuse_letting_go(model)
    batch = None if batch is None else count(batch, "stablehlo: batch", least=1)
    chosen = texts(platforms, "stablehlo: platforms")
    for platform in chosen:
        known(platform, PLATFORMS, "stablehlo: there is no platform")
    if not chosen:
        refuse("stablehlo: platforms", platforms, f"one or more of {', '.join(PLATFORMS)}")

    def acceleration(q, v, t, p):
        return motion(model, q, v, t, params=p, throw=False).acceleration

    of = acceleration if batch is None else jax.vmap(acceleration, in_axes=(0, 0, 0, None))
    lead = () if batch is None else (batch,)
    shape = lambda *size: jax.ShapeDtypeStruct((*lead, *size), jnp.float64)
    p = jax.tree_util.tree_map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), model.params)
    # parameters stay arguments, so that other values need no other module
    made = export.export(jax.jit(of), platforms=chosen)(
        shape(model.system.nq), shape(model.system.nv), shape(), p
    )
    require("flatbuffers", "export", "StableHLO")
    data = bytes(made.serialize())
    return StableHLO(identifier(model.name), made.mlir_module(), data)
