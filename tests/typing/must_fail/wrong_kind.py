"""What only one kind can do is not offered by the others."""

import lumus as lm

real = lm.ones((2,))
count = lm.ones((2,), dtype=lm.int64)
flag = real > 0.0

flag.tanh()  # error: Tensor[Bool]
count.exp()  # error: Tensor[Int]
count.mean()  # error: Tensor[Int]
count.softmax()  # error: Tensor[Int]
real.any()  # error: Tensor[Float]
flag.max()  # error: Tensor[Bool]
flag.argmax().relu()  # error: Tensor[Int]
count.backward()  # error: Tensor[Int]
count.sum().backward()  # error: Tensor[Int]
lm.tanh(flag)  # error: Tensor[Bool]
lm.log(count)  # error: Tensor[Int]
lm.logical_and(count, count)  # error: Tensor[Int]
real.take_along_axis(real)  # error: Tensor[Float]
lm.nn.functional.nll_loss(real.reshape(1, 2), real)  # error: Tensor[Float]
