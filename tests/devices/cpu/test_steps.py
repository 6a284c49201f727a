"""Steps of compiled programs give what eager kernels give, to the bit, also in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus import _native
from lumus.core import device as devices
from lumus.core.device import Run
from lumus.core.kernels import Kernel
from lumus.core.spec import Spec
from lumus.devices.cpu.device import CpuDevice
from lumus.testing.op_spec import OpSpec
from lumus.testing.sweep import check_agreement, check_forward
from tests.conformance.table import SPECS

Specs = tuple[Spec, ...]


class SteppedDevice(CpuDevice):
    """The CPU, which after each kernel runs the step of that kernel and compares."""

    name = "stepped"

    def prepare(self, kernel: Kernel, inputs: Specs, outputs: Specs) -> Run:
        run = super().prepare(kernel, inputs, outputs)
        step = self.prepare_step(kernel, inputs, outputs)
        if step is None:
            return run

        def checked(*data: Any) -> Any:
            made = run(*data)
            wanted = list(made) if isinstance(made, tuple) else [made]
            compare(step, list(data), wanted, kernel)
            return made

        return checked


def compare(
    step: _native.Step, data: list[_native.Array], wanted: list[_native.Array], kernel: Kernel
) -> None:
    """Raises unless the step gives these results, also where one lies on an input."""
    found = [_native.empty(one.dtype, one.shape) for one in wanted]
    step.run(data, found)
    assert [elements(one) for one in found] == [elements(one) for one in wanted], kernel
    for place, one in enumerate(data):
        same = (one.dtype, one.shape) == (wanted[0].dtype, wanted[0].shape)
        if step.may_overwrite(place) and same:
            overwritten = _native.copy(one)
            given = [*data[:place], overwritten, *data[place + 1 :]]
            outputs = [overwritten, *found[1:]]
            step.run(given, outputs)
            assert [elements(each) for each in outputs] == [elements(each) for each in wanted]


def elements(array: _native.Array) -> bytes:
    return np.asarray(array).tobytes()


@pytest.fixture
def stepped() -> Iterator[str]:
    device = SteppedDevice()
    devices.register_device(device)
    yield device.name
    del devices.DEVICES[device.name]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_step_gives_what_the_eager_kernel_gives(spec: OpSpec, stepped: str) -> None:
    for dtype in spec.dtypes:
        if dtype in (lm.float32, lm.bfloat16, lm.int64, lm.bool_):
            check_forward(spec, dtype, stepped, ("reversed",))
    if spec.differentiable:
        check_agreement(spec, lm.float32, stepped, against="cpu")
