"""The numbers of a page in NumPy, unpacked by Python's own LZMA."""

import base64
import lzma

import numpy as np

from zwang.files.packing import ORDER, WAY


def numbers(made, *shape):
    """What `zwang.files.packing.curves` has made, as arrays again."""
    content = base64.b64decode(made["packed"])
    planes = lzma.decompress(content, format=lzma.FORMAT_RAW, filters=[WAY])
    bits = np.frombuffer(planes, np.uint8).reshape(4, -1).T.copy().view("<u4").ravel()
    rows = made["rows"]
    if made["unit"]:
        steps = (bits >> 1).astype(np.int64) ^ -(bits & 1).astype(np.int64)
        table = steps.reshape(-1, rows)
        for _ in range(ORDER):
            table = np.cumsum(table, axis=1)
        found = made["unit"] * table
    else:
        found = bits.view("<f4").reshape(-1, rows)
    return found.T.reshape(shape or (rows, -1))
