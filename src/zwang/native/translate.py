"""Compilation of LLVM IR to object code by llvmlite, without an installed compiler.

Executed as a script, this file compiles the modules that it reads, one after the other, in a
process of its own: LLVM cannot be interrupted, and a process must not exit while one of its threads
is inside LLVM.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator
from typing import IO, Any

import llvmlite.binding as llvm


@functools.cache
def host() -> tuple[Any, str, str]:
    """Target of this machine, name of its processor, and the features of that."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    return llvm.Target.from_default_triple(), llvm.get_host_cpu_name(), features.flatten()


@functools.cache
def has_fused() -> bool:
    """Return whether this processor has fused multiply-adds."""
    host()
    features = llvm.get_host_cpu_features()
    return bool(features.get("fma") or llvm.get_default_triple().startswith(("aarch64", "arm64")))


@functools.cache
def lanes() -> int:
    """Number of SIMD lanes of batch code: two registers of this processor, or one of the widest."""
    host()
    return 8 if llvm.get_host_cpu_features().get("avx512f") else 4


def object_code(text: str, level: int) -> bytes:
    """Compile a module to an object file.

    Args:
        level: 0 for fast compilation, 1 for fast code.
    """
    target, cpu, features = host()
    text = _read_again(text) if level else text
    # Each module has its own context, as several threads may compile at once.
    module = llvm.parse_assembly(text, context=llvm.create_context())
    machine = target.create_target_machine(
        cpu=cpu, features=features, opt=level, jit=True, reloc="pic", codemodel="small"
    )
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    if level:
        options = llvm.create_pipeline_tuning_options(speed_level=level)
        builder = llvm.create_pass_builder(machine, options)
        # Function passes suffice: there is nothing to optimize across functions.
        passes = builder.getFunctionPassManager()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)
    return machine.emit_object(module)


STEADY = " ; steady"
"""Mark of a line that loads from memory that is never written."""
FAR_BEHIND = 40
"""Number of lines after which such a load is repeated at a further use."""
NAME = re.compile(r"%\w+")
NOT_MOVED = ("phi", "br", "fcmp", "ret")
"""Instructions whose operands are not replaced by repeated loads."""


def _read_again(text: str) -> str:
    """Repeat loads from constant memory near distant uses, which LLVM would otherwise spill."""
    lines: list[str] = []
    steady: dict[str, tuple[str, str]] = {}
    places: dict[str, str] = {}
    last: dict[str, int] = {}
    names: dict[str, str] = {}
    bases: dict[str, str] = {}
    for k, line in enumerate(text.splitlines()):
        result, _, computed = line.strip().rpartition(" = ")
        if line.endswith(":") and "_" not in line:  # other labels are parts of one block
            last, names, bases = {}, {}, {}
        elif line.endswith(STEADY):
            kind, _, pointer = computed.removesuffix(STEADY).partition(", ptr ")
            steady[result], last[result] = (kind, pointer), k
        elif computed.startswith("getelementptr"):
            places[result] = computed
        elif not computed.startswith(NOT_MOVED):
            for x in dict.fromkeys(NAME.findall(computed)):
                if x in steady and k - last.get(x, -FAR_BEHIND) >= FAR_BEHIND:
                    names[x], last[x] = f"{x}_r{k}", k
                    lines += _reading(names[x], *steady[x], places, bases)
            if names:
                computed = NAME.sub(lambda x, now=names: now.get(x[0], x[0]), computed)
                line = f"  {result} = {computed}" if result else f"  {computed}"
        lines.append(line)
    return "\n".join(lines)


def _reading(
    name: str, kind: str, pointer: str, places: dict[str, str], bases: dict[str, str]
) -> list[str]:
    """Lines that load a number again under another name.

    Args:
        kind, pointer: type and pointer of the first load.
        places: instructions that compute pointers.
        bases: pointers to arrays, renamed so that LLVM does not recognize the loads as equal
            and reuse the first.
    """
    where, _, alignment = pointer.partition(",")
    way, lines = places.get(where, ""), []
    element, base, *index = way.split(", ") if way else ("", f"ptr {where}")
    if base not in bases:
        bases[base] = f"{name}b"
        lines.append(f'  {name}b = call ptr asm sideeffect "", "=r,0"({base})')
    at = bases[base]
    if index:
        lines.append(f"  {name}p = {element}, ptr {at}, {index[0]}")
        at = f"{name}p"
    return [*lines, f"  {name} = {kind}, ptr {at}{',' * bool(alignment)}{alignment}"]


def pieces(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the content of each complete `piece` of a stream."""
    while size := stream.readline():
        content = stream.read(int(size))
        if len(content) < int(size):
            return
        yield content


def piece(content: bytes) -> bytes:
    """Bytes prefixed with their length."""
    return b"%d\n%b" % (len(content), content)


if __name__ == "__main__":
    for each in list(pieces(sys.stdin.buffer)):
        sys.stdout.buffer.write(piece(object_code(each.decode(), 1)))
        sys.stdout.buffer.flush()
