"""What pools and interpolation refuse, before anything runs; sizes that they give."""

import pytest

import lumus as lm
from lumus.errors import ArgumentError, DTypeError, IndexRangeError, KindError, ShapeError
from lumus.nn import functional

F = functional

PLANE = lm.zeros((1, 4, 6))


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: F.max_pool2d(PLANE, 0), ArgumentError, "kernel_size must be at least 1"),
        (lambda: F.max_pool2d(PLANE, 2.0), ArgumentError, "kernel_size must be an int"),
        (lambda: F.max_pool2d(PLANE, True), ArgumentError, "kernel_size must be an int"),
        (lambda: F.max_pool2d(PLANE, "2"), ArgumentError, "kernel_size must be an int"),
        (lambda: F.max_pool2d(PLANE, (2, 2, 2)), ArgumentError, "one integer or 2, got"),
        (lambda: F.max_pool2d(PLANE, 2, 0), ArgumentError, "stride must be at least 1"),
        (lambda: F.max_pool2d(PLANE, 2, 1, -1), ArgumentError, "padding must be at least"),
        (lambda: F.max_pool2d(PLANE, 2, 1, 0, 0), ArgumentError, "dilation must be at"),
        (lambda: F.max_pool2d(PLANE, 3, 1, 2), ArgumentError, "padding of 2 is more than"),
        (lambda: F.max_pool2d(PLANE, 2, ceil_mode=3), ArgumentError, "ceil_mode must be"),
        (lambda: F.max_pool2d(PLANE, 2, return_indices="no"), ArgumentError, "return_ind"),
        (lambda: F.max_pool2d(PLANE, 5), ShapeError, "over 5 does not fit into 4 elem"),
        (lambda: F.max_pool2d(lm.zeros((4, 6)), 2), ShapeError, r"got shape \(4, 6\)"),
        (lambda: F.max_pool1d(lm.zeros((2, 0)), 1), ShapeError, "into 0 elements"),
        (lambda: F.max_pool2d(PLANE.astype(lm.int64), 2), KindError, "max_pool2d: needs a"),
        (lambda: F.max_pool2d([[1.0]], 2), ArgumentError, "expected a tensor, got list"),
        (lambda: F.avg_pool2d(PLANE, 2, divisor_override=0), ArgumentError, "not be 0"),
        (lambda: F.avg_pool2d(PLANE, 2, count_include_pad=2), ArgumentError, "count_incl"),
        (lambda: F.avg_pool3d(PLANE, 2), ShapeError, r"needs a tensor \(N, C, D, H, W\)"),
        (lambda: F.adaptive_avg_pool2d(PLANE, 0), ArgumentError, "output_size must be at"),
        (lambda: F.adaptive_avg_pool2d(PLANE, (1, 2, 3)), ArgumentError, "or 2, got"),
        (lambda: F.adaptive_max_pool1d(lm.zeros((1, 0)), 2), ShapeError, "nothing to pool"),
        (lambda: F.lp_pool1d(lm.ones((1, 4)), 0.5, 2), ArgumentError, "at least 1, got 0.5"),
        (lambda: F.lp_pool1d(lm.ones((1, 4)), 2, 5), ShapeError, "lp_pool1d: a window"),
    ],
)  # fmt: skip
def test_pool_refuses(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_a_number_that_was_accepted_does_not_admit_an_equal_truth_value():
    assert F.max_pool2d(PLANE, 1).shape == (1, 4, 6)
    with pytest.raises(ArgumentError, match="kernel_size must be an integer, got True"):
        F.max_pool2d(PLANE, True)


PICTURE = lm.zeros((1, 1, 4, 6))


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: F.interpolate(PICTURE), ArgumentError, "either size or scale_factor"),
        (lambda: F.interpolate(PICTURE, 2, 2), ArgumentError, "scale_factor, got both"),
        (lambda: F.interpolate(PICTURE, 0), ArgumentError, "size must be at least 1"),
        (lambda: F.interpolate(PICTURE, (1, 2, 3)), ArgumentError, "integer or 2"),
        (lambda: F.interpolate(PICTURE, scale_factor=0.1), ArgumentError, "leaves nothing"),
        (lambda: F.interpolate(PICTURE, scale_factor=-1), ArgumentError, "leaves nothing"),
        (lambda: F.interpolate(PICTURE, scale_factor=(2, 2, 2)), ArgumentError, "or 2, got"),
        (lambda: F.interpolate(PICTURE, scale_factor=float("nan")), ArgumentError, "finite"),
        (lambda: F.interpolate(PICTURE, 2, mode="cubic"), ArgumentError, "mode must be one"),
        (lambda: F.interpolate(PICTURE, 2, mode="linear"), ArgumentError,
         r"(?s)'linear' is for 3 axes, got shape \(1, 1, 4, 6\).*'bilinear', 'bicubic'"),
        (lambda: F.interpolate(PICTURE, 2, align_corners=True), ArgumentError,
         "align_corners has no meaning for 'nearest'"),
        (lambda: F.interpolate(PICTURE, 2, antialias=True), ArgumentError, "antialias has no"),
        (lambda: F.interpolate(PLANE[0], 2), ShapeError, "one to three further axes"),
        (lambda: F.interpolate(lm.zeros((1, 1, 0)), 2), ShapeError, "nothing to interp"),
        (lambda: F.interpolate(PICTURE.astype(lm.int64), 2), KindError, "interpolate: needs"),
    ],
)  # fmt: skip
def test_interpolate_refuses(call, error, match):
    with pytest.raises(error, match=match):
        call()


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: F.pixel_shuffle(lm.zeros((3, 2, 2)), 2), ShapeError, "3 channels do not"),
        (lambda: F.pixel_shuffle(lm.zeros((2, 2)), 2), ShapeError, "needs a tensor"),
        (lambda: F.pixel_shuffle(PLANE, 0), ArgumentError, "upscale_factor must be at"),
        (lambda: F.pixel_unshuffle(PLANE, 4), ShapeError, "4 by 6 pixels do not divide"),
        (lambda: F.max_unpool2d(PLANE, PLANE, 2), KindError, "indices of kind Int"),
        (lambda: F.max_unpool1d(lm.zeros((1, 2)), lm.tensor([[1]]), 2), ShapeError, "for an"),
        (lambda: F.max_unpool1d(lm.zeros((1, 1)), lm.tensor([[5]]), 2), IndexRangeError, "5"),
        (lambda: F.max_unpool1d(lm.zeros((1, 1)), lm.tensor([[0]]), 2, output_size=[5]),
         ArgumentError, r"output_size \(5,\) must be less than a stride"),
        (lambda: F.max_unpool1d(lm.zeros((1, 1)), lm.tensor([[0]]), 1, 1, 1), ShapeError,
         "nothing is left"),
    ],
)  # fmt: skip
def test_shuffle_and_unpool_refuse(call, error, match):
    with pytest.raises(error, match=match):
        call()


GRID = lm.zeros((1, 2, 2, 2))


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: F.grid_sample(PICTURE, GRID, "cubic"), ArgumentError, "mode must be 'bilinear'"),
        (lambda: F.grid_sample(PICTURE, GRID, padding_mode="wrap"), ArgumentError, "padding_mode"),
        (lambda: F.grid_sample(PICTURE, GRID[..., :1]), ShapeError, "do not fit"),
        (lambda: F.grid_sample(PICTURE[..., :0], GRID), ShapeError, "nothing to read"),
        (lambda: F.grid_sample(PICTURE, GRID.astype(lm.float64)), DTypeError, "grid float64"),
        (lambda: F.grid_sample(PICTURE, GRID.astype(lm.int64)), KindError, "a grid of kind Float"),
        (lambda: F.grid_sample(lm.zeros((1, 1, 2, 2, 2)), lm.zeros((1, 1, 1, 1, 3)), "bicubic"),
         ArgumentError, "for pictures, not for volumes"),
        (lambda: F.affine_grid(lm.zeros((1, 2, 2)), (1, 1, 2, 2)), ShapeError, "affine_grid: th"),
        (lambda: F.affine_grid(lm.zeros((1, 2, 3)), (1, 2, 2)), ShapeError, "affine_grid: th"),
    ],
)  # fmt: skip
def test_sampling_refuses(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_points_that_are_not_finite_read_nothing_and_have_gradient_zero():
    x = lm.ones((1, 1, 2, 2), requires_grad=True)
    points = [[[[float("nan"), 0.0], [float("inf"), 0.0], [0.0, -float("inf")], [0.0, 0.0]]]]
    grid = lm.tensor(points, requires_grad=True)
    y = F.grid_sample(x, grid)
    assert y.tolist() == [[[[0.0, 0.0, 0.0, 1.0]]]]
    store = y.sum().backward()
    assert store[grid].tolist() == [[[[0.0, 0.0]] * 4]]
    assert store[x].tolist() == [[[[0.25, 0.25], [0.25, 0.25]]]]


@pytest.mark.parametrize(
    ("length", "arguments", "count"),
    [
        (7, {"kernel_size": 2}, 3),
        (7, {"kernel_size": 2, "ceil_mode": True}, 4),
        (7, {"kernel_size": 2, "stride": 2, "padding": 1, "ceil_mode": True}, 4),
        (4, {"kernel_size": 5, "stride": 3, "ceil_mode": True}, 1),
        (1, {"kernel_size": 2, "stride": 5, "padding": 1}, 1),
    ],
)
def test_number_of_windows(length, arguments, count):
    for pool in (F.max_pool1d, F.avg_pool1d):
        assert pool(lm.zeros((1, length)), **arguments).shape == (1, count)
