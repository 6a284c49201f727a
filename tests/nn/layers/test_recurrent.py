"""Recurrent layers and cells: shapes, directions, lengths, states, dropout, names of parameters."""

from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.errors import ArgumentError, DTypeError, KindError, LumusError, ShapeError
from lumus.nn import GRU, LSTM, RNN, GRUCell, LSTMCell, Module, RNNCell

LAYERS = (RNN, LSTM, GRU)
CELLS = {RNN: RNNCell, LSTM: LSTMCell, GRU: GRUCell}


def inputs(*shape: int, seed: int = 0) -> lm.Tensor[lm.Float]:
    return lm.random.normal(shape, dtype=lm.float64, generator=lm.random.Generator(seed))


def layer(kind: Any, *args: Any, **kwargs: Any) -> Any:
    return kind(*args, dtype=lm.float64, generator=lm.random.Generator(1), **kwargs)


def states_of(result: Any) -> tuple[lm.Tensor[lm.Float], ...]:
    """The last states, as a tuple also where there is one."""
    return result if isinstance(result, tuple) else (result,)


def assert_close(got: lm.Tensor[Any], want: lm.Tensor[Any]) -> None:
    np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), rtol=1e-12, atol=1e-14)


# -------------------------------------------------------------------------------------- parameters


@pytest.mark.parametrize(("kind", "gates"), [(RNN, 1), (GRU, 3), (LSTM, 4)])
def test_parameters_have_the_names_and_shapes_of_pytorch(kind: Any, gates: int) -> None:
    state = kind(3, 5, 2, bidirectional=True).state_dict()
    names = [
        f"{name}_l{place}{direction}"
        for place in (0, 1)
        for direction in ("", "_reverse")
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    ]
    assert list(state) == names
    assert state["weight_ih_l0"].shape == (5 * gates, 3)
    assert state["weight_ih_l1_reverse"].shape == (5 * gates, 10)
    assert state["weight_hh_l1"].shape == (5 * gates, 5)
    assert state["bias_hh_l0_reverse"].shape == (5 * gates,)


def test_projection_has_a_weight_of_its_own_and_narrows_the_state() -> None:
    state = LSTM(3, 5, 2, proj_size=2, bias=False).state_dict()
    assert {name: value.shape for name, value in state.items()} == {
        "weight_ih_l0": (20, 3),
        "weight_hh_l0": (20, 2),
        "weight_hr_l0": (2, 5),
        "weight_ih_l1": (20, 2),
        "weight_hh_l1": (20, 2),
        "weight_hr_l1": (2, 5),
    }


@pytest.mark.parametrize("kind", [*LAYERS, *CELLS.values()])
def test_parameters_begin_within_one_over_the_root_of_the_hidden_size(kind: Any) -> None:
    values = [one.numpy() for one in kind(30, 16).state_dict().values()]
    together = np.concatenate([one.ravel() for one in values])
    assert np.abs(together).max() <= 0.25
    assert np.abs(together).max() > 0.24
    assert abs(together.mean()) < 0.02


@pytest.mark.parametrize("kind", CELLS.values())
def test_cell_has_the_parameters_of_pytorch(kind: Any) -> None:
    assert list(kind(3, 5).state_dict()) == ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]
    assert list(kind(3, 5, bias=False).state_dict()) == ["weight_ih", "weight_hh"]


# -------------------------------------------------------------------------------------------- steps


def by_cells(module: Any, x: lm.Tensor[lm.Float]) -> tuple[Any, list[list[Any]]]:
    """What a layer computes, by a cell that is called for each step."""
    suffixes = ("", "_reverse") if module.bidirectional else ("",)
    last: list[list[Any]] = []
    for place in range(module.num_layers):
        outputs = []
        for suffix in suffixes:
            cell = CELLS[type(module)](x.shape[2], module.hidden_size, dtype=lm.float64)
            cell.load_state_dict(
                {
                    name: getattr(module, f"{name}_l{place}{suffix}")
                    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
                }
            )
            state, kept = None, [None] * len(x)
            for step in range(len(x))[:: -1 if suffix else 1]:
                state = cell(x[step], state)
                kept[step] = states_of(state)[0]
            outputs.append(lm.stack(kept))
            last.append(list(states_of(state)))
        x = lm.concat(outputs, axis=2)
    return x, last


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_layer_is_its_cell_at_each_step(kind: Any, bidirectional: bool) -> None:
    module, x = layer(kind, 3, 4, 2, bidirectional=bidirectional), inputs(5, 2, 3)
    output, states = module(x)
    want, last = by_cells(module, x)
    assert_close(output, want)
    for number, state in enumerate(states_of(states)):
        assert_close(state, lm.stack([one[number] for one in last]))


@pytest.mark.parametrize("kind", LAYERS)
def test_states_go_from_one_call_to_the_next(kind: Any) -> None:
    module, x = layer(kind, 3, 4, 2), inputs(6, 2, 3)
    whole, last = module(x)
    first, between = module(x[:2])
    second, end = module(x[2:], between)
    assert_close(lm.concat([first, second]), whole)
    for one, other in zip(states_of(end), states_of(last), strict=True):
        assert_close(one, other)


@pytest.mark.parametrize("kind", LAYERS)
def test_batch_first_and_one_row_are_the_same_in_another_shape(kind: Any) -> None:
    module, x = layer(kind, 3, 4, bidirectional=True), inputs(5, 2, 3)
    output, states = module(x)
    module.batch_first = True
    turned, same = module(x.transpose(0, 1))
    assert_close(turned.transpose(0, 1), output)
    row, single = module(x[:, 1])
    assert_close(row, output[:, 1])
    for one, other, alone in zip(*map(states_of, (states, same, single)), strict=True):
        assert_close(other, one)
        assert_close(alone, one[:, 1])


@pytest.mark.parametrize("kind", CELLS.values())
def test_cell_of_one_row_is_that_row_of_a_batch(kind: Any) -> None:
    cell, x = kind(3, 4, dtype=lm.float64), inputs(2, 3)
    batch = states_of(cell(x))
    for one, other in zip(batch, states_of(cell(x[1])), strict=True):
        assert_close(other, one[1])


def test_relu_is_the_other_nonlinearity() -> None:
    module = layer(RNN, 2, 3, nonlinearity="relu")
    x = inputs(1, 4, 2)
    weight, bias = module.weight_ih_l0, module.bias_ih_l0 + module.bias_hh_l0
    assert_close(module(x)[0][0], (x[0] @ weight.T + bias).relu())


def test_projection_is_a_product_with_the_hidden_state() -> None:
    module, plain = layer(LSTM, 3, 4, proj_size=2), layer(LSTM, 3, 4)
    shared = {k: v for k, v in plain.state_dict().items() if k != "weight_hh_l0"}
    module.load_state_dict(shared, strict=False)
    x = inputs(1, 2, 3)
    output, (hidden, cell) = module(x)
    wide, (_, same) = plain(x)
    assert_close(output[0], wide[0] @ module.weight_hr_l0.T)
    assert_close(hidden, output)
    assert_close(cell, same)


# ------------------------------------------------------------------------------------------ lengths

LENGTHS = (4, 0, 5, 1)


@pytest.mark.parametrize("kind", LAYERS)
def test_row_with_a_length_is_that_row_alone(kind: Any) -> None:
    module, x = layer(kind, 3, 4, 2, bidirectional=True), inputs(5, 4, 3)
    output, states = module(x, lengths=lm.tensor(LENGTHS))
    for row, length in enumerate(LENGTHS):
        assert not output[length:, row].detach().numpy().any()
        alone, last = module(x[:length, row])
        assert_close(output[:length, row], alone)
        for one, other in zip(states_of(states), states_of(last), strict=True):
            assert_close(one[:, row], other)


@pytest.mark.parametrize("kind", [*LAYERS, lambda *args, **kw: LSTM(*args, proj_size=2, **kw)])
def test_what_stands_beyond_a_length_has_no_influence(kind: Any) -> None:
    module = layer(kind, 3, 4, bidirectional=True)
    clean = inputs(5, 4, 3)
    found = []
    for filler in (0.0, float("nan")):
        x = clean.copy()
        for row, length in enumerate(LENGTHS):
            x[length:, row] = filler
        x.requires_grad_()
        output, states = module(x, lengths=LENGTHS)
        total = output.square().sum() + states_of(states)[0].square().sum()
        grads = total.backward()
        found.append([output, *(grads[one] for one in (x, *module.parameters()))])
    for one, other in zip(*found, strict=True):
        assert one.detach().numpy().tobytes() == other.detach().numpy().tobytes()


# ------------------------------------------------------------------------------------------ dropout


def test_dropout_is_between_layers_and_in_training_alone() -> None:
    module = layer(LSTM, 3, 4, 2, dropout=1.0)
    x = inputs(5, 2, 3)
    second = layer(LSTM, 4, 4)
    upper = {k.replace("_l1", "_l0"): v for k, v in module.state_dict().items() if "_l1" in k}
    second.load_state_dict(upper)
    assert_close(module(x)[0], second(lm.zeros((5, 2, 4), dtype=lm.float64))[0])
    plain = layer(LSTM, 3, 4, 2)
    assert_close(module.eval()(x)[0], plain(x)[0])


# -------------------------------------------------------------------------------------- sharing out


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("hidden", [37, 420])
def test_row_does_not_depend_on_the_batch_it_is_in(kind: Any, hidden: int) -> None:
    """Many rows go through all steps in blocks; of few, and of large layers, steps are shared."""
    module = kind(5, hidden, generator=lm.random.Generator(1))
    x = inputs(3, 40, 5).astype(lm.float32)
    whole = module(x)[0]
    for begin, end in ((0, 1), (7, 12), (3, 40)):
        part = module(x[:, begin:end])[0]
        assert (
            part.detach().numpy().tobytes() == whole[:, begin:end].copy().detach().numpy().tobytes()
        )


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize(("rows", "hidden"), [(33, 48), (3, 160), (16, 420)])
def test_bits_do_not_depend_on_the_number_of_threads(kind: Any, rows: int, hidden: int) -> None:
    module = kind(5, hidden, generator=lm.random.Generator(1))
    before = lm.num_threads()
    found = []
    try:
        for threads in (1, 2, 3):
            lm.set_num_threads(threads)
            x = inputs(3, rows, 5).astype(lm.float32).requires_grad_()
            output, _ = module(x)
            grads = output.square().sum().backward()
            found.append([output, *(grads[one] for one in (x, *module.parameters()))])
    finally:
        lm.set_num_threads(before)
    for one, other, third in zip(*found, strict=True):
        assert one.detach().numpy().tobytes() == other.detach().numpy().tobytes()
        assert one.detach().numpy().tobytes() == third.detach().numpy().tobytes()


# ------------------------------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("kwargs", "error"),
    [
        ({"input_size": 0}, ArgumentError),
        ({"hidden_size": -1}, ArgumentError),
        ({"num_layers": 0}, ArgumentError),
        ({"num_layers": 1.5}, LumusError),
        ({"dropout": 1.5}, ArgumentError),
        ({"dropout": float("nan")}, ArgumentError),
        ({"bias": "no"}, ArgumentError),
        ({"proj_size": 4}, ArgumentError),
        ({"proj_size": -1}, ArgumentError),
    ],
)
def test_mistaken_argument_is_told(kwargs: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match="LSTM: "):
        LSTM(**{"input_size": 3, "hidden_size": 4, **kwargs})


@pytest.mark.parametrize("kind", [RNN, RNNCell])
def test_unknown_nonlinearity_is_told(kind: Any) -> None:
    with pytest.raises(ArgumentError, match="nonlinearity must be 'tanh' or 'relu', got 'gelu'"):
        kind(3, 4, nonlinearity="gelu")


def zeros(*shape: int) -> lm.Tensor[lm.Float]:
    return lm.zeros(shape)


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "text"),
    [
        ((zeros(5, 2, 4),), {}, ShapeError, r"GRU: the input must have 2 axes.* shape \(5, 2, 4\)"),
        ((zeros(3),), {}, ShapeError, "GRU: the input must have 2 axes, or 3 with a batch"),
        (
            (lm.zeros((5, 2, 3), dtype=lm.int64),),
            {},
            KindError,
            "GRU: needs a tensor of kind Float",
        ),
        ((lm.zeros((5, 2, 3), dtype=lm.float64),), {}, DTypeError, "GRU: the input is float64"),
        (
            (zeros(5, 2, 3), zeros(2, 4)),
            {},
            ShapeError,
            r"hidden state must have shape \(1, 2, 4\)",
        ),
        ((zeros(5, 2, 3),), {"lengths": [1]}, ShapeError, r"lengths must have shape \(2,\)"),
        ((zeros(5, 2, 3),), {"lengths": [1, 6]}, ArgumentError, "length 6 of row 1 is not in 0..5"),
        ((zeros(5, 2, 3),), {"lengths": [-1, 5]}, ArgumentError, "length -1 of row 0"),
        ((zeros(5, 2, 3),), {"lengths": zeros(2)}, KindError, "needs lengths of kind Int"),
        ((zeros(5, 3),), {"lengths": [5]}, ArgumentError, "lengths are for a batch"),
    ],
)
def test_input_that_does_not_fit_is_told(
    args: Any, kwargs: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        GRU(3, 4)(*args, **kwargs)


def test_states_of_an_lstm_are_two() -> None:
    module: Any = LSTM(3, 4)
    with pytest.raises(ArgumentError, match="LSTM: the states must be 2 tensors, got 1"):
        module(zeros(5, 2, 3), (zeros(1, 2, 4),))
    with pytest.raises(ArgumentError, match=r"got one Tensor\nhint: pass \(hidden, cell\)"):
        module(zeros(5, 2, 3), zeros(1, 2, 4))
    with pytest.raises(ShapeError, match="the cell state must have shape"):
        module(zeros(5, 2, 3), (zeros(1, 2, 4), zeros(1, 2, 5)))


def test_text_shows_what_is_unusual() -> None:
    module: Module = LSTM(3, 4, 2, bidirectional=True, proj_size=2)
    assert repr(module) == "LSTM(3, 4, num_layers=2, bidirectional=True, proj_size=2)"
    assert repr(RNN(3, 4, nonlinearity="relu")) == "RNN(3, 4, nonlinearity='relu')"
    assert repr(GRUCell(3, 4, bias=False)) == "GRUCell(3, 4, bias=False)"
