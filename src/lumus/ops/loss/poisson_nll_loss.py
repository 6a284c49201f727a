"""poisson_nll_loss: the negative log-likelihood of counts under Poisson distributions."""

from __future__ import annotations

import functools
import math

from lumus.core.argument import flag, not_negative
from lumus.core.kinds import Float
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.nodes import Scalar
from lumus.core.tensor import Tensor
from lumus.ops.loss.elementwise_loss import Formula, elementwise_loss, formula
from lumus.ops.loss.reduction import Reduction, check_pair, check_reduction


def _stirling(t: Scalar) -> Scalar:
    """About log(t!), 0 up to 1."""
    return scalar.where(t > 1, t * scalar.log(t) - t + 0.5 * scalar.log(2 * math.pi * t), 0.0)


@functools.lru_cache(maxsize=256)
def _poisson(log_input: bool, full: bool, eps: float) -> Formula:
    def loss(x: Scalar, t: Scalar) -> Scalar:
        if log_input:
            plain = scalar.exp(x) - t * x
        else:
            # Of no events a rate of 0 is right: not 0 * inf.
            plain = x - scalar.where(scalar.equal(t, 0), 0.0, t * scalar.log(x + eps))
        return plain + _stirling(t) if full else plain

    return formula(loss)


def poisson_nll_loss(
    prediction: Tensor[Float],
    target: Tensor[Float],
    *,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: Reduction = "mean",
) -> Tensor[Float]:
    """The negative log-likelihood of counts: ``e**x - t * x``, where ``x`` is the log of the rate.

    Without `log_input` ``x`` is the rate: ``x - t * log(x + eps)``. The constant ``log(t!)`` is
    left out; with `full` Stirling's formula stands for it, ``t * log(t) - t + log(2 * pi * t) / 2``
    for targets above 1.

    **Shapes.** Both the same. The result is 0-d, or has that shape with ``reduction="none"``.
    **Kinds.** Float.
    **Gradient.** ``e**x - t``, or ``1 - t / (x + eps)``; over the number of elements for the mean.
    **Raises.** ArgumentError for a negative `eps`, ShapeError for shapes that differ, KindError for
    Int and Bool.

    >>> import lumus as lm
    >>> x, t = lm.tensor([0.0, 1.0]), lm.tensor([2.0, 0.0])
    >>> lm.nn.functional.poisson_nll_loss(x, t, reduction="none").tolist()
    [1.0, 2.7182817459106445]
    """
    op = "poisson_nll_loss"
    check_pair(op, prediction, target)
    check_reduction(op, reduction)
    eps = not_negative(op, "eps", eps)
    made = _poisson(flag(op, "log_input", log_input), flag(op, "full", full), eps)
    return elementwise_loss(made, reduction, prediction, target)
