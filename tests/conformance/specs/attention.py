"""Attention: a sum over keys for each query, written out in 80 bits."""

from collections.abc import Iterable
from typing import Any

import numpy as np

import lumus as lm
from lumus.testing.op_spec import Case, Edge, OpSpec, Source

# query, key and value; options. Blocks are of 64 queries and 64 keys: one case has several.
SHAPES: tuple[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], dict[str, Any]], ...] = (
    ((3, 2), (4, 2), (4, 5), {}),
    ((3, 2), (5, 2), (5, 1), {"is_causal": True}),
    ((5, 3), (3, 3), (3, 3), {"is_causal": True, "scale": -0.7}),
    ((1, 1), (1, 1), (1, 1), {}),
    ((2, 3, 4), (2, 3, 4), (2, 3, 4), {"scale": 0.0}),
    ((2, 2, 3, 4), (2, 2, 5, 4), (2, 2, 5, 3), {}),
    ((2, 4, 3, 2), (2, 2, 4, 2), (2, 2, 4, 3), {"enable_gqa": True}),
    ((4, 3, 2), (1, 4, 2), (4, 2), {}),
    ((3, 2), (2, 4, 2), (3, 1, 4, 2), {}),
    ((2, 3, 1, 2), (2, 1, 4, 2), (3, 4, 2), {}),
    ((0, 3, 2), (0, 4, 2), (0, 4, 2), {}),
    ((0, 2), (4, 2), (4, 3), {}),
    ((3, 2), (0, 2), (0, 3), {}),
    ((3, 0), (4, 0), (4, 2), {}),
    ((3, 2), (4, 2), (4, 0), {}),
    ((70, 3), (130, 3), (130, 2), {"is_causal": True}),
)


def plain_cases(source: Source) -> Iterable[Case]:
    for *shapes, options in SHAPES:
        yield Case(f"{shapes}, {options}", tuple(map(source.draw, shapes)), options)
    query = np.broadcast_to(source.draw((1, 2)), (3, 2))
    yield Case("stride 0", (query, source.draw((4, 2)), source.draw((4, 2))))
    rows = np.tile(source.draw((1, 2)), (4, 1))
    rows[1:, 0] = (np.inf, -np.inf, np.nan)
    given = (rows, source.draw((2, 2)), source.draw((2, 2)))
    yield Case("queries that are not finite", given, smooth=False)
    yield Case("keys that are not finite", (given[1], rows, source.draw((4, 1))), smooth=False)


MASKS: tuple[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]], ...] = (
    ((3, 2), (3, 4), {}),
    ((3, 2), (4,), {"is_causal": True}),
    ((2, 2, 3, 2), (2, 1, 1, 4), {}),
    ((2, 2, 3, 2), (2, 1, 3, 4), {"is_causal": True}),
    ((2, 2, 3, 2), (3, 1), {}),
    ((4, 3, 2), (4, 3, 4), {"enable_gqa": True}),
    ((3, 2), (), {}),
)


def masked_cases(source: Source) -> Iterable[Case]:
    """A mask of numbers: a bias, or -inf for what is excluded."""
    for shape, of_mask, options in MASKS:
        keys = (*((2,) if options.get("enable_gqa") else shape[:-2]), 4)
        inputs = (source.draw(shape), source.draw((*keys, 2)), source.draw((*keys, 3)))
        bias = source.draw(of_mask)
        yield Case(f"bias {of_mask}, {options}", (*inputs, bias), options)
        excluding = np.where(source.mask(of_mask), bias, -np.inf)
        yield Case(f"-inf {of_mask}, {options}", (*inputs, excluding), options, smooth=False)


def truth_cases(source: Source) -> Iterable[Case]:
    """A mask of truths, some rows of which are False alone."""
    for shape, of_mask, options in MASKS:
        keys = (*((2,) if options.get("enable_gqa") else shape[:-2]), 4)
        inputs = (source.draw(shape), source.draw((*keys, 2)), source.draw((*keys, 3)))
        yield Case(f"mask {of_mask}, {options}", (*inputs, source.mask(of_mask)), options)
    inputs = (source.draw((70, 3)), source.draw((130, 3)), source.draw((130, 2)))
    yield Case("several blocks", (*inputs, source.mask((70, 130))), {"is_causal": True})


def rotary_cases(source: Source) -> Iterable[Case]:
    for shape, options in (
        ((3, 4), {}),
        ((2, 5, 6), {"interleaved": False}),
        ((3, 2), {"offset": 7, "base": 3.0}),
        ((0, 2), {}),
        ((2, 0), {"interleaved": False}),
        ((2, 3, 1, 2), {}),
    ):
        yield Case(f"{shape}, {options}", (source.draw(shape),), options)


def turned(x: Any, offset: int = 0, base: float = 10000.0, interleaved: bool = True) -> Any:
    """The pairs as complex numbers, times those of their angles."""
    rows, half = x.shape[-2], x.shape[-1] // 2
    rates = base ** -(np.arange(half) / max(half, 1))
    turns = np.exp(1j * (np.arange(rows) + offset)[:, None] * rates)
    if interleaved:
        pairs = (x[..., ::2] + 1j * x[..., 1::2]) * turns
        return np.stack([pairs.real, pairs.imag], axis=-1).reshape(x.shape)
    pairs = (x[..., :half] + 1j * x[..., half:]) * turns
    return np.concatenate([pairs.real, pairs.imag], axis=-1)


def attended(
    query: Any,
    key: Any,
    value: Any,
    mask: Any = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    if enable_gqa:
        shared = query.shape[-3] // key.shape[-3]
        key, value = np.repeat(key, shared, axis=-3), np.repeat(value, shared, axis=-3)
    lead = np.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    query, key, value = (
        np.broadcast_to(one, (*lead, *one.shape[-2:])).astype(np.longdouble)
        for one in (query, key, value)
    )
    num_queries, num_keys = query.shape[-2], key.shape[-2]
    if scale is None:
        scale = query.shape[-1] ** -0.5 if query.shape[-1] else 1.0
    bias = np.broadcast_to(0.0 if mask is None else mask, (*lead, num_queries, num_keys))
    if bias.dtype == np.bool_:
        bias = np.where(bias, 0.0, -np.inf)
    result = np.zeros((*lead, num_queries, value.shape[-1]), np.longdouble)
    for place in np.ndindex(*lead, num_queries):
        seen = bias[place] != -np.inf
        if is_causal:
            seen = seen & (np.arange(num_keys) <= place[-1])
        if not seen.any():
            continue
        score = (key[place[:-1]] * query[place]).sum(axis=-1)[seen] * scale + bias[place][seen]
        weight = np.exp(score - score.max())
        result[place] = (weight / weight.sum()) @ value[place[:-1]][seen]
    return result.astype(np.float64)


INF = float("inf")
ROWS = [[1.0], [2.0]]

SPECS = [
    OpSpec(
        name="scaled_dot_product_attention",
        function=lm.nn.functional.scaled_dot_product_attention,
        formula=attended,
        cases=plain_cases,
        absolute=True,
        tolerance=4,
        covers=("attention", "attention_grad"),
    ),
    OpSpec(
        name="rotary_encoding",
        function=lm.nn.functional.rotary_encoding,
        formula=turned,
        cases=rotary_cases,
        absolute=True,
        tolerance=2,
        covers=("multiply",),
    ),
    OpSpec(
        name="attention with a mask of numbers",
        function=lm.nn.functional.scaled_dot_product_attention,
        formula=attended,
        cases=masked_cases,
        absolute=True,
        tolerance=4,
        covers=("attention", "attention_grad"),
        edges=(
            Edge(
                "a query with nothing to attend to",
                ([[1.0], [1.0]], ROWS, ROWS, [[-INF, -INF], [0.0, -INF]]),
                ([[0.0], [0.0]], [[0.0], [0.0]], [[1.0], [0.0]], [[0.0, 0.0], [0.0, 0.0]]),
            ),
            Edge(
                "an excluded key may hold anything",
                ([[1.0]], [[1.0], [INF]], [[1.0], [float("nan")]], [[0.0, -INF]]),
                ([[0.0]], [[0.0], [0.0]], [[1.0], [0.0]], [[0.0, 0.0]]),
            ),
        ),
    ),
    OpSpec(
        name="attention with a mask of truths",
        function=lm.nn.functional.scaled_dot_product_attention,
        formula=attended,
        cases=truth_cases,
        fixed=(3,),
        absolute=True,
        tolerance=4,
        covers=("attention", "attention_grad"),
    ),
]
