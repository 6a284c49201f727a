"""Masks of attention put together: True where a query may attend, or numbers that are added."""

from __future__ import annotations

from typing import Any

from lumus.core.dtypes import bool_
from lumus.core.kinds import Bool, Float
from lumus.core.tensor import Tensor
from lumus.ops.create.arange import arange
from lumus.ops.create.full import ones, zeros
from lumus.ops.elementwise.where import where
from lumus.ops.shape.concat import concat

AnyMask = Tensor[Bool] | Tensor[Float]


def both_masks(mask: AnyMask | None, other: AnyMask | None) -> Tensor[Any] | None:
    """The mask that excludes what either excludes, and adds what both add."""
    if mask is None or other is None:
        return other if mask is None else mask
    first: Tensor[Any] = mask
    second: Tensor[Any] = other
    if first.dtype is bool_:
        return first & second if second.dtype is bool_ else where(first, second, float("-inf"))
    if second.dtype is bool_:
        return where(second, first, float("-inf"))
    return first + second


def causal_mask(num_queries: int, num_keys: int, like: Tensor[Any]) -> Tensor[Bool]:
    """True for the keys up to that of the query."""
    queries = arange(num_queries, device=like.device).expand_dims(-1)
    return arange(num_keys, device=like.device) <= queries


def with_more_keys(mask: AnyMask, num_keys: int, count: int) -> Tensor[Any]:
    """A mask of `num_keys` keys with `count` more at the end, which every query may attend to."""
    given: Tensor[Any] = mask.broadcast_to((*mask.shape[:-1], num_keys))
    shape = (*given.shape[:-1], count)
    more = ones if given.dtype is bool_ else zeros
    return concat([given, more(shape, dtype=given.dtype, device=given.device)], axis=-1)
