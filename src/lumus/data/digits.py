"""The bundled data set: 1,797 real scans of handwritten digits."""

from __future__ import annotations

import zlib
from functools import lru_cache
from pathlib import Path

import numpy as np

from lumus.core.dtypes import float32, int64
from lumus.core.frozen import frozen
from lumus.core.kinds import Float, Int
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError
from lumus.ops.create.tensor import tensor


@frozen
class Labelled:
    """Images with their classes: `images` (n, 8, 8) of [0, 1], `labels` (n,) of 0 to 9."""

    images: Tensor[Float]
    labels: Tensor[Int]

    def __len__(self) -> int:
        return self.labels.shape[0]


def digits(*, held_out: float = 0.2, seed: int = 0) -> tuple[Labelled, Labelled]:
    """(training part, held-out part) of the digits, split at random by `seed`, the same everywhere.

    1,797 scans by 13 people, 8x8 pixels each, scaled from 0..16 to [0, 1]. Part of the package:
    nothing is downloaded. See the NOTICE beside the file for its origin and licence.

    **Shapes.** `images` (n, 8, 8), `labels` (n,).
    **Kinds.** Float (float32) and Int (int64).
    **Raises.** ArgumentError unless ``0 <= held_out < 1`` and ``0 <= seed < 2**32``.

    Source: Alpaydin and Kaynak, "Optical Recognition of Handwritten Digits", UCI, 1998.

    >>> import lumus as lm
    >>> train, test = lm.data.digits()
    >>> len(train), len(test)
    (1438, 359)
    """
    if not 0 <= held_out < 1:
        raise ArgumentError(f"digits: held_out must be in [0, 1), got {held_out}")
    if not 0 <= seed < 2**32:
        raise ArgumentError(f"digits: the seed must be in [0, 2**32), got {seed}")
    pixels, labels = _scans()
    # NumPy keeps this legacy stream the same in every version.
    order = np.random.RandomState(seed).permutation(len(labels))
    count = round(held_out * len(labels))
    return _part(pixels, labels, order[count:]), _part(pixels, labels, order[:count])


def _part(pixels: np.ndarray, labels: np.ndarray, rows: np.ndarray) -> Labelled:
    images = (pixels[rows].reshape(-1, 8, 8) / 16.0).astype(np.float32)
    return Labelled(tensor(images, dtype=float32), tensor(labels[rows], dtype=int64))


@lru_cache(maxsize=1)
def _scans() -> tuple[np.ndarray, np.ndarray]:
    raw = Path(__file__).with_name("digits.csv.gz").read_bytes()
    text = zlib.decompress(raw, 16 + zlib.MAX_WBITS).decode("ascii")  # 16: a gzip header
    table = np.loadtxt(text.splitlines(), delimiter=",")
    return table[:, :-1], table[:, -1].astype(np.int64)
