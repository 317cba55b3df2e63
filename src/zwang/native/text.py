"""The text of a function in LLVM's language, without instructions that nothing uses."""

from __future__ import annotations

from typing import Any

from zwang.native.builder import Block, Builder, Value
from zwang.native.types import constant_text

EFFECTS = ("store ", "do ")
"""Beginnings of operations that change memory."""


def used(b: Builder) -> set[Value]:
    """The values that results, memory or the way of the program depend on."""
    waiting: list[Any] = []
    for block in b.blocks:
        waiting += [x for x in block.instructions if x.operation.startswith(EFFECTS)]
        if block.end is not None and type(block.end[1][0]) is Value:
            waiting.append(block.end[1][0])
    found: set[Value] = set()
    while waiting:
        value = waiting.pop()
        if type(value) is not Value or value in found:
            continue
        found.add(value)
        if value.operation == "phi":
            waiting += [x for x, _ in value.operands]
        elif value.operation != "named":
            waiting += value.operands
    return found


def operand(type_: str, x: Any) -> str:
    return x.name if type(x) is Value else x if isinstance(x, str) else constant_text(type_, x)


def line(x: Value) -> str:
    """An instruction as LLVM writes it."""
    operation, t, given = x.operation, x.type, x.operands
    name, _, rest = operation.partition(" ")
    if name == "phi":
        ways = ", ".join(f"[ {operand(t, v)}, %{block.left_from} ]" for v, block in given)
        return f"{x.name} = phi {t} {ways}"
    if name == "store":
        return f"store {rest} {operand(rest, given[0])}, ptr {given[1].name}"
    if name == "do":
        pointers = ", ".join(f"ptr {y.name}" for y in given)
        return f'call void @"{rest}"({pointers})'
    if name == "load":
        return f"{x.name} = load {t}, ptr {given[0].name}"
    if name == "getelementptr":
        place = operand("i64", given[1])
        return f"{x.name} = getelementptr {rest}, ptr {given[0].name}, i64 {place}"
    if name in ("fcmp", "icmp"):
        known = next(v.type for v in given if type(v) is Value)
        first, second = (operand(known, y) for y in given)
        return f"{x.name} = {operation} {known} {first}, {second}"
    if name == "select":
        condition, yes, no = given
        return (
            f"{x.name} = select i1 {operand('i1', condition)}, {t} {operand(t, yes)}, "
            f"{t} {operand(t, no)}"
        )
    if name == "call":
        types = x.type
        arguments = ", ".join(
            f"{v.type if type(v) is Value else types} {operand(types, v)}" for v in given
        )
        return f"{x.name} = call {t} {rest}({arguments})"
    if name == "fneg":
        return f"{x.name} = fneg {t} {given[0].name}"
    if len(given) == 1:  # a conversion
        return f"{x.name} = {name} {rest} {operand(rest, given[0])} to {t}"
    return f"{x.name} = {name} {t} {operand(t, given[0])}, {operand(t, given[1])}"


def end(block: Block) -> str:
    if block.end is None:
        return "ret void"
    _, targets = block.end
    if len(targets) == 1:
        return f"br label %{targets[0].label}"
    condition, yes, no = targets
    return f"br i1 {operand('i1', condition)}, label %{yes.label}, label %{no.label}"


LONGEST = 500
"""Instructions of a basic block; LLVM's time for one grows with the square of its length."""


def module_text(b: Builder, name: str) -> tuple[str, int]:
    """The module of a function, and the number of its instructions."""
    needed, lines = used(b), []
    kept = {block: [x for x in block.instructions if x in needed] for block in b.blocks}
    for block in b.blocks:  # a block is left from its last part
        parts = max(len(kept[block]) - 1, 0) // LONGEST
        block.left_from = f"{block.label}_{parts}" if parts else block.label
    for block in b.blocks:
        lines.append(f"{block.label}:")
        for k, x in enumerate(kept[block]):
            if k and k % LONGEST == 0:
                part = f"{block.label}_{k // LONGEST}"
                lines += [f"  br label %{part}", f"{part}:"]
            lines.append("  " + line(x))
        lines.append("  " + end(block))
    head = f"define void @{name}(ptr noalias %in, ptr noalias %out, ptr noalias %work) #0 {{"
    parts = [*b.constants, head, *lines, "}", MEMBERS.replace("NAME", name)]
    parts += sorted(set(b.calls.values()))
    text = "\n".join([*parts, 'attributes #0 = { nounwind "no-builtins" }', ""])
    return text, sum(map(len, kept.values()))


MEMBERS = """
define void @NAME_members(ptr %in, ptr %out, ptr %work, ptr %steps, i64 %given, i64 %found, i64 %n)
{
begin:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %member, label %end
member:
  %m = phi i64 [ 0, %begin ], [ %following, %onward ]
  call void @NAME(ptr %in, ptr %out, ptr %work)
  %all = add i64 %given, %found
  br label %test
test:
  %k = phi i64 [ 0, %member ], [ %next, %move ]
  %more = icmp slt i64 %k, %all
  br i1 %more, label %move, label %onward
move:
  %is_input = icmp slt i64 %k, %given
  %array = select i1 %is_input, ptr %in, ptr %out
  %beyond = sub i64 %k, %given
  %index = select i1 %is_input, i64 %k, i64 %beyond
  %slot = getelementptr ptr, ptr %array, i64 %index
  %place = load ptr, ptr %slot
  %step_at = getelementptr i64, ptr %steps, i64 %k
  %step = load i64, ptr %step_at
  %moved = getelementptr i8, ptr %place, i64 %step
  store ptr %moved, ptr %slot
  %next = add i64 %k, 1
  br label %test
onward:
  %following = add i64 %m, 1
  %again = icmp slt i64 %following, %n
  br i1 %again, label %member, label %end
end:
  ret void
}"""
"""The function called for one member after another, whose arrays lie one behind the other."""
