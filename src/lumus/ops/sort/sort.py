"""sort: the elements along an axis in order."""

from __future__ import annotations

from typing import Any

from lumus.core.composite import composite
from lumus.core.dispatch import apply
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.lines import Sort as SortKernel
from lumus.core.kinds import Float, K
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, Saved, record
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.ops.broadcasting import zeros
from lumus.ops.sort.order import OrderAttrs, order_axis


@record
class SortRecord(Record):
    """d sort(x) / dx = grad, each element put back where it came from."""

    x: Saved[Float]
    axis: int
    descending: bool

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        # Sorting values alone is several times faster than sorting positions with them, so the
        # positions are found when they are wanted.
        x = self.x.tensor()
        positions = apply("argsort", x, axis=self.axis, descending=self.descending)
        return (apply("scatter_add", zeros(x.spec), positions, grad, axis=self.axis),)


@register
class Sort(Op):
    name = "sort"
    attrs = OrderAttrs

    def infer(self, specs: Specs, attrs: OrderAttrs) -> Spec:
        return specs[0]

    def kernel(self, specs: Specs, attrs: OrderAttrs) -> Kernel:
        return SortKernel(attrs.axis, attrs.descending)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: OrderAttrs, needs: Needs
    ) -> Record:
        return SortRecord(Saved(inputs[0]), attrs.axis, attrs.descending)


@composite("sort")
def sort(
    x: Tensor[K], axis: int = -1, *, descending: bool = False, stable: bool = True
) -> Tensor[K]:
    """The elements along `axis` from the least to the greatest, or the other way round.

    NaN counts as greater than every number: it comes last, and first where the order is
    descending. Equal elements (0.0 and -0.0 are equal) keep their order either way; `stable` may
    be said, and changes nothing. For values with their positions see `argsort` and
    `take_along_axis`, or `topk`.

    **Shapes.** Any with at least one axis; the result has the shape of `x`.
    **Kinds.** Any; the dtype stays.
    **Gradient.** `grad`, each element put back where it came from.
    **Raises.** ArgumentError for an axis out of range.

    >>> import lumus as lm
    >>> lm.sort(lm.tensor([2.0, float("nan"), 1.0])).tolist()
    [1.0, 2.0, nan]
    """
    axis = order_axis("sort", x, axis, stable)
    return apply("sort", x, axis=axis, descending=descending)
