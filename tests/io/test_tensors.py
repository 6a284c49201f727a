"""Saving and loading: what comes back, what the bytes are, and which files are refused."""

import json
import os
import pickle
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

import lumus as lm
from lumus.errors import ArgumentError, DTypeError, FileFormatError, KindError, StateError

DTYPES = [
    lm.float64,
    lm.float32,
    lm.float16,
    lm.bfloat16,
    lm.int64,
    lm.int32,
    lm.int16,
    lm.int8,
    lm.uint8,
    lm.bool_,
]


def packed(header, data=b"", *, length=None):
    """The bytes of a file with that header (text, or what is written as JSON) and data."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(dtype, shape, start, stop):
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, stop]}


def refused(path, content, match):
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=match) as caught:
        lm.io.load(path)
    assert str(path) in str(caught.value)
    return caught.value


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.safetensors"


def same(x, y):
    """Equal in shape, dtype and bits."""
    assert (x.shape, x.dtype) == (y.shape, y.dtype)
    assert x.detach().copy().data.is_contiguous
    return np.asarray(x.copy().data).tobytes() == np.asarray(y.copy().data).tobytes()


# What comes back ----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (7,), (2, 3, 5)])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
def test_load_after_save_gives_the_same_bits(path, dtype, shape):
    count = int(np.prod(shape))
    values = lm.tensor(np.arange(count).reshape(shape) % 2).astype(dtype)
    lm.io.save(path, {"x": values})
    (name, loaded), *rest = lm.io.load(path).items()
    assert (name, rest) == ("x", [])
    assert same(loaded, values)
    assert not loaded.requires_grad


def test_load_after_save_keeps_nan_payloads_infinities_and_signed_zeros(path):
    bits = np.array([0x7FC00001, 0xFFC12345, 0x7F800000, 0xFF800000, 0x80000000, 1], np.uint32)
    x = lm.from_numpy(bits.view(np.float32))
    lm.io.save(path, {"x": x})
    assert np.asarray(lm.io.load(path)["x"]).view(np.uint32).tolist() == bits.tolist()


def test_load_with_names_reads_those_in_that_order(path):
    lm.io.save(path, {"a": lm.zeros(2), "b": lm.ones(3), "c": lm.zeros(4)})
    assert list(lm.io.load(path, names=["c", "a"])) == ["c", "a"]
    with pytest.raises(FileFormatError, match="no tensor 'd'; it has a, b, c"):
        lm.io.load(path, names=["d"])


def test_save_of_a_transpose_writes_the_logical_order_O8(path):
    x = lm.tensor([[1.0, 2.0], [3.0, 4.0]])
    lm.io.save(path, {"x": x.T})
    assert path.read_bytes()[-16:] == struct.pack("<4f", 1, 3, 2, 4)
    assert lm.io.load(path)["x"].tolist() == [[1.0, 3.0], [2.0, 4.0]]


def test_save_of_views_with_any_stride_writes_their_elements_O8(path):
    x = lm.arange(24).reshape(2, 3, 4)
    views = {
        "back": x[:, ::-1],
        "steps": x[:, 1:, ::2],
        "row": x[1, 2],
        "cell": x[1, 2, 3],
        "wide": x[0, 0].broadcast_to((3, 4)),
    }
    lm.io.save(path, views)
    loaded = lm.io.load(path)
    assert {name: one.tolist() for name, one in loaded.items()} == {
        name: one.tolist() for name, one in views.items()
    }


def test_save_of_tensors_that_share_memory_writes_each_O8(path):
    w = lm.tensor([1.0, 2.0])
    lm.io.save(path, {"a": w, "b": w, "c": w[:1]})
    loaded = lm.io.load(path)
    assert [loaded[name].tolist() for name in "abc"] == [[1.0, 2.0], [1.0, 2.0], [1.0]]
    with lm.no_grad():
        loaded["a"].zero_()
    assert loaded["b"].tolist() == [1.0, 2.0]


def test_save_of_a_tensor_on_the_graph_writes_its_values(path):
    w = lm.ones((2,), requires_grad=True)
    lm.io.save(path, {"w": w, "y": w * 3})
    assert lm.io.load(path)["y"].tolist() == [3.0, 3.0]


@settings(max_examples=25)
@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 5)))
def test_names_of_any_text_come_back(tmp_path_factory, sizes):
    path = tmp_path_factory.getbasetemp() / "names.safetensors"
    sizes.pop("__metadata__", None)
    lm.io.save(path, {name: lm.full((size,), size) for name, size in sizes.items()})
    assert {name: one.tolist() for name, one in lm.io.load(path).items()} == {
        name: [size] * size for name, size in sizes.items()
    }
    assert set(safetensors.numpy.load_file(path)) == set(sizes)


# The bytes ----------------------------------------------------------------------------------------


def test_minimal_file_loads_and_is_what_save_writes_O1(path):
    header = b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
    assert len(header) == 54
    content = packed(header, bytes.fromhex("0000803f00000040"))
    path.write_bytes(content)
    assert lm.io.load(path)["w"].tolist() == [1.0, 2.0]
    lm.io.save(path, {"w": lm.tensor([1.0, 2.0])})
    written = path.read_bytes()
    assert written == packed(header + b"  ", content[-8:])  # padded to a multiple of eight


def test_file_without_tensors_is_valid_and_empty_O1(path):
    path.write_bytes(packed(b"{}"))
    assert lm.io.load(path) == {}
    lm.io.save(path, {})
    assert path.read_bytes() == packed(b"{}      ")
    assert lm.io.load(path) == {}


def test_save_writes_what_the_safetensors_package_writes(path):
    rng = np.random.default_rng(0)
    arrays = {
        "b": rng.normal(size=(2, 3)).astype(np.float32),
        "a": rng.normal(size=(4,)),
        "h": rng.normal(size=(3,)).astype(np.float16),
        "i.é": np.arange(5),
        "z": np.array([True, False, True]),
        "empty": np.zeros((0, 2), np.int8),
        "0d": np.array(3, np.int16),
    }
    lm.io.save(path, {name: lm.tensor(one) for name, one in arrays.items()}, metadata={"k": "v"})
    assert path.read_bytes() == safetensors.numpy.save(arrays, {"k": "v"})


def test_safetensors_package_reads_our_bfloat16(path):
    lm.io.save(path, {"x": lm.tensor([1.5, -2.0]).astype(lm.bfloat16)})
    ((name, found),) = safetensors.deserialize(path.read_bytes())
    assert (name, found["dtype"], found["shape"]) == ("x", "BF16", [2])
    assert bytes(found["data"]) == struct.pack("<HH", 0x3FC0, 0xC000)


def test_save_twice_gives_the_same_bytes_whatever_the_order(tmp_path):
    tensors = {name: lm.full((2,), float(place)) for place, name in enumerate("dbac")}
    notes = {name: name for name in "zyxwvu"}
    lm.io.save(tmp_path / "1", tensors, metadata=notes)
    lm.io.save(tmp_path / "2", dict(sorted(tensors.items())), metadata=dict(sorted(notes.items())))
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
    assert lm.io.load_metadata(tmp_path / "1") == notes


# What save refuses, before it writes --------------------------------------------------------------


@pytest.mark.parametrize(
    ("tensors", "metadata", "error"),
    [
        ({"a": np.zeros(2)}, None, KindError),
        ({"a": 1.0}, None, KindError),
        ({1: lm.zeros(2)}, None, ArgumentError),
        ({"\ud800": lm.zeros(2)}, None, ArgumentError),
        ({"__metadata__": lm.zeros(2)}, None, ArgumentError),
        ({"a": lm.zeros(2)}, {"k": 1}, ArgumentError),
        ({"a": lm.zeros(2)}, {1: "v"}, ArgumentError),
    ],
)
def test_save_of_what_the_format_cannot_hold_leaves_the_old_file(path, tensors, metadata, error):
    lm.io.save(path, {"old": lm.ones((1,))})
    before = path.read_bytes()
    with pytest.raises(error, match="save: "):
        lm.io.save(path, tensors, metadata=metadata)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


# Hostile files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", range(8))
def test_file_shorter_than_a_length_is_refused_O2(path, size):
    refused(path, b"\x02" + b"\0" * size if size else b"", r"fewer than the 8|claims 2 bytes")


@pytest.mark.parametrize("length", [0, 3, 100, 2**31, 2**63, 2**64 - 1])
def test_header_length_that_lies_is_refused_O2(path, length):
    error = refused(
        path, packed(b"{}", length=length), f"claims {length} bytes, the file has 2 after"
    )
    assert error.hint is None


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 2\n", "git lfs pull"),
        (b"<!DOCTYPE html><html><body>404</body></html>", "web page"),
        (b"\n <html>not found</html>", "web page"),
    ],
)
def test_text_in_place_of_a_file_is_recognised_O2(path, content, hint):
    assert hint in refused(path, content, "claims").hint


@pytest.mark.parametrize(
    "bad",
    [
        entry("F32", [64, 64], 0, 12),
        entry("F32", [3], 12, 0),
        entry("F32", [3], -12, 0),
        entry("F32", [3], 0.0, 12.0),
        entry("F32", [3], 0, "12"),
        entry("F32", [3], False, 12),
        entry("F32", [3], 0, 16),
        entry("F32", [4], 0, 16),
        entry("F32", [-3], 0, 12),
        entry("F32", [3.0], 0, 12),
        entry("F32", "3", 0, 12),
        entry("F32", [[3]], 0, 12),
        entry("F32", None, 0, 12),
        entry("F32", [2**62, 4], 0, 12),
        entry("F32", [2**64, 0], 0, 0),
        entry("F32", [2**40, 2**40, 0], 0, 0),
        entry("F32", [1] * 17, 0, 4),
        entry("F32", [1] * 100_000, 0, 4),
        entry(["F32"], [3], 0, 12),
        entry(None, [3], 0, 12),
        {"dtype": "F32", "shape": [3], "data_offsets": [0, 12, 12]},
        {"dtype": "F32", "shape": [3], "data_offsets": [0]},
        {"dtype": "F32", "shape": [3], "data_offsets": {}},
        {"dtype": "F32", "shape": [3]},
        {**entry("F32", [3], 0, 12), "extra": 1},
        [],
        "text",
        None,
    ],
)
def test_entry_that_contradicts_itself_is_refused_by_name_O3(path, bad):
    error = refused(path, packed({"the.tensor": bad}, b"\0" * 12), "'the.tensor'")
    assert len(str(error)) < 500


@pytest.mark.parametrize(
    ("header", "num_bytes", "match"),
    [
        ({"a": entry("F32", [2], 0, 8), "b": entry("F32", [2], 4, 12)}, 12, "'b'.*overlaps"),
        ({"a": entry("F32", [2], 0, 8), "b": entry("F32", [2], 12, 20)}, 20, "'b'.*gap"),
        ({"a": entry("F32", [2], 0, 8)}, 11, "end at byte 8 of the data, the file has 11"),
        ({"a": entry("F32", [2], 0, 8)}, 7, "'a': ends at byte 8 of 7 bytes"),
        ({"a": entry("F32", [2], 4, 12)}, 12, "'a'.*gap"),
        ({"a": entry("F32", [2], 0, 8), "b": entry("F32", [0], 4, 4)}, 8, "'b'.*overlaps|'a'"),
        ({"a": entry("F32", [2], 0, 8), "b": entry("F32", [2], 0, 8)}, 8, "overlaps"),
        ({}, 1, "end at byte 0 of the data, the file has 1"),
    ],
)
def test_data_with_overlap_hole_or_rest_is_refused_O4(path, header, num_bytes, match):
    refused(path, packed(header, b"\0" * num_bytes), match)


def test_zero_size_and_0d_tensors_load_O5(path):
    header = {
        "a": entry("F64", [1], 0, 8),
        "none": entry("F32", [0], 8, 8),
        "rows": entry("F32", [3, 0], 8, 8),
        "cell": entry("F32", [], 8, 12),
    }
    path.write_bytes(packed(header, b"\0" * 12))
    shapes = {name: one.shape for name, one in lm.io.load(path).items()}
    assert shapes == {"a": (1,), "none": (0,), "rows": (3, 0), "cell": ()}
    refused(path, packed({"a": entry("F32", [1], 0, 0)}), "takes 4 bytes")


@pytest.mark.parametrize("label", ["F8_E4M3", "Q4", "f32", "", "U32"])
def test_unknown_dtype_leaves_the_other_tensors_readable_O7(path, label):
    header = {"a": entry("F32", [1], 0, 4), "odd": entry(label, [5], 4, 6)}
    path.write_bytes(packed(header, b"\0\0\x80\x3f\0\0"))
    with pytest.raises(DTypeError, match=f"'odd' is of dtype '{label}'.*\nhint: give names="):
        lm.io.load(path)
    assert lm.io.load(path, names=["a"])["a"].tolist() == [1.0]


@pytest.mark.parametrize(
    ("header", "match"),
    [
        (
            (
                b'{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},'
                b'"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'
            ),
            "'w' stands in it twice",
        ),
        (b'{"w":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}}', "'dtype' stands"),
        ({"__metadata__": {"k": 1}}, "__metadata__ is not an object of strings"),
        ({"__metadata__": ["k"]}, "__metadata__ is not an object of strings"),
        ({"__metadata__": None}, "__metadata__ is not an object of strings"),
        (b"[]", "is no JSON object"),
        (b"{", "is no JSON object"),
        (b"{}{}", "is no JSON object"),
        (b"\xff\xfe{}", "is no JSON object"),
        (b"\0\0\0\0", "is no JSON object"),
        (b"[" * 200_000, "is no JSON object"),
        (b'{"a":' * 200_000, "is no JSON object"),
        (b'{"w":{"dtype":"U8","shape":[' + b"1" * 5000 + b'],"data_offsets":[0,1]}}', "JSON"),
    ],
)
def test_header_that_is_not_plain_json_is_refused_O7(path, header, match):
    error = refused(path, packed(header, b"\0"), match)
    assert len(str(error)) < 500


def test_many_names_with_one_twice_are_refused_at_once_O7(path):
    names = [f'"{place}":0' for place in range(200_000)]
    refused(path, packed("{{{},{}}}".format(",".join(names), names[-1]).encode()), "twice")


def test_misaligned_tensors_load_O9(path):
    header = {"flag": entry("BOOL", [1], 0, 1), "x": entry("F32", [1], 1, 5)}
    path.write_bytes(packed(header, b"\x01" + struct.pack("<f", 2.5)))
    loaded = lm.io.load(path)
    assert (loaded["flag"].tolist(), loaded["x"].tolist()) == ([True], [2.5])
    assert loaded["x"].data.is_contiguous
    assert (loaded["x"] + 1).tolist() == [3.5]


def test_bool_byte_that_is_neither_zero_nor_one_is_refused(path):
    refused(path, packed({"flag": entry("BOOL", [3], 0, 3)}, b"\0\x01\x02"), "'flag'.* is 2, not")


class _Bomb:
    """What a crafted pickle holds: an object whose unpickling runs a command."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.system, (f"touch {self.path}",))


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_pickle_is_refused_and_nothing_runs_O13(path, tmp_path, protocol):
    mark = tmp_path / "ran"
    error = refused(path, pickle.dumps({"w": _Bomb(mark)}, protocol), "no valid safetensors")
    if protocol >= 2:
        assert "runs no code from files" in error.hint
    assert not mark.exists()


def test_zip_checkpoint_is_refused_and_nothing_runs_O13(path, tmp_path):
    mark = tmp_path / "ran"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(_Bomb(mark)))
    error = refused(path, path.read_bytes(), "no valid safetensors")
    assert "runs no code from files" in error.hint
    assert not mark.exists()


def _valid_file():
    tensors = {"w": np.ones((2, 3), np.float32), "b": np.array([True, False]), "s": np.array(7)}
    return safetensors.numpy.save(tensors, {"note": "text"})


@settings(max_examples=150)
@given(st.data())
def test_mutated_file_loads_or_is_refused(tmp_path_factory, data):
    content = bytearray(_valid_file())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content)))
        kind = data.draw(st.sampled_from(["set", "cut", "insert", "end", "digit"]))
        if kind == "set" and place < len(content):
            content[place] = data.draw(st.integers(0, 255))
        elif kind == "cut":
            del content[place : place + data.draw(st.integers(1, 20))]
        elif kind == "insert":
            content[place:place] = data.draw(st.binary(max_size=20))
        elif kind == "end":
            del content[place:]
        else:
            digits = [at for at, byte in enumerate(content) if chr(byte).isdigit()]
            if digits:
                content[data.draw(st.sampled_from(digits))] = ord(
                    data.draw(st.sampled_from("019-"))
                )
    path = tmp_path_factory.getbasetemp() / "mutated.safetensors"
    path.write_bytes(content)
    try:
        loaded = lm.io.load(path)
    except (FileFormatError, DTypeError):
        return
    # What is accepted is what the header says, to the last byte.
    assert sum(one.nbytes for one in loaded.values()) <= len(content)
    for one in loaded.values():
        one.tolist()


@settings(max_examples=50)
@given(st.binary(max_size=200), st.booleans())
def test_random_bytes_are_refused(tmp_path_factory, content, framed):
    path = tmp_path_factory.getbasetemp() / "random.safetensors"
    path.write_bytes(packed(content) if framed else content)
    with pytest.raises(FileFormatError):
        lm.io.load(path)


def test_missing_file_and_folder_are_oserrors(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.safetensors"):
        lm.io.load(tmp_path / "nothing.safetensors")
    with pytest.raises(IsADirectoryError):
        lm.io.load(tmp_path)


# Modules ------------------------------------------------------------------------------------------


class _Net(lm.nn.Module):
    def __init__(self, seed):
        generator = lm.random.Generator(seed)
        self.linear = lm.nn.Linear(3, 2, generator=generator)
        self.counts = lm.zeros((2,), dtype=lm.int64)

    def forward(self, x: lm.Tensor[lm.Float]) -> lm.Tensor[lm.Float]:
        return self.linear(x)


def test_module_after_save_and_load_is_bit_equal(path):
    first, second = _Net(1), _Net(2)
    first.counts[0] = 5
    x = lm.random.normal((4, 3), generator=lm.random.Generator(3))
    lm.io.save(path, first)
    assert list(lm.io.load(path)) == ["counts", "linear.bias", "linear.weight"]
    weight = second.linear.weight
    lm.io.load_module(path, second)
    assert second.linear.weight is weight
    assert same(second(x), first(x))
    assert second.counts.tolist() == [5, 0]


def test_load_module_with_a_file_of_another_model_changes_nothing(path):
    lm.io.save(path, lm.nn.Linear(3, 3))
    net = _Net(1)
    before = net.state_dict()["linear.weight"].tolist()
    with pytest.raises(StateError, match=r"missing: linear\.weight.*unexpected: ") as caught:
        lm.io.load_module(path, net)
    assert caught.value.missing == ["linear.weight", "linear.bias", "counts"]
    assert sorted(caught.value.unexpected) == ["bias", "weight"]
    assert net.state_dict()["linear.weight"].tolist() == before


def test_file_written_by_another_process_loads_bit_equal(path):
    program = (
        "import sys, lumus as lm\n"
        "x = lm.random.normal((50,), generator=lm.random.Generator(5))\n"
        "lm.io.save(sys.argv[1], {'x': x})\n"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], check=True, timeout=60)
    expected = lm.random.normal((50,), generator=lm.random.Generator(5))
    assert same(lm.io.load(path)["x"], expected)


def test_paths_may_be_text_or_pathlike(tmp_path):
    lm.io.save(str(tmp_path / "a"), {"x": lm.zeros(1)})
    assert list(lm.io.load(str(tmp_path / "a"))) == ["x"]
    assert list(lm.io.load(Path(tmp_path) / "a")) == ["x"]
