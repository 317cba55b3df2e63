"""Errors that are raised before tracing, and result codes of compiled programs."""

from __future__ import annotations

import enum
import functools
import re
from typing import Any

from zwang.messages import code_of, reference
from zwang.remedy import (
    LONGER_STEP,
    LOOSER,
    MOVED,
    SHORTER,
    STEPS,
    STIFF,
    TOLERATED,
    Remedy,
    advice,
)

LONGEST_WORD = 120
"""Largest number of characters of a word that a message repeats in full; a longer word is shown by
its two ends."""
_LONG_WORD = re.compile(rf"[^\s/\\]{{{LONGEST_WORD + 1},}}")


def shortened(sentence: str) -> str:
    """Return a sentence in which very long words (names, values) are abbreviated to their first and
    last characters; each part of a path counts as a word.
    """
    ends = lambda word: f"{word[0][: LONGEST_WORD // 2]}…{word[0][-LONGEST_WORD // 6 :]}"
    return _LONG_WORD.sub(ends, sentence)


class ExplainedError(Exception):
    """An error whose message is explained by a section of the page of messages.

    Attributes:
        code: name of that section, which `zwang explain CODE` shows; Python prints this command
            below the traceback.
    """

    @property
    def code(self) -> str:
        return code_of(str(self), self.__traceback__)

    @functools.cached_property
    def __notes__(self) -> list[str]:
        return [reference(self.code)]


class ModelError(ExplainedError, ValueError):
    """A model, a state or an argument is wrong; the message names it, the value it got, the value
    it expects, and the remedy.
    """

    def __init__(self, message: str = ""):
        super().__init__(shortened(message))


class NotFiniteError(ModelError):
    """A constraint is NaN or infinite at a start.

    Attributes:
        constraint: name of the constraint.
    """

    def __init__(self, message: str, constraint: str):
        super().__init__(message)
        self.constraint = constraint


class SimulationError(ExplainedError, RuntimeError):
    """A run stopped before its end.

    Attributes:
        result: the `Result` that stopped it.
        run: the trajectory up to that instant (`Run`), which is never discarded.
    """

    def __init__(self, message: str, result: Result, run=None):
        super().__init__(shortened(message))
        self.result = result
        self.run = run


class OutputError(ExplainedError, OSError):
    """A file or folder could not be written, for lack of space or of permission; the message names
    the file and the cause. Existing files are unchanged.
    """

    def __init__(self, number: int | None, message: str):
        super().__init__(number, shortened(message))

    def __str__(self) -> str:
        return str(self.args[1])


class Result(enum.IntEnum):
    """Outcome of an evaluation or of a run, as an integer that compiled programs can return;
    `.sentence` describes it in words.
    """

    SUCCESS = 0
    NON_FINITE = 1
    SINGULAR_MASS = 2
    INCONSISTENT = 3
    NOT_CONVERGED = 4
    STEP_TOO_SMALL = 5
    TOO_MANY_STEPS = 6
    STOPPED = 7
    INTERRUPTED = 8
    NO_AUTHORITY = 9
    TOO_FEW_ACTUATORS = 10
    AT_LIMIT = 11
    NOT_MET = 12
    CHATTERING = 13
    OFF_CONSTRAINTS = 14
    OUTSIDE_STRUCTURE = 15
    VANISHING = 16
    OUT_OF_RANGE = 17
    BETWEEN_BRANCHES = 18
    PARADOX = 19
    NEARLY_PARALLEL = 20
    SINGULAR_STOP = 21
    NOT_KEPT = 22

    @property
    def sentence(self) -> str:
        return _sentence(*_ENDS[self])

    def said_of(self, integrator: str) -> str:
        """Return the sentence for a motion computed by the named integrator; it omits advice that
        this integrator already follows.
        """
        return _sentence(*_ENDS_OF.get(integrator, {}).get(self, _ENDS[self]))

    @property
    def is_failure(self) -> bool:
        return self not in (Result.SUCCESS, Result.STOPPED)


def _sentence(fact: str, *remedies: Remedy) -> str:
    return f"{fact}: {advice(*remedies)}" if remedies else fact


_SMALL = "the step fell below the smallest one that time can resolve: the motion is"
_MANY = "the step limit was reached, or would be long before the end"
_ENDS: dict[Result, tuple[Any, ...]] = {
    Result.SUCCESS: ("reached the end",),
    Result.NON_FINITE: (
        "the motion became NaN or infinite",
        Remedy("check mass_matrix, force and the constraint functions at this state"),
    ),
    Result.SINGULAR_MASS: (
        "the mass matrix is not positive definite, or a direction without mass is held by no "
        "constraint",
        Remedy(
            "give mass to every direction, or constrain it (inside jit a model that is massless "
            "there needs zw.Model(..., singular_mass=True))",
            (("", "give mass to every direction, or constrain it"),),
        ),
    ),
    Result.INCONSISTENT: (
        "the constraints contradict each other: no acceleration satisfies all of them at this "
        "state",
    ),
    Result.NOT_CONVERGED: (
        "the projection onto the constraints did not converge, whatever the step: the motion may "
        "have reached a point where the constraints cannot be met",
    ),
    Result.STEP_TOO_SMALL: (
        f"{_SMALL} too stiff for this integrator, singular at this point or asked for too long",
        LOOSER,
        STIFF,
    ),
    Result.TOO_MANY_STEPS: (_MANY, STEPS, LOOSER, STIFF),
    Result.STOPPED: ("a stop condition was met",),
    Result.INTERRUPTED: ("interrupted by the user",),
    Result.NO_AUTHORITY: (
        "no actuator accelerates what the servo constraint needs at this state",
        Remedy(
            "find its degree, or integrators, by zw.servo.with_found_degrees",
            (("", "find its degree, or integrators, by with_found_degrees in a .py file"),),
        ),
    ),
    Result.TOO_FEW_ACTUATORS: (
        "the actuators cannot meet all servo constraints together at this state",
    ),
    Result.OFF_CONSTRAINTS: (
        "the start is off its constraints by more than start_tolerance",
        MOVED,
        TOLERATED,
    ),
    Result.AT_LIMIT: (
        "the servo constraints ask for more than the limits of the actuators allow at this state, "
        "or the inequalities that come first",
    ),
    Result.NOT_KEPT: (
        "no control within the limits of the actuators keeps all inequalities of the servo at this "
        "state",
        Remedy("begin to turn back earlier, by a smaller gain of the inequality"),
        Remedy("start farther from it"),
    ),
    Result.NOT_MET: ("a constraint is switched on at a state that violates it",),
    Result.CHATTERING: (
        "the switches chatter (Zeno behavior): events accumulate and no step can pass them",
    ),
    Result.OUTSIDE_STRUCTURE: (
        "a constraint depends on a velocity that it did not depend on where its sparsity was "
        "looked for (a condition in its function?)",
        Remedy("give pseudoinverse=zw.methods.Proximal()"),
    ),
    Result.OUT_OF_RANGE: (
        "masses or gradients of constraints are too large or too small to compute with",
        Remedy("choose other units"),
        Remedy("multiply the constraints by a factor"),
    ),
    Result.BETWEEN_BRANCHES: (
        "the start is at rest where branches of motion meet, and its acceleration is along none of "
        "them",
        Remedy(
            "start slightly off this configuration, on the intended branch, as listed by the "
            "analysis of branches"
        ),
        Remedy("run it on the host, where one is chosen", options=()),
    ),
    Result.PARADOX: (
        "with friction, no constraint force or more than one satisfies the equations at this "
        "state (Painlevé's paradox)",
        Remedy("lower the friction"),
        Remedy("give the contact a stiffness"),
    ),
    Result.NEARLY_PARALLEL: (
        "rows of the constraints are so nearly parallel that the default method no longer holds "
        "them",
        Remedy("give pseudoinverse=zw.methods.CompleteOrthogonal()"),
    ),
    Result.SINGULAR_STOP: (
        "a gap closes, or a switch changes, where the constraints lose their rank: branches of "
        "motion may meet there, and no equation determines along which one the motion continues",
        Remedy("move the stop or the switch off this singular configuration"),
    ),
    Result.VANISHING: (
        "the gradient of a constraint vanishes where its equation A v̇ = b requires an "
        "acceleration, so that no finite force can satisfy it",
        Remedy("state the relation itself instead of its square"),
        SHORTER,
    ),
}
"""For each result the fact, and the remedies."""
_ENDS_OF = {
    "Kvaerno5": {
        Result.STEP_TOO_SMALL: (
            f"{_SMALL} singular at this point, or its forces jump",
            LOOSER,
            SHORTER,
        ),
        Result.TOO_MANY_STEPS: (_MANY, STEPS, LOOSER),
    },
    **dict.fromkeys(("Rattle", "Moreau"), {Result.TOO_MANY_STEPS: (_MANY, STEPS, LONGER_STEP)}),
}
