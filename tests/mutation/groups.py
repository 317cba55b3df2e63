"""The mutated files, and the tests that must fail for their mutants."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    """Files of one purpose.

    Attributes:
        files: modules below `zwang`.
        tests: what pytest is given; each mutant runs all of them, up to the first that fails.
    """

    files: tuple[str, ...]
    tests: tuple[str, ...]


GROUPS = {
    "kernel": Group(
        ("algebra.gauss", "algebra.judgement"),
        ("tests/algebra/test_judgement.py", "tests/algebra/test_gauss.py"),
    ),
    "operators": Group(
        (
            "algebra.pseudoinverse.certificate",
            "algebra.pseudoinverse.proximal",
        ),
        (
            "tests/algebra/test_rows_alike.py",
            "tests/algebra/pseudoinverse/test_certificate.py",
        ),
    ),
    "drift": Group(
        ("algebra.metric", "dynamics.drift.projection", "dynamics.drift.baumgarte"),
        ("tests/algebra/test_metric.py", "tests/dynamics/test_drift.py"),
    ),
    "start": Group(
        ("dynamics.scales", "dynamics.placement", "dynamics.initial_conditions"),
        (
            "tests/dynamics/test_scales.py",
            "tests/dynamics/test_placement.py",
            "tests/dynamics/test_start_judged.py",
        ),
    ),
    "sparse": Group(("algebra.elimination.pseudoinverse",), ("tests/algebra/test_sparse_rows.py",)),
    "consistency": Group(("dynamics.consistency",), ("tests/dynamics/test_verdict.py",)),
    "check": Group(("analysis.check", "algebra.rank"), ("tests/analysis/test_diagnosis.py",)),
    "arguments": Group(("arguments", "text"), ("tests/test_argument_kinds.py",)),
}
