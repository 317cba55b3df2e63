"""Run cases from seeds, each within a time limit, and store the seeds that fail."""

from __future__ import annotations

import contextlib
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from zwang.errors import ModelError, Result, SimulationError

SEEDS = Path(__file__).with_name("seeds.txt")
"""`kind seed` in each line: what has failed before, and is tried first."""
OWN = (ModelError, SimulationError)
"""What the library may raise; subclasses included."""
PATIENCE = 5
"""How many times its limit a case may take by the clock while it does not compute."""
LONGEST_SENTENCE = 1000
"""Characters [-]: an answer quotes its input in part, and lists few names."""


class TimeLimitError(BaseException):
    """A case took too long; no `except Exception` of the library's stops it."""


@contextlib.contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise `TimeLimitError` after a time; in the main thread, and not within compiled code.

    On a computer that is busy with something else a case may take `PATIENCE` times as long by the
    clock, as long as it computes for less than the limit.
    """
    begun = time.process_time()
    waits = iter(range(PATIENCE - 1))

    def ring(signum, frame):
        if time.process_time() - begun < 0.9 * seconds and next(waits, None) is not None:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            return
        raise TimeLimitError(f"took more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def failure(
    case: Callable[[np.random.Generator], None],
    seed: int,
    seconds: float,
    answered: Callable[[int, str], None] = lambda seed, sentence: None,
) -> str | None:
    """What is wrong with the case of a seed; None if it ends as it should.

    A case raises `AssertionError` for a wrong result; the library's own errors are right answers
    as long as they say something in one readable sentence, which `answered` is called with.

    Raises:
        KeyboardInterrupt: at a Ctrl-C, also where a run has made a result of it: what was
            interrupted has shown nothing.
    """
    try:
        with limit(seconds), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case(np.random.default_rng(seed))
    except OWN as error:
        if getattr(error, "result", None) is Result.INTERRUPTED:
            raise KeyboardInterrupt from error
        answered(seed, str(error))
        return _unreadable(str(error))
    except AssertionError as error:
        return f"wrong: {error}"
    except TimeLimitError as error:
        return str(error)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return f"foreign {type(error).__name__}: {str(error)[:160]!r}"
    return None


def _unreadable(sentence: str) -> str | None:
    if len(sentence) > LONGEST_SENTENCE:
        return f"a sentence of {len(sentence)} characters"
    if not sentence.strip():
        return "an error without a word"
    if any(ord(c) < 32 and c not in "\n\t" for c in sentence):
        return f"control characters in {sentence[:80]!r}"
    if "Traceback" in sentence:
        return f"a traceback in {sentence[:80]!r}"
    return None


def failures(
    kind: str,
    case,
    count: int,
    seed: int,
    seconds: float,
    seeds: Path | None = SEEDS,
    progress: Callable[[int, str | None], None] = lambda seed, what: None,
    answered: Callable[[int, str], None] = lambda seed, sentence: None,
) -> dict[int, str]:
    """What is wrong, by seed: seeds that failed before first, then `count` from `seed` on.

    New ones are appended to the file of seeds at once unless `seeds` is None; `progress` is called
    with each case when it has ended, `answered` before that if it ended in a sentence.
    """
    known = remembered(kind, seeds)
    wrong = {}
    for s in [*known, *(s for s in range(seed, seed + count) if s not in known)]:
        if (what := failure(case, s, seconds, answered)) is not None:
            wrong[s] = what
            if seeds is not None and s not in known:
                with seeds.open("a") as file:
                    file.write(f"{kind} {s}\n")
        progress(s, what)
    return wrong


def remembered(kind: str, seeds: Path | None = SEEDS) -> list[int]:
    """Seeds of a kind that are in the file."""
    if seeds is None or not seeds.exists():
        return []
    lines = (line.split() for line in seeds.read_text().splitlines() if line[:1] != "#")
    return [int(parts[1]) for parts in lines if len(parts) >= 2 and parts[0] == kind]
