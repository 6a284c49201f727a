"""The pairs themselves, by family."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.nn import functional as theirs_nn

import lumus as lm
from lumus.nn import functional as ours_nn
from tests.peers.table import Arrays, Draw, Pair, along, one, over, two


def unary(name: str, low: float = -3.0, high: float = 3.0, **more: Any) -> Pair:
    theirs = more.pop("theirs", None) or getattr(torch, name)
    return Pair(name, getattr(lm, name), theirs, one(low, high), **more)


UNARY = (
    unary("abs"),
    unary("ceil"),
    unary("cos"),
    unary("erf"),
    unary("exp"),
    unary("expm1"),
    unary("floor"),
    unary("log", 0.1, 5.0),
    unary("log1p", -0.9, 5.0),
    unary("negative"),
    unary("reciprocal", 0.2, 3.0),
    unary("relu"),
    unary("round"),
    unary("rsqrt", 0.1, 4.0),
    unary("sigmoid"),
    unary("sign"),
    unary("sin"),
    unary("sqrt", 0.1, 4.0),
    unary("square"),
    unary("tanh"),
    unary("silu", theirs=theirs_nn.silu),
    unary("gelu", theirs=theirs_nn.gelu),
    unary("leaky_relu", theirs=theirs_nn.leaky_relu),
    Pair(
        "gelu tanh",
        lambda x: lm.gelu(x, approximate="tanh"),
        lambda x: theirs_nn.gelu(x, approximate="tanh"),
        one(),
    ),
    unary("acos", -0.9, 0.9),
    unary("acosh", 1.1, 4.0),
    unary("asin", -0.9, 0.9),
    unary("asinh"),
    unary("atan"),
    unary("atanh", -0.9, 0.9),
    unary("cosh"),
    unary("digamma", 0.2, 5.0),
    unary("erfc"),
    unary("erfinv", -0.9, 0.9),
    unary("lgamma", 0.2, 5.0),
    unary("log10", 0.1, 5.0),
    unary("log2", 0.1, 5.0),
    unary("sinh"),
    unary("tan", -1.2, 1.2),
    unary("trunc"),
    unary("celu", theirs=theirs_nn.celu),
    unary("elu", theirs=theirs_nn.elu),
    unary("hardsigmoid", theirs=theirs_nn.hardsigmoid, low=-5.0, high=5.0),
    unary("hardswish", theirs=theirs_nn.hardswish, low=-5.0, high=5.0),
    unary("hardtanh", theirs=theirs_nn.hardtanh),
    unary("logsigmoid", theirs=theirs_nn.logsigmoid),
    unary("mish", theirs=theirs_nn.mish),
    unary("relu6", theirs=theirs_nn.relu6, low=-3.0, high=9.0),
    unary("selu", theirs=theirs_nn.selu),
    unary("softplus", theirs=theirs_nn.softplus),
    unary("softsign", theirs=theirs_nn.softsign),
)


def powers(draw: Draw) -> tuple[Arrays, dict[str, Any]]:
    first, second = draw.broadcast_pair()
    return [draw.array(first, 0.2, 3.0), draw.array(second)], {}


def chosen(draw: Draw) -> tuple[Arrays, dict[str, Any]]:
    first, second = draw.broadcast_pair()
    shape = np.broadcast_shapes(first, second)
    return [draw.bools(shape), draw.array(first), draw.array(second)], {}


BINARY = (
    Pair("add", lm.add, torch.add, two()),
    Pair("subtract", lm.subtract, torch.subtract, two()),
    Pair("multiply", lm.multiply, torch.multiply, two()),
    Pair("divide", lm.divide, torch.divide, two(0.3, 3.0)),
    Pair("maximum", lm.maximum, torch.maximum, two()),
    Pair("minimum", lm.minimum, torch.minimum, two()),
    Pair("pow", lm.pow, torch.pow, powers),
    Pair("remainder", lm.remainder, torch.remainder, two(0.3, 3.0)),
    Pair("floor_divide", lm.floor_divide, torch.floor_divide, two(0.3, 3.0), differentiable=False),
    Pair("where", lm.where, torch.where, chosen),
    Pair("atan2", lm.atan2, torch.atan2, two()),
    Pair("fmod", lm.fmod, torch.fmod, two(0.3, 3.0)),
    Pair("hypot", lm.hypot, torch.hypot, two(0.3, 3.0)),
    Pair("logaddexp", lm.logaddexp, torch.logaddexp, two()),
    Pair("equal", lm.equal, torch.eq, two(), differentiable=False),
    Pair("less", lm.less, torch.lt, two(), differentiable=False),
    Pair("greater_equal", lm.greater_equal, torch.ge, two(), differentiable=False),
)


def reduced(name: str, theirs: Any = None, **more: Any) -> Pair:
    call = theirs or getattr(torch, name)
    return Pair(
        name,
        getattr(lm, name),
        lambda x, axis, keepdims: call(x, dim=axis, keepdim=keepdims),
        over(),
        **more,
    )


def folded(function: Any) -> Any:
    """A PyTorch reduction of one axis, over several."""

    def over_axes(x: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
        for axis in sorted(dim, reverse=True):
            x = function(x, dim=axis, keepdim=keepdim)
        return x

    return over_axes


REDUCTIONS = (
    reduced("sum"),
    reduced("mean"),
    reduced("max", torch.amax),
    reduced("min", torch.amin),
    reduced("prod", folded(torch.prod)),
    reduced("logsumexp"),
    Pair(
        "var",
        lm.var,
        lambda x, axis, keepdims: torch.var(x, dim=axis, keepdim=keepdims, correction=0),
        over(),
    ),
    Pair("softmax", lm.softmax, lambda x, axis: torch.softmax(x, axis), along()),
    Pair("log_softmax", lm.log_softmax, lambda x, axis: torch.log_softmax(x, axis), along()),
    Pair("argmax", lm.argmax, lambda x, axis: torch.argmax(x, axis), along(), differentiable=False),
    Pair("argmin", lm.argmin, lambda x, axis: torch.argmin(x, axis), along(), differentiable=False),
    Pair("cumsum", lm.cumsum, lambda x, axis: torch.cumsum(x, axis), along()),
    Pair("cumprod", lm.cumprod, lambda x, axis: torch.cumprod(x, axis), along()),
    Pair("logcumsumexp", lm.logcumsumexp, lambda x, axis: torch.logcumsumexp(x, axis), along()),
    Pair("sort", lm.sort, lambda x, axis: torch.sort(x, axis)[0], along()),
    Pair(
        "argsort", lm.argsort, lambda x, axis: torch.argsort(x, axis), along(), differentiable=False
    ),
)


def products(draw: Draw) -> tuple[Arrays, dict[str, Any]]:
    batch = draw.shape(0, 2, 3)
    m, k, n = (draw.integer(1, 7) for _ in range(3))
    return [draw.array((*batch, m, k)), draw.array((*batch, k, n))], {}


def gathered(draw: Draw) -> tuple[Arrays, dict[str, Any]]:
    x = draw.array(draw.shape(1))
    axis = draw.integer(0, x.ndim - 1)
    shape = [*x.shape]
    shape[axis] = draw.integer(1, 6)
    return [x, draw.integers(shape, 0, x.shape[axis])], {"axis": axis}


def rows_taken(draw: Draw) -> tuple[Arrays, dict[str, Any]]:
    x = draw.array(draw.shape(1))
    axis = draw.integer(0, x.ndim - 1)
    return [x, draw.integers((draw.integer(1, 6),), 0, x.shape[axis])], {"axis": axis}


def permuted(draw: Draw) -> tuple[Arrays, dict[str, Any]]:
    x = draw.array(draw.shape(1))
    return [x], {"axes": tuple(int(axis) for axis in draw.rng.permutation(x.ndim))}


def rolled(draw: Draw) -> tuple[Arrays, dict[str, Any]]:
    x = draw.array(draw.shape(1))
    return [x], {"shift": draw.integer(-7, 7), "axis": draw.integer(0, x.ndim - 1)}


SHAPES = (
    Pair("matmul", lm.matmul, torch.matmul, products),
    Pair("take", lm.take, lambda x, i, axis: torch.index_select(x, axis, i), rows_taken),
    Pair(
        "take_along_axis",
        lm.take_along_axis,
        lambda x, i, axis: torch.take_along_dim(x, i, axis),
        gathered,
    ),
    Pair("permute_dims", lm.permute_dims, lambda x, axes: torch.permute(x, axes), permuted),
    Pair("flip", lm.flip, lambda x, axis: torch.flip(x, (axis,)), along()),
    Pair("roll", lm.roll, lambda x, shift, axis: torch.roll(x, shift, axis), rolled),
    Pair("tril", lm.tril, torch.tril, lambda draw: ([draw.array(draw.shape(2))], {})),
    Pair("triu", lm.triu, torch.triu, lambda draw: ([draw.array(draw.shape(2))], {})),
)


def classified(draw: Draw) -> tuple[Arrays, dict[str, Any]]:
    rows, classes = draw.integer(1, 6), draw.integer(2, 6)
    smoothing = draw.choice([0.0, 0.1])
    reduction = draw.choice(["mean", "sum", "none"])
    return (
        [draw.array((rows, classes)), draw.integers((rows,), 0, classes)],
        {"label_smoothing": smoothing, "reduction": reduction},
    )


def compared(low: float = -3.0, high: float = 3.0) -> Any:
    def drawn(draw: Draw) -> tuple[Arrays, dict[str, Any]]:
        shape = draw.shape(1)
        arrays = [draw.array(shape, low, high), draw.array(shape, low, high)]
        return arrays, {"reduction": draw.choice(["mean", "sum", "none"])}

    return drawn


def convolved(rank: int, transposed: bool = False) -> Any:
    def drawn(draw: Draw) -> tuple[Arrays, dict[str, Any]]:
        groups = draw.choice([1, 1, 2, 3])
        c_in, c_out = groups * draw.integer(1, 3), groups * draw.integer(1, 3)
        size = [draw.integer(5, 8) for _ in range(rank)]
        kernel = [draw.integer(1, 3) for _ in range(rank)]
        shape = (c_in, c_out // groups) if transposed else (c_out, c_in // groups)
        arrays = [
            draw.array((draw.integer(1, 3), c_in, *size)),
            draw.array((*shape, *kernel)),
            draw.array((c_out,)),
        ]
        options: dict[str, Any] = {
            "stride": tuple(draw.integer(1, 2) for _ in range(rank)),
            "padding": tuple(draw.integer(0, 2) for _ in range(rank)),
            "dilation": tuple(draw.integer(1, 2) for _ in range(rank)),
            "groups": groups,
        }
        return arrays, options

    return drawn


def pooled(rank: int, dilated: bool) -> Any:
    def drawn(draw: Draw) -> tuple[Arrays, dict[str, Any]]:
        kernel = tuple(draw.integer(1, 3) for _ in range(rank))
        x = draw.array((2, draw.integer(1, 3), *(draw.integer(6, 9) for _ in range(rank))))
        options: dict[str, Any] = {
            "kernel_size": kernel,
            "stride": tuple(draw.integer(1, 3) for _ in range(rank)),
            "padding": tuple(draw.integer(0, one // 2) for one in kernel),
            "ceil_mode": bool(draw.integer(0, 1)),
        }
        if dilated:
            options["dilation"] = tuple(draw.integer(1, 2) for _ in range(rank))
        else:
            options["count_include_pad"] = bool(draw.integer(0, 1))
        return [x], options

    return drawn


def divided(rank: int) -> Any:
    def drawn(draw: Draw) -> tuple[Arrays, dict[str, Any]]:
        x = draw.array((2, draw.integer(1, 3), *(draw.integer(1, 9) for _ in range(rank))))
        return [x], {"output_size": tuple(draw.integer(1, 6) for _ in range(rank))}

    return drawn


def resized(draw: Draw) -> tuple[Arrays, dict[str, Any]]:
    rank = draw.integer(1, 3)
    x = draw.array((2, draw.integer(1, 3), *(draw.integer(1, 7) for _ in range(rank))))
    smooth = {1: ["linear"], 2: ["bilinear", "bicubic"], 3: ["trilinear"]}[rank]
    mode = draw.choice(["nearest", "nearest-exact", "area", *smooth, *smooth])
    options: dict[str, Any] = {"mode": mode}
    if draw.integer(0, 1):
        options["size"] = tuple(draw.integer(1, 12) for _ in range(rank))
    else:
        options["scale_factor"] = tuple(draw.choice([1.0, 1.7, 2.0, 2.5]) for _ in range(rank))
    if mode in smooth:
        options["align_corners"] = bool(draw.integer(0, 1))
    return [x], options


def shrunk(draw: Draw) -> tuple[Arrays, dict[str, Any]]:
    x = draw.array((2, 2, draw.integer(4, 12), draw.integer(4, 12)))
    # To one column PyTorch repeats the first row.
    size = (draw.integer(2, 9), draw.integer(2, 9))
    return [x], {"size": size, "mode": draw.choice(["bilinear", "bicubic"]), "antialias": True}


def sampled(draw: Draw) -> tuple[Arrays, dict[str, Any]]:
    rank, batch = draw.integer(2, 3), draw.integer(1, 2)
    x = draw.array((batch, draw.integer(1, 3), *(draw.integer(1, 5) for _ in range(rank))))
    points = (batch, *(draw.integer(1, 4) for _ in range(rank)), rank)
    modes = ["bilinear", "nearest", "bicubic"] if rank == 2 else ["bilinear", "nearest"]
    return [x, draw.array(points, -1.7, 1.7)], {
        "mode": draw.choice(modes),
        "padding_mode": draw.choice(["zeros", "border", "reflection"]),
        "align_corners": bool(draw.integer(0, 1)),
    }


def moved(draw: Draw) -> tuple[Arrays, dict[str, Any]]:
    rank, batch = draw.integer(2, 3), draw.integer(1, 3)
    size = (batch, 2, *(draw.integer(2, 5) for _ in range(rank)))
    options = {"size": size, "align_corners": bool(draw.integer(0, 1))}
    return [draw.array((batch, rank, rank + 1))], options


def normalised(draw: Draw) -> tuple[Arrays, dict[str, Any]]:
    shape = draw.shape(2, 4)
    trailing = shape[draw.integer(1, len(shape) - 1) :]
    return (
        [draw.array(shape), draw.array(trailing), draw.array(trailing)],
        {"normalized_shape": trailing},
    )


def batches(draw: Draw) -> tuple[Arrays, dict[str, Any]]:
    channels = draw.integer(1, 4)
    x = draw.array((draw.integer(2, 4), channels, *draw.shape(0, 3)))
    return [x, draw.array((channels,)), draw.array((channels,))], {}


def grouped(draw: Draw) -> tuple[Arrays, dict[str, Any]]:
    groups = draw.integer(1, 3)
    channels = groups * draw.integer(1, 3)
    x = draw.array((2, channels, draw.integer(2, 4), draw.integer(2, 4)))
    return [x, draw.array((channels,)), draw.array((channels,))], {"num_groups": groups}


def attended(draw: Draw) -> tuple[Arrays, dict[str, Any]]:
    batch = draw.shape(1, 2, 3)
    length, width = draw.integer(1, 6), draw.integer(1, 5)
    source = length if (causal := bool(draw.integer(0, 1))) else draw.integer(1, 6)
    arrays = [
        draw.array((*batch, length, width)),
        draw.array((*batch, source, width)),
        draw.array((*batch, source, draw.integer(1, 5))),
    ]
    return arrays, {"is_causal": causal}


def bagged(draw: Draw) -> tuple[Arrays, dict[str, Any]]:
    rows, ids = draw.integer(2, 6), draw.shape(2, 2)
    table = draw.array((rows, draw.integer(1, 4)))
    options = {"padding_idx": draw.choice([None, 0, 1]), "mode": draw.choice(["sum", "mean"])}
    return [draw.integers(ids, 0, rows), table], options


FUNCTIONAL = (
    Pair("embedding_bag", ours_nn.embedding_bag, theirs_nn.embedding_bag, bagged),
    Pair("cross_entropy", ours_nn.cross_entropy, theirs_nn.cross_entropy, classified),
    Pair("mse_loss", ours_nn.mse_loss, theirs_nn.mse_loss, compared()),
    Pair("l1_loss", ours_nn.l1_loss, theirs_nn.l1_loss, compared()),
    Pair("smooth_l1_loss", ours_nn.smooth_l1_loss, theirs_nn.smooth_l1_loss, compared()),
    Pair("huber_loss", ours_nn.huber_loss, theirs_nn.huber_loss, compared()),
    Pair(
        "binary_cross_entropy",
        ours_nn.binary_cross_entropy,
        theirs_nn.binary_cross_entropy,
        compared(0.05, 0.95),
    ),
    Pair(
        "binary_cross_entropy_with_logits",
        ours_nn.binary_cross_entropy_with_logits,
        theirs_nn.binary_cross_entropy_with_logits,
        compared(0.05, 0.95),
    ),
    Pair("conv1d", ours_nn.conv1d, theirs_nn.conv1d, convolved(1)),
    Pair("conv2d", ours_nn.conv2d, theirs_nn.conv2d, convolved(2)),
    Pair("conv3d", ours_nn.conv3d, theirs_nn.conv3d, convolved(3)),
    Pair(
        "conv_transpose1d", ours_nn.conv_transpose1d, theirs_nn.conv_transpose1d, convolved(1, True)
    ),
    Pair(
        "conv_transpose2d", ours_nn.conv_transpose2d, theirs_nn.conv_transpose2d, convolved(2, True)
    ),
    Pair(
        "conv_transpose3d", ours_nn.conv_transpose3d, theirs_nn.conv_transpose3d, convolved(3, True)
    ),
    Pair("max_pool1d", ours_nn.max_pool1d, theirs_nn.max_pool1d, pooled(1, True)),
    Pair("max_pool2d", ours_nn.max_pool2d, theirs_nn.max_pool2d, pooled(2, True)),
    Pair("max_pool3d", ours_nn.max_pool3d, theirs_nn.max_pool3d, pooled(3, True)),
    Pair("avg_pool1d", ours_nn.avg_pool1d, theirs_nn.avg_pool1d, pooled(1, False)),
    Pair("avg_pool2d", ours_nn.avg_pool2d, theirs_nn.avg_pool2d, pooled(2, False)),
    Pair("avg_pool3d", ours_nn.avg_pool3d, theirs_nn.avg_pool3d, pooled(3, False)),
    Pair(
        "max_pool2d indices",
        lambda x, **options: ours_nn.max_pool2d(x, return_indices=True, **options)[1],
        lambda x, **options: theirs_nn.max_pool2d(x, return_indices=True, **options)[1],
        pooled(2, True),
        differentiable=False,
    ),
    *(
        Pair(name, getattr(ours_nn, name), getattr(theirs_nn, name), divided(rank))
        for rank in (1, 2, 3)
        for name in (f"adaptive_avg_pool{rank}d", f"adaptive_max_pool{rank}d")
    ),
    # PyTorch computes places in the input's precision: a nearest element can be another one.
    Pair("interpolate", ours_nn.interpolate, theirs_nn.interpolate, resized, float32=False),
    Pair("antialias", ours_nn.interpolate, theirs_nn.interpolate, shrunk, float32=False),
    Pair("grid_sample", ours_nn.grid_sample, theirs_nn.grid_sample, sampled, float32=False),
    Pair("affine_grid", ours_nn.affine_grid, theirs_nn.affine_grid, moved),
    Pair(
        "layer_norm",
        lambda x, w, b, normalized_shape: ours_nn.layer_norm(x, normalized_shape, w, b),
        lambda x, w, b, normalized_shape: theirs_nn.layer_norm(x, normalized_shape, w, b),
        normalised,
    ),
    Pair(
        "batch_norm",
        lambda x, w, b: ours_nn.batch_norm(x, None, None, w, b, training=True),
        lambda x, w, b: theirs_nn.batch_norm(x, None, None, w, b, training=True),
        batches,
    ),
    Pair(
        "group_norm",
        lambda x, w, b, num_groups: ours_nn.group_norm(x, num_groups, w, b),
        lambda x, w, b, num_groups: theirs_nn.group_norm(x, num_groups, w, b),
        grouped,
    ),
    Pair(
        "scaled_dot_product_attention",
        ours_nn.scaled_dot_product_attention,
        theirs_nn.scaled_dot_product_attention,
        attended,
    ),
)

PAIRS = (*UNARY, *BINARY, *REDUCTIONS, *SHAPES, *FUNCTIONAL)

WRONG = (
    ("add", lm.add, torch.add, [(2, 3), (4,)]),
    ("matmul", lm.matmul, torch.matmul, [(2, 3), (4, 5)]),
    ("conv2d", ours_nn.conv2d, torch.conv2d, [(1, 3, 5, 5), (4, 2, 3, 3)]),
    ("conv2d kernel", ours_nn.conv2d, torch.conv2d, [(1, 2, 2, 2), (4, 2, 3, 3)]),
    (
        "attention",
        ours_nn.scaled_dot_product_attention,
        theirs_nn.scaled_dot_product_attention,
        [(2, 3, 4), (2, 3, 5), (2, 3, 5)],
    ),
    (
        "layer_norm",
        lambda x: ours_nn.layer_norm(x, (3,)),
        lambda x: theirs_nn.layer_norm(x, (3,)),
        [(2, 4)],
    ),
    (
        "max_pool2d",
        lambda x: ours_nn.max_pool2d(x, 5),
        lambda x: theirs_nn.max_pool2d(x, 5),
        [(1, 1, 3, 3)],
    ),
)
