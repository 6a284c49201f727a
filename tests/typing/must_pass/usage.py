"""The example that the README opens with, typed step by step."""

from typing import assert_type

import lumus as lm

x = lm.tensor([[1.0, 2.0], [3.0, 4.0]])
assert_type(x, lm.Tensor[lm.Float])
w = lm.random.normal((2, 3), requires_grad=True)
assert_type(w, lm.Tensor[lm.Float])
loss = (x @ w).relu().sum()
assert_type(loss, lm.Tensor[lm.Float])
grads = loss.backward()
assert_type(grads, lm.GradStore)
assert_type(grads[w], lm.Tensor[lm.Float])
print(loss.graph())
