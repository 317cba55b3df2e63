"""Machine code from LLVM's language, by llvmlite: no compiler has to be installed."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterable
from typing import Any

import llvmlite.binding as llvm

from zwang.native.library import provide


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


def object_code(text: str, level: int) -> bytes:
    """An object file of a module.

    Args:
        level: 0 for code at once, 1 for fast code.
    """
    target, cpu, features = host()
    module = llvm.parse_assembly(text)
    machine = target.create_target_machine(
        cpu=cpu, features=features, opt=level, jit=True, reloc="pic", codemodel="small"
    )
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    if level:
        options = llvm.create_pipeline_tuning_options(speed_level=level)
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)


class Code:
    """Machine code in this process.

    Args:
        binary: an object file.
        name: of its function.
        routines: that it calls (`zwang.native.library`).
    """

    _signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)

    _of_members = ctypes.CFUNCTYPE(
        None, *[ctypes.c_void_p] * 4, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64
    )

    def __init__(self, binary: bytes, name: str, routines: Iterable[str] = ()):
        for routine in routines:
            provide(routine)
        target, cpu, features = host()
        machine = target.create_target_machine(cpu=cpu, features=features, opt=1, jit=True)
        empty = llvm.parse_assembly("")
        self._engine = llvm.create_mcjit_compiler(empty, machine)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(binary))
        self._engine.finalize_object()
        self.address = self._engine.get_function_address(name)
        self.call = self._signature(self.address)
        self.call_members = self._of_members(self._engine.get_function_address(f"{name}_members"))
