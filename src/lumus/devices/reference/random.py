"""Philox4x32-10 in NumPy, block by block as it is published, and the numbers made of its words.

Block b of the stream (seed, counter) is the cipher of the 128-bit number (counter + b) mod 2**64
under the key `seed`, low words first. Element i of a call is a function of words near i alone:

- uniform: float32 ``(w[i] >> 8) * 2**-24``, float16 ``(w[i] >> 21) * 2**-11``, bfloat16
  ``(w[i] >> 24) * 2**-8``, float64 ``(W[i] >> 11) * 2**-53``;
- bernoulli: ``w[i] < probability * 2**32``, rounded;
- integers: ``low + floor(W[i] * (high - low) / 2**64)``;
- normal, by Box and Muller: elements 2j and 2j + 1 are ``r cos(a)`` and ``r sin(a)``,

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
    return drawn(kernel, arrays[0])


def drawn(kernel: k.Random, key: Array) -> Array:
    """The numbers of a drawing."""
    seed, counter = (int(one) % 2**64 for one in key)
    count = math.prod(kernel.shape)
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
        case "bernoulli":
            limit = math.floor(kernel.low * 2**32 + 0.5)
            return np.asarray(narrow[:count] < limit)
        case "integers":
            low, span = int(kernel.low), int(kernel.high) - int(kernel.low)
            return np.array([low + (word * span >> 64) for word in wide.tolist()], np.int64)


def philox(seed: int, counter: int, count: int) -> Words:
    """The first `count` words of the stream, each in 64 bits."""
    num_blocks = -(-count // 4)
    number = np.arange(num_blocks, dtype=np.uint64) + np.uint64(counter)
    zero = np.zeros(num_blocks, np.uint64)
    words = [number & _MASK, number >> _HALF, zero, zero]
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
