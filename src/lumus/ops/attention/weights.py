"""The weights of attention with all scores in memory, for derivatives that are rarely asked for."""

from __future__ import annotations

from typing import Any

from lumus.core.dispatch import apply
from lumus.core.dtypes import bool_, float32, is_half
from lumus.core.frozen import frozen
from lumus.core.kinds import Bool, Float, Int
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.ops.attention.masks import causal_mask
from lumus.ops.elementwise.where import where


@frozen
class Heads:
    """How many heads of queries share one of keys: they stand on an axis of their own."""

    shared: int

    def queries(self, x: Tensor[Any]) -> Tensor[Any]:
        """(..., heads, rows, width) to (..., key heads, shared, rows, width)."""
        if self.shared == 1:
            return x
        *lead, heads, rows, width = x.shape
        return x.reshape(*lead, heads // self.shared, self.shared, rows, width)

    def keys(self, x: Tensor[Any]) -> Tensor[Any]:
        """(..., key heads, rows, width) to (..., key heads, 1, rows, width)."""
        return x if self.shared == 1 else x.expand_dims(-3)

    def query_grad(self, grad: Tensor[Float], spec: Spec) -> Tensor[Float]:
        """What `queries` transposes to, in the dtype that the queries had."""
        return grad.reshape(spec.shape).astype(spec.dtype)

    def key_grad(self, grad: Tensor[Float], spec: Spec) -> Tensor[Float]:
        """What `keys` transposes to, in the dtype that the keys had."""
        return (grad if self.shared == 1 else grad.sum(axis=-3)).astype(spec.dtype)


def heads_of(query: Spec, key: Spec) -> Heads:
    """How the heads of `query` share those of `key`."""
    return Heads(query.shape[-3] // key.shape[-3] if query.ndim > 2 and key.shape[-3] else 1)


def widened(x: Tensor[Float]) -> Tensor[Float]:
    """Half types in float32, the others as they are."""
    return x.astype(float32) if is_half(x.dtype) else x


def attention_weights(
    scores: Tensor[Float], mask: Tensor[Any] | None, allowed: Tensor[Bool] | None
) -> Tensor[Float]:
    """The softmax of scores with a mask; 0 where nothing may be attended to."""
    if mask is not None and mask.dtype is not bool_:
        scores = scores + mask
    if allowed is None:
        return scores.softmax(axis=-1)
    weights = where(allowed, scores, float("-inf")).softmax(axis=-1)
    return where(allowed.any(axis=-1, keepdims=True), weights, 0.0)


def allowed_pairs(
    query: Tensor[Float], key: Tensor[Float], mask: Tensor[Any] | None, *, is_causal: bool
) -> Tensor[Bool] | None:
    """Which keys a query may attend to; None for all."""
    allowed = None
    if mask is not None:
        allowed = mask if mask.dtype is bool_ else mask != float("-inf")
    if is_causal:
        earlier = causal_mask(query.shape[-2], key.shape[-2], key)
        allowed = earlier if allowed is None else allowed & earlier
    return allowed


def weights_of(
    query: Tensor[Float],
    key: Tensor[Float],
    mask: Tensor[Any] | None,
    *,
    scale: float,
    is_causal: bool,
) -> Tensor[Float]:
    """The weights of attention, for who wants to see them."""
    allowed = allowed_pairs(query, key, mask, is_causal=is_causal)
    return attention_weights(query @ key.mT * scale, mask, allowed)


def only_attended(rows: Tensor[Float], allowed: Tensor[Bool] | None, axis: int) -> Tensor[Float]:
    """Rows of queries or keys with 0 in place of those that have nothing on the other `axis`.

    So that they may hold anything: 0 times infinity is not 0.
    """
    if allowed is None:
        return rows
    return where(allowed.any(axis=axis).expand_dims(-1), rows, 0.0)


def kept_weights(random_key: Tensor[Int], shape: tuple[int, ...], dropout: float) -> Tensor[Bool]:
    """Which weights dropout keeps: those of one query begin a block of four random words."""
    padded = (*shape[:-1], -(-shape[-1] // 4) * 4)
    drawn: Tensor[Bool] = apply(
        "random",
        random_key,
        distribution="bernoulli",
        shape=padded,
        dtype=bool_,
        low=1 - dropout,
        high=1,
    )
    return drawn.narrow(-1, 0, shape[-1])
