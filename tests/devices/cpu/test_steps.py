"""Steps of compiled programs give what eager kernels give, to the bit, also in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus import _native
from lumus.core import device as devices
from lumus.core import kernels
from lumus.core.device import Run
from lumus.core.kernels.kernel import Kernel
from lumus.core.spec import Spec
from lumus.devices.cpu import fft, linalg, pooling
from lumus.devices.cpu.device import TABLE, CpuDevice
from lumus.devices.cpu.steps import STEPS
from lumus.testing.op_spec import OpSpec
from lumus.testing.sweep import cases_of, inputs_of, results_of
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
    for dtype in (lm.float32, lm.bfloat16, lm.int32):
        if dtype not in spec.dtypes:
            continue
        for case in cases_of(spec, dtype):
            inputs = inputs_of(spec, case, dtype, stepped, "reversed")
            if spec.differentiable:
                inputs = [x.requires_grad_() if x.dtype.kind == "float" else x for x in inputs]
            for result in results_of(spec, case, inputs):
                if result.requires_grad:
                    result.backward(lm.ones_like(result), retain_graph=True)


def test_every_kernel_has_a_step_but_views_and_what_numpy_and_lapack_compute() -> None:
    views = {"BroadcastTo", "Permute", "Reshape", "Slice", "Windows"}
    in_python = {"Callback", *(one.__name__ for one in (*fft.TABLE, *linalg.TABLE))}
    assert {one.__name__ for one in TABLE} - {one.__name__ for one in STEPS} == views | in_python


def test_places_of_a_pool_are_taken_by_the_step() -> None:
    axis = kernels.PoolAxis(length=5, count=2, window=2, stride=2, padding=0, dilation=1)
    x, places = lm.tensor([[1.0, 2.0, 5.0, 4.0, 3.0]]), lm.tensor([[1, 0]]).astype(lm.uint8)
    step = pooling.STEPS[kernels.MaxPoolTake](
        kernels.MaxPoolTake((axis,)), (x.spec, places.spec), (x.spec.with_shape((1, 2)),)
    )
    taken = lm.zeros((1, 2))
    step.run([x.data, places.data], [taken.data])
    assert taken.tolist() == [[2.0, 5.0]]


def test_index_out_of_range_is_told_by_the_step_of_each_kernel() -> None:
    table, ids = lm.zeros((4, 3)), lm.tensor([0, 2, 4])
    steps = [
        (_native.embedding_step(), [ids.data, table.data], (4, 4, (2,), 0, -1)),
        (_native.index_step(1), [table.data, ids.data], (4, 4, (2,), 0, -1)),
        (
            _native.cross_entropy_step(None, 0.0, 0),
            [lm.zeros((3, 4)).data, ids.data],
            (4, 4, (2,), 1, -1),
        ),
    ]
    for step, inputs, told in steps:
        outputs = [lm.zeros((3, 3)), lm.zeros((3, 2)), lm.zeros((), dtype=lm.float64)]
        with pytest.raises(_native.IndexOutOfRange) as raised:
            step.run(inputs, [one.data for one in outputs[: step.num_outputs]])
        assert raised.value.args == told


def test_step_run_gives_new_arrays_and_counts_them() -> None:
    x = lm.tensor([1.0, 2.0]).data
    run = _native.StepRun(_native.copy_step(), [(lm.float32.code, (3, 2))])
    assert np.asarray(run(x)).tolist() == [[1.0, 2.0]] * 3
    with pytest.raises(ValueError, match="another number of arrays"):
        run(x, x)
    with pytest.raises(ValueError, match="another number of outputs"):
        _native.StepRun(_native.copy_step(), [])
