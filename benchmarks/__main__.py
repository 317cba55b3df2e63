"""`python -m benchmarks [name ...]`: run the benchmarks of `NAMES`, all or some, print tables,
write `results/benchmarks.json`.

| command | what |
|---|---|
| `python -m benchmarks` | the short ones (`make bench`) |
| `python -m benchmarks all` | everything, which takes half an hour (`make bench-all`) |
| `python -m benchmarks acceleration startup` | some, by name |
| `python -m benchmarks peers --problem a02 --peer exudyn` | beside other programs, a part |
| `python -m benchmarks page` | `docs/performance.md` with its pictures from what was measured |
| `python -m benchmarks loops worlds --data FOLDER` | robots whose files are below a folder |
| `python -m benchmarks compare TREE` | beside another version, part by part |
| `python -m benchmarks.gallery_runs` | every motion of the gallery, recorded and compared |

Each part that is measured again replaces itself in the file and leaves the others.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
import traceback
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # one core, for NumPy too; read when it is first imported

NAMES = (
    "limits",
    "acceleration",
    "small",
    "generated",
    "kernel",
    "contact",
    "control",
    "crossing",
    "compile",
    "startup",
    "first",
    "batch",
    "gradients",
    "learning",
    "hierarchy",
    "modules",
    "robots",
    "loops",
    "worlds",
    "space",
    "sparse",
    "long",
    "pages",
    "peers",
)
SHORT = ("limits", "acceleration", "small", "control", "crossing", "startup", "hierarchy", "peers")
"""What runs when nothing is named: minutes."""
WHOLE = "all"
WITH_DATA = ("loops", "worlds")
"""Those that take robots' files from a folder of the reader's (`--data FOLDER`)."""


def main(names: list[str]) -> int:
    if names[:1] in (["--help"], ["-h"]):
        print(__doc__)
        return 0
    if names[:1] == ["page"]:
        from benchmarks.page.write import main as write_page

        return write_page(names[1:])
    if names[:1] == ["peers"]:
        from benchmarks.peers.command import main as measure_peers

        return measure_peers(names[1:])
    if names[:1] == ["compare"]:
        from benchmarks.compare import main as compare

        return compare(names[1:])
    data = None
    if "--data" in names:
        at = names.index("--data")
        data, names = Path(*names[at + 1 : at + 2]), [*names[:at], *names[at + 2 :]]
    unknown = [n for n in names if n not in (*NAMES, WHOLE)]
    if unknown:
        print(
            f"unknown benchmark {unknown[0]!r}; there are: {', '.join(NAMES)}, {WHOLE}, page.",
            file=sys.stderr,
        )
        return 2
    import jax

    from benchmarks import store

    jax.config.update("jax_enable_x64", True)
    machine = store.machine()
    store.save("machine", machine)
    print(", ".join(f"{k} {v}" for k, v in machine.items()), end="\n\n")
    failed = []
    for name in NAMES if WHOLE in names else names or SHORT:
        begun = time.perf_counter()
        try:
            if name == "peers":
                _peers(WHOLE in names)
            else:
                benchmark = importlib.import_module(f"benchmarks.{name}")
                given = {"data": data} if name in WITH_DATA else {}
                store.save(name, benchmark.run(**given))
        except Exception:  # one part that fails must not cost the others
            traceback.print_exc()
            failed.append(name)
        print(f"({name}: {time.perf_counter() - begun:.0f} s)\n", flush=True)
    print(f"written to {store.RESULTS}" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


def _peers(whole: bool) -> None:
    from benchmarks.peers import command

    command.main([]) if whole else command.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
