"""Ctrl-C: it ends the integration, but not the saving of what was integrated."""

from __future__ import annotations

import signal
import threading

from zwang.cli.terminal import complain

SAVING = "interrupted; the run is being saved, press Ctrl-C again to leave without it."


class Interruption:
    """What Ctrl-C does while this context lasts.

    Until `hold` it raises `KeyboardInterrupt`, which ends the integration. The first one also
    holds what comes after, up to `release`: there, one Ctrl-C is only noted, a second one raises.

    Attributes:
        noted: whether Ctrl-C was pressed while it was held.
    """

    def __init__(self):
        self.noted, self._held, self._before = False, False, None

    def __enter__(self) -> Interruption:
        # Python allows handlers in the main thread only
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._pressed)
        return self

    def __exit__(self, *_) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def hold(self) -> None:
        """What follows must not be lost."""
        self._held = True

    def release(self) -> None:
        """What was to be saved is saved; a Ctrl-C that was noted takes effect now.

        Raises:
            KeyboardInterrupt: if there was one.
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
