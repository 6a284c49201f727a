"""hfft and ihfft: transforms between real spectra and the signals that have them."""

from __future__ import annotations

from lumus.core.dispatch import apply
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.ops.create.tensor import tensor
from lumus.ops.fft.rfft import half_to_real
from lumus.ops.fft.signal import (
    Norm,
    check_complex,
    check_real,
    optional_length,
    scaling_of,
    transform_axis,
    with_length,
)


def _conjugate(x: Tensor[Float]) -> Tensor[Float]:
    signs: Tensor[Float] = tensor([1.0, -1.0], dtype=x.dtype, device=x.device)
    return x * signs


def hfft(
    x: Tensor[Float], *, n: int | None = None, axis: int = -2, norm: Norm = "backward"
) -> Tensor[Float]:
    """The real spectrum of a signal of which `x` is the first half: x[-j] is x[j]'s conjugate.

    **Shapes.** (..., 2) give (...), `axis` of length `n`, if not given ``2 * (length - 1)``; `x` is
    cut to ``n // 2 + 1`` elements, or filled up with zeros, first.
    **Kinds.** float32 or float64. With `norm` "ortho" the sums are divided by the root of n, with
    "forward" by n.
    **Gradient.** That of `irfft` of the conjugate.
    **Raises.** As `irfft`.

    >>> import lumus as lm
    >>> lm.fft.hfft(lm.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])).tolist()
    [1.0, 3.0, 1.0, -1.0]
    """
    check_complex("hfft", x)
    place = transform_axis("hfft", x, axis, is_complex=True)
    length = optional_length("hfft", n)
    return half_to_real("hfft", _conjugate(x), length, place, norm, inverse=False)


def ihfft(
    x: Tensor[Float], *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> Tensor[Float]:
    """What `hfft` undoes: the first half of the signal whose spectrum is real.

    **Shapes.** (...) give (..., 2), `axis` of length ``n // 2 + 1``; `x` is cut to `n`, or filled
    up with zeros, first.
    **Kinds.** float32 or float64. With `norm` "ortho" the sums are divided by the root of n, with
    "forward" by nothing.
    **Gradient.** That of the conjugate of `rfft`.
    **Raises.** As `rfft`.

    >>> import lumus as lm
    >>> lm.fft.ihfft(lm.tensor([1.0, 3.0, 1.0, -1.0])).tolist()[1]
    [0.0, 1.0]
    """
    check_real("ihfft", x)
    place = transform_axis("ihfft", x, axis, is_complex=False)
    scaling = scaling_of("ihfft", norm, inverse=True)
    x = with_length("ihfft", x, place, optional_length("ihfft", n))
    return _conjugate(apply("rfft", x, axis=place, scaling=scaling))
