"""Records of mode changes."""

from __future__ import annotations

import dataclasses

from zwang.thresholds import AGREEMENT


@dataclasses.dataclass(frozen=True)
class Switched:
    """A mode change: constraints that became active or inactive at one instant.

    Attributes:
        time: instant [s]; for a gap that comes to rest after ever shorter rebounds, their limit.
        on, off: names of the constraints that were switched on and off: gaps that are closed or
            open from then on, dry frictions that stick or slide.
        energy_loss: kinetic energy before minus after [energy_unit]; 0 without a jump of the
            velocity.
        work: work of constraints that prescribe a motion, −Λᵀ ∂ψ/∂t of a table that is lifted
            [energy_unit]; the impact dissipates `energy_loss + work`.
        impulse: change of momentum by the constraints, `M (v⁺ − v⁻) = AᵀΛ` [N s, N m s …], shape
            (nv,).
        multipliers: Λ of the rows of each constraint in `on`, by name.
        energy_unit: the system's unit of energy.
        hit: names of the gaps that closed with a velocity, whether they open again or not.
    """

    time: float
    on: tuple[str, ...]
    off: tuple[str, ...]
    energy_loss: float
    impulse: tuple[float, ...]
    multipliers: dict[str, tuple[float, ...]]
    energy_unit: str
    hit: tuple[str, ...] = ()
    work: float = 0.0

    @property
    def dissipated(self) -> float:
        """Energy that the impact takes from the mechanism and from prescribed motions
        [energy_unit].
        """
        return self.energy_loss + self.work

    @property
    def what(self) -> str:
        """A short description, such as "latch on, rope off"."""
        changes = {"hit": self.hit, "on": self.on, "off": self.off}
        return ", ".join(f"{name} {how}" for how, names in changes.items() for name in names)

    def __str__(self) -> str:
        if not self.multipliers:
            return f"t = {self.time:.6f} s: {self.what}"
        # gaps that come to rest together have no separate impulses
        impulse = "; ".join(
            f"{name} Λ = {', '.join(f'{x:.4g}' for x in values[:6])}{' …' * (len(values) > 6)}"
            for name, values in self.multipliers.items()
            if values
        )
        lost = f"energy lost {self.dissipated:.4g} {self.energy_unit}"
        if abs(self.work) > AGREEMENT * abs(self.dissipated):
            lost += f", added by what moves {self.work:.4g} {self.energy_unit}"
        said = "; ".join(filter(None, (impulse, lost)))
        return f"t = {self.time:.6f} s: {self.what} ({said})"

    __repr__ = __str__
