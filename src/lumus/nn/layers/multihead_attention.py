"""MultiheadAttention: attention over several projections of its inputs at once."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import check_tensors, flag, real
from lumus.core.broadcast import integer
from lumus.core.dtypes import DType, float32
from lumus.core.kinds import Bool, Float
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError
from lumus.nn.init import xavier_normal, xavier_uniform
from lumus.nn.layers.linear import Linear
from lumus.nn.module import Module, Parameter
from lumus.ops.attention.attention import scaled_dot_product_attention
from lumus.ops.attention.masks import both_masks, causal_mask, with_more_keys
from lumus.ops.attention.weights import weights_of
from lumus.ops.create.full import zeros
from lumus.ops.linalg.linear import linear
from lumus.ops.random.generator import Generator
from lumus.ops.shape.concat import concat

NAME = "MultiheadAttention"


class MultiheadAttention(Module):
    """`scaled_dot_product_attention` of `num_heads` projections of query, key and value each.

    The heads' outputs, side by side, go through a last linear layer. Masks are True where a query
    may attend, or numbers to add.

    **Shapes.** query (batch, L, embed_dim), key (batch, S, kdim), value (batch, S, vdim) give
    (batch, L, embed_dim); the batch is axis 1 unless `batch_first`, or left out. `mask` is (L, S),
    (batch * num_heads, L, S) or broadcasts to (batch, num_heads, L, S); `key_mask` (batch, S).
    **Parameters.** `in_proj_weight` (3 * embed_dim, embed_dim) evenly spread by Glorot's rule, or
    with other widths `q_proj_weight`, `k_proj_weight` and `v_proj_weight`; `in_proj_bias` and
    `out_proj.bias` of zeros; `out_proj.weight` as in Linear; with `add_bias_kv` one more key and
    value, `bias_k` and `bias_v`; with `add_zero_attn` one of zeros.
    **Returns.** The output and, with `need_weights`, the weights before dropout (batch, L, S),
    averaged over the heads, or (batch, num_heads, L, S), else None. Weights need their memory.
    **Raises.** ArgumentError for sizes that are not positive or heads that do not divide them.

    Source: Vaswani et al., "Attention Is All You Need", NeurIPS 2017.

    >>> import lumus as lm
    >>> layer, x = lm.nn.MultiheadAttention(8, 2, batch_first=True), lm.zeros((3, 5, 8))
    >>> layer(x, x, x, is_causal=True)[0].shape
    (3, 5, 8)
    """

    in_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        *,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        dtype: DType[Float] = float32,
        generator: Generator | None = None,
    ) -> None:
        width, key_width, value_width = (
            integer(NAME, "a width", embed_dim if one is None else one)
            for one in (embed_dim, kdim, vdim)
        )
        self.num_heads = integer(NAME, "num_heads", num_heads)
        if min(width, key_width, value_width, self.num_heads) <= 0 or width % self.num_heads:
            raise ArgumentError(
                f"{NAME}: sizes must be positive, and num_heads divide embed_dim, got "
                f"{self.num_heads} heads of widths {width}, {key_width} and {value_width}"
            )
        self.dropout = real(NAME, "the dropout", dropout)
        if not 0 <= self.dropout <= 1:
            raise ArgumentError(f"{NAME}: the dropout must be in [0, 1], got {self.dropout}")
        self.widths = (width, key_width, value_width)
        self.batch_first = flag(NAME, "batch_first", batch_first)
        self.add_zero_attn = flag(NAME, "add_zero_attn", add_zero_attn)
        self.generator = generator
        self._set_projections(bias=flag(NAME, "bias", bias), dtype=dtype)
        self.bias_k = self.bias_v = None
        if flag(NAME, "add_bias_kv", add_bias_kv):
            self.bias_k, self.bias_v = (
                Parameter(xavier_normal((1, 1, width), dtype=dtype, generator=generator))
                for _ in range(2)
            )

    def _set_projections(self, *, bias: bool, dtype: DType[Float]) -> None:
        def drawn(rows: int, columns: int) -> Parameter:
            return Parameter(xavier_uniform((rows, columns), dtype=dtype, generator=self.generator))

        width, key_width, value_width = self.widths
        self.in_proj_weight = None
        if width == key_width == value_width:
            self.in_proj_weight = drawn(3 * width, width)
        else:
            self.q_proj_weight = drawn(width, width)
            self.k_proj_weight = drawn(width, key_width)
            self.v_proj_weight = drawn(width, value_width)
        self.in_proj_bias = Parameter(zeros((3 * width,), dtype=dtype)) if bias else None
        self.out_proj = Linear(width, width, bias=bias, dtype=dtype, generator=self.generator)
        if bias:
            self.out_proj.bias = Parameter(zeros((width,), dtype=dtype))

    def forward(
        self,
        query: Tensor[Float],
        key: Tensor[Float],
        value: Tensor[Float],
        mask: Tensor[Bool] | Tensor[Float] | None = None,
        *,
        key_mask: Tensor[Bool] | Tensor[Float] | None = None,
        is_causal: bool = False,
        need_weights: bool = False,
        average_attn_weights: bool = True,
    ) -> tuple[Tensor[Float], Tensor[Float] | None]:
        self._check(query, key, value)
        q, k, v = (self._heads(one) for one in self._projected(query, key, value))
        both = self._masks(mask, key_mask, q)
        if self.bias_k is not None or self.add_zero_attn:
            if is_causal:
                both, is_causal = both_masks(both, causal_mask(q.shape[2], k.shape[2], q)), False
            k, v, both = self._with_more(k, v, both)
        dropout = self.dropout if self.training else 0.0
        y = scaled_dot_product_attention(
            q, k, v, both, dropout=dropout, is_causal=is_causal, generator=self.generator
        )
        weights = None
        if need_weights:
            scale = q.shape[-1] ** -0.5
            weights = weights_of(q, k, both, scale=scale, is_causal=is_causal)
            weights = weights.mean(axis=1) if average_attn_weights else weights
            weights = weights.squeeze(0) if query.ndim == 2 else weights
        return self.out_proj(self._rows(y, query.ndim)), weights

    def _check(self, *given: Tensor[Float]) -> None:
        check_tensors(NAME, *given)
        shapes = [one.shape for one in given]
        query, key, value = shapes
        fits = (
            len(query) in (2, 3)
            and [len(one) for one in shapes] == [len(query)] * 3
            and tuple(one[-1] for one in shapes) == self.widths
            and key[:-1] == value[:-1]
        )
        axis = 0 if self.batch_first else 1
        if not fits or (len(query) == 3 and query[axis] != key[axis]):
            rows = "(batch, rows, {})" if self.batch_first else "(rows, batch, {})"
            wanted = ", ".join(rows.format(width) for width in self.widths)
            raise ShapeError(
                f"{NAME}: query, key and value must be {wanted}, or without the batch, got shapes "
                f"{query}, {key} and {value}"
            )

    def _projected(
        self, query: Tensor[Float], key: Tensor[Float], value: Tensor[Float]
    ) -> list[Tensor[Float]]:
        """The three, each times its part of the weights; at once those that are one tensor."""
        width, bias = self.widths[0], self.in_proj_bias
        if self.in_proj_weight is not None and query is key and key is value:
            return linear(query, self.in_proj_weight, bias).split(width, axis=-1)
        biases = [None] * 3 if bias is None else bias.split(width)
        if self.in_proj_weight is None:
            weights: list[Tensor[Float]] = [
                self.q_proj_weight,
                self.k_proj_weight,
                self.v_proj_weight,
            ]
        elif key is value:
            of_query, of_both = self.in_proj_weight.split([width, 2 * width])
            both = None if bias is None else bias.narrow(0, width, 2 * width)
            return [
                linear(query, of_query, biases[0]),
                *linear(key, of_both, both).split(width, axis=-1),
            ]
        else:
            weights = self.in_proj_weight.split(width)
        return [linear(*three) for three in zip((query, key, value), weights, biases, strict=True)]

    def _heads(self, x: Tensor[Float]) -> Tensor[Float]:
        """Rows as (batch, heads, rows, width of a head)."""
        x = x.reshape(*x.shape[:-1], self.num_heads, self.widths[0] // self.num_heads)
        if x.ndim == 3:
            return x.permute_dims(1, 0, 2).expand_dims(0)
        return x.permute_dims((0, 2, 1, 3) if self.batch_first else (1, 2, 0, 3))

    def _rows(self, y: Tensor[Float], ndim: int) -> Tensor[Float]:
        """What `_heads` gave, back as rows."""
        if ndim == 2:
            y = y.squeeze(0).permute_dims(1, 0, 2)
        else:
            y = y.permute_dims((0, 2, 1, 3) if self.batch_first else (2, 0, 1, 3))
        return y.reshape(*y.shape[:-2], self.widths[0])

    def _masks(self, mask: Any, key_mask: Any, q: Tensor[Float]) -> Tensor[Any] | None:
        """What both masks say of (batch, heads, L, S)."""
        for one in (mask, key_mask):
            if one is None:
                continue
            check_tensors(NAME, one)
            if one.dtype.kind == "int":
                raise kind_error(NAME, one.dtype, ("bool", "float"), what="a mask")
        batch, heads = q.shape[:2]
        if mask is not None and mask.ndim == 3 and mask.shape[0] != 1:
            if mask.shape[0] != batch * heads:
                raise ShapeError(
                    f"{NAME}: a mask of three axes has {batch * heads}, one for each head of each "
                    f"batch, on the first, got shape {mask.shape}"
                )
            mask = mask.reshape(batch, heads, *mask.shape[1:])
        # (batch, S) or (S,), beside the heads and queries.
        return both_masks(mask, None if key_mask is None else key_mask.expand_dims((-3, -2)))

    def _with_more(
        self, k: Tensor[Float], v: Tensor[Float], mask: Tensor[Any] | None
    ) -> tuple[Tensor[Float], Tensor[Float], Tensor[Any] | None]:
        """Keys and values with a learned one and one of zeros, if they are wanted, at the end."""
        keys, values = [k], [v]
        one = (*k.shape[:2], 1, k.shape[3])
        if self.bias_k is not None and self.bias_v is not None:
            shape = (1, self.num_heads, 1, k.shape[3])
            keys.append(self.bias_k.reshape(shape).broadcast_to(one))
            values.append(self.bias_v.reshape(shape).broadcast_to(one))
        if self.add_zero_attn:
            keys.append(zeros(one, dtype=k.dtype, device=k.device))
            values.append(zeros(one, dtype=k.dtype, device=k.device))
        if mask is not None:
            mask = with_more_keys(mask, k.shape[2], len(keys) - 1)
        return concat(keys, axis=2), concat(values, axis=2), mask

    def extra_repr(self) -> str:
        return f"{self.widths[0]}, {self.num_heads}" + (", batch_first" if self.batch_first else "")
