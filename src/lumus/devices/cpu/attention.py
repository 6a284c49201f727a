"""Attention on the native kernels."""

from __future__ import annotations

from typing import Any

from lumus import _native
from lumus.core import kernels as k
from lumus.core.device import Run
from lumus.core.kernels.kernel import Kernel
from lumus.devices.cpu.eager import Builder, Specs, StepMaker


def _optional(kernel: k.Attention | k.AttentionGrad, more: tuple[Any, ...]) -> tuple[Any, Any]:
    """(mask, random key), None for what is not there."""
    mask = more[0] if kernel.has_mask else None
    return mask, (more[-1] if kernel.dropout > 0 else None)


def forward(kernel: k.Attention, inputs: Specs, outputs: Specs) -> Run:
    """The output and the logarithms."""

    def run(query: Any, key: Any, value: Any, *more: Any) -> Any:
        mask, random_key = _optional(kernel, more)
        return _native.attention(
            query,
            key,
            value,
            mask,
            random_key,
            kernel.scale,
            kernel.is_causal,
            kernel.dropout,
        )

    return run


def backward(kernel: k.AttentionGrad, inputs: Specs, outputs: Specs) -> Run:
    """The gradients."""

    def run(
        grad: Any, query: Any, key: Any, value: Any, output: Any, logarithms: Any, *more: Any
    ) -> Any:
        mask, random_key = _optional(kernel, more)
        return _native.attention_grad(
            grad,
            query,
            key,
            value,
            output,
            logarithms,
            mask,
            random_key,
            kernel.scale,
            kernel.is_causal,
            kernel.dropout,
            kernel.wants_scores,
        )

    return run


TABLE: dict[type[Kernel], Builder] = {
    k.Attention: forward,
    k.AttentionGrad: backward,
}

STEPS: dict[type[Kernel], StepMaker] = {
    k.Attention: lambda kernel, i, o: _native.attention_step(
        kernel.scale, kernel.is_causal, kernel.dropout, kernel.has_mask
    ),
    k.AttentionGrad: lambda kernel, i, o: _native.attention_grad_step(
        kernel.scale, kernel.is_causal, kernel.dropout, kernel.has_mask, kernel.wants_scores
    ),
}
