"""One-kernel programs are tried in another process before they are used on an unknown version."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.compile import canary
from zwang.compile.lowering import compile_flat


@pytest.fixture
def unknown_version(monkeypatch, tmp_path):
    """Neither jaxlib nor processor are known, and nothing was tried."""
    monkeypatch.setenv("ZWANG_CACHE", str(tmp_path))
    monkeypatch.setattr(canary, "TESTED_KERNELS", frozenset())
    canary.refusal.cache_clear()
    yield tmp_path / "kernels"
    canary.refusal.cache_clear()


def is_kernel():
    made = compile_flat(lambda x: [jnp.sin(x).sum()], [np.ones(3)])
    np.testing.assert_allclose(made.compiled(np.ones(3))[0], 3 * np.sin(1.0), rtol=1e-14)
    return "xla_cpu_small_call" in made.compiled.as_text()


def test_a_known_version_is_not_tried(monkeypatch):
    canary.refusal.cache_clear()
    monkeypatch.setattr(canary, "_tried", None)
    assert canary.refusal() == ""


def test_the_trial_passes_here(capsys):
    canary.main()
    assert capsys.readouterr().out.strip() == canary.WORKS


@pytest.mark.slow
def test_an_unknown_version_is_tried_in_a_process_of_its_own(unknown_version):
    assert is_kernel()
    (verdict,) = unknown_version.iterdir()
    assert verdict.read_text().strip() == canary.WORKS


def test_a_version_is_tried_once(unknown_version, monkeypatch):
    tried = []
    monkeypatch.setattr(canary, "_tried", lambda: tried.append(1) or canary.WORKS)
    for _ in range(2):
        canary.refusal.cache_clear()
        assert canary.refusal() == ""
    assert tried == [1]


def test_a_trial_that_ends_its_process_leaves_programs_apart(unknown_version, monkeypatch):
    dies = "import os, signal; os.kill(os.getpid(), signal.SIGABRT)"
    real = canary.subprocess.run
    died = lambda command, **options: real([*command[:2], dies], **options)
    monkeypatch.setattr(canary.subprocess, "run", died)
    with pytest.warns(UserWarning, match="operation by operation: .*exit code -6, no output"):
        assert not is_kernel()
    canary.refusal.cache_clear()
    monkeypatch.setattr(canary.subprocess, "run", None)  # the verdict is read
    with pytest.warns(UserWarning, match="ZWANG_ONE_KERNEL=1 uses them all the same"):
        assert "failed their trial" in canary.refusal()
    canary.refusal.cache_clear()
    monkeypatch.setenv("ZWANG_ONE_KERNEL", "1")
    assert canary.refusal() == "" and is_kernel()


def test_a_trial_that_cannot_start_says_so(unknown_version, monkeypatch):
    monkeypatch.setattr(canary.sys, "executable", "/no/such/python")
    with pytest.warns(UserWarning, match="the trial did not run"):
        assert float(zw.program(lambda x: 2 * x)(np.ones(()))) == 2.0
