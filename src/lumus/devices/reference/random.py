"""Philox4x32-10 in NumPy, block by block as it is published, and the numbers made of its words.

Block b of the stream (seed, counter) is the cipher of the 128-bit number (counter + b) mod 2**64
under the key `seed`, low words first. Element i of a call is a function of words near i alone:

- uniform: float32 ``(w[i] >> 8) * 2**-24``, float16 ``(w[i] >> 21) * 2**-11``, bfloat16
  ``(w[i] >> 24) * 2**-8``, float64 ``(W[i] >> 11) * 2**-53``;
- bernoulli: ``w[i] < probability * 2**32``, rounded;
- integers: ``low + floor(W[i] * (high - low) / 2**64)``;
- exponential: ``-log((w[i] + 1/2) 2**-32)``, float64 from the upper 53 bits of ``W[i]``;
- normal, by Box and Muller: elements 2j and 2j + 1 are ``r cos(a)`` and ``r sin(a)``;
- gamma, by Marsaglia and Tsang: element i tries with the words of block i under upper counters of
  its own, in float64 (native/kernels/random.h has the formulas),

with ``W[i] = w[2i] + 2**32 w[2i + 1]``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lumus.core import kernels as k
from lumus.core.spec import Spec
from lumus.devices.reference.scalar import Array

Words: TypeAlias = NDArray[np.uint64]

_MASK = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_KEY_STEPS = (np.uint64(0x9E3779B9), np.uint64(0xBB67AE85))


def random(kernel: k.Random, arrays: Sequence[Array], output: Spec) -> Array:
    """The numbers that belong to a key [seed, counter]."""
    return drawn(kernel, *arrays)


def drawn(kernel: k.Random, key: Array, each: Array | None = None) -> Array:
    """The numbers of a drawing, with a parameter for each if need be."""
    seed, counter = (int(one) % 2**64 for one in key)
    count = math.prod(kernel.shape)
    low = np.full(count, float(kernel.low)) if each is None else each.reshape(-1)
    if kernel.distribution == "gamma":
        flat = _gamma(seed, counter, low)
    elif kernel.distribution == "bernoulli":
        flat = philox(seed, counter, count) < np.floor(low * 2**32 + 0.5)
    else:
        flat = _made(kernel, seed, counter, count + count % 2)[:count]
    return flat.reshape(kernel.shape)


def _made(kernel: k.Random, seed: int, counter: int, count: int) -> Array:
    narrow = philox(seed, counter, 2 * count)
    wide = narrow[::2] | narrow[1::2] << _HALF
    match kernel.distribution:
        case "uniform":
            return _uniform(kernel.dtype.name, narrow[:count], wide)
        case "normal":
            return _normal(kernel.dtype.name, narrow[:count], wide)
        case "exponential":
            return _exponential(kernel.dtype.name, narrow[:count], wide)
        case _:
            low, span = int(kernel.low), int(kernel.high) - int(kernel.low)
            return np.array([low + (word * span >> 64) for word in wide.tolist()], np.int64)


def philox(seed: int, counter: int, count: int, high: int = 0) -> Words:
    """The first `count` words of the stream, each in 64 bits; `high` is the upper counter."""
    num_blocks = -(-count // 4)
    number = np.arange(num_blocks, dtype=np.uint64) + np.uint64(counter)
    upper = np.full(num_blocks, high, np.uint64)
    words = [number & _MASK, number >> _HALF, upper & _MASK, upper >> _HALF]
    key = [np.uint64(seed) & _MASK, np.uint64(seed) >> _HALF]
    for _ in range(10):
        first, second = _MULTIPLIERS[0] * words[0], _MULTIPLIERS[1] * words[2]
        words = [
            (second >> _HALF) ^ words[1] ^ key[0],
            second & _MASK,
            (first >> _HALF) ^ words[3] ^ key[1],
            first & _MASK,
        ]
        key = [(one + step) & _MASK for one, step in zip(key, _KEY_STEPS, strict=True)]
    return np.stack(words, axis=1).reshape(-1)[:count]


def _uniform(dtype: str, narrow: Words, wide: Words) -> Array:
    if dtype == "float64":
        return (wide >> np.uint64(11)) * 2.0**-53
    num_bits = {"float32": 24, "float16": 11, "bfloat16": 8}[dtype]
    return (narrow >> np.uint64(32 - num_bits)) * 2.0**-num_bits


def _exponential(dtype: str, narrow: Words, wide: Words) -> Array:
    bits = 53 if dtype == "float64" else 32
    word = wide >> np.uint64(11) if bits == 53 else narrow
    # From the end that is nearer: 1 - u would lose the digits of a small result.
    is_upper = word >= 2 ** (bits - 1)
    unit = (np.where(is_upper, np.uint64(2**bits - 1) - word, word) + 0.5) * 2.0**-bits
    numbers = np.where(is_upper, -np.log1p(-unit), -np.log(unit))
    return numbers if bits == 53 else numbers.astype(np.float32)


def _gamma(seed: int, counter: int, concentration: Array) -> Array:
    is_low = concentration < 1
    d = np.where(is_low, concentration + 1, concentration) - 1 / 3
    result = np.full(concentration.shape, np.nan)
    boost = np.ones(concentration.shape)
    is_open = (concentration > 0) & (concentration < math.inf)
    attempt = 0
    while is_open.any():
        words = _wide_blocks(seed, counter, len(d), 2 * attempt + 1)
        x = _normal("float64", words[0], words.T.reshape(-1))[::2]
        accepting, boosting = _open_units(_wide_blocks(seed, counter, len(d), 2 * attempt + 2))
        if attempt == 0:
            boost = np.where(is_low, np.exp(np.log(boosting) / concentration), boost)
        v = (1 + x / np.sqrt(9 * d)) ** 3
        bound = 0.5 * x * x + (d - d * v + d * np.log(v))
        is_accepted = is_open & (v > 0) & (np.log(accepting) < bound)
        result = np.where(is_accepted, d * v, result)
        is_open &= ~is_accepted
        attempt += 1
    return result * boost


def _wide_blocks(seed: int, counter: int, count: int, high: int) -> Words:
    """The two wide words of each block, in two rows."""
    words = philox(seed, counter, 4 * count, high)
    return (words[::2] | words[1::2] << _HALF).reshape(count, 2).T


def _open_units(words: Words) -> Array:
    return ((words >> np.uint64(12)) + 0.5) * 2.0**-52


def _normal(dtype: str, narrow: Words, wide: Words) -> Array:
    if dtype == "float64":
        x, y = wide[::2], wide[1::2]
        unit = 1 - (x >> np.uint64(12)) * 2.0**-52
        t = (y >> np.uint64(12)) * 2.0**-52 - 0.5
    else:
        x, y = narrow[::2], narrow[1::2]
        unit = ((x >> np.uint64(1)) + 0.5) * 2.0**-31
        t = (y >> np.uint64(9)) * 2.0**-23 - 0.5
    radius = np.sqrt(-2 * np.log(unit))
    angle = np.pi / 2 * ((y & np.uint64(3)) + t)
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)
    # Half types round the float32 number.
    return pairs if dtype == "float64" else pairs.astype(np.float32)
