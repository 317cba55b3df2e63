"""Models as functional mock-up units, for other simulation programs."""

from __future__ import annotations

from zwang.codegen.fmu.unit import FMU as FMU
from zwang.codegen.fmu.unit import fmu as fmu
