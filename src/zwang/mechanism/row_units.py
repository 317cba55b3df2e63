"""Units of the rows of each kind of joint, in the plane and in space.

Rows of places are in metres, so that their multipliers are the components of a force in newtons;
rows of angles, or of their sines, are in radians, and their multipliers are torques in N m.
"""

from __future__ import annotations

PLACE, TURN = "m", "rad"

PLANE: dict[str, tuple[str, ...]] = {
    "revolute": (PLACE,),
    "prismatic": (PLACE, TURN),
    "fixed": (PLACE, PLACE, TURN),
    "slot": (PLACE,),
    "rod": (PLACE,),
    "rolling": (PLACE,),
    "gear": (TURN,),
    "belt": (TURN,),
    "rack": (PLACE,),
}
SPACE: dict[str, tuple[str, ...]] = {
    "revolute": (PLACE, PLACE, PLACE, TURN, TURN),
    "prismatic": (PLACE, PLACE, TURN, TURN, TURN),
    "cylindrical": (PLACE, PLACE, TURN, TURN),
    "universal": (PLACE, PLACE, PLACE, TURN),
    "spherical": (PLACE,),
    "planar": (TURN, TURN, PLACE),
    "fixed": (PLACE, PLACE, PLACE, TURN, TURN, TURN),
    "slot": (PLACE,),
    "rod": (PLACE,),
    "screw": (PLACE, PLACE, TURN, TURN, TURN),
    "rolling": (PLACE,),
    "gear": (TURN,),
    "belt": (TURN,),
    "rack": (PLACE,),
}
RATES = (f"{PLACE}/s",)
"""Rows of velocities, of rolling and of a knife edge, are sliding velocities."""


def row_units(kind: str, dimension: int) -> tuple[str, ...]:
    """Units of the rows of positions of a joint in 2 or 3 dimensions; none for rows by a formula."""
    return (PLANE if dimension == 2 else SPACE).get(kind, ())


def coordinate_unit(coordinate: str | None) -> str:
    """Unit of a coordinate of two points, `pairs.COORDINATES`."""
    return TURN if coordinate == "angle" else PLACE
