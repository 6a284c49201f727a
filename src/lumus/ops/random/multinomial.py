"""multinomial: positions drawn by weight."""

from __future__ import annotations

from lumus.core.argument import check_tensors, flag
from lumus.core.broadcast import integer
from lumus.core.dtypes import float64
from lumus.core.kinds import Float, Int
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError
from lumus.ops.random.draw import check_elements, drawn
from lumus.ops.random.generator import Generator
from lumus.ops.scan.cumsum import cumsum
from lumus.ops.sort.argsort import argsort
from lumus.ops.sort.searchsorted import searchsorted


def multinomial(
    weights: Tensor[Float],
    num_samples: int = 1,
    *,
    replacement: bool = False,
    generator: Generator | None = None,
) -> Tensor[Int]:
    """Positions along the last axis, each drawn with a probability in proportion to its weight.

    Without `replacement` a position is drawn once, and those that are left keep their proportions.

    **Shapes.** (..., n) gives (..., num_samples).
    **Kinds.** Float weights, which need not sum to 1; the result is int64.
    **Gradient.** None: the result is Int.
    **Raises.** KindError for weights that are not Float, ShapeError for ones without elements,
    ArgumentError for weights that are negative or not finite, for rows that sum to 0, and for more
    samples than there are positive weights, without replacement.

    Source: Efraimidis and Spirakis, "Weighted Random Sampling with a Reservoir", Information
    Processing Letters 97, 2006 (without replacement).

    >>> import lumus as lm
    >>> lm.random.multinomial(lm.tensor([0.0, 3.0]), 4, replacement=True).tolist()
    [1, 1, 1, 1]
    """
    check_tensors("multinomial", weights)
    count = integer("multinomial", "num_samples", num_samples)
    repeats = flag("multinomial", "replacement", replacement)
    if weights.dtype.kind != "float":
        raise kind_error("multinomial", weights.dtype, ("float",), what="weights")
    if weights.ndim == 0 or weights.shape[-1] == 0:
        raise ShapeError(
            f"multinomial: the last axis must have weights, got shape {weights.shape}",
            op="multinomial",
        )
    if count < 0:
        raise ArgumentError(f"multinomial: num_samples cannot be negative, got {count}")
    wide = weights.detach().astype(float64)
    _check_weights(wide, 1 if repeats else count)
    if repeats or count == 1:
        return _independent(wide, count, generator)
    waits = drawn("exponential", wide.shape, float64, wide.device, generator)
    return argsort(waits / wide)[..., :count]


def _check_weights(wide: Tensor[Float], least: int) -> None:
    sums, positive = wide.sum(axis=-1), (wide > 0.0).sum(axis=-1)
    right = (wide >= 0.0).all(axis=-1) & sums.isfinite()
    check_elements("multinomial", "the weights must be finite and not negative", right)
    check_elements(
        "multinomial", f"fewer than {max(least, 1)} positive weights", positive >= max(least, 1)
    )


def _independent(wide: Tensor[Float], count: int, generator: Generator | None) -> Tensor[Int]:
    # A position takes the stretch of [0, total) that its weight is long.
    ends = cumsum(wide, axis=-1)
    total = ends[..., -1:]
    shape = (*wide.shape[:-1], count)
    points = drawn("uniform", shape, float64, wide.device, generator) * total
    places = searchsorted(ends, points, side="right")
    # A point may round up to the total itself, which is beyond the last stretch.
    return places.minimum(searchsorted(ends, total))
