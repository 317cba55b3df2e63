"""Functions in C99, from the same instructions as native code with one lane, block by block.

A value is a constant of C, a local variable, or, if it is used once, a subexpression of the
statement that uses it. A basic block is a label. A fused multiply-add is `FMA`, which is `fma`
where the target has such an instruction (`FP_FAST_FMA`); the results are then bitwise those of
native code, except for elements that native code computes in rolled loops. Workspace arrays are
local, nothing is allocated, and only constants are static.
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
        helpers: helper definitions that must precede it, equal for every function.
        instructions: their number.
    """

    text: str
    helpers: tuple[str, ...]
    instructions: int


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
    writer = _Writer(instructions_of(program, places), name)
    body = writer.body()
    element = lambda x: TYPES[stored_type(register_type(x.dtype))]
    shapes = zip((*program.in_avals, *program.out_avals), (*arguments, *results), strict=True)
    declared = [f"{element(x)} *restrict {n}" for x, n in shapes]
    declared[: len(arguments)] = [f"const {x}" for x in declared[: len(arguments)]]
    unused = "".join(f" (void){n};" for n in (*arguments, *results) if n not in writer.named)
    head = f"static void {name}({', '.join(declared)}) {{"
    lines = [*writer.constants(), head, *([f"   {unused}"] if unused else []), *body, "}", ""]
    return CFunction("\n".join(lines), tuple(writer.helpers.values()), writer.instructions)


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

    Attributes:
        named: arrays that are read or written.
        helpers: helper definitions, by the names they define.
        reached: blocks that are targets of a jump.
        instructions: their number.
    """

    def __init__(self, b: Builder, name: str):
        self.b, self.name, self.needed = b, name, used(b)
        self.text: dict[Value, str] = {}
        self.places: dict[Value, tuple[str, str]] = {}
        self.named: set[str] = set()
        self.helpers: dict[str, str] = {}
        self.reached: set[Block] = set()
        self.instructions = 0
        self.uses = single_uses(b, self.needed)

    def constants(self) -> list[str]:
        """Definitions of the constant arrays that are read."""
        found = []
        for name, stored, values in self.b.constants:
            if (array := self._array(name)) in self.named:
                body = ", ".join(map(constant, values))
                found.append(f"static const {TYPES[stored]} {array}[{len(values)}] = {{{body}}};")
        return found

    def body(self) -> list[str]:
        written: list[tuple[Block, list[str]]] = []
        for block, after in zip(self.b.blocks, [*self.b.blocks[1:], None], strict=True):
            needed = [x for x in block.instructions if x in self.needed]
            self.instructions += len(needed)
            lines = [line for x in needed for line in self._instruction(x, block)]
            written.append((block, [*lines, *self._end(block, after)]))
        found = self._declared()
        for block, lines in written:
            found += [f"{block.label}:;"] if block in self.reached else []
            found += [f"    {line}" for line in lines]
        return found

    def _declared(self) -> list[str]:
        """Declarations of local arrays and of phi variables."""
        arrays = [
            f"    {TYPES[stored]} {self._local(pointer)}[{count}];"
            for pointer, (stored, count) in self.b.buffers.items()
            if self._local(pointer) in self.named
        ]
        phis = [x for block in self.b.blocks for x in block.instructions if x.operation == "phi"]
        return arrays + [f"    {TYPES[x.type]} {_name(x)};" for x in phis if x in self.needed]

    def _local(self, pointer: Value) -> str:
        return f"w{pointer.index}"

    def _array(self, name: str) -> str:
        return f"{self.name}_{name[1:]}" if name.startswith("@") else name

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
            return [f"{self._element(x.operands[1])} = {_bare(self.operand(x.operands[0]))};"]
        if name == "load":
            written = self._element(x.operands[0])
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
        else:
            self.places[x] = self._base(base), _bare(self.operand(index))

    def _base(self, base: Value) -> str:
        if base.operation == "named":
            return self._array(base.operands[0])
        return self.places[base][0]

    def _element(self, pointer: Value) -> str:
        array, index = self.places.get(pointer) or (self._base(pointer), "0")
        self.named.add(array)
        return f"{array}[{index}]"

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
