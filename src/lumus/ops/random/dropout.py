"""dropout: elements zeroed at random, the rest scaled up."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import check_tensors, real
from lumus.core.constant import constant
from lumus.core.dispatch import apply
from lumus.core.kinds import Bool, Float
from lumus.core.op import ElementwiseOp, Needs, Specs, kind_error, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError
from lumus.ops.random.generator import Generator
from lumus.ops.random.sample import bernoulli


@record
class DropoutRecord(Record):
    """d dropout(x) / dx = grad * scale where an element was kept, else 0."""

    kept: Saved[Bool]
    scale: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (apply("dropout", grad, self.kept.tensor(), self.scale.tensor()), None, None)


@register
class Dropout(ElementwiseOp):
    """Of (x, kept, scale): a selection, so that a dropped infinity is 0 and not NaN."""

    name = "dropout"
    scalar = expression(lambda x, kept, scale: scalar.where(kept, x * scale, 0.0))

    def infer(self, specs: Specs, attrs: None) -> Spec:
        return specs[0]

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return DropoutRecord(Saved(inputs[1]), Saved(inputs[2]))


def dropout(
    x: Tensor[Float],
    probability: float = 0.5,
    *,
    training: bool = True,
    generator: Generator | None = None,
) -> Tensor[Float]:
    """Zeroes each element with the given probability and divides the rest by ``1 - probability``.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float.
    **Gradient.** ``grad / (1 - probability)`` where an element was kept, else 0; with
    ``training=False`` or probability 0 the result is `x` itself.
    **Raises.** KindError for Int and Bool, ArgumentError for a probability outside [0, 1].

    Source: Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting",
    JMLR 15, 2014.

    >>> import lumus as lm
    >>> lm.nn.functional.dropout(lm.tensor([1.0, 2.0]), 1.0).tolist()
    [0.0, 0.0]
    """
    check_tensors("dropout", x)
    probability = real("dropout", "the probability", probability)
    if x.dtype.kind != "float":
        raise kind_error("dropout", x.dtype, ("float",))
    if not 0 <= probability <= 1:
        raise ArgumentError(f"dropout: the probability must be in [0, 1], got {probability}")
    if not training or probability == 0:
        return x
    kept = bernoulli(x.shape, 1 - probability, device=x.device, generator=generator)
    scale = constant(
        1.0 if probability == 1 else 1 / (1 - probability), x.dtype, x.device, "dropout"
    )
    return apply("dropout", x, kept, scale)
