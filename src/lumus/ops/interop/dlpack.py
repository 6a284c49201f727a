"""DLPack: memory shared with other libraries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from lumus import _native
from lumus.core.composite import composite
from lumus.core.construct import new_tensor
from lumus.core.device import device_named
from lumus.core.dtypes import ALL
from lumus.core.spec import spec_of
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, DeviceError, DTypeError, GradientError
from lumus.ops.interop.numpy import from_numpy

_CPU = (1, 0)


def from_dlpack(source: Any) -> Tensor[Any]:
    """A tensor on the memory of any array that speaks DLPack (NumPy, PyTorch, JAX, ...) on the CPU.

    Read-only memory gives a frozen tensor.

    **Shapes.** That of the source.
    **Kinds.** By the source's dtype.
    **Gradient.** Off any graph.
    **Raises.** ArgumentError for something that does not speak DLPack, DeviceError for memory that
    is not the CPU's, DTypeError for a dtype that lumus does not have.

    >>> import lumus as lm
    >>> import numpy as np
    >>> lm.from_dlpack(np.arange(3)).tolist()
    [0, 1, 2]
    """
    if not hasattr(source, "__dlpack__"):
        raise ArgumentError(
            f"from_dlpack: expected an array that speaks DLPack, got {type(source).__name__}",
            hint="use lumus.tensor(...), which copies",
            op="from_dlpack",
        )
    place = source.__dlpack_device__()
    if place != _CPU and (not isinstance(place, Sequence) or tuple(place) != _CPU):
        raise DeviceError(
            f"from_dlpack: the memory is on device {place}, not the CPU",
            hint="move it to the CPU in its own library first",
        )
    if isinstance(source, np.ndarray):  # tensors on one array share its version
        return from_numpy(source)
    try:
        capsule = source.__dlpack__(max_version=(1, 0))
    except TypeError:  # a library that speaks the older protocol
        capsule = source.__dlpack__()
    try:
        data = _native.from_dlpack(capsule)
    except BufferError as error:
        kind = DTypeError if "no dtype" in str(error) else ArgumentError
        raise kind(f"from_dlpack: {error}", op="from_dlpack") from None
    except (TypeError, ValueError):
        raise ArgumentError(
            f"from_dlpack: {type(source).__name__} gave no DLPack capsule that can be taken",
            op="from_dlpack",
        ) from None
    dtype = next(one for one in ALL if one.code == data.dtype)
    return cast("Tensor[Any]", new_tensor(data, spec_of(data.shape, dtype, device_named("cpu"))))


@composite("dlpack_device")
def dlpack_device(x: Tensor[Any]) -> tuple[int, int]:
    """DLPack's number for the tensor's device."""
    if x.device.name not in ("cpu", "reference"):
        raise DeviceError(f"dlpack: device {x.device} has no DLPack form yet")
    return _CPU


@composite("to_dlpack")
def to_dlpack(
    x: Tensor[Any],
    *,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> Any:
    """The capsule that another library takes the memory from."""
    if x.requires_grad:
        raise GradientError(
            "dlpack: a tensor that requires grad would leave the graph unseen",
            hint="use .detach()",
        )
    if dl_device is not None and tuple(dl_device) != dlpack_device(x):
        raise DeviceError(f"dlpack: the tensor is on {x.device}, not on device {dl_device}")
    data = x.copy().data if copy else x.data
    if not isinstance(data, _native.Array):
        data.__array__()  # raises for one that is traced
    return _native.to_dlpack(data, max_version is not None and max_version[0] >= 1, bool(copy))
