"""A server of one run's files for a browser on this computer only."""

from __future__ import annotations

import contextlib
import functools
import http.server
from collections.abc import Iterator
from pathlib import Path

from zwang.files import is_file

HOST = "127.0.0.1"
"""Address of this computer only."""
SERVED = {
    ".html": "text/html; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".nc": "application/x-netcdf",
}
"""File types of a run; no others are served."""
VIEWER_PATIENCE = 30.0
"""Time after which a connection without a request is closed [s]."""


@contextlib.contextmanager
def serving(folder: Path, port: int) -> Iterator[tuple[http.server.ThreadingHTTPServer, str]]:
    """Open a server of a run's folder; `server.serve_forever()` answers until it is shut down.

    Args:
        folder: of the run.
        port: 0 for any that is free.

    Yields:
        The server and the address of the page.

    Raises:
        OSError: if the port is taken.
    """
    handler = functools.partial(_RunFiles, directory=str(folder))
    with http.server.ThreadingHTTPServer((HOST, port), handler) as server:
        yield server, f"http://{HOST}:{server.server_address[1]}/view.html"


class _RunFiles(http.server.SimpleHTTPRequestHandler):
    """Handler that serves pages, curves and results of a folder.

    It answers only requests that name this computer: a page from elsewhere cannot read the files.
    """

    timeout = VIEWER_PATIENCE

    def send_head(self):
        try:
            if self._is_served():
                return super().send_head()
        except (OSError, ValueError):  # a name that no file can have: too long, or with NUL
            pass
        self.send_error(404)
        return None

    def _is_served(self) -> bool:
        here = self.headers.get("Host", "").rsplit(":", 1)[0] in (HOST, "localhost")
        asked = Path(self.translate_path(self.path))
        inside = Path(self.directory).resolve() in asked.resolve().parents
        return here and inside and asked.suffix in SERVED and is_file(asked)

    def guess_type(self, path):
        return SERVED[Path(path).suffix]

    def log_message(self, format, *args):
        """Suppress the log."""
