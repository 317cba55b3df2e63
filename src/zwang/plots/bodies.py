"""Styles of bodies, joints and springs in a picture."""

from __future__ import annotations

BODY, JOINT, FRAME, SPRING, OPEN = "#0072b2", "#d55e00", "#555555", "#009e73", "#cc0000"
FADED = 0.16
"""Opacity of a body at another instant."""
HEIGHT = 2.9
"""Height of a picture [inch]."""
