"""A digest of everything that a study depends on, the same in every process.

Functions are identified by their code, models by their functions and numbers.
"""

from __future__ import annotations

import hashlib
import types

from zwang.compile.flat import NotCacheableError
from zwang.compile.program_cache.fingerprint import Fingerprint
from zwang.dynamics.model import Model
from zwang.study.outputs import Output


class ContentDigest(Fingerprint):
    """A fingerprint in which a model is identified by the data it was made from.

    Derived properties that a model has cached, such as its sparsity, are left out.
    """

    def add(self, x: object) -> None:
        if isinstance(x, Model):
            self.token("model")
            for part in (x.system, x.constraints.members, x.params, x.servo, x.singular_mass):
                super().add(part)
        else:
            super().add(x)


def content_digest(thing: object) -> str:
    """Digest of any object.

    A function whose references cannot be determined is identified by its code alone, and another
    such object by its class.
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
    """Digest of a function's code without the objects it refers to."""
    constants = [
        _code_digest(x) if isinstance(x, types.CodeType) else repr(x) for x in code.co_consts
    ]
    said = repr((code.co_code, code.co_names, constants))
    return hashlib.sha256(said.encode()).hexdigest()
