"""`make site`: the documentation of each version in a folder of its own, with a list of them.

site/index.html       leads to the newest version
site/versions.html    lists all that are there
site/0.2.0/           as `make docs` has built it
"""

import re
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

HEAD = '<!doctype html><html lang="en"><meta charset="utf-8"><title>zwang: documentation</title>'


def numbers(name: str) -> tuple[int, ...]:
    """A version as numbers that can be compared."""
    return tuple(map(int, re.findall(r"\d+", name)))


def write_site(built: Path, site: Path, name: str) -> list[str]:
    """Put a built documentation into the site, and return the versions there, newest first.

    Args:
        built: folder of the built pages.
        site: folder of all versions.
        name: of this version; what was there of it is replaced.
    """
    shutil.rmtree(site / name, ignore_errors=True)
    shutil.copytree(built, site / name, ignore=shutil.ignore_patterns(".buildinfo*", ".doctrees"))
    found = sorted((x.parent.name for x in site.glob("*/index.html")), key=numbers, reverse=True)
    listed = "".join(f'<li><a href="{x}/index.html">{x}</a></li>' for x in found)
    (site / "versions.html").write_text(f"{HEAD}<h1>zwang, by version</h1><ul>{listed}</ul>\n")
    newest = f"{found[0]}/index.html"
    (site / "index.html").write_text(
        f'{HEAD}<meta http-equiv="refresh" content="0; url={newest}"><a href="{newest}">zwang</a>\n'
    )
    return found


if __name__ == "__main__":
    folders = map(Path, sys.argv[1:])
    print("versions:", ", ".join(write_site(*folders, version("zwang"))))
