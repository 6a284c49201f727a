"""soft_margin_loss: the logistic loss of targets that are 1 or -1."""

from __future__ import annotations

from lumus.core.kinds import Float, Int
from lumus.core.scalar import functions as scalar
from lumus.core.tensor import Tensor
from lumus.ops.loss.binary_cross_entropy_with_logits import softplus
from lumus.ops.loss.elementwise_loss import elementwise_loss, formula
from lumus.ops.loss.reduction import Reduction, check_floats, check_reduction, check_shapes, signs

# The derivative of softplus is written out: as it stands it has a kink at 0, where branches meet.
_LOSS = formula(
    lambda x, t: softplus(-(t * x)),
    lambda grad, x, t: -(grad * t * scalar.sigmoid(-(t * x))),
    lambda grad, x, t: -(grad * x * scalar.sigmoid(-(t * x))),
)


def soft_margin_loss(
    prediction: Tensor[Float], target: Tensor[Float] | Tensor[Int], *, reduction: Reduction = "mean"
) -> Tensor[Float]:
    """The logistic loss ``log(1 + e**(-target * prediction))`` of targets that are 1 or -1.

    **Shapes.** Both the same. The result is 0-d, or has that shape with ``reduction="none"``.
    **Kinds.** Float; the target may be Int.
    **Gradient.** ``-target * sigmoid(-target * prediction)``, over the number of elements for the
    mean.
    **Raises.** ShapeError for shapes that differ, KindError for Int and Bool, ArgumentError.

    >>> import lumus as lm
    >>> x, t = lm.tensor([0.0, -100.0]), lm.tensor([1.0, 1.0])
    >>> lm.nn.functional.soft_margin_loss(x, t, reduction="none").tolist()
    [0.6931471824645996, 100.0]
    """
    check_floats("soft_margin_loss", prediction)
    target = signs("soft_margin_loss", target, prediction)
    check_shapes("soft_margin_loss", prediction, target)
    check_reduction("soft_margin_loss", reduction)
    return elementwise_loss(_LOSS, reduction, prediction, target)
