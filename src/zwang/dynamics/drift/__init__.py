"""Treatments of drift, the growth of the position residual φ and the velocity residual ψ.

| member | stage | after a step | violation | use it for |
|---|---|---|---|---|
| `Projection` (default) | v projected | q, v, error projected | round-off | everything |
| `Projection(stabilization=…)` | v projected, b | the same | round-off | stiff rheonomic problems |
| `Baumgarte(α, β)` | `b − 2αψ − β²φ` | nothing | integration error | comparisons |
| `Stabilized(BaumgarteGains(α, β))` | `b − αψ − βφ` | nothing | the same | comparisons |
| `NoStabilization()` | nothing | nothing | grows | demonstration of drift |
"""

from zwang.dynamics.drift.base import AbstractDrift as AbstractDrift
from zwang.dynamics.drift.base import ProjectedStep as ProjectedStep
from zwang.dynamics.drift.baumgarte import AbstractStabilization as AbstractStabilization
from zwang.dynamics.drift.baumgarte import Baumgarte as Baumgarte
from zwang.dynamics.drift.baumgarte import BaumgarteGains as BaumgarteGains
from zwang.dynamics.drift.baumgarte import BaumgarteRates as BaumgarteRates
from zwang.dynamics.drift.baumgarte import NoStabilization as NoStabilization
from zwang.dynamics.drift.baumgarte import Stabilized as Stabilized
from zwang.dynamics.drift.projection import Projection as Projection
