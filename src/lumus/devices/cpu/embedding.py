"""Rows and classes by their numbers on the native kernels."""

from __future__ import annotations

from lumus import _native
from lumus.core import kernels as k
from lumus.core.kernels.kernel import Kernel
from lumus.devices.cpu.eager import Builder, StepMaker, eager

STEPS: dict[type[Kernel], StepMaker] = {
    k.Embedding: lambda kernel, i, o: _native.embedding_step(),
    k.EmbeddingGrad: lambda kernel, i, o: _native.embedding_grad_step(
        kernel.skipped, kernel.averages
    ),
    k.OneHot: lambda kernel, i, o: _native.one_hot_step(kernel.num_classes),
}

TABLE: dict[type[Kernel], Builder] = {kernel: eager(maker) for kernel, maker in STEPS.items()}
