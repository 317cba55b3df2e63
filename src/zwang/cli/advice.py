"""Advice of the library in words of the command line."""

from __future__ import annotations

import re

OPTIONS = {
    "zw.consistent_state(model, q0, v0).state, or raise start_tolerance": (
        "zw.consistent_state in a .py file, or raise --start-tolerance to project it"
    ),
    "the start is off its constraints by more than start_tolerance: move it with "
    "zw.consistent_state": (
        "the start is off its constraints by more than --start-tolerance: raise it"
    ),
    "raise max_steps": "raise --max-steps",
    "loosen rtol": "loosen --rtol",
    "try a larger rtol": "try a larger --rtol",
    "give a longer step": "give a longer --step",
    "zw.Kvaerno5()": "--integrator kvaerno5",
    " (inside jit a model that is massless there needs zw.Model(..., singular_mass=True))": "",
    "end the motion before with a zw.Stop": "end the motion before by a shorter --duration",
    "give pseudoinverse=zw.Proximal()": "give --pseudoinverse proximal",
}
"""What the library advises in Python, and what to do instead where there is only a command line."""


def fitted(sentence: str) -> str:
    """The sentence with every advice of `OPTIONS` replaced, and how to go on with a run."""
    sentence = re.sub(r"zw\.resume\('([^']*)'\)", r"zwang run --resume \1", sentence)
    for python, words in OPTIONS.items():
        sentence = sentence.replace(python, words)
    return sentence
