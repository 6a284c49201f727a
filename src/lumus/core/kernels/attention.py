"""The part of the kernel vocabulary that is attention."""

from __future__ import annotations

from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel


@frozen
class Attention(Kernel):
    """Of (query, key, value[, mask][, random key]): the weighted values, and the logarithms.

    The weights are softmax(scale query key.T + mask); of them `dropout` are dropped, the others
    divided by 1 - dropout. The logarithms, logsumexp of the scores, are float32 where the others
    are half types. What is excluded, by a mask that is False or -inf or because it is later than
    the query (`is_causal`), adds nothing, whatever it holds.
    """

    scale: float
    is_causal: bool
    dropout: float
    has_mask: bool


@frozen
class AttentionGrad(Kernel):
    """Of (grad, query, key, value, output, logarithms[, mask][, random key]): the gradients.

    Those of query, key and value, and with `wants_scores` that of scale query key.T + mask.
    """

    scale: float
    is_causal: bool
    dropout: float
    has_mask: bool
    wants_scores: bool
