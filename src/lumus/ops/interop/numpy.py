"""from_numpy: a tensor on a NumPy array's own memory."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from lumus import _native
from lumus.core.composite import composite
from lumus.core.construct import new_tensor
from lumus.core.device import Device, device_named
from lumus.core.spec import spec_of
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError
from lumus.ops.create.tensor import check_unmasked, copied, dtype_of_array


@composite("from_numpy")
def from_numpy(array: Any, *, device: str | Device | None = None) -> Tensor[Any]:
    """A tensor that shares the memory of a NumPy array: writes to either are seen by both.

    Strides of any sign are kept. A read-only array gives a frozen tensor, which refuses writes, and
    so does one whose elements overlap.
    What memory cannot express (foreign byte order, strides that are no multiple of the element,
    another device than the CPU) is copied. Tensors on the same array share one version, so a write
    through one to what another saved for backward is noticed; a write through NumPy itself cannot
    be.

    **Shapes.** That of the array.
    **Kinds.** By the array's dtype.
    **Gradient.** Call `requires_grad_()` on the result to make it a leaf.
    **Raises.** ArgumentError for something that is not an array, DTypeError for a dtype that lumus
    does not have.

    >>> import lumus as lm
    >>> import numpy as np
    >>> a = np.zeros(2, dtype=np.float32)
    >>> t = lm.from_numpy(a)
    >>> a[0] = 5
    >>> t.tolist()
    [5.0, 0.0]
    """
    if not isinstance(array, np.ndarray):
        raise ArgumentError(
            f"from_numpy: expected a NumPy array, got {type(array).__name__}",
            hint="use lumus.tensor(...), which copies",
            op="from_numpy",
        )
    check_unmasked("from_numpy", array)
    dtype = dtype_of_array(array, "from_numpy")
    place = device_named(device)
    regular = all(stride % array.itemsize == 0 for stride in array.strides)
    native_order = array.dtype.isnative and array.flags.aligned
    if place.name not in ("cpu", "reference") or not (regular and native_order) or array.ndim > 16:
        return copied(array, place)
    owner = _owner(array)
    low, high = np.lib.array_utils.byte_bounds(array) if array.size else (0, 0)
    address = array.__array_interface__["data"][0]
    data = _native.from_buffer(
        address,
        address - low if array.size else 0,
        high - address if array.size else 0,
        dtype.code,
        array.shape,
        tuple(stride // array.itemsize for stride in array.strides),
        not array.flags.writeable or (array.size > 1 and _overlaps_itself(array)),
        owner,
    )
    made = new_tensor(data, spec_of(array.shape, dtype, place))
    return cast("Tensor[Any]", made)


def _overlaps_itself(array: Any) -> bool:
    """Whether two elements may share memory; slices of a dense array never do."""
    reach = array.itemsize
    for stride, length in sorted(
        (abs(stride), length)
        for stride, length in zip(array.strides, array.shape, strict=True)
        if length > 1
    ):
        if stride < reach:
            return True
        reach += stride * (length - 1)
    return False


def _owner(array: Any) -> Any:
    """The object at the end of the chain of views, which owns the memory."""
    owner = array
    while isinstance(owner, np.ndarray) and owner.base is not None:
        owner = owner.base
    if isinstance(owner, memoryview) and owner.obj is not None:
        owner = owner.obj
    return owner
