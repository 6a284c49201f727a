"""LocalResponseNorm: each element over a power of the squares of its neighbouring channels."""

from __future__ import annotations

from lumus.core.argument import finite
from lumus.core.broadcast import integer
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError
from lumus.nn.module import Module
from lumus.ops.norm.local_response_norm import local_response_norm


class LocalResponseNorm(Module):
    """`lumus.nn.functional.local_response_norm` over `size` neighbouring channels.

    **Shapes.** (N, C, ...); the result has the shape of `x`.
    **Raises.** ArgumentError for a size that is not positive or numbers that are not finite,
    ShapeError for fewer than two axes.

    >>> import lumus as lm
    >>> lm.nn.LocalResponseNorm(5)(lm.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    def __init__(
        self, size: int, *, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
    ) -> None:
        self.size = integer("LocalResponseNorm", "size", size)
        if self.size < 1:
            raise ArgumentError(f"LocalResponseNorm: size must be positive, got {size}")
        self.alpha = finite("LocalResponseNorm", "alpha", alpha)
        self.beta = finite("LocalResponseNorm", "beta", beta)
        self.k = finite("LocalResponseNorm", "k", k)

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return local_response_norm(x, self.size, alpha=self.alpha, beta=self.beta, k=self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
