"""A run on the digits: what it leaves, that it repeats, that it stops in one piece."""

import json
import math

import pytest

import lumus as lm
from lumus.errors import ArgumentError, FileFormatError, StateError
from lumus.train.digits import Options, Run, evaluate, load_classifier, predictions, saved_seed


def trained(folder, *, epochs=1, on_step=lambda step: None, **options):
    folder.mkdir(exist_ok=True)
    run = Run(Options(epochs=epochs, **options), folder)
    for _ in run.epochs(on_step):
        run.save()
    return run


def contents(folder):
    return {one.name: one.read_bytes() for one in folder.iterdir()}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("run") / "one", epochs=2)


def test_run_leaves_its_model_metrics_and_graph(run):
    assert set(contents(run.folder)) == {"model.safetensors", "metrics.jsonl", "graph.txt"}
    lines = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [1, 2]
    assert set(lines[0]) == {
        "epoch", "loss", "accuracy", "held_out_loss", "held_out_accuracy"
    }  # fmt: skip
    assert lines[1]["loss"] < lines[0]["loss"]
    assert lines[1]["held_out_accuracy"] > 0.8


def test_saved_model_answers_as_the_trained_one(run):
    model = load_classifier(run.folder / "model.safetensors")
    assert evaluate(model, run.held_out) == evaluate(run.model, run.held_out)
    assert (
        predictions(model, run.held_out).tolist() == predictions(run.model, run.held_out).tolist()
    )
    assert predictions(model, run.held_out).sum(axis=1).numpy() == pytest.approx(1.0)
    assert saved_seed(run.folder / "model.safetensors") == 0


def test_graph_text_shows_the_lines_of_the_training_loop(run):
    text = (run.folder / "graph.txt").read_text()
    assert text.startswith("graph of ")
    nodes = text.splitlines()[1:]
    assert len(nodes) > 12
    assert all("train/digits.py:" in node for node in nodes)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_same_seed_writes_the_same_bits_for_any_number_of_threads(run, tmp_path, threads):
    before = lm.num_threads()
    try:
        lm.set_num_threads(threads)
        again = trained(tmp_path / "again", epochs=2)
    finally:
        lm.set_num_threads(before)
    assert contents(again.folder) == contents(run.folder)


def test_another_seed_is_another_model_on_another_split(run, tmp_path):
    other = trained(tmp_path / "other", seed=1)
    assert saved_seed(other.folder / "model.safetensors") == 1
    assert other.held_out.labels.tolist() != run.held_out.labels.tolist()
    assert other.model.state_dict()["1.weight"].tolist() != (
        run.model.state_dict()["1.weight"].tolist()
    )


def test_stopped_run_ends_after_the_batch_and_can_be_saved(tmp_path):
    steps = []

    def on_step(step):
        steps.append(step)
        run.stopped = len(steps) == 50

    run = Run(Options(epochs=5), tmp_path)
    assert len(list(run.epochs(on_step))) == 1
    assert (len(steps), steps[-1].epoch, steps[-1].batch) == (50, 2, 5)
    run.save()
    model = load_classifier(tmp_path / "model.safetensors")
    assert evaluate(model, run.held_out)[1] > 0.5


def test_run_stopped_in_its_first_epoch_saves_no_metrics(tmp_path):
    def on_step(step):
        run.stopped = True

    run = Run(Options(), tmp_path)
    assert list(run.epochs(on_step)) == []
    run.save()
    assert (tmp_path / "metrics.jsonl").read_text() == ""
    load_classifier(tmp_path / "model.safetensors")


def test_run_that_diverges_says_where_and_writes_nothing(tmp_path):
    with pytest.raises(
        ArgumentError,
        match=r"the loss is (nan|inf) in epoch 1, batch \d+, with learning rate 1e\+30\nhint",
    ):
        trained(tmp_path / "run", lr=1e30)
    assert contents(tmp_path / "run") == {}


@pytest.mark.parametrize(
    "options",
    [
        {"epochs": 0},
        {"batch_size": 0},
        {"lr": 0.0},
        {"lr": -1.0},
        {"lr": math.nan},
        {"lr": math.inf},
        {"seed": -1},
        {"seed": 2**32},
    ],
)
def test_options_out_of_range_are_refused(options, tmp_path):
    with pytest.raises(ArgumentError, match=r"got "):
        Run(Options(**options), tmp_path)


def test_batches_larger_than_the_data_are_one_batch(tmp_path):
    steps = []
    trained(tmp_path / "run", batch_size=10_000, on_step=steps.append)
    assert [step.samples for step in steps] == [1438]


def test_files_that_hold_no_classifier_are_refused(tmp_path):
    path = tmp_path / "x"
    lm.io.save(path, {"w": lm.zeros(2)})
    with pytest.raises(
        StateError, match=r"x does not hold the digits classifier: .*missing: 1.weight"
    ):
        load_classifier(path)
    for seed in ("-1", "text", "²", "4294967296", "9" * 5000):
        lm.io.save(path, {}, metadata={"seed": seed})
        with pytest.raises(StateError, match="its seed is"):
            saved_seed(path)
    path.write_text("text")
    with pytest.raises(FileFormatError):
        load_classifier(path)
