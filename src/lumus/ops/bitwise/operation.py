"""What the operations on bits share: they take Ints and, but for shifts, masks."""

from __future__ import annotations

from typing import Any, ClassVar

from lumus.core.kernels.elementwise import Elementwise
from lumus.core.kernels.kernel import Kernel
from lumus.core.op import ElementwiseOp, Specs
from lumus.core.scalar.expressions import Expression


class BitwiseOp(ElementwiseOp):
    """An operation on bits. `on_masks` is its expression on Bools, which are one bit each."""

    kinds = ("int", "bool")
    differentiable = False
    kind_hint = "compare first to get a mask, or convert with .astype(lumus.int64)"
    reason = "its operands are Int or Bool"
    on_masks: ClassVar[Expression]

    def kernel(self, specs: Specs, attrs: Any) -> Kernel:
        return Elementwise(self.on_masks if specs[0].dtype.kind == "bool" else self.scalar)
