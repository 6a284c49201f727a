"""The steps of ctc: labels and counts that would lead out of the arrays."""

from typing import Any

import numpy as np
import pytest

from lumus import _native
from tests.native.native_arrays import native

FRAMES = np.log(np.full((5, 2, 3), 1 / 3, np.float32))
LABELS = np.array([[0, 1, 0, 2, 0], [0, 2, 0, 0, 0]])
COUNTED, COUNTS = np.array([5, 3]), np.array([2, 1])


def losses(labels: Any = LABELS, counted: Any = COUNTED, counts: Any = COUNTS) -> Any:
    made = np.empty(2, np.float32)
    given = [native(one) for one in (FRAMES, labels, counted, counts)]
    _native.ctc_step().run(given, [native(made)])
    return made


def gradients(labels: Any = LABELS, counted: Any = COUNTED, counts: Any = COUNTS) -> Any:
    made = np.empty(FRAMES.shape, np.float32)
    given = [native(one) for one in (np.ones(2, np.float32), FRAMES, labels, counted, counts)]
    _native.ctc_grad_step().run(given, [native(made)])
    return made


def test_labels_beyond_those_that_count_change_nothing() -> None:
    wider = np.concatenate([LABELS, np.full((2, 4), 1)], axis=1)
    assert losses(wider).tobytes() == losses().tobytes()
    assert gradients(wider).tobytes() == gradients().tobytes()


@pytest.mark.parametrize("step", [losses, gradients])
@pytest.mark.parametrize(
    ("wrong", "index", "bound"),
    [
        ({"labels": np.where(LABELS == 2, 3, LABELS)}, 3, 3),
        ({"labels": np.where(LABELS == 2, -1, LABELS)}, -1, 3),
        ({"counted": np.array([5, 6])}, 6, 6),
        ({"counts": np.array([3, 1])}, 3, 3),
        ({"counts": np.array([2, -1])}, -1, 3),
    ],
)
def test_what_would_lead_out_of_the_arrays_is_found(
    step: Any, wrong: dict[str, Any], index: int, bound: int
) -> None:
    with pytest.raises(_native.IndexOutOfRange) as caught:
        step(**wrong)
    assert caught.value.args[:2] == (index, bound)
