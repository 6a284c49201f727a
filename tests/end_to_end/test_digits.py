"""The classifier of `lumus train digits` learns, in a few epochs."""

import pytest

from lumus.train.digits import Options, Run


@pytest.mark.parametrize(("seed", "num_epochs"), [(0, 40), (1, 15), (3, 15)])
def test_digits_reach_97_percent_of_the_held_out_fifth(tmp_path, seed, num_epochs):
    run = Run(Options(epochs=num_epochs, seed=seed), tmp_path)
    epochs = list(run.epochs(lambda step: None))
    assert len(run.held_out) == 359
    assert epochs[-1].held_out_accuracy >= 0.97
    assert epochs[-1].loss < 0.1 * epochs[0].loss
