"""rfft, irfft, rfftn and irfftn: Fourier transforms of real tensors, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.fourier import InverseRealFourier, RealFourier, Scaling
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, record
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError
from lumus.ops.create.tensor import copied
from lumus.ops.fft.signal import (
    Axes,
    Lengths,
    Norm,
    check_complex,
    check_real,
    optional_length,
    scaling_of,
    transform_axes,
    transform_axis,
    with_length,
)


@frozen
class RfftAttrs:
    """The axis, counted from the front, and what sums are divided by."""

    axis: int
    scaling: Scaling


@record
class RfftRecord(Record):
    """d rfft(x) / dx = the real sums of grad with the other sign: irfft of grad, half of it inside.

    irfft counts the terms inside twice, for their conjugates.
    """

    by_signature = True

    axis: int
    length: int
    scaling: Scaling

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        grad = grad * _weights(grad, self.axis, self.length, 0.5)
        place = {"axis": self.axis, "length": self.length, "scaling": self.scaling}
        return (apply("irfft", grad, **place),)


@register
class Rfft(Op):
    name = "rfft"
    attrs = RfftAttrs

    def infer(self, specs: Specs, attrs: RfftAttrs) -> Spec:
        shape = list(specs[0].shape)
        shape[attrs.axis] = shape[attrs.axis] // 2 + 1
        return specs[0].with_shape((*shape, 2))

    def kernel(self, specs: Specs, attrs: RfftAttrs) -> Kernel:
        return RealFourier(attrs.axis, attrs.scaling)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: RfftAttrs, needs: Needs
    ) -> Record:
        return RfftRecord(attrs.axis, inputs[0].shape[attrs.axis], attrs.scaling)


@frozen
class IrfftAttrs:
    """The axis, counted from the front, its length in the result, and what sums are divided by."""

    axis: int
    length: int
    scaling: Scaling


@record
class IrfftRecord(Record):
    """d irfft(x) / dx = rfft of grad, twice of it inside, where x counts for its conjugate, too."""

    by_signature = True

    axis: int
    length: int
    scaling: Scaling

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        spectrum = apply("rfft", grad, axis=self.axis, scaling=self.scaling)
        return (spectrum * _weights(spectrum, self.axis, self.length, 2.0),)


@register
class Irfft(Op):
    name = "irfft"
    attrs = IrfftAttrs

    def infer(self, specs: Specs, attrs: IrfftAttrs) -> Spec:
        shape = list(specs[0].shape[:-1])
        shape[attrs.axis] = attrs.length
        return specs[0].with_shape(tuple(shape))

    def kernel(self, specs: Specs, attrs: IrfftAttrs) -> Kernel:
        return InverseRealFourier(attrs.axis, attrs.length, attrs.scaling)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: IrfftAttrs, needs: Needs
    ) -> Record:
        return IrfftRecord(attrs.axis, attrs.length, attrs.scaling)


def _weights(spectrum: Tensor[Float], axis: int, length: int, inside: float) -> Tensor[Float]:
    """`inside` along an axis of a half spectrum, but 1 at the terms that are their own conjugates.

    Those are at 0, and for an even length at its half.
    """
    weights = np.full(spectrum.shape[axis], inside)
    weights[0] = 1.0
    if length % 2 == 0:
        weights[-1] = 1.0
    shape = [1] * spectrum.ndim
    shape[axis] = weights.size
    made: Tensor[Float] = copied(weights.reshape(shape), spectrum.device).astype(spectrum.dtype)
    return made


def rfft(
    x: Tensor[Float], *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> Tensor[Float]:
    """The discrete Fourier transform of real numbers: the terms up to n // 2.

    The others are their conjugates. Complex numbers are pairs on a last axis of length 2:
    (real, imaginary).

    **Shapes.** (...) give (..., 2), `axis` of length ``n // 2 + 1``; `x` is cut to `n`, or filled
    up with zeros, first.
    **Kinds.** float32 or float64. With `norm` "ortho" the sums are divided by the root of n, with
    "forward" by n.
    **Gradient.** The real part of ``sum over k of grad[k] * exp(2 pi i j k / n)``, divided by the
    same.
    **Raises.** ShapeError for a length of 0, ArgumentError for an axis out of range or another
    norm, DTypeError for half types, KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.fft.rfft(lm.tensor([1.0, 2.0, 3.0, 2.0])).tolist()
    [[8.0, 0.0], [-2.0, 0.0], [0.0, 0.0]]
    """
    check_real("rfft", x)
    place = transform_axis("rfft", x, axis, is_complex=False)
    scaling = scaling_of("rfft", norm, inverse=False)
    x = with_length("rfft", x, place, optional_length("rfft", n))
    return apply("rfft", x, axis=place, scaling=scaling)


def irfft(
    x: Tensor[Float], *, n: int | None = None, axis: int = -2, norm: Norm = "backward"
) -> Tensor[Float]:
    """What `rfft` undoes: the real numbers of which `x` are the first half of the terms.

    The imaginary part of the first term, and for an even n of the last, is not read.

    **Shapes.** (..., 2) give (...), `axis` of length `n`, if not given ``2 * (length - 1)``; `x` is
    cut to ``n // 2 + 1`` terms, or filled up with zeros, first. Axes are those of the tensor: -2 is
    the last but the pairs'.
    **Kinds.** float32 or float64. With `norm` "ortho" the sums are divided by the root of n, with
    "forward" by nothing.
    **Gradient.** `rfft` of `grad`, divided by the same; twice of it inside, where a term counts for
    its conjugate, too.
    **Raises.** ShapeError for a tensor that is not complex or a length of 0, ArgumentError for an
    axis out of range or that of the pairs, or another norm; DTypeError for half types, KindError
    for Int and Bool.

    >>> import lumus as lm
    >>> lm.fft.irfft(lm.tensor([[8.0, 0.0], [-2.0, 0.0], [0.0, 0.0]])).tolist()
    [1.0, 2.0, 3.0, 2.0]
    """
    check_complex("irfft", x)
    place = transform_axis("irfft", x, axis, is_complex=True)
    return half_to_real("irfft", x, optional_length("irfft", n), place, norm, inverse=True)


def half_to_real(
    op: str, x: Tensor[Float], n: int | None, place: int, norm: Norm, *, inverse: bool
) -> Tensor[Float]:
    """Half a spectrum along a checked axis summed to `n` real numbers."""
    scaling = scaling_of(op, norm, inverse=inverse)
    length = 2 * (x.shape[place] - 1) if n is None else n
    if length < 1:
        raise ShapeError(
            f"{op}: a transform needs at least one element, got length {length} of axis {place}",
            hint=None if n is not None else "give the length n of the result",
            op=op,
            axis=place,
        )
    x = with_length(op, x, place, length // 2 + 1)
    return apply("irfft", x, axis=place, length=length, scaling=scaling)


def rfftn(
    x: Tensor[Float], *, s: Lengths = None, axes: Axes = None, norm: Norm = "backward"
) -> Tensor[Float]:
    """`rfft` along the last of several axes, then `fft` along the others.

    **Shapes.** (...) give (..., 2), the last of `axes` with ``n // 2 + 1`` terms; `x` is cut to the
    lengths `s`, or filled up with zeros, first (-1 keeps one). Without `axes` those are the last of
    as many as `s` has, or all.
    **Kinds.** float32 or float64; see `rfft`.
    **Gradient.** That of `fft` and `rfft`.
    **Raises.** As `rfft`; ArgumentError for axes named twice, or as many lengths as there are not
    axes.

    >>> import lumus as lm
    >>> lm.fft.rfftn(lm.ones((2, 4))).shape
    (2, 3, 2)
    """
    check_real("rfftn", x)
    places, lengths = transform_axes("rfftn", x, s, axes, is_complex=False)
    scaling = scaling_of("rfftn", norm, inverse=False)
    for place, length in zip(places, lengths, strict=True):
        x = with_length("rfftn", x, place, length)
    spectrum = apply("rfft", x, axis=places[-1], scaling=scaling)
    if len(places) == 1:
        return spectrum
    return apply("fft", spectrum, axes=tuple(places[:-1]), inverse=False, scaling=scaling)


def irfftn(
    x: Tensor[Float], *, s: Lengths = None, axes: Axes = None, norm: Norm = "backward"
) -> Tensor[Float]:
    """What `rfftn` undoes: `ifft` along several axes but the last, then `irfft` along that.

    **Shapes.** (..., 2) give (...), `axes` of the lengths `s` (-1 keeps one), the last of them if
    not given ``2 * (length - 1)``. Without `axes` those are the last of as many as `s` has, or all
    but the pairs'.
    **Kinds.** float32 or float64; see `irfft`.
    **Gradient.** That of `ifft` and `irfft`.
    **Raises.** As `irfft`; ArgumentError for axes named twice, or as many lengths as there are not
    axes.

    >>> import lumus as lm
    >>> lm.fft.irfftn(lm.fft.rfftn(lm.ones((2, 4)))).tolist()
    [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]
    """
    check_complex("irfftn", x)
    places, lengths = transform_axes("irfftn", x, s, axes, is_complex=True)
    scaling = scaling_of("irfftn", norm, inverse=True)
    for place, length in zip(places[:-1], lengths[:-1], strict=True):
        x = with_length("irfftn", x, place, length)
    if len(places) > 1:
        x = apply("fft", x, axes=tuple(places[:-1]), inverse=True, scaling=scaling)
    return half_to_real("irfftn", x, lengths[-1], places[-1], norm, inverse=True)
