"""copy: the same elements in memory of their own."""

from __future__ import annotations

from typing import Any

from lumus.core.dispatch import apply
from lumus.core.kernels.elementwise import Copy as CopyKernel
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Float, K
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, record
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor


@record
class CopyRecord(Record):
    """d copy(x) / dx = grad."""

    by_signature = True

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (grad,)


@register
class Copy(Op):
    name = "copy"

    def infer(self, specs: Specs, attrs: None) -> Spec:
        return specs[0]

    def kernel(self, specs: Specs, attrs: None) -> Kernel:
        return CopyKernel()

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return CopyRecord()


def copy(x: Tensor[K]) -> Tensor[K]:
    """The same elements in memory of their own, dense in row-major order.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Any.
    **Gradient.** `grad`.
    **Raises.** Nothing.

    >>> import lumus as lm
    >>> lm.copy(lm.tensor([1, 2])).tolist()
    [1, 2]
    """
    return apply("copy", x)
