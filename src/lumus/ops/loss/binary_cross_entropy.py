"""binary_cross_entropy: the cross-entropy of probabilities of the one of two classes."""

from __future__ import annotations

import math

from lumus.core.kinds import Float
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.nodes import Scalar
from lumus.core.tensor import Tensor
from lumus.ops.loss.elementwise_loss import elementwise_loss, formula
from lumus.ops.loss.reduction import Reduction, check_pair, check_reduction
from lumus.ops.loss.weight import checked_weight

_TINY = math.exp(-100.0)


def _minus_log(p: Scalar) -> Scalar:
    # Not a maximum of the logarithm: its derivative would be inf * 0 at p = 0.
    return scalar.where((p >= 0) & (p <= _TINY), 100.0, -scalar.log(p))


def _loss(p: Scalar, t: Scalar) -> Scalar:
    return t * _minus_log(p) + (1 - t) * _minus_log(1 - p)


_PLAIN = formula(_loss)
_WEIGHTED = formula(lambda p, t, w: w * _loss(p, t))


def binary_cross_entropy(
    probabilities: Tensor[Float],
    target: Tensor[Float],
    *,
    weight: Tensor[Float] | None = None,
    reduction: Reduction = "mean",
) -> Tensor[Float]:
    """The cross-entropy of probabilities: ``-(t * log(p) + (1 - t) * log(1 - p))``, weighted.

    The logarithms are cut off at -100, so that the loss is finite; a probability that is right to
    the last bit costs exactly 0. Of logits, `binary_cross_entropy_with_logits` keeps all digits.

    **Shapes.** `probabilities` and `target` the same; `weight` broadcasts to it. The result is 0-d,
    or has that shape with ``reduction="none"``; the mean divides by the number of elements.
    **Kinds.** Float. Outside [0, 1] a probability gives NaN.
    **Gradient.** ``weight * ((1 - t) / (1 - p) - t / p)``; a term that is cut off has none.
    **Raises.** ShapeError for shapes that differ, KindError for Int and Bool, ArgumentError.

    >>> import lumus as lm
    >>> p, t = lm.tensor([0.5, 1.0, 0.0]), lm.tensor([1.0, 1.0, 1.0])
    >>> lm.nn.functional.binary_cross_entropy(p, t, reduction="none").tolist()
    [0.6931471824645996, 0.0, 100.0]
    """
    op = "binary_cross_entropy"
    check_pair(op, probabilities, target, ("probabilities", "target"))
    check_reduction(op, reduction)
    if weight is None:
        return elementwise_loss(_PLAIN, reduction, probabilities, target)
    checked_weight(op, "weight", weight, probabilities.shape)
    return elementwise_loss(_WEIGHTED, reduction, probabilities, target, weight)
