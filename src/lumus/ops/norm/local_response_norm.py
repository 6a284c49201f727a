"""local_response_norm: each element over a power of the squares of its neighbouring channels."""

from __future__ import annotations

from lumus.core.argument import check_tensors, finite
from lumus.core.broadcast import integer
from lumus.core.dtypes import float32, is_half
from lumus.core.kinds import Float
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError
from lumus.ops.shape.pad import pad
from lumus.ops.shape.unfold import unfold


def local_response_norm(
    x: Tensor[Float], size: int, *, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor[Float]:
    """``x / (k + alpha / size * s)**beta``, with s the sum of squares of `size` channels around.

    The channels are those from ``c - size // 2`` to ``c + (size - 1) // 2``; beyond the first and
    the last there are zeros, which count: the divisor stays `size`.

    **Shapes.** `x` (N, C, ...); the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``grad * d**-beta - 2 * alpha * beta / size * x * t``, with d the power's base and
    t the sum of ``grad * x * d**(-beta - 1)`` over the channels that x counts for.
    **Raises.** ShapeError for fewer than two axes, KindError for Int and Bool, ArgumentError for a
    size that is not positive or numbers that are not finite.

    Source: Krizhevsky et al., "ImageNet Classification with Deep Convolutional Neural Networks",
    NeurIPS 2012.

    >>> import lumus as lm
    >>> x = lm.tensor([[1.0, 2.0, 2.0]])
    >>> lm.nn.functional.local_response_norm(x, 3, alpha=3.0, beta=1.0, k=0.0).tolist()
    [[0.20000000298023224, 0.2222222238779068, 0.25]]
    """
    check_tensors("local_response_norm", x)
    size = integer("local_response_norm", "size", size)
    numbers = (("alpha", alpha), ("beta", beta), ("k", k))
    alpha, beta, k = (finite("local_response_norm", name, one) for name, one in numbers)
    if size < 1:
        raise ArgumentError(f"local_response_norm: size must be positive, got {size}")
    if x.dtype.kind != "float":
        raise kind_error("local_response_norm", x.dtype, ("float",))
    if x.ndim < 2:
        raise ShapeError(
            f"local_response_norm: the input is (batch, channels, ...), got shape {x.shape}",
            op="local_response_norm",
            specs=(x.spec,),
        )
    if not x.shape[1]:
        return x
    wide = x.astype(float32) if is_half(x.dtype) else x
    squares = pad(wide.square(), {1: (size // 2, (size - 1) // 2)})
    base = unfold(squares, 1, size).sum(axis=-1) * (alpha / size) + k
    return (wide / base**beta).astype(x.dtype)
