"""binary_cross_entropy_with_logits: the cross-entropy of the sigmoid of logits."""

from __future__ import annotations

from lumus.core.constant import constant
from lumus.core.kinds import Float
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.nodes import Operand, Scalar
from lumus.core.tensor import Tensor
from lumus.ops.loss.elementwise_loss import elementwise_loss, formula
from lumus.ops.loss.reduction import Reduction, check_pair, check_reduction
from lumus.ops.loss.weight import checked_weight


def softplus(x: Scalar) -> Scalar:
    """log(1 + e**x), without overflow and with both tails."""
    return scalar.maximum(x, 0) + scalar.log1p(scalar.exp(-abs(x)))


def _product(share: Scalar, cost: Scalar) -> Scalar:
    # What has no share costs nothing, even where its cost is infinite.
    return scalar.where(scalar.equal(share, 0) & ~scalar.isnan(cost), 0.0, share * cost)


def _loss(x: Scalar, t: Scalar, positive: Operand) -> Scalar:
    return _product(1 - t, softplus(x)) + _product(t * positive, softplus(-x))


# The derivative of softplus is written out: as it stands it has a kink at 0, where branches meet.


def _by_logits(grad: Scalar, x: Scalar, t: Scalar, positive: Operand) -> Scalar:
    return grad * ((1 - t) * scalar.sigmoid(x) - t * positive * scalar.sigmoid(-x))


_PLAIN = formula(
    lambda x, t: _loss(x, t, 1.0),
    lambda grad, x, t: _by_logits(grad, x, t, 1.0),
    lambda grad, x, t: -(grad * x),
)
_FULL = formula(
    lambda x, t, w, p: w * _loss(x, t, p),
    lambda grad, x, t, w, p: _by_logits(grad * w, x, t, p),
    lambda grad, x, t, w, p: grad * w * (p * softplus(-x) - softplus(x)),
    lambda grad, x, t, w, p: grad * _loss(x, t, p),
    lambda grad, x, t, w, p: grad * w * _product(t, softplus(-x)),
)


def binary_cross_entropy_with_logits(
    logits: Tensor[Float],
    target: Tensor[Float],
    *,
    weight: Tensor[Float] | None = None,
    pos_weight: Tensor[Float] | None = None,
    reduction: Reduction = "mean",
) -> Tensor[Float]:
    """`binary_cross_entropy` of ``sigmoid(logits)``, with all digits at any logit.

    ``weight * ((1 - t) * softplus(x) + pos_weight * t * softplus(-x))``: `pos_weight` counts the
    positive class more (or less) than the other.

    **Shapes.** `logits` and `target` the same; the weights broadcast to it. The result is 0-d, or
    has that shape with ``reduction="none"``; the mean divides by the number of elements.
    **Kinds.** Float.
    **Gradient.** ``weight * ((1 - t) * sigmoid(x) - pos_weight * t * sigmoid(-x))``.
    **Raises.** ShapeError for shapes that differ, KindError for Int and Bool, ArgumentError.

    >>> import lumus as lm
    >>> x, t = lm.tensor([-100.0, 100.0, -1000.0]), lm.tensor([1.0, 0.0, 0.0])
    >>> lm.nn.functional.binary_cross_entropy_with_logits(x, t, reduction="none").tolist()
    [100.0, 100.0, 0.0]
    """
    op = "binary_cross_entropy_with_logits"
    check_pair(op, logits, target, ("logits", "target"))
    check_reduction(op, reduction)
    if weight is None and pos_weight is None:
        return elementwise_loss(_PLAIN, reduction, logits, target)
    one: Tensor[Float] = constant(1.0, logits.dtype, logits.device, op)
    for name, given in (("weight", weight), ("pos_weight", pos_weight)):
        if given is not None:
            checked_weight(op, name, given, logits.shape)
    weights = [one if given is None else given for given in (weight, pos_weight)]
    return elementwise_loss(_FULL, reduction, logits, target, *weights)
