"""MaxUnpool1d, MaxUnpool2d, MaxUnpool3d: maxima brought back to where they were."""

from __future__ import annotations

from collections.abc import Sequence

from lumus.core.kinds import Float, Int
from lumus.core.tensor import Tensor
from lumus.nn.module import Module
from lumus.ops.pool.max_unpool_nd import max_unpool1d, max_unpool2d, max_unpool3d
from lumus.ops.pool.windows import PerAxis


class MaxUnpool(Module):
    """What the three have in common: the arguments of the pool that is undone."""

    def __init__(
        self, kernel_size: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0
    ) -> None:
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(MaxUnpool):
    """Maxima brought back to where they were: see `lumus.nn.functional.max_unpool1d`.

    **Shapes.** (N, C, L) or (C, L).

    >>> import lumus as lm
    >>> pool, unpool = lm.nn.MaxPool1d(2, return_indices=True), lm.nn.MaxUnpool1d(2)
    >>> unpool(*pool(lm.zeros((1, 1, 8)))).shape
    (1, 1, 8)
    """

    def forward(
        self, x: Tensor[Float], indices: Tensor[Int], output_size: Sequence[int] | None = None
    ) -> Tensor[Float]:
        return max_unpool1d(x, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(MaxUnpool):
    """Maxima brought back to where they were: see `lumus.nn.functional.max_unpool2d`.

    **Shapes.** (N, C, H, W) or (C, H, W).

    >>> import lumus as lm
    >>> pool, unpool = lm.nn.MaxPool2d(2, return_indices=True), lm.nn.MaxUnpool2d(2)
    >>> unpool(*pool(lm.zeros((1, 1, 8, 8)))).shape
    (1, 1, 8, 8)
    """

    def forward(
        self, x: Tensor[Float], indices: Tensor[Int], output_size: Sequence[int] | None = None
    ) -> Tensor[Float]:
        return max_unpool2d(x, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(MaxUnpool):
    """Maxima brought back to where they were: see `lumus.nn.functional.max_unpool3d`.

    **Shapes.** (N, C, D, H, W) or (C, D, H, W).

    >>> import lumus as lm
    >>> pool, unpool = lm.nn.MaxPool3d(2, return_indices=True), lm.nn.MaxUnpool3d(2)
    >>> unpool(*pool(lm.zeros((1, 1, 8, 8, 8)))).shape
    (1, 1, 8, 8, 8)
    """

    def forward(
        self, x: Tensor[Float], indices: Tensor[Int], output_size: Sequence[int] | None = None
    ) -> Tensor[Float]:
        return max_unpool3d(x, indices, self.kernel_size, self.stride, self.padding, output_size)
