"""Attention: values weighted by the softmax of the products of queries and keys."""

from __future__ import annotations

import math
from typing import Any

from lumus.core.argument import check_tensors, finite, flag, real
from lumus.core.broadcast import Shape, broadcast_shapes, broadcasts_to
from lumus.core.dispatch import apply
from lumus.core.dtypes import bool_, float32, is_half, promote
from lumus.core.frozen import frozen
from lumus.core.kernels.attention import Attention as AttentionKernel
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Bool, Float, Int
from lumus.core.op import Needs, Op, Specs, kind_error, register
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError
from lumus.ops.random.generator import Generator, chosen_generator

OP = "scaled_dot_product_attention"


@frozen
class AttentionAttrs:
    """The factor of the scores, what is excluded, and which weights are dropped."""

    scale: float
    is_causal: bool
    dropout: float
    has_mask: bool


@record
class AttentionRecord(Record):
    """d attention = (scale dS key, scale dS.T query, P.T grad, dS).

    dS = P * (grad value.T - sum(grad * y)), and the weights P are computed again from the scores
    and the logarithms of the sums of their exponentials.
    """

    query: Saved[Float]
    key: Saved[Float]
    value: Saved[Float]
    output: Saved[Float]
    logarithms: Saved[Float]
    more: tuple[Saved[Any], ...]
    attrs: AttentionAttrs
    needs: Needs

    def vjp(self, *grads: Tensor[Float] | None) -> tuple[Tensor[Float] | None, ...]:
        # Nothing but the backward pass is ever given the logarithms.
        grad = grads[0]
        saved = (self.query, self.key, self.value, self.output, self.logarithms, *self.more)
        wants_scores = self.attrs.has_mask and self.needs[3]
        made = apply(
            "attention_grad",
            grad,
            *[one.tensor() for one in saved],
            scale=self.attrs.scale,
            is_causal=self.attrs.is_causal,
            dropout=self.attrs.dropout,
            has_mask=self.attrs.has_mask,
            wants_scores=wants_scores,
        )
        missing = (None,) * (len(self.needs) - len(made))
        return (*made, *missing)


@register
class Attention(Op):
    """Of (query, key, value[, mask][, random key]): the output and the logarithms of the sums.

    Leading axes are equal; the last of them may be shorter for keys and values, by a whole factor.
    """

    name = "attention"
    attrs = AttentionAttrs

    def infer(self, specs: Specs, attrs: AttentionAttrs) -> Specs:
        query, value = specs[0], specs[2]
        logarithms = query.with_shape(query.shape[:-1])
        if is_half(query.dtype):
            logarithms = logarithms.with_dtype(float32)
        return (query.with_shape((*query.shape[:-1], value.shape[-1])), logarithms)

    def may_be_infinite(self, attrs: AttentionAttrs) -> tuple[int, ...]:
        return (1,)  # of a query that may attend to nothing

    def kernel(self, specs: Specs, attrs: AttentionAttrs) -> Kernel:
        return AttentionKernel(attrs.scale, attrs.is_causal, attrs.dropout, attrs.has_mask)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Any, attrs: AttentionAttrs, needs: Needs
    ) -> Record:
        query, key, value, *more = map(Saved, inputs)
        return AttentionRecord(
            query,
            key,
            value,
            saved_output(output[0], 0),
            saved_output(output[1], 1),
            tuple(more),
            attrs,
            needs,
        )


def scaled_dot_product_attention(
    query: Tensor[Float],
    key: Tensor[Float],
    value: Tensor[Float],
    mask: Tensor[Bool] | Tensor[Float] | None = None,
    *,
    dropout: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    generator: Generator | None = None,
) -> Tensor[Float]:
    """``softmax(scale * query @ key.T + mask) @ value``, in memory that grows with rows alone.

    A Bool `mask` says which keys a query may attend to (True: it may); a Float one is added to the
    scores, and -inf excludes. With `is_causal` query i attends to keys 0 to i, counted from the
    first of each also where their numbers differ. What is excluded adds nothing, even where it is
    not finite; a query with nothing to attend to gets 0. A query whose scores are all -inf, or that
    meets +inf or NaN, is NaN, as in `softmax`. `dropout` drops each weight with that probability
    and scales the others up; `scale` is ``1 / sqrt(width)`` by default.

    **Shapes.** `query` (..., L, E), `key` (..., S, E), `value` (..., S, V) give (..., L, V);
    leading axes broadcast. `mask` broadcasts to (..., L, S). With `enable_gqa` the third axis from
    the end may be longer for queries by a whole factor: so many neighbouring heads share a head of
    keys and values.
    **Kinds.** Float; dtypes promote; half types accumulate in float32.
    **Gradient.** With weights P and ``dS = P * (grad @ value.T - sum(grad * y))``:
    ``scale * dS @ key``, ``scale * dS.T @ query``, ``P.T @ grad``, and dS for a Float mask. They
    need no memory for scores, but for that of a mask and for second derivatives.
    **Raises.** ShapeError, KindError, ArgumentError for a dropout outside [0, 1] or a scale that is
    not finite.

    Source: Vaswani et al., "Attention Is All You Need", NeurIPS 2017; computed as in Dao et al.,
    "FlashAttention", NeurIPS 2022.

    >>> import lumus as lm
    >>> query, rows = lm.tensor([[0.0]]), lm.tensor([[1.0], [3.0]])
    >>> lm.nn.functional.scaled_dot_product_attention(query, rows, rows).tolist()
    [[2.0]]
    """
    check_tensors(OP, query, key, value, *(() if mask is None else (mask,)))
    dropout = real(OP, "the dropout", dropout)
    if not 0 <= dropout <= 1:
        raise ArgumentError(f"{OP}: the dropout must be in [0, 1], got {dropout}", op=OP)
    query, key, value = _fitted(query, key, value, enable_gqa=flag(OP, "enable_gqa", enable_gqa))
    more: list[Tensor[Any]] = []
    if mask is not None:
        more.append(_fitted_mask(mask, query, (*query.shape[:-1], key.shape[-2])))
    if dropout > 0:
        more.append(_random_key(query, key, generator))
    width = query.shape[-1]
    default = 1 / math.sqrt(width) if width else 1.0
    output, _ = apply(
        "attention",
        query,
        key,
        value,
        *more,
        scale=default if scale is None else finite(OP, "scale", scale),
        is_causal=flag(OP, "is_causal", is_causal),
        dropout=dropout,
        has_mask=mask is not None,
    )
    return output


def _fitted(
    query: Tensor[Float], key: Tensor[Float], value: Tensor[Float], *, enable_gqa: bool
) -> tuple[Tensor[Float], Tensor[Float], Tensor[Float]]:
    """The three in one dtype, with leading axes as the op takes them."""
    q, k, v = query.spec, key.spec, value.spec
    dtype = promote(promote(q.dtype, k.dtype, OP), v.dtype, OP)
    if dtype.kind != "float":
        raise kind_error(OP, dtype, ("float",))
    if min(q.ndim, k.ndim, v.ndim) < 2 or q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise ShapeError(
            f"{OP}: query, key and value of shapes {q.shape}, {k.shape} and {v.shape} do not fit: "
            "they are (..., L, E), (..., S, E) and (..., S, V)",
            op=OP,
            specs=(q, k, v),
        )
    query, key, value = query.astype(dtype), key.astype(dtype), value.astype(dtype)
    if q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
        return query, key, value
    of_query, of_keys = _leading(q, k, v, enable_gqa=enable_gqa)
    return (
        query.broadcast_to((*of_query, *q.shape[-2:])),
        key.broadcast_to((*of_keys, *k.shape[-2:])),
        value.broadcast_to((*of_keys, *v.shape[-2:])),
    )


def _leading(q: Spec, k: Spec, v: Spec, *, enable_gqa: bool) -> tuple[Shape, Shape]:
    """The leading axes of the queries, and of keys and values."""
    of_query = q.shape[:-2]
    of_keys = broadcast_shapes(OP, k.shape[:-2], v.shape[:-2])
    if of_query and of_keys and of_keys[-1]:
        heads, key_heads = of_query[-1], of_keys[-1]
        if heads > key_heads and heads % key_heads == 0 and (enable_gqa or key_heads == 1):
            lead = broadcast_shapes(OP, of_query[:-1], of_keys[:-1])
            return (*lead, heads), (*lead, key_heads)
    try:
        lead = broadcast_shapes(OP, of_query, of_keys)
    except ShapeError:
        raise ShapeError(
            f"{OP}: leading axes {q.shape[:-2]}, {k.shape[:-2]} and {v.shape[:-2]} of query, key "
            "and value do not broadcast",
            hint=None
            if enable_gqa
            else "enable_gqa=True lets heads of queries share those of keys and values",
            op=OP,
            specs=(q, k, v),
        ) from None
    return lead, lead


def _fitted_mask(mask: Tensor[Any], query: Tensor[Float], scores: Shape) -> Tensor[Any]:
    """The mask, repeated to the shape of the scores, in the dtype that they are computed in."""
    if mask.dtype.kind == "int":
        raise kind_error(
            OP,
            mask.dtype,
            ("bool", "float"),
            "a Bool mask is True where a query may attend (mask != 0), a Float one is added",
            "a mask",
        )
    if not broadcasts_to(mask.shape, scores):
        raise ShapeError(
            f"{OP}: a mask of shape {mask.shape} does not broadcast to (..., L, S), here {scores}",
            op=OP,
            specs=(mask.spec,),
        )
    if mask.dtype is not bool_:
        mask = mask.astype(float32 if is_half(query.dtype) else query.dtype)
    return mask if mask.shape == scores else mask.broadcast_to(scores)


def _random_key(
    query: Tensor[Float], key: Tensor[Float], generator: Generator | None
) -> Tensor[Int]:
    """The key of the random words of dropout: whole blocks of four for each query."""
    rows = math.prod(query.shape[:-1])
    num_blocks = rows * -(-key.shape[-2] // 4)
    # A key moves its stream on by a block for two numbers.
    return chosen_generator(OP, generator).next_key(2 * num_blocks, query.device)
