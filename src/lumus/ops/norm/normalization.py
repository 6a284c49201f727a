"""What the normalisations share: which elements have one mean, the checks, and the gradients.

``y = (x - mean) / sqrt(variance + eps) * weight + bias``. The statistics come out of the op beside
y and are kept for backward; as functions of x they are no values of their own on the graph, so a
second derivative goes through x alone.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar

from lumus.core.argument import check_tensors, finite
from lumus.core.broadcast import Shape
from lumus.core.constant import constant
from lumus.core.dispatch import apply
from lumus.core.dtypes import float32, is_half, promote
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.normalization import Extents, Normalize, NormalizeGrad, Over
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, kind_error, register
from lumus.core.record import Record, Saved, record
from lumus.core.spec import Spec, spec_of
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError

Wanted = tuple[bool, bool, bool]
"""Whether the gradients of x, weight and bias are wanted."""


class Normalization:
    """A normalisation, as the attrs of its op: the op's name, and which elements belong together.

    `num_given` statistics are inputs of the op, behind x; otherwise they are measured.
    """

    __slots__ = ()
    field_names: ClassVar[tuple[str, ...]]
    eps: float

    op: ClassVar[str]
    over: ClassVar[Over] = "rows"
    is_centered: ClassVar[bool] = True
    num_given: ClassVar[int] = 0

    def check(self, x: Spec) -> None:
        """Raises ShapeError for an input that cannot be normalised so."""

    @abstractmethod
    def extents(self, shape: Shape) -> Extents:
        """The axes as (outer, groups, channels, inner)."""

    @abstractmethod
    def weight_shape(self, shape: Shape) -> Shape:
        """The shape of weight and bias."""

    @property
    def is_measured(self) -> bool:
        """Whether the statistics are those of x."""
        return not self.num_given

    @property
    def axes(self) -> tuple[int, int]:
        """Those of `extents` along which a statistic is taken."""
        return (2, 3) if self.over == "rows" else (0, 3)

    def statistics(self, x: Spec) -> Specs:
        """The specs of what is measured."""
        outer, groups, channels, _ = self.extents(x.shape)
        count = outer * groups if self.over == "rows" else channels
        one = spec_of((count,), float32 if is_half(x.dtype) else x.dtype, x.device)
        return (one, one) if self.is_centered else (one,)


class NormalizationOp(Op):
    """Of (x, [mean, variance,] [weight, [bias]]): y, and behind it the statistics if measured."""

    def infer(self, specs: Specs, attrs: Normalization) -> Spec | Specs:
        x, *affine = (specs[0], *specs[1 + attrs.num_given :])
        if x.dtype.kind != "float":
            raise kind_error(self.name, x.dtype, ("float",))
        attrs.check(x)
        shape = attrs.weight_shape(x.shape)
        for spec, what in zip(affine, ("weight", "bias"), strict=False):
            if spec.shape != shape:
                raise ShapeError(
                    f"{self.name}: {what} must have shape {shape} for an input of shape "
                    f"{x.shape}, got {spec.shape}",
                    op=self.name,
                    specs=specs,
                )
        return (x, *attrs.statistics(x)) if attrs.is_measured else x

    def kernel(self, specs: Specs, attrs: Normalization) -> Kernel:
        num_affine = len(specs) - 1 - attrs.num_given
        return Normalize(
            attrs.over,
            attrs.extents(specs[0].shape),
            attrs.eps,
            attrs.is_centered,
            attrs.is_measured,
            num_affine > 0,
            num_affine > 1,
        )

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Any, attrs: Normalization, needs: Needs
    ) -> Record:
        statistics = output[1:] if attrs.is_measured else inputs[1:3]
        affine = inputs[1 + attrs.num_given :]
        by_affine = (*needs[1 + attrs.num_given :], False, False)
        wanted = (needs[0], by_affine[0], by_affine[1])
        return NormalizationRecord(
            Saved(inputs[0]),
            tuple([Saved(one) for one in statistics]),
            Saved(affine[0]) if affine and needs[0] else None,
            attrs,
            wanted,
            len(affine),
        )


@record
class NormalizationRecord(Record):
    """d y / d (x, weight, bias) = (P(grad * weight) / deviation, sum(grad * a), sum(grad)).

    With a the normalised elements, and P taking out of its argument the mean and the part along a
    where the statistics were measured.
    """

    x: Saved[Float]
    statistics: tuple[Saved[Float], ...]
    weight: Saved[Float] | None
    norm: Normalization
    wanted: Wanted
    num_affine: int

    def vjp(
        self, grad: Tensor[Float], *of_statistics: Tensor[Float] | None
    ) -> tuple[Tensor[Float] | None, ...]:
        values = [saved.tensor() for saved in self.statistics]
        if self.weight is not None:
            values.append(self.weight.tensor())
        results = _gradients(grad, self.x.tensor(), *values, norm=self.norm, wanted=self.wanted)
        grad_x, *rest = [next(results) if one else None for one in self.wanted]
        return (grad_x, *[None] * self.norm.num_given, *rest[: self.num_affine])


def _gradients(*values: Tensor[Float], norm: Normalization, wanted: Wanted) -> Any:
    results = apply("normalization_grad", *values, norm=norm, wanted=wanted)
    return iter(results if results.__class__ is tuple else (results,))


@frozen
class NormalizationGradAttrs:
    """The normalisation, and which gradients are wanted."""

    norm: Normalization
    wanted: Wanted


@register
class NormalizationGrad(Op):
    """Of (grad, x, statistics..., [weight]): the gradients of x, weight and bias.

    The statistics are taken as functions of x, not as values to differentiate by.
    """

    name = "normalization_grad"
    attrs = NormalizationGradAttrs

    def infer(self, specs: Specs, attrs: NormalizationGradAttrs) -> Specs:
        x = specs[1]
        affine = x.with_shape(attrs.norm.weight_shape(x.shape))
        found = zip((x, affine, affine), attrs.wanted, strict=True)
        return tuple([spec for spec, is_wanted in found if is_wanted])

    def kernel(self, specs: Specs, attrs: NormalizationGradAttrs) -> Kernel:
        norm = attrs.norm
        num_statistics = 1 + norm.is_centered
        return NormalizeGrad(
            norm.over,
            norm.extents(specs[1].shape),
            norm.eps,
            norm.is_centered,
            norm.is_measured,
            len(specs) > 2 + num_statistics,
            attrs.wanted,
        )

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Any,
        attrs: NormalizationGradAttrs,
        needs: Needs,
    ) -> Record:
        grad, x, *rest = inputs
        num_statistics = 1 + attrs.norm.is_centered
        return NormalizationGradRecord(
            Saved(grad),
            Saved(x),
            tuple([Saved(one) for one in rest[:num_statistics]]),
            Saved(rest[-1]) if len(rest) > num_statistics else None,
            attrs.norm,
            attrs.wanted,
        )


@record
class NormalizationGradRecord(Record):
    """The derivative of (P(grad * weight) / deviation, sum(grad * a), sum(grad)).

    By grad, x and weight. P is symmetric, and P / deviation is this op itself.
    """

    grad: Saved[Float]
    x: Saved[Float]
    statistics: tuple[Saved[Float], ...]
    weight: Saved[Float] | None
    norm: Normalization
    wanted: Wanted

    def vjp(self, *grads: Tensor[Float] | None) -> tuple[Tensor[Float] | None, ...]:
        arrived = iter(grads)
        by_x, by_weight, by_bias = (next(arrived) if one else None for one in self.wanted)
        grad, a = self._split(self.grad.tensor()), self._normalized()
        to_grad: list[Tensor[Float]] = []
        to_a: list[Tensor[Float]] = []
        to_x: list[Tensor[Float]] = []
        grad_weight = None
        if by_x is not None:
            u = self._split(by_x)
            projected = self._projected(u)
            to_grad.append(self._weighted(projected))
            if self.weight is not None:
                grad_weight = self._summed(grad * projected)
            if self.norm.is_measured:
                h, root = self._weighted(grad), self._root()
                to_a.append(-root * (u * self._mean(h * a) + h * self._mean(u * a)))
                to_x.append(-root * a * self._mean(u * self._projected(h)))
        if by_weight is not None:
            by_element = self._per_channel(by_weight)
            to_grad.append(by_element * a)
            to_a.append(by_element * grad)
        if by_bias is not None:
            to_grad.append(self._per_channel(by_bias).broadcast_to(grad.shape))
        if to_a:
            to_x.append(self._projected(_total(to_a)))
        return (
            _total(to_grad).reshape(self.grad.spec.shape),
            _total(to_x).reshape(self.x.spec.shape) if to_x else None,
            *[None for _ in self.statistics],
            *([grad_weight] if self.weight is not None else []),
        )

    # All in the shape of `extents`, so that weights and statistics broadcast.

    def _split(self, value: Tensor[Float]) -> Tensor[Float]:
        return value.reshape(self.norm.extents(self.x.spec.shape))

    def _per_channel(self, value: Tensor[Float]) -> Tensor[Float]:
        _, groups, channels, _ = self.norm.extents(self.x.spec.shape)
        return value.astype(self.x.spec.dtype).reshape(1, groups, channels, 1)

    def _mean(self, value: Tensor[Float]) -> Tensor[Float]:
        return value.mean(axis=self.norm.axes, keepdims=True)

    def _summed(self, value: Tensor[Float]) -> Tensor[Float]:
        return value.sum(axis=(0, 3)).reshape(self.norm.weight_shape(self.x.spec.shape))

    def _weighted(self, value: Tensor[Float]) -> Tensor[Float]:
        return value if self.weight is None else value * self._per_channel(self.weight.tensor())

    def _normalized(self) -> Tensor[Float]:
        norm = self.norm
        attrs = {name: getattr(norm, name) for name in norm.field_names}
        given = [one.tensor() for one in self.statistics] if norm.num_given else []
        results = apply(norm.op, self.x.tensor(), *given, **attrs)
        return self._split(results[0] if norm.is_measured else results)

    def _projected(self, value: Tensor[Float]) -> Tensor[Float]:
        """P(value) / deviation."""
        x, values = self.x.tensor(), [one.tensor() for one in self.statistics]
        whole = value.reshape(x.shape)
        wanted = (True, False, False)
        (result,) = _gradients(whole, x, *values, norm=self.norm, wanted=wanted)
        return self._split(result)

    def _root(self) -> Tensor[Float]:
        """1 / deviation, as a function of x."""
        x = self._split(self.x.tensor())
        if self.norm.is_centered:
            x = x - self._mean(x)
        return (self._mean(x * x) + self.norm.eps).rsqrt()


def _total(parts: list[Tensor[Float]]) -> Tensor[Float]:
    first, *rest = parts
    for part in rest:
        first = first + part
    return first


def affine_of(
    op: str,
    x: Tensor[Float],
    weight: Tensor[Float] | None,
    bias: Tensor[Float] | None,
) -> tuple[Tensor[Float], ...]:
    """(x, [weight, [bias]]), of one dtype; a bias alone is given a weight of ones."""
    given = [x, *[one for one in (weight, bias) if one is not None]]
    check_tensors(op, *given)
    dtype = x.spec.dtype
    for one in given:
        if one.spec.dtype is not dtype:
            dtype = promote(dtype, one.spec.dtype, op)
    if weight is None and bias is not None:
        ones: Tensor[Float] = constant(1.0, dtype, x.device, op)
        given.insert(1, ones.broadcast_to(bias.shape))
    return tuple([one if one.spec.dtype is dtype else one.astype(dtype) for one in given])


def checked_eps(op: str, eps: float) -> float:
    """A number that a variance can be raised by."""
    if eps.__class__ is float and 0.0 <= eps < math.inf:
        return eps
    eps = finite(op, "eps", eps)
    if eps < 0:
        raise ArgumentError(f"{op}: eps must not be negative, got {eps}", op=op)
    return eps
