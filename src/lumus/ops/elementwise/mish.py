"""mish: each element times the hyperbolic tangent of its softplus."""

from __future__ import annotations

from typing import Any

from lumus.core.dispatch import apply
from lumus.core.kinds import Float
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor
from lumus.ops.elementwise.map import fused

# With e = exp(x) and n = e * (e + 2): tanh(log(1 + e)) = n / (n + 2), where nothing cancels.
# Beyond 20 it is 1 to the last bit, and e would overflow; at -inf the product would be NaN.


def _inside(x: Any, value: Any, above: Any) -> Any:
    return scalar.where(x > 20, above, scalar.where(x < -1e3, 0.0, value))


def _gate(x: Any) -> Any:
    e = scalar.exp(x)
    n = e * (e + 2)
    return n / (n + 2)


def _slope(x: Any) -> Any:
    e = scalar.exp(x)
    n = e * (e + 2)
    return n / (n + 2) + x * (4 * e * (1 + e)) / scalar.square(n + 2)


_GRAD = expression(lambda grad, x: grad * _inside(x, _slope(x), 1.0))


@record
class MishRecord(Record):
    """d mish(x) / dx = grad * (t + x * (1 - t**2) * sigmoid(x)), with t = tanh(softplus(x))."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class Mish(ElementwiseOp):
    name = "mish"
    scalar = expression(lambda x: _inside(x, x * _gate(x), x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return MishRecord(Saved(inputs[0]))


def mish(x: Tensor[Float]) -> Tensor[Float]:
    """Each element times the hyperbolic tangent of its softplus: ``x * tanh(log(1 + e**x))``; 0 at
    -inf.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``t + x * (1 - t**2) * sigmoid(x)`` with ``t = tanh(softplus(x))``; 0 at -inf, 1
    at inf.
    **Raises.** KindError for Int and Bool.

    Source: Misra, "Mish: A Self Regularized Non-Monotonic Activation Function", BMVC 2020.

    >>> import lumus as lm
    >>> lm.mish(lm.tensor([0.0, 100.0])).tolist()
    [0.0, 100.0]
    """
    return apply("mish", x)
