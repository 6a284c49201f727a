"""Matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.scalar.expressions import Expression

T = TypeVar("T")


@frozen
class MatMul(Kernel):
    """The matrix product by NumPy's rules; `transposed` swaps the last two axes of the second.

    With `bias` a third input, one number for each column of the second (a matrix), is added.
    """

    transposed: bool = False
    bias: bool = False


@frozen
class WithEpilogue(Kernel):
    """An expression of what `product` gives, and of the operands behind those of the product.

    It gives the shape, with at least one axis, and the dtype that the product has. Each other
    operand has one element, or one for each index of the last axis.
    """

    product: MatMul
    epilogue: Expression

    def split(self, operands: Sequence[T]) -> tuple[tuple[T, ...], tuple[T, ...]]:
        """The operands of the product, and the others."""
        count = len(operands) - (self.epilogue.num_inputs - 1)
        return tuple(operands[:count]), tuple(operands[count:])
