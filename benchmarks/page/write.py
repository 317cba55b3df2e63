"""`python -m benchmarks page`: takes over what was measured, then writes the page and its pictures
from it.

`python -m benchmarks page` takes results/benchmarks.json into docs/performance.json and makes
docs/performance.md and its pictures from that; `--again` makes them from docs/performance.json as
it is.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

from benchmarks import store
from benchmarks.page import evaluation, precision
from benchmarks.page.targets import targets
from benchmarks.page.words import digits, seconds, table

DOCS = Path("docs")
KEPT = DOCS / "performance.json"
"""What the page is made from; committed."""
PAGE = DOCS / "performance.md"
ELSEWHERE = "measured elsewhere"
"""In `KEPT`: the processor of each part that comes from another machine than the page names."""
COLUMNS = 100
"""Length of lines of text, as everywhere in the repository."""


def main(arguments: list[str]) -> int:
    from benchmarks.page.pictures import draw

    if arguments not in ([], ["--again"]):
        print("python -m benchmarks page [--again]", file=sys.stderr)
        return 2
    if not arguments:
        measured = store.read()
        if not measured:
            print(f"nothing was measured yet: there is no {store.RESULTS}", file=sys.stderr)
            return 2
        _take_over(measured)
    results = store.read(KEPT)
    PAGE.write_text(text(results))
    drawn = draw(results, DOCS / "_static" / "performance")
    print(f"{PAGE} and {len(drawn)} pictures")
    for line in targets(results):
        print("  " + ", ".join(line).replace("**", ""))
    return 0


def _take_over(measured: dict) -> None:
    """Put what was measured into `KEPT`; the page remembers which parts come from another machine
    than the one that it names, that of the first parts.
    """
    parts, kept = [part for part in measured if part != "machine"], store.read(KEPT)
    everything = set(kept) - {"machine", ELSEWHERE} <= set(parts)
    own = measured.get("machine", {})
    if everything:
        store.save("machine", own, KEPT)
    processor = own.get("processor")
    known = processor == store.read(KEPT).get("machine", {}).get("processor")
    others = {} if everything else dict(kept.get(ELSEWHERE, {}))
    for part in parts:
        store.save(part, measured[part], KEPT)
        others.pop(part, None)
        if not known:
            others[part] = processor
    store.save(ELSEWHERE, others, KEPT)


def _elsewhere(results: dict, part: str) -> str:
    """The sentence for a part that was measured on another machine than the rest."""
    processor = results.get(ELSEWHERE, {}).get(part)
    return f"Unlike the rest of this page, measured on: {processor}.\n\n" if processor else ""


def text(results: dict) -> str:
    """The page."""
    found = results.get("peers", {"peers": {}, "runs": {}, "evaluations": {}})
    sections = [
        TOP.format(machine=_machine(results.get("machine", {}))),
        "## Targets\n\n"
        + (table(["target", "measured", ""], targets(results)) or "Nothing measured yet.\n"),
        AHEAD + precision.ahead(found) if found["runs"] else "",
        EVALUATE_AHEAD + evaluation.ahead(found) if found["evaluations"] else "",
        BESIDE + precision.loop_in_python(found) + precision.section(found),
        ONE + evaluation.section(found),
        LIMIT + evaluation.limit(results),
        _startup(results.get("startup"), _elsewhere(results, "startup")),
        _more(results),
        MANY,
        SETTINGS
        + table(
            ["program", "version", "settings"],
            [[x["title"], x["version"], x["how"]] for x in found["peers"].values()],
        ),
        AGAIN,
    ]
    return _wrapped("\n".join(part.rstrip("\n") + "\n" for part in sections if part))


def _wrapped(page: str) -> str:
    """The page with its long paragraphs filled to 100 columns, as figures change their length. Rows
    of tables and code stay as they are.
    """
    blocks = page.split("\n\n")
    for i, block in enumerate(blocks):
        is_text = not block.lstrip("\n").startswith(("|", "#", "```", "    ", "!["))
        if is_text and max(map(len, block.splitlines()), default=0) > COLUMNS:
            filled = textwrap.fill(block, COLUMNS, break_long_words=False, break_on_hyphens=False)
            blocks[i] = filled + "\n" * block.endswith("\n")
    return "\n\n".join(blocks)


def _machine(machine: dict) -> str:
    """The machine in words, with the load that it had when measuring began."""
    given = {k: digits(v) if k == "load" else v for k, v in machine.items() if v is not None}
    return ", ".join(f"{k} {v}" for k, v in given.items()) or "nothing measured yet"


def _startup(found: dict | None, where: str = "") -> str:
    if not found:
        return ""
    names = {
        "help": "`zwang --help`",
        "import": "`import zwang`, with all that a run needs",
        "first": "`zwang run five-bar`, empty cache",
        "warm": "the same, second run",
        "warm without report": "the same, `--no-report`",
        "warm, nothing kept": "the same, with JAX's compile cache alone",
    }
    return (
        f"## Starting\n\n{where}"
        + table(
            ["whole process", "time"],
            [[name, seconds(found[k])] for k, name in names.items() if k in found],
        )
        + _parts(found.get("parts", {}))
    )


def _parts(found: dict) -> str:
    """Where the time of a first and of a later run goes, start of Python apart."""
    if not found:
        return ""
    return "\n" + table(
        ["run", *found["warm"]],
        [[name, *(seconds(x.get(k, 0.0)) for k in found["warm"])] for name, x in found.items()],
    )


def _more(results: dict) -> str:
    """Tables that other parts bring along: {"title": …, "columns": […], "rows": [[…]]} under
    "table", or several under "tables".
    """
    found = {part: x for part, x in results.items() if isinstance(x, dict)}
    sections = [
        f"## {x['title']}\n\n{_elsewhere(results, part)}"
        + table(x["columns"], [[str(c) for c in row] for row in x["rows"]])
        for part, of in found.items()
        for x in ([of["table"]] if "table" in of else of.get("tables", []))
    ]
    return "\n".join(sections)


TOP = """# Performance

Every figure of this page comes from `performance.json` in the same folder, which the benchmarks
write; `python -m benchmarks page` makes the page from it. Times are medians, with the smallest and
largest in brackets, and were measured on one machine unless a section says otherwise: {machine}.
"""

AHEAD = """## Where others are ahead

At these errors, the fastest other program takes less time than zwang once both are running:

"""

EVALUATE_AHEAD = """For one acceleration of these systems, the fastest other program takes less time
than zwang:

"""

BESIDE = """## Comparison with other programs

Each problem is solved by several programs, each set up as its experts would (the settings are at
the end of the page). Each setting runs in a separate process on one core. *Warm* is a run after the
first in the same process. *Cold* is the whole process, including start, imports, building and
compilation, with zwang's compile cache filled by an earlier process. `×` is the time relative to
zwang's. The error is the largest difference of angles or positions from closed forms, or from
values that independent codes agree on; a run that ends in another motion reaches no error. The
problems include crossing a singular configuration, where the linkages A02 and five-bar lose rank.
zwang, NumPy by hand, IDA and Exudyn use x, y and angle of each body; Pinocchio uses joint
coordinates. *Natural coordinates*, in which A02 was first solved, are the points of the hinges:
there are fewer unknowns and no sines. zwang, NumPy by hand and IDA also solve the linkages in these
coordinates; the time to convert their results to poses of the bodies is included.

"""

ONE = """## One evaluation, and many bodies

One acceleration of zwang consists of A and b by automatic differentiation, their factor and the
solution. NumPy by hand has A and b written out. Pinocchio (constraintDynamics, or aba for the
chain, which is a tree) and MuJoCo (mj_forward, no warm start) are called from Python, which adds
little to each call; MuJoCo's constraints are soft. Exudyn and Drake offer only a whole step. Joint
coordinates have fewer unknowns than the coordinates of all bodies, which zwang and Exudyn use here:
on a tree an algorithm that follows the branches needs no constraints.

"""

LIMIT = """## The limit

"""

MANY = """## Choosing the path for many bodies

A model remains a plain function of q. From `zwang.dynamics.sparse_structure.NATIVE_SPARSE_ROWS`
constraint rows on, if A has more than `FEW_ENTRIES` entries, zwang looks for sparsity and takes the
sparse path if its factor is small; `pseudoinverse=zw.methods.Sparse()` or
`zw.methods.Proximal()` choose a path by name. The page on [decisions](decisions.md#the-sparse-path)
explains how it works. Before the first step, the sparse path takes time to find the structure and
to compile a longer program than the dense path.

```python
import zwang as zw
from zwang import gallery

example = gallery.load("rod-chain", N=1000)
run = example.run(duration=0.1, rtol=1e-6)  # the sparse path, by itself
```

Not sparse yet: dense mass matrices, the velocity map of rigid bodies in space, servo control,
`zw.check`.
"""

SETTINGS = """## Settings of the programs

"""

AGAIN = """## Repeating the measurements

`make bench` takes minutes; `make bench-all` installs the other programs and takes half an hour.
Single parts are measured by:

    python -m benchmarks peers --problem a02 --peer exudyn
    python -m benchmarks peers --problem ladder --problem rods
    python -m benchmarks limits startup
    python -m benchmarks page

A part that is measured again replaces its earlier figures and leaves the others unchanged.
"""
