"""Optional packages, which extras install."""

from __future__ import annotations

import importlib.util

from zwang.errors import ModelError

CALLED = {"control": "python-control", "sksundae": "scikit-sundae", "sympy": "SymPy"}
"""Names of packages where they differ from the imported name."""


def require(package: str, extra: str, what: str) -> None:
    """Raise one sentence unless a package is installed.

    Args:
        package: name to import.
        extra: the extra of zwang that installs it.
        what: the feature that needs it, in the singular.

    Raises:
        ModelError: names the package and how to install it.
    """
    if importlib.util.find_spec(package) is None:
        raise ModelError(
            f"{what} needs {CALLED.get(package, package)}, which is not installed: "
            f"{installation(extra)}."
        )


def installation(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"in a clone of zwang, pip install '.[{extra}]'"
