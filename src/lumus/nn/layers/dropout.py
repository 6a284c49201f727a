"""Dropout: elements zeroed at random in training."""

from __future__ import annotations

from lumus.core.argument import real
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError
from lumus.nn.module import Module
from lumus.ops.random.dropout import dropout
from lumus.ops.random.generator import Generator


class Dropout(Module):
    """`lumus.nn.functional.dropout` in training mode, the identity in evaluation mode.

    **Shapes.** Any; the result has the shape of `x`.
    **Raises.** ArgumentError for a probability outside [0, 1].

    >>> import lumus as lm
    >>> lm.nn.Dropout(0.5).eval()(lm.ones((2,))).tolist()
    [1.0, 1.0]
    """

    probability: float

    def __init__(self, probability: float = 0.5, *, generator: Generator | None = None) -> None:
        probability = real("Dropout", "the probability", probability)
        if not 0 <= probability <= 1:
            raise ArgumentError(f"Dropout: the probability must be in [0, 1], got {probability}")
        self.probability = probability
        self.generator = generator

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return dropout(x, self.probability, training=self.training, generator=self.generator)

    def extra_repr(self) -> str:
        return f"{self.probability}"
