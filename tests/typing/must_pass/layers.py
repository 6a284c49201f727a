"""A module of one's own: the type of its `forward` survives the call."""

from typing import assert_type

import lumus as lm
from lumus import nn, optim


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(2, 8)
        self.output = nn.Linear(8, 1)

    def forward(self, x: lm.Tensor[lm.Float]) -> lm.Tensor[lm.Float]:
        return self.output(self.hidden(x).tanh())


model = Network()
optimiser = optim.Adam(model.parameters(), lr=0.01)
x = lm.tensor([[0.0, 1.0], [1.0, 1.0]])
y = lm.tensor([[1.0], [0.0]])
prediction = model(x)
assert_type(prediction, lm.Tensor[lm.Float])
loss = nn.functional.mse_loss(prediction, y)
assert_type(loss, lm.Tensor[lm.Float])
optimiser.step(loss.backward())
