"""astype: the elements in another dtype."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import check_tensors
from lumus.core.dtypes import DType, checked_dtype
from lumus.core.frozen import frozen
from lumus.core.kernels.elementwise import Cast
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Float, K
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, record
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor


@frozen
class AstypeAttrs:
    """The dtype to convert to."""

    dtype: DType[Any]


@record
class AstypeRecord(Record):
    """d astype(x) / dx = grad, converted back; none where a Float became Int or Bool."""

    by_signature = True

    dtype: DType[Any]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (grad.astype(self.dtype),)


@register
class Astype(Op):
    name = "astype"
    attrs = AstypeAttrs

    def infer(self, specs: Specs, attrs: AstypeAttrs) -> Spec:
        return specs[0].with_dtype(checked_dtype(attrs.dtype, "astype"))

    def kernel(self, specs: Specs, attrs: AstypeAttrs) -> Kernel:
        return Cast(attrs.dtype)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: AstypeAttrs, needs: Needs
    ) -> Record:
        return AstypeRecord(inputs[0].dtype)


def astype(x: Tensor[Any], dtype: DType[K]) -> Tensor[K]:
    """The elements converted to another dtype, of any kind; `x` itself when it has that dtype.

    Float to Int truncates towards zero and saturates; NaN gives 0. To half precision the nearest
    value, ties to even. Int to Int wraps. To Bool: whether it is not 0. From Bool: 0 and 1.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Any to any.
    **Gradient.** `grad`, converted back; a conversion to Int or Bool cuts the graph.
    **Raises.** Nothing.

    >>> import lumus as lm
    >>> lm.astype(lm.tensor([1.9, -1.9]), lm.int32).tolist()
    [1, -1]
    """
    check_tensors("astype", x)
    return x.astype(dtype)
