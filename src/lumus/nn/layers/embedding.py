"""Embedding: a table of vectors, looked up by number."""

from __future__ import annotations

from typing import Self

from lumus.autograd.modes import no_grad
from lumus.core.argument import check_tensors, flag
from lumus.core.broadcast import integer
from lumus.core.dtypes import DType, float32
from lumus.core.kinds import Float, Int
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, KindError, ShapeError
from lumus.nn.init import normal
from lumus.nn.module import Module, Parameter
from lumus.ops.embedding.embedding import embedding, row_number
from lumus.ops.random.generator import Generator


class Embedding(Module):
    """`lumus.nn.functional.embedding` with a table of its own: row i for number i.

    **Shapes.** Int (...) gives (..., embedding_dim).
    **Parameters.** `weight` (num_embeddings, embedding_dim), normal with mean 0 and deviation 1 at
    first; the row `padding_idx`, which gets no gradient, is 0.
    **Raises.** ArgumentError for sizes that are not positive or a `padding_idx` that is no row,
    IndexRangeError for a number that is no row.

    >>> import lumus as lm
    >>> lm.nn.Embedding(10, 3)(lm.tensor([[1, 2, 9]])).shape
    (1, 3, 3)
    """

    weight: Tensor[Float]

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        *,
        scale_grad_by_freq: bool = False,
        dtype: DType[Float] = float32,
        generator: Generator | None = None,
    ) -> None:
        shape = table_shape("Embedding", num_embeddings, embedding_dim)
        self._set_options(shape[0], padding_idx, scale_grad_by_freq)
        self.weight = random_table(shape, self.padding_idx, dtype, generator)

    @classmethod
    def from_pretrained(
        cls,
        weight: Tensor[Float],
        *,
        freeze: bool = True,
        padding_idx: int | None = None,
        scale_grad_by_freq: bool = False,
    ) -> Self:
        """A layer on the memory of `weight`, which is trained unless it is to `freeze`.

        A frozen weight is a buffer: saved with the model, not among its parameters.
        """
        layer = cls.__new__(cls)
        layer.weight = given_table("Embedding", weight, freeze)
        layer._set_options(weight.shape[0], padding_idx, scale_grad_by_freq)
        return layer

    def _set_options(
        self, num_rows: int, padding_idx: int | None, scale_grad_by_freq: bool
    ) -> None:
        self.padding_idx = None
        if padding_idx is not None:
            self.padding_idx = row_number("Embedding", padding_idx, num_rows)
        self.scale_grad_by_freq = flag("Embedding", "scale_grad_by_freq", scale_grad_by_freq)

    def forward(self, ids: Tensor[Int]) -> Tensor[Float]:
        return embedding(
            ids,
            self.weight,
            padding_idx=self.padding_idx,
            scale_grad_by_freq=self.scale_grad_by_freq,
        )

    def extra_repr(self) -> str:
        num_rows, width = self.weight.shape
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{num_rows}, {width}{padding}"


def table_shape(layer: str, num_embeddings: int, embedding_dim: int) -> tuple[int, int]:
    """The sizes of a table; raises ArgumentError unless they are positive."""
    num_rows = integer(layer, "num_embeddings", num_embeddings)
    width = integer(layer, "embedding_dim", embedding_dim)
    if num_rows <= 0 or width <= 0:
        raise ArgumentError(f"{layer}: sizes must be positive, got {num_rows} and {width}")
    return num_rows, width


def random_table(
    shape: tuple[int, int],
    padding_idx: int | None,
    dtype: DType[Float],
    generator: Generator | None,
) -> Parameter:
    """A table as it is at first: normal, the row of the padding 0."""
    weight = Parameter(normal(shape, 1.0, dtype=dtype, generator=generator))
    if padding_idx is not None:
        with no_grad():
            weight[padding_idx] = 0.0
    return weight


def given_table(layer: str, weight: Tensor[Float], freeze: bool) -> Tensor[Float]:
    """A layer's table on the memory of `weight`: a buffer if frozen, else a parameter."""
    check_tensors(layer, weight)
    if weight.dtype.kind != "float":
        raise KindError(f"{layer}: needs a Float weight, got {weight.spec!r}")
    if weight.ndim != 2:
        raise ShapeError(f"{layer}: weight must be (rows, width), got shape {weight.shape}")
    return weight.detach() if flag(layer, "freeze", freeze) else Parameter(weight)
