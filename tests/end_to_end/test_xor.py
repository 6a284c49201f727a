"""The smallest problem that needs a hidden layer: 2-8-1 with tanh, Adam at 0.01."""

import pytest

import lumus as lm
from lumus import nn

X = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
Y = [[0.0], [1.0], [1.0], [0.0]]


def network(seed):
    generator = lm.random.Generator(seed)
    return nn.Sequential(
        nn.Linear(2, 8, generator=generator), nn.Tanh(), nn.Linear(8, 1, generator=generator)
    )


def trained(model, num_steps):
    """The losses before each step."""
    x, y = lm.tensor(X), lm.tensor(Y)
    optimizer = lm.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(num_steps):
        loss = nn.functional.mse_loss(model(x), y)
        losses.append(loss.item())
        optimizer.step(loss.backward())
    return losses


@pytest.mark.parametrize("seed", [2, 3, 7, 17])
def test_xor_is_learnt_within_200_steps_and_equal_after_save_and_load(tmp_path, seed):
    model = network(seed)
    losses = trained(model, 200)
    assert losses[0] > 0.1
    assert losses[-1] < 0.01
    answers = model(lm.tensor(X))
    assert [[round(value) for value in row] for row in answers.tolist()] == Y

    lm.io.save(tmp_path / "xor.safetensors", model)
    other = network(seed + 100)
    assert other(lm.tensor(X)).tolist() != answers.tolist()
    lm.io.load_module(tmp_path / "xor.safetensors", other)
    assert other(lm.tensor(X)).tolist() == answers.tolist()


def test_xor_trained_twice_has_the_same_bits():
    first, second = network(3), network(3)
    assert trained(first, 50) == trained(second, 50)
    for one, other in zip(first.parameters(), second.parameters(), strict=True):
        assert one.tolist() == other.tolist()
