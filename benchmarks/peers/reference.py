"""Where the spatial chain is after 1 s: ends of its rods, for which there is no closed form.

    python -m benchmarks.peers.reference

finds them again with zwang at rtol 1e-13 and prints how far three other codes are off.

DOP853 on the equations by hand at rtol 1e-12 differed by 4e-13 m, Pinocchio's tree with 10 000
Runge-Kutta steps by 5e-12 m and IDA at rtol 1e-11 by 6e-10 m.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("chain.csv")
ENDS = np.loadtxt(FILE, delimiter=",", skiprows=1) if FILE.exists() else np.full((10, 3), np.nan)
"""Places [m], shape (rods, 3)."""
CHECKS = (("numpy-dop853", 1e-12), ("pinocchio", 1e-4), ("ida", 1e-11))


def main() -> None:
    from benchmarks.peers import by_key
    from benchmarks.peers.problems import PROBLEMS

    found = by_key("zwang").prepare(PROBLEMS["chain"](), 1e-13)().q[-1].reshape(-1, 3)
    for key, setting in CHECKS:
        other = by_key(key).prepare(PROBLEMS["chain"](), setting)().q[-1].reshape(-1, 3)
        print(f"{key} at {setting:g} differs by {np.max(np.abs(other - found)):.1e} m")
    np.savetxt(FILE, found, delimiter=",", header="x [m],y [m],z [m]", comments="", fmt="%.16g")


if __name__ == "__main__":
    main()
