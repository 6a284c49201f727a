"""The part of the kernel vocabulary that works along the lines of one axis: scans."""

from __future__ import annotations

from typing import Literal

from lumus.core.frozen import frozen
from lumus.core.kernels import Kernel

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
