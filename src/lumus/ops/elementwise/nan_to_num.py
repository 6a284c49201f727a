"""nan_to_num: NaN and infinities replaced by numbers."""

from __future__ import annotations

from functools import lru_cache
from math import isnan
from typing import Any

from lumus.core.argument import check_tensors, real
from lumus.core.composite import composite
from lumus.core.dispatch import apply
from lumus.core.dtypes import LARGEST
from lumus.core.frozen import frozen
from lumus.core.kernels.elementwise import Elementwise
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Float
from lumus.core.op import ElementwiseOp, Needs, Specs, kind_error, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import Expression, expression
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError
from lumus.ops.elementwise.map import fused


@frozen
class NanToNumAttrs:
    """What stands for NaN and for each infinity."""

    nan: float
    posinf: float
    neginf: float


@lru_cache(maxsize=256)
def _value(nan: float, posinf: float, neginf: float) -> Expression:
    def replaced(x: Any) -> Any:
        infinite = scalar.where(x > 0, posinf, neginf)
        return scalar.where(scalar.isfinite(x), x, scalar.where(scalar.isnan(x), nan, infinite))

    return expression(replaced)


_GRAD = expression(lambda grad, x: scalar.where(scalar.isfinite(x), grad, 0.0))


@record
class NanToNumRecord(Record):
    """d nan_to_num(x) / dx = grad where x is finite, else 0."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class NanToNum(ElementwiseOp):
    name = "nan_to_num"
    attrs = NanToNumAttrs

    def kernel(self, specs: Specs, attrs: NanToNumAttrs) -> Kernel:
        return Elementwise(_value(attrs.nan, attrs.posinf, attrs.neginf))

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: NanToNumAttrs,
        needs: Needs,
    ) -> Record:
        return NanToNumRecord(Saved(inputs[0]))


@composite("nan_to_num")
def nan_to_num(
    x: Tensor[Float],
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor[Float]:
    """NaN and infinities replaced: NaN by `nan`, inf by `posinf`, -inf by `neginf`.

    Without `posinf` and `neginf`, by the largest and the smallest number of the dtype.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float.
    **Gradient.** 1 where x is finite, else 0.
    **Raises.** KindError for Int and Bool, ArgumentError for a replacement that is NaN.

    >>> import lumus as lm
    >>> lm.nan_to_num(lm.tensor([float("nan"), float("inf"), 2.0]), posinf=9.0).tolist()
    [0.0, 9.0, 2.0]
    """
    check_tensors("nan_to_num", x)
    if x.dtype.kind != "float":
        raise kind_error("nan_to_num", x.dtype, ("float",))
    largest = LARGEST[x.dtype.name]
    values = {
        "nan": nan,
        "posinf": largest if posinf is None else posinf,
        "neginf": -largest if neginf is None else neginf,
    }
    # -0.0 and 0.0 are one key of the plans; the sum makes them one number, too.
    plain = {name: real("nan_to_num", name, value) + 0.0 for name, value in values.items()}
    for name, value in plain.items():
        if isnan(value):
            raise ArgumentError(f"nan_to_num: {name} must be a number, got NaN", op="nan_to_num")
    return apply("nan_to_num", x, **plain)
