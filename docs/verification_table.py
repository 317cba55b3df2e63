"""Directives that put `verification.json`, which `python -m verification` writes, into a page.

```{verification-table} chrono
```
```{verification-summary}
```
"""

import html
import json
import re
from collections import Counter
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from zwang.papers.index import PAPERS

FILE = Path(__file__).parent / "verification.json"
TITLES = {
    "chrono": "Project Chrono: joint tests against ADAMS",
    "modelica": "Modelica Standard Library: reference results of Dymola",
    "iftomm": "IFToMM library of computational benchmark problems",
    "siconos": "Siconos: examples of mechanics with impacts",
    "fclib": "Siconos and FCLIB: one step of contacts with friction in space",
    "ivp": "Test Set for IVP Solvers",
    "robots": "Robot files beside MuJoCo and Pinocchio",
    "states": "Robot files at a thousand random states each, beside MuJoCo and Pinocchio",
    "legs": "Closed loops at the limit of their motors",
    "exact": "Closed forms",
    "contact": "Closed forms of contact",
    "random": "Random mechanisms with stops, play and dry friction",
    "analyses": "Analyses",
    "control": "Control: closed forms and independent solutions",
    "uncertain": "Control: stated bounds beside a thousand systems",
    "gradients": "Derivatives of whole runs",
    "pages": "Pages that simulate beside Python",
    **{name: f"Paper: {paper.citation}" for name, paper in PAPERS.items()},
}
OPEN = 12
"""Suites with at most as many lines are shown unfolded."""


SEVERAL = {"agrees": "agree", "differs": "differ"}
"""Verdicts of more than one line."""


def kept() -> dict[str, list[dict]]:
    """The lines of every suite."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def counted(lines: list[dict]) -> str:
    """How many lines have which verdict."""
    count = Counter(line["verdict"] for line in lines)
    said = lambda n, verdict: verdict if n == 1 else SEVERAL.get(verdict, verdict)
    return ", ".join(f"{n} {said(n, verdict)}" for verdict, n in sorted(count.items()))


NUMBER = re.compile(r"(?:≤ )?\d[\d.]*e-\d+")
"""Numbers that a narrow column would break at their minus signs."""


def cells(line: dict, several: bool) -> list[str]:
    """A line of the table, with its command where a suite has several."""
    number = line["difference"]
    found = "" if number is None else f"{number:.1e} (≤ {line['allowed']:.0e})"
    return [
        line["case"],
        line["what"],
        line["published"],
        line["ours"],
        found,
        line["verdict"],
        line["why"],
        line["command"] if several else "",
    ]


def cell(text: str, code: bool) -> str:
    """A cell of a line as HTML."""
    shown = NUMBER.sub(r"<span class='unbroken'>\g<0></span>", html.escape(text))
    return f"<td><code>{shown}</code></td>" if code and text else f"<td>{shown}</td>"


def table(lines: list[dict]) -> str:
    """The lines of a suite as HTML, without columns that are empty throughout."""
    heads = "case, what, published, ours, difference, verdict, why and whose, command".split(", ")
    several = len({line["command"] for line in lines}) > 1
    rows = [cells(line, several) for line in lines]
    shown = [i for i in range(len(heads)) if any(row[i] for row in rows)]
    head = "".join(f"<th scope='col'>{heads[i]}</th>" for i in shown)
    body = "".join(
        "<tr>" + "".join(cell(row[i], heads[i] == "command") for i in shown) + "</tr>"
        for row in rows
    )
    return f"<table class='docutils'><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class VerificationTable(SphinxDirective):
    """All lines of one suite, folded if they are many."""

    required_arguments = 1

    def run(self):
        self.env.note_dependency(str(FILE))
        suites = PAPERS if self.arguments[0] == "papers" else self.arguments
        return [nodes.raw("", self.shown(name), format="html") for name in suites]

    def shown(self, name: str) -> str:
        """One suite as HTML."""
        lines = kept().get(name, [])
        if not lines:
            command = html.escape(f"python -m verification {name}")
            return (
                f"<p>{html.escape(TITLES[name])}: not recomputed for this version; "
                f"<code>{command}</code> does it.</p>"
            )
        commands = sorted({line["command"] for line in lines})
        stated = commands[0] if len(commands) == 1 else "its command stands in each line"
        opened = " open" if len(lines) <= OPEN else ""
        return (
            f"<p>{html.escape(TITLES[name])}: {counted(lines)}; "
            f"<code>{html.escape(stated)}</code></p>"
            f"<details{opened}><summary>{len(lines)} lines</summary>"
            f"<div class='table-wrapper'>{table(lines)}</div></details>"
        )


class VerificationSummary(SphinxDirective):
    """How many lines of which suite have which verdict."""

    def run(self):
        self.env.note_dependency(str(FILE))
        rows = [f"| {TITLES[name]} | {counted(lines)} |" for name, lines in kept().items()]
        return self.parse_text_to_nodes("\n".join(["| suite | lines |", "|---|---|", *rows]) + "\n")


def setup(app):
    app.add_directive("verification-table", VerificationTable)
    app.add_directive("verification-summary", VerificationSummary)
    return {"parallel_read_safe": True}
