"""exponential: waiting times."""

from __future__ import annotations

from collections.abc import Sequence

from lumus.core.argument import not_negative
from lumus.core.device import Device
from lumus.core.dtypes import DType, float32
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor, leaf
from lumus.ops.random.draw import check_fits, check_float, drawn
from lumus.ops.random.generator import Generator


def exponential(
    shape: int | Sequence[int],
    scale: float = 1.0,
    *,
    dtype: DType[Float] = float32,
    device: str | Device | None = None,
    generator: Generator | None = None,
    requires_grad: bool = False,
) -> Tensor[Float]:
    """Numbers from the exponential distribution of mean `scale`: ``-log(u) * scale``.

    **Shapes.** `shape`.
    **Kinds.** Float, float32 by default; never 0 unless `scale` is 0 or the product underflows.
    **Gradient.** `requires_grad=True` makes the result a leaf.
    **Raises.** KindError for a dtype that is not Float, ArgumentError for a scale that is negative
    or not finite, DTypeError for one beyond the dtype.

    >>> import lumus as lm
    >>> lm.random.exponential((2, 3), generator=lm.random.Generator(0)).shape
    (2, 3)
    """
    check_float("exponential", dtype)
    scale = not_negative("exponential", "scale", scale)
    check_fits("exponential", dtype, scale=scale)
    numbers = drawn("exponential", shape, dtype, device, generator)
    return leaf(numbers if scale == 1.0 else numbers * scale, requires_grad)
