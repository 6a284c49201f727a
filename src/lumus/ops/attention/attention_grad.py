"""attention_grad: the gradients of attention, with its weights computed again block by block."""

from __future__ import annotations

from typing import Any

from lumus.core.frozen import frozen
from lumus.core.kernels.attention import AttentionGrad as AttentionGradKernel
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, Saved, record
from lumus.core.tensor import Tensor
from lumus.ops.attention.weights import (
    Heads,
    allowed_pairs,
    attention_weights,
    heads_of,
    kept_weights,
    only_attended,
    widened,
)
from lumus.ops.broadcasting import zeros
from lumus.ops.elementwise.where import where


@frozen
class AttentionGradAttrs:
    """Those of attention, and whether the gradient of the scores is wanted."""

    scale: float
    is_causal: bool
    dropout: float
    has_mask: bool
    wants_scores: bool


@record
class AttentionGradRecord(Record):
    """The derivative of (scale dS key, scale dS.T query, A.T grad, dS) by grad, query, key, value.

    A are the weights P that dropout left, dA those of grad value.T, dS = P * (dA - sum(P * dA)).
    The output and the logarithms, which the kernel reads, depend on the others: no variables.
    """

    inputs: tuple[Saved[Any], ...]
    attrs: AttentionGradAttrs

    def vjp(self, *grads: Tensor[Float] | None) -> tuple[Tensor[Float] | None, ...]:
        specs = [saved.spec for saved in self.inputs]
        heads, scale = heads_of(specs[1], specs[2]), self.attrs.scale
        g, q, k, v, p = self._operands(heads)
        by_q, by_k, by_v = self._incoming(heads, grads)
        a, d_p = self._dropped(p), self._dropped(g @ v.mT)
        centred = d_p - (p * d_p).sum(axis=-1, keepdims=True)
        d_s = p * centred

        by_d_s = (by_q @ k.mT + q @ by_k.mT) * scale
        if self.attrs.wants_scores and grads[3] is not None:
            by_d_s = by_d_s + heads.queries(grads[3])
        inner = (p * by_d_s).sum(axis=-1, keepdims=True)
        by_d_a = self._dropped(p * (by_d_s - inner))
        by_p = by_d_s * centred - d_p * inner + self._dropped(g @ by_v.mT)
        by_s = p * (by_p - (p * by_p).sum(axis=-1, keepdims=True))

        by_grad = heads.query_grad(by_d_a @ v + a @ by_v, specs[0])
        by_query = heads.query_grad((by_s @ k + d_s @ by_k) * scale, specs[1])
        by_key = heads.key_grad((by_s.mT @ q + d_s.mT @ by_q) * scale, specs[2])
        by_value = heads.key_grad(by_d_a.mT @ g, specs[3])
        by_mask = None
        if self.attrs.has_mask and specs[6].dtype.kind == "float":
            by_mask = by_s.reshape(specs[6].shape)
        more = (None, None, by_mask, None)[: len(specs) - 4]
        return (by_grad, by_query, by_key, by_value, *more)

    def _operands(self, heads: Heads) -> tuple[Tensor[Float], ...]:
        """Gradient, query, key, value and weights, in the dtype that they are computed in."""
        g, q, k, v = (widened(saved.tensor()) for saved in self.inputs[:4])
        g, q, k, v = heads.queries(g), heads.queries(q), heads.keys(k), heads.keys(v)
        mask = heads.queries(self.inputs[6].tensor()) if self.attrs.has_mask else None
        allowed = allowed_pairs(q, k, mask, is_causal=self.attrs.is_causal)
        g, q = only_attended(g, allowed, -1), only_attended(q, allowed, -1)
        k, v = only_attended(k, allowed, -2), only_attended(v, allowed, -2)
        return g, q, k, v, attention_weights(q @ k.mT * self.attrs.scale, mask, allowed)

    def _incoming(
        self, heads: Heads, grads: tuple[Tensor[Float] | None, ...]
    ) -> tuple[Tensor[Float], ...]:
        by_q, by_k, by_v = (
            widened(zeros(saved.spec) if one is None else one)
            for one, saved in zip(grads[:3], self.inputs[1:4], strict=True)
        )
        return heads.queries(by_q), heads.keys(by_k), heads.keys(by_v)

    def _dropped(self, x: Tensor[Float]) -> Tensor[Float]:
        """`x` times what dropout multiplies the weights with."""
        dropout, query, key = self.attrs.dropout, self.inputs[1].spec, self.inputs[2].spec
        if dropout == 0:
            return x
        shape = (*query.shape[:-1], key.shape[-2])
        kept = kept_weights(self.inputs[-1].tensor(), shape, dropout)
        factor = 1 / (1 - dropout) if dropout < 1 else 1.0
        return where(heads_of(query, key).queries(kept), x * factor, 0.0)


@register
class AttentionGrad(Op):
    """Of (grad, query, key, value, output, logarithms[, mask][, random key])."""

    name = "attention_grad"
    attrs = AttentionGradAttrs

    def infer(self, specs: Specs, attrs: AttentionGradAttrs) -> Specs:
        _, query, key, value, _, logarithms = specs[:6]
        if not attrs.wants_scores:
            return (query, key, value)
        scores = logarithms.with_shape((*query.shape[:-1], key.shape[-2]))
        return (query, key, value, scores)

    def kernel(self, specs: Specs, attrs: AttentionGradAttrs) -> Kernel:
        return AttentionGradKernel(
            attrs.scale, attrs.is_causal, attrs.dropout, attrs.has_mask, attrs.wants_scores
        )

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Any, attrs: AttentionGradAttrs, needs: Needs
    ) -> Record:
        return AttentionGradRecord(tuple(map(Saved, inputs)), attrs)
