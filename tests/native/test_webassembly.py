"""Functions printed as WebAssembly give the results of native code."""

import json
import shutil
import subprocess

import numpy as np
import pytest

from tests.native.printed import SELECTED, known
from zwang.native import NotNativeError
from zwang.native.webassembly import Module

FEW_UNITS = {np.dtype(np.float64): 1e-13, np.dtype(np.float32): 1e-5}
"""Relative: JavaScript's functions are its own, and it has no fused products of 32 bits."""
LACKING = ("LAPACK", "erf", "erfc", "nextafter", "lgamma", "bytes")
RUN = """
require("v8").setFlagsFromString("--experimental-wasm-relaxed-simd");  // before node 21
const fs = require("fs");
const [wasm, data, listed] = process.argv.slice(2).map((path) => fs.readFileSync(path));
const names = Object.getOwnPropertyNames(Math);
const math = Object.fromEntries(names.map((name) => [name, Math[name]]));
math.exp2 = (x) => 2 ** x;
math.fmod = (x, y) => x % y;
const made = new WebAssembly.Instance(new WebAssembly.Module(wasm), { math });
const { memory, ...functions } = made.exports;
const bytes = new Uint8Array(memory.buffer);
for (const [at, from, to] of JSON.parse(listed)) bytes.set(data.subarray(from, to), at);
for (const f of Object.values(functions)) f();
fs.writeFileSync(process.argv[3], bytes);
"""
pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="no node")


@pytest.mark.parametrize("every", [SELECTED, pytest.param(1, marks=pytest.mark.slow)])
def test_webassembly_gives_what_native_code_gives(every, tmp_path):
    """In one module, as it takes node longer to begin than to execute all."""
    module, arrays = Module(), {}
    for name, (program, given, expected) in known(every).items():
        inputs = [f"{name} a{k}" for k in range(len(given))]
        outputs = [f"{name} r{k}" for k in range(len(expected))]
        try:
            module.add(name, program, inputs, outputs)
        except NotNativeError as error:
            assert any(word in str(error) for word in LACKING), f"{name}: {error}"
            continue
        arrays |= dict(zip(inputs, given, strict=True))
    data = {module.places[name][0]: x.tobytes() for name, x in arrays.items()}
    ends = np.cumsum([0, *map(len, data.values())]).tolist()
    listed = [*zip(data, ends, ends[1:], strict=False)]
    files = {"wasm": module.binary(), "data": b"".join(data.values())}
    files |= {"listed": json.dumps(listed).encode(), "run.cjs": RUN.encode()}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    subprocess.run(["node", "run.cjs", "wasm", "data", "listed"], cwd=tmp_path, check=True)
    memory, wrong = (tmp_path / "data").read_bytes(), []
    for name, (_, _, expected) in known(every).items():
        for k, y in enumerate(expected if name in module.instructions else ()):
            at, dtype, shape = module.places[f"{name} r{k}"]
            x = np.frombuffer(memory, dtype, y.size, at).reshape(shape)
            finite = y[np.isfinite(y)] if y.dtype.kind == "f" else np.zeros(0)
            size = np.max(np.abs(finite), initial=0.0)
            unit = FEW_UNITS.get(y.dtype, 0.0)
            if not np.allclose(x, y, rtol=unit, atol=unit * size, equal_nan=True):
                wrong.append((name, x, y))
    assert not wrong, wrong[:3]
