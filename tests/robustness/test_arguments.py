"""Arguments of every wrong type: each function answers with an error of lumus, never another's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.errors import DTypeError, KindError, LumusError, ShapeError

F = lm.nn.functional


class _Nothing:
    """An object without any protocol."""


def _values() -> dict[str, Any]:
    return {
        "None": None,
        "text": "a",
        "bytes": b"a",
        "list": [1, 2],
        "tuple": (0, 0),
        "dict": {},
        "generator": (one for one in [1]),
        "array": np.ones(3),
        "float32": np.float32(1),
        "object": _Nothing(),
        "type": float,
        "nan": float("nan"),
        "infinity": float("inf"),
        "negative": -7,
        "beyond int64": 2**70,
        "beyond float": 10**400,
        "half": 1.5,
        "True": True,
        "complex": 1j,
        "dtype": lm.int64,
        "Int tensor": lm.tensor([[1, 2, 0], [0, 1, 2]]),
        "Bool tensor": lm.tensor([[True, False, True], [False, True, True]]),
        "empty tensor": lm.zeros((0, 3)),
        "0-d tensor": lm.tensor(1.0),
        "tensor of another device": lm.ones((2, 3), device="reference"),
    }


X = lm.tensor([[1.0, 2.0, 0.5], [0.3, 4.0, 2.2]])
V = lm.tensor([1.0, 2.0, 0.5])
I = lm.tensor([[1, 2, 0], [0, 1, 2]])  # noqa: E741
B = lm.tensor([[True, False, True], [False, True, True]])
LINE, PICTURE, VOLUME = V.reshape(1, 1, 3), V.reshape(1, 1, 1, 3), V.reshape(1, 1, 1, 1, 3)

# Calls that are right, from which one argument after the other is spoilt.
_RIGHT: dict[str, tuple[Any, ...]] = {
    "affine": (X, 2.0, 1.0),
    "all": (B,),
    "any": (B,),
    "arange": (0, 5, 1),
    "argmax": (X, 0),
    "argmin": (X, 0),
    "argsort": (X, 0),
    "astype": (X, lm.float64),
    "bincount": (lm.tensor([1, 2, 0]),),
    "bitwise_and": (I, 3),
    "bitwise_invert": (I,),
    "bitwise_left_shift": (I, 3),
    "bitwise_or": (I, 3),
    "bitwise_right_shift": (I, 3),
    "bitwise_xor": (I, 3),
    "broadcast_to": (V, (2, 3)),
    "cdist": (X, X, 2.0),
    "celu": (X, 0.5),
    "clip": (X, 0.0, 1.0),
    "concat": ([X, X], 0),
    "count_nonzero": (X, 0),
    "cummax": (X, 0),
    "cummin": (X, 0),
    "cumprod": (X, 0),
    "cumsum": (X, 0),
    "diag": (V, 0),
    "diagonal": (X, 0),
    "einsum": ("ij,kj->ik", X, X),
    "elu": (X, 0.5),
    "empty": ((2,),),
    "expand_dims": (X, 0),
    "eye": (2, 2),
    "flip": (X, 0),
    "from_dlpack": (np.ones(2),),
    "from_numpy": (np.ones(2),),
    "full": ((2,), 1.0),
    "full_like": (X, 1.0),
    "hardtanh": (X, -1.0, 1.0),
    "index_add": (X, lm.tensor([0, 1]), X, 0),
    "kron": (X, X),
    "leaky_relu": (X, 0.1),
    "lerp": (X, X, 0.5),
    "linspace": (0.0, 1.0, 3),
    "log_softmax": (X, 0),
    "logaddexp": (X, 2.0),
    "logcumsumexp": (X, 0),
    "logical_and": (B, B),
    "logical_not": (B,),
    "logical_or": (B, B),
    "logical_xor": (B, B),
    "logsumexp": (X, 0),
    "matmul": (X, X.T),
    "max": (X, 0),
    "mean": (X, 0),
    "median": (X, 0),
    "min": (X, 0),
    "moveaxis": (X, 0, 1),
    "nan_to_num": (X, 0.0, 1.0, -1.0),
    "narrow": (X, 0, 0, 1),
    "norm": (X, 2.0, 0),
    "ones": ((2,),),
    "outer": (V, V),
    "pad": (X, 1, "edge"),
    "permute_dims": (X, (1, 0)),
    "polygamma": (2, X),
    "pow": (X, 2.0),
    "prelu": (X, 0.5),
    "prod": (X, 0),
    "quantile": (X, 0.5, 0),
    "repeat": (X, 2, 0),
    "reshape": (X, (3, 2)),
    "roll": (X, 1, 0),
    "scatter_add": (X, I, X, 1),
    "searchsorted": (V, X),
    "softmax": (X, 0),
    "softplus": (X, 2.0),
    "softshrink": (X, 0.5),
    "sort": (X, 0),
    "split": (X, 1, 0),
    "squeeze": (X, None),
    "stack": ([X, X], 0),
    "std": (X, 0),
    "sum": (X, 0),
    "take": (X, lm.tensor([0]), 0),
    "take_along_axis": (X, I, 1),
    "tensor": ([1.0],),
    "tensordot": (X, lm.ones((2, 3))),
    "tile": (X, (2, 1)),
    "topk": (X, 1, 0),
    "trace": (X, 0),
    "transpose": (X, 0, 1),
    "tril": (X, 0),
    "triu": (X, 0),
    "unfold": (X, 1, 2, 1),
    "unique": (X,),
    "unstack": (X, 0),
    "var": (X, 0),
    "where": (B, X, X),
    "xlogy": (X, 2.0),
    "zeros": ((2,),),
}
# What is no function of tensors.
_ELSEWHERE = {
    "build_info",
    "empty_cache",
    "enable_grad",
    "flushes_denormal",
    "grad",
    "is_grad_enabled",
    "load_program",  # a path: Python's own error
    "memory_stats",
    "no_grad",
    "num_threads",
    "reset_peak_memory_stats",
    "scan",  # what a wrong state is, its function says
    "set_flush_denormal",
    "set_num_threads",
    "value_and_grad",
}
_W = lm.tensor([1.0, 2.0], requires_grad=True)


def _store() -> lm.GradStore:
    return (_W * _W).sum().backward()


_CLASSES = lm.tensor([0, 1])
_SIGNS = lm.tensor([[1, -1, 1], [-1, 1, 1]])
_FRAMES = X.log_softmax().reshape(2, 1, 3)
_LOSSES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "cross_entropy options": (
        lambda weight, ignore_index, smoothing, reduction: F.cross_entropy(
            X,
            _CLASSES,
            weight=weight,
            ignore_index=ignore_index,
            label_smoothing=smoothing,
            reduction=reduction,
        ),
        (V, 1, 0.1, "sum"),
    ),
    "nll_loss": (F.nll_loss, (X, _CLASSES)),
    "l1_loss": (F.l1_loss, (X, X)),
    "smooth_l1_loss": (lambda x, t, beta: F.smooth_l1_loss(x, t, beta=beta), (X, X, 0.5)),
    "huber_loss": (lambda x, t, delta: F.huber_loss(x, t, delta=delta), (X, X, 0.5)),
    "bce": (lambda x, t, w: F.binary_cross_entropy(x, t, weight=w), (X, X, V)),
    "bce with logits": (
        lambda x, t, w, p: F.binary_cross_entropy_with_logits(x, t, weight=w, pos_weight=p),
        (X, X, V, V),
    ),
    "kl_div": (
        lambda x, t, log_target, reduction: F.kl_div(
            x, t, log_target=log_target, reduction=reduction
        ),
        (X, X, True, "batchmean"),
    ),
    "hinge_embedding_loss": (
        lambda x, t, margin: F.hinge_embedding_loss(x, t, margin=margin),
        (X, _SIGNS, 1.0),
    ),
    "margin_ranking_loss": (
        lambda x, y, t, margin: F.margin_ranking_loss(x, y, t, margin=margin),
        (X, X, _SIGNS, 1.0),
    ),
    "soft_margin_loss": (F.soft_margin_loss, (X, _SIGNS)),
    "poisson_nll_loss": (
        lambda x, t, log_input, full, eps: F.poisson_nll_loss(
            x, t, log_input=log_input, full=full, eps=eps
        ),
        (X, X, False, True, 0.1),
    ),
    "gaussian_nll_loss": (
        lambda x, t, v, full, eps: F.gaussian_nll_loss(x, t, v, full=full, eps=eps),
        (X, X, X, True, 0.1),
    ),
    "multi_margin_loss": (
        lambda x, t, p, margin, w: F.multi_margin_loss(x, t, p=p, margin=margin, weight=w),
        (X, _CLASSES, 2, 1.0, V),
    ),
    "multilabel_margin_loss": (F.multilabel_margin_loss, (X, I)),
    "multilabel_soft_margin_loss": (
        lambda x, t, w: F.multilabel_soft_margin_loss(x, t, weight=w),
        (X, X, V),
    ),
    "pairwise_distance": (F.pairwise_distance, (X, X, 2.0, 0.1)),
    "triplet_margin_loss": (
        lambda a, p, n, margin, power, eps, swap: F.triplet_margin_loss(
            a, p, n, margin=margin, p=power, eps=eps, swap=swap
        ),
        (X, X, X, 1.0, 2.0, 0.1, True),
    ),
    "cosine_embedding_loss": (
        lambda x, y, t, margin: F.cosine_embedding_loss(x, y, t, margin=margin),
        (X, X, lm.tensor([1, -1]), 0.1),
    ),
    "ctc_loss": (
        lambda x, t, counts, lengths, blank, zero_infinity: F.ctc_loss(
            x, t, counts, lengths, blank=blank, zero_infinity=zero_infinity
        ),
        (_FRAMES, lm.tensor([[1]]), [2], [1], 0, True),
    ),
    "CrossEntropyLoss": (lambda w: lm.nn.CrossEntropyLoss(weight=w), (V,)),
    "KLDivLoss": (lambda reduction: lm.nn.KLDivLoss(reduction=reduction), ("batchmean",)),
    "MSELoss": (lambda reduction: lm.nn.MSELoss(reduction=reduction), ("sum",)),
}

_OTHERS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "backward grad": (lambda one: (_W * _W).backward(one), (lm.ones((2,)),)),
    "backward into": (lambda one: _W.sum().backward(into=one), (None,)),
    "tensordot": (lambda axes: lm.tensordot(X, X, axes=axes), (((0,), (0,)),)),
    "meshgrid": (lm.meshgrid, (V, V)),
    "broadcast_arrays": (lm.broadcast_arrays, (X, V)),
    "pad constant": (lambda one: X.pad(1, constant_values=one), (1.0,)),
    "store []": (lambda one: _store()[one], (_W,)),
    "store get": (lambda one: _store().get(one), (_W,)),
    "store take": (lambda one: _store().take(one), (_W,)),
    "store why": (lambda one: _store().why(one), (_W,)),
    "store replace": (lambda *both: _store().replace(*both), (_W, lm.ones((2,)))),
    "store merge": (lambda one: _store().merge(one), (lm.GradStore(),)),
    "store clip_": (lambda one: _store().clip_(one), (1.0,)),
    "grad of": (lambda function: lm.grad(function)(X), (lambda x: (x * x).sum(),)),
    "grad by": (lambda place: lm.grad(lambda x: (x * x).sum(), place)(X), (0,)),
    "set_flush_denormal": (lm.set_flush_denormal, (lm.flushes_denormal(),)),
    "set_num_threads": (lm.set_num_threads, (lm.num_threads(),)),
    "to_device": (lambda device: X.to_device(device), ("cpu",)),
    "[]": (lambda index: X[index], (0,)),
    "[] =": (lambda index, value: X.copy().__setitem__(index, value), (0, 1.0)),
    "at.set": (lambda index, value: X.at[index].set(value), (0, 1.0)),
    "at.add": (lambda index, value: X.at[index].add(value), (0, 1.0)),
    "in": (lambda value: value in X, (1.0,)),
    "add_": (lambda value: X.copy().add_(value), (1.0,)),
    "copy_": (lambda value: X.copy().copy_(value), (1.0,)),
    "fill_": (lambda value: X.copy().fill_(value), (1.0,)),
    "Generator": (lm.random.Generator, (1,)),
    "seed": (lambda seed: lm.random.Generator(1).seed(seed), (1,)),
    "uniform": (lm.random.uniform, ((2,), 0.0, 1.0)),
    "normal": (lm.random.normal, ((2,), 0.0, 1.0)),
    "bernoulli": (lm.random.bernoulli, ((2,), 0.5)),
    "integers": (lm.random.integers, ((2,), 0, 3)),
    "permutation": (lm.random.permutation, (3,)),
    "exponential": (lm.random.exponential, ((2,), 1.0)),
    "gamma": (lm.random.gamma, ((2,), 1.5, 1.0)),
    "multinomial": (lm.random.multinomial, (X, 1)),
    "Parameter": (lm.nn.Parameter, (X,)),
    "Linear": (lambda *sizes: lm.nn.Linear(*sizes), (2, 3)),
    "Linear forward": (lm.nn.Linear(3, 2), (X,)),
    "Dropout": (lm.nn.Dropout, (0.5,)),
    "CELU": (lm.nn.CELU, (0.5,)),
    "ELU": (lm.nn.ELU, (0.5,)),
    "Hardtanh": (lm.nn.Hardtanh, (-1.0, 1.0)),
    "LeakyReLU": (lm.nn.LeakyReLU, (0.1,)),
    "PReLU": (lm.nn.PReLU, (3, 0.5)),
    "PReLU forward": (lm.nn.PReLU(3), (X,)),
    "Softmax": (lm.nn.Softmax, (1,)),
    "LogSoftmax": (lm.nn.LogSoftmax, (1,)),
    "Softplus": (lm.nn.Softplus, (2.0,)),
    "Softshrink": (lm.nn.Softshrink, (0.5,)),
    "Module.load_state_dict": (
        lambda state: lm.nn.Linear(2, 3).load_state_dict(state),
        (lm.nn.Linear(2, 3).state_dict(),),
    ),
    "SGD": (lambda *both: lm.optim.SGD(*both), ([_W], 0.1)),
    "SGD.step": (lambda store: lm.optim.SGD([_W], 0.0).step(store), (_store(),)),
    "group": (lambda ones: lm.optim.SGD([{"parameters": ones}]), ([_W],)),
    "Adam betas": (lambda *betas: lm.optim.Adam([_W], betas=betas), (0.9, 0.99)),
    "Optimizer.load_state_dict": (
        lambda state: lm.optim.SGD([_W]).load_state_dict(state),
        (lm.optim.SGD([_W]).state_dict(),),
    ),
    "Batches": (lambda *both: lm.data.Batches(both[0], batch_size=both[1]), (X, 1)),
    "cross_entropy": (F.cross_entropy, (X, lm.tensor([0, 1]))),
    "mse_loss": (F.mse_loss, (X, X)),
    **_LOSSES,
    "RNN": (lambda *sizes: lm.nn.RNN(*sizes), (3, 4, 2)),
    "LSTM options": (
        lambda bias, batch_first, dropout, bidirectional, proj_size: lm.nn.LSTM(
            3,
            4,
            bias=bias,
            batch_first=batch_first,
            dropout=dropout,
            bidirectional=bidirectional,
            proj_size=proj_size,
        ),
        (True, False, 0.5, True, 2),
    ),
    "GRU forward": (
        lambda x, state, lengths: lm.nn.GRU(3, 4)(x, state, lengths=lengths),
        (X.reshape(2, 1, 3), lm.zeros((1, 1, 4)), [2]),
    ),
    "LSTM states": (lambda states: lm.nn.LSTM(3, 4)(X, states), ((lm.zeros((1, 4)),) * 2,)),
    "RNNCell": (lambda *sizes: lm.nn.RNNCell(*sizes), (3, 4)),
    "GRUCell forward": (lm.nn.GRUCell(3, 4), (X, lm.zeros((2, 4)))),
    "dropout": (F.dropout, (X, 0.5)),
    "attention": (F.scaled_dot_product_attention, (X, X, X, lm.ones((2, 2)) > 0)),
    "attention options": (
        lambda dropout, is_causal, scale, enable_gqa, generator: F.scaled_dot_product_attention(
            X,
            X,
            X,
            dropout=dropout,
            is_causal=is_causal,
            scale=scale,
            enable_gqa=enable_gqa,
            generator=generator,
        ),
        (0.5, False, 1.0, False, lm.random.Generator(1)),
    ),
    "rotary_encoding": (
        lambda x, offset, base: F.rotary_encoding(x, offset=offset, base=base),
        (lm.ones((2, 4)), 0, 100.0),
    ),
    "sinusoidal_encoding": (F.sinusoidal_encoding, (3, 4)),
    "embedding": (F.embedding, (lm.tensor([0, 1]), X)),
    "embedding options": (
        lambda padding, averages: F.embedding(
            lm.tensor([0]), X, padding_idx=padding, scale_grad_by_freq=averages
        ),
        (1, False),
    ),
    "embedding_bag": (F.embedding_bag, (lm.tensor([0, 1, 1]), X, lm.tensor([0, 2]))),
    "embedding_bag options": (
        lambda mode, weights, padding: F.embedding_bag(
            I % 2, X, mode=mode, per_sample_weights=weights, padding_idx=padding
        ),
        ("sum", X, 1),
    ),
    "EmbeddingBag": (lm.nn.EmbeddingBag, (3, 2)),
    "EmbeddingBag forward": (lm.nn.EmbeddingBag(3, 2), (lm.tensor([0, 1]), lm.tensor([0]))),
    "one_hot": (F.one_hot, (I, 3)),
    "Embedding": (lm.nn.Embedding, (3, 2, 1)),
    "Embedding forward": (lm.nn.Embedding(3, 2), (I,)),
    "Embedding.from_pretrained": (lm.nn.Embedding.from_pretrained, (X,)),
    "conv1d": (F.conv1d, (LINE, LINE, V[:1], 1, 0, 1, 1)),
    "conv2d": (F.conv2d, (PICTURE, PICTURE, V[:1], 1, 0, 1, 1)),
    "conv3d": (F.conv3d, (VOLUME, VOLUME, V[:1], 1, 0, 1, 1)),
    "conv_transpose1d": (F.conv_transpose1d, (LINE, LINE, V[:1], 1, 0, 0, 1, 1)),
    "conv_transpose2d": (F.conv_transpose2d, (PICTURE, PICTURE, V[:1], 1, 0, 0, 1, 1)),
    "conv_transpose3d": (F.conv_transpose3d, (VOLUME, VOLUME, V[:1], 1, 0, 0, 1, 1)),
    "nn unfold": (F.unfold, (PICTURE, 1, 1, 0, 1)),
    "fold": (F.fold, (LINE, (1, 3), 1, 1, 0, 1)),
    "Conv2d": (lambda *numbers: lm.nn.Conv2d(*numbers), (2, 4, 3, 1, 1, 1, 2)),
    "Conv2d padding_mode": (lambda mode: lm.nn.Conv2d(2, 4, 3, padding_mode=mode), ("zeros",)),
    "Conv2d forward": (lm.nn.Conv2d(1, 4, 1), (PICTURE,)),
    "Conv2d circular": (lm.nn.Conv2d(1, 4, 1, padding_mode="circular"), (PICTURE,)),
    "ConvTranspose2d": (lambda *numbers: lm.nn.ConvTranspose2d(*numbers), (2, 4, 3, 1, 1, 0, 2)),
    "Unfold": (lm.nn.Unfold, (2, 1, 0, 1)),
    "Fold": (lm.nn.Fold, (4, 2, 1, 0, 1)),
    "MultiheadAttention": (lm.nn.MultiheadAttention, (4, 2, 0.5)),
    "MultiheadAttention options": (
        lambda add_bias_kv, add_zero_attn, kdim, batch_first: lm.nn.MultiheadAttention(
            4,
            2,
            add_bias_kv=add_bias_kv,
            add_zero_attn=add_zero_attn,
            kdim=kdim,
            batch_first=batch_first,
        ),
        (True, True, 3, True),
    ),
    "MultiheadAttention forward": (
        lm.nn.MultiheadAttention(3, 1),
        (X, X, X, lm.ones((2, 2)) > 0),
    ),
    "MultiheadAttention key_mask": (
        lambda mask: lm.nn.MultiheadAttention(3, 1)(X, X, X, key_mask=mask),
        (lm.ones((2,)) > 0,),
    ),
    "gain": (lm.nn.init.gain, ("relu", 0.1)),
    "fans": (lm.nn.init.fans, ((2, 3),)),
}


_SQUARE = lm.tensor([[2.0, 0.5, 0.0], [0.5, 3.0, 1.0], [0.0, 1.0, 4.0]])
_LINALG: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "cholesky": (lambda x, upper: lm.linalg.cholesky(x, upper=upper), (_SQUARE, False)),
    "cross": (lambda x, y, axis: lm.linalg.cross(x, y, axis=axis), (X, X, 1)),
    "det": (lm.linalg.det, (_SQUARE,)),
    "eigh": (lm.linalg.eigh, (_SQUARE,)),
    "eigvalsh": (lm.linalg.eigvalsh, (_SQUARE,)),
    "inv": (lm.linalg.inv, (_SQUARE,)),
    "lstsq": (lambda a, b, rtol: lm.linalg.lstsq(a, b, rtol=rtol), (X, X, 0.1)),
    "matrix_power": (lm.linalg.matrix_power, (_SQUARE, 2)),
    "matrix_rank": (lambda x, rtol: lm.linalg.matrix_rank(x, rtol=rtol), (X, 0.1)),
    "pinv": (lambda x, rtol: lm.linalg.pinv(x, rtol=rtol), (X, 0.1)),
    "qr": (lambda x, mode: lm.linalg.qr(x, mode=mode), (X, "complete")),
    "slogdet": (lm.linalg.slogdet, (_SQUARE,)),
    "solve": (lm.linalg.solve, (_SQUARE, V)),
    "solve_triangular": (
        lambda a, b, upper, left, unit: lm.linalg.solve_triangular(
            a, b, upper=upper, left=left, unitriangular=unit
        ),
        (_SQUARE, V, True, True, False),
    ),
    "svd": (lambda x, full: lm.linalg.svd(x, full_matrices=full), (X, True)),
    "svdvals": (lm.linalg.svdvals, (X,)),
    "vecdot": (lambda x, y, axis: lm.vecdot(x, y, axis=axis), (X, X, -1)),
}


_PAIRS = lm.ones((3, 4, 2))
_FFT: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    **{
        name: (
            lambda x, n, axis, norm, name=name: getattr(lm.fft, name)(x, n=n, axis=axis, norm=norm),
            (X if name in ("rfft", "ihfft") else _PAIRS, 4, 1, "ortho"),
        )
        for name in ("fft", "hfft", "ifft", "ihfft", "irfft", "rfft")
    },
    **{
        name: (
            lambda x, s, axes, norm, name=name: getattr(lm.fft, name)(x, s=s, axes=axes, norm=norm),
            (X if name == "rfftn" else _PAIRS, (4, 3), (0, 1), "forward"),
        )
        for name in ("fftn", "ifftn", "irfftn", "rfftn")
    },
    "fftfreq": (lambda n, d: lm.fft.fftfreq(n, d=d), (4, 0.5)),
    "rfftfreq": (lambda n, d: lm.fft.rfftfreq(n, d=d), (4, 0.5)),
    "fftshift": (lambda x, axes: lm.fft.fftshift(x, axes=axes), (X, 0)),
    "ifftshift": (lambda x, axes: lm.fft.ifftshift(x, axes=axes), (X, 0)),
}


def _calls() -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    for name in lm.__all__:
        function = getattr(lm, name)
        if not inspect.isfunction(function) or name in _ELSEWHERE:
            continue
        needed = [
            one
            for one in inspect.signature(function).parameters.values()
            if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD
        ]
        yield name, function, _RIGHT.get(name, (X,) * len(needed))
    for name, (function, right) in {**_OTHERS, **_LINALG, **_FFT}.items():
        yield name, function, right


@pytest.mark.parametrize(("name", "function", "right"), list(_calls()))
def test_a_wrong_argument_gives_an_error_of_lumus(
    name: str, function: Callable[..., Any], right: tuple[Any, ...]
) -> None:
    function(*right)  # else the errors below would be of the call and not of the argument
    leaked = []
    for place in range(len(right)):
        for kind, wrong in _values().items():
            try:
                function(*right[:place], wrong, *right[place + 1 :])
            except LumusError:
                continue
            except Exception as error:
                leaked.append(f"argument {place} as {kind}: {error!r}")
    assert not leaked, "\n".join(leaked)


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "full", "arange", "tensor", "eye"])
@pytest.mark.parametrize("dtype", ["float32", float, np.float32, np.dtype("int8"), 3])
def test_a_foreign_dtype_is_told_with_the_one_to_write(name: str, dtype: Any) -> None:
    right = _RIGHT[name]
    with pytest.raises(DTypeError, match=r"one of lumus.s own, got .*\nhint: (use|there are)"):
        getattr(lm, name)(*right, dtype=dtype)


# Numbers
# ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (np.int8(3), lm.int64),
        (np.uint64(3), lm.int64),
        (np.bool_(True), lm.bool_),
        (np.float16(3), lm.float32),
        (np.float64(3), lm.float32),
    ],
)
def test_a_numpy_scalar_counts_as_its_python_number(value: Any, dtype: Any) -> None:
    made = lm.full((2,), value)
    assert made.dtype is dtype
    assert made.tolist() == [value.item()] * 2


def test_arange_of_numpy_ints_is_of_ints() -> None:
    assert lm.arange(np.int64(3)).dtype is lm.int64
    assert lm.arange(np.int8(1), np.uint8(9), np.int16(4)).tolist() == [1, 5]


def test_an_int_beyond_every_float_is_refused_before_it_overflows() -> None:
    with pytest.raises(DTypeError, match="add: an int of 4001 bits is beyond every float"):
        lm.ones(2) + 2**4000
    with pytest.raises(DTypeError):
        lm.full((2,), 10**400, dtype=lm.float16)


def test_ints_beyond_int64_beside_floats_count_as_floats() -> None:
    assert lm.tensor([1.0, 2**70], dtype=lm.float64).tolist() == [1.0, 2.0**70]
    assert lm.tensor(2**70, dtype=lm.float32).item() == 2.0**70
    with pytest.raises(DTypeError, match="does not fit into int64"):
        lm.tensor([1, 2**70])


def test_numbers_are_rounded_once_to_the_dtype() -> None:
    # Through float32 this would be a tie, and round to even: down.
    assert lm.tensor(1 + 2**-11 + 2**-40, dtype=lm.float16).item() == 1 + 2**-10
    assert lm.tensor([1e300]).tolist() == [float("inf")]


def test_ints_that_do_not_fit_are_refused_whatever_holds_them() -> None:
    for value in ([300], np.array([300]), lm.tensor([300]), [lm.tensor(300)]):
        with pytest.raises(DTypeError, match="300"):
            lm.tensor(value, dtype=lm.uint8)
    x = lm.zeros((2,), dtype=lm.uint8)
    with pytest.raises(DTypeError):
        x[:] = [1, 300]
    with pytest.raises(DTypeError):
        x.copy_([1, 300])
    assert x.tolist() == [0, 0]


def test_numbers_beside_tensors_are_weak() -> None:
    half = lm.tensor(1.5, dtype=lm.float16)
    assert lm.tensor([half, 2, [3.0][0]]).dtype is lm.float16
    assert lm.tensor([[half, 2], [3, 4]]).tolist() == [[1.5, 2.0], [3.0, 4.0]]
    with pytest.raises(KindError):
        lm.tensor([lm.tensor(1), 2.5])


def test_a_list_is_written_into_bfloat16() -> None:
    x = lm.zeros((3,), dtype=lm.bfloat16)
    x[:] = [1.5, 2, 3.0]
    assert x.tolist() == [1.5, 2.0, 3.0]
    assert x.at[:2].set([0.5, 0.25]).tolist() == [0.5, 0.25, 3.0]
    assert x.copy_([4, 5, 6]).tolist() == [4.0, 5.0, 6.0]


@pytest.mark.parametrize("depth", [17, 60, 100_000])
def test_lists_nested_deeper_than_axes_are_refused(depth: int) -> None:
    nested: Any = 0.0
    for _ in range(depth):
        nested = [nested]
    with pytest.raises(ShapeError, match="deeper than 16"):
        lm.tensor(nested)


def test_a_list_that_holds_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ShapeError, match="deeper than 16"):
        lm.tensor(endless)
