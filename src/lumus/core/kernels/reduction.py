"""Kernels that combine the elements of axes."""

from __future__ import annotations

from typing import Literal

from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.scalar.expressions import Expression

ReduceKind = Literal["sum", "mean", "prod", "max", "min", "any", "all"]


@frozen
class Reduce(Kernel):
    """Combines all elements along `axes`.

    With a `prologue`, those of that expression of the inputs.
    """

    kind: ReduceKind
    axes: tuple[int, ...]
    keepdims: bool
    prologue: Expression | None = None


@frozen
class ArgReduce(Kernel):
    """The first position of the extreme element along `axis`, or in row-major order over all."""

    kind: Literal["max", "min"]
    axis: int | None
    keepdims: bool


@frozen
class LogSumExp(Kernel):
    """log(sum(exp(x))) over `axes`, stable."""

    axes: tuple[int, ...]
    keepdims: bool


@frozen
class Norm(Kernel):
    """sum(|x|**p)**(1/p) over `axes`; infinite p: the extreme magnitude, 0: how many are not 0."""

    p: float
    axes: tuple[int, ...]
    keepdims: bool


@frozen
class Distances(Kernel):
    """Of (x, y): the p-norm of the difference of each row of x to each row of y."""

    p: float


@frozen
class Softmax(Kernel):
    """exp(x) / sum(exp(x)) along `axis`, or its logarithm, stable."""

    axis: int
    log: bool


@frozen
class SoftmaxGrad(Kernel):
    """Of (grad, y): y * (grad - sum(grad * y)), or grad - exp(y) * sum(grad) for the logarithm."""

    axis: int
    log: bool
