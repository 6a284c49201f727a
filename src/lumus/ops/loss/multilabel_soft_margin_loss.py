"""multilabel_soft_margin_loss: the mean binary cross-entropy of each row's classes."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError
from lumus.ops.loss.binary_cross_entropy_with_logits import binary_cross_entropy_with_logits
from lumus.ops.loss.reduction import Reduction, check_pair, check_reduction, reduced
from lumus.ops.loss.weight import checked_weight


def multilabel_soft_margin_loss(
    logits: Tensor[Float],
    target: Tensor[Float],
    *,
    weight: Tensor[Float] | None = None,
    reduction: Reduction = "mean",
) -> Tensor[Float]:
    """`binary_cross_entropy_with_logits`, averaged over the last axis, which are the classes.

    **Shapes.** `logits` and `target` the same, (..., C); `weight` broadcasts to it. The result is
    0-d, or has the shape (...) with ``reduction="none"``.
    **Kinds.** Float.
    **Gradient.** ``weight * (sigmoid(logits) - target) / C``, over the number of rows for the mean.
    **Raises.** ShapeError for shapes that differ or have no axis, KindError for Int and Bool,
    ArgumentError.

    >>> import lumus as lm
    >>> x, t = lm.tensor([[100.0, -100.0]]), lm.tensor([[0.0, 0.0]])
    >>> lm.nn.functional.multilabel_soft_margin_loss(x, t).item()
    50.0
    """
    op = "multilabel_soft_margin_loss"
    check_pair(op, logits, target, ("logits", "target"))
    check_reduction(op, reduction)
    if logits.ndim == 0:
        raise ShapeError(f"{op}: the logits need an axis of classes, got shape ()", op=op)
    if weight is not None:
        checked_weight(op, "weight", weight, logits.shape)
    terms = binary_cross_entropy_with_logits(logits, target, weight=weight, reduction="none")
    return reduced(terms.mean(axis=-1), reduction)
