"""Equal eigenvalues and singular values: which they are, and what has a derivative there.

Where values are equal their vectors are any basis of a space, of which a small change of the matrix
picks another one: such vectors have no derivative. The values do, as far as equal ones are treated
alike; the gradient of a function that does not (the largest, say) is shared evenly, as that of
other ties.

What depends on both is told by its gradients: they are NaN where that of equal values' vectors, or
of the values beside any vectors, is not 0. So ``v @ diag(w) @ v.T`` has no gradient there, although
the product is smooth: what it depends on (how equal values part) is in neither gradient. Nor can it
be seen where both happen to be 0.
"""

from __future__ import annotations

from lumus.core.dtypes import bool_
from lumus.core.kinds import Bool, Float
from lumus.core.tensor import Tensor
from lumus.ops.create.eye import eye
from lumus.ops.elementwise.where import where

ROUNDINGS = 10
"""Two numbers are equal when they are no further apart than so many roundings for each row."""

EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23}
"""The distance from 1 to the next number of the dtype."""


def tolerance(values: Tensor[Float], size: int) -> Tensor[Float]:
    """How far apart the values of a decomposition of `size` rows are by rounding alone."""
    largest = values.detach().abs().max(axis=-1, keepdims=True)
    return largest * (ROUNDINGS * size * EPSILON[values.dtype.name])


def equal_pairs(values: Tensor[Float], limit: Tensor[Float]) -> Tensor[Bool]:
    """Which pairs of sorted values are equal, each with itself: (..., n) give (..., n, n)."""
    plain = values.detach()
    count = plain.shape[-1] - 1
    jumps = (plain.narrow(-1, 1, count) - plain.narrow(-1, 0, count)).abs() > limit
    groups = jumps.pad({-1: (1, 0)}).cumsum(axis=-1)
    return groups.expand_dims(-1) == groups.expand_dims(-2)


def shared(grad: Tensor[Float], equal: Tensor[Bool]) -> Tensor[Float]:
    """The gradient of the values, shared evenly among equal ones."""
    weights = equal.astype(grad.dtype)
    return (weights @ grad.expand_dims(-1)).squeeze(-1) / weights.sum(axis=-1)


def noise_of(x: Tensor[Float], num_axes: int = 2) -> Tensor[Float]:
    """How large an element of `x` is by rounding alone, from its largest over the last axes."""
    axes = tuple(range(x.ndim - num_axes, x.ndim))
    largest = x.detach().abs().max(axis=axes, keepdims=True)
    return largest * (ROUNDINGS * max(x.shape[-num_axes:]) * EPSILON[x.dtype.name])


def touched(
    inner: Tensor[Float], by_values: Tensor[Float] | None, equal: Tensor[Bool]
) -> Tensor[Bool]:
    """Whether a gradient reaches equal values or their vectors; (..., n, n) give (...).

    `inner` is vectors.T @ their gradient. It does not reach them where each of their spaces has a
    multiple of the identity in it: that is of their lengths, which are fixed.
    """
    plain, noise = inner.detach(), noise_of(inner)
    diagonal = plain.diagonal()
    apart = (diagonal.expand_dims(-1) - diagonal.expand_dims(-2)).abs() > noise
    twins = equal & ~eye(plain.shape[-1], dtype=bool_, device=plain.device)
    found = (((plain.abs() > noise) | apart) & twins).any(axis=(-2, -1))
    if by_values is None:
        return found
    reached = by_values.detach().abs() > noise_of(by_values, 1)
    return found | (reached & twins.any(axis=-1)).any(axis=-1)


def reciprocal_but(x: Tensor[Float], skipped: Tensor[Bool]) -> Tensor[Float]:
    """``1 / x``, and 0 where skipped."""
    return where(skipped, 0.0, 1.0 / where(skipped, 1.0, x))


def poisoned(grad: Tensor[Float], bad: Tensor[Bool]) -> Tensor[Float]:
    """`grad` (..., n, m), NaN for the matrices where it does not exist."""
    return where(bad.reshape((*bad.shape, 1, 1)), float("nan"), grad)
