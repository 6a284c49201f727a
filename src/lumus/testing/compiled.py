"""Op specs held against the compiler: compiled is eager, in values and in gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lumus.compile.function import compile as compiled
from lumus.core.dtypes import DType, float64
from lumus.core.tensor import Tensor
from lumus.errors import CheckError, TraceError
from lumus.ops.create.tensor import tensor
from lumus.testing.op_spec import Array, Case, OpSpec
from lumus.testing.sweep import cases_of, elements, inputs_of, results_of

ULPS = 4
"""How many units in the last place joined code may differ by from that of the ops alone."""


def check_compiled(
    spec: OpSpec,
    dtype: DType[Any],
    device: str = "cpu",
    layout: str = "dense",
    *,
    reads_values: bool = False,
) -> int:
    """A compiled call gives what the eager one gives, twice; so do compiled gradients.

    Returns how many cases were held; with `reads_values` those that raise TraceError are not.
    """
    held = 0
    for case in cases_of(spec, dtype):
        inputs = inputs_of(spec, case, dtype, device, layout)
        where = f"{spec.name} compiled on {device}, {dtype.name}, {layout}: {case.label}"

        def function(*given: Tensor[Any], case: Case = case) -> list[Tensor[Any]]:
            return results_of(spec, case, given)

        want = [elements(one) for one in function(*inputs)]
        traced = compiled(function)
        try:
            for _ in range(2):
                _compare(traced(*inputs), want, where)
        except TraceError:
            if reads_values:
                continue
            raise
        held += 1
        if spec.differentiable and dtype is float64:
            _check_gradients(spec, case, inputs, where)
    return held


def _check_gradients(spec: OpSpec, case: Case, inputs: Sequence[Tensor[Any]], where: str) -> None:
    def gradients(*given: Tensor[Any]) -> list[Tensor[Any]]:
        leaves = [
            one.detach().requires_grad_() if one.dtype.kind == "float" else one for one in given
        ]
        random = np.random.default_rng(0)
        found: list[Tensor[Any]] = []
        for result in results_of(spec, case, leaves):
            incoming = tensor(random.uniform(-1, 1, result.shape), device=result.device)
            if result.requires_grad:
                store = result.backward(incoming.astype(result.dtype), retain_graph=True)
                found.extend(store[one] for one in leaves if one in store)
        return found

    want = [elements(one) for one in gradients(*inputs)]
    _compare(compiled(gradients)(*inputs), want, f"gradients of {where}")


def _compare(got: Sequence[Tensor[Any]], want: Sequence[Array], where: str) -> None:
    if len(got) != len(want):
        raise CheckError(f"{where}: {len(got)} results, eagerly {len(want)}")
    for result, eager in zip(got, want, strict=True):
        found = elements(result)
        step = 0.0 if result.dtype.kind != "float" else ULPS * _spacing(result.dtype)
        with np.errstate(all="ignore"):
            near = np.abs(found - eager) <= step * np.abs(eager) if step else found == eager
        same = near | (found == eager) | (_is_nan(found) & _is_nan(eager))
        if found.shape != eager.shape or not np.all(same):
            raise CheckError(f"{where}: {found.tolist()}, eagerly {eager.tolist()}")


def _spacing(dtype: DType[Any]) -> float:
    return {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}[
        dtype.name
    ]


def _is_nan(values: Array) -> Array:
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)
