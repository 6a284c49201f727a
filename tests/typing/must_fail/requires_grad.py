"""Only Float tensors have gradients, and gradients are Float tensors."""

import lumus as lm

count = lm.ones((2,), dtype=lm.int64)
weight = lm.ones((2,), requires_grad=True)

lm.zeros((2,), dtype=lm.int32, requires_grad=True)  # error: zeros
lm.ones((2,), dtype=lm.uint8, requires_grad=True)  # error: ones
(weight * 2.0).backward(count)  # error: Tensor[Int]
weight.sum().backward().no_such_method()  # error: no_such_method
