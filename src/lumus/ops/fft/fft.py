"""fft, ifft, fftn and ifftn: Fourier transforms of complex tensors."""

from __future__ import annotations

from typing import Any

from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.fourier import Fourier, Scaling
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, record
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.ops.fft.signal import (
    Axes,
    Lengths,
    Norm,
    check_complex,
    optional_length,
    scaling_of,
    transform_axes,
    transform_axis,
    with_length,
)


@frozen
class FftAttrs:
    """The axes, counted from the front, the sign, and what sums are divided by."""

    axes: tuple[int, ...]
    inverse: bool
    scaling: Scaling


@record
class FftRecord(Record):
    """d fft(x) / dx = the transform of grad with the other sign, divided by the same."""

    by_signature = True

    axes: tuple[int, ...]
    inverse: bool
    scaling: Scaling

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        back = not self.inverse
        return (apply("fft", grad, axes=self.axes, inverse=back, scaling=self.scaling),)


@register
class Fft(Op):
    name = "fft"
    attrs = FftAttrs

    def infer(self, specs: Specs, attrs: FftAttrs) -> Spec:
        return specs[0]

    def kernel(self, specs: Specs, attrs: FftAttrs) -> Kernel:
        return Fourier(attrs.axes, attrs.inverse, attrs.scaling)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: FftAttrs, needs: Needs
    ) -> Record:
        return FftRecord(attrs.axes, attrs.inverse, attrs.scaling)


def fft(
    x: Tensor[Float], *, n: int | None = None, axis: int = -2, norm: Norm = "backward"
) -> Tensor[Float]:
    """The discrete Fourier transform: ``y[k] = sum over j of x[j] * exp(-2 pi i j k / n)``.

    Complex numbers are pairs on a last axis of length 2: (real, imaginary).

    **Shapes.** (..., 2), kept but for the length `n` of `axis`, to which `x` is cut or filled up
    with zeros first. Axes are those of the tensor: -2 is the last but the pairs'.
    **Kinds.** float32 or float64. With `norm` "ortho" the sums are divided by the root of n, with
    "forward" by n.
    **Gradient.** ``sum over k of grad[k] * exp(+2 pi i j k / n)``, divided by the same.
    **Raises.** ShapeError for a tensor that is not complex or a length of 0, ArgumentError for an
    axis out of range or that of the pairs, or another norm; DTypeError for half types, KindError
    for Int and Bool.

    >>> import lumus as lm
    >>> lm.fft.fft(lm.tensor([[1.0, 0.0], [0.0, 1.0]])).tolist()  # of 1 and i
    [[1.0, 1.0], [1.0, -1.0]]
    """
    return _along("fft", x, n, axis, norm, inverse=False)


def ifft(
    x: Tensor[Float], *, n: int | None = None, axis: int = -2, norm: Norm = "backward"
) -> Tensor[Float]:
    """What `fft` undoes: ``y[j] = sum over k of x[k] * exp(2 pi i j k / n) / n``.

    Complex numbers are pairs on a last axis of length 2: (real, imaginary).

    **Shapes.** (..., 2), kept but for the length `n` of `axis`, to which `x` is cut or filled up
    with zeros first. Axes are those of the tensor: -2 is the last but the pairs'.
    **Kinds.** float32 or float64. With `norm` "ortho" the sums are divided by the root of n, with
    "forward" by nothing.
    **Gradient.** ``sum over j of grad[j] * exp(-2 pi i j k / n)``, divided by the same.
    **Raises.** As `fft`.

    >>> import lumus as lm
    >>> lm.fft.ifft(lm.tensor([[1.0, 1.0], [1.0, -1.0]])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return _along("ifft", x, n, axis, norm, inverse=True)


def _along(
    op: str, x: Tensor[Float], n: int | None, axis: int, norm: Norm, *, inverse: bool
) -> Tensor[Float]:
    check_complex(op, x)
    place = transform_axis(op, x, axis, is_complex=True)
    scaling = scaling_of(op, norm, inverse=inverse)
    x = with_length(op, x, place, optional_length(op, n))
    return apply("fft", x, axes=(place,), inverse=inverse, scaling=scaling)


def fftn(
    x: Tensor[Float], *, s: Lengths = None, axes: Axes = None, norm: Norm = "backward"
) -> Tensor[Float]:
    """`fft` along several axes.

    **Shapes.** (..., 2), kept but for the lengths `s` of `axes` (-1 keeps one). Without `axes`
    those are the last of as many as `s` has, or all but the pairs'.
    **Kinds.** float32 or float64; see `fft`.
    **Gradient.** That of `fft` along each axis.
    **Raises.** As `fft`; ArgumentError for axes named twice, or as many lengths as there are not
    axes.

    >>> import lumus as lm
    >>> lm.fft.fftn(lm.ones((2, 2, 2)))[0, 0].tolist()
    [4.0, 4.0]
    """
    return _over("fftn", x, s, axes, norm, inverse=False)


def ifftn(
    x: Tensor[Float], *, s: Lengths = None, axes: Axes = None, norm: Norm = "backward"
) -> Tensor[Float]:
    """`ifft` along several axes.

    **Shapes.** (..., 2), kept but for the lengths `s` of `axes` (-1 keeps one). Without `axes`
    those are the last of as many as `s` has, or all but the pairs'.
    **Kinds.** float32 or float64; see `ifft`.
    **Gradient.** That of `ifft` along each axis.
    **Raises.** As `fft`; ArgumentError for axes named twice, or as many lengths as there are not
    axes.

    >>> import lumus as lm
    >>> lm.fft.ifftn(lm.ones((2, 2, 2)))[0, 0].tolist()
    [1.0, 1.0]
    """
    return _over("ifftn", x, s, axes, norm, inverse=True)


def _over(
    op: str, x: Tensor[Float], s: Lengths, axes: Axes, norm: Norm, *, inverse: bool
) -> Tensor[Float]:
    check_complex(op, x)
    places, lengths = transform_axes(op, x, s, axes, is_complex=True)
    scaling = scaling_of(op, norm, inverse=inverse)
    for place, length in zip(places, lengths, strict=True):
        x = with_length(op, x, place, length)
    return apply("fft", x, axes=tuple(places), inverse=inverse, scaling=scaling)
