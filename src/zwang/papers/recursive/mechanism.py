"""Figures 1-4: the 3RRR parallel mechanism as ten modules on three levels."""

from __future__ import annotations

import numpy as np

import zwang.gallery
from zwang.analysis.check import check
from zwang.dynamics.motion import motion
from zwang.hierarchy import enforce
from zwang.hierarchy.tree_layout import assembly_of
from zwang.output.report.figures import Chart
from zwang.papers.claim import Claim, Grid, compared
from zwang.papers.drawing import across_the_page


def claims() -> tuple[list[Claim], list[Grid], list[Chart]]:
    """Modules, levels, symmetry, and a run of two seconds."""
    example = zwang.gallery.load("3rrr")
    model = example.model
    found = check(model, example.q0, example.v0)
    top = enforce(model, example.q0, example.v0)
    at_once = motion(model, example.q0, example.v0)
    assembly = assembly_of(model)
    assert assembly is not None
    # modules without submodules
    leaves = [node for node in assembly.top.walk() if not node.modules]
    free = [level.degrees_of_freedom for level in found.levels]
    deviation = float(np.abs(top.acceleration - at_once.acceleration).max())
    M = model.system.mass_matrix(example.q0, 0.0, model.params)
    run = example.run(rtol=1e-11, duration=2.0)
    balance, violation = (
        float(np.abs(run.dataset[name]).max()) for name in ("energy_balance", "violation")
    )
    A2 = np.asarray(top.levels[1].matrix)
    chain = np.array([name.partition(".")[0] for name in model.system.velocities])
    # rows that couple two chains
    across = sum(len(set(chain[row != 0])) > 1 for row in A2)
    made = [
        Claim(
            "Figures 2-4",
            "modules at level 1, levels",
            "10, 3",
            f"{len(leaves)}, {len(found.levels)}",
            compared(len(leaves) == 10 and len(found.levels) == 3),
        ),
        Claim(
            "Figure 4",
            "degrees of freedom at levels 1, 2, 3",
            "–, –, 3",
            ", ".join(map(str, free)),
            compared(free == [18, 9, 3]),
            "18 coordinates; 9 rows at level 2, 6 at level 3. The paper leaves the first two to "
            "its supplement.",
        ),
        Claim(
            "section 2",
            "M is block-diagonal in the modules, level 2 in the chains",
            "block-diagonal",
            f"M diagonal, shape {M.shape}; {across} of {len(A2)} rows across chains",
            compared(M.shape == (18,) and across == 0),
        ),
        Claim(
            "section 4",
            "three levels give the acceleration of all 15 rows at once",
            "equal",
            f"differ by {deviation:.1e}",
            compared(deviation < 1e-12),
        ),
        Claim(
            "section 1, forward simulation",
            "a run of 2 s keeps its constraints and its energy balance",
            "not computed",
            f"largest violation {violation:.0e}, energy balance {balance:.0e} J",
            compared(violation < 1e-12 and balance < 1e-10),
            "Our parameters; the test suite compares the run with three minimal coordinates.",
        ),
    ]
    grids = _grids(found, top, model.system.coordinates.index("platform.x"))
    charts = _charts(example, run)
    return made, grids, charts


def _grids(found, top, across_x: int) -> list[Grid]:
    """Levels, modules, and the initial state level by level."""
    rows = [
        (
            str(r),
            str(x.rows),
            str(x.rank),
            str(x.degrees_of_freedom),
            ", ".join(x.constraints) or "–",
        )
        for r, x in enumerate(found.levels, start=1)
    ]
    forces = [
        (
            str(r),
            f"{float(np.linalg.norm(x.level_force)):.4g}",
            f"{float(x.acceleration[across_x]):.6f}",
        )
        for r, x in enumerate(top.levels, start=1)
    ]
    return [
        Grid(
            "Figure 4: levels of the mechanism",
            ("level", "rows", "rank", "free", "constraints"),
            rows,
        ),
        Grid("Figure 4: the tree of modules", ("module",), [(line,) for line in found.tree]),
        Grid(
            "Section 4: the start, level by level",
            ("level", "force added [N, N m]", "platform ẍ [m/s²]"),
            forces,
            "The platform's acceleration is that of a free body until the last level.",
        ),
    ]


def _charts(example, run) -> list[Chart]:
    """The mechanism, and the path of its platform."""
    pictures = [across_the_page(draw(run)) for draw in example.figures.values()]
    captions = (
        "Three chains of a driven bar and a link carry the platform.",
        "Path of the platform's center under the three torques.",
    )
    return [
        Chart(f"mechanism{i}", title, caption, figure, {})
        for i, (title, caption, figure) in enumerate(
            zip(
                ("Figure 2: the 3RRR mechanism", "Two seconds of motion"),
                captions,
                pictures,
                strict=True,
            )
        )
    ]
