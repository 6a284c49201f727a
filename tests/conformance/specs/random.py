"""Random numbers: Philox in Python ints, from its definition; dropout with that mask."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

import lumus as lm
from lumus.core.dispatch import apply
from lumus.nn import functional
from lumus.testing.op_spec import FLOATS, Case, Edge, OpSpec, Source

WORD = 2**32 - 1
SEED = 7


def philox(seed: int, counter: int, count: int, upper: int = 0) -> list[int]:
    """The first words of a stream under an upper counter."""
    words: list[int] = []
    for block in range(-(-count // 4)):
        number = (counter + block) % 2**64
        a, b, c, d = number & WORD, number >> 32, upper & WORD, upper >> 32
        low, high = seed & WORD, seed >> 32
        for _ in range(10):
            first, second = 0xD2511F53 * a, 0xCD9E8D57 * c
            a, b, c, d = (
                (second >> 32) ^ b ^ low,
                second & WORD,
                (first >> 32) ^ d ^ high,
                first & WORD,
            )
            low, high = (low + 0x9E3779B9) & WORD, (high + 0xBB67AE85) & WORD
        words += [a, b, c, d]
    return words[:count]


def pairs(words: list[int]) -> list[int]:
    return [low | high << 32 for low, high in zip(words[::2], words[1::2], strict=True)]


def wide_blocks(key: Any, count: int, high: int) -> list[list[int]]:
    """The two wide words of each block under an upper counter."""
    words = philox(int(key[0]) % 2**64, int(key[1]) % 2**64, 4 * count, high)
    wide = pairs(words)
    return [wide[2 * i : 2 * i + 2] for i in range(count)]


def gammas(key: Any, concentrations: list[float]) -> list[float]:
    """Marsaglia and Tsang: d v of the first attempt that is accepted."""
    count = len(concentrations)
    values = [math.nan] * count
    for attempt in range(20):
        normal = wide_blocks(key, count, 2 * attempt + 1)
        accepting = wide_blocks(key, count, 2 * attempt + 2)
        if attempt == 0:
            boosting = accepting
        for i, low in enumerate(concentrations):
            d = (low + 1 if low < 1 else low) - 1 / 3
            x = normals(normal[i], 52, 52)[0]
            u = ((accepting[i][0] >> 12) + 0.5) / 2**52
            v = (1 + x / math.sqrt(9 * d)) ** 3
            fits = v > 0 and math.log(u) < x * x / 2 + d - d * v + d * math.log(v)
            if fits and math.isnan(values[i]):
                boost = ((boosting[i][1] >> 12) + 0.5) / 2**52
                values[i] = d * v * (boost ** (1 / low) if low < 1 else 1)
    return values


def exponentials(words: list[int], bits: int) -> list[float]:
    half, top = 2 ** (bits - 1), 2**bits - 1
    return [
        -math.log((word + 0.5) / 2**bits)
        if word < half
        else -math.log1p(-(top - word + 0.5) / 2**bits)
        for word in words
    ]


def drawn(
    key: Any, *each: Any, distribution: str, shape: Any, dtype: Any, low: Any, high: Any
) -> Any:
    count = math.prod(shape)
    even = count + count % 2
    words = philox(int(key[0]) % 2**64, int(key[1]) % 2**64, 2 * even)
    wide = pairs(words)
    lows = each[0].ravel().tolist() if each else [low] * count
    if distribution == "bernoulli":
        values: list[Any] = [word < one * 2**32 for word, one in zip(words, lows, strict=False)]
    elif distribution == "gamma":
        values = gammas(key, lows)
    elif distribution == "exponential":
        double = dtype is lm.float64
        values = exponentials(
            [one >> 11 for one in wide] if double else words, 53 if double else 32
        )
    elif distribution == "integers":
        values = [low + (word * (high - low) >> 64) for word in wide]
    elif distribution == "uniform":
        bits = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}[dtype.name]
        source, length = (wide, 64) if bits == 53 else (words, 32)
        values = [(word >> (length - bits)) / 2**bits for word in source]
    else:
        values = normals(wide, 52, 52) if dtype is lm.float64 else normals(words, 31, 23)
    found = {"bernoulli": bool, "integers": np.int64}.get(distribution, np.float64)
    return np.array(values[:count], found).reshape(shape)


def normals(words: list[int], unit_bits: int, turn_bits: int) -> list[float]:
    """Box and Muller: u from the first word of a pair, the angle from the second."""
    values = []
    length = 64 if unit_bits == 52 else 32
    for x, y in zip(words[::2], words[1::2], strict=True):
        unit = (1 << 52) - (x >> 12) if unit_bits == 52 else (x >> 1) + 0.5
        radius = math.sqrt(-2 * math.log(unit / 2**unit_bits))
        turn = (y & 3) + (y >> (length - turn_bits)) / 2**turn_bits - 0.5
        values += [radius * math.cos(turn * math.pi / 2), radius * math.sin(turn * math.pi / 2)]
    return values


def distribution_cases(distribution: str, ranges: tuple[tuple[Any, Any], ...] = ((0, 1),)) -> Any:
    def cases(source: Source) -> Iterable[Case]:
        for shape in ((), (1,), (0,), (5,), (3, 67)):
            for low, high in ranges:
                for key in ((SEED, 0), (2**63 - 1, 2**40 + 3)):
                    kwargs = {
                        "distribution": distribution,
                        "shape": shape,
                        "dtype": source.dtype,
                        "low": low,
                        "high": high,
                    }
                    yield Case(f"key {key}, {kwargs}", (np.array(key, np.int64),), kwargs)

    return cases


def each_cases(distribution: str, parameters: tuple[float, ...]) -> Any:
    """The same with a parameter for each number."""

    def cases(source: Source) -> Iterable[Case]:
        for shape in ((), (1,), (0,), (5,), (3, 67)):
            each = np.resize(np.array(parameters), shape)
            kwargs = {
                "distribution": distribution,
                "shape": shape,
                "dtype": source.dtype,
                "low": 0,
                "high": 1,
            }
            yield Case(f"{shape}", (np.array((SEED, 3), np.int64), each), kwargs)

    return cases


def random_each(distribution: str, cases: Any, dtypes: Any, tolerance: float = 0) -> OpSpec:
    return OpSpec(
        name=f"random ({distribution} of each)",
        function=lambda key, each, **kwargs: apply("random", key, each, **kwargs),
        formula=drawn,
        cases=cases,
        dtypes=dtypes,
        fixed=(0, 1),
        tolerance=tolerance,
        differentiable=False,
        covers=("random",),
    )


def random(distribution: str, cases: Any, dtypes: Any, tolerance: float = 0) -> OpSpec:
    return OpSpec(
        name=f"random ({distribution})",
        function=lambda key, **kwargs: apply("random", key, **kwargs),
        formula=drawn,
        cases=cases,
        dtypes=dtypes,
        fixed=(0,),
        tolerance=tolerance,
        absolute=bool(tolerance),
        differentiable=False,
        covers=("random",),
    )


# ---------------------------------------------------------------------------------------- dropout


def dropout_cases(source: Source) -> Iterable[Case]:
    for shape, probability in (
        ((), 0.5), ((1,), 0.5), ((0,), 0.5), ((4, 67), 0.25), ((7,), 1.0), ((7,), 0.0),
    ):  # fmt: skip
        yield Case(f"{shape}, {probability}", (source.draw(shape),), {"probability": probability})
    if source.dtype.kind == "float":
        values = np.array([1.0, math.inf, -math.inf, math.nan] * 4)
        yield Case("not finite", (values,), {"probability": 0.5}, smooth=False)


def dropout(x: Any, probability: float) -> Any:
    return functional.dropout(x, probability, generator=lm.random.Generator(SEED))


def dropped(x: Any, probability: float) -> Any:
    if probability == 0:
        return x
    words = philox(SEED, 0, x.size + 4)[: x.size]
    kept = np.array([word < (1 - probability) * 2**32 for word in words], bool).reshape(x.shape)
    return np.where(kept, x / (1 - probability) if probability < 1 else x, 0.0)


SPECS = [
    random("uniform", distribution_cases("uniform"), FLOATS),
    random("normal", distribution_cases("normal"), FLOATS, tolerance=4),
    random("exponential", distribution_cases("exponential"), FLOATS, tolerance=2),
    random("gamma", distribution_cases("gamma", ((0.3, 1), (7.0, 1))), FLOATS, tolerance=4),
    random_each("gamma", each_cases("gamma", (0.1, 0.9, 1.0, 2.5, 40.0)), FLOATS, tolerance=4),
    random_each("bernoulli", each_cases("bernoulli", (0.0, 0.3, 1.0)), (lm.bool_,)),
    random(
        "bernoulli", distribution_cases("bernoulli", ((0.0, 1), (0.25, 1), (1.0, 1))), (lm.bool_,)
    ),
    random(
        "integers",
        distribution_cases("integers", ((0, 10), (-7, 100), (5, 6))),
        (lm.int64, lm.int32, lm.int16, lm.int8),
    ),
    OpSpec(
        name="dropout",
        function=dropout,
        formula=dropped,
        cases=dropout_cases,
        edges=(
            Edge("R1 p = 1", ([1.0, math.inf],), ([0.0, 0.0],), kwargs={"probability": 1.0}),
            Edge(
                "R1 p = 0",
                ([1.0, -2.0],),
                ([3.0, 4.0],),
                grad=[3.0, 4.0],
                kwargs={"probability": 0.0},
            ),
        ),
    ),
]
