"""`zwang --help` answers immediately, because slow modules are imported only when a command
runs.
"""

import json
import os
import subprocess
import sys

SLOW_TO_IMPORT = ("jax", "jaxlib", "equinox", "scipy", "xarray", "pandas", "h5py", "matplotlib")

# Runs the console script's own entry point and reports, as the last line, its exit code and what it
# has imported.
PROGRAM = f"""
import json, sys
sys.argv = ["zwang", *sys.argv[1:]]
from zwang.cli import main
code = 0
try:
    main()
except SystemExit as stop:
    code = stop.code or 0
print()
loaded = [name for name in {SLOW_TO_IMPORT!r} if name in sys.modules]
print(json.dumps({{"code": code, "loaded": loaded}}))
"""


def test_help_imports_neither_jax_nor_anything_else_that_is_slow():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "--help"],
        capture_output=True,
        text=True,
        env={**os.environ, "NO_COLOR": "1", "TERM": "dumb"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["code"] == 0, done.stdout + done.stderr
    assert "Usage" in done.stdout
    assert report["loaded"] == []
