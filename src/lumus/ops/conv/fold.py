"""fold: columns of windows added up to a picture (col2im), what unfold is transposed to."""

from __future__ import annotations

import math
from typing import Any

from lumus.core.argument import check_tensors
from lumus.core.kernels.convolution import Col2im as Col2imKernel
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, kind_error, register
from lumus.core.record import Record, record
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError
from lumus.ops.conv.geometry import Sizes, numbers
from lumus.ops.conv.unfold import ColumnAttrs, run, windows


@record
class Col2imRecord(Record):
    """d fold(x) = unfold(grad)."""

    attrs: ColumnAttrs
    by_signature = True

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (run("im2col", self.attrs, grad),)


@register
class Col2im(Op):
    """Of (n, c * taps, positions): (n, c, height, width)."""

    name = "col2im"
    attrs = ColumnAttrs

    def infer(self, specs: Specs, attrs: ColumnAttrs) -> Spec:
        if specs[0].dtype.kind != "float":
            raise kind_error("fold", specs[0].dtype, ("float",))
        batch, rows, _ = specs[0].shape
        return specs[0].with_shape((batch, rows // math.prod(attrs.taps), *attrs.size))

    def kernel(self, specs: Specs, attrs: ColumnAttrs) -> Kernel:
        return Col2imKernel(
            attrs.taps, attrs.stride, attrs.padding, attrs.dilation, attrs.positions, attrs.size
        )

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: ColumnAttrs, needs: Needs
    ) -> Record:
        return Col2imRecord(attrs)


def fold(
    x: Tensor[Float],
    output_size: Sizes,
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    stride: Sizes = 1,
) -> Tensor[Float]:
    """The picture of `output_size` whose windows' columns x holds, each added where it lies.

    Elements that several windows see are sums: ``fold(unfold(x))`` is x times how many see it.

    **Shapes.** `x` ([batch,] channels * kernel_height * kernel_width, windows) gives ([batch,]
    channels, *output_size).
    **Kinds.** Float; half types add up in float32 and round once.
    **Gradient.** `unfold` of grad.
    **Raises.** ShapeError for an x that has not as many rows and columns as the windows ask for,
    ArgumentError for numbers out of range, KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.nn.functional.fold(lm.ones((4, 2)), (2, 3), (2, 2)).tolist()
    [[[1.0, 2.0, 1.0], [1.0, 2.0, 1.0]]]
    """
    check_tensors("fold", x)
    size = numbers("fold", "output_size", output_size, 2, 1)
    attrs = windows("fold", size, kernel_size, dilation, padding, stride)
    taps, places = math.prod(attrs.taps), math.prod(attrs.positions)
    if x.ndim not in (2, 3) or x.shape[-2] % taps or x.shape[-1] != places:
        raise ShapeError(
            f"fold: needs x of shape ([batch,] channels * {taps}, {places}) for {taps} taps and "
            f"{attrs.positions} windows on a picture of {size}, got {x.shape}",
            op="fold",
        )
    batched = x if x.ndim == 3 else x.expand_dims(0)
    y = run("col2im", attrs, batched)
    return y if batched is x else y.squeeze(0)
