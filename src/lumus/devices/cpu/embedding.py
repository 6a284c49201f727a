"""Rows and classes by their numbers on the native kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lumus import _native
from lumus.core import embedding_kernels as k
from lumus.core.device import Run
from lumus.core.kernels import Kernel
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.spec import Spec
from lumus.devices.cpu.program import native_program

Specs = tuple[Spec, ...]


def _embedding(kernel: k.Embedding, inputs: Specs, outputs: Specs) -> Run:
    num_rows = inputs[1].shape[0]

    def run(ids: Any, table: Any) -> Any:
        _native.check_indices(ids, 0, num_rows)
        return _native.index(table, [ids])

    return run


def _one_hot(kernel: k.OneHot, inputs: Specs, outputs: Specs) -> Run:
    classes = _native.arange(inputs[0].dtype.code, 0, 1, kernel.num_classes)
    is_class = expression(lambda x, y: scalar.cast(scalar.equal(x, y), outputs[0].dtype))
    number = inputs[0].with_shape((*inputs[0].shape, 1))
    beside = inputs[0].with_shape((kernel.num_classes,))
    program = native_program(is_class, (number, beside), outputs)

    def run(ids: Any) -> Any:
        _native.check_indices(ids, 0, kernel.num_classes)
        return program.run2(ids.reshape(number.shape), classes)

    return run


TABLE: dict[type[Kernel], Callable[[Any, Specs, Specs], Run]] = {
    k.Embedding: _embedding,
    k.EmbeddingGrad: lambda kernel, i, o: (
        lambda grad, ids: _native.embedding_grad(
            grad, ids, kernel.num_rows, kernel.skipped, kernel.averages
        )
    ),
    k.OneHot: _one_hot,
}
