"""The class of a model of the gallery."""

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
    """A model with all data for its run and for the presentation of the result.

    Attributes:
        model: the model; its parameters follow from the settings.
        q0, v0: initial state.
        duration: duration of the run [s].
        description: one or two sentences.
        rtol: relative error of one step.
        figures: title → function of a run that draws the figure, as a `zwang.plots.Picture` or a
            matplotlib figure.
        exact: times (samples,) → exact values (samples,) of coordinates, by name; None if no
            solution is known. It is valid for the settings, not for parameters that are changed
            later.
        scene: the scene of the viewer; by default the bars of a `Linkage` among the figures, None
            without one.
        reactions: for a mechanism, a run → reactions of each joint at its samples, by name.
        simulate: additional arguments of `zw.simulate`.
        mechanism: the mechanism that the model was built from, if there is one.
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
        """HTML for a notebook."""
        return present("notebook_of_example", self)

    def run(self, **changes) -> Run:
        """Simulate the model; `changes` are arguments of `zw.simulate` with other values."""
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
        """Data for the presentation of a run."""
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
        """Largest deviation from the exact solution over the samples, by coordinate; empty if no
        solution is known.
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
        NaN if no solution is known.
        """
        return max(self.errors(run).values(), default=float("nan"))
