"""The pictures of a run: they are drawn, whole, and the same each time."""

import pytest

import lumus as lm
from lumus.data import digits
from lumus.train.digits import Epoch
from lumus.train.pictures import draw_curves, draw_predictions

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("num_epochs", [1, 3])
def test_curves_are_a_png_that_repeats(tmp_path, num_epochs):
    history = [Epoch(number, 1 / number, 0.9, 1.0, 0.8) for number in range(1, num_epochs + 1)]
    for name in ("a.png", "b.png"):
        draw_curves(history, tmp_path / name)
    first, second = (tmp_path / "a.png").read_bytes(), (tmp_path / "b.png").read_bytes()
    assert first.startswith(PNG)
    assert first == second
    assert len(list(tmp_path.iterdir())) == 2


def test_predictions_are_a_png_of_the_least_sure_digits(tmp_path):
    _, part = digits()
    scores = lm.random.normal((len(part), 10), generator=lm.random.Generator(1))
    draw_predictions(part, scores.softmax(axis=1), tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(PNG)
