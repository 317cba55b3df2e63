"""Functions of pytrees as functions of flat lists of arrays, which are what is compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import PyTree

from zwang.compile.engine import NATIVE, is_native_wanted, one_trace
from zwang.inputs.arithmetic import traced
from zwang.native.compiled import NativeFunction
from zwang.objects.by_identity import ByIdentity
from zwang.objects.recent import Recent
from zwang.objects.record import is_array

P = TypeVar("P")


class NotCacheableError(Exception):
    """An object whose content cannot be determined, or that another process cannot use."""


class ArraySlot:
    """The place of an array among arguments, or in a result."""


class FixedArray:
    """An array whose numbers are part of a program; equal to one of the same content."""

    __slots__ = ("_key", "array")

    def __init__(self, array: np.ndarray):
        self.array = np.ascontiguousarray(array)
        self._key = self.array.shape, self.array.dtype.str, self.array.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FixedArray) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


class Zeros:
    """The zero entries of an array as part of a program: products with them are eliminated."""

    __slots__ = ("_key", "where")

    def __init__(self, array: np.ndarray):
        self.where = array == 0
        self._key = array.shape, self.where.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Zeros) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


MOST_FIXED = 6000
"""Number of elements up to which an integer array, or the zeros of an array, are part of a program;
a larger array is an argument.
"""
_zeros: ByIdentity[Zeros] = ByIdentity()
NO_ZEROS: tuple = ()


def with_structure(arguments: tuple) -> tuple[list, Any]:
    """Flatten arguments, with integer arrays as parts of the program.

    Integer arrays hold indices into other arrays, which native code then knows at compile time.
    """
    leaves, tree = jax.tree_util.tree_flatten(arguments)
    return [_fixed(x) for x in leaves], tree


def _fixed(x):
    if not isinstance(x, (np.ndarray, jax.Array)) or isinstance(x, Tracer):
        return x
    whole = x.ndim and x.size <= MOST_FIXED and np.dtype(x.dtype).kind in "iu"
    return FixedArray(np.asarray(x)) if whole else x


def with_known_zeros(params: P) -> P:
    """Mark the zeros of parameters as parts of the programs that take them.

    Three fifths of a robot's inertias, axes and positions are zero. The zeros are
    recorded once for each array, which must not change afterwards.
    """
    for x in jax.tree_util.tree_leaves(params):
        table = isinstance(x, jax.Array) and not isinstance(x, Tracer) and x.ndim > 1
        if table and x.size <= MOST_FIXED and x.dtype == np.float64 and _zeros.get(x) is None:
            _zeros.keep(x, Zeros(np.asarray(x)))
    return params


def zeros_of(leaves: list) -> tuple[Zeros | None, ...]:
    """Known zeros of each leaf, if there are any.

    They are used by native code only, as XLA's programs do not become shorter by them.
    """
    found = tuple([_zeros.get(x) for x in leaves]) if is_native_wanted() else NO_ZEROS
    return found if any(x is not None for x in found) else NO_ZEROS


def serving(programs: Mapping[tuple, CompiledProgram], zeros: tuple) -> tuple:
    """Return the zeros of the existing program that serves arguments with these zeros.

    The first program has the zeros of its arguments; all arguments that it does not serve share one
    program without known zeros.
    """
    if not programs or zeros in programs:
        return zeros
    first = next(iter(programs))
    pairs = zip(first, zeros, strict=False)
    served = len(first) <= len(zeros) and all(
        x is None or (y is not None and not np.any(x.where & ~y.where)) for x, y in pairs
    )
    return first if served else NO_ZEROS


class FlatFunction:
    """A function of pytrees as one of their arrays; all other leaves are its constants.

    Args:
        zeros: of the arguments' leaves (`zeros_of`).

    Attributes:
        function: the function.
        tree: structure of its arguments.
        leaves: leaves of its arguments, arrays as slots.
        skeleton: structure of its result with slots for arrays; None before it is traced.
    """

    def __init__(self, function: Callable, leaves: list, tree, zeros: tuple = NO_ZEROS):
        self.function, self.tree, self.zeros = function, tree, zeros
        self.leaves = [ArraySlot() if is_array(x) else x for x in leaves]
        self.skeleton: PyTree = None
        self.__name__ = function.__name__

    def __call__(self, *arrays) -> list:
        given = iter(arrays)
        with traced(), one_trace():  # also where host code calls the program
            return self._called(given)

    def _called(self, given) -> list:
        leaves = [_given(x, given) for x in self.leaves]
        for i, zeros in enumerate(self.zeros):
            if zeros is not None:
                leaves[i] = jnp.where(zeros.where, 0.0, leaves[i])
        args, kwargs = self.tree.unflatten(leaves)
        out, out_tree = jax.tree_util.tree_flatten(self.function(*args, **kwargs))
        # This is known only after a trace; constants of the result are inserted, not computed.
        self.skeleton = out_tree.unflatten([ArraySlot() if is_array(x) else x for x in out])
        return [x for x in out if is_array(x)]


def _given(x, arrays: Iterator):
    """Return a leaf of the arguments: the next array, or a constant."""
    if isinstance(x, ArraySlot):
        return next(arrays)
    return x.array if isinstance(x, FixedArray) else x


def of_xla(why: str) -> str:
    """Describe the engine of a program that XLA has compiled, for results."""
    return f"XLA ({why})"


class CompiledProgram:
    """A compiled function of flat arrays, which returns the original function's result.

    Args:
        compiled: arrays → list of arrays.
        skeleton: of the result (`FlatFunction`).
        seconds: compilation time.
        engine: that compiled it, in words.

    Attributes:
        zeros: of the arguments that it serves (`zeros_of`).
    """

    zeros: tuple = NO_ZEROS

    def __init__(
        self, compiled: Callable[..., list], skeleton: PyTree, seconds: float, engine: str = NATIVE
    ):
        leaves, self._tree = jax.tree_util.tree_flatten(skeleton)
        self._constants = [None if isinstance(x, ArraySlot) else x for x in leaves]
        self._slots = [i for i, x in enumerate(leaves) if isinstance(x, ArraySlot)]
        self.compiled, self.skeleton = compiled, skeleton
        self.seconds, self.engine = seconds, engine

    @property
    def is_native(self) -> bool:
        """Return whether it is native code."""
        return isinstance(self.compiled, NativeFunction)

    @property
    def instructions(self) -> int:
        """Number of instructions of native code; 0 for another engine."""
        return self.compiled.instructions if isinstance(self.compiled, NativeFunction) else 0

    @property
    def memory(self) -> int:
        """Bytes that a call needs for results and workspace; 0 if unknown."""
        return self.compiled.memory if isinstance(self.compiled, NativeFunction) else 0

    def optimize(self) -> None:
        """Optimize native code now instead of after some run time."""
        if isinstance(self.compiled, NativeFunction):
            self.compiled.optimize()

    def __call__(self, arrays: list) -> PyTree:
        return self._result(self.compiled(*arrays))

    def bound(self, first: list) -> Callable[..., Any]:
        """Bind the first arrays, for many calls; results are NumPy arrays."""
        if isinstance(self.compiled, NativeFunction):
            code = self.compiled.bound(first)
            return lambda *rest: self._result(code(*rest))
        return lambda *rest: self._result([np.asarray(x) for x in self.compiled(*first, *rest)])

    def members(self, arrays: list, of_each: list[bool], number: int, cores: int) -> PyTree:
        """Compute a batch by native code, with a leading batch axis in the results."""
        assert isinstance(self.compiled, NativeFunction)
        return self._result(self.compiled.members(arrays, of_each, number, cores))

    def _result(self, arrays: list) -> PyTree:
        if len(arrays) == len(self._constants):
            return self._tree.unflatten(arrays)
        leaves = list(self._constants)
        for i, x in zip(self._slots, arrays, strict=True):
            leaves[i] = x
        return self._tree.unflatten(leaves)


def by_xla(function: Callable) -> Callable:
    """Compile a function by XLA with all arrays of its arguments traced.

    It is used also for arrays distributed over devices and when JAX debugs programs.
    """
    known: Recent[tuple[FlatFunction, Callable]] = Recent()

    def called(*args, **kwargs):
        leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
        shapes = tuple((x.shape, x.dtype) if is_array(x) else (type(x), x) for x in leaves)
        if (ready := known.get((tree, shapes))) is None:
            flat = FlatFunction(function, leaves, tree)
            known.put((tree, shapes), ready := (flat, jax.jit(flat)))
        arrays = ready[1](*(x for x in leaves if is_array(x)))
        return CompiledProgram(ready[1], ready[0].skeleton, 0.0)._result(arrays)

    return called


def signature(x: object) -> tuple:
    """Return what a compiled program depends on for a leaf: array shape and kind, or a constant.

    Raises:
        TracerArrayConversionError: for an array that is traced.
        NotCacheableError: for an array that is distributed over devices.
    """
    if isinstance(x, (np.ndarray, np.generic)):
        return x.shape, x.dtype, False
    if isinstance(x, jax.Array):
        if isinstance(x, Tracer):
            raise jax.errors.TracerArrayConversionError(x)
        # Such a program would be tied to devices that another process does not have.
        if not x.is_fully_addressable or len(x.devices()) != 1:
            raise NotCacheableError("an array that is not on this machine alone")
        return x.shape, x.dtype, x.weak_type
    return type(x), x
