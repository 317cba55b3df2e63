"""Ctrl-C: it ends the integration, but not the saving of its result."""

from __future__ import annotations

import signal
import threading

from zwang.cli.terminal import complain

SAVING = "interrupted; the run is being saved, press Ctrl-C again to leave without it."


class Interruption:
    """The handling of Ctrl-C within this context.

    Until `hold`, Ctrl-C raises `KeyboardInterrupt`, which ends the integration, and implies `hold`.
    Between `hold` and `release`, a first Ctrl-C is only noted, and a second one raises.

    Attributes:
        noted: True if Ctrl-C was pressed between `hold` and `release`.
    """

    def __init__(self):
        self.noted, self._held, self._before = False, False, None

    def __enter__(self) -> Interruption:
        # Python permits signal handlers only in the main thread
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._pressed)
        return self

    def __exit__(self, *_) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def hold(self) -> None:
        """Begin a section that Ctrl-C must not interrupt."""
        self._held = True

    def release(self) -> None:
        """End this section; a noted Ctrl-C takes effect now.

        Raises:
            KeyboardInterrupt: if a Ctrl-C was noted.
        """
        self._held = False
        if self.noted:
            raise KeyboardInterrupt

    def _pressed(self, *_) -> None:
        if self._held and not self.noted:
            self.noted = True
            complain(SAVING)
            return
        self._held = True
        raise KeyboardInterrupt
