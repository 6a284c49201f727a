"""det: the determinant; its gradient, the cofactors, is right for singular matrices, too."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import check_tensors
from lumus.core.dispatch import apply
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.linalg import Cofactor as CofactorKernel
from lumus.core.kernels.linalg import CofactorTangent as CofactorTangentKernel
from lumus.core.kernels.linalg import Determinant
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, Saved, record
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.ops.linalg.inv import inv
from lumus.ops.linalg.matrices import check_matrices


@record
class DetRecord(Record):
    """d det(x) / dx = grad * cofactor(x)."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (grad.reshape((*grad.shape, 1, 1)) * apply("cofactor", self.x.tensor()),)


@register
class Det(Op):
    name = "det"

    def infer(self, specs: Specs, attrs: None) -> Spec:
        check_matrices("det", specs[0], square=True)
        return specs[0].with_shape(specs[0].shape[:-2])

    def kernel(self, specs: Specs, attrs: None) -> Kernel:
        return Determinant()

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return DetRecord(Saved(inputs[0]))


@record
class CofactorRecord(Record):
    """d cofactor(x) / dx = its tangent along grad, since the second derivative is symmetric."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (apply("cofactor_tangent", self.x.tensor(), grad),)


@register
class Cofactor(Op):
    """The matrix of cofactors, ``det(x) * inv(x).mT`` where that exists."""

    name = "cofactor"

    def infer(self, specs: Specs, attrs: None) -> Spec:
        return specs[0]

    def kernel(self, specs: Specs, attrs: None) -> Kernel:
        return CofactorKernel()

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return CofactorRecord(Saved(inputs[0]))


@record
class CofactorTangentRecord(Record):
    """d cofactor_tangent(x, g): by g its tangent along grad; by x the third derivative of det."""

    x: Saved[Float]
    direction: Saved[Float]
    needs: Needs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        x, direction = self.x.tensor(), self.direction.tensor()
        by_x = _third_derivative(x, direction, grad) if self.needs[0] else None
        by_direction = apply("cofactor_tangent", x, grad) if self.needs[1] else None
        return (by_x, by_direction)


@register
class CofactorTangent(Op):
    """Of (x, direction): how the cofactors of x change along a direction."""

    name = "cofactor_tangent"

    def infer(self, specs: Specs, attrs: None) -> Spec:
        return specs[0]

    def kernel(self, specs: Specs, attrs: None) -> Kernel:
        return CofactorTangentKernel()

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return CofactorTangentRecord(Saved(inputs[0]), Saved(inputs[1]), needs)


def _third_derivative(x: Tensor[Float], g: Tensor[Float], h: Tensor[Float]) -> Tensor[Float]:
    """The derivative by x of det's second derivative along g and h.

    That is ``det(x) * (tr(y g) tr(y h) - tr(y g y h))`` with y the inverse, which must exist.
    """
    y = inv(x)
    along_g, along_h = y @ g, y @ h
    by_g, by_h = _traces(along_g), _traces(along_h)
    mixed = _traces(along_g @ along_h)
    change = (by_g * by_h - mixed) * y - by_h * (along_g @ y) - by_g * (along_h @ y)
    change = change + along_g @ along_h @ y + along_h @ along_g @ y
    return (det(x).reshape((*x.shape[:-2], 1, 1)) * change).mT


def _traces(x: Tensor[Float]) -> Tensor[Float]:
    return x.trace().reshape((*x.shape[:-2], 1, 1))


def det(x: Tensor[Float]) -> Tensor[Float]:
    """The determinant of each matrix, by LU decomposition. Of large matrices use `slogdet`.

    **Shapes.** (..., n, n) give (...); of a matrix without elements it is 1.
    **Kinds.** float32 or float64.
    **Gradient.** `grad` times the cofactors, which are computed from the singular values: right for
    singular matrices, too, as is the second derivative. The third takes the inverse.
    **Raises.** MatrixError for a matrix that is not finite, with its place in the batch; ShapeError
    for matrices that are not square, DTypeError for half types, KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.linalg.det(lm.tensor([[2.0, 0.0], [0.0, 4.0]])).item()
    8.0
    """
    check_tensors("det", x)
    return apply("det", x)
