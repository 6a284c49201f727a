"""The kind of a result follows from the operation and the kinds of its operands."""

from typing import assert_type

import lumus as lm

real = lm.ones((2, 3))
count = lm.ones((2, 3), dtype=lm.int64)
flag = real > 0.0
assert_type(real, lm.Tensor[lm.Float])
assert_type(count, lm.Tensor[lm.Int])
assert_type(flag, lm.Tensor[lm.Bool])

# Python numbers take the kind of the tensor beside them.
assert_type(real + 1, lm.Tensor[lm.Float])
assert_type(2.0 * real, lm.Tensor[lm.Float])
assert_type(count + 1, lm.Tensor[lm.Int])
assert_type(1 - count, lm.Tensor[lm.Int])
assert_type(real / 2, lm.Tensor[lm.Float])
assert_type(count // 2, lm.Tensor[lm.Int])
assert_type(-count, lm.Tensor[lm.Int])
assert_type(abs(real), lm.Tensor[lm.Float])
assert_type(real**2, lm.Tensor[lm.Float])

# Comparisons and logic.
assert_type(real == 1.0, lm.Tensor[lm.Bool])
assert_type(count < 3, lm.Tensor[lm.Bool])
assert_type(flag & (count > 0), lm.Tensor[lm.Bool])
assert_type(~flag, lm.Tensor[lm.Bool])
assert_type(count & 3, lm.Tensor[lm.Int])
assert_type(~count | 1 << count, lm.Tensor[lm.Int])
assert_type(count >> 1, lm.Tensor[lm.Int])
assert_type(real.isnan(), lm.Tensor[lm.Bool])

# Reductions.
assert_type(real.sum(), lm.Tensor[lm.Float])
assert_type(real.mean(axis=1), lm.Tensor[lm.Float])
assert_type(count.sum(axis=0), lm.Tensor[lm.Int])
assert_type(flag.sum(), lm.Tensor[lm.Int])
assert_type(flag.any(), lm.Tensor[lm.Bool])
assert_type(real.argmax(axis=1), lm.Tensor[lm.Int])

# Shape and indexing keep the kind.
assert_type(count.reshape(3, 2), lm.Tensor[lm.Int])
assert_type(flag.T, lm.Tensor[lm.Bool])
assert_type(real[0], lm.Tensor[lm.Float])
assert_type(real.at[0].set(0.0), lm.Tensor[lm.Float])

# Conversions.
assert_type(count.astype(lm.float32), lm.Tensor[lm.Float])
assert_type(flag.astype(lm.uint8), lm.Tensor[lm.Int])
