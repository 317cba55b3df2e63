"""`python -m zwang.codegen.fmu.worker FOLDER`: the process of one instance of a unit.

Requests arrive as frames of numbers over the socket in place of the standard input, as
`process.c.in` sends them; answers return the same way. Errors are written to the error output.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import numpy as np


def main(folder: str) -> int:
    """Answer requests until the master closes the socket."""
    # another descriptor, so that input of a model's functions is not taken for a request
    wire = socket.socket(fileno=os.dup(0))
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    from zwang.codegen.fmu.python_unit import PythonUnit, Session

    session, size = None, 0
    try:
        session = Session(PythonUnit.read(Path(folder)))
        size = session.size
    except Exception as error:  # a requirement of the model that this Python lacks
        print(f"{folder}: this unit cannot be opened here: {error}", file=sys.stderr)
        return 1
    while (frame := _received(wire, 8 * (3 + size))) is not None:
        code, a, b, *_ = question = np.frombuffer(frame)
        status, number, values = 0.0, 0.0, question[3:]
        try:
            number, values = session.answer(int(code), float(a), float(b), question[3:])
        except Exception as error:  # the process continues: the master may return to a state
            print(f"{session.unit.model.name}: {error}", file=sys.stderr)
            status = 1.0
        wire.sendall(np.concatenate([[status, number], values]).astype(float).tobytes())
    return 0


def _received(wire: socket.socket, length: int) -> bytes | None:
    """Return the next bytes, or None at the end."""
    data = b""
    while len(data) < length:
        part = wire.recv(length - len(data))
        if not part:
            return None
        data += part
    return data


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
