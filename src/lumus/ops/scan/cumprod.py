"""cumprod: the running product along an axis."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.composite import composite
from lumus.core.dispatch import apply
from lumus.core.dtypes import int64
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.lines import Scan
from lumus.core.kinds import Float, Int
from lumus.core.op import Needs, Op, Specs, kind_error, register
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.ops.scan.axis import ScanAttrs, one_before, scan_axis


@record
class CumprodRecord(Record):
    """d cumprod(x) / dx_i = y_(i-1) * s_i, where s_i = grad_i + x_(i+1) * s_(i+1): no division."""

    x: Saved[Float]
    y: Saved[Float]
    axis: int

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        before = one_before(self.y.tensor(), self.axis, 1.0)
        after = apply("recurrence", self.x.tensor(), grad, axis=self.axis, reverse=True)
        return (before * after,)


@register
class Cumprod(Op):
    name = "cumprod"
    attrs = ScanAttrs

    def infer(self, specs: Specs, attrs: ScanAttrs) -> Spec:
        (spec,) = specs
        if spec.dtype.kind == "bool":
            raise kind_error(
                "cumprod", spec.dtype, ("float", "int"), "convert with .astype(lumus.int64)"
            )
        return spec if spec.dtype.kind == "float" else spec.with_dtype(int64)

    def kernel(self, specs: Specs, attrs: ScanAttrs) -> Kernel:
        return Scan("prod", attrs.axis, reverse=False)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: ScanAttrs, needs: Needs
    ) -> Record:
        return CumprodRecord(Saved(inputs[0]), saved_output(output), attrs.axis)


@overload
def cumprod(x: Tensor[Float], axis: int | None = None) -> Tensor[Float]: ...
@overload
def cumprod(x: Tensor[Int], axis: int | None = None) -> Tensor[Int]: ...
@composite("cumprod")
def cumprod(x: Any, axis: int | None = None) -> Any:
    """The product of all elements up to each one along `axis`: ``y[i] = x[0] * ... * x[i]``.

    `axis` may be left out for a tensor of one axis.

    **Shapes.** Any with at least one axis; the result has the shape of `x`.
    **Kinds.** Float keeps its dtype (products run in float64 and are rounded once); Int gives int64
    and wraps.
    **Gradient.** Right with zeros anywhere: it divides by nothing.
    **Raises.** KindError for Bool, ArgumentError for an axis out of range, or none named where
    there are several.

    >>> import lumus as lm
    >>> lm.cumprod(lm.tensor([2.0, 3.0, 4.0])).tolist()
    [2.0, 6.0, 24.0]
    """
    return apply("cumprod", x, axis=scan_axis("cumprod", x, axis))
