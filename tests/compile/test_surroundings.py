"""What a compiled function reads besides its arguments, and that changes are noticed."""

from typing import Any

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


def test_what_the_function_itself_sets_when_traced_is_no_change() -> None:
    class Counter:
        count = 0

        def __init__(self) -> None:
            self.seen = 0

        def step(self, x: Any) -> Any:
            self.seen += 1
            return x + float(self.seen)

    counter = Counter()
    compiled = lm.compile(counter.step)
    assert [compiled(lm.zeros(())).item() for _ in range(3)] == [1.0, 1.0, 1.0]
    assert counter.seen == 1


def test_settings_of_modules() -> None:
    model = lm.nn.Sequential(lm.nn.Linear(2, 2), lm.nn.LeakyReLU(0.1))
    compiled = lm.compile(model)
    x = lm.tensor([[-5.0, 3.0]])
    assert compiled(x).tolist() == model(x).tolist()
    model[1].negative_slope = 0.5
    assert compiled(x).tolist() == model(x).tolist()
    assert "negative_slope" in reasons(compiled)[1]


def test_settings_of_optimizers_and_loaded_state() -> None:
    def made() -> tuple[Any, Any]:
        w = lm.nn.Parameter(lm.tensor([1.0, -2.0]))
        return w, lm.optim.Adam([w], lr=0.1)

    (w, opt), (v, other) = made(), made()

    def step() -> None:
        opt.step((w * w).sum().backward())

    compiled = lm.compile(step)

    def both() -> None:
        compiled()
        other.step((v * v).sum().backward())
        assert w.tolist() == v.tolist()

    both()
    both()
    for one in (opt, other):
        one.groups[0].options["betas"] = (0.5, 0.9)
    both()
    for one in (opt, other):
        one.load_state_dict(one.state_dict())
    both()
    both()
    assert len(reasons(compiled)) == 3
