"""EmbeddingBag: sums, means or maxima of rows of a table, by bags."""

from __future__ import annotations

from typing import Self

from lumus.core.argument import check_tensors, choice, flag
from lumus.core.dtypes import DType, float32
from lumus.core.kinds import Float, Int
from lumus.core.mode import MODE
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError
from lumus.nn.layers.embedding import given_table, random_table, table_shape
from lumus.nn.module import Module
from lumus.ops.embedding.embedding import row_number
from lumus.ops.embedding.embedding_bag import BagMode, embedding_bag
from lumus.ops.interop.checked import checked
from lumus.ops.random.generator import Generator


class EmbeddingBag(Module):
    """`lumus.nn.functional.embedding_bag` with a table of its own.

    **Shapes.** Int (bags, n), or (n,) with `offsets` (bags,), gives (bags, embedding_dim); with
    `include_last_offset` one offset more says where the last bag ends.
    **Parameters.** `weight` (num_embeddings, embedding_dim), normal with mean 0 and deviation 1 at
    first; the row `padding_idx`, which does not count, is 0.
    **Raises.** ArgumentError for sizes that are not positive or another mode, IndexRangeError for a
    number that is no row.

    >>> import lumus as lm
    >>> lm.nn.EmbeddingBag(10, 3)(lm.tensor([[1, 2, 9], [0, 0, 4]])).shape
    (2, 3)
    """

    weight: Tensor[Float]

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        *,
        mode: BagMode = "mean",
        padding_idx: int | None = None,
        scale_grad_by_freq: bool = False,
        include_last_offset: bool = False,
        dtype: DType[Float] = float32,
        generator: Generator | None = None,
    ) -> None:
        shape = table_shape("EmbeddingBag", num_embeddings, embedding_dim)
        self._set_options(shape[0], mode, padding_idx, scale_grad_by_freq, include_last_offset)
        self.weight = random_table(shape, self.padding_idx, dtype, generator)

    @classmethod
    def from_pretrained(
        cls,
        weight: Tensor[Float],
        *,
        freeze: bool = True,
        mode: BagMode = "mean",
        padding_idx: int | None = None,
        scale_grad_by_freq: bool = False,
        include_last_offset: bool = False,
    ) -> Self:
        """A layer on the memory of `weight`, which is trained unless it is to `freeze`.

        A frozen weight is a buffer: saved with the model, not among its parameters.
        """
        layer = cls.__new__(cls)
        layer.weight = given_table("EmbeddingBag", weight, freeze)
        layer._set_options(
            weight.shape[0], mode, padding_idx, scale_grad_by_freq, include_last_offset
        )
        return layer

    def _set_options(
        self,
        num_rows: int,
        mode: BagMode,
        padding_idx: int | None,
        scale_grad_by_freq: bool,
        include_last_offset: bool,
    ) -> None:
        choice("EmbeddingBag", "mode", mode, ("sum", "mean", "max"))
        self.mode: BagMode = mode
        self.scale_grad_by_freq = flag("EmbeddingBag", "scale_grad_by_freq", scale_grad_by_freq)
        self.include_last_offset = flag("EmbeddingBag", "include_last_offset", include_last_offset)
        self.padding_idx = None
        if padding_idx is not None:
            self.padding_idx = row_number("EmbeddingBag", padding_idx, num_rows)

    def forward(
        self,
        ids: Tensor[Int],
        offsets: Tensor[Int] | None = None,
        per_sample_weights: Tensor[Float] | None = None,
    ) -> Tensor[Float]:
        if offsets is not None and self.include_last_offset:
            check_tensors("EmbeddingBag", ids, offsets)
            offsets = _without_last(offsets, ids.size)
        return embedding_bag(
            ids,
            self.weight,
            offsets,
            mode=self.mode,
            per_sample_weights=per_sample_weights,
            padding_idx=self.padding_idx,
            scale_grad_by_freq=self.scale_grad_by_freq,
        )

    def extra_repr(self) -> str:
        num_rows, width = self.weight.shape
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{num_rows}, {width}, mode={self.mode!r}{padding}"


def _without_last(offsets: Tensor[Int], count: int) -> Tensor[Int]:
    """The offsets but for the last, which must be `count`."""
    told = f"EmbeddingBag: the last offset must be the number of ids, {count}"
    if offsets.ndim != 1 or not offsets.size:
        raise ShapeError(told)
    fits = offsets[-1:] == count
    if not MODE.get().has_values:
        return checked(offsets, fits, ShapeError, told)[:-1]
    if not fits.item():
        raise ShapeError(told)
    return offsets[:-1]
