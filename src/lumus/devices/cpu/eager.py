"""Eager kernels that are steps with memory of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lumus import _native
from lumus.core.device import Run
from lumus.core.kernels.kernel import Kernel
from lumus.core.spec import Spec

Specs = tuple[Spec, ...]
StepMaker = Callable[[Any, Specs, Specs], _native.Step]
Builder = Callable[[Any, Specs, Specs], Run]


def eager(maker: StepMaker) -> Builder:
    """What makes the kernel of these steps ready to give new arrays."""

    def build(kernel: Kernel, inputs: Specs, outputs: Specs) -> Run:
        step = maker(kernel, inputs, outputs)
        return _native.StepRun(step, [(spec.dtype.code, spec.shape) for spec in outputs])

    return build
