"""The trainings that rumus ends with, and the rows that it has beyond luma-tensor."""

import numpy as np
import pytest

import lumus as lm
from lumus import nn
from lumus.nn import functional


@pytest.fixture(params=["eager", "compiled"])
def run(request):
    """What a training step is run by: itself, or its compiled form."""
    return lm.compile if request.param == "compiled" else lambda step: step


def test_rows_of_a_batch_get_their_gradient():
    x = lm.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
    grad = x[1:3].square().sum().backward()[x]
    assert grad.tolist() == [[0.0, 0.0], [6.0, 8.0], [10.0, 12.0]]


def test_stacked_tensors_get_their_part_of_the_gradient():
    a, b = lm.tensor([1.0, 2.0], requires_grad=True), lm.tensor([3.0, 4.0], requires_grad=True)
    weights = lm.tensor([[1.0, 3.0], [2.0, 4.0]])
    grads = (lm.stack([a, b], axis=1) * weights).sum().backward()
    assert grads[a].tolist() == [1.0, 2.0]
    assert grads[b].tolist() == [3.0, 4.0]


def test_dropout_keeps_the_mean():
    x = lm.ones((200, 200), requires_grad=True)
    y = functional.dropout(x, 0.25, generator=lm.random.Generator(5))
    np.testing.assert_allclose(np.unique(y.detach().numpy()), [0.0, 1.0 / 0.75], rtol=1e-6)
    assert abs(y.detach().mean().item() - 1.0) < 0.01
    np.testing.assert_array_equal(y.sum().backward()[x].numpy(), y.detach().numpy())


def test_three_classes_with_adamw_and_cross_entropy(run):
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 2.0], [2.0, -1.0], [-2.0, -1.0]])
    labels = np.arange(90) % 3
    x = lm.tensor((centres[labels] + 0.4 * rng.standard_normal((90, 2))).astype(np.float32))
    y = lm.tensor(labels)
    generator = lm.random.Generator(1)
    model = nn.Sequential(
        nn.Linear(2, 16, generator=generator), nn.ReLU(), nn.Linear(16, 3, generator=generator)
    )
    optimizer = lm.optim.AdamW(model.parameters(), lr=0.01)

    @run
    def step():
        optimizer.step(functional.cross_entropy(model(x), y).backward())

    for _ in range(200):
        step()
    assert functional.cross_entropy(model(x), y).item() < 0.15


def patterns(count):
    """(pictures, classes); a bar across, a bar down, a diagonal, a block, shifted and noisy."""
    rng = np.random.default_rng(3)
    pictures = 0.1 * rng.standard_normal((count, 1, 12, 12))
    classes = np.arange(count) % 4
    for picture, kind in zip(pictures, classes, strict=True):
        row, column = rng.integers(1, 5, 2)
        if kind == 0:
            picture[0, row + 2, column : column + 6] += 1.0
        elif kind == 1:
            picture[0, row : row + 6, column + 2] += 1.0
        elif kind == 2:
            places = np.arange(6)
            picture[0, row + places, column + places] += 1.0
        else:
            picture[0, row : row + 3, column : column + 3] += 1.0
    return lm.tensor(pictures.astype(np.float32)), lm.tensor(classes)


def test_mini_lenet_learns_patterns(run):
    generator = lm.random.Generator(2)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1, generator=generator),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 8, 3, generator=generator),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32, 32, generator=generator),
        nn.ReLU(),
        nn.Linear(32, 4, generator=generator),
    )
    x, y = patterns(64)
    optimizer = lm.optim.Adam(model.parameters(), lr=0.01)

    @run
    def step():
        optimizer.step(functional.cross_entropy(model(x), y).backward())

    for _ in range(100):
        step()
    assert functional.cross_entropy(model(x), y).item() < 0.05


class TinyGPT(nn.Module):
    """A language model of one causal transformer layer with learnt positions."""

    def __init__(self, vocabulary, context, width, generator):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width, generator=generator)
        self.positions = nn.Embedding(context, width, generator=generator)
        self.block = nn.TransformerEncoderLayer(
            width, 2, 2 * width, dropout=0.0, batch_first=True, norm_first=True, generator=generator
        )
        self.head = nn.Linear(width, vocabulary, generator=generator)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(lm.arange(ids.shape[1]))
        return self.head(self.block(x, is_causal=True))


def test_tiny_gpt_learns_a_cycle(run):
    vocabulary, context = 8, 12
    starts = np.arange(16)[:, None]
    sequences = (starts + 3 * np.arange(context + 1)) % vocabulary
    x, y = lm.tensor(sequences[:, :-1]), lm.tensor(sequences[:, 1:])
    model = TinyGPT(vocabulary, context, 16, lm.random.Generator(4))
    optimizer = lm.optim.AdamW(model.parameters(), lr=0.003)
    first = functional.cross_entropy(model(x).permute_dims((0, 2, 1)), y)
    positions = first.backward()[model.positions.weight].numpy()
    assert (np.abs(positions).sum(axis=1) > 0).all(), "a position received no gradient"

    @run
    def step():
        optimizer.step(functional.cross_entropy(model(x).permute_dims((0, 2, 1)), y).backward())

    for _ in range(200):
        step()
    assert functional.cross_entropy(model(x).permute_dims((0, 2, 1)), y).item() < 1.0
