"""Losses on the native kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lumus import _native
from lumus.core import loss_kernels as k
from lumus.core.device import Run
from lumus.core.dtypes import float32, int64, is_half
from lumus.core.kernels import Kernel
from lumus.core.spec import Spec

Specs = tuple[Spec, ...]

_REDUCTIONS = {"none": 0, "sum": 1, "mean": 2}


def _dense(data: Any) -> Any:
    return data if data.is_contiguous else _native.copy(data)


def _numbers(targets: Any) -> Any:
    return _dense(targets) if targets.dtype == int64.code else _native.cast(targets, int64.code)


def _cross_entropy(kernel: k.CrossEntropy, inputs: Specs, outputs: Specs) -> Run:
    given = (kernel.ignore_index, kernel.label_smoothing, _REDUCTIONS[kernel.reduction])
    classes = inputs[0].shape[1]

    def run(logits: Any, targets: Any) -> Any:
        numbers = _numbers(targets)
        made = _native.cross_entropy(_dense(logits), numbers, *given)
        if isinstance(made, int):
            wrong = numbers.slice((made,), (1,), (1,)).item()
            raise _native.IndexOutOfRange(wrong, classes, (made,), 1)
        return made

    return run


def _cross_entropy_grad(kernel: k.CrossEntropyGrad, inputs: Specs, outputs: Specs) -> Run:
    given = (kernel.ignore_index, kernel.label_smoothing, _REDUCTIONS[kernel.reduction])

    def run(grad: Any, logits: Any, targets: Any, stats: Any, divisor: Any) -> Any:
        return _native.cross_entropy_grad(
            _dense(grad), _dense(logits), _numbers(targets), stats, divisor, *given
        )

    return run


def _ctc(kernel: k.Ctc, inputs: Specs, outputs: Specs) -> Run:
    given, wanted = inputs[0].dtype, float32 if is_half(inputs[0].dtype) else inputs[0].dtype

    def run(logarithms: Any, *numbers: Any) -> Any:
        wide = _native.cast(logarithms, wanted.code) if given is not wanted else _dense(logarithms)
        losses = _native.ctc(wide, *map(_numbers, numbers))
        return losses if given is wanted else _native.cast(losses, given.code)

    return run


def _ctc_grad(kernel: k.CtcGrad, inputs: Specs, outputs: Specs) -> Run:
    given, wanted = inputs[1].dtype, float32 if is_half(inputs[1].dtype) else inputs[1].dtype

    def run(grad: Any, logarithms: Any, *numbers: Any) -> Any:
        floats = (grad, logarithms)
        if given is wanted:
            return _native.ctc_grad(*map(_dense, floats), *map(_numbers, numbers))
        wide = [_native.cast(one, wanted.code) for one in floats]
        return _native.cast(_native.ctc_grad(*wide, *map(_numbers, numbers)), given.code)

    return run


TABLE: dict[type[Kernel], Callable[[Any, Specs, Specs], Run]] = {
    k.CrossEntropy: _cross_entropy,
    k.CrossEntropyGrad: _cross_entropy_grad,
    k.Ctc: _ctc,
    k.CtcGrad: _ctc_grad,
}
