"""Short runs take their steps on the host: they end before a compiled loop would be ready."""

import pytest


@pytest.fixture(autouse=True)
def _on_the_host(request, monkeypatch):
    if not request.node.get_closest_marker("slow"):
        monkeypatch.setenv("ZWANG_EXECUTION", "host")
