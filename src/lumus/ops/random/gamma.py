"""gamma: sums of waiting times, of any number of them."""

from __future__ import annotations

from collections.abc import Sequence

from lumus.core.argument import not_negative, positive
from lumus.core.device import Device
from lumus.core.dtypes import DType, float32
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor, leaf
from lumus.ops.random.draw import check_elements, check_fits, check_float, drawn, drawn_each
from lumus.ops.random.generator import Generator


def gamma(
    shape: int | Sequence[int],
    concentration: Tensor[Float] | float,
    scale: float = 1.0,
    *,
    dtype: DType[Float] = float32,
    device: str | Device | None = None,
    generator: Generator | None = None,
    requires_grad: bool = False,
) -> Tensor[Float]:
    """Numbers from the gamma distribution, of mean ``concentration * scale``.

    Computed in float64 for every dtype. Below a concentration of about 0.02 many results underflow
    to 0.

    **Shapes.** `shape`; a tensor of concentrations is broadcast to it.
    **Kinds.** Float, float32 by default.
    **Gradient.** `requires_grad=True` makes the result a leaf; none flows to the concentrations.
    **Raises.** KindError for a dtype that is not Float, ArgumentError for a concentration that is
    not positive and finite or a scale that is negative or not finite, DTypeError for a scale beyond
    the dtype, ShapeError for concentrations that do not broadcast to `shape`.

    Source: Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables", ACM Transactions
    on Mathematical Software 26, 2000.

    >>> import lumus as lm
    >>> lm.random.gamma((2, 3), 0.5, generator=lm.random.Generator(0)).shape
    (2, 3)
    """
    check_float("gamma", dtype)
    scale = not_negative("gamma", "scale", scale)
    check_fits("gamma", dtype, scale=scale)
    if isinstance(concentration, Tensor):
        right = (concentration > 0.0) & concentration.isfinite()
        check_elements("gamma", "the concentrations must be positive and finite", right)
        numbers = drawn_each("gamma", shape, dtype, device, generator, concentration.detach())
    else:
        low = positive("gamma", "concentration", concentration)
        numbers = drawn("gamma", shape, dtype, device, generator, low=low)
    return leaf(numbers if scale == 1.0 else numbers * scale, requires_grad)
