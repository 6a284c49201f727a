"""The gradient of a singular value decomposition, whatever its vectors and values are used for.

With ``p = u.T dx v`` and du = u @ du', dv = v @ dv' (du', dv' skew): ``p = du' s + ds - s dv'``. So

    ds_i   = p_ii
    du'_ij = (p_ij s_j + p_ji s_i) / (s_j**2 - s_i**2)
    dv'_ij = (p_ij s_i + p_ji s_j) / (s_j**2 - s_i**2)

and ``u.T du = (p_ij) / s_j`` for i beyond the singular values. Transposed, with j = u.T grad_u,
k = v.T grad_v, and plus, minus the skew halves of their sum and difference,

    grad_p_ij = plus_ij / (s_j - s_i) + minus_ij / (s_j + s_i) + grad_s_i (i = j)

in which the second term stands for values that are equal but not 0. (J. Townsend, Differentiating
the singular value decomposition, 2016, has the same formula before it is taken apart.)
"""

from __future__ import annotations

from lumus.core.frozen import frozen
from lumus.core.kinds import Bool, Float
from lumus.core.tensor import Tensor
from lumus.ops.broadcasting import zeros
from lumus.ops.create.eye import eye
from lumus.ops.linalg.degenerate import (
    equal_pairs,
    noise_of,
    poisoned,
    reciprocal_but,
    tolerance,
    touched,
)

Parts = tuple[Tensor[Float], Tensor[Float], Tensor[Float]]
Grads = tuple[Tensor[Float] | None, Tensor[Float] | None, Tensor[Float] | None]


def svd_grad(parts: Parts, grads: Grads) -> Tensor[Float]:
    """The gradient of the matrix, given those of u, s and vh; NaN where there is none."""
    u, s, vh = parts
    by_u = zeros(u.spec) if grads[0] is None else grads[0]
    by_s = zeros(s.spec) if grads[1] is None else grads[1]
    by_vh = zeros(vh.spec) if grads[2] is None else grads[2]
    left, right = _side(u, by_u, s.shape[-1]), _side(vh.mT, by_vh.mT, s.shape[-1])
    limit = tolerance(s, max(u.shape[-2], vh.shape[-1]))
    equal, is_zero = equal_pairs(s, limit), s.detach() <= limit
    middle = _middle(left.inner, right.inner, s, equal, is_zero)
    diagonal = eye(s.shape[-1], dtype=s.dtype, device=s.device)
    middle = middle + by_s.expand_dims(-2) * diagonal
    grad = left.vectors @ middle @ right.vectors.mT
    inverse = reciprocal_but(s, is_zero).expand_dims(-2)
    if left.outside is not None:
        grad = grad + (left.outside * inverse) @ right.vectors.mT
    if right.outside is not None:
        grad = grad + left.vectors @ (right.outside * inverse).mT
    bad = touched(left.inner, by_s, equal) | touched(right.inner, None, equal)
    bad = bad | left.is_free_touched | right.is_free_touched
    return poisoned(grad, bad | _null_space_touched(left, right, by_s, is_zero))


@frozen
class _Side:
    """The singular vectors of one side, and the parts of their gradient.

    `inner` is vectors.T @ grad; `outside` what of grad is orthogonal to all vectors of singular
    values, None where that is nothing. The free vectors, those beyond the singular values, are any
    basis of their space: `is_free_touched` where grad depends on which.
    """

    vectors: Tensor[Float]
    inner: Tensor[Float]
    outside: Tensor[Float] | None
    is_free_touched: Tensor[Bool]


def _side(vectors: Tensor[Float], grad: Tensor[Float], count: int) -> _Side:
    rows, columns = vectors.shape[-2:]
    thin = vectors.narrow(-1, 0, count)
    whole = vectors.mT @ grad
    inner = whole.narrow(-2, 0, count).narrow(-1, 0, count)
    outside = None
    if rows > count:
        outside = grad.narrow(-1, 0, count) - thin @ inner
    free = whole.narrow(-2, count, columns - count).narrow(-1, count, columns - count).detach()
    if columns > count:
        assert outside is not None
        # Turning thin vectors into the free space turns free ones the other way.
        across = whole.narrow(-2, 0, count).narrow(-1, count, columns - count)
        outside = outside - vectors.narrow(-1, count, columns - count) @ across.mT
    is_turned = ((free - free.mT).abs() > noise_of(whole)).any(axis=(-2, -1))
    return _Side(thin, inner, outside, is_turned)


def _middle(
    j: Tensor[Float], k: Tensor[Float], s: Tensor[Float], equal: Tensor[Bool], is_zero: Tensor[Bool]
) -> Tensor[Float]:
    """The gradient of p by the vectors, inside the space of the singular values."""
    by_u, by_v = j - j.mT, k - k.mT
    across, along = s.expand_dims(-2), s.expand_dims(-1)
    both_zero = is_zero.expand_dims(-2) & is_zero.expand_dims(-1)
    plus = (by_u + by_v) * reciprocal_but(across - along, equal)
    minus = (by_u - by_v) * reciprocal_but(across + along, both_zero)
    return (plus + minus) * 0.5


def _null_space_touched(
    left: _Side, right: _Side, by_s: Tensor[Float], is_zero: Tensor[Bool]
) -> Tensor[Bool]:
    """Whether a gradient reaches singular values of 0 whose vectors are not fixed.

    They are in a square matrix with one of them: then nothing is lost.
    """
    reached = by_s.detach().abs() > noise_of(by_s, 1)
    is_square = left.outside is None and right.outside is None
    for side in (left, right):
        if side.outside is not None:
            out = side.outside.detach().abs().max(axis=-2)
            reached = reached | (out > noise_of(side.outside).squeeze(-1))
    reached = (reached & is_zero).any(axis=-1)
    return reached & (is_zero.sum(axis=-1) > 1) if is_square else reached
