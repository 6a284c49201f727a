"""PairwiseDistance: the distance of each vector to the one beside it."""

from __future__ import annotations

from lumus.core.argument import flag, real
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module
from lumus.ops.linalg.pairwise_distance import pairwise_distance


class PairwiseDistance(Module):
    """`lumus.nn.functional.pairwise_distance` as a layer: the p-norm of ``x - y + eps``.

    **Shapes.** Two inputs, broadcast together; the last axis is removed, or kept with length 1 by
    `keepdims`.
    **Raises.** ArgumentError for a `p` or an `eps` that is no number.

    >>> import lumus as lm
    >>> lm.nn.PairwiseDistance(eps=0.0)(lm.tensor([[3.0, 4.0]]), lm.zeros((1, 2))).tolist()
    [5.0]
    """

    p: float
    eps: float
    keepdims: bool

    def __init__(self, p: float = 2.0, eps: float = 1e-6, *, keepdims: bool = False) -> None:
        self.p = real("PairwiseDistance", "p", p)
        self.eps = real("PairwiseDistance", "eps", eps)
        self.keepdims = flag("PairwiseDistance", "keepdims", keepdims)

    def forward(self, x: Tensor[Float], y: Tensor[Float]) -> Tensor[Float]:
        return pairwise_distance(x, y, self.p, self.eps, keepdims=self.keepdims)

    def extra_repr(self) -> str:
        return f"p={self.p}, eps={self.eps}, keepdims={self.keepdims}"
