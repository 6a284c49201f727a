"""Rows and classes by their numbers, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lumus import _native
from lumus.core import kernels as k
from lumus.core.kernels.kernel import Kernel
from lumus.core.spec import Spec
from lumus.devices.reference.arrays import widened
from lumus.devices.reference.scalar import Array


def _checked(ids: Array, bound: int) -> Array:
    for position in np.ndindex(ids.shape):
        if not 0 <= ids[position] < bound:
            raise _native.IndexOutOfRange(int(ids[position]), bound, position, 0, -1)
    return ids


def embedding(kernel: k.Embedding, arrays: Sequence[Array], output: Spec) -> Array:
    """The rows of those numbers."""
    ids, table = arrays
    return np.asarray(table[_checked(ids, len(table))])


def embedding_grad(kernel: k.EmbeddingGrad, arrays: Sequence[Array], output: Spec) -> Array:
    """Sums or averages of rows; floats in float64."""
    grad, ids = widened(arrays[0]), arrays[1]
    table = np.zeros((kernel.num_rows, grad.shape[-1]), np.float64)
    counts = np.zeros((kernel.num_rows, 1))
    for position in np.ndindex(ids.shape):
        table[ids[position]] += grad[position]
        counts[ids[position]] += 1
    if kernel.averages:
        table /= np.maximum(counts, 1)
    if kernel.skipped >= 0:
        table[kernel.skipped] = 0
    return table


def one_hot(kernel: k.OneHot, arrays: Sequence[Array], output: Spec) -> Array:
    """1 at the number given."""
    result = np.zeros(output.shape, np.int64)
    for position in np.ndindex(arrays[0].shape):
        result[(*position, _checked(arrays[0], kernel.num_classes)[position])] = 1
    return result


TABLE: dict[type[Kernel], Callable[[Any, Sequence[Array], Any], Any]] = {
    k.Embedding: embedding,
    k.EmbeddingGrad: embedding_grad,
    k.OneHot: one_hot,
}
