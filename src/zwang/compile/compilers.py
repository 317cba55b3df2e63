"""How a program is compiled: what each way buys, and what it costs.

A compiler is chosen for one program (`zw.program(f, compiler=zw.Fused())`), and the variable
`ZWANG_COMPILER` chooses one for all of them.
"""

import contextlib
import contextvars
import os
import warnings
from collections.abc import Iterator
from typing import ClassVar

import equinox as eqx
import jax

from zwang.arguments import flag
from zwang.compile.compatibility import missing_name
from zwang.compile.fusion import LARGE, SMALL, Limits
from zwang.errors import ModelError

VARIABLE = "ZWANG_COMPILER"


class AbstractCompiler(eqx.Module):
    """A way to compile a program.

    Attributes:
        name: its value of `ZWANG_COMPILER`.
        limits: how large a program may be that becomes one kernel; None if none does.
        batch_axis_last: whether the members of a batch lie side by side in memory, in one kernel.
    """

    name: eqx.AbstractClassVar[str]
    limits: eqx.AbstractClassVar[Limits | None]
    batch_axis_last: eqx.AbstractClassVar[bool]


class PlainJit(AbstractCompiler):
    """`jax.jit` and nothing else: no kernels, no program cache, no private name of JAX.

    Everything that zwang computes it computes this way, too, to the same tolerances: on any version
    of JAX, and to find out whether a result depends on how it was compiled. A run of a small
    mechanism takes two to ten times as long.
    """

    name: ClassVar[str] = "plain"
    limits: ClassVar[Limits | None] = None
    batch_axis_last: ClassVar[bool] = False


class FusedIfSmall(AbstractCompiler):
    """The default: on a processor a program of small arrays becomes one kernel.

    That covers mechanisms of the plane up to some twenty bodies, whose runs take a half to a tenth
    of the time; compiling takes twice as long at most. Larger programs run operation by operation.
    """

    name: ClassVar[str] = "fused-if-small"
    limits: ClassVar[Limits | None] = SMALL
    batch_axis_last: ClassVar[bool] = False


class Fused(AbstractCompiler):
    """Up to half a minute of compiling for about twice the speed, on a processor.

    Larger programs (rotations in space, the sparse path) become one kernel, too, and so do all
    members of a chunk of a batch, side by side in vector registers. It pays from a few hundred runs
    of one program on, or some ten thousand members. What is still too large, and accelerators, are
    compiled as by default.

    Example:
        >>> run = zw.program(lambda q, v: zw.trajectory(model, q, v, times), compiler=zw.Fused())
    """

    name: ClassVar[str] = "fused"
    limits: ClassVar[Limits | None] = LARGE
    batch_axis_last: ClassVar[bool] = True


ALL_COMPILERS: tuple[AbstractCompiler, ...] = (PlainJit(), FusedIfSmall(), Fused())
BY_NAME = {compiler.name: compiler for compiler in ALL_COMPILERS}
DEFAULT = FusedIfSmall()


def requested(
    compiler: AbstractCompiler | None, often: bool | None, what: str, decorators: int = 0
) -> AbstractCompiler:
    """The compiler that the arguments of a public function ask for.

    Args:
        compiler: the argument `compiler`.
        often: the argument that `compiler` replaced in version 0.2.
        what: the public function.
        decorators: how many of them stand between it and the line that the warning is about.

    Raises:
        ModelError: if `compiler` is none of `ALL_COMPILERS`, `often` neither True nor False,
            or both are given.
    """
    if often is not None:
        flag(often, "often")
        if compiler is not None:
            raise ModelError(
                f"{what} got both compiler and often; "
                "give compiler=zw.Fused() instead of often=True."
            )
        warnings.warn(
            f"{what}(often=True) is now {what}(compiler=zw.Fused()); "
            "often= goes with the next version.",
            DeprecationWarning,
            stacklevel=3 + decorators,
        )
        return Fused() if often else DEFAULT
    if compiler is None:
        return DEFAULT
    if not isinstance(compiler, AbstractCompiler):
        known = ", ".join(f"zw.{type(each).__name__}()" for each in ALL_COMPILERS)
        raise ModelError(f"{what} got compiler={compiler!r:.60}, expected one of {known}.")
    return compiler


class TraceFlag:
    """A statement that holds for what is traced within `with flag():`, and for nothing else.

    Args:
        name: of the statement.
    """

    def __init__(self, name: str):
        self._value = contextvars.ContextVar(name, default=False)

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        token = self._value.set(True)
        try:
            yield
        finally:
            self._value.reset(token)

    def __bool__(self) -> bool:
        return self._value.get()


plain_trace = TraceFlag("plain_trace")
"""What is traced within uses public names of JAX alone."""


def in_force(compiler: AbstractCompiler) -> AbstractCompiler:
    """The compiler that is used where one is requested: within a plain program that is `PlainJit`;
    otherwise `ZWANG_COMPILER` has the last word, and without the names that the others need only
    `PlainJit` is left.

    Raises:
        ModelError: if the variable names none of `ALL_COMPILERS`.
    """
    if is_tracing_plain():
        return BY_NAME["plain"]
    if named := os.environ.get(VARIABLE):
        if named not in BY_NAME:
            raise ModelError(
                f"{VARIABLE} is {named!r}, expected one of {', '.join(BY_NAME)}, or unset it."
            )
        compiler = BY_NAME[named]
    if compiler.limits is not None and (reason := missing_name()):
        warnings.warn(f"every program is compiled by jax.jit alone: {reason}", stacklevel=2)
        return BY_NAME["plain"]
    return compiler


def is_tracing_plain() -> bool:
    """Whether a program of `PlainJit` is being traced."""
    return bool(plain_trace)


def is_plain() -> bool:
    """Whether what is traced now must do with public names of JAX."""
    return in_force(DEFAULT).limits is None


ENGINE = "ZWANG_ENGINE"
"""Environment variable that says what makes machine code: `native` (default) or `xla`."""


def is_native_wanted() -> bool:
    """Whether programs become native code: on a processor, unless `ZWANG_ENGINE=xla`.

    Raises:
        ModelError: if the variable names neither.
    """
    engine = os.environ.get(ENGINE) or "native"
    if engine not in ("native", "xla"):
        raise ModelError(f"{ENGINE} is {engine!r}, expected native or xla, or unset it.")
    return engine == "native" and jax.default_backend() == "cpu" and not is_plain()
