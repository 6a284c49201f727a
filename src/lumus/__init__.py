"""lumus: tensors, autograd that can be seen through, and native kernels.

    import lumus as lm

See `lumus.tensor`, `lumus.Tensor.backward`, `lumus.nn`, `lumus.optim`. Exceptions: `lumus.errors`.
"""

from lumus import _register as _register
from lumus import data, errors, fft, inspect, io, linalg, nn, optim, random
from lumus.autograd.custom import custom_op
from lumus.autograd.functional import grad, value_and_grad
from lumus.autograd.gradients import GradStore
from lumus.autograd.modes import enable_grad, is_grad_enabled, no_grad
from lumus.compile.function import compile
from lumus.compile.loaded import load_program
from lumus.core.dtypes import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from lumus.core.kinds import Bool, Float, Int
from lumus.core.runtime import (
    build_info,
    empty_cache,
    flushes_denormal,
    memory_stats,
    num_threads,
    reset_peak_memory_stats,
    set_flush_denormal,
    set_num_threads,
)
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.ops.bitwise.bitwise_and import bitwise_and
from lumus.ops.bitwise.bitwise_invert import bitwise_invert
from lumus.ops.bitwise.bitwise_left_shift import bitwise_left_shift
from lumus.ops.bitwise.bitwise_or import bitwise_or
from lumus.ops.bitwise.bitwise_right_shift import bitwise_right_shift
from lumus.ops.bitwise.bitwise_xor import bitwise_xor
from lumus.ops.compare.equal import equal
from lumus.ops.compare.greater import greater
from lumus.ops.compare.greater_equal import greater_equal
from lumus.ops.compare.isfinite import isfinite
from lumus.ops.compare.isinf import isinf
from lumus.ops.compare.isnan import isnan
from lumus.ops.compare.less import less
from lumus.ops.compare.less_equal import less_equal
from lumus.ops.compare.logical_and import logical_and
from lumus.ops.compare.logical_not import logical_not
from lumus.ops.compare.logical_or import logical_or
from lumus.ops.compare.logical_xor import logical_xor
from lumus.ops.compare.not_equal import not_equal
from lumus.ops.control.scan import scan
from lumus.ops.create.arange import arange, linspace
from lumus.ops.create.eye import diag, eye
from lumus.ops.create.full import (
    empty,
    empty_like,
    full,
    full_like,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from lumus.ops.create.tensor import tensor
from lumus.ops.elementwise.abs import abs
from lumus.ops.elementwise.acos import acos
from lumus.ops.elementwise.acosh import acosh
from lumus.ops.elementwise.add import add
from lumus.ops.elementwise.affine import affine
from lumus.ops.elementwise.asin import asin
from lumus.ops.elementwise.asinh import asinh
from lumus.ops.elementwise.astype import astype
from lumus.ops.elementwise.atan import atan
from lumus.ops.elementwise.atan2 import atan2
from lumus.ops.elementwise.atanh import atanh
from lumus.ops.elementwise.ceil import ceil
from lumus.ops.elementwise.celu import celu
from lumus.ops.elementwise.clip import clip
from lumus.ops.elementwise.cos import cos
from lumus.ops.elementwise.cosh import cosh
from lumus.ops.elementwise.digamma import digamma
from lumus.ops.elementwise.divide import divide
from lumus.ops.elementwise.elu import elu
from lumus.ops.elementwise.erf import erf
from lumus.ops.elementwise.erfc import erfc
from lumus.ops.elementwise.erfinv import erfinv
from lumus.ops.elementwise.exp import exp
from lumus.ops.elementwise.exp2 import exp2
from lumus.ops.elementwise.expm1 import expm1
from lumus.ops.elementwise.floor import floor
from lumus.ops.elementwise.floor_divide import floor_divide
from lumus.ops.elementwise.fmod import fmod
from lumus.ops.elementwise.gelu import gelu
from lumus.ops.elementwise.hardsigmoid import hardsigmoid
from lumus.ops.elementwise.hardswish import hardswish
from lumus.ops.elementwise.hardtanh import hardtanh
from lumus.ops.elementwise.hypot import hypot
from lumus.ops.elementwise.leaky_relu import leaky_relu
from lumus.ops.elementwise.lerp import lerp
from lumus.ops.elementwise.lgamma import lgamma
from lumus.ops.elementwise.log import log
from lumus.ops.elementwise.log1p import log1p
from lumus.ops.elementwise.log2 import log2
from lumus.ops.elementwise.log10 import log10
from lumus.ops.elementwise.logaddexp import logaddexp
from lumus.ops.elementwise.logsigmoid import logsigmoid
from lumus.ops.elementwise.maximum import maximum
from lumus.ops.elementwise.minimum import minimum
from lumus.ops.elementwise.mish import mish
from lumus.ops.elementwise.multiply import multiply
from lumus.ops.elementwise.nan_to_num import nan_to_num
from lumus.ops.elementwise.negative import negative
from lumus.ops.elementwise.polygamma import polygamma
from lumus.ops.elementwise.pow import pow
from lumus.ops.elementwise.prelu import prelu
from lumus.ops.elementwise.reciprocal import reciprocal
from lumus.ops.elementwise.relu import relu
from lumus.ops.elementwise.relu6 import relu6
from lumus.ops.elementwise.remainder import remainder
from lumus.ops.elementwise.round import round
from lumus.ops.elementwise.rsqrt import rsqrt
from lumus.ops.elementwise.selu import selu
from lumus.ops.elementwise.sigmoid import sigmoid
from lumus.ops.elementwise.sign import sign
from lumus.ops.elementwise.silu import silu
from lumus.ops.elementwise.sin import sin
from lumus.ops.elementwise.sinh import sinh
from lumus.ops.elementwise.softplus import softplus
from lumus.ops.elementwise.softshrink import softshrink
from lumus.ops.elementwise.softsign import softsign
from lumus.ops.elementwise.sqrt import sqrt
from lumus.ops.elementwise.square import square
from lumus.ops.elementwise.subtract import subtract
from lumus.ops.elementwise.tan import tan
from lumus.ops.elementwise.tanh import tanh
from lumus.ops.elementwise.trunc import trunc
from lumus.ops.elementwise.where import where
from lumus.ops.elementwise.xlogy import xlogy
from lumus.ops.index.bincount import bincount
from lumus.ops.index.index_add import index_add
from lumus.ops.index.scatter_add import scatter_add
from lumus.ops.index.take import take
from lumus.ops.index.take_along_axis import take_along_axis
from lumus.ops.interop.dlpack import from_dlpack
from lumus.ops.interop.numpy import from_numpy
from lumus.ops.linalg.cdist import cdist
from lumus.ops.linalg.diagonal import diagonal, trace
from lumus.ops.linalg.einsum import einsum
from lumus.ops.linalg.kron import kron
from lumus.ops.linalg.matmul import matmul
from lumus.ops.linalg.outer import outer
from lumus.ops.linalg.tensordot import tensordot
from lumus.ops.linalg.triangle import tril, triu
from lumus.ops.linalg.vecdot import vecdot
from lumus.ops.reduce.all import all
from lumus.ops.reduce.any import any
from lumus.ops.reduce.argmax import argmax
from lumus.ops.reduce.argmin import argmin
from lumus.ops.reduce.count_nonzero import count_nonzero
from lumus.ops.reduce.log_softmax import log_softmax
from lumus.ops.reduce.logsumexp import logsumexp
from lumus.ops.reduce.max import max
from lumus.ops.reduce.mean import mean
from lumus.ops.reduce.min import min
from lumus.ops.reduce.norm import norm
from lumus.ops.reduce.prod import prod
from lumus.ops.reduce.softmax import softmax
from lumus.ops.reduce.std import std
from lumus.ops.reduce.sum import sum
from lumus.ops.reduce.var import var
from lumus.ops.scan.cummax import cummax
from lumus.ops.scan.cummin import cummin
from lumus.ops.scan.cumprod import cumprod
from lumus.ops.scan.cumsum import cumsum
from lumus.ops.scan.logcumsumexp import logcumsumexp
from lumus.ops.shape.broadcast_arrays import broadcast_arrays
from lumus.ops.shape.broadcast_to import broadcast_to
from lumus.ops.shape.concat import concat
from lumus.ops.shape.copy import copy
from lumus.ops.shape.expand_dims import expand_dims
from lumus.ops.shape.flip import flip
from lumus.ops.shape.meshgrid import meshgrid
from lumus.ops.shape.moveaxis import moveaxis
from lumus.ops.shape.narrow import narrow
from lumus.ops.shape.pad import pad
from lumus.ops.shape.permute_dims import permute_dims
from lumus.ops.shape.repeat import repeat
from lumus.ops.shape.reshape import reshape
from lumus.ops.shape.roll import roll
from lumus.ops.shape.split import split
from lumus.ops.shape.squeeze import squeeze
from lumus.ops.shape.stack import stack
from lumus.ops.shape.tile import tile
from lumus.ops.shape.transpose import transpose
from lumus.ops.shape.unfold import unfold
from lumus.ops.shape.unstack import unstack
from lumus.ops.sort.argsort import argsort
from lumus.ops.sort.median import median
from lumus.ops.sort.quantile import quantile
from lumus.ops.sort.searchsorted import searchsorted
from lumus.ops.sort.sort import sort
from lumus.ops.sort.topk import topk
from lumus.ops.sort.unique import unique

__version__ = "0.1.0"

__all__ = [
    "Bool",
    "DType",
    "Float",
    "GradStore",
    "Int",
    "Spec",
    "Tensor",
    "abs",
    "acos",
    "acosh",
    "add",
    "affine",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "bfloat16",
    "bincount",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "bool_",
    "broadcast_arrays",
    "broadcast_to",
    "build_info",
    "cdist",
    "ceil",
    "celu",
    "clip",
    "compile",
    "concat",
    "copy",
    "cos",
    "cosh",
    "count_nonzero",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "custom_op",
    "data",
    "diag",
    "diagonal",
    "digamma",
    "divide",
    "einsum",
    "elu",
    "empty",
    "empty_cache",
    "empty_like",
    "enable_grad",
    "equal",
    "erf",
    "erfc",
    "erfinv",
    "errors",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "eye",
    "fft",
    "flip",
    "float16",
    "float32",
    "float64",
    "floor",
    "floor_divide",
    "flushes_denormal",
    "fmod",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "gelu",
    "grad",
    "greater",
    "greater_equal",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hypot",
    "index_add",
    "inspect",
    "int16",
    "int32",
    "int64",
    "int8",
    "io",
    "is_grad_enabled",
    "isfinite",
    "isinf",
    "isnan",
    "kron",
    "leaky_relu",
    "lerp",
    "less",
    "less_equal",
    "lgamma",
    "linalg",
    "linspace",
    "load_program",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_softmax",
    "logaddexp",
    "logcumsumexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsigmoid",
    "logsumexp",
    "matmul",
    "max",
    "maximum",
    "mean",
    "median",
    "memory_stats",
    "meshgrid",
    "min",
    "minimum",
    "mish",
    "moveaxis",
    "multiply",
    "nan_to_num",
    "narrow",
    "negative",
    "nn",
    "no_grad",
    "norm",
    "not_equal",
    "num_threads",
    "ones",
    "ones_like",
    "optim",
    "outer",
    "pad",
    "permute_dims",
    "polygamma",
    "pow",
    "prelu",
    "prod",
    "quantile",
    "random",
    "reciprocal",
    "relu",
    "relu6",
    "remainder",
    "repeat",
    "reset_peak_memory_stats",
    "reshape",
    "roll",
    "round",
    "rsqrt",
    "scan",
    "scatter_add",
    "searchsorted",
    "selu",
    "set_flush_denormal",
    "set_num_threads",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "sinh",
    "softmax",
    "softplus",
    "softshrink",
    "softsign",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensor",
    "tensordot",
    "tile",
    "topk",
    "trace",
    "transpose",
    "tril",
    "triu",
    "trunc",
    "uint8",
    "unfold",
    "unique",
    "unstack",
    "value_and_grad",
    "var",
    "vecdot",
    "where",
    "xlogy",
    "zeros",
    "zeros_like",
]
