"""The list of documented versions, with the newest one first."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("site_of_docs", ROOT / "docs" / "site.py")
site_of_docs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(site_of_docs)


def test_versions_are_listed_and_the_newest_is_shown_first(tmp_path):
    built, site = tmp_path / "html", tmp_path / "site"
    built.mkdir()
    for name in ("0.9.0", "0.10.0", "0.2.0"):
        (built / "index.html").write_text(f"the pages of {name}")
        found = site_of_docs.write_site(built, site, name)
    assert found == ["0.10.0", "0.9.0", "0.2.0"]
    assert "url=0.10.0/index.html" in (site / "index.html").read_text()
    assert "the pages of 0.9.0" in (site / "0.9.0" / "index.html").read_text()
    assert (site / "versions.html").read_text().count("<li>") == 3
