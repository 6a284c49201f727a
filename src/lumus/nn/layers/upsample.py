"""Upsample: pictures brought to another size."""

from __future__ import annotations

from collections.abc import Sequence

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module
from lumus.ops.pool.interpolate import InterpolateMode, interpolate


class Upsample(Module):
    """`lumus.nn.functional.interpolate` to a `size` or by a `scale_factor`.

    **Shapes.** (N, C, ...) with one to three further axes, which alone change.

    >>> import lumus as lm
    >>> lm.nn.Upsample(scale_factor=2, mode="bilinear")(lm.zeros((1, 3, 4, 5))).shape
    (1, 3, 8, 10)
    """

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: InterpolateMode = "nearest",
        align_corners: bool | None = None,
    ) -> None:
        self.size = size
        self.scale_factor = scale_factor
        self.mode: InterpolateMode = mode
        self.align_corners = align_corners

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return interpolate(x, self.size, self.scale_factor, self.mode, self.align_corners)

    def extra_repr(self) -> str:
        how = f"size={self.size}" if self.size is not None else f"scale_factor={self.scale_factor}"
        return f"{how}, mode={self.mode!r}"
