"""Functions in C99, from the same instructions as native code with one lane, block by block.

A value is a constant of C, a local variable, or, if it is used once, a subexpression of the
statement that uses it. A basic block is a label. A fused multiply-add is `FMA`, which is `fma`
where the target has such an instruction (`FP_FAST_FMA`); the results are then bitwise those of
native code, except for elements that native code computes in rolled loops. Workspace arrays are
local, nothing is allocated, and only constants are static. A subroutine of native code
(`zwang.native.subroutines`) is a function of its own, whose results are in a structure of the
caller.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Sequence

from jax.extend.core import ClosedJaxpr

from zwang.native.builder import Builder
from zwang.native.errors import NotNativeError
from zwang.native.instructions import Block, Operand, Value
from zwang.native.subroutines import NUMBERED, Routine
from zwang.native.text import single_uses, transfers, used
from zwang.native.translation import instructions_of
from zwang.native.types import FLOATS, register_type, stored_type

LONGEST_LINE = 90
"""Length up to which a value that is used once is inlined as a subexpression [characters]."""
TYPES = {
    "double": "double",
    "float": "float",
    "i64": "int64_t",
    "i32": "int32_t",
    "i8": "int8_t",
    "i1": "int",
}
INFIX = {
    **{"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/", "sdiv": "/", "srem": "%"},
    **{"and": "&", "or": "|", "xor": "^", "ashr": ">>"},
}
LOGIC = {"and": "&&", "or": "||", "xor": "!="}
WRAPPED = {"add": "+", "sub": "-", "mul": "*", "shl": "<<"}
"""Operations that wrap on overflow and are therefore computed with unsigned integers."""
UNSIGNED = {"udiv": "/", "urem": "%", "lshr": ">>"}
COMPARED = {
    **{"olt": "<", "ole": "<=", "ogt": ">", "oge": ">=", "oeq": "==", "une": "!="},
    **{"slt": "<", "sle": "<=", "sgt": ">", "sge": ">=", "eq": "==", "ne": "!="},
}
OTHERWISE = {"ult": ">=", "ule": ">", "ugt": "<=", "uge": "<"}
"""Comparisons that are true for NaN, each as the negation of one that is false for NaN."""
BELOW = {"ult": "<", "ule": "<=", "ugt": ">", "uge": ">="}
CALLED = {"fma": "FMA", "roundeven": "rint", "one": "islessgreater", "uno": "isunordered"}
PRELUDE = """#include <math.h>
#include <stdint.h>

#ifdef FP_FAST_FMA
#define FMA(a, b, c) fma(a, b, c)
#else
#define FMA(a, b, c) ((a) * (b) + (c))
#endif
"""
SATURATED = """static {target} {name}({source} x) {{
    return x != x ? 0 : x <= {least} ? {lowest} : x >= {most} ? {highest} : ({target}){through}x;
}}
"""


@dataclasses.dataclass(frozen=True)
class CFunction:
    """A function in C.

    Attributes:
        text: its constants and its definition.
        helpers: definitions that must precede it, equal for every function: conversions, and the
            subroutines that it calls.
    """

    text: str
    helpers: tuple[str, ...]


def c_function(
    program: ClosedJaxpr, name: str, arguments: Sequence[str], results: Sequence[str]
) -> CFunction:
    """Translate a jaxpr to C: `static void NAME(const double *x, …, double *y, …)`.

    Args:
        program: of arrays.
        name: of the function.
        arguments, results: names of the arrays.

    Raises:
        NotNativeError: for an operation without a lowering rule, or a call of LAPACK.
    """
    places = [[Value(0, "ptr", "named", (x,)) for x in names] for names in (arguments, results)]
    b = instructions_of(program, places, name)
    writer = _Writer(b, used(b))
    body = writer.body()
    element = lambda x: TYPES[stored_type(register_type(x.dtype))]
    shapes = zip((*program.in_avals, *program.out_avals), (*arguments, *results), strict=True)
    declared = [f"{element(x)} *restrict {n}" for x, n in shapes]
    declared[: len(arguments)] = [f"const {x}" for x in declared[: len(arguments)]]
    unused = "".join(f" (void){n};" for n in (*arguments, *results) if n not in writer.named)
    body = [*([f"   {unused}"] if unused else []), *body]
    return CFunction(_defined(writer, declared, body), tuple(writer.helpers.values()))


def _defined(writer: _Writer, parameters: Iterable[str], body: Iterable[str]) -> str:
    head = f"static void {writer.b.name}({', '.join(parameters)}) {{"
    return "\n".join([*writer.constants(), head, *body, "}", ""])


def constant(x: float) -> str:
    """Format a number so that C reads it back exactly."""
    if isinstance(x, bool):
        return str(int(x))
    if isinstance(x, int):
        # C has no literal for the least integer.
        return f"({x})" if -(2**31) < x < 0 else f"(-INT64_C({-x - 1}) - 1)" if x < 0 else str(x)
    x = float(x)
    if math.isnan(x):
        return "NAN"
    if math.isinf(x):
        return "INFINITY" if x > 0 else "(-INFINITY)"
    written = repr(x)
    return f"({written})" if written.startswith("-") else written


class _Writer:
    """Printer of basic blocks as C statements.

    Args:
        left: workspace arrays that are members of the caller's structure.

    Attributes:
        named: arrays that are read or written, by the type of their elements.
        helpers: helper definitions, by the names they define.
        reached: blocks that are targets of a jump.
    """

    def __init__(self, b: Builder, needed: set[Value], left: Iterable[Value] = ()):
        self.b, self.needed, self.left = b, needed, {*left}
        self.text: dict[Value, str] = {}
        self.places: dict[Value, tuple[str, str]] = {}
        self.named: dict[str, str] = {}
        self.frames: dict[Value, tuple[str, Routine]] = {}
        self.given: dict[str, list[str]] = {}
        self.helpers: dict[str, str] = {}
        self.reached: set[Block] = set()
        self.uses = single_uses(b, self.needed)

    def constants(self) -> list[str]:
        """Definitions of the constant arrays that are read."""
        found = []
        for name, stored, values in self.b.constants:
            if (array := name[1:]) in self.named:
                body = ", ".join(map(constant, values))
                found.append(f"static const {TYPES[stored]} {array}[{len(values)}] = {{{body}}};")
        return found

    def body(self) -> list[str]:
        written: list[tuple[Block, list[str]]] = []
        for block, after in zip(self.b.blocks, [*self.b.blocks[1:], None], strict=True):
            needed = (x for x in block.instructions if x in self.needed)
            lines = [line for x in needed for line in self._instruction(x, block)]
            written.append((block, [*lines, *self._end(block, after)]))
        found = self._declared()
        for block, lines in written:
            found += [f"{block.label}:;"] if block in self.reached else []
            found += [f"    {line}" for line in lines]
        return found

    def _declared(self) -> list[str]:
        """Declarations of local arrays, of results of subroutines and of phi variables."""
        arrays = [
            f"    {self._member(pointer)};"
            for pointer in self.b.buffers
            if pointer not in self.left and self._local(pointer) in self.named
        ]
        arrays += [f"    struct {called.name} {frame};" for frame, called in self.frames.values()]
        phis = [x for block in self.b.blocks for x in block.instructions if x.operation == "phi"]
        return arrays + [f"    {TYPES[x.type]} {_name(x)};" for x in phis if x in self.needed]

    def _member(self, pointer: Value) -> str:
        stored, count = self.b.buffers[pointer]
        return f"{TYPES[stored]} {_array(pointer)}[{count}]"

    def _local(self, pointer: Value) -> str:
        return f"{'frame->' if pointer in self.left else ''}{_array(pointer)}"

    # instructions

    def operand(self, x: Operand) -> str:
        return self.text[x] if type(x) is Value else constant(x)

    def _instruction(self, x: Value, block: Block) -> list[str]:
        name, _, rest = x.operation.partition(" ")
        if name == "phi":
            self.text[x] = _name(x)
            return []
        if name == "getelementptr":
            self._place(x)
            return []
        if name == "store":
            where = self._element(x.operands[1], rest)
            return [f"{where} = {_bare(self.operand(x.operands[0]))};"]
        if name in ("pack", "leave"):
            array, first = self.places[x] = self._where(x.operands[0])
            self.named[array] = rest
            each = (_bare(self.operand(y)) for y in x.operands[1:])
            return [f"{array}[{int(first) + k}] = {y};" for k, y in enumerate(each)]
        if name == "enter":
            return [self._entered(x, self.b.functions[rest])]
        if name == "load":
            written = self._element(x.operands[0], x.type)
        else:
            written = self._written(x, name, rest)
        once = self.uses.get(x) == block and name != "load"
        if once and len(written) <= LONGEST_LINE:
            self.text[x] = written
            return []
        self.text[x] = _name(x)
        return [f"const {TYPES[x.type]} {_name(x)} = {_bare(written)};"]

    def _place(self, x: Value) -> None:
        base, index = x.operands
        if x in self.b.buffers:
            self.places[x] = self._local(x), "0"
        elif base in self.frames:
            frame, called = self.frames[base]
            member = next(y for y in called.left if y.operands[1] == index)
            self.places[x] = f"{frame}.{_array(member)}", "0"
        else:
            (array, first), index = self._where(base), _bare(self.operand(index))
            self.places[x] = array, index if first == "0" else f"{first} + {index}"

    def _where(self, pointer: Value) -> tuple[str, str]:
        """The array that a pointer leads into, and the index of its element."""
        if pointer.operation == "named":
            return pointer.operands[0].lstrip("@%"), "0"
        return self.places[pointer]

    def _element(self, pointer: Value, stored: str) -> str:
        array, index = self._where(pointer)
        self.named[array] = stored
        return f"{array}[{index}]"

    def _entered(self, x: Value, called: Routine) -> str:
        """Call a subroutine, which is printed before."""
        if called.name not in self.helpers:
            self._print(called)
        frame = f"f{x.index}"
        self.frames[x] = frame, called
        given = [f"&{frame}"]
        for pointer, stored in zip(x.operands[1:], self.given[called.name], strict=True):
            element = self._element(pointer, stored)
            given.append(element.removesuffix("[0]") if element.endswith("[0]") else f"&{element}")
        return f"{called.name}({', '.join(given)});"

    def _print(self, called: Routine) -> None:
        """Print a subroutine that this function calls, and those that it calls."""
        writer = _Writer(called.builder, called.needed, called.left)
        writer.helpers, writer.given = self.helpers, self.given
        body, name = writer.body(), called.name
        members = "".join(f"    {writer._member(y)};\n" for y in called.left)
        given = {x: writer.named[x] for x in (y.lstrip("%") for y in called.pointers)}
        pointers = [f"const {TYPES[t]} *restrict {x}" for x, t in given.items()]
        definition = _defined(writer, [f"struct {name} *restrict frame", *pointers], body)
        self.helpers[name] = f"struct {name} {{\n{members}}};\n{definition}"
        self.given[name] = list(given.values())

    def _written(self, x: Value, name: str, rest: str) -> str:
        given = [self.operand(y) for y in x.operands]
        t = TYPES[x.type]
        if name == "call":
            return self._call(x, rest, given)
        if name in ("fcmp", "icmp"):
            return self._compared(x, rest, given)
        if name == "select":
            return f"({given[0]} ? {given[1]} : {given[2]})"
        if name == "fneg":
            return f"(-{given[0]})"
        if name == "same":
            return given[0]
        if len(given) == 1:
            return self._cast(x, name, rest, given[0])
        if x.type == "i1":
            if name == "xor" and x.operands[1] is True:
                return f"(!{given[0]})"
            return f"({given[0]} {LOGIC[name]} {given[1]})"
        if name in INFIX:
            return f"({given[0]} {INFIX[name]} {given[1]})"
        if name in WRAPPED:
            return f"({t})((u{t}){given[0]} {WRAPPED[name]} (u{t}){given[1]})"
        if name in UNSIGNED:
            return f"({t})((u{t}){given[0]} {UNSIGNED[name]} (u{t}){given[1]})"
        raise NotNativeError(f"the instruction {x.operation} in C")

    def _compared(self, x: Value, predicate: str, given: list[str]) -> str:
        known = next(y.type for y in x.operands if type(y) is Value)
        first, second = given
        if predicate in COMPARED:
            return f"({first} {COMPARED[predicate]} {second})"
        if known in FLOATS and predicate in OTHERWISE:
            return f"(!({first} {OTHERWISE[predicate]} {second}))"
        if known in FLOATS and predicate in CALLED:
            return f"{CALLED[predicate]}({first}, {second})"
        if predicate in BELOW:
            unsigned = "" if known == "i1" else f"(u{TYPES[known]})"
            return f"({unsigned}{first} {BELOW[predicate]} {unsigned}{second})"
        raise NotNativeError(f"the comparison {predicate} in C")

    def _cast(self, x: Value, name: str, source: str, given: str) -> str:
        t = TYPES[x.type]
        if name == "trunc" and x.type == "i1":
            return f"({given} & 1)"
        if name in ("uitofp", "zext") and source != "i1":
            return f"({t})(u{TYPES[source]}){given}"
        if name == "sext" and source == "i1":
            return f"(-{given})"
        if name == "bitcast":
            of, to = TYPES[source], t
            self.helpers[f"{to}_bits"] = (
                f"static {to} {to}_bits({of} x) {{\n    union {{ {of} x; {to} y; }} both = {{x}};\n"
                "    return both.y;\n}\n"
            )
            return f"{to}_bits({given})"
        return f"({t}){given}"

    def _call(self, x: Value, called: str, given: list[str]) -> str:
        name = called.removeprefix("@")
        if name.startswith("llvm."):
            _, name, *types = name.split(".")
            if "sat" in types:
                return self._saturated(x, name, given)
            suffix = "f" if types[-1] == "f32" and name != "fma" else ""
            name = CALLED.get(name, name) + suffix
        return f"{name}({', '.join(map(_bare, given))})"

    def _saturated(self, x: Value, kind: str, given: list[str]) -> str:
        """Convert a float to an integer with saturation; NaN becomes zero."""
        bits, signed = int(re.sub(r"\D", "", x.type)), kind == "fptosi"
        source, target = TYPES[x.operands[0].type], TYPES[x.type]
        name = f"{target}_of_{source}" if signed else f"u{target}_of_{source}"
        self.helpers[name] = SATURATED.format(
            target=target,
            name=name,
            source=source,
            least=constant(-(2.0 ** (bits - 1)) if signed else 0.0),
            most=constant(2.0 ** (bits - 1 if signed else bits)),
            lowest=f"INT{bits}_MIN" if signed else "0",
            highest=f"INT{bits}_MAX" if signed else f"({target})UINT{bits}_MAX",
            through="" if signed else f"(u{target})",
        )
        return f"{name}({_bare(given[0])})"

    # control flow

    def _end(self, block: Block, after: Block | None) -> list[str]:
        if block.end is None:
            return []
        _, targets = block.end
        if len(targets) == 1:
            return [*self._moved(block, targets[0]), *self._jump(targets[0], after)]
        condition, yes, no = targets
        which = _bare(self.operand(condition))
        first = [*self._moved(block, yes), *self._jump(yes, None)]
        second = [*self._moved(block, no), *self._jump(no, after)]
        if len(first) == 1:
            return [f"if ({which}) {first[0]}", *second]
        return [f"if ({which}) {{", *(f"    {x}" for x in first), "}", *second]

    def _jump(self, target: Block, after: Block | None) -> list[str]:
        if target is after:
            return []
        self.reached.add(target)
        return [f"goto {target.label};"]

    def _moved(self, block: Block, target: Block) -> list[str]:
        """Assign the phi variables of the successor at the end of a block."""
        pairs = transfers(block, target, self.needed)
        changed = {x for x, _ in pairs}
        lines, held = [], {}
        for _, y in pairs:  # read all operands before the first assignment
            if type(y) is Value and y in changed and y not in held:
                held[y] = f"{_name(y)}_"
                lines.append(f"const {TYPES[y.type]} {held[y]} = {_name(y)};")
        lines += [f"{_name(x)} = {held.get(y) or _bare(self.operand(y))};" for x, y in pairs]
        return ["{", *(f"    {x}" for x in lines), "}"] if held else lines


def _name(x: Value) -> str:
    return f"x{x.index}"


def _array(pointer: Value) -> str:
    return f"w{pointer.index}"


def _bare(text: str) -> str:
    """Strip the outer parentheses of an expression."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for k, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and k < len(text) - 1:
            return text
    return text[1:-1]


def prelude(functions: Iterable[CFunction]) -> str:
    """The includes, macros and helpers that must precede some functions."""
    helpers = dict.fromkeys(x for f in functions for x in f.helpers)
    return "\n".join([PRELUDE, *helpers])


def numbered(text: str) -> str:
    """Number the subroutines of a C source in their order of appearance, independent of what else
    this process has printed.
    """
    found: dict[str, str] = {}
    number = lambda x: found.setdefault(x[0], f"part{len(found) + 1}_")
    return re.sub(rf"\b{NUMBERED}\d+_", number, text)
