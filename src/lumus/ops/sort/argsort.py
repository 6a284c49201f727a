"""argsort: the positions of the elements along an axis, in order."""

from __future__ import annotations

from typing import Any

from lumus.core.composite import composite
from lumus.core.dispatch import apply
from lumus.core.dtypes import int64
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.lines import Argsort as ArgsortKernel
from lumus.core.kinds import Int
from lumus.core.op import Op, Specs, register
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.ops.sort.order import OrderAttrs, order_axis


@register
class Argsort(Op):
    name = "argsort"
    attrs = OrderAttrs
    differentiable = False
    reason = "its result is Int"

    def infer(self, specs: Specs, attrs: OrderAttrs) -> Spec:
        return specs[0].with_dtype(int64)

    def kernel(self, specs: Specs, attrs: OrderAttrs) -> Kernel:
        return ArgsortKernel(attrs.axis, attrs.descending)


@composite("argsort")
def argsort(
    x: Tensor[Any], axis: int = -1, *, descending: bool = False, stable: bool = True
) -> Tensor[Int]:
    """The positions of the elements along `axis` in the order that `sort` puts them.

    NaN counts as greater than every number, and equal elements keep their order; `stable` may be
    said, and changes nothing.

    **Shapes.** Any with at least one axis; the result has the shape of `x`.
    **Kinds.** Any; the result is int64.
    **Gradient.** None: the result is Int.
    **Raises.** ArgumentError for an axis out of range.

    >>> import lumus as lm
    >>> lm.argsort(lm.tensor([1, 3, 3, 2]), descending=True).tolist()
    [1, 2, 3, 0]
    """
    axis = order_axis("argsort", x, axis, stable)
    return apply("argsort", x, axis=axis, descending=descending)
