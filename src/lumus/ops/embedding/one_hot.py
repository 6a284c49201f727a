"""one_hot: numbers of classes as vectors with a single 1."""

from __future__ import annotations

from lumus.core.argument import check_tensors
from lumus.core.broadcast import integer
from lumus.core.dispatch import apply
from lumus.core.dtypes import int64
from lumus.core.frozen import frozen
from lumus.core.kernels.embedding import OneHot as OneHotKernel
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Int
from lumus.core.op import Op, Specs, kind_error, register
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.core.values import require_values
from lumus.errors import ArgumentError, IndexRangeError
from lumus.ops.embedding.embedding import no_such_number


@frozen
class OneHotAttrs:
    """How many classes there are."""

    num_classes: int


@register
class OneHot(Op):
    name = "one_hot"
    attrs = OneHotAttrs
    differentiable = False
    reason = "its result is Int"

    def infer(self, specs: Specs, attrs: OneHotAttrs) -> Spec:
        (ids,) = specs
        if ids.dtype.kind != "int":
            raise kind_error("one_hot", ids.dtype, ("int",), what="numbers of classes")
        if attrs.num_classes < 0:
            raise ArgumentError(
                f"one_hot: num_classes cannot be negative, got {attrs.num_classes}", op="one_hot"
            )
        return ids.with_shape((*ids.shape, attrs.num_classes)).with_dtype(int64)

    def index_error(self, error: IndexRangeError) -> IndexRangeError:
        return no_such_number(self.name, "class", error)

    def kernel(self, specs: Specs, attrs: OneHotAttrs) -> Kernel:
        return OneHotKernel(attrs.num_classes)


def one_hot(ids: Tensor[Int], num_classes: int | None = None) -> Tensor[Int]:
    """Vectors of `num_classes` elements: 1 at the number given, 0 beside it.

    **Shapes.** (...) gives (..., num_classes); without `num_classes` the largest number plus one.
    **Kinds.** Int gives int64: ``.astype(lumus.float32)`` makes Float of it.
    **Gradient.** None: the result is Int.
    **Raises.** IndexRangeError, with its position, for a number that is not in [0, num_classes),
    KindError for Float and Bool, ArgumentError for a negative `num_classes`, or none for no
    numbers.

    >>> import lumus as lm
    >>> lm.nn.functional.one_hot(lm.tensor([2, 0])).tolist()
    [[0, 0, 1], [1, 0, 0]]
    """
    check_tensors("one_hot", ids)
    if ids.dtype.kind == "int":
        ids = ids.astype(int64)
    if num_classes is not None:
        num_classes = integer("one_hot", "num_classes", num_classes)
    elif ids.size == 0:
        raise ArgumentError("one_hot: num_classes must be given where there are no numbers")
    else:
        require_values("one_hot", "the number of classes", "give num_classes")
        num_classes = max(0, int(ids.max().item())) + 1
    return apply("one_hot", ids, num_classes=num_classes)
