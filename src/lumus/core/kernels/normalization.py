"""The vocabulary of kernels, continued: normalisation."""

from __future__ import annotations

from typing import Literal

from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel

Over = Literal["rows", "channels"]

Extents = tuple[int, int, int, int]
"""A tensor's elements in row-major order as (outer, groups, channels, inner).

Over rows, those of one (outer, group) are normalised together, and groups * channels is the number
of weights; over channels (one group), those of one channel.
"""


@frozen
class Normalize(Kernel):
    """Of (x, [weight], [bias]): (x - mean) / sqrt(variance + eps) * weight + bias.

    The statistics that were measured stand beside it: the means, unless they are taken for 0 (not
    `is_centered`), and over rows 1 / sqrt(variance + eps), over channels the variances, divided by
    the count. Not `is_measured`: (x, mean, variance, [weight], [bias]), and the one result.
    """

    over: Over
    extents: Extents
    eps: float
    is_centered: bool
    is_measured: bool
    has_weight: bool
    has_bias: bool


@frozen
class NormalizeGrad(Kernel):
    """Of (grad, x, statistics..., [weight]): the gradients of x, weight and bias that are `wanted`.

    The statistics are those beside the result of Normalize, functions of x, or were given.
    """

    over: Over
    extents: Extents
    eps: float
    is_centered: bool
    is_measured: bool
    has_weight: bool
    wanted: tuple[bool, bool, bool]
