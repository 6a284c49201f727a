"""What a device is to the rest of lumus, and the table of those that exist."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from lumus import _native
from lumus.core.kernels.kernel import Kernel
from lumus.core.spec import Spec
from lumus.errors import DeviceError, OutOfMemoryError, UnsupportedOnDeviceError

Data = Any
"""A device's array (or a tracer's value); opaque to everything but the device."""

Run = Callable[..., Any]
"""A kernel made ready.

Takes the inputs' data, returns the output's (a tuple if there are several).
"""


class Device(ABC):
    """A place where tensors live and kernels run.

    A device may be partial: `prepare` raises UnsupportedOnDeviceError for a kernel it lacks, and
    nothing is ever copied to another device unasked.
    """

    name: str

    @abstractmethod
    def allocate(self, spec: Spec) -> Data:
        """Dense uninitialised memory for `spec`."""

    @abstractmethod
    def copy_in(self, array: Any, spec: Spec) -> Data:
        """A dense device copy of a NumPy array, of any layout, that holds `spec`'s elements."""

    @abstractmethod
    def copy_out(self, data: Data, spec: Spec) -> Any:
        """The elements as a NumPy array, which shares the memory of a host device."""

    @abstractmethod
    def full(self, spec: Spec, value: float | int | bool) -> Data:
        """Dense memory with `value` everywhere."""

    @abstractmethod
    def prepare(self, kernel: Kernel, inputs: tuple[Spec, ...], outputs: tuple[Spec, ...]) -> Run:
        """A callable that runs `kernel`; done once per signature, so it may take its time."""

    @abstractmethod
    def prepare_into(
        self, kernel: Kernel, inputs: tuple[Spec, ...], outputs: tuple[Spec, ...]
    ) -> Run:
        """A callable of (outputs, inputs) that writes into existing data."""

    def prepare_step(
        self, kernel: Kernel, inputs: tuple[Spec, ...], outputs: tuple[Spec, ...]
    ) -> _native.Step | None:
        """The kernel as a native step of a compiled program; None where there is none."""
        return None

    @abstractmethod
    def synchronize(self) -> None:
        """Returns when all work handed to the device is done."""

    def unsupported(self, kernel: Kernel, dtype: str) -> UnsupportedOnDeviceError:
        """The error for a kernel that this device lacks."""
        others = [name for name, device in DEVICES.items() if device is not self]
        return UnsupportedOnDeviceError(
            f"kernel {kernel.name} for {dtype} does not exist on device {self.name!r}",
            hint=f"move the tensor with .to_device(...) to one of {', '.join(others)}",
            kernel=kernel.name,
            dtype=dtype,
            device=self.name,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # There is one object of each: copies and pickles are that one.
        return (device_named, (self.name,))

    def __repr__(self) -> str:
        return f"<device {self.name}>"

    def __str__(self) -> str:
        return self.name


def out_of_memory(op: str, spec: Spec) -> OutOfMemoryError:
    """The error for an op whose result there is no memory for."""
    live = _native.memory_stats()["live_bytes"]
    return OutOfMemoryError(
        f"{op}: no memory for {spec!r}, {spec.nbytes:,} bytes beside the {live:,} in use",
        op=op,
        nbytes=spec.nbytes,
    )


DEVICES: dict[str, Device] = {}


def register_device(device: Device) -> Device:
    """Adds a device to the table under its name."""
    DEVICES[device.name] = device
    return device


def device_named(device: str | Device | None) -> Device:
    """The device of that name; None means the CPU."""
    if isinstance(device, Device):
        return device
    wanted: object = "cpu" if device is None else device
    found = DEVICES.get(wanted) if isinstance(wanted, str) else None
    if found is None:
        raise DeviceError(
            f"no device named {device!r}", hint=f"there is {', '.join(DEVICES)}", device=device
        )
    return found
