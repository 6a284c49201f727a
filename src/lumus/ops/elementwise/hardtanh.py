"""hardtanh: each element held between two numbers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from lumus.core.argument import real
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.elementwise import Elementwise
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Float
from lumus.core.op import ElementwiseOp, Needs, Specs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import Expression, expression
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError
from lumus.ops.elementwise.map import fused


@frozen
class HardtanhAttrs:
    """The bounds."""

    min_val: float
    max_val: float


@lru_cache(maxsize=256)
def _value(min_val: float, max_val: float) -> Expression:
    return expression(lambda x: scalar.minimum(scalar.maximum(x, min_val), max_val))


@lru_cache(maxsize=256)
def _grad(min_val: float, max_val: float) -> Expression:
    return expression(lambda grad, x: scalar.where((x >= min_val) & (x <= max_val), grad, 0.0))


@record
class HardtanhRecord(Record):
    """d hardtanh(x) / dx = grad where min_val <= x <= max_val, else 0."""

    x: Saved[Float]
    min_val: float
    max_val: float

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_grad(self.min_val, self.max_val), grad, self.x.tensor()),)


@register
class Hardtanh(ElementwiseOp):
    name = "hardtanh"
    attrs = HardtanhAttrs

    def kernel(self, specs: Specs, attrs: HardtanhAttrs) -> Kernel:
        return Elementwise(_value(attrs.min_val, attrs.max_val))

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: HardtanhAttrs,
        needs: Needs,
    ) -> Record:
        return HardtanhRecord(Saved(inputs[0]), attrs.min_val, attrs.max_val)


def checked_bounds(op: str, min_val: float, max_val: float) -> tuple[float, float]:
    """The bounds as numbers; raises ArgumentError unless the first is at most the second."""
    low, high = real(op, "min_val", min_val), real(op, "max_val", max_val)
    if not low <= high:
        raise ArgumentError(f"{op}: min_val must not exceed max_val, got {low} and {high}", op=op)
    # -0.0 and 0.0 are one key of the plans; the sum makes them one number, too.
    return low + 0.0, high + 0.0


def hardtanh(x: Tensor[Float], min_val: float = -1.0, max_val: float = 1.0) -> Tensor[Float]:
    """Each element held between `min_val` and `max_val`: the hyperbolic tangent in three straight
    pieces. NaN stays NaN. The bounds are numbers; those of `clip` may be tensors.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** 1 inside the bounds and on them, as for `clip`, else 0.
    **Raises.** KindError for Int and Bool, ArgumentError unless ``min_val <= max_val``.

    >>> import lumus as lm
    >>> lm.hardtanh(lm.tensor([-2.0, 0.5, 3.0])).tolist()
    [-1.0, 0.5, 1.0]
    """
    low, high = checked_bounds("hardtanh", min_val, max_val)
    return apply("hardtanh", x, min_val=low, max_val=high)
