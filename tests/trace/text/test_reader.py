"""Reading saved programs that are damaged, forged or cut: an error that names the line."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lumus as lm
from lumus.compile.loaded import LoadedProgram
from lumus.core.tree import put_together
from lumus.errors import FileFormatError, LumusError

F = lm.nn.functional

SMALL = """\
lumus program 1
name "f"
argument %0: float32[2, 3] "x"
argument %1: int64[2] "ids"
constant %2: float32[] "" = [0.5]
constant %3: float32[3] "mean" = [0.0, 1.0, -1.0]
random %4: int64[2] 3
%5: float32[2, 3] = multiply Elementwise(expression=[x, y: t0 = multiply(x, y) -> t0]) of (%0, %2)
%6: float32[2, 1] = topk TopK(k=1, axis=1, largest=True) of (%5)
write %0 = %5 by "copy_"  # "f.py" 3
arguments ((%0,), {"ids": %1})
return [%5, same %1, "x"]
end
"""
GOOD = SMALL.replace("%6: float32[2, 1] =", "%6: float32[2, 1], %7: int64[2, 1] =")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "f.lumus"


def loaded(path: Path, text: str) -> LoadedProgram:
    path.write_text(text, encoding="utf-8", newline="\n")
    return lm.load_program(path)


def test_text_written_by_hand_runs(path: Path) -> None:
    program = loaded(path, GOOD)
    x, ids = lm.ones((2, 3)), lm.tensor([1, 2])
    first, second, third = program(x, ids=ids)
    assert first.tolist() == x.tolist() == [[0.5] * 3] * 2
    assert (second, third) == (ids, "x")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("lumus program 1", "lumus program", "line 1: it does not begin with `lumus program`"),
        ("lumus program 1", "PK\x03\x04", "line 1: it does not begin"),
        (
            "lumus program 1",
            "lumus program 2",
            "is a program of format 2; this lumus reads format 1",
        ),
        ('name "f"\n', "", "line 13: it ends before it has said its name"),
        ('name "f"\n', 'name "f"\nname "g"\n', "line 3: column 1: expected another line, got name"),
        ('name "f"', "name f", "line 2: column 6: expected text in quotes, got f"),
        ('name "f"', 'name "f" x', "line 2: column 10: expected the end of the line, got x"),
        ("argument %0", "argument %1", "line 3: column 10: expected %0, got %1"),
        ("argument %0", "args %0", "line 3: column 1: expected another line, got args"),
        ("argument %0", "\targument %0", "line 3: column 1: .* is nothing known"),
        ("argument %0", "caf\u00e9 %0", "byte .* is no text"),
        ('float32[2, 3] "x"', 'float32[2, -3] "x"', r"line 3: column 21: \[2, -3\] is no shape"),
        (
            'float32[2, 3] "x"',
            'float31[2, 3] "x"',
            "line 3: column 14: expected a dtype, got float31",
        ),
        (
            'float32[2, 3] "x"',
            'float32[4611686018427387904, 4611686018427387904] "x"',
            "line 3: .* has more elements than there can be",
        ),
        (
            'int64[2] "ids"',
            'int64[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2] "ids"',
            "is no shape",
        ),
        ("= [0.5]", "= [0.5, 0.5]", "line 5: .* 2 elements for float32"),
        ("= [0.5]", "= [1]", "line 5: .* elements that are not of float32"),
        ("= [0.5]", "= [True]", "line 5: .* elements that are not of float32"),
        ("= [0.5]", "", "FileNotFound"),
        ("random %4: int64[2] 3", "random %4: int64[3] 3", "line 7: .* is no random key"),
        ("random %4: int64[2] 3", "random %4: int64[2] 0", "line 7: .* is no random key"),
        ("of (%0, %2)", "of (%0)", r"line 8: .* has 2 inputs"),
        ("of (%0, %2)", "of (%0, %5)", "line 8: column .*: %5 is not made before it is read"),
        ("of (%0, %2)", "of (%0, %999999)", "%999999 is not made before it is read"),
        ("of (%0, %2)", "of (%0, %02)", "%02 is not made before it is read"),
        ("of (%0, %2)", "of (%0, %1)", r"line 8: .*Float .* and Int"),
        ("%5: float32[2, 3] =", "%5: float32[3, 2] =", r"line 8: it gives float32\[2, 3\]"),
        (
            "%6: float32[2, 1], %7: int64[2, 1]",
            "%6: float32[2, 1]",
            r"line 9: it gives float32\[2, 1\], int",
        ),
        ("axis=1", "axis=2", "line 9: axis 2 of 2"),
        ("axis=1", "axis=-1", "line 9: axis -1 of 2"),
        ("k=1", "k=4", "line 9: 4 of 3 elements"),
        ("of (%5)", "of (%5, %5)", "line 9: too many values to unpack"),
        ("TopK", "Callback", "line 9: column .*: expected a kernel, got Callback"),
        (
            "write %0 = %5",
            "write %3 = %5",
            "line 10: it writes what is neither an argument nor state",
        ),
        (
            "write %0 = %5",
            "write %0 = %6",
            r"line 10: it writes float32\[2, 1\] to float32\[2, 3\]",
        ),
        (
            "write %0",
            'write %0 = %0 by "x"\nwrite %0',
            "line 11: it writes an array for the second time",
        ),
        ("constant %3", "state %3", "line 6: "),
        (
            'arguments ((%0,), {"ids": %1})',
            'arguments ((%1,), {"ids": %0})',
            "line 11: .*not the next argument",
        ),
        (
            'arguments ((%0,), {"ids": %1})',
            "arguments ((%0,), {})",
            "line 11: an argument is missing",
        ),
        ('arguments ((%0,), {"ids": %1})', "arguments (%0, %1)", "line 11: they are not"),
        ('arguments ((%0,), {"ids": %1})', "arguments ((%0, %1), {1: 2})", "line 11: they are not"),
        ('{"ids": %1}', '{"ids": %1, "ids": 2}', "line 11: .*a key that the dict has already"),
        (
            'arguments ((%0,), {"ids": %1})\n',
            "",
            "line 13: it ends before it has said its arguments",
        ),
        ('return [%5, same %1, "x"]', "return [%5, same %5]", "line 12: .* it is not an argument"),
        (
            'return [%5, same %1, "x"]',
            "return " + "[" * 100,
            "line 12: .* deeper than 64 containers",
        ),
        ('return [%5, same %1, "x"]', "return SVDResult(%5)", "line 12: .* SVDResult of 1 items"),
        (
            'return [%5, same %1, "x"]',
            "return Point(%5)",
            "line 12: .* expected a value, got Point",
        ),
        ("end\n", "", "line 13: it ends before it has said its end"),
        ("end\n", "end", None),
        ("end\n", "end\n\n", "line 14: it goes on after its end"),
        ("end\n", "end\nend\n", "line 14: it goes on after its end"),
    ],
)
def test_file_that_is_not_right_is_refused_with_the_line(
    path: Path, old: str, new: str, message: str | None
) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    if message is None:
        loaded(path, text)
    elif message == "FileNotFound":  # it speaks of weights, and there are none
        with pytest.raises(FileNotFoundError):
            loaded(path, text)
    else:
        with pytest.raises(FileFormatError, match=message) as caught:
            loaded(path, text)
        assert str(path) in str(caught.value)


@pytest.mark.parametrize("place", range(0, len(GOOD) - 5, 7))
def test_file_that_was_cut_is_refused(path: Path, place: int) -> None:
    with pytest.raises(FileFormatError):
        loaded(path, GOOD[:place])


def test_kernels_that_rely_on_another_must_follow_it(path: Path) -> None:
    pool = lm.nn.MaxPool2d(2)

    def slope(x, y):
        leaf = x.detach().requires_grad_()
        return F.cross_entropy(pool(leaf).reshape(1, 4), y).backward()[leaf], y + 1

    lm.compile(slope).save(path, lm.random.normal((1, 1, 4, 4)), lm.tensor([0]))
    lines = path.read_text(encoding="ascii").split("\n")
    (pooled,) = [line for line in lines if " max_pool MaxPool(" in line]
    (lost,) = [line for line in lines if " CrossEntropy(" in line]
    text = "\n".join(lines)
    with pytest.raises(FileFormatError, match="it needs what MaxPool has made"):
        loaded(path, text.replace(pooled, pooled.replace("dilation=1", "dilation=2")))
    with pytest.raises(FileFormatError, match="it needs what CrossEntropy has made"):
        loaded(path, text.replace(lost, lost.replace("label_smoothing=0.0", "label_smoothing=0.5")))
    loaded(path, text)


# Anything at all ----------------------------------------------------------------------------------


def check_harmless(path: Path, content: bytes) -> None:
    """A file is refused, or runs or raises as a compiled function does."""
    path.write_bytes(content)
    try:
        program = lm.load_program(path)
    except (FileFormatError, FileNotFoundError, MemoryError):
        return
    specs = [var.spec for var in program.program.inputs]
    if sum(spec.nbytes for spec in specs) > 1 << 20:
        return
    given = iter([lm.zeros(spec.shape, dtype=spec.dtype) for spec in specs])
    args, kwargs = put_together(program.saved.arguments, lambda: next(given))
    with suppress(LumusError, MemoryError):
        program(*args, **kwargs)


@settings(max_examples=40, deadline=None)
@given(content=st.binary(max_size=200))
def test_any_bytes_are_harmless(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    check_harmless(tmp_path_factory.getbasetemp() / "bytes.lumus", content)


def _network(x, ids):
    y = F.conv2d(x, x[:, :, :2, :2] * 0.5, padding=1, stride=2)
    y = F.max_pool2d(y, 2, stride=1).reshape(2, -1)
    rows = F.embedding(ids, y) + y.sort(axis=1).cumsum(axis=1)
    mixed = F.scaled_dot_product_attention(rows, rows, rows, is_causal=True)
    return F.layer_norm(mixed, (mixed.shape[1],)).take_along_axis(ids.expand_dims(1), axis=1)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("network") / "f.lumus"
    x, ids = lm.random.normal((2, 2, 4, 4)), lm.tensor([1, 0])
    lm.compile(_network).save(path, x, ids)
    return path.read_text(encoding="ascii")


WORDS = [
    "0", "1", "2", "3", "-1", "7", "65536", "9223372036854775807", "0.5", "nan", "%0", "%3", "%9",
    "float32", "int64", "bool", "uint8", "None", "True", "False", "(", ")", ",", '"', "same",
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_changed_files_are_harmless(
    tmp_path_factory: pytest.TempPathFactory, network: str, data: st.DataObject
) -> None:
    pieces = network.replace("(", " ( ").replace(")", " ) ").replace(",", " , ").split(" ")
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(pieces) - 1))
        word = data.draw(
            st.sampled_from([*WORDS, pieces[data.draw(st.integers(0, len(pieces) - 1))]])
        )
        pieces[place : place + data.draw(st.integers(0, 1))] = [word]
    check_harmless(tmp_path_factory.getbasetemp() / "changed.lumus", " ".join(pieces).encode())
