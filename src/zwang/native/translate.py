"""LLVM's language made into object code, by llvmlite: no compiler has to be installed.

Executed as a script, this file does so for what it reads, one module after the other, in a process
of its own: LLVM cannot be interrupted, and a process must not end beside a thread that is inside of
it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from typing import IO, Any

import llvmlite.binding as llvm


@functools.cache
def host() -> tuple[Any, str, str]:
    """The target of this machine, the name of its processor, and what that can do."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    return llvm.Target.from_default_triple(), llvm.get_host_cpu_name(), features.flatten()


@functools.cache
def has_fused() -> bool:
    """Whether this processor has fused multiply-adds."""
    host()
    features = llvm.get_host_cpu_features()
    return bool(features.get("fma") or llvm.get_default_triple().startswith(("aarch64", "arm64")))


@functools.cache
def lanes() -> int:
    """How many members code for several of them computes at once: two registers of this
    processor's are full, or one of the widest.
    """
    host()
    return 8 if llvm.get_host_cpu_features().get("avx512f") else 4


def object_code(text: str, level: int) -> bytes:
    """An object file of a module.

    Args:
        level: 0 for code at once, 1 for fast code.
    """
    target, cpu, features = host()
    # a context of its own for each module, which several threads may be making
    module = llvm.parse_assembly(text, context=llvm.create_context())
    machine = target.create_target_machine(
        cpu=cpu, features=features, opt=level, jit=True, reloc="pic", codemodel="small"
    )
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    if level:
        options = llvm.create_pipeline_tuning_options(speed_level=level)
        builder = llvm.create_pass_builder(machine, options)
        # each function by itself: between them there is nothing to find
        passes = builder.getFunctionPassManager()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)
    return machine.emit_object(module)


def pieces(stream: IO[bytes]) -> Iterator[bytes]:
    """What `piece` has written, as far as it is there as a whole."""
    while size := stream.readline():
        content = stream.read(int(size))
        if len(content) < int(size):
            return
        yield content


def piece(content: bytes) -> bytes:
    """Bytes with their number before them."""
    return b"%d\n%b" % (len(content), content)


if __name__ == "__main__":
    for each in list(pieces(sys.stdin.buffer)):
        sys.stdout.buffer.write(piece(object_code(each.decode(), 1)))
        sys.stdout.buffer.flush()
