"""The sweeps find what is wrong with an op, and name the case."""

import dataclasses
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.core.dispatch import apply
from lumus.core.kinds import Float
from lumus.core.op import OPS, ElementwiseOp, Needs
from lumus.core.record import Record, record
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor
from lumus.errors import CheckError
from lumus.testing.op_spec import (
    Case,
    Domain,
    Edge,
    OpSpec,
    Source,
    elementwise_cases,
    joined,
    reduction_cases,
    rough,
)
from lumus.testing.sweep import (
    LAYOUTS,
    cases_of,
    check_agreement,
    check_alone,
    check_edges,
    check_forward,
    check_gradients,
    check_saved,
    inputs_of,
)

EXP = OpSpec(name="exp", function=lm.exp, formula=np.exp, cases=elementwise_cases())


def changed(**fields: Any) -> OpSpec:
    return dataclasses.replace(EXP, **fields)


def test_check_forward_right_op_passes_on_all_dtypes_and_layouts() -> None:
    for dtype in EXP.dtypes:
        check_forward(EXP, dtype)


def test_check_forward_wrong_value_names_case_and_element() -> None:
    off = changed(formula=lambda x: np.exp(x) * np.where(x > 1.5, 1 + 1e-9, 1))
    with pytest.raises(CheckError, match=r"exp on cpu, float64, dense: .*element \[.*tolerance"):
        check_forward(off, lm.float64)


def test_check_forward_wrong_shape_dtype_and_count_are_found() -> None:
    with pytest.raises(CheckError, match=r"float32\[1\], not float32\[\]"):
        check_forward(changed(function=lambda x: x.exp().reshape(1)), lm.float32)
    with pytest.raises(CheckError, match=r"the result is float64\[\], not float32"):
        check_forward(changed(function=lambda x: x.exp().astype(lm.float64)), lm.float32)
    with pytest.raises(CheckError, match="2 results, not 1"):
        check_forward(changed(function=lambda x: [x.exp(), x]), lm.float32)


def test_check_forward_changed_input_is_found() -> None:
    def overwriting(x: Any) -> Any:
        result = x.exp()
        x.zero_()
        return result

    with pytest.raises(CheckError, match="an input was changed"):
        check_forward(
            changed(function=overwriting, cases=elementwise_cases(Domain(low=1.0))), lm.float64,
            layouts=("strided",),
        )  # fmt: skip


def test_check_forward_nan_instead_of_a_number_is_found() -> None:
    with pytest.raises(CheckError, match="nan"):
        check_forward(changed(function=lambda x: x.exp() - x.exp()[...] * 0.0), lm.float64)


def test_check_gradients_wrong_gradient_names_the_layout() -> None:
    with pytest.raises(CheckError, match=r"exp on cpu, dense: all of shape \(\)"):
        check_gradients(changed(function=lambda x: x.exp() + (x * x).detach()))


def test_check_edges_wrong_convention_is_found() -> None:
    spec = changed(edges=(Edge("zero", ([0.0],), ([0.5],)),))
    with pytest.raises(CheckError, match=r"gradient at zero, input 0: element \[0\] is .*1.0"):
        check_edges(spec)


def test_check_agreement_devices_that_differ_are_found() -> None:
    def partial(x: Any) -> Any:
        return x.exp() if x.device.name == "cpu" else x.exp() + 1.0

    with pytest.raises(CheckError, match="cpu against reference"):
        check_agreement(changed(function=partial), lm.float64)


@record
class ForgetfulRecord(Record):
    """d (x + y) = grad to each; wrong for x unless y is on the graph."""

    needs: Needs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (grad if self.needs[1] else grad * 0.0, grad if self.needs[1] else None)


class ForgetfulOp(ElementwiseOp):
    name = "forgetful"
    scalar = expression(lambda x, y: x + y)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return ForgetfulRecord(needs)


def test_check_alone_wrong_use_of_needs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPS, "forgetful", ForgetfulOp())

    def cases(source: Source) -> list[Case]:
        return [Case("pair", (source.draw((3,)), source.draw((3,))))]

    spec = changed(function=lambda x, y: apply("forgetful", x, y), cases=cases)
    with pytest.raises(CheckError, match="pair: the gradient of input 0 alone is"):
        check_alone(spec)


@record
class HoardingRecord(Record):
    """Keeps a tensor that it does not declare as saved."""

    kept: object

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (grad,)


class HoardingOp(ElementwiseOp):
    name = "hoarding"
    scalar = expression(lambda x: x + 0.0)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return HoardingRecord(output.data)


def test_check_saved_memory_kept_undeclared_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPS, "hoarding", HoardingOp())
    with pytest.raises(CheckError, match="pieces of memory, its records declare 0"):
        check_saved(changed(function=lambda x: apply("hoarding", x)))


def test_layouts_hold_the_same_elements_with_other_strides() -> None:
    values = np.arange(6.0).reshape(2, 3)
    spec = changed(cases=lambda source: [Case("one", (values,))])
    (case,) = cases_of(spec, lm.float32)
    seen = set()
    for layout in LAYOUTS:
        (one,) = inputs_of(spec, case, lm.float32, "cpu", layout)
        assert one.tolist() == values.tolist()
        seen.add(one.data.strides)
    assert seen == {(3, 1), (-3, -1), (1, 2), (6, 2)}


def test_repeated_memory_stays_repeated() -> None:
    values = np.broadcast_to(np.arange(3.0), (4, 3))
    spec = changed(cases=lambda source: [Case("one", (values,))])
    (one,) = inputs_of(spec, cases_of(spec, lm.bfloat16)[0], lm.bfloat16, "cpu")
    assert one.data.strides == (0, 1)
    assert one.tolist() == values.tolist()


def test_domain_keeps_its_distance_from_points_to_avoid() -> None:
    spec = changed(cases=elementwise_cases(Domain(avoid=(0.0, 1.0), margin=0.1, specials=())))
    drawn = np.concatenate([case.inputs[0].ravel() for case in cases_of(spec, lm.float64)])
    assert min(np.abs(drawn).min(), np.abs(drawn - 1).min()) >= 0.1 - 1e-12


def test_rough_cases_are_left_out_of_gradients() -> None:
    parts = joined(reduction_cases(), rough(reduction_cases()))
    cases = cases_of(changed(cases=parts), lm.float64)
    half = len(cases) // 2
    assert [one.label for one in cases[:half]] == [one.label for one in cases[half:]]
    assert any(one.smooth for one in cases[:half])
    assert not any(one.smooth for one in cases[half:])
