"""linear: the product of rows with a matrix of weights, as layers keep it: one row an output."""

from __future__ import annotations

import math
from typing import Any

from lumus.core.argument import check_tensors
from lumus.core.dispatch import apply
from lumus.core.dtypes import promote
from lumus.core.kernels import Kernel, MatMul
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, kind_error, register
from lumus.core.record import Record, Saved, record
from lumus.core.spec import Spec, spec_of
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError


@record
class LinearRecord(Record):
    """d (x @ weight.T) = (grad @ weight, grad.T @ x over all rows)."""

    x: Saved[Float] | None
    weight: Saved[Float] | None
    x_spec: Spec
    weight_spec: Spec

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        grad_x = grad_weight = None
        if self.weight is not None:
            grad_x = (grad @ self.weight.tensor()).astype(self.x_spec.dtype)
        if self.x is not None:
            out_features, in_features = self.weight_spec.shape
            rows = math.prod(self.x_spec.shape[:-1])
            x = self.x.tensor().reshape(rows, in_features)
            # The gradient of weights comes out in their own layout: nothing is transposed.
            grad_weight = grad.reshape(rows, out_features).T @ x
            grad_weight = grad_weight.astype(self.weight_spec.dtype)
        return (grad_x, grad_weight)


@register
class Linear(Op):
    """Of (x, weight): x @ weight.T, without a transposed view to record."""

    name = "linear"

    def infer(self, specs: Specs, attrs: None) -> Spec:
        x, weight = specs
        dtype = promote(x.dtype, weight.dtype, "linear")
        if dtype.kind != "float":
            raise kind_error("linear", dtype, ("float",))
        if weight.ndim != 2 or x.ndim == 0 or x.shape[-1] != weight.shape[1]:
            raise ShapeError(
                f"linear: shapes {x.shape} and {weight.shape} do not fit: x is (..., in_features), "
                "weight (out_features, in_features)",
                op="linear",
                specs=specs,
            )
        return spec_of((*x.shape[:-1], weight.shape[0]), dtype, x.device)

    def kernel(self, specs: Specs, attrs: None) -> Kernel:
        return MatMul(transposed=True)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        x, weight = inputs
        return LinearRecord(
            Saved(x) if needs[1] else None,
            Saved(weight) if needs[0] else None,
            x.spec,
            weight.spec,
        )


def linear(
    x: Tensor[Float], weight: Tensor[Float], bias: Tensor[Float] | None = None
) -> Tensor[Float]:
    """The affine map of the last axis: ``x @ weight.T + bias``.

    **Shapes.** `x` (..., in_features), `weight` (out_features, in_features), `bias` (out_features,)
    give (..., out_features).
    **Kinds.** Float; dtypes promote.
    **Gradient.** ``grad @ weight`` for x, ``grad.T @ x`` over all rows for weight, `grad` summed
    over all rows for bias.
    **Raises.** ShapeError for shapes that do not fit, KindError for Int and Bool.

    >>> import lumus as lm
    >>> x, weight = lm.tensor([[1.0, 2.0]]), lm.tensor([[3.0, 4.0]])
    >>> lm.nn.functional.linear(x, weight, lm.tensor([0.5])).tolist()
    [[11.5]]
    """
    check_tensors("linear", x, weight)
    y = apply("linear", x, weight)
    return y if bias is None else y + bias
