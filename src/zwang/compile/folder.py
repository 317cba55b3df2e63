"""The cache folder, and the processor that the compiled programs in it belong to."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import sys
from pathlib import Path


def cache_folder() -> Path:
    """Return `ZWANG_CACHE`, or the platform's folder for caches."""
    if own := os.environ.get("ZWANG_CACHE"):
        return Path(own).expanduser()
    if sys.platform == "win32":
        return (
            Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
            / "zwang"
            / "cache"
        )
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "zwang"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "zwang"


@functools.cache
def processor() -> str:
    """Digest of the processor's instruction sets, which compiled programs depend on."""
    described = [platform.machine(), platform.processor()]
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        described += list(
            dict.fromkeys(
                line for line in lines if line.startswith(("flags", "Features", "model name"))
            )
        )
    except OSError:
        pass
    return hashlib.sha256("\n".join(described).encode()).hexdigest()[:12]
