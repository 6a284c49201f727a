"""Tensors moved between devices, copied deeply, and pickled."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from lumus.core.composite import composite
from lumus.core.construct import new_tensor
from lumus.core.device import Device, device_named
from lumus.core.dtypes import DType
from lumus.core.spec import spec_of
from lumus.core.tensor import Tensor
from lumus.errors import GradientError


@composite("to_device")
def to_device(x: Tensor[Any], device: str | Device) -> Tensor[Any]:
    """`x` on another device; see `Tensor.to_device`."""
    place = device_named(device)
    if place is x.device:
        return x
    if x.requires_grad:
        raise GradientError(
            "to_device: moving a tensor that requires grad would cut its graph",
            hint="use .detach().to_device(...), and .requires_grad_() on the result for a leaf",
        )
    spec = spec_of(x.shape, x.dtype, place)
    moved = new_tensor(place.copy_in(x.device.copy_out(x.data, x.spec), spec), spec)
    return cast("Tensor[Any]", moved)


@composite("deep_copy")
def deep_copy(x: Tensor[Any]) -> Tensor[Any]:
    """A leaf of the same class with a copy of the memory."""
    twin = x.detach().copy()
    twin.origin = None
    result = cast("Tensor[Any]", _of_class(type(x), twin))
    return result.requires_grad_() if x.requires_grad else result


@composite("reduce")
def reduce(x: Tensor[Any]) -> tuple[Any, ...]:
    """How a tensor is pickled: its elements, dtype and device; only leaves can be."""
    if not x.is_leaf:
        raise GradientError(
            "pickle: only leaves can be pickled; this tensor was computed", hint="use .detach()"
        )
    array = np.array(x.device.copy_out(x.data, x.spec), copy=True)
    return (rebuild, (type(x), array, x.dtype, x.device.name, x.requires_grad))


def rebuild(
    cls: type[Tensor[Any]], array: Any, dtype: DType[Any], device: str, requires_grad: bool
) -> Tensor[Any]:
    """The inverse of `reduce`."""
    place = device_named(device)
    spec = spec_of(array.shape, dtype, place)
    made = _of_class(cls, new_tensor(place.copy_in(array, spec), spec))
    return made.requires_grad_() if requires_grad else made


def _of_class(cls: type[Tensor[Any]], tensor: Tensor[Any]) -> Tensor[Any]:
    """`tensor` as an instance of a subclass (a Parameter)."""
    if cls is Tensor:
        return tensor
    made = cls.__new__(cls)
    made.data, made.spec = tensor.data, tensor.spec
    made.origin = None
    return made
