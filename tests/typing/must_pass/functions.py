"""Functions of lumus carry kinds as the methods do."""

from typing import assert_type

import lumus as lm

real = lm.arange(6.0).reshape(2, 3)
other = lm.zeros_like(real)
count = lm.arange(6)
assert_type(real, lm.Tensor[lm.Float])
assert_type(other, lm.Tensor[lm.Float])
assert_type(count, lm.Tensor[lm.Int])

assert_type(lm.exp(real), lm.Tensor[lm.Float])
assert_type(lm.maximum(real, other), lm.Tensor[lm.Float])
assert_type(lm.maximum(count, 2), lm.Tensor[lm.Int])
assert_type(lm.where(real > 0.0, real, other), lm.Tensor[lm.Float])
assert_type(lm.concat([real, other], axis=0), lm.Tensor[lm.Float])
assert_type(lm.sum(count), lm.Tensor[lm.Int])
assert_type(lm.matmul(real, other.T), lm.Tensor[lm.Float])
assert_type(lm.roll(count, 1), lm.Tensor[lm.Int])
assert_type(lm.pad(real > 0.0, 1), lm.Tensor[lm.Bool])
assert_type(lm.unfold(real, 1, 2), lm.Tensor[lm.Float])
assert_type(lm.einsum("ij,kj->ik", real, other), lm.Tensor[lm.Float])
assert_type(lm.trace(count.reshape(2, 3)), lm.Tensor[lm.Int])
assert_type(lm.linalg.eigh(real @ real.T).eigenvalues, lm.Tensor[lm.Float])
assert_type(lm.linalg.matrix_rank(real), lm.Tensor[lm.Int])
assert_type(lm.fft.rfft(real), lm.Tensor[lm.Float])
assert_type(lm.isfinite(real), lm.Tensor[lm.Bool])
assert_type(lm.argmax(real, axis=0), lm.Tensor[lm.Int])


def squared_length(x: lm.Tensor[lm.Float]) -> lm.Tensor[lm.Float]:
    return (x * x).sum()


value, gradient = lm.value_and_grad(squared_length)(real)
assert_type(value, lm.Tensor[lm.Float])
