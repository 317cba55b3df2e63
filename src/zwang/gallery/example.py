"""What a member of the gallery gives."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from zwang.errors import SimulationError
from zwang.objects.display import present

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    from zwang.dynamics.model import Model
    from zwang.mechanism import Mechanism, Reaction
    from zwang.plots import Picture
    from zwang.scene import Scene
    from zwang.simulation.results import Run
    from zwang.simulation.results.presentation import Presentation


@dataclasses.dataclass(frozen=True)
class Example:
    """A model with everything that is needed to run it and to look at the result.

    Attributes:
        model: the model; its parameters are the numbers that the settings gave.
        q0, v0: start.
        duration: length of the run [s].
        description: a sentence or two.
        rtol: relative error of one step.
        figures: title → function of a run that draws it, as a `zwang.plots.Picture` or as a
            matplotlib figure.
        exact: times (samples,) → exact values (samples,) of coordinates, by name; None if no
            solution is known. It belongs to the settings, not to parameters changed afterwards.
        scene: what there is to see in the viewer: the bars of a `Linkage` among the figures by
            default, None without one.
        reactions: of a mechanism, a run → what each joint transmits at its samples, by name.
        simulate: further arguments of `zw.simulate`.
        mechanism: what the model was made of, if it is a mechanism.
    """

    model: Model
    q0: np.ndarray
    v0: np.ndarray
    duration: float
    description: str = ""
    rtol: float = 1e-10
    figures: Mapping[str, Callable[[Run], Picture | Figure]] = dataclasses.field(
        default_factory=dict
    )
    exact: Callable[[np.ndarray], dict[str, np.ndarray]] | None = None
    simulate: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    scene: Scene | None = None
    reactions: Callable[[Run], Mapping[str, Reaction]] | None = None
    mechanism: Mechanism | None = None

    def __post_init__(self):
        import numpy as np

        from zwang.gallery.drawing import Linkage  # `zwang list` imports neither
        from zwang.scene import bars_scene

        drawn = next(
            (figure for figure in self.figures.values() if isinstance(figure, Linkage)), None
        )
        if self.scene is None and drawn is not None:
            names = tuple(f"bar {i + 1}" for i in range(len(drawn.bars(np.asarray(self.q0)))))
            object.__setattr__(self, "scene", bars_scene(drawn.bars, names, unit=drawn.unit))

    def __repr__(self) -> str:
        return present("text_of_example", self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return present("notebook_of_example", self)

    def run(self, **changes) -> Run:
        """Simulate it; `changes` are arguments of `zw.simulate` that differ."""
        from zwang.simulation.simulate import simulate

        options = {"duration": self.duration, "rtol": self.rtol, **self.simulate, **changes}
        if "times" in changes:
            del options["duration"]
        try:
            run = simulate(self.model, self.q0, self.v0, **options)
        except SimulationError as error:
            if error.run is not None:
                error.run.presentation = self.presentation()
            raise
        run.presentation = self.presentation()
        return run

    def presentation(self, description: str = "") -> Presentation:
        """What there is to show of a run of it."""
        from zwang.simulation.results.presentation import Presentation

        return Presentation(
            description or self.description,
            dict(self.figures),
            self.exact,
            self.scene,
            self.reactions,
            mechanism=self.mechanism,
        )

    def errors(self, run: Run) -> dict[str, float]:
        """Largest deviation from the exact solution over the samples, by coordinate; empty if none
        is known.
        """
        if self.exact is None:
            return {}
        column = {name: i for i, name in enumerate(self.model.system.coordinates)}
        return {
            name: float(abs(run.q[:, column[name]] - values).max())
            for name, values in self.exact(run.t).items()
        }

    def error(self, run: Run) -> float:
        """Largest deviation from the exact solution over samples and coordinates, in their units;
        NaN if none is known.
        """
        return max(self.errors(run).values(), default=float("nan"))
