"""lumus and PyTorch agree, where PyTorch is installed: values, gradients, dtypes, errors.

Not part of what must pass: without PyTorch it is skipped. What differs on purpose is listed in
`tests/peers/table.py`.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import lumus as lm  # noqa: E402
from tests.peers.pairs import PAIRS, WRONG  # noqa: E402
from tests.peers.table import Arrays, Draw, Pair  # noqa: E402

DTYPES = {
    torch.float64: lm.float64,
    torch.float32: lm.float32,
    torch.int64: lm.int64,
    torch.bool: lm.bool_,
}


def as_ours(array: np.ndarray, narrow: bool, grad: bool) -> Any:
    made = lm.from_numpy(array.astype(np.float32) if narrow and array.dtype.kind == "f" else array)
    return made.detach().requires_grad_() if grad and array.dtype.kind == "f" else made


def as_theirs(array: np.ndarray, narrow: bool, grad: bool) -> Any:
    made = torch.from_numpy(np.ascontiguousarray(array).reshape(array.shape))
    made = made.float() if narrow and array.dtype.kind == "f" else made
    return made.requires_grad_(grad and array.dtype.kind == "f")


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_values_dtypes_and_gradients_agree(pair: Pair, seed: int) -> None:
    draw = Draw(seed)
    arrays, options = pair.draw(draw)
    narrow = pair.float32 and draw.integer(0, 3) == 0
    rtol = pair.rtol32 if narrow else pair.rtol
    ours = [as_ours(one, narrow, pair.differentiable) for one in arrays]
    theirs = [as_theirs(one, narrow, pair.differentiable) for one in arrays]
    y, z = pair.ours(*ours, **options), pair.theirs(*theirs, **options)
    assert y.shape == tuple(z.shape)
    assert y.dtype is DTYPES[z.dtype]
    np.testing.assert_allclose(
        np.asarray(y.detach()), z.detach().numpy(), rtol=rtol, atol=rtol, err_msg=str(options)
    )
    if pair.differentiable and y.requires_grad:
        _compare_gradients(arrays, ours, theirs, y, z, draw, 20 * rtol)


def _compare_gradients(
    arrays: Arrays, ours: Any, theirs: Any, y: Any, z: Any, draw: Draw, rtol: float
) -> None:
    cotangent = draw.rng.uniform(-1.0, 1.0, y.shape)
    grads = y.backward(lm.tensor(cotangent, dtype=y.dtype))
    z.backward(torch.tensor(cotangent, dtype=z.dtype))
    for array, mine, other in zip(arrays, ours, theirs, strict=True):
        if array.dtype.kind == "f":
            found = np.asarray(grads[mine]) if mine in grads else np.zeros(array.shape)
            expected = np.zeros(array.shape) if other.grad is None else other.grad.numpy()
            scale = 1.0 + float(np.abs(expected).max(initial=0.0))
            np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * scale)


@pytest.mark.parametrize(("name", "ours", "theirs", "shapes"), WRONG, ids=[w[0] for w in WRONG])
def test_both_refuse_shapes_that_do_not_fit(name: str, ours: Any, theirs: Any, shapes: Any) -> None:
    with pytest.raises(RuntimeError):
        theirs(*[torch.ones(shape) for shape in shapes])
    with pytest.raises(lm.errors.LumusError, match=name.split(maxsplit=1)[0]):
        ours(*[lm.ones(shape) for shape in shapes])
