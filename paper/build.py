"""`make paper`: the paper of the Journal of Open Source Software as PDF, every citation found.

Pandoc resolves citations and formulas as the journal's own build does; the page is printed by
Chromium, so that no LaTeX is needed.
"""

import shutil
import tempfile
from pathlib import Path

import pypandoc  # pyright: ignore[reportMissingImports] (installed by `make paper`)
from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
TARGET = HERE / "paper.pdf"
STYLE = """<style>
body { font: 11pt/1.45 serif; max-width: none; margin: 0; padding: 0; text-align: justify; }
h1 { font: bold 15pt sans-serif; margin: 1.2em 0 .4em; } h1.title { font-size: 20pt; }
header p { font-family: sans-serif; } .csl-entry { margin: .4em 0 .4em 1.5em; text-indent: -1.5em; }
code { font-size: 90%; } a { color: inherit; }
</style>"""


def main() -> None:
    """Write the PDF; a citation or a formula that is not understood ends it."""
    with tempfile.TemporaryDirectory() as folder:
        style, page = Path(folder) / "style.html", Path(folder) / "paper.html"
        style.write_text(STYLE, encoding="utf-8")
        pypandoc.convert_file(
            str(HERE / "paper.md"),
            "html",
            outputfile=str(page),
            extra_args=[
                "--standalone",
                "--citeproc",
                "--mathml",
                "--fail-if-warnings",
                f"--resource-path={HERE}",
                f"--bibliography={HERE / 'paper.bib'}",
                f"--include-in-header={style}",
                "--metadata=author:The zwang developers",
                "--metadata=lang:en",
            ],
        )
        with sync_playwright() as driver:
            chromium = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
            browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            shown = browser.new_page()
            shown.goto(page.as_uri())
            margin = {side: "22mm" for side in ("top", "bottom", "left", "right")}
            shown.pdf(path=str(TARGET), format="A4", margin=margin)
            browser.close()
    print(f"written: {TARGET} ({TARGET.stat().st_size / 1000:.0f} kB)")


if __name__ == "__main__":
    main()
