"""Normalisation: from the definitions, a group at a time."""

import itertools
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

import lumus as lm
from lumus.nn import functional
from lumus.testing.op_spec import Case, Domain, Edge, OpSpec, Source

# Deviations far above the root of eps: the derivatives are checked by differences.
SPREAD = Domain(low=-3.0, high=3.0)
ROOT_OF_EPS = math.sqrt(1e5)


def normalized(values: Any, eps: float, mean: Any = None, variance: Any = None) -> Any:
    """All of `values` by one mean and variance: their own unless given."""
    if not values.size:
        return values
    mean = math.fsum(values.ravel()) / values.size if mean is None else mean
    differences = values - mean
    if variance is None:
        variance = np.sum(differences * differences) / values.size
    return differences / np.sqrt(variance + eps)


def per_channel(x: Any, values: Any) -> Any:
    return values.reshape((1, -1) + (1,) * (x.ndim - 2))


def layer_norm(
    x: Any, weight: Any = None, bias: Any = None, *, axes: int, eps: float = 1e-5
) -> Any:
    y = np.empty_like(x)
    for place in np.ndindex(x.shape[:-axes]):
        y[place] = normalized(x[place], eps)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def rms_norm(x: Any, weight: Any = None, *, axes: int, eps: float) -> Any:
    y = np.empty_like(x)
    for place in np.ndindex(x.shape[:-axes]):
        y[place] = normalized(x[place], eps, 0.0)
    return y if weight is None else y * weight


def group_norm(
    x: Any, weight: Any = None, bias: Any = None, *, groups: int, eps: float = 1e-5
) -> Any:
    y = np.empty_like(x)
    for example, group in itertools.product(range(len(x)), range(groups)):
        size = x.shape[1] // groups
        channels = slice(group * size, (group + 1) * size)
        y[example, channels] = normalized(x[example, channels], eps)
    y = y if weight is None else y * per_channel(x, weight)
    return y if bias is None else y + per_channel(x, bias)


def batch_norm(
    x: Any, weight: Any = None, bias: Any = None, *, training: bool = True, eps: float = 1e-5
) -> Any:
    y = np.empty_like(x)
    for channel in range(x.shape[1]):
        given = () if training else [one[channel] for one in running(x.shape[1])]
        y[:, channel] = normalized(x[:, channel], eps, *given)
    y = y if weight is None else y * per_channel(x, weight)
    return y if bias is None else y + per_channel(x, bias)


def running(channels: int) -> tuple[Any, Any]:
    return np.linspace(-1.0, 0.5, channels), np.linspace(0.25, 2.0, channels)


def run_layer_norm(x: Any, *affine: Any, axes: int, **kwargs: Any) -> Any:
    return functional.layer_norm(x, x.shape[-axes:], *affine, **kwargs)


def run_rms_norm(x: Any, *affine: Any, axes: int, **kwargs: Any) -> Any:
    return functional.rms_norm(x, x.shape[-axes:], *affine, **kwargs)


def run_group_norm(x: Any, *affine: Any, groups: int, **kwargs: Any) -> Any:
    return functional.group_norm(x, groups, *affine, **kwargs)


def run_batch_norm(x: Any, *affine: Any, training: bool = True, **kwargs: Any) -> Any:
    statistics: Any = (None, None)
    if not training:
        statistics = [lm.tensor(one, device=x.device) for one in running(x.shape[1])]
    return functional.batch_norm(x, *statistics, *affine, training=training, **kwargs)


def run_instance_norm(x: Any, *affine: Any, use_input_stats: bool = True, **kwargs: Any) -> Any:
    statistics: Any = (None, None)
    if not use_input_stats:
        statistics = [lm.tensor(one, device=x.device) for one in running(x.shape[1])]
    return functional.instance_norm(
        x, *statistics, *affine, use_input_stats=use_input_stats, **kwargs
    )


def instance_norm(x: Any, *affine: Any, use_input_stats: bool = True, eps: float = 1e-5) -> Any:
    if not use_input_stats:
        return batch_norm(x, *affine, training=False, eps=eps)
    return group_norm(x, *affine, groups=x.shape[1], eps=eps)


def with_affine(
    source: Source, shape: tuple[int, ...], affine: tuple[int, ...], count: int, **kwargs: Any
) -> Case:
    """x of `shape`, and `count` of weight and bias."""
    inputs = [source.draw(shape, SPREAD)]
    inputs += [source.draw(affine, Domain(low=-2.0, high=2.0)) for _ in range(count)]
    return Case(f"shape {shape}, {count} of weight and bias, {kwargs}", tuple(inputs), kwargs)


def trailing_cases(source: Source) -> Iterable[Case]:
    for shape, axes, count in (
        ((5,), 1, 2), ((4, 7), 1, 2), ((2, 3, 4), 2, 2), ((2, 3, 4), 3, 1), ((3, 1), 1, 2),
        ((3, 40), 1, 0), ((0, 4), 1, 2), ((2, 0), 1, 2), ((1, 1, 6), 1, 1), ((66, 3), 1, 2),
    ):  # fmt: skip
        yield with_affine(source, shape, shape[-axes:], count, axes=axes, eps=0.25)
    repeated = np.broadcast_to(source.draw((3, 1), SPREAD), (3, 4))
    yield Case("stride 0", (repeated,), {"axes": 1, "eps": 1e-5}, smooth=False)
    rows = np.tile(source.draw((1, 4), SPREAD), (3, 1))
    rows[:, 2] = (math.inf, -math.inf, math.nan)
    yield Case("special values", (rows,), {"axes": 1, "eps": 1e-5}, smooth=False)


def rms_cases(source: Source) -> Iterable[Case]:
    return (
        Case(case.label, case.inputs[:2], case.kwargs, case.smooth)
        for case in trailing_cases(source)
        if case.smooth or case.label == "stride 0"
    )


def group_cases(source: Source) -> Iterable[Case]:
    for shape, groups, count in (
        ((2, 4), 2, 2), ((3, 6, 2), 3, 2), ((2, 4, 5, 3), 2, 1), ((2, 4, 3, 6), 1, 2),
        ((2, 3, 2, 1, 2), 3, 0), ((0, 4, 2), 2, 2), ((2, 4, 0), 2, 2), ((1, 2, 17), 2, 2),
        ((67, 2), 1, 2),
    ):  # fmt: skip
        yield with_affine(source, shape, shape[1:2], count, groups=groups, eps=0.25)


BATCHES: tuple[tuple[tuple[int, ...], int], ...] = (
    ((4, 3), 2), ((2, 3, 5), 2), ((3, 2, 4, 5), 2), ((2, 2, 3, 2, 2), 1), ((2, 3, 4, 4), 0),
    ((66, 2), 2), ((1, 2, 18), 2), ((2, 67), 1),
)  # fmt: skip


def batch_cases(source: Source) -> Iterable[Case]:
    for shape, count in BATCHES:
        for training in (True, False):
            yield with_affine(source, shape, shape[1:2], count, training=training, eps=0.25)
    for shape in ((0, 3), (1, 3), (1, 2, 1, 1), (2, 3, 0)):
        yield with_affine(source, shape, shape[1:2], 2, training=False)
    yield with_affine(source, (2, 0, 3), (0,), 2)
    columns = np.tile(source.draw((1, 4), SPREAD), (3, 1)).T.copy()
    columns[2] = (math.inf, -math.inf, math.nan)
    yield Case("special values", (columns,), {"training": True}, smooth=False)
    yield Case("special values", (columns,), {"training": False}, smooth=False)


def instance_cases(source: Source) -> Iterable[Case]:
    for shape, count in (((2, 3, 5), 2), ((3, 2, 4, 5), 0), ((2, 2, 3, 2, 2), 1), ((0, 2, 3), 2)):
        for use_input_stats in (True, False):
            yield with_affine(
                source, shape, shape[1:2], count, use_input_stats=use_input_stats, eps=0.25
            )


def local_response_norm(x: Any, *, size: int, alpha: float, beta: float, k: float) -> Any:
    y = np.empty_like(x)
    for channel in range(x.shape[1]):
        low, high = max(0, channel - size // 2), channel + (size - 1) // 2 + 1
        total = (x[:, low:high] ** 2).sum(axis=1)
        y[:, channel] = x[:, channel] / (k + alpha / size * total) ** beta
    return y


def response_cases(source: Source) -> Iterable[Case]:
    kwargs = {"alpha": 0.5, "beta": 0.75, "k": 1.5}
    for shape, size in (
        ((2, 5), 3), ((2, 6, 3), 4), ((1, 3, 2, 2), 7), ((2, 1, 3), 2), ((2, 3, 4), 1),
        ((0, 3, 2), 2), ((2, 0), 3),
    ):  # fmt: skip
        yield Case(f"shape {shape}, {size}", (source.draw(shape),), {**kwargs, "size": size})
    channels = source.draw((1, 9))
    channels[0, 4] = math.nan
    yield Case("a NaN reaches its neighbours only", (channels,), {**kwargs, "size": 3}, False)


def normalize(x: Any, p: float = 2.0, axis: Any = 1, *, eps: float = 1e-12) -> Any:
    if math.isinf(p):
        length = np.max(np.abs(x), axis=axis, keepdims=True, initial=0.0)
    else:
        length = (np.abs(x) ** p).sum(axis=axis, keepdims=True) ** (1 / p)
    return x / np.maximum(length, eps)


def vector_cases(source: Source) -> Iterable[Case]:
    for shape, kwargs in (
        ((2, 5), {}), ((2, 3, 4), {"p": 3.0, "axis": -1}), ((2, 3, 4), {"p": 1.0, "axis": (0, 2)}),
        ((4,), {"axis": 0, "p": math.inf}), ((2, 3), {"eps": 100.0}), ((0, 3), {}), ((3, 0), {}),
    ):  # fmt: skip
        apart = Domain(avoid=(0.0,), margin=0.3)
        yield Case(f"shape {shape}, {kwargs}", (source.draw(shape, apart),), kwargs)


LAYER = {"axes": 1}

SPECS = [
    OpSpec(
        name="layer_norm",
        function=run_layer_norm,
        formula=layer_norm,
        cases=trailing_cases,
        covers=("normalization_grad",),
        absolute=True,
        tolerance=4,
        edges=(
            Edge(
                "equal elements",
                ([5.0, 5.0, 5.0],),
                ([-ROOT_OF_EPS, 0.0, ROOT_OF_EPS],),
                [1.0, 2.0, 3.0],
                LAYER,
            ),
            Edge("one element", ([3.0],), ([0.0],), [2.0], LAYER),
        ),
    ),
    OpSpec(
        name="rms_norm",
        function=run_rms_norm,
        formula=rms_norm,
        cases=rms_cases,
        absolute=True,
        tolerance=4,
        edges=(
            Edge(
                "zeros",
                ([0.0, 0.0],),
                ([1e3, 2e3],),
                [1.0, 2.0],
                {"axes": 1, "eps": 1e-6},
            ),
        ),
    ),
    OpSpec(
        name="group_norm",
        function=run_group_norm,
        formula=group_norm,
        cases=group_cases,
        absolute=True,
        tolerance=4,
    ),
    OpSpec(
        name="batch_norm",
        function=run_batch_norm,
        formula=batch_norm,
        cases=batch_cases,
        covers=("batch_norm_inference",),
        absolute=True,
        tolerance=4,
    ),
    OpSpec(
        name="instance_norm",
        function=run_instance_norm,
        formula=instance_norm,
        cases=instance_cases,
        absolute=True,
        tolerance=4,
    ),
    OpSpec(
        name="local_response_norm",
        function=functional.local_response_norm,
        formula=local_response_norm,
        cases=response_cases,
        tolerance=2,
        absolute=True,
    ),
    OpSpec(
        name="normalize",
        function=functional.normalize,
        formula=normalize,
        cases=vector_cases,
        tolerance=2,
        absolute=True,
        edges=(Edge("zeros", ([[0.0, 0.0]],), ([[10.0, 20.0]],), [[1.0, 2.0]], {"eps": 0.1}),),
    ),
]
