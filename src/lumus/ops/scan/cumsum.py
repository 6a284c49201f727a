"""cumsum: the running sum along an axis."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.composite import composite
from lumus.core.dispatch import apply
from lumus.core.dtypes import int64
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.lines import Scan
from lumus.core.kinds import Bool, Float, Int
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, record
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.ops.scan.axis import DirectedAttrs, scan_axis


@record
class CumsumRecord(Record):
    """d cumsum(x) / dx = the running sum of grad from the other end."""

    by_signature = True

    axis: int
    reverse: bool

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (apply("cumsum", grad, axis=self.axis, reverse=not self.reverse),)


@register
class Cumsum(Op):
    name = "cumsum"
    attrs = DirectedAttrs

    def infer(self, specs: Specs, attrs: DirectedAttrs) -> Spec:
        (spec,) = specs
        return spec if spec.dtype.kind == "float" else spec.with_dtype(int64)

    def kernel(self, specs: Specs, attrs: DirectedAttrs) -> Kernel:
        return Scan("sum", attrs.axis, attrs.reverse)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: DirectedAttrs,
        needs: Needs,
    ) -> Record:
        return CumsumRecord(attrs.axis, attrs.reverse)


@overload
def cumsum(x: Tensor[Float], axis: int | None = None) -> Tensor[Float]: ...
@overload
def cumsum(x: Tensor[Int], axis: int | None = None) -> Tensor[Int]: ...
@overload
def cumsum(x: Tensor[Bool], axis: int | None = None) -> Tensor[Int]: ...
@composite("cumsum")
def cumsum(x: Any, axis: int | None = None) -> Any:
    """The sum of all elements up to each one along `axis`: ``y[i] = x[0] + ... + x[i]``.

    `axis` may be left out for a tensor of one axis. The bits do not depend on the number of
    threads.

    **Shapes.** Any with at least one axis; the result has the shape of `x`.
    **Kinds.** Float keeps its dtype (sums run in float64 and are rounded once); Int and Bool give
    int64, which wraps.
    **Gradient.** The running sum of `grad` from the end.
    **Raises.** ArgumentError for an axis out of range, or none named where there are several.

    >>> import lumus as lm
    >>> lm.cumsum(lm.tensor([1.0, 2.0, 3.0])).tolist()
    [1.0, 3.0, 6.0]
    """
    return apply("cumsum", x, axis=scan_axis("cumsum", x, axis), reverse=False)
