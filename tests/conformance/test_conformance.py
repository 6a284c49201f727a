"""Every op against its spec: values, gradients to second order, edges, devices, memory, tracing."""

import inspect
from collections import Counter
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.core.composite import COMPOSITES, Composite
from lumus.core.op import OPS
from lumus.core.tensor import Tensor
from lumus.errors import NonFiniteError
from lumus.nn import functional
from lumus.testing.op_spec import Case, Edge, OpSpec
from lumus.testing.sweep import (
    LAYOUTS,
    cases_of,
    check_agreement,
    check_alone,
    check_edge,
    check_forward,
    check_gradients,
    check_narrow_gradients,
    check_saved,
    elements,
    inputs_of,
    results_of,
)
from tests.conformance.table import DIFFERENTIABLE, EDGES, SPECS
from tests.core.printing import Printer, printing

DEVICES = ("cpu", "reference")
# One dtype of each kernel of its own is tried in every layout, the others dense.
IN_ALL_LAYOUTS = (lm.float64, lm.float32, lm.bfloat16, lm.int64, lm.uint8, lm.bool_)


# Their cases go below the normal numbers, where only NumPy's results are not zero.
BELOW_NORMAL = ("astype", "norm")


@pytest.fixture
def _as_numpy_at_the_ends(spec: OpSpec, request: pytest.FixtureRequest) -> None:
    if spec.name.split("(")[0] in BELOW_NORMAL:
        request.getfixturevalue("keeps_denormals")


@pytest.mark.usefixtures("_as_numpy_at_the_ends")
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_forward_gives_what_the_formula_gives(spec: OpSpec) -> None:
    for dtype in spec.dtypes:
        layouts = tuple(LAYOUTS) if dtype in IN_ALL_LAYOUTS else ("dense",)
        check_forward(spec, dtype, "cpu", layouts)
        check_forward(spec, dtype, "reference", ("dense",))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("spec", DIFFERENTIABLE, ids=str)
def test_gradients_agree_with_differences_to_second_order(spec: OpSpec, device: str) -> None:
    check_gradients(spec, device)


def edge_id(value: object) -> str:
    return value.label if isinstance(value, Edge) else str(value)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("spec", "edge"), EDGES, ids=edge_id)
def test_gradient_at_an_edge_is_the_convention(spec: OpSpec, edge: Edge, device: str) -> None:
    for dtype in (lm.float64, lm.float32):
        check_edge(spec, edge, device, dtype)


def has_finite_gradients(edge: Edge) -> bool:
    stated = [np.asarray(one, np.float64) for one in edge.expected if one is not None]
    return all(np.isfinite(one).all() for one in stated)


@pytest.mark.parametrize(
    ("spec", "edge"), [one for one in EDGES if has_finite_gradients(one[1])], ids=edge_id
)
def test_second_derivative_at_an_edge_is_finite_where_the_first_is(
    spec: OpSpec, edge: Edge
) -> None:
    case = Case(edge.label, tuple(np.asarray(one) for one in edge.inputs), edge.kwargs)
    inputs = inputs_of(spec, case, lm.float64, "cpu")
    inputs = [one.requires_grad_() if one.dtype.kind == "float" else one for one in inputs]
    (result,) = results_of(spec, case, inputs)
    incoming = lm.ones(result.shape, dtype=result.dtype, requires_grad=True)
    store = result.backward(incoming, create_graph=True)
    # By the inputs whose gradient the edge states; that of the others may well be infinite.
    stated = [
        one
        for one, want in zip(inputs, edge.expected, strict=True)
        if want is not None and store[one].requires_grad
    ]
    if not stated:
        return
    second = sum((store[one].sum() for one in stated), start=0.0).backward()
    for one in (*stated, incoming):
        if one in second:
            assert np.isfinite(elements(second[one])).all(), f"{spec}: {edge.label}"


@pytest.mark.parametrize("spec", DIFFERENTIABLE, ids=str)
def test_narrow_gradients_are_those_of_float64_rounded(spec: OpSpec) -> None:
    for dtype in spec.dtypes:
        if dtype.kind == "float" and dtype is not lm.float64:
            check_narrow_gradients(spec, dtype)


@pytest.mark.parametrize("spec", DIFFERENTIABLE, ids=str)
def test_gradient_of_one_input_alone_is_the_one_beside_the_others(spec: OpSpec) -> None:
    check_alone(spec)


@pytest.mark.usefixtures("_as_numpy_at_the_ends")
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_cpu_agrees_with_the_reference_in_values_and_gradients(spec: OpSpec) -> None:
    for dtype in spec.dtypes:
        if dtype.kind == "float":
            check_agreement(spec, dtype)


@pytest.mark.parametrize("spec", DIFFERENTIABLE, ids=str)
def test_graph_keeps_what_its_records_declare(spec: OpSpec) -> None:
    check_saved(spec)


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_hunt_for_values_that_are_not_finite_finds_none_where_there_are_none(spec: OpSpec) -> None:
    """Steps on the way that are not finite, in an op or a derivative, are no finds."""
    cases = cases_of(spec, spec.dtypes[0])
    cases += [
        Case(edge.label, tuple(np.asarray(one) for one in edge.inputs), edge.kwargs)
        for one, edge in EDGES
        if one is spec and has_finite_gradients(edge)
    ]
    for case in cases:
        inputs = inputs_of(spec, case, spec.dtypes[0], "cpu")
        if not all(np.isfinite(elements(one)).all() for one in inputs):
            continue
        try:
            with lm.inspect.check_finite():
                two_derivatives(spec, case)
        except NonFiniteError:
            with np.errstate(over="ignore"):  # what is differentiated are sums of their squares
                values = [one * one for one in two_derivatives(spec, case)]
            assert not all(np.isfinite(one).all() for one in values), f"{spec}: {case.label}"


# ---------------------------------------------------------------------------------------- tracing


def two_derivatives(spec: OpSpec, case: Case) -> list[Any]:
    """The results, the gradients, and the gradients of these, as arrays."""
    inputs = inputs_of(spec, case, spec.dtypes[0], "cpu")
    if spec.differentiable:
        inputs = [one.requires_grad_() if one.dtype.kind == "float" else one for one in inputs]
    results = results_of(spec, case, inputs)
    found: list[Tensor[Any]] = list(results)
    on_graph = [one for one in results if one.requires_grad]
    if on_graph:
        total = sum(((one * one).sum() for one in on_graph), start=0.0)
        store = total.backward(create_graph=True)
        first = [store[one] for one in inputs if one in store]
        found += first
        again = [(one * one).sum() for one in first if one.requires_grad]
        if again:
            second = sum(again, start=0.0).backward()
            found += [second[one] for one in inputs if one in second]
    return [elements(one) for one in found]


def traced(spec: OpSpec) -> Printer:
    """The ops that a spec runs; checks that printing changes no bit."""
    names = Printer()
    for case in cases_of(spec, spec.dtypes[0]):
        eager = two_derivatives(spec, case)
        with printing() as printer:
            printed = two_derivatives(spec, case)
        names.names += printer.names
        for got, want in zip(printed, eager, strict=True):
            assert got.tobytes() == want.tobytes(), f"{spec.name}: {case.label}"
    return names


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_traced_is_eager_and_runs_the_ops_that_the_spec_covers(spec: OpSpec) -> None:
    claimed = {*spec.covers, *({spec.name} & set(OPS))}
    assert claimed <= set(traced(spec).names)


# ---------------------------------------------------------------------------------- completeness


def test_every_op_has_a_spec() -> None:
    covered = {name for spec in SPECS for name in (spec.name, *spec.covers)}
    assert set(OPS) <= covered, f"ops without a spec: {sorted(set(OPS) - covered)}"


# Not computations on tensors, or tested by themselves.
WITHOUT_SPEC = {
    # the process, and random streams
    "Generator", "build_info", "empty_cache", "flushes_denormal", "memory_stats", "num_threads",
    "set_flush_denormal", "set_num_threads",
    "reset_peak_memory_stats",
    # functions of functions
    "compile", "custom_op", "load_program", "scan",
    # derivatives and modes
    "enable_grad", "grad", "is_grad_enabled", "no_grad", "value_and_grad",
    # creation has test_creation.py
    "arange", "empty", "empty_like", "eye", "full", "full_like", "linspace", "ones", "ones_like",
    "tensor", "zeros", "zeros_like",
    # frequencies have tests in test_creation.py
    "fftfreq", "rfftfreq",
    "sinusoidal_encoding",
    # interop
    "from_dlpack", "from_numpy",
    # each dtype has a spec of its own
    "astype",
}  # fmt: skip

COMPOSITES_WITHOUT_SPEC = {
    "backward", "copy_", "cut", "deep_copy", "dlpack_device", "from_numpy", "graph", "reduce",
    "replay", "repr", "to_device", "to_dlpack",
}  # fmt: skip


def test_every_public_function_has_a_spec() -> None:
    names = {spec.name for spec in SPECS}
    public = {
        name
        for module in (lm, functional, lm.linalg, lm.fft)
        for name in module.__all__
        if inspect.isfunction(getattr(module, name))
    }
    assert public - names <= WITHOUT_SPEC, sorted(public - names - WITHOUT_SPEC)


def test_every_composite_has_a_spec() -> None:
    composites: dict[str, Composite] = COMPOSITES
    names = {spec.name.replace("at.", "at_") for spec in SPECS}
    left = set(composites) - names - COMPOSITES_WITHOUT_SPEC
    assert not left, sorted(left)


def test_specs_have_names_of_their_own() -> None:
    counts = Counter(spec.name for spec in SPECS)
    assert not [name for name, count in counts.items() if count > 1]


def test_differentiable_ops_are_checked_for_gradients() -> None:
    checked = {name for spec in DIFFERENTIABLE for name in (spec.name, *spec.covers)}
    # Rounding is no smooth function: astype's gradient is checked at edges.
    unchecked = {name for name, op in OPS.items() if op.differentiable} - checked - {"astype"}
    assert not unchecked, sorted(unchecked)


def test_cases_are_the_same_for_the_same_seed() -> None:
    spec = DIFFERENTIABLE[0]
    first, second = cases_of(spec, lm.float64, 3), cases_of(spec, lm.float64, 3)
    other = cases_of(spec, lm.float64, 4)
    for one, same in zip(first, second, strict=True):
        assert all(
            np.array_equal(x, y, equal_nan=True)
            for x, y in zip(one.inputs, same.inputs, strict=True)
        )
    assert not np.array_equal(first[0].inputs[0], other[0].inputs[0])
