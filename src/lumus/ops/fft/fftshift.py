"""fftshift and ifftshift: the term of frequency 0 moved to the middle, and back."""

from __future__ import annotations

from lumus.core.argument import axes_of, check_tensors
from lumus.core.kinds import K
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError
from lumus.ops.fft.signal import Axes


def fftshift(x: Tensor[K], *, axes: Axes = None) -> Tensor[K]:
    """The terms of a transform in the order of their frequencies, 0 in the middle.

    **Shapes.** Any; the result has the shape of `x`. `axes` are those of the tensor, by default
    all. A complex tensor's last axis is that of its parts: name the others.
    **Kinds.** Any.
    **Gradient.** `grad`, moved back.
    **Raises.** ArgumentError for an axis out of range or named twice, and for no axes where the
    last has length 2.

    >>> import lumus as lm
    >>> lm.fft.fftshift(lm.fft.fftfreq(4)).tolist()
    [-0.5, -0.25, 0.0, 0.25]
    """
    places = _axes("fftshift", x, axes)
    return x.roll([x.shape[place] // 2 for place in places], places)


def ifftshift(x: Tensor[K], *, axes: Axes = None) -> Tensor[K]:
    """What `fftshift` undoes.

    **Shapes.** Any; the result has the shape of `x`. `axes` are those of the tensor, by default
    all. A complex tensor's last axis is that of its parts: name the others.
    **Kinds.** Any.
    **Gradient.** `grad`, moved back.
    **Raises.** ArgumentError for an axis out of range or named twice, and for no axes where the
    last has length 2.

    >>> import lumus as lm
    >>> lm.fft.ifftshift(lm.tensor([-2, -1, 0, 1])).tolist()
    [0, 1, -2, -1]
    """
    places = _axes("ifftshift", x, axes)
    return x.roll([-(x.shape[place] // 2) for place in places], places)


def _axes(op: str, x: Tensor[K], axes: Axes) -> tuple[int, ...]:
    check_tensors(op, x)
    if axes is None and x.ndim and x.shape[-1] == 2:
        raise ArgumentError(
            f"{op}: the last axis of shape {x.shape} may be that of real and imaginary parts",
            hint="name the axes to move along",
            op=op,
        )
    return axes_of(op, x, axes)
