"""Compression of bytes and curves for HTML pages.

`zwang/output/viewer/unpack.js` decompresses them. Browsers have gzip, which finds repetitions
within 32 kB; LZMA finds them at any distance.
"""

from __future__ import annotations

import base64
import lzma

import numpy as np

FINENESS = 2**20
"""Number of quantization steps of the largest value of smooth curves: a thousandth of a pixel."""
ORDER = 3
"""Order of the differences that are small in smooth curves: the third for positions at sixty frames
per second.
"""
WAY = {"id": lzma.FILTER_LZMA1, "preset": 9, "lc": 3, "lp": 0, "pb": 0}


def packed(content: bytes) -> dict[str, str | int]:
    """Compress bytes to text for JSON, with their number."""
    # The dictionary is as long as the content: the preset's takes 60 MB and twice the time.
    window = 1 << max(12, (len(content) - 1).bit_length())
    made = lzma.compress(content, format=lzma.FORMAT_RAW, filters=[{**WAY, "dict_size": window}])
    return {"packed": base64.b64encode(made).decode(), "size": len(content)}


def curves(x: np.ndarray, smooth: bool = False) -> dict[str, str | int | float]:
    """Compress 32-bit numbers of shape (rows, …), each column as a curve over the rows.

    Args:
        smooth: whether a millionth of the largest value is negligible, as in drawings.
    """
    x = np.asarray(x, "<f4")
    x = x.reshape(len(x), x.size // max(len(x), 1)).T
    unit = 0.0
    if smooth and x.size and np.all(np.isfinite(x)):
        unit = float(np.max(np.abs(x))) / FINENESS or 1.0
        steps = np.rint(x / unit).astype("<i4")
        for _ in range(ORDER):
            steps[:, 1:] -= steps[:, :-1].copy()
        # The sign is the last bit, so that not all bits change at zero.
        x = steps << 1 ^ steps >> 31
    planes = np.ascontiguousarray(x).view(np.uint8).reshape(-1, 4).T
    return {**packed(planes.tobytes()), "rows": x.shape[1], "unit": unit}
