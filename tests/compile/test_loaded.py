"""Programs saved and loaded: what comes back, what is refused, and when."""

import json
import os
import re
import subprocess
import sys
import textwrap
import threading
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.errors import (
    ArgumentError,
    DTypeError,
    FileFormatError,
    GradientError,
    IndexRangeError,
    MissingGradientError,
    ReadOnlyError,
    ShapeError,
    TraceError,
)
from lumus.trace.text.writer import saved_text

F = lm.nn.functional
GOLDEN = Path(__file__).parent / "golden"
Point = namedtuple("Point", ["x", "y"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "saved.lumus"


def bits(tensor: Any) -> bytes:
    return np.asarray(tensor.copy().data).tobytes()


def classifier() -> Any:
    lm.random.seed(3)
    return lm.nn.Sequential(
        lm.nn.Linear(4, 8), lm.nn.BatchNorm1d(8), lm.nn.GELU(), lm.nn.Dropout(0.5),
        lm.nn.Linear(8, 3),
    )  # fmt: skip


X = lm.tensor(np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32))


# What comes back ----------------------------------------------------------------------------------


def test_loaded_model_gives_the_bits_of_the_compiled_one(path: Path) -> None:
    model = classifier()
    model.eval()
    predict = lm.compile(model)
    predict.save(path, X)
    loaded = lm.load_program(path)
    assert bits(loaded(X)) == bits(predict(X))
    weights = lm.io.load(f"{path}.safetensors")
    assert set(weights) == set(model.state_dict()) - {"1.num_batches_tracked"}


def test_file_of_a_loaded_program_is_the_file_it_was_loaded_from(path: Path) -> None:
    predict = lm.compile(classifier())
    predict.save(path, X)
    text = path.read_text(encoding="ascii")
    saved = lm.load_program(path).saved
    digest = text.split("sha256 ")[1][1:65]
    assert saved_text(saved, digest) == text


def test_saving_twice_gives_the_same_bytes(path: Path) -> None:
    predict = lm.compile(classifier())
    files = []
    for _ in range(2):
        predict.save(path, X)
        files.append((path.read_bytes(), Path(f"{path}.safetensors").read_bytes()))
    assert files[0] == files[1]


def test_arguments_and_results_have_their_form(path: Path) -> None:
    table = lm.tensor([1.0, 2.0])

    @lm.compile
    def step(pair: Any, options: Any, *, scale: Any, label: Any) -> Any:
        a, (b, c) = pair
        return {
            "sum": a + b * options["factor"],
            3: [c, None, True, -0.0, float("inf")],
            "same": a,
            "table": table,
            "label": label,
            "decomposed": lm.linalg.eigh(lm.diag(scale)),
            "dtype": options["dtype"],
        }

    a, b, c, scale = lm.tensor([1.0, 2.0]), lm.tensor([3.0]), lm.tensor([4]), lm.tensor([2.0, 1.0])
    options = {"factor": 0.5, "dtype": lm.int8}
    step.save(path, [a, (b, c)], options, scale=scale, label="x y\n")
    loaded = lm.load_program(path)
    results = loaded([a, (b, c)], options, label="x y\n", scale=scale)
    assert list(results) == ["sum", 3, "same", "table", "label", "decomposed", "dtype"]
    assert results["sum"].tolist() == [2.5, 3.5]
    assert results[3][0].tolist() == [4]
    assert repr(results[3][1:]) == "[None, True, -0.0, inf]"
    assert results["same"] is a
    assert results["table"].tolist() == [1.0, 2.0]
    assert results["label"] == "x y\n"
    assert type(results["decomposed"]).__name__ == "EighResult"
    assert results["decomposed"].eigenvalues.tolist() == [1.0, 2.0]
    assert results["dtype"] is lm.int8


def test_arguments_by_name_are_taken_in_any_order_at_any_call(path: Path) -> None:
    x, y = lm.tensor([5.0, 3.0]), lm.tensor([1.0, 1.0])
    lm.compile(lambda x, y: x - y).save(path, x=x, y=y)
    loaded = lm.load_program(path)
    for _ in range(3):
        assert loaded(x=x, y=y).tolist() == [4.0, 2.0]
        assert loaded(y=y, x=x).tolist() == [4.0, 2.0]
        with pytest.raises(ArgumentError, match="y is missing"):
            loaded(x=x)


def test_arguments_of_another_layout_are_taken(path: Path) -> None:
    f = lm.compile(lambda x: x * 2.0 + x.T)
    square = lm.tensor(np.arange(9.0, dtype=np.float32).reshape(3, 3))
    f.save(path, square.T)
    loaded = lm.load_program(path)
    for x in (square, square.T, square[::-1], lm.tensor([[1.0]]).broadcast_to((3, 3))):
        assert loaded(x).tolist() == (x * 2.0 + x.T).tolist()


def test_values_captured_and_made_inside_are_kept_exactly(path: Path) -> None:
    odd = [0.1, -0.0, float("inf"), float("nan"), 1e-45]
    halves = {dtype: lm.tensor(odd).astype(dtype) for dtype in (lm.float16, lm.bfloat16)}

    @lm.compile
    def f(x: Any) -> Any:
        made = lm.tensor(odd, dtype=lm.float64)
        large = lm.arange(40)
        return x + made, large, lm.tensor([], dtype=lm.int8), [x * h for h in halves.values()]

    x = lm.ones((5,), dtype=lm.float64)
    f.save(path, x)
    got, want = lm.load_program(path)(x), f(x)
    assert bits(got[0]) == bits(want[0])
    assert got[1].tolist() == list(range(40))
    assert (got[2].shape, got[2].dtype) == ((0,), lm.int8)
    assert [bits(one) for one in got[3]] == [bits(one) for one in want[3]]


def test_program_without_tensors_from_outside_has_one_file(path: Path) -> None:
    lm.compile(lambda x: x + 1.0).save(path, X)
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    assert lm.load_program(path)(X).tolist() == (X + 1.0).tolist()


def test_gradients_inside_are_saved(path: Path) -> None:
    model = lm.nn.Sequential(lm.nn.Conv2d(1, 2, 3), lm.nn.MaxPool2d(2), lm.nn.Flatten())

    @lm.compile
    def slope(x: Any, y: Any) -> Any:
        leaf = x.detach().requires_grad_()
        return F.cross_entropy(model(leaf), y).backward()[leaf]

    x, y = lm.random.normal((2, 1, 6, 6)), lm.tensor([0, 1])
    slope.save(path, x, y)
    assert bits(lm.load_program(path)(x, y)) == bits(slope(x, y))


def test_running_statistics_are_state_of_the_loaded_program(path: Path) -> None:
    model = classifier()
    step = lm.compile(lambda x: model[1](model[0](x)))
    step.save(path, X)
    loaded = lm.load_program(path)
    assert set(loaded.state) == {"model.1.running_mean", "model.1.running_var"} | {
        name for name in loaded.state if name.endswith("num_batches_tracked")
    }
    for _ in range(2):
        assert bits(loaded(X)) == bits(step(X))
    assert bits(loaded.state["model.1.running_mean"]) == bits(model[1].running_mean)
    loaded.state["model.1.running_mean"].zero_()
    loaded(X)
    assert bits(loaded.state["model.1.running_mean"]) != bits(model[1].running_mean)


def test_arguments_are_written_where_they_are(path: Path) -> None:
    def advance(x: Any, by: Any) -> Any:
        x[0] = by
        x.add_(by)
        return x.sum()

    x, by = lm.zeros((2, 3)), lm.tensor([1.0, 2.0, 3.0])
    lm.compile(advance).save(path, x, by)
    assert x.tolist() == [[0.0] * 3] * 2
    loaded = lm.load_program(path)
    assert loaded(x, by).item() == 18.0
    assert x.tolist() == [[2.0, 4.0, 6.0], [1.0, 2.0, 3.0]]
    with pytest.raises(ArgumentError, match="advance: x is written, and must lie in memory row"):
        loaded(lm.zeros((3, 2)).T, by)
    with pytest.raises(ReadOnlyError):
        loaded(lm.tensor([0.0]).broadcast_to((2, 3)), by)


def test_random_numbers_come_from_the_default_generator(path: Path) -> None:
    def noisy(x: Any) -> Any:
        return F.dropout(x, 0.5) + lm.random.normal((3,))

    x = lm.ones((3,))
    lm.compile(noisy).save(path, x)
    loaded = lm.load_program(path)
    lm.random.seed(7)
    got = [loaded(x).tolist() for _ in range(3)]
    lm.random.seed(7)
    assert got == [noisy(x).tolist() for _ in range(3)]
    assert got[0] != got[1]


def test_results_say_that_they_have_no_gradient(path: Path) -> None:
    lm.compile(lambda x: x * 2.0).save(path, X)
    leaf = X.copy().requires_grad_()
    result = lm.load_program(path)(leaf)
    with pytest.raises(GradientError, match="made by a compiled function"):
        result.sum().backward()
    with pytest.raises(GradientError, match="add: an operand was made by a compiled function"):
        result.sum() + (leaf * 0.0).sum()
    store = (result.detach().sum() + (leaf * 0.0).sum()).backward()
    assert store[leaf].tolist() == np.zeros((5, 4)).tolist()
    other = X.copy().requires_grad_()
    with pytest.raises(MissingGradientError):
        store[other]


def test_grad_of_a_loaded_program_is_refused(path: Path) -> None:
    lm.compile(lambda x: (x * x).sum()).save(path, lm.ones((2,)))
    loaded = lm.load_program(path)
    with pytest.raises(GradientError, match="a loaded program has no gradient"):
        lm.grad(loaded)(lm.ones((2,)))
    assert lm.grad(lambda x: x.sum() * loaded(x.detach()))(lm.ones((2,))).tolist() == [2.0, 2.0]


def test_mistakes_in_values_are_told_when_it_runs(path: Path) -> None:
    table = lm.random.normal((4, 2))
    lm.compile(lambda ids: F.embedding(ids, table)).save(path, lm.tensor([0, 1]))
    loaded = lm.load_program(path)
    with pytest.raises(IndexRangeError):
        loaded(lm.tensor([0, 4]))
    assert bits(loaded(lm.tensor([3, 0]))) == bits(table[lm.tensor([3, 0])])


def test_two_threads_call_one_program(path: Path) -> None:
    model = classifier()
    model.eval()
    lm.compile(model).save(path, X)
    loaded = lm.load_program(path)
    want, wrong = bits(loaded(X)), []

    def call() -> None:
        wrong.extend(1 for _ in range(50) if bits(loaded(X)) != want)

    threads = [threading.Thread(target=call) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_loaded_program_tells_what_it_is(path: Path) -> None:
    model = classifier()
    model.eval()

    def predict(x: Any) -> Any:
        return model(x)

    lm.compile(predict).save(path, X)
    loaded = lm.load_program(path)
    assert repr(loaded) == f"<program predict(x: float32[5, 4]) of {path}>"
    assert "linear[transposed, bias](x, model.0.weight, model.0.bias)  # test_loaded.py:" in str(
        loaded.program
    )
    assert "operations" in loaded.explain()
    assert all(one.constant for one in loaded.optimised.captures)


# Weights ------------------------------------------------------------------------------------------


def test_other_weights_of_the_same_names_can_be_given(path: Path) -> None:
    model = classifier()
    model.eval()
    lm.compile(model).save(path, X)
    with lm.no_grad():
        model[4].bias.add_(1.0)
    other = path.parent / "other.safetensors"
    lm.io.save(other, model)
    assert bits(lm.load_program(path, weights=other)(X)) == bits(lm.compile(model)(X))


def test_weights_that_do_not_belong_to_the_program_are_refused(path: Path) -> None:
    model = classifier()
    lm.compile(lambda x: model[0](x)).save(path, X)
    beside = Path(f"{path}.safetensors")
    state = lm.io.load(beside)
    lm.io.save(beside, {**state, "model.0.bias": lm.zeros((8,))})
    with pytest.raises(FileFormatError, match=r"does not hold the weights that .* was saved with"):
        lm.load_program(path)
    lm.io.save(beside, {**state, "model.0.bias": lm.zeros((7,))})
    with pytest.raises(FileFormatError, match=r"'model.0.bias' is float32\[7\], the program"):
        lm.load_program(path, weights=beside)
    lm.io.save(beside, {"model.0.weight": state["model.0.weight"]})
    with pytest.raises(FileFormatError, match=r"no tensor 'model.0.bias'"):
        lm.load_program(path, weights=beside)
    beside.unlink()
    with pytest.raises(FileNotFoundError):
        lm.load_program(path)


def test_program_without_weights_takes_none(path: Path) -> None:
    lm.compile(lambda x: x + 1.0).save(path, X)
    lm.io.save(path.parent / "w.safetensors", {"x": X})
    with pytest.raises(ArgumentError, match="has no weights"):
        lm.load_program(path, weights=path.parent / "w.safetensors")


# What cannot be saved -----------------------------------------------------------------------------


def refused(path: Path, step: Any, *args: Any, match: str) -> None:
    with pytest.raises((TraceError, ArgumentError), match=match):
        step.save(path, *args)
    assert list(path.parent.iterdir()) == []


def test_training_steps_are_refused_by_name(path: Path) -> None:
    model = lm.nn.Linear(4, 3)
    optimizer = lm.optim.AdamW(model.parameters())

    @lm.compile
    def step(x: Any) -> Any:
        loss = model(x).sum()
        optimizer.step(loss.backward())
        return loss

    before = bits(model.weight)
    refused(path, step, X, match=r"save: step runs AdamW.step at .*test_loaded.py:\d+, whose numb")
    assert bits(model.weight) == before


def test_python_code_is_refused_by_name(path: Path) -> None:
    def forward(x: Any) -> Any:
        return lm.from_numpy(np.cbrt(x.numpy()))

    cube_root = lm.custom_op(forward, name="cube_root")
    refused(
        path, lm.compile(lambda x: cube_root(x) + 1.0), X,
        match=r"calls cube_root at .*, which is Python code",
    )  # fmt: skip


def test_generators_of_ones_own_are_refused(path: Path) -> None:
    generator = lm.random.Generator(1)
    step = lm.compile(lambda x: x + lm.random.normal((4,), generator=generator))
    refused(path, step, X, match="draws random numbers from a Generator of its own")


@pytest.mark.parametrize(
    ("argument", "kind"),
    [(lm.nn.ReLU(), "a ReLU"), (Point(1, 2), "a Point"), (b"x", "a bytes"), (1j, "a complex")],
)
def test_objects_among_arguments_and_results_are_refused(
    path: Path, argument: Any, kind: str
) -> None:
    refused(path, lm.compile(lambda x, y: x + 1.0), X, argument, match=f"arguments .* hold {kind}")
    refused(path, lm.compile(lambda x: [x, argument]), X, match=f"results of .* hold {kind}")


def test_name_of_weights_is_refused_for_a_program(path: Path) -> None:
    refused(path.with_name("x.safetensors"), lm.compile(lambda x: x), X, match="a name for the wei")


def test_failed_save_leaves_the_old_files(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = lm.nn.Linear(4, 3)
    predict = lm.compile(model)
    predict.save(path, X)
    before = bits(predict(X))
    with lm.no_grad():
        model.weight.add_(1.0)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space"):
        predict.save(path, X)
    assert bits(lm.load_program(path)(X)) == before
    assert len(list(path.parent.iterdir())) == 2


# Calls that do not fit ----------------------------------------------------------------------------


def test_other_arguments_are_refused_with_what_differs(path: Path) -> None:
    def predict(x: Any, options: Any, *, mask: Any = None) -> Any:
        return x * options["scale"]

    lm.compile(predict).save(path, X, {"scale": 2.0}, mask=None)
    loaded = lm.load_program(path)
    good: Any = (X, {"scale": 2.0})
    with pytest.raises(ShapeError, match=r"x is float32\[3, 4\], .* saved for float32\[5, 4\]"):
        loaded(X[:3], good[1], mask=None)
    with pytest.raises(DTypeError, match=r"x is float64\[5, 4\]"):
        loaded(X.astype(lm.float64), good[1], mask=None)
    with pytest.raises(ArgumentError, match="on reference, the program is on cpu"):
        loaded(X.to_device("reference"), good[1], mask=None)
    for args, kwargs, message in [
        ((X,), {"mask": None}, "predict: 1 arguments by position, not 2; the program was saved f"),
        ((X, {"scale": 2}), {"mask": None}, "predict: argument 1['scale'] is 2, not 2.0; "),
        ((X, {"scale": X}), {"mask": None}, "argument 1['scale'] is a tensor, not 2.0; "),
        ((X, {}), {"mask": None}, "argument 1 has the keys [], not ['scale']; "),
        (([X], good[1]), {"mask": None}, "argument 0 is a list, not a tensor; "),
        ((None, good[1]), {"mask": None}, "argument 0 is None, not a tensor; "),
        ((np.ones((2, 3)), good[1]), {"mask": None}, "argument 0 is an array float64[2, 3], not a"),
        (good, {}, "argument mask is missing; "),
        (good, {"mask": None, "k": 1}, "argument k is not among those that it was saved with; "),
        (good, {"mask": X}, "argument mask is a tensor, not None; "),
        ((), {}, "for predict(x: float32[5, 4], {'scale': 2.0}, mask=None)"),
    ]:
        with pytest.raises(ArgumentError, match=re.escape(message)):
            loaded(*args, **kwargs)


def test_loaded_program_cannot_be_compiled_into_another(path: Path) -> None:
    lm.compile(lambda x: x + 1.0).save(path, X)
    loaded = lm.load_program(path)
    with pytest.raises(TraceError, match="cannot be called in a function that is compiled"):
        lm.compile(lambda x: loaded(x))(X)


# Elsewhere ----------------------------------------------------------------------------------------


def test_golden_program_reads_as_it_did_and_is_written_as_it_was(path: Path) -> None:
    """Files of this format stay readable. A new format has a new version, and this file stays."""
    loaded = lm.load_program(GOLDEN / "small.lumus")
    x, ids = lm.tensor([[1.0, 2.0], [-3.0, 0.5]]), lm.tensor([1, 0])
    results = loaded(x, ids=ids, scale=0.5)
    want = json.loads((GOLDEN / "small.json").read_text(encoding="utf-8"))
    assert list(results) == list(want)
    for name, one in results.items():
        assert np.allclose(one.tolist(), want[name], rtol=1e-6, atol=0), name
    text = (GOLDEN / "small.lumus").read_text(encoding="ascii")
    assert saved_text(loaded.saved, text.split("sha256 ")[1][1:65]) == text


def test_program_runs_on_the_reference_device(path: Path) -> None:
    model = classifier()
    model.eval()
    lm.compile(model).save(path, X)
    loaded = lm.load_program(path, device="reference")
    got = loaded(X.to_device("reference"))
    assert np.allclose(got.tolist(), lm.load_program(path)(X).tolist(), rtol=1e-5, atol=1e-6)


def test_digits_model_runs_in_a_process_without_its_source(path: Path) -> None:
    train, _ = lm.data.digits()
    images, labels = train.images.reshape(-1, 64), train.labels
    lm.random.seed(0)
    model = lm.nn.Sequential(lm.nn.Linear(64, 32), lm.nn.ReLU(), lm.nn.Linear(32, 10))
    optimizer = lm.optim.Adam(model.parameters(), lr=1e-2)

    @lm.compile
    def step(x: Any, y: Any) -> Any:
        loss = F.cross_entropy(model(x), y)
        optimizer.step(loss.backward())
        return loss

    losses = [step(images, labels).item() for _ in range(20)]
    assert losses[-1] < 0.5 * losses[0]
    predict = lm.compile(lambda x: model(x).softmax(axis=-1), freeze=True)
    predict.save(path, images[:8])
    lm.io.save(path.parent / "x.safetensors", {"x": images[:8]})
    program = """
        import sys, lumus as lm
        predict = lm.load_program("saved.lumus")
        lm.io.save("y.safetensors", {"y": predict(lm.io.load("x.safetensors")["x"])})
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        cwd=path.parent, env=environment, check=True,
    )  # fmt: skip
    assert bits(lm.io.load(path.parent / "y.safetensors")["y"]) == bits(predict(images[:8]))
