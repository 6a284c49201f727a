"""CosineSimilarity: the cosine of the angle between vectors."""

from __future__ import annotations

from lumus.core.argument import finite
from lumus.core.broadcast import integer
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module
from lumus.ops.linalg.cosine_similarity import cosine_similarity


class CosineSimilarity(Module):
    """`lumus.nn.functional.cosine_similarity` as a layer, along `axis`.

    **Shapes.** Two inputs, broadcast together; `axis` is removed.
    **Raises.** ArgumentError for an axis that is no integer or an `eps` that is no number.

    >>> import lumus as lm
    >>> lm.nn.CosineSimilarity()(lm.tensor([[3.0, 4.0]]), lm.tensor([[4.0, -3.0]])).tolist()
    [0.0]
    """

    axis: int
    eps: float

    def __init__(self, axis: int = 1, eps: float = 1e-8) -> None:
        self.axis = integer("CosineSimilarity", "axis", axis)
        self.eps = finite("CosineSimilarity", "eps", eps)

    def forward(self, x: Tensor[Float], y: Tensor[Float]) -> Tensor[Float]:
        return cosine_similarity(x, y, self.axis, self.eps)

    def extra_repr(self) -> str:
        return f"axis={self.axis}, eps={self.eps}"
