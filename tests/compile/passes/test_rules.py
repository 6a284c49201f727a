"""Rules of kernels: what they give for operands, and which parameters and operands they refuse."""

import pytest

from lumus.compile.passes.rules import expected
from lumus.core import kernels as k
from lumus.core.device import device_named
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.spec import Spec
from lumus.errors import LumusError
from lumus.trace.text.cursor import Cursor
from lumus.trace.text.kernels import KERNELS, read_kernel
from lumus.trace.text.values import read_spec, spec_text

WITH_EPILOGUE = k.WithEpilogue(
    k.MatMul(True, True), expression(lambda y, s, v: scalar.where(v > 0, y, y * s))
)


def specs(text: str) -> tuple[Spec, ...]:
    cursor, found = Cursor(text), []
    while cursor.next.kind != "end":
        found.append(read_spec(cursor, device_named("cpu")))
    return tuple(found)


def given(kernel: str, inputs: str, outputs: str) -> str:
    made = expected(read_kernel(Cursor(kernel)), specs(inputs), specs(outputs))
    assert made is not None
    return " ".join(map(spec_text, made))


def test_every_kernel_has_a_rule() -> None:
    for name, kind in KERNELS.items():
        fields = [None] * len(kind.field_names)
        try:
            made = expected(kind(*fields), (), specs("float32[]"))
        except Exception:  # a rule that does not take these
            continue
        assert made is not None, name


@pytest.mark.parametrize(
    ("inputs", "output"),
    [
        ("float32[3, 4] float32[5, 4] float32[5] float32[] float32[5]", "float32[3, 5]"),
        ("float16[2, 1, 4] float16[5, 4] float16[5] float32[1, 1] int8[1, 5]", "float16[2, 1, 5]"),
        ("float32[4] float32[1, 4] float32[1] float32[1] float32[1]", "float32[1]"),
    ],
)
def test_an_epilogue_gives_what_its_product_gives(inputs: str, output: str) -> None:
    made = expected(WITH_EPILOGUE, specs(inputs), specs(output))
    assert made == specs(output)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ("float32[3, 4] float32[5, 4] float32[5] float32[3, 5] float32[5]", "in an epilogue"),
        ("float32[3, 4] float32[5, 4] float32[5] float32[3, 1] float32[5]", "in an epilogue"),
        ("float32[3, 4] float32[5, 4] float32[5] float32[1, 1, 1] float32[5]", "in an epilogue"),
        ("float32[3, 4] float32[5, 4] float32[5] float32[4] float32[5]", "in an epilogue"),
        ("float32[3, 4] float32[5, 3] float32[5] float32[] float32[5]", "by"),
        ("float32[3, 4] float32[5, 4] float32[] float32[5]", "operands|bias"),
    ],
)
def test_an_epilogue_refuses_other_operands(inputs: str, message: str) -> None:
    with pytest.raises((AssertionError, LumusError), match=message):
        expected(WITH_EPILOGUE, specs(inputs), specs("float32[3, 5]"))


def test_an_epilogue_of_two_vectors_is_refused() -> None:
    kernel = k.WithEpilogue(k.MatMul(), expression(lambda x: x + 1))
    with pytest.raises(AssertionError, match="without axes"):
        expected(kernel, specs("float32[4] float32[4]"), specs("float32[]"))


CONVOLUTION = "Convolution(stride=(1,), padding=(0,), dilation=(1,), groups=1)"
WEIGHT = "ConvolutionWeight(stride=(1,), padding=(0,), dilation=(1,), groups=1)"
POOL = (
    "MaxPool(axes=(PoolAxis(length={}, count={}, window={}, stride={}, padding={}, dilation={}),))"
)
RESAMPLE = (
    'Resample(axes=(ResampleAxis(length={}, count={}, mode="linear", step=({}, {}), '
    "align_corners=False, antialias=False),))"
)
NORMALIZE = (
    "Normalize(over={}, extents={}, eps=1e-05, is_centered={}, is_measured={}, has_weight={}, "
    "has_bias={})"
)
ATTENTION = "Attention(scale={}, is_causal=False, dropout={}, has_mask={})"
LSTM = 'Recurrent(cell="lstm", reverse=False, has_bias=False, has_lengths={})'
ROWS = 'CrossEntropy(ignore_index=None, label_smoothing={}, reduction="mean")'
RANDOM = 'Random(distribution="{}", shape=(3,), dtype={}, low={}, high={})'
REDUCE = 'Reduce(kind="{}", axes=(0,), keepdims=False, prologue=None)'
PAD = 'Pad(mode="{}", before={}, after={})'


@pytest.mark.parametrize(
    ("kernel", "inputs", "outputs"),
    [
        (CONVOLUTION, "float32[2, 3, 8] float64[4, 3, 3]", "float64[2, 4, 6]"),
        (WEIGHT, "float32[2, 3, 8] float32[2, 4, 6]", "float32[4, 3, 3]"),
        (POOL.format(7, 3, 3, 2, 0, 1), "float16[2, 7]", "float16[2, 3] uint8[2, 3]"),
        (POOL.format(7, 3, 3, 0, 0, 1), "float16[2, 7]", "float16[2, 3] uint8[2, 3]"),
        (RESAMPLE.format(4, 8, 1, 2), "float32[4]", "float32[8]"),
        (
            NORMALIZE.format('"rows"', "(6, 1, 4, 1)", True, True, True, False),
            "bfloat16[2, 3, 4] bfloat16[4]",
            "bfloat16[2, 3, 4] float32[6] float32[6]",
        ),
        (
            NORMALIZE.format('"channels"', "(2, 1, 3, 4)", True, False, False, False),
            "float64[2, 3, 4] float64[3] float64[3]",
            "float64[2, 3, 4]",
        ),
        (
            ATTENTION.format(0.5, 0.5, True),
            "float16[4, 2, 3] float16[2, 5, 3] float16[2, 5, 6] float32[4, 2, 5] int64[2]",
            "float16[4, 2, 6] float32[4, 2]",
        ),
        (
            LSTM.format(True),
            "float32[5, 2, 3] float32[2, 4] float32[2, 4] float32[16, 3] float32[16, 4] int32[2]",
            "float32[5, 2, 4] float32[2, 4] float32[2, 4] float32[5, 2, 16] float32[5, 2, 4]",
        ),
        (
            ROWS.format(0.0),
            "float16[5, 3] int64[5]",
            "float16[] float32[5, 2] float64[]",
        ),
        (RANDOM.format("integers", "int8", -128, 128), "int64[2]", "int8[3]"),
        (RANDOM.format("gamma", "float32", 0, 1), "int64[2] float64[3]", "float32[3]"),
        (PAD.format("reflect", "(2,)", "(1,)"), "int8[3]", "int8[6]"),
        (REDUCE.format("sum"), "int8[2, 3]", "int64[3]"),
        (REDUCE.format("prod"), "bool[0, 3]", "int64[3]"),
        ("Pieces(axis=0, sizes=(1, 1), keepdims=False)", "bool[2, 3]", "bool[3] bool[3]"),
        ("Ctc()", "float16[6, 2, 4] int64[2, 7] int8[2] int64[2]", "float16[2]"),
        (
            "CtcGrad()",
            "float32[2] float32[6, 2, 4] int64[2, 1] int64[2] int64[2]",
            "float32[6, 2, 4]",
        ),
        ("Solve()", "float64[3, 3] float64[3]", "float64[3]"),
        ("Solve()", "float64[2, 1, 3, 3] float64[4, 3, 5]", "float64[2, 4, 3, 5]"),
        ("Arange(start=0, step=1, count=3, dtype=int8)", "", "int8[3]"),
    ],
)
def test_rule_gives_the_types_of_the_results(kernel: str, inputs: str, outputs: str) -> None:
    assert given(kernel, inputs, outputs) == outputs


@pytest.mark.parametrize(
    ("kernel", "inputs", "outputs", "message"),
    [
        (CONVOLUTION, "float32[2, 3, 8] float32[4, 3, 3]", "float32[2, 4, 9]", "9 windows where 7"),
        (CONVOLUTION, "float32[2, 3, 8] float32[4, 2, 3]", "float32[2, 4, 6]", "2, not 3"),
        (CONVOLUTION, "float32[2, 3, 8] int64[4, 3, 3]", "float32[2, 4, 6]", "kinds"),
        (CONVOLUTION, "float32[2, 3, 8] float32[4, 3, 3] float32[3]", "float32[2, 4, 6]", "4"),
        (CONVOLUTION.replace("groups=1", "groups=0"), "float32[2, 3, 8] float32[4, 3, 3]",
         "float32[2, 4, 6]", "0 groups"),
        (CONVOLUTION.replace("stride=(1,)", "stride=(0,)"), "float32[2, 3, 8] float32[4, 3, 3]",
         "float32[2, 4, 6]", "a stride of 0"),
        (CONVOLUTION.replace("stride=(1,)", "stride=()"), "float32[2, 3, 8] float32[4, 3, 3]",
         "float32[2, 4, 6]", "0, not 1"),
        (POOL.format(7, 4, 3, 2, 0, 1), "float32[2, 7]", "float32[2, 4] uint8[2, 4]", None),
        (POOL.format(7, 5, 3, 2, 0, 1), "float32[2, 7]", "float32[2, 5] uint8[2, 5]", "behind"),
        (POOL.format(7, 3, 2, 0, 0, 1), "float32[2, 7]", "float32[2, 3] uint8[2, 3]", "2, not 3"),
        (POOL.format(2, 2, 2, 1, 2, 1), "float32[2, 2]", "float32[2, 2] uint8[2, 2]",
         "window 0 has no element"),
        (POOL.format(8, 3, 3, 2, 0, 1), "float32[2, 7]", "float32[2, 3] uint8[2, 3]", "7"),
        (POOL.format(7, 3, 3, 2, 0, 1), "float32[2, 7]", "float32[2, 3] int64[2, 3]", "uint8"),
        (RESAMPLE.format(4, 8, -1, 2), "float32[4]", "float32[8]", "a step of -1 / 2"),
        (RESAMPLE.format(4, 8, 1, 0), "float32[4]", "float32[8]", "a step of 1 / 0"),
        (NORMALIZE.format('"rows"', "(7, 1, 4, 1)", True, True, False, False), "float32[2, 3, 4]",
         "float32[2, 3, 4] float32[7] float32[7]", "extents"),
        (NORMALIZE.format('"rows"', "(-6, 1, -4, 1)", True, True, False, False),
         "float32[2, 3, 4]", "float32[2, 3, 4] float32[6] float32[6]", "extents"),
        (NORMALIZE.format('"rows"', "(6, 1, 4, 1)", True, True, True, False),
         "float32[2, 3, 4] float32[3]", "float32[2, 3, 4] float32[6] float32[6]", "3, not 4"),
        (NORMALIZE.format('"rows"', "(6, 1, 4, 1)", True, True, False, True),
         "float32[2, 3, 4] float32[4]", "float32[2, 3, 4] float32[6] float32[6]", "a bias without"),
        (ATTENTION.format(0.5, 0.0, False), "float32[4, 2, 3] float32[3, 5, 3] float32[3, 5, 6]",
         "float32[4, 2, 6] float32[4, 2]", "1, not 0"),
        (ATTENTION.format(0.5, 0.0, False), "float32[2, 3] float32[5, 4] float32[5, 6]",
         "float32[2, 6] float32[2]", "4, not 3"),
        (ATTENTION.format("nan", 0.0, False), "float32[2, 3] float32[5, 3] float32[5, 6]",
         "float32[2, 6] float32[2]", "a scale of nan"),
        (ATTENTION.format(0.5, 0.5, False), "float32[2, 3] float32[5, 3] float32[5, 6]",
         "float32[2, 6] float32[2]", "0, not 1"),
        (LSTM.format(True), "float32[5, 2, 3] float32[2, 4] float32[2, 4] float32[16, 3] "
         "float32[16, 4] int32[3]", "float32[5, 2, 4]", r"\(3,\), not \(2,\)"),
        (LSTM.format(False), "float32[5, 2, 3] float32[2, 4] float32[2, 4] float32[12, 3] "
         "float32[16, 4]", "float32[5, 2, 4]", "12, 3"),
        (ROWS.format(2.0), "float32[5, 3] int64[5]", "float32[]", "a smoothing by 2.0"),
        (ROWS.format(0.0), "float32[5, 3] int64[4]", "float32[]", r"\(4,\), not \(5,\)"),
        ("Ctc()", "float32[6, 2, 4] int64[2, 6] int64[2] int64[2]", "float32[2]", "blank between"),
        ("Ctc()", "float32[6, 2, 4] int64[3, 7] int64[2] int64[2]", "float32[2]", "3, "),
        ("Ctc()", "float32[6, 2, 4] int64[2, 7] int64[2] int64[3]", "float32[2]", r"\(3,\)"),
        ("Ctc()", "float32[6, 2, 4] float32[2, 7] int64[2] int64[2]", "float32[2]", "of kind int"),
        ("CtcGrad()", "float32[3] float32[6, 2, 4] int64[2, 7] int64[2] int64[2]",
         "float32[6, 2, 4]", r"float32\[3\]"),
        (RANDOM.format("integers", "int8", -128, 129), "int64[2]", "int8[3]", "from -128 to 129"),
        (RANDOM.format("integers", "int8", 5, 5), "int64[2]", "int8[3]", "from 5 to 5"),
        (RANDOM.format("normal", "int8", 0, 1), "int64[2]", "int8[3]", "not of kind float"),
        (RANDOM.format("gamma", "float32", "nan", 1), "int64[2]", "float32[3]", "concentration"),
        (RANDOM.format("normal", "float32", 0, 1), "int64[3]", "float32[3]", r"int64\[2\]"),
        (PAD.format("reflect", "(3,)", "(1,)"), "int8[3]", "int8[7]", "3 before 3"),
        (PAD.format("wrap", "(-1,)", "(1,)"), "int8[3]", "int8[3]", "-1 before 3"),
        (PAD.format("edge", "(1,)", "(0,)"), "int8[0]", "int8[1]", "1 before 0"),
        ("Solve()", "float64[3, 2] float64[3]", "float64[3]", "2, not 3"),
        ("Solve()", "float16[3, 3] float16[3]", "float16[3]", "neither float32 nor float64"),
        ("Slice(starts=(2,), sizes=(2,), steps=(1,))", "int8[3]", "int8[2]", "is beyond"),
        ("Slice(starts=(1,), sizes=(3,), steps=(-1,))", "int8[3]", "int8[3]", "is beyond"),
        ("Windows(axis=0, size=4, step=1)", "int8[3]", "int8[0, 4]", "windows of 4 along 3"),
        ("Windows(axis=0, size=2, step=0)", "int8[3]", "int8[2, 2]", "a step of 0"),
        ("TakeAlongAxis(axis=1)", "int8[3, 2] int64[4, 2]", "int8[4, 2]", r"\(4,\), not \(3,\)"),
        ("Index()", "int8[3] int64[4] int64[4]", "int8[4]", "2 indices of 1 axes"),
        (
            'ArgReduce(kind="max", axis=0, keepdims=True)',
            "int8[0, 3]",
            "int64[1, 3]",
            "the largest of nothing",
        ),
        (REDUCE.format("max"), "int8[0, 3]", "int8[3]", "the largest of nothing"),
        (REDUCE.format("mean"), "int8[2, 3]", "int8[3]", "not of kind float"),
        (REDUCE.format("any"), "int8[2, 3]", "bool[3]", "not of kind bool"),
        ("Norm(p=-1.0, axes=(0,), keepdims=False)", "float32[0]", "float32[]", "of nothing"),
        ("Roll(shifts=(3,))", "int8[3]", "int8[3]", "a shift by 3 along 3"),
        ("Concat(axis=0)", "int8[3] int16[3]", "int8[6]", "with"),
        ("Arange(start=0, step=1, count=200, dtype=int8)", "", "int8[200]", "to 199"),
        ('Checked(error="os", message="", hint=None)', "int8[3] bool[3]", "int8[3]", "no error os"),
        ('Checked(error="ShapeError", message="{0.real}", hint=None)', "int8[3] bool[3]", "int8[3]",
         r"a message with more than \{\}"),
    ],
)  # fmt: skip
def test_rule_refuses_what_no_kernel_can_run(
    kernel: str, inputs: str, outputs: str, message: str | None
) -> None:
    if message is None:
        assert given(kernel, inputs, outputs) == outputs
        return
    with pytest.raises((AssertionError, LumusError, ValueError), match=message):
        given(kernel, inputs, outputs)
