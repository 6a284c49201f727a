"""What a compiled function reads besides its arguments, and that changes are noticed."""

import functools
import types
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest

import lumus as lm

SCALE = 2.0
CONSTANT = lm.tensor([1.0, 2.0])


def reasons(compiled: Any) -> list[str]:
    return [one.reason for one in compiled.cache_info().variants]


def test_global_number_and_tensor(monkeypatch: Any) -> None:
    compiled = lm.compile(lambda x: x * SCALE + CONSTANT)
    x = lm.ones((2,))
    assert compiled(x).tolist() == [3.0, 4.0]
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert compiled(x).tolist() == [4.0, 5.0]
    monkeypatch.setitem(globals(), "CONSTANT", lm.tensor([0.0, 0.0]))
    assert compiled(x).tolist() == [3.0, 3.0]
    assert reasons(compiled) == ["first call", "SCALE: 2.0 -> 3.0", "CONSTANT: another Tensor"] or (
        reasons(compiled)[2].startswith("CONSTANT:")
    )
    monkeypatch.undo()
    assert compiled(x).tolist() == [3.0, 4.0]
    assert len(reasons(compiled)) == 3  # the first one holds again


def test_values_of_captured_tensors_are_read_anew() -> None:
    w = lm.tensor([1.0])
    compiled = lm.compile(lambda x: x * w)
    assert compiled(lm.ones((1,))).item() == 1.0
    w.add_(1.0)
    assert compiled(lm.ones((1,))).item() == 2.0
    assert len(reasons(compiled)) == 1


def test_attributes_of_plain_objects_and_nested_functions() -> None:
    class Trainer:
        def __init__(self) -> None:
            self.factor = 2.0
            self.unread = 0
            self.layer = lm.nn.Linear(2, 1, bias=False)

        def scaled(self, x: Any) -> Any:
            return self.layer(x) * self.factor

        def step(self, x: Any) -> Any:
            return self.scaled(x)

    trainer = Trainer()
    compiled = lm.compile(trainer.step)
    x = lm.ones((1, 2))
    compiled(x)
    trainer.unread += 1
    assert compiled(x).tolist() == trainer.step(x).tolist()
    assert len(reasons(compiled)) == 1
    trainer.factor = 3.0
    assert compiled(x).tolist() == trainer.step(x).tolist()
    trainer.layer = lm.nn.Linear(2, 1, bias=False)
    assert compiled(x).tolist() == trainer.step(x).tolist()
    assert reasons(compiled)[1] == "self.factor: 2.0 -> 3.0"
    assert "self.layer" in reasons(compiled)[2]


def test_settings_of_modules() -> None:
    model = lm.nn.Sequential(lm.nn.Linear(2, 2), lm.nn.LeakyReLU(0.1))
    compiled = lm.compile(model)
    x = lm.tensor([[-5.0, 3.0]])
    assert compiled(x).tolist() == model(x).tolist()
    model[1].negative_slope = 0.5
    assert compiled(x).tolist() == model(x).tolist()
    assert "negative_slope" in reasons(compiled)[1]


class Beside:
    """A compiled step and its eager twin, which must do the same to equal parameters."""

    def __init__(self, optimizer: Callable[[list[Any]], Any]) -> None:
        self.weights = [lm.nn.Parameter(lm.tensor([1.0, -2.0])) for _ in range(2)]
        self.optimizers = [optimizer([one]) for one in self.weights]
        self.compiled = lm.compile(lambda: self.step(0))

    def step(self, number: int) -> None:
        w = self.weights[number]
        self.optimizers[number].step((w * w).sum().backward())

    def both(self) -> None:
        self.compiled()
        self.step(1)
        assert self.weights[0].tolist() == self.weights[1].tolist()


def test_settings_of_optimizers_and_loaded_state() -> None:
    beside = Beside(lambda parameters: lm.optim.Adam(parameters, lr=0.1))
    beside.both()
    beside.both()
    for one in beside.optimizers:
        one.groups[0].options["betas"] = (0.5, 0.9)
    beside.both()
    for one in beside.optimizers:
        one.load_state_dict(one.state_dict())
    beside.both()
    beside.both()
    assert len(reasons(beside.compiled)) == 3


def test_state_of_an_optimizer_that_was_replaced_is_noticed() -> None:
    beside = Beside(lambda parameters: lm.optim.SGD(parameters, lr=0.1, momentum=0.9))
    beside.both()
    beside.both()
    for one in beside.optimizers:
        one.state[0]["momentum"] = lm.tensor([3.0, 4.0])
    beside.both()
    for one in beside.optimizers:
        one.state[0] = {"step": 1, "momentum": lm.tensor([5.0, 6.0])}
    beside.both()
    beside.both()
    for one in beside.optimizers:
        del one.state[0]
    beside.both()
    beside.both()


def test_what_is_read_of_an_optimizer_is_watched() -> None:
    w = lm.nn.Parameter(lm.tensor([1.0]))
    opt = lm.optim.SGD([w], lr=0.5, momentum=0.9)
    rate = lm.compile(lambda x: x * opt.lr)
    decay = lm.compile(lambda x: x * opt.groups[0].options["momentum"])
    steps = lm.compile(lambda x: x * float(opt.state[0]["step"] if opt.state else 0))
    buffer = lm.compile(lambda x: x * (opt.state[0]["momentum"] if opt.state else 0.0))
    x = lm.ones((1,))
    for compiled in (rate, decay, steps, buffer):
        assert compiled(x).tolist() == compiled.function(x).tolist()
    opt.step(w.sum().backward())
    opt.lr = 0.25
    opt.groups[0].options["momentum"] = 0.5
    for compiled in (rate, decay, steps, buffer):
        assert compiled(x).tolist() == compiled.function(x).tolist()
    opt.state[0]["momentum"] = lm.tensor([5.0])
    assert buffer(x).tolist() == [5.0]


def test_options_of_optimizers_are_watched_in_the_dict_that_is_there() -> None:
    w = lm.nn.Parameter(lm.tensor([1.0, -2.0]))
    opt = lm.optim.SGD([w], lr=0.1)
    compiled = lm.compile(lambda: opt.step((w * w).sum().backward()))
    compiled()
    opt.groups[0].options = dict(opt.groups[0].options)
    compiled()
    assert len(reasons(compiled)) == 1
    opt.groups[0].options["weight_decay"] = 0.5
    before = w.tolist()
    compiled()
    assert w.tolist() == pytest.approx([one - 0.1 * 2.5 * one for one in before])
    assert len(reasons(compiled)) == 2


def check_noticed(function: Any, change: Callable[[], Any]) -> None:
    """That a compiled function is traced again, with the values of eager, after a change."""
    compiled, x = lm.compile(function), lm.tensor([[1.0, -2.0]])
    for _ in range(2):
        assert compiled(x).tolist() == function(x).tolist()
    assert len(reasons(compiled)) == 1
    before = function(x).tolist()
    change()
    assert function(x).tolist() != before
    assert compiled(x).tolist() == function(x).tolist()
    assert len(reasons(compiled)) == 2


class Scaled(lm.nn.Module):
    """Its code reads a global number, one of its class, and one of its own."""

    power = 1.0

    def __init__(self) -> None:
        self.pair = (1.0, 2.0)
        self.parts: list[Any] = [lm.nn.ReLU()]
        self.inner: Any = lm.nn.ReLU()

    def forward(self, x: Any) -> Any:
        return self.inner(self.parts[0](self.scaled(x)))

    def scaled(self, x: Any) -> Any:
        return x * SCALE * self.power + self.pair[0]


@pytest.mark.parametrize("function", [Scaled(), lm.nn.Sequential(Scaled())])
def test_what_the_code_of_a_module_reads(function: Any, monkeypatch: Any) -> None:
    check_noticed(function, lambda: monkeypatch.setitem(globals(), "SCALE", 3.0))
    check_noticed(function, lambda: monkeypatch.setattr(Scaled, "power", 2.0))


def test_parts_of_modules_are_replaced() -> None:
    model, layers = Scaled(), lm.nn.Sequential(lm.nn.Linear(2, 2), lm.nn.ReLU())
    check_noticed(model, lambda: setattr(model, "pair", (5.0, 2.0)))
    check_noticed(model, lambda: setattr(model, "inner", lm.nn.Tanh()))
    check_noticed(model, lambda: model.parts.__setitem__(0, lm.nn.Sigmoid()))
    check_noticed(layers, lambda: layers.__setitem__(1, lm.nn.Tanh()))
    listed: Any = lm.nn.ModuleList([lm.nn.Linear(2, 2)])

    def chain(x: Any) -> Any:
        for layer in listed:
            x = layer(x)
        return x

    check_noticed(chain, lambda: listed.append(lm.nn.Sigmoid()))
    check_noticed(chain, lambda: listed.__setitem__(1, lm.nn.Tanh()))
    check_noticed(chain, lambda: listed.__delitem__(1))


def test_numbers_in_lists_and_dicts() -> None:
    scales, options = [2.0], {"inner": {"shift": 1.0}}
    check_noticed(lambda x: x * scales[0], lambda: scales.__setitem__(0, 3.0))
    check_noticed(lambda x: x * float(len(scales)), lambda: scales.append(4.0))
    inner = options["inner"]
    check_noticed(lambda x: x + options["inner"]["shift"], lambda: inner.update(shift=2.0))

    def shifted(x: Any, by: Any = scales) -> Any:
        return x + by[0]

    check_noticed(shifted, lambda: scales.__setitem__(0, 5.0))
    bound = functools.partial(lambda x, by: x + by, by=2.0)
    check_noticed(bound, lambda: bound.keywords.update(by=3.0))


def test_items_in_an_order_of_their_own_and_many_items() -> None:
    ordered = OrderedDict(a=1.0, b=2.0)
    check_noticed(lambda x: x + next(iter(ordered.values())), lambda: ordered.move_to_end("a"))
    many = [0.0] * 2000
    check_noticed(lambda x: x + float(len(many)), lambda: many.append(0.0))


def test_names_with_equal_values_are_the_same() -> None:
    scale = float("2.5")
    compiled = lm.compile(lambda x: x * scale)
    for _ in range(3):
        assert compiled(lm.ones((1,))).item() == 2.5
        scale = float("2.5")
        assert compiled(lm.ones((1,))).item() == 2.5
    scale = 3.5
    assert compiled(lm.ones((1,))).item() == 3.5
    assert len(reasons(compiled)) == 2


def test_attributes_set_and_set_back_between_calls() -> None:
    model = lm.nn.Sequential(lm.nn.Linear(2, 2), lm.nn.Dropout(0.5))
    model.eval()
    compiled = lm.compile(model)
    x = lm.ones((1, 2))
    expected = model(x).tolist()
    for _ in range(3):
        model.train()
        model.eval()
        assert compiled(x).tolist() == expected
        assert len(reasons(compiled)) == 1
    model.train()
    compiled(x)
    assert len(reasons(compiled)) == 2


def test_helpers_classes_and_objects_are_replaced() -> None:
    class Options:
        factor = 2.0

    def double(x: Any) -> Any:
        return x * 2.0

    options, helper = Options(), double
    settings = types.ModuleType("settings")
    settings.factor = 2.0  # type: ignore[attr-defined]

    def new_helper() -> None:
        nonlocal helper
        helper = lm.exp

    def new_options() -> None:
        nonlocal options
        options = Options()
        options.factor = 7.0

    check_noticed(lambda x: helper(x), new_helper)
    check_noticed(lambda x: x * Options.factor, lambda: setattr(Options, "factor", 3.0))
    check_noticed(lambda x: x * options.factor, new_options)
    check_noticed(lambda x: x * settings.factor, lambda: setattr(settings, "factor", 3.0))


def test_a_global_is_no_attribute_of_the_same_name(monkeypatch: Any) -> None:
    compiled = lm.compile(lambda x: x.T * 1.0)
    for place in range(3):
        monkeypatch.setitem(globals(), "T", place)
        compiled(lm.ones((1, 2)))
    assert len(reasons(compiled)) == 1


def test_code_that_was_replaced_is_noticed() -> None:
    def helper(x: Any) -> Any:
        return x * 2.0

    def own(x: Any) -> Any:
        return helper(x)

    compiled, x = lm.compile(own), lm.ones((1,))
    assert compiled(x).item() == 2.0
    helper.__code__ = (lambda x: x + 100.0).__code__
    assert compiled(x).item() == 101.0
    assert reasons(compiled)[1] == "helper: code: another code"
    own.__code__ = (lambda x: x - 1.0).__code__.replace(co_freevars=("helper",))
    assert compiled(x).item() == 0.0


def test_another_class_or_base_is_noticed() -> None:
    class Double:
        def go(self, x: Any) -> Any:
            return x * 2.0

    class Treble:
        def go(self, x: Any) -> Any:
            return x * 3.0

    class Own(Double):
        pass

    one, x = Own(), lm.ones((1,))
    compiled = lm.compile(lambda x: one.go(x))
    of_argument = lm.compile(lambda x, given: given.go(x))
    assert compiled(x).item() == of_argument(x, one).item() == 2.0
    Own.__bases__ = (Treble,)
    assert compiled(x).item() == of_argument(x, one).item() == 3.0
    assert reasons(compiled)[1] == "one: classes: another tuple"
    one.__class__ = Double  # type: ignore[assignment]
    assert compiled(x).item() == of_argument(x, one).item() == 2.0


def test_an_attribute_that_raises_does_not_stop_the_look() -> None:
    class Odd:
        factor = 2.0

        def __getattr__(self, name: str) -> Any:
            raise KeyError(name)

    odd = Odd()
    compiled = lm.compile(lambda x: x * odd.factor)
    assert compiled(lm.ones((1,))).item() == 2.0
    Odd.factor = 3.0
    assert compiled(lm.ones((1,))).item() == 3.0


def test_defaults_that_were_replaced_are_noticed() -> None:
    def scaled(x: Any, factor: float = 2.0, *, shift: float = 1.0) -> Any:
        return x * factor + shift

    def helped(x: Any) -> Any:
        return scaled(x)

    own, helper = lm.compile(scaled), lm.compile(helped)
    x = lm.ones((2,))
    for compiled in (own, helper, own, helper):
        assert compiled(x).tolist() == [3.0, 3.0]
    scaled.__defaults__ = (4.0,)
    assert own(x).tolist() == helper(x).tolist() == [5.0, 5.0]
    scaled.__kwdefaults__ = {"shift": -1.0}
    assert own(x).tolist() == helper(x).tolist() == [3.0, 3.0]
    scaled.__kwdefaults__["shift"] = 0.0
    assert own(x).tolist() == helper(x).tolist() == [4.0, 4.0]
    scaled.__defaults__ = (4.0,)  # an equal one is no change
    assert own(x).tolist() == [4.0, 4.0]
    assert len(own.cache_info().variants) == len(helper.cache_info().variants) == 4
    assert reasons(own)[1] == "scaled: defaults: another tuple"


class Shadowed:
    rate = 2.0


class Derived(Shadowed):
    pass


class Slotted:
    __slots__ = ("rate",)

    def __init__(self) -> None:
        self.rate = 2.0


class Hidden:
    def __init__(self) -> None:
        self._rate = 2.0

    @property
    def rate(self) -> float:
        return self._rate


class Callable_:
    def __init__(self) -> None:
        self.rate = 2.0

    def __call__(self, x: Any) -> Any:
        return x * self.rate


class Configured(lm.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.config = types.SimpleNamespace(rate=2.0)
        self.table = {"a": {"b": [2.0]}}

    def forward(self, x: Any) -> Any:
        return x * self.config.rate * self.table["a"]["b"][0]


def rated(x: Any) -> Any:
    return x * rated.rate  # type: ignore[attr-defined]


def changes() -> list[Any]:
    """Functions with what changes what they read."""
    shadowed, derived, slotted, hidden = Shadowed(), Derived(), Slotted(), Hidden()
    called, module, other = Callable_(), Configured(), Configured()
    patched = type("Patched", (Configured,), {"forward": lambda self, x: x * 2.0})()
    chosen = {2.0}
    weight = lm.nn.Parameter(lm.ones((2,)))
    Shadowed.rate, Derived.rate = 2.0, 2.0
    del Derived.rate
    rated.rate = 2.0  # type: ignore[attr-defined]
    return [
        (lambda x: x * shadowed.rate, lambda: setattr(shadowed, "rate", 3.0)),
        (lambda x: x * derived.rate, lambda: setattr(Derived, "rate", 3.0)),
        (lambda x: x * slotted.rate, lambda: setattr(slotted, "rate", 3.0)),
        (lambda x: x * hidden.rate, lambda: setattr(hidden, "_rate", 3.0)),
        (called, lambda: setattr(called, "rate", 3.0)),
        (lambda x: called(x), lambda: setattr(called, "rate", 5.0)),
        (module, lambda: setattr(module.config, "rate", 3.0)),
        (other, lambda: other.table["a"]["b"].append(other.table["a"]["b"].pop() + 1)),
        (patched, lambda: setattr(type(patched), "forward", lambda self, x: x * 3.0)),
        (rated, lambda: setattr(rated, "rate", 3.0)),
        (lambda x: x * (2.0 if 2.0 in chosen else 3.0), chosen.clear),
        (
            lambda x: x * (2.0 if weight.requires_grad else 3.0),
            lambda: weight.requires_grad_(False),
        ),
    ]


@pytest.mark.parametrize("number", range(12))
def test_what_is_read_on_the_way_is_watched(number: int) -> None:
    function, change = changes()[number]
    compiled, x = lm.compile(function), lm.ones((2,))
    before = compiled(x).tolist()
    assert before == function(x).tolist() == compiled(x).tolist()
    change()
    assert compiled(x).tolist() == function(x).tolist() != before
    assert len(reasons(compiled)) == 2
