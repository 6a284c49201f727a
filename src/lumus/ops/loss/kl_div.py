"""kl_div: how far a distribution, given by logarithms, is from a target distribution."""

from __future__ import annotations

import math
from typing import Literal

from lumus.core.argument import flag
from lumus.core.kinds import Float
from lumus.core.scalar import functions as scalar
from lumus.core.tensor import Tensor
from lumus.ops.loss.elementwise_loss import elementwise_loss, formula
from lumus.ops.loss.reduction import check_pair, check_reduction

KLReduction = Literal["mean", "sum", "none", "batchmean"]

# What has no probability contributes nothing, even to an infinite difference of logarithms.
_PLAIN = formula(
    lambda x, t: scalar.where(scalar.equal(t, 0) & ~scalar.isnan(x), 0.0, t * (scalar.log(t) - x)),
    lambda grad, x, t: -(grad * t),
    lambda grad, x, t: grad * (scalar.log(t) - x + 1),
)
_OF_LOGARITHMS = formula(
    lambda x, t: scalar.where(
        scalar.equal(t, -math.inf) & ~scalar.isnan(x), 0.0, scalar.exp(t) * (t - x)
    ),
    lambda grad, x, t: -(grad * scalar.exp(t)),
    lambda grad, x, t: scalar.where(
        scalar.equal(t, -math.inf), 0.0, grad * (scalar.exp(t) * (t - x + 1))
    ),
)


def kl_div(
    log_probabilities: Tensor[Float],
    target: Tensor[Float],
    *,
    log_target: bool = False,
    reduction: KLReduction = "mean",
) -> Tensor[Float]:
    """The Kullback-Leibler divergence ``t * (log(t) - x)``, where ``x`` are log-probabilities.

    With `log_target` the target is given by logarithms, too: ``e**t * (t - x)``. A target of
    probability 0 contributes exactly 0. The divergence of distributions is the sum of these terms;
    ``reduction="batchmean"`` divides that by the length of the first axis, ``"mean"`` by the number
    of elements.

    **Shapes.** Both the same. The result is 0-d, or has that shape with ``reduction="none"``.
    **Kinds.** Float.
    **Gradient.** ``-t`` (``-e**t``) by x; by the target ``log(t) - x + 1``, which is -inf at 0.
    **Raises.** ShapeError for shapes that differ, KindError for Int and Bool, ArgumentError.

    >>> import lumus as lm
    >>> even = lm.log(lm.tensor([[0.5, 0.5]]))
    >>> lm.nn.functional.kl_div(even, lm.tensor([[1.0, 0.0]]), reduction="batchmean").item()
    0.6931471824645996
    """
    check_pair("kl_div", log_probabilities, target, ("log_probabilities", "target"))
    check_reduction("kl_div", reduction, batchmean=True)
    made = _OF_LOGARITHMS if flag("kl_div", "log_target", log_target) else _PLAIN
    if reduction != "batchmean":
        return elementwise_loss(made, reduction, log_probabilities, target)
    batch = log_probabilities.shape[0] if log_probabilities.ndim else 1
    total = elementwise_loss(made, "sum", log_probabilities, target)
    return total / float(batch) if batch else total * math.nan
