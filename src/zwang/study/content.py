"""A digest of what a study depends on, the same in every process: functions by what they do, models
by their functions and numbers.
"""

from __future__ import annotations

import hashlib
import types

from zwang.compile.flat import NotCacheableError
from zwang.compile.program_cache.fingerprint import Fingerprint
from zwang.dynamics.model import Model
from zwang.study.outputs import Output


class ContentDigest(Fingerprint):
    """A fingerprint to which models are what they were made of: what a model has found out since,
    such as its sparsity, is none of its content.
    """

    def add(self, x: object) -> None:
        if isinstance(x, Model):
            self.token("model")
            for part in (x.system, x.constraints.members, x.params, x.servo, x.singular_mass):
                super().add(part)
        else:
            super().add(x)


def content_digest(thing: object) -> str:
    """The digest of anything; of a function whose surroundings cannot be known for certain, that of
    its code, and of other things their kind alone.
    """
    found = ContentDigest()
    try:
        found.add(thing)
    except NotCacheableError:
        if isinstance(thing, (tuple, list)):
            return "".join(content_digest(x) for x in thing)
        if isinstance(thing, Output):
            return f"{thing.name}:{content_digest(thing.function)}"
        if isinstance(thing, dict):
            return "".join(f"{name}:{content_digest(x)}" for name, x in thing.items())
        code = getattr(thing, "__code__", None)
        return type(thing).__name__ if code is None else _code_digest(code)
    return found.hexdigest()


def _code_digest(code: types.CodeType) -> str:
    """What a function does by itself."""
    constants = [
        _code_digest(x) if isinstance(x, types.CodeType) else repr(x) for x in code.co_consts
    ]
    said = repr((code.co_code, code.co_names, constants))
    return hashlib.sha256(said.encode()).hexdigest()
