"""What losses share: the reduction, and the checks of prediction and target."""

from __future__ import annotations

from typing import Any, Literal, cast

from lumus.core.argument import check_tensors, choice
from lumus.core.kinds import Float
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError

Reduction = Literal["mean", "sum", "none"]


def check_reduction(op: str, reduction: str, *, batchmean: bool = False) -> None:
    """Raises ArgumentError for a reduction that there is not."""
    names = ("mean", "sum", "none", *(("batchmean",) if batchmean else ()))
    choice(op, "reduction", reduction, names)


def check_floats(op: str, *tensors: Tensor[Any]) -> None:
    """Raises ArgumentError for what is no tensor, KindError for one that is not Float."""
    check_tensors(op, *tensors)
    for one in tensors:
        if one.dtype.kind != "float":
            raise kind_error(op, one.dtype, ("float",))


def check_pair(
    op: str,
    prediction: Tensor[Any],
    target: Tensor[Any],
    names: tuple[str, str] = ("prediction", "target"),
) -> None:
    """Raises unless both are Float tensors of one shape: broadcasting would hide a mistake."""
    check_floats(op, prediction, target)
    check_shapes(op, prediction, target, names)


def check_shapes(
    op: str,
    prediction: Tensor[Any],
    target: Tensor[Any],
    names: tuple[str, str] = ("prediction", "target"),
) -> None:
    """Raises ShapeError unless both have one shape."""
    if prediction.shape != target.shape:
        raise ShapeError(
            f"{op}: {names[0]} of shape {prediction.shape}, {names[1]} of shape {target.shape}; "
            "losses do not broadcast",
            hint="reshape one to the other's shape",
            op=op,
        )


def signs(op: str, target: Tensor[Any], like: Tensor[Float]) -> Tensor[Float]:
    """Targets that are 1 or -1 as Float; raises KindError for Bool ones."""
    check_tensors(op, target)
    if target.dtype.kind == "int":
        return target.astype(like.dtype)
    check_floats(op, target)
    return cast("Tensor[Float]", target)


def reduced(losses: Tensor[Float], reduction: Reduction) -> Tensor[Float]:
    """The losses themselves, their sum, or their mean."""
    if reduction == "none":
        return losses
    return losses.mean() if reduction == "mean" else losses.sum()
