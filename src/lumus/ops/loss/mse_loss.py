"""mse_loss: the mean squared error."""

from __future__ import annotations

from lumus.core.argument import check_tensors
from lumus.core.kinds import Float
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError
from lumus.ops.loss.cross_entropy import Reduction


def mse_loss(
    prediction: Tensor[Float], target: Tensor[Float], *, reduction: Reduction = "mean"
) -> Tensor[Float]:
    """The squared error ``(prediction - target)**2``, averaged over all elements.

    **Shapes.** Both the same: no broadcasting, which would hide a mistake. The result is 0-d, or
    has that shape with ``reduction="none"``.
    **Kinds.** Float.
    **Gradient.** ``2 * (prediction - target)``, over the number of elements for the mean.
    **Raises.** ShapeError for shapes that differ, KindError for Int and Bool, ArgumentError.

    >>> import lumus as lm
    >>> lm.nn.functional.mse_loss(lm.tensor([1.0, 3.0]), lm.tensor([0.0, 0.0])).item()
    5.0
    """
    check_tensors("mse_loss", prediction, target)
    if reduction not in ("mean", "sum", "none"):
        raise ArgumentError(
            f"mse_loss: reduction must be 'mean', 'sum' or 'none', got {reduction!r}"
        )
    for one in (prediction, target):
        if one.dtype.kind != "float":
            raise kind_error("mse_loss", one.dtype, ("float",))
    if prediction.shape != target.shape:
        raise ShapeError(
            f"mse_loss: prediction of shape {prediction.shape}, target of shape {target.shape}; "
            "losses do not broadcast",
            hint="reshape one to the other's shape",
            op="mse_loss",
        )
    squares = (prediction - target).square()
    if reduction == "none":
        return squares
    return squares.mean() if reduction == "mean" else squares.sum()
