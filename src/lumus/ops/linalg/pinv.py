"""pinv: the pseudo-inverse of matrices."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import check_tensors, finite
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.linalg import PseudoInverse
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError
from lumus.ops.linalg.degenerate import EPSILON
from lumus.ops.linalg.matrices import check_matrices


@frozen
class PinvAttrs:
    """Singular values up to `rtol` times the largest count as 0."""

    rtol: float


@record
class PinvRecord(Record):
    """d pinv(x) / dx = -y.T g y.T + (1 - x y) g.T y y.T + y.T y g.T (1 - y x), y the result."""

    x: Saved[Float]
    y: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        x, y = self.x.tensor(), self.y.tensor()
        rows = grad.mT @ (y @ y.mT)
        columns = (y.mT @ y) @ grad.mT
        total = -(y.mT @ grad @ y.mT) + (rows - x @ (y @ rows)) + (columns - (columns @ y) @ x)
        return (total,)


@register
class Pinv(Op):
    name = "pinv"
    attrs = PinvAttrs

    def infer(self, specs: Specs, attrs: PinvAttrs) -> Spec:
        (spec,) = specs
        check_matrices("pinv", spec)
        return spec.with_shape((*spec.shape[:-2], spec.shape[-1], spec.shape[-2]))

    def kernel(self, specs: Specs, attrs: PinvAttrs) -> Kernel:
        return PseudoInverse(attrs.rtol)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: PinvAttrs, needs: Needs
    ) -> Record:
        return PinvRecord(Saved(inputs[0]), saved_output(output))


def relative_tolerance(op: str, x: Tensor[Any], rtol: float | None) -> float:
    """What is given, or as many roundings as the matrix has rows or columns."""
    if rtol is None:
        return float(max(x.shape[-2:])) * EPSILON[x.dtype.name]
    value = finite(op, "rtol", rtol)
    if value < 0:
        raise ArgumentError(f"{op}: rtol cannot be negative, got {value}", op=op)
    return value


def pinv(x: Tensor[Float], *, rtol: float | None = None) -> Tensor[Float]:
    """The pseudo-inverse y of each matrix: ``x y x = x``, ``y x y = y``, both products symmetric.

    From the singular values, of which those up to `rtol` times the largest count as 0.

    **Shapes.** (..., n, m) give (..., m, n). `rtol` is the larger of n and m times the dtype's
    rounding, if it is not given.
    **Kinds.** float32 or float64.
    **Gradient.** ``-y.T g y.T + (1 - x y) g.T y y.T + y.T y g.T (1 - y x)``, for changes that keep
    the rank: others make the pseudo-inverse jump. (G. H. Golub and V. Pereyra, The differentiation
    of pseudo-inverses, 1973.)
    **Raises.** MatrixError for a matrix that is not finite, with its place in the batch; ShapeError
    for fewer than two axes, ArgumentError for a negative `rtol`, DTypeError for half types,
    KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.linalg.pinv(lm.tensor([[2.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.0]]
    """
    check_tensors("pinv", x)
    check_matrices("pinv", x.spec)
    return apply("pinv", x, rtol=relative_tolerance("pinv", x, rtol))
