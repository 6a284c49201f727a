"""Runs a program equation by equation, as eager execution would: what passes must not change."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lumus.core.dtypes import bfloat16
from lumus.trace.program import Program, Var


def interpret(program: Program, inputs: Sequence[Any]) -> list[Any]:
    """The arrays of a program's outputs, then those of what it writes; nothing is written."""
    values: dict[Var, Any] = dict(zip(program.inputs, inputs, strict=True))
    values.update({one.var: one.data for one in program.captures})
    for host in program.hosts:
        device, spec = host.var.spec.device, host.var.spec
        numbers = np.array(host.source.values(), spec.dtype.numpy_name).reshape(spec.shape)
        values[host.var] = device.copy_in(numbers, spec)
    for one in program.equations:
        ins = tuple(var.spec for var in one.inputs)
        outs = tuple(var.spec for var in one.outputs)
        run = outs[0].device.prepare(one.kernel, ins, outs)
        made = run(*[values[var] for var in one.inputs])
        values.update(zip(one.outputs, made if isinstance(made, tuple) else (made,), strict=True))
    return [_numbers(values[var], var) for var in program.results()]


def _numbers(data: Any, var: Var) -> Any:
    array = np.array(data)
    if var.spec.dtype is bfloat16:  # NumPy sees its bits, which are the upper ones of a float32
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array


def same_bits(one: Any, other: Any) -> bool:
    """Whether two arrays are equal bit for bit; every NaN is one value."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.kind != "f":
        return bool((one == other).all())
    bits = f"u{one.dtype.itemsize}"
    nan = np.isnan(one) & np.isnan(other)
    return bool(((one.view(bits) == other.view(bits)) | nan).all())


def same_results(before: Program, after: Program, inputs: Sequence[Any]) -> bool:
    """Whether two programs give the same bits for these inputs."""
    pairs = zip(interpret(before, inputs), interpret(after, inputs), strict=True)
    return all(same_bits(one, other) for one, other in pairs)
