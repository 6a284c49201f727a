"""Kinds do not mix, neither with each other nor with numbers of another kind."""

import lumus as lm

real = lm.ones((2,))
count = lm.ones((2,), dtype=lm.int64)
flag = real > 0.0

real + count  # error: Tensor[Int]
count - real  # error: Tensor[Float]
real * flag  # error: Tensor[Bool]
count + 0.5  # error: float
0.5 * count  # error: float
count / 2  # error: Tensor[Int]
flag + flag  # error: Tensor[Bool]
real & flag  # error: Tensor[Bool]
~real  # error: Tensor[Float]
count & flag  # error: Tensor[Bool]
flag << 1  # error: Tensor[Bool]
real @ count  # error: Tensor[Int]
real < count  # error: Tensor[Int]
lm.maximum(real, count)  # error: Tensor[Int]
lm.where(flag, real, count)  # error: where
real.add_(count)  # error: Tensor[Int]
