"""The reference device has every kernel, shares memory and fails as the CPU does."""

import sys
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.core.construct import new_tensor
from lumus.core.device import device_named
from lumus.core.dtypes import DType
from lumus.core.kernels.elementwise import Elementwise
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.outside import Callback
from lumus.core.kernels.product import MatMul, WithEpilogue
from lumus.core.kernels.reduction import Reduce
from lumus.core.scalar.expressions import expression
from lumus.core.spec import spec_of
from lumus.core.write import update
from lumus.devices.cpu.device import TABLE as CPU_TABLE
from lumus.devices.reference.device import TABLE, VIEWS
from lumus.testing.sweep import elements

CPU, REFERENCE = device_named("cpu"), device_named("reference")


def vocabulary() -> set[type[Kernel]]:
    """The kernels of lumus.core, which has them by family."""
    core = [module for name, module in sys.modules.items() if name.startswith("lumus.core.")]
    return {
        value
        for module in core
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Kernel) and value is not Kernel
    }


def test_reference_has_every_kernel_of_the_vocabulary() -> None:
    assert {*TABLE, *VIEWS, Callback, Elementwise, WithEpilogue} == vocabulary()


def test_cpu_has_every_kernel_of_the_vocabulary() -> None:
    assert set(CPU_TABLE) == vocabulary()


def test_an_epilogue_reads_the_product_rounded_to_its_dtype() -> None:
    specs = tuple(spec_of(shape, lm.float16, REFERENCE) for shape in ((1, 2), (2, 1), (1,), (1, 1)))
    data = [
        REFERENCE.copy_in(np.array(values, np.float16), spec)
        for values, spec in zip(([[2048, 1]], [[1], [1]], [-2048]), specs, strict=False)
    ]
    kernel = WithEpilogue(MatMul(), expression(lambda x, y: x + y))
    made = REFERENCE.prepare(kernel, specs[:3], specs[3:])(*data)
    assert np.asarray(made).tolist() == [[0.0]]  # 2049 is no float16


def test_unknown_kernel_is_an_error_that_names_it() -> None:
    class Fancy(Kernel):
        pass

    spec = spec_of((2,), lm.float32, REFERENCE)
    with pytest.raises(lm.errors.UnsupportedOnDeviceError, match="kernel Fancy for float32"):
        REFERENCE.prepare(Fancy(), (spec,), (spec,))


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.reshape(6),
        lambda x: x.T,
        lambda x: x[::-1, 1:],
        lambda x: x.broadcast_to(4, 2, 3),
        lambda x: x.expand_dims(0),
    ],
)
def test_views_share_memory(device: str, view: Any) -> None:
    x = lm.zeros((2, 3), device=device)
    seen = view(x)
    x.fill_(7.0)
    assert seen.data.storage_id == x.data.storage_id
    assert np.unique(elements(seen)).tolist() == [7.0]


def test_writes_to_the_reference_are_noticed_by_backward() -> None:
    x = lm.ones((2,), device="reference", requires_grad=True)
    y = lm.ones((2,), device="reference")
    product = (x * y).sum()
    y.add_(1.0)
    with pytest.raises(lm.errors.SavedTensorMutatedError):
        product.backward()


MOMENTUM = expression(lambda p, m, g: (p - 0.1 * (0.9 * m + g), 0.9 * m + g))


@pytest.mark.parametrize("dtype", [lm.float64, lm.float32, lm.float16, lm.bfloat16], ids=str)
def test_update_of_several_targets_agrees_with_the_cpu(dtype: DType) -> None:
    found = []
    for device in ("cpu", "reference"):
        p, m, g = (
            lm.arange(start, start + 5.0, device=device).astype(dtype) for start in (1.0, 2.0, 3.0)
        )
        with lm.no_grad():
            update("step", MOMENTUM, (p, m), (p, m, g))
        found.append(np.stack([elements(p), elements(m)]))
    unit = {"float64": 1e-15, "float32": 1e-6, "float16": 1e-3, "bfloat16": 8e-3}[dtype.name]
    np.testing.assert_allclose(*found, rtol=unit)


SQUARED_DIFFERENCE = expression(lambda x, y: (x - y) * (x - y))


@pytest.mark.parametrize("dtype", [lm.float64, lm.float32, lm.float16, lm.bfloat16], ids=str)
def test_reduction_of_an_expression_agrees_with_numpy_on_both_devices(dtype: DType) -> None:
    x_values, y_values = np.arange(12.0).reshape(3, 4) / 4, np.arange(4.0) / 8
    want = ((x_values - y_values) ** 2).sum(axis=1)
    for device in (CPU, REFERENCE):
        x, y = (lm.tensor(one, device=device).astype(dtype) for one in (x_values, y_values))
        output = spec_of((3,), dtype, device)
        kernel = Reduce("sum", (1,), False, SQUARED_DIFFERENCE)
        data = device.prepare(kernel, (x.spec, y.spec), (output,))(x.data, y.data)
        made = elements(new_tensor(data, output))
        np.testing.assert_allclose(made, want, rtol=8e-3 if dtype.itemsize == 2 else 1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.take([1, 5]),
        lambda x: x.take_along_axis(lm.tensor([[0, -4]] * 2, device=x.device), axis=1),
        lambda x: x[lm.tensor([0, 2], device=x.device)],
        lambda x: x.at[lm.tensor([0, 9], device=x.device)].set(0.0),
        lambda x: x.index_add(lm.tensor([7], device=x.device), x[:1]),
        lambda x: x.scatter_add(lm.tensor([[0, 0, -9]], device=x.device), x[:1]),
    ],
)
def test_index_out_of_range_has_one_text_on_both_devices(call: Any) -> None:
    texts = []
    for device in ("cpu", "reference"):
        x = lm.zeros((2, 3), device=device)
        with pytest.raises(lm.errors.IndexRangeError) as error:
            call(x)
        texts.append(str(error.value))
        assert not x.sum().item()
    assert texts[0] == texts[1]
