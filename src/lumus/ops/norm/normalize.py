"""normalize: vectors scaled to length 1."""

from __future__ import annotations

from collections.abc import Sequence

from lumus.core.argument import axes_of, check_tensors
from lumus.core.dtypes import float32, is_half
from lumus.core.kinds import Float
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.ops.norm.normalization import checked_eps
from lumus.ops.reduce.norm import norm, power


def normalize(
    x: Tensor[Float], p: float = 2.0, axis: int | Sequence[int] = 1, *, eps: float = 1e-12
) -> Tensor[Float]:
    """``x / max(norm(x, p), eps)``, with the p-norm over `axis`.

    A vector shorter than `eps` is divided by that instead: the zero vector stays what it is.

    **Shapes.** Any that have `axis`; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``(grad - y * sum(grad * y)) / norm(x)`` for p = 2 with y the result; below `eps`
    ``grad / eps``.
    **Raises.** KindError for Int and Bool, ArgumentError for an axis out of range, an eps that is
    negative, or a `p` that is no number.

    >>> import lumus as lm
    >>> lm.nn.functional.normalize(lm.tensor([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    check_tensors("normalize", x)
    if x.dtype.kind != "float":
        raise kind_error("normalize", x.dtype, ("float",))
    eps = checked_eps("normalize", eps)
    axes = axes_of("normalize", x, axis)
    wide = x.astype(float32) if is_half(x.dtype) else x
    length = norm(wide, power("normalize", p), axes, keepdims=True)
    return (wide / length.maximum(eps)).astype(x.dtype)
