"""JAX, made ready before it compiles anything: float64, and compiled programs kept between runs."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from pathlib import Path


def start_jax() -> str:
    """Switch float64 on and the compile cache too.

    Returns:
        A sentence if there is no cache, which costs nothing but time; empty otherwise.
    """
    import jax
    import jaxlib.version

    jax.config.update("jax_enable_x64", True)
    folder = cache_folder() / "jax" / f"{jaxlib.version.__version__}-{processor()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(13, "not writable")
    except OSError as error:
        return f"no compile cache at {folder} ({error.strerror}), so every run compiles anew; ZWANG_CACHE names another folder."
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
    return ""


def cache_folder() -> Path:
    """Where zwang keeps what it can make again: `ZWANG_CACHE`, or the platform's folder for caches."""
    if own := os.environ.get("ZWANG_CACHE"):
        return Path(own).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "zwang" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "zwang"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "zwang"


def processor() -> str:
    """A short word for this processor's abilities: programs compiled for others may not run on it."""
    described = [platform.machine(), platform.processor()]
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        described += list(dict.fromkeys(line for line in lines if line.startswith(("flags", "Features", "model name"))))
    except OSError:
        pass
    return hashlib.sha256("\n".join(described).encode()).hexdigest()[:12]
