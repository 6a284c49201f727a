"""The closed vocabulary of kernels: all that a device can be asked to run.

An op says which of these computes it, and with which parameters. A device has a table from the
class to what runs it; a device may lack some. The reference device has them all and is the oracle.
Parameters are checked before a kernel is made: axes are counted from the front, shapes fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, TypeVar

from lumus.core.broadcast import Shape
from lumus.core.dtypes import DType
from lumus.core.frozen import frozen
from lumus.core.kinds import Kind
from lumus.core.scalar.expressions import Expression

T = TypeVar("T")

ReduceKind = Literal["sum", "mean", "prod", "max", "min", "any", "all"]


@frozen
class Kernel:
    """Base of the vocabulary.

    A kernel that `is_pure` gives equal results for equal inputs and does nothing else, so that the
    compiler may run it once for many times, earlier, or not at all.
    """

    is_pure: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The kernel's name in messages and programs."""
        return type(self).__name__


@frozen
class Elementwise(Kernel):
    """Each output is an expression of the inputs, which are broadcast together."""

    expression: Expression


@frozen
class Reduce(Kernel):
    """Combines all elements along `axes`.

    With a `prologue`, those of that expression of the inputs.
    """

    kind: ReduceKind
    axes: tuple[int, ...]
    keepdims: bool
    prologue: Expression | None = None


@frozen
class ArgReduce(Kernel):
    """The first position of the extreme element along `axis`, or in row-major order over all."""

    kind: Literal["max", "min"]
    axis: int | None
    keepdims: bool


@frozen
class LogSumExp(Kernel):
    """log(sum(exp(x))) over `axes`, stable."""

    axes: tuple[int, ...]
    keepdims: bool


@frozen
class Norm(Kernel):
    """sum(|x|**p)**(1/p) over `axes`; infinite p: the extreme magnitude, 0: how many are not 0."""

    p: float
    axes: tuple[int, ...]
    keepdims: bool


@frozen
class Distances(Kernel):
    """Of (x, y): the p-norm of the difference of each row of x to each row of y."""

    p: float


@frozen
class Softmax(Kernel):
    """exp(x) / sum(exp(x)) along `axis`, or its logarithm, stable."""

    axis: int
    log: bool


@frozen
class SoftmaxGrad(Kernel):
    """Of (grad, y): y * (grad - sum(grad * y)), or grad - exp(y) * sum(grad) for the logarithm."""

    axis: int
    log: bool


@frozen
class MatMul(Kernel):
    """The matrix product by NumPy's rules; `transposed` swaps the last two axes of the second.

    With `bias` a third input, one number for each column of the second (a matrix), is added.
    """

    transposed: bool = False
    bias: bool = False


@frozen
class WithEpilogue(Kernel):
    """An expression of what `product` gives, and of the operands behind those of the product.

    It gives the shape, with at least one axis, and the dtype that the product has. Each other
    operand has one element, or one for each index of the last axis.
    """

    product: MatMul
    epilogue: Expression

    def split(self, operands: Sequence[T]) -> tuple[tuple[T, ...], tuple[T, ...]]:
        """The operands of the product, and the others."""
        count = len(operands) - (self.epilogue.num_inputs - 1)
        return tuple(operands[:count]), tuple(operands[count:])


@frozen
class Checked(Kernel):
    """Of (value, holds): the value, if `holds` is True throughout; else raises.

    `error` is the name of a class of lumus.errors; in `message` ``{}`` stands for the first value
    where it does not hold.
    """

    error: str
    message: str
    hint: str | None


@frozen
class Copy(Kernel):
    """A dense copy in row-major order."""


@frozen
class Cast(Kernel):
    """A dense copy in another dtype."""

    dtype: DType[Kind]


@frozen
class Reshape(Kernel):
    """The same elements in row-major order under another shape: a view where strides allow."""

    shape: Shape


@frozen
class Permute(Kernel):
    """A view with the axes in another order."""

    axes: tuple[int, ...]


@frozen
class Slice(Kernel):
    """A view of `sizes` elements from `starts` by `steps` (not zero) along each axis."""

    starts: tuple[int, ...]
    sizes: Shape
    steps: tuple[int, ...]


@frozen
class Unslice(Kernel):
    """Zeros of `shape` with the input's elements from `starts` by `steps`.

    What Slice transposes to.
    """

    shape: Shape
    starts: tuple[int, ...]
    steps: tuple[int, ...]


@frozen
class SlicePut(Kernel):
    """Of (x, values): a copy of x with values in a slice of it."""

    starts: tuple[int, ...]
    sizes: Shape
    steps: tuple[int, ...]


@frozen
class BroadcastTo(Kernel):
    """A view repeated to a larger shape."""

    shape: Shape


@frozen
class Concat(Kernel):
    """The inputs one after the other along `axis`."""

    axis: int


@frozen
class Arange(Kernel):
    """start + i * step for i < count; no inputs."""

    start: float | int
    step: float | int
    count: int
    dtype: DType[Kind]


@frozen
class Linspace(Kernel):
    """`count` numbers evenly from `start` to `stop`, both included; no inputs."""

    start: float
    stop: float
    count: int
    dtype: DType[Kind]


@frozen
class TakeAlongAxis(Kernel):
    """Of (x, indices): x at the index given for each position, along `axis`."""

    axis: int


@frozen
class ScatterAdd(Kernel):
    """Of (x, indices, values): x with each value added at its index along `axis`."""

    axis: int


@frozen
class Index(Kernel):
    """Of (x, indices...): the first axes of x indexed by the index arrays broadcast together."""


@frozen
class IndexPut(Kernel):
    """Of (x, values, indices...): a copy of x with values written there; the last write wins."""

    accumulate: bool


@frozen
class LastWriter(Kernel):
    """Of (indices...): True where a position is the last to write its index into `shape`."""

    shape: Shape


Distribution = Literal["uniform", "normal", "exponential", "bernoulli", "gamma", "integers"]


@frozen
class Random(Kernel):
    """Of a key [seed, counter]: Philox numbers; element i depends on the key and i alone.

    uniform on [0, 1), normal with mean 0 and deviation 1, exponential with mean 1, bernoulli (True
    with probability `low`), gamma of concentration `low`, integers on [low, high). A second input,
    float64 and of `shape`, has a `low` for each element.
    """

    distribution: Distribution
    shape: Shape
    dtype: DType[Kind]
    low: float | int = 0
    high: float | int = 1


@frozen
class Callback(Kernel):
    """Python code given by a user: ``run(outputs, *data)``, with the specs of the outputs.

    It runs ops of the device itself, so every device has this kernel.
    """

    is_pure: ClassVar[bool] = False

    run: Callable[..., Any]
