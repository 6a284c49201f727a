"""The part of the kernel vocabulary that works along the lines of one axis: scans and sorts.

NaN counts as greater than every number, and equal elements keep their order in every sort.
"""

from __future__ import annotations

from typing import Literal

from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel

ScanKind = Literal["sum", "prod", "logsumexp"]


@frozen
class Scan(Kernel):
    """For each element the combination of all up to it along `axis`, from the end if `reverse`.

    Sums and products of Int and Bool are int64.
    """

    kind: ScanKind
    axis: int
    reverse: bool


@frozen
class RunningExtreme(Kernel):
    """The largest or smallest element so far along `axis`, and the position of the first such."""

    kind: Literal["max", "min"]
    axis: int


@frozen
class Recurrence(Kernel):
    """Of (a, b): s[i] = b[i] + a[i] * s[i-1] along `axis`, from s[0] = b[0] on.

    With `reverse` its transpose: s[i] = b[i] + a[i+1] * s[i+1].
    """

    axis: int
    reverse: bool


@frozen
class Sort(Kernel):
    """The elements along `axis` in order, or from the greatest down if `descending`."""

    axis: int
    descending: bool


@frozen
class Argsort(Kernel):
    """The positions along `axis` of the elements in that order."""

    axis: int
    descending: bool


@frozen
class TopK(Kernel):
    """The first `k` elements of that order, descending if `largest`, and their positions."""

    k: int
    axis: int
    largest: bool


@frozen
class SearchSorted(Kernel):
    """Of (sorted, values): the first position in its line whose element is not less than a value.

    Or is greater, if `right`. A line is the last axis of `sorted`, whose others are those of
    `values`; one line serves values of any shape.
    """

    right: bool
