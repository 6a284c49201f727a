"""embedding: the rows of a table with the numbers given."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import check_tensors, flag
from lumus.core.broadcast import integer
from lumus.core.dispatch import apply
from lumus.core.dtypes import int64
from lumus.core.frozen import frozen
from lumus.core.kernels.embedding import Embedding as EmbeddingKernel
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Float, Int
from lumus.core.op import Needs, Op, Specs, kind_error, register
from lumus.core.record import Record, Saved, record
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, IndexRangeError, ShapeError


@frozen
class EmbeddingAttrs:
    """What matters to the gradient: the row that has none (-1: all have), sums or averages."""

    skipped: int
    averages: bool


@record
class EmbeddingRecord(Record):
    """d weight[ids] / d weight = the rows of grad summed by number (or averaged); 0 for one."""

    ids: Saved[Int]
    num_rows: int
    attrs: EmbeddingAttrs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        table = apply(
            "embedding_grad",
            grad,
            self.ids.tensor(),
            num_rows=self.num_rows,
            skipped=self.attrs.skipped,
            averages=self.attrs.averages,
        )
        return (None, table)


@register
class Embedding(Op):
    """Of (ids, weight)."""

    name = "embedding"
    attrs = EmbeddingAttrs

    def infer(self, specs: Specs, attrs: EmbeddingAttrs) -> Spec:
        ids, weight = specs
        if ids.dtype.kind != "int":
            raise kind_error("embedding", ids.dtype, ("int",), what="numbers of rows")
        if weight.dtype.kind != "float":
            raise kind_error("embedding", weight.dtype, ("float",), what="a weight")
        if weight.ndim != 2:
            raise ShapeError(
                f"embedding: weight must be (rows, width), got shape {weight.shape}",
                op="embedding",
                specs=specs,
            )
        return weight.with_shape((*ids.shape, weight.shape[1]))

    def index_error(self, error: IndexRangeError) -> IndexRangeError:
        return no_such_number(self.name, "row", error)

    def kernel(self, specs: Specs, attrs: EmbeddingAttrs) -> Kernel:
        return EmbeddingKernel()

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: EmbeddingAttrs,
        needs: Needs,
    ) -> Record:
        return EmbeddingRecord(Saved(inputs[0]), inputs[1].shape[0], attrs)


def embedding(
    ids: Tensor[Int],
    weight: Tensor[Float],
    *,
    padding_idx: int | None = None,
    scale_grad_by_freq: bool = False,
) -> Tensor[Float]:
    """Row ``ids[...]`` of `weight` for each of `ids`.

    **Shapes.** `ids` of any shape (...), `weight` (rows, width) give (..., width).
    **Kinds.** `ids` are Int, `weight` is Float.
    **Gradient.** For each row of `weight` the sum of `grad` where it was read, in the order of
    `ids` (half types are summed in float32); with `scale_grad_by_freq` their average. The row
    `padding_idx`, which counts from the end when negative, has gradient 0; its value is read as
    any other.
    **Raises.** IndexRangeError, with its position, for a number that is not in [0, rows): they
    name rows, so -1 is none. KindError, ShapeError, ArgumentError for a `padding_idx` that is no
    row.

    >>> import lumus as lm
    >>> table = lm.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> lm.nn.functional.embedding(lm.tensor([1, 1]), table).tolist()
    [[3.0, 4.0], [3.0, 4.0]]
    """
    check_tensors("embedding", ids, weight)
    skipped = -1
    if padding_idx is not None:
        skipped = row_number("embedding", padding_idx, weight.shape[0] if weight.ndim else 0)
    if ids.dtype.kind == "int":
        ids = ids.astype(int64)
    averages = flag("embedding", "scale_grad_by_freq", scale_grad_by_freq)
    return apply("embedding", ids, weight, skipped=skipped, averages=averages)


def row_number(op: str, padding_idx: int, num_rows: int) -> int:
    """The row `padding_idx`, counted from the front."""
    row = integer(op, "padding_idx", padding_idx)
    if not -num_rows <= row < num_rows:
        raise ArgumentError(f"{op}: padding_idx {row} is none of {num_rows} rows", op=op)
    return row % num_rows


def no_such_number(op: str, what: str, error: IndexRangeError) -> IndexRangeError:
    """The error for a number of a row or class that there is not."""
    where = f" at position {list(error.position)}" if error.position else ""
    return IndexRangeError(
        f"{op}: {error.index}{where} is no {what}: there are {error.bound}, from 0 on",
        op=op,
        index=error.index,
        bound=error.bound,
        position=error.position,
    )
