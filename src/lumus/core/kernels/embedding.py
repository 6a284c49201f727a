"""The part of the kernel vocabulary that has to do with numbers of things: rows, classes."""

from __future__ import annotations

from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel


@frozen
class Embedding(Kernel):
    """Of (ids, table): the rows of those numbers, which are in [0, rows)."""


@frozen
class EmbeddingGrad(Kernel):
    """Of (grad, ids): a table whose row i is the sum of the rows of grad with that number.

    Row `skipped` is 0 (-1: none is); with `averages` sums are divided by how many they are of.
    """

    num_rows: int
    skipped: int
    averages: bool


@frozen
class OneHot(Kernel):
    """1 at the number given, which is in [0, num_classes), and 0 beside it, on a new last axis."""

    num_classes: int
