"""Op specs held against devices: values, gradients, agreement between devices, memory kept.

Each check raises CheckError for the first thing that does not hold, and returns None.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from lumus.core.dtypes import DType, bfloat16, float32, float64
from lumus.core.record import Node, Record
from lumus.core.runtime import memory_stats
from lumus.core.tensor import Tensor
from lumus.devices.reference.scalar import converted
from lumus.errors import CheckError
from lumus.ops.create.tensor import tensor
from lumus.testing.gradcheck import gradcheck
from lumus.testing.op_spec import SMALLEST, TOLERANCE, Array, Case, Edge, OpSpec, Source

Layout = Callable[[Array, Callable[[Array], Tensor[Any]]], Tensor[Any]]


def _dense(values: Array, make: Callable[[Array], Tensor[Any]]) -> Tensor[Any]:
    return make(values)


def _transposed(values: Array, make: Callable[[Array], Tensor[Any]]) -> Tensor[Any]:
    return make(values.T).permute_dims(tuple(range(values.ndim))[::-1])


def _reversed(values: Array, make: Callable[[Array], Tensor[Any]]) -> Tensor[Any]:
    return make(np.flip(values)).flip()


def _strided(values: Array, make: Callable[[Array], Tensor[Any]]) -> Tensor[Any]:
    if not values.ndim:
        return make(values)
    return make(np.repeat(values, 2, axis=-1))[..., ::2]


LAYOUTS: dict[str, Layout] = {
    "dense": _dense,
    "reversed": _reversed,
    "transposed": _transposed,
    "strided": _strided,
}
"""How the same elements can lie in memory."""


def cases_of(spec: OpSpec, dtype: DType[Any], seed: int = 0) -> list[Case]:
    """The spec's cases for a dtype; the same for the same seed."""
    random = np.random.default_rng([seed, zlib.crc32(spec.name.encode())])
    return list(spec.cases(Source(dtype, random)))


def inputs_of(
    spec: OpSpec, case: Case, dtype: DType[Any], device: str, layout: str = "dense"
) -> list[Tensor[Any]]:
    """The tensors of a case, laid out in memory as asked."""
    return [
        _laid_out(values, None if place in spec.fixed else dtype, device, LAYOUTS[layout])
        for place, values in enumerate(case.inputs)
    ]


def _laid_out(values: Array, dtype: DType[Any] | None, device: str, layout: Layout) -> Tensor[Any]:
    def make(one: Array) -> Tensor[Any]:
        made: Tensor[Any] = tensor(one, device=device)
        return made if dtype is None else made.astype(dtype)

    repeated = [
        stride == 0 and n > 1 for stride, n in zip(values.strides, values.shape, strict=True)
    ]
    if any(repeated):
        return make(
            values[tuple(slice(0, 1) if one else slice(None) for one in repeated)]
        ).broadcast_to(values.shape)
    return layout(values, make)


def elements(one: Tensor[Any]) -> Array:
    """What a formula is given and results are compared as: floats in float64."""
    plain = one.detach()
    if plain.dtype is bfloat16:
        plain = plain.astype(float32)
    array = np.array(plain.numpy())
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def results_of(spec: OpSpec, case: Case, inputs: Sequence[Tensor[Any]]) -> list[Tensor[Any]]:
    """What the op returns, as a list."""
    result = spec.function(*inputs, **case.kwargs)
    return list(result) if isinstance(result, list | tuple) else [result]


# ---------------------------------------------------------------------------------------- forward


def check_forward(
    spec: OpSpec, dtype: DType[Any], device: str = "cpu", layouts: Sequence[str] = tuple(LAYOUTS)
) -> None:
    """The op gives what the formula gives, in shape, dtype and elements, and changes no input."""
    for case in cases_of(spec, dtype):
        for layout in layouts:
            inputs = inputs_of(spec, case, dtype, device, layout)
            given = [elements(one) for one in inputs]
            results = results_of(spec, case, inputs)
            with np.errstate(all="ignore"):
                formula = spec.formula(*given, **case.kwargs)
            wanted = list(formula) if isinstance(formula, list | tuple) else [formula]
            where = f"{spec.name} on {device}, {dtype.name}, {layout}: {case.label}"
            if len(results) != len(wanted):
                raise CheckError(f"{where}: {len(results)} results, not {len(wanted)}")
            for result, want in zip(results, wanted, strict=True):
                _check_spec(result, np.shape(want), spec.result(dtype), where)
                rounded = _rounded(np.asarray(want), result.dtype)
                _check_close(
                    elements(result),
                    rounded,
                    result.dtype,
                    where,
                    tolerance=spec.tolerance,
                    absolute=spec.absolute,
                )
            for one, before in zip(inputs, given, strict=True):
                if not np.array_equal(elements(one), before, equal_nan=before.dtype.kind == "f"):
                    raise CheckError(f"{where}: an input was changed")


def _check_spec(result: Tensor[Any], shape: tuple[int, ...], dtype: DType[Any], where: str) -> None:
    if result.shape != shape or result.dtype is not dtype:
        raise CheckError(f"{where}: the result is {result.spec!r}, not {dtype.name}{list(shape)}")


def _rounded(want: Array, dtype: DType[Any]) -> Array:
    """The formula's result as the dtype would hold it."""
    array = converted(want, dtype) if want.dtype.kind == "f" else want.astype(dtype.numpy_name)
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def _check_close(
    got: Array, want: Array, dtype: DType[Any], where: str, *, tolerance: float, absolute: bool
) -> None:
    if got.dtype.kind != "f":
        wrong = got != want
        allowed = 0.0
    else:
        allowed = tolerance * TOLERANCE[dtype.name]
        size = np.maximum(np.abs(want), 1.0) if absolute else np.abs(want)
        smallest = SMALLEST[dtype.name] if allowed else 0.0
        with np.errstate(all="ignore"):
            off = np.abs(got - want) > allowed * size + smallest
            wrong = off | (np.isfinite(got) != np.isfinite(want))
            wrong |= np.isinf(want) & (got != want)
            wrong |= np.isnan(got) != np.isnan(want)
    if wrong.any():
        place = tuple(int(one) for one in np.argwhere(wrong)[0])
        raise CheckError(
            f"{where}: element {list(place)} is {got[place]!r}, not {want[place]!r} "
            f"(tolerance {allowed:.3g}; {int(wrong.sum())} of {wrong.size} are off)"
        )


# -------------------------------------------------------------------------------------- gradients


def check_gradients(spec: OpSpec, device: str = "cpu", *, order: int = 2) -> None:
    """The gradients agree with differences, to second order, at all smooth cases."""
    names = list(LAYOUTS)
    for number, case in enumerate(cases_of(spec, float64)):
        if not case.smooth:
            continue
        layout = names[number % len(names)]
        inputs = inputs_of(spec, case, float64, device, layout)
        try:
            gradcheck(
                lambda *given, case=case: results_of(spec, case, given),
                inputs,
                order=order,
                num_directions=1,
            )
        except CheckError as error:
            raise CheckError(f"{spec.name} on {device}, {layout}: {case.label}\n{error}") from error


def _check_gradient(got: Array, want: Array, spec: OpSpec, dtype: DType[Any], where: str) -> None:
    """Gradients are sums of products: errors are measured beside 1, with a few roundings more."""
    tolerance = 4 * max(spec.tolerance, 1.0)
    _check_close(got, want, dtype, where, tolerance=tolerance, absolute=True)


def check_edges(spec: OpSpec, device: str = "cpu", dtype: DType[Any] = float64) -> None:
    """The gradients at each of the spec's edges are those expected."""
    for edge in spec.edges:
        check_edge(spec, edge, device, dtype)


def check_edge(spec: OpSpec, edge: Edge, device: str = "cpu", dtype: DType[Any] = float64) -> None:
    """The gradients at an edge are those expected, NaN and infinities included."""
    inputs = tuple(np.asarray(one) for one in edge.inputs)
    case = Case(edge.label, inputs, edge.kwargs)
    tensors = [_requiring(one) for one in inputs_of(spec, case, dtype, device)]
    (result,) = results_of(spec, case, tensors)
    grad = np.ones(result.shape) if edge.grad is None else np.asarray(edge.grad, np.float64)
    incoming = tensor(np.broadcast_to(grad, result.shape), device=device).astype(result.dtype)
    store = result.backward(incoming)
    where = f"{spec.name} on {device}, {dtype.name}: gradient at {edge.label}"
    for place, (one, want) in enumerate(zip(tensors, edge.expected, strict=True)):
        if want is not None:
            expected = _rounded(np.broadcast_to(np.asarray(want, np.float64), one.shape), dtype)
            _check_gradient(elements(store[one]), expected, spec, dtype, f"{where}, input {place}")


def _requiring(one: Tensor[Any]) -> Tensor[Any]:
    return one.requires_grad_() if one.dtype.kind == "float" else one


def check_agreement(
    spec: OpSpec, dtype: DType[Any], device: str = "cpu", against: str = "reference"
) -> None:
    """Two devices give the same values and the same gradients, special values included."""
    for case in cases_of(spec, dtype):
        ours, theirs = (_values_and_gradients(spec, case, dtype, one) for one in (device, against))
        where = f"{spec.name}, {dtype.name}, {device} against {against}: {case.label}"
        for (name, got), (_, want) in zip(ours, theirs, strict=True):
            _check_gradient(got, want, spec, spec.result(dtype), f"{where}, {name}")


def check_alone(spec: OpSpec, device: str = "cpu") -> None:
    """The gradient of an input that alone requires grad is that beside the others, to the bit."""
    for case in cases_of(spec, float64):
        together = _gradients_of(spec, case, device, alone=None)
        if len(together) < 2:
            continue
        for place, want in together.items():
            got = _gradients_of(spec, case, device, alone=place)[place]
            if got.tobytes() != want.tobytes():
                raise CheckError(
                    f"{spec.name} on {device}: {case.label}: the gradient of input {place} alone "
                    f"is {got.tolist()}, beside the others {want.tolist()}"
                )


def _gradients_of(spec: OpSpec, case: Case, device: str, *, alone: int | None) -> dict[int, Array]:
    """The gradient of each Float input by its position, or of the one that is alone on a graph."""
    inputs = [
        _requiring(one) if alone in (None, place) else one
        for place, one in enumerate(inputs_of(spec, case, float64, device))
    ]
    random = np.random.default_rng(0)
    found: dict[int, Array] = {}
    for result in results_of(spec, case, inputs):
        # Drawn for each result, so that it is the same whichever of them are on a graph.
        incoming = tensor(random.uniform(-1, 1, result.shape), device=device)
        if not result.requires_grad:
            continue
        store = result.backward(incoming.astype(result.dtype), retain_graph=True)
        for place, one in enumerate(inputs):
            if one in store:
                found[place] = found.get(place, 0.0) + elements(store[one])
    return found


def check_narrow_gradients(spec: OpSpec, dtype: DType[Any], device: str = "cpu") -> None:
    """Gradients in a narrower dtype are those in float64 at the same point, but for rounding."""
    for case in cases_of(spec, float64):
        if not case.smooth:
            continue
        narrow = inputs_of(spec, case, dtype, device)
        wide = [one.astype(float64) if one.dtype.kind == "float" else one for one in narrow]
        ours, theirs = (_found(spec, case, inputs) for inputs in (narrow, wide))
        where = f"{spec.name} on {device}, {dtype.name} against float64: {case.label}"
        for (name, got), (_, want) in zip(ours, theirs, strict=True):
            # Intermediate results are rounded, too.
            _check_close(got, want, dtype, f"{where}, {name}", tolerance=16, absolute=True)


def _values_and_gradients(
    spec: OpSpec, case: Case, dtype: DType[Any], device: str
) -> list[tuple[str, Array]]:
    return _found(spec, case, inputs_of(spec, case, dtype, device))


def _found(spec: OpSpec, case: Case, inputs: Sequence[Tensor[Any]]) -> list[tuple[str, Array]]:
    """The results and, where the op has them, the gradients, each with its name."""
    if spec.differentiable:
        inputs = [_requiring(one) for one in inputs]
    results = results_of(spec, case, inputs)
    found = [(f"result {number}", elements(one)) for number, one in enumerate(results)]
    random = np.random.default_rng(0)
    for number, result in enumerate(results):
        if not result.requires_grad:
            continue
        # A few values that every dtype holds.
        incoming = tensor(random.choice([-1.0, 0.5, 1.0, 2.0], result.shape), device=result.device)
        store = result.backward(incoming.astype(result.dtype), retain_graph=True)
        found += [
            (f"gradient of input {place} by result {number}", elements(store[one]))
            for place, one in enumerate(inputs)
            if one in store
        ]
    return found


# ----------------------------------------------------------------------------------------- memory


def check_saved(spec: OpSpec, device: str = "cpu") -> None:
    """What a graph keeps alive is what its records declare, and nothing more."""
    for case in cases_of(spec, float64):
        _graph_alone(spec, case, device)  # the first run fills caches, of constants for example
        before = memory_stats()
        roots, sizes = _graph_alone(spec, case, device)
        after = memory_stats()
        declared = {
            saved.data.storage_id: saved for node in _nodes(roots) for saved in _declared(node)
        }
        held = {name: after[name] - before[name] for name in ("live_storages", "live_bytes")}
        where = f"{spec.name} on {device}: {case.label}: the graph keeps"
        if held["live_storages"] > len(declared):
            raise CheckError(
                f"{where} {held['live_storages']} pieces of memory, its records declare "
                f"{len(declared)}: {list(declared.values())}"
            )
        if all(one.data.is_whole or one.data.storage_id in sizes for one in declared.values()):
            allowed = sum(
                sizes[place] if place in sizes else one.nbytes for place, one in declared.items()
            )
            if held["live_bytes"] > allowed:
                raise CheckError(
                    f"{where} {held['live_bytes']} bytes, its records declare {allowed}"
                )


def _graph_alone(spec: OpSpec, case: Case, device: str) -> tuple[list[Node], dict[int, int]]:
    """The nodes of the results, with inputs and results gone; the bytes that the inputs had."""
    inputs = [_requiring(one) for one in inputs_of(spec, case, float64, device)]
    sizes = {one.data.storage_id: one.nbytes for one in inputs if one.data.is_whole}
    results = results_of(spec, case, inputs)
    return [one.node for one in results if one.node is not None], sizes


def _nodes(roots: Sequence[Node]) -> Iterator[Node]:
    pending, seen = list(roots), set(roots)
    while pending:
        node = pending.pop()
        yield node
        for source, _ in node.edges:
            if source not in seen:
                seen.add(source)
                pending.append(source)


def _declared(node: Node) -> list[Any]:
    if not isinstance(node.record, Record):
        return []
    return [saved for _, saved in node.record.saved()]
