"""affine: each element times a factor, plus a term, in one pass."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.argument import check_tensors
from lumus.core.dispatch import apply
from lumus.core.kinds import Float, Int
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar.expressions import expression
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor, require_operand
from lumus.ops.broadcasting import sum_to


@record
class AffineRecord(Record):
    """d (x * mul + add) = (grad * mul, grad * x, grad), each summed over broadcast axes."""

    x: Saved[Float] | None
    mul: Saved[Float] | None
    specs: tuple[Spec, Spec, Spec]
    needs: Needs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        x_spec, mul_spec, add_spec = self.specs
        return (
            None if self.mul is None else sum_to(grad * self.mul.tensor(), x_spec),
            None if self.x is None else sum_to(grad * self.x.tensor(), mul_spec),
            sum_to(grad, add_spec) if self.needs[2] else None,
        )


@register
class Affine(ElementwiseOp):
    name = "affine"
    kinds = ("float", "int")
    scalar = expression(lambda x, mul, add: x * mul + add)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        x, mul, add = inputs
        return AffineRecord(
            Saved(x) if needs[1] else None,
            Saved(mul) if needs[0] else None,
            (x.spec, mul.spec, add.spec),
            needs,
        )


@overload
def affine(
    x: Tensor[Float], mul: Tensor[Float] | float, add: Tensor[Float] | float
) -> Tensor[Float]: ...
@overload
def affine(x: Tensor[Int], mul: Tensor[Int] | int, add: Tensor[Int] | int) -> Tensor[Int]: ...
def affine(x: Any, mul: Any, add: Any) -> Any:
    """``x * mul + add`` in one pass over memory; both steps round, as they do one by one.

    **Shapes.** Broadcast together; `mul` and `add` may be numbers.
    **Kinds.** Float or Int, all the same; dtypes promote within the kind; ints wrap.
    **Gradient.** ``grad * mul`` for x, ``grad * x`` for `mul`, ``grad`` for `add`.
    **Raises.** KindError for Bool or mixed kinds, ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> lm.affine(lm.tensor([1.0, 2.0]), 3.0, 0.5).tolist()
    [3.5, 6.5]
    """
    check_tensors("affine", x)
    factor, term = require_operand(x, mul, "affine"), require_operand(x, add, "affine")
    return apply("affine", x, factor, term)
