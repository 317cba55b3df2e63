"""Drift: how the position residual φ and the velocity residual ψ are kept from growing.

| member | stage | after a step | violation | use it for |
|---|---|---|---|---|
| `Projection` (default) | v projected | q, v and the error projected | round-off | everything, singular configurations |
| `Projection(stabilization=…)` | v projected, term in b | the same | round-off | stiff rheonomic problems |
| `Baumgarte(α, β)` | `b − 2αψ − β²φ` | nothing | size of the integration error | comparison with the literature |
| `Stabilized(BaumgarteGains(α, β))` | `b − αψ − βφ`, per row | nothing | the same | comparison with the literature |
| `NoStabilization()` | nothing | nothing | grows | to see why the others exist |
"""  # noqa: E501

from zwang.dynamics.drift.base import AbstractDrift as AbstractDrift
from zwang.dynamics.drift.base import ProjectedStep as ProjectedStep
from zwang.dynamics.drift.baumgarte import AbstractStabilization as AbstractStabilization
from zwang.dynamics.drift.baumgarte import Baumgarte as Baumgarte
from zwang.dynamics.drift.baumgarte import BaumgarteGains as BaumgarteGains
from zwang.dynamics.drift.baumgarte import BaumgarteRates as BaumgarteRates
from zwang.dynamics.drift.baumgarte import NoStabilization as NoStabilization
from zwang.dynamics.drift.baumgarte import Stabilized as Stabilized
from zwang.dynamics.drift.projection import Projection as Projection

ALL_DRIFTS = (
    Projection(),
    Projection(stabilization=BaumgarteRates(5.0, 5.0)),
    Baumgarte(5.0, 5.0),
    Stabilized(BaumgarteGains(10.0, 25.0)),
    NoStabilization(),
)
