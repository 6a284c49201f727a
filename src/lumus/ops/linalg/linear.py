"""linear: the product of rows with a matrix of weights, as layers keep it: one row an output."""

from __future__ import annotations

import math
from typing import Any

from lumus.core.dispatch import apply
from lumus.core.dtypes import promote
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.product import MatMul
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, kind_error, register
from lumus.core.record import Record, Saved, record
from lumus.core.spec import Spec, spec_of
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError


@record
class LinearRecord(Record):
    """d (x @ weight.T + bias) = (grad @ weight, grad.T @ x, grad), the latter over all rows."""

    x: Saved[Float] | None
    weight: Saved[Float] | None
    specs: Specs
    needs: Needs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        grads: list[Tensor[Float] | None] = [None] * len(self.specs)
        if self.weight is not None:
            grads[0] = grad @ self.weight.tensor()
        out_features, in_features = self.specs[1].shape
        rows = math.prod(self.specs[0].shape[:-1])
        flat = grad.reshape((rows, out_features))
        if self.x is not None:
            # The gradient of weights comes out in their own layout: nothing is transposed.
            grads[1] = flat.T @ self.x.tensor().reshape((rows, in_features))
        if self.needs[2:] == (True,):
            grads[2] = apply("sum", flat, axes=(0,), keepdims=False)
        return tuple(
            [
                one if one is None else one.astype(spec.dtype)
                for one, spec in zip(grads, self.specs, strict=True)
            ]
        )


@register
class Linear(Op):
    """Of (x, weight) or (x, weight, bias): nothing transposed is recorded, and one pass made."""

    name = "linear"

    def infer(self, specs: Specs, attrs: None) -> Spec:
        x, weight = specs[:2]
        dtype = x.dtype
        for other in specs[1:]:
            dtype = promote(dtype, other.dtype, "linear")
        if dtype.kind != "float":
            raise kind_error("linear", dtype, ("float",))
        if weight.ndim != 2 or x.ndim == 0 or x.shape[-1] != weight.shape[1]:
            raise ShapeError(
                f"linear: shapes {x.shape} and {weight.shape} do not fit: x is (..., in_features), "
                "weight (out_features, in_features)",
                op="linear",
                specs=specs,
            )
        if len(specs) == 3 and specs[2].shape != weight.shape[:1]:
            raise ShapeError(
                f"linear: a bias of shape {specs[2].shape} does not fit a weight of shape "
                f"{weight.shape}: it has one number for each of its rows",
                op="linear",
                specs=specs,
            )
        return spec_of((*x.shape[:-1], weight.shape[0]), dtype, x.device)

    def kernel(self, specs: Specs, attrs: None) -> Kernel:
        return MatMul(transposed=True, bias=len(specs) == 3)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return LinearRecord(
            Saved(inputs[0]) if needs[1] else None,
            Saved(inputs[1]) if needs[0] else None,
            tuple([one.spec for one in inputs]),
            needs,
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
    if bias is None:
        return apply("linear", x, weight)
    return apply("linear", x, weight, bias)
