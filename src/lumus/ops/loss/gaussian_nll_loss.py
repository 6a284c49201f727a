"""gaussian_nll_loss: the negative log-likelihood under normal distributions."""

from __future__ import annotations

import functools
import math

from lumus.core.argument import flag, positive
from lumus.core.kinds import Float
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.nodes import Scalar
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError
from lumus.ops.loss.elementwise_loss import Formula, elementwise_loss, formula
from lumus.ops.loss.reduction import Reduction, check_floats, check_pair, check_reduction


@functools.lru_cache(maxsize=256)
def _gaussian(full: bool, eps: float) -> Formula:
    def loss(x: Scalar, t: Scalar, variance: Scalar) -> Scalar:
        # A negative variance is no variance at all: NaN, not eps.
        bounded = scalar.where(
            (variance >= 0) & (variance < eps), eps, scalar.where(variance < 0, math.nan, variance)
        )
        value = 0.5 * (scalar.log(bounded) + scalar.square(x - t) / bounded)
        return value + 0.5 * math.log(2 * math.pi) if full else value

    return formula(loss)


def gaussian_nll_loss(
    prediction: Tensor[Float],
    target: Tensor[Float],
    variance: Tensor[Float],
    *,
    full: bool = False,
    eps: float = 1e-6,
    reduction: Reduction = "mean",
) -> Tensor[Float]:
    """The negative log-likelihood of normal distributions: ``(log(v) + (x - t)**2 / v) / 2``.

    ``v`` is the variance, at least `eps`. The constant ``log(2 * pi) / 2`` is added with `full`.

    **Shapes.** `prediction` and `target` the same; `variance` too, or without the last axis or with
    1 there, for one variance a row. The result is 0-d, or has that shape with ``reduction="none"``.
    **Kinds.** Float. A negative variance gives NaN.
    **Gradient.** ``(x - t) / v`` by x; ``(1 / v - (x - t)**2 / v**2) / 2`` by v, 0 below `eps`.
    **Raises.** ArgumentError for an `eps` that is not positive, ShapeError, KindError.

    Source: Nix and Weigend, "Estimating the mean and variance of the target probability
    distribution", ICNN 1994.

    >>> import lumus as lm
    >>> x, t = lm.tensor([0.0, 2.0]), lm.tensor([0.0, 0.0])
    >>> lm.nn.functional.gaussian_nll_loss(x, t, lm.ones((2,)), reduction="none").tolist()
    [0.0, 2.0]
    """
    op = "gaussian_nll_loss"
    check_pair(op, prediction, target)
    check_floats(op, variance)
    check_reduction(op, reduction)
    shape = prediction.shape
    if variance.shape != shape:
        if variance.shape == shape[:-1] and shape:
            variance = variance.expand_dims(-1)
        elif variance.shape != (*shape[:-1], 1):
            raise ShapeError(
                f"{op}: prediction of shape {shape}, variance of shape {variance.shape}; it must "
                "be the same, or lack the last axis, or have 1 there",
                op=op,
            )
    eps = positive(op, "eps", eps)
    made = _gaussian(flag(op, "full", full), eps)
    return elementwise_loss(made, reduction, prediction, target, variance)
