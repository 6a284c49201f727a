"""check_finite: what raises, what passes, what it says, and where it holds."""

import asyncio
import linecache
import math
import threading

import numpy as np
import pytest

import lumus as lm
from lumus.core.mode import MODE
from lumus.core.site import line_of
from lumus.errors import ArgumentError, NonFiniteError, ShapeError
from lumus.nn import functional
from tests.core.printing import printing

BIG = 3e38
FLOATS = (lm.float64, lm.float32, lm.float16, lm.bfloat16)


def raised(function, **options):
    with pytest.raises(NonFiniteError) as caught, lm.inspect.check_finite(**options):
        function()
    return caught.value


def line_text(site):
    file, line = line_of(site)
    return linecache.getline(file, line).strip()


# -------------------------------------------------------------------------------------- forward


@pytest.mark.parametrize("dtype", FLOATS)
def test_first_op_that_makes_a_nan_is_named(device, dtype):
    x = lm.tensor([[4.0, 1.0], [9.0, -2.0]], dtype=dtype, device=device)

    def program():
        root = x.sqrt()
        return root.log().sum()

    error = raised(program)
    assert (error.op, error.output, error.index, error.count) == ("sqrt", 0, (1, 1), 1)
    assert math.isnan(error.value)
    assert error.operands == {"x": -2.0}
    assert error.incoming is error.forward_site is None
    assert line_text(error.site) == "root = x.sqrt()"


def test_operands_of_a_broadcast_element_are_those_it_was_computed_from():
    x, y = lm.tensor([[1.0], [2.0]]), lm.tensor([5.0, 0.0, 7.0])
    error = raised(lambda: x / y)
    assert error.index == (0, 1)
    assert error.operands == {"x": 1.0, "y": 0.0}
    assert "from x[0, 0] = 1.0, y[1] = 0.0" in str(error)
    assert error.count == 2


def test_masks_and_scalars_are_told_too():
    mask = lm.tensor([True, False])
    x = lm.tensor([2.0, 3.0])
    error = raised(lambda: lm.where(mask, math.inf, x) * 0.0)
    assert error.op == "multiply"  # the infinity was written down; the NaN that it makes was not
    assert "x[0] = inf, y = 0.0" in str(error)


def test_op_that_is_not_elementwise_tells_the_range_of_its_inputs():
    x = lm.full((2, 3), BIG)
    error = raised(lambda: x @ x.permute_dims(1, 0))
    assert error.op == "matmul"
    assert error.operands == {}
    assert "input 0: float32[2, 3] of 3e+38 to 3e+38" in str(error)


def test_one_of_several_results_is_told_by_its_number():
    x = lm.tensor([[math.inf, 1.0]])
    error = raised(lambda: lm.tensor([[BIG, 0.0, 0.0]]).square().topk(1))
    assert error.op == "square"
    error = raised(lambda: lm.topk(x, 1))
    assert error.incoming == "input 0"


def test_empty_and_integer_results_pass():
    with lm.inspect.check_finite():
        assert lm.zeros((0, 3)).log().shape == (0, 3)
        assert (lm.tensor([1, 2]) // 1).tolist() == [1, 2]
        assert lm.isnan(lm.tensor([math.nan])).tolist() == [True]


@pytest.mark.parametrize("layout", ["reversed", "transposed", "every other"])
def test_elements_of_any_layout_are_looked_at(layout):
    whole = lm.arange(12, dtype=lm.float32).reshape(3, 4) - 1.0
    view = {
        "reversed": whole[::-1, ::-1],
        "transposed": whole.permute_dims(1, 0),
        "every other": whole[:, ::2],
    }[layout]
    error = raised(lambda: view.sqrt())
    assert error.operands == {"x": -1.0}
    assert np.argwhere(view.numpy() < 0).tolist() == [list(error.index)]


def test_views_of_what_is_inside_a_block_are_told_by_what_made_them():
    def program():
        root = lm.tensor([1.0, -1.0]).sqrt
        return root().reshape(2, 1)

    assert raised(program).op == "sqrt"


# ------------------------------------------------------------------------------- what came in


def test_leaf_that_held_it_is_named_with_the_line_that_created_it():
    x = lm.tensor([1.0, math.nan, 3.0], requires_grad=True)
    error = raised(lambda: x * 2.0)
    assert error.incoming == "x"
    assert (error.op, error.index, error.count) == ("multiply", (1,), 1)
    assert "x itself holds nan at (1,), before any op of the block" in str(error)
    assert "created at" in str(error)
    assert "x = lm.tensor([1.0, math.nan, 3.0], requires_grad=True)" in str(error)


def test_view_of_a_leaf_leads_to_the_leaf():
    x = lm.tensor([[1.0, math.inf]], requires_grad=True)
    error = raised(lambda: x.permute_dims(1, 0).reshape(2) + 1.0)
    assert "x = lm.tensor([[1.0, math.inf]], requires_grad=True)" in str(error)


def test_result_of_an_op_before_the_block_is_named_by_that_op():
    x = lm.tensor([0.0, 1.0], requires_grad=True)
    y = x.log()
    error = raised(lambda: y + 1.0)
    assert error.incoming == "x"
    assert "made by log at" in str(error)
    assert "y = x.log()" in str(error)


def test_nan_in_data_that_is_left_out_passes():
    x = lm.tensor([1.0, math.nan])
    with lm.inspect.check_finite():
        kept = lm.where(lm.isnan(x), 0.0, x)
    assert kept.tolist() == [1.0, 0.0]


def test_new_nan_beside_one_that_came_in_is_told_first():
    x = lm.tensor([math.nan, -1.0])
    error = raised(lambda: x.sqrt())
    assert (error.incoming, error.index, error.count) == (None, (1,), 2)


# ------------------------------------------------------------------------------- what is meant


def masked(scores):
    allowed = lm.tril(lm.ones((3, 3))) > 0
    return lm.where(allowed, scores, -math.inf)


def test_infinity_written_as_a_number_passes_through_ops():
    with lm.inspect.check_finite():
        scores = masked(lm.ones((3, 3))) / 2.0
        weights = scores.reshape(1, 3, 3).softmax(axis=-1)
    assert weights[0, 0].tolist() == [1.0, 0.0, 0.0]


def test_nan_that_comes_of_a_meant_infinity_raises():
    def program():
        scores = masked(lm.ones((3, 3)))
        return scores - scores

    error = raised(program)
    assert (error.op, error.operands) == ("subtract", {"x": -math.inf, "y": -math.inf})

    def no_key_left():
        return lm.where(lm.zeros((2, 2)) > 0, lm.ones((2, 2)), -math.inf).softmax(axis=-1)

    assert raised(no_key_left).op == "softmax"


def test_allowed_op_and_what_passes_it_on_is_left_alone():
    x = lm.tensor([0.0, 1.0], requires_grad=True)
    assert (
        raised(lambda: x.log()).hint == "if it is meant, as in a mask: allow=('log',), or inf=False"
    )
    with lm.inspect.check_finite(allow=("log",)):
        grads = (x.log().exp() * 2.0).sum().backward()
    assert grads[x].tolist()[1] == 2.0
    other = lm.tensor([-1.0])
    assert raised(lambda: other.sqrt(), allow=("log",)).op == "sqrt"


def test_kinds_can_be_chosen():
    zero, negative = lm.tensor([0.0]), lm.tensor([-1.0])
    with lm.inspect.check_finite(inf=False):
        assert zero.log().tolist() == [-math.inf]
    assert raised(lambda: zero.log() * 0.0, inf=False).op == "multiply"
    assert "(2 of 2 elements are nan)" in str(
        raised(lambda: lm.tensor([-1.0, -2.0]).sqrt(), inf=False)
    )
    with lm.inspect.check_finite(nan=False):
        assert math.isnan(negative.sqrt().item())
    assert raised(lambda: zero.log(), nan=False).op == "log"


def test_attention_to_nothing_and_losses_without_a_path_pass_where_they_are_meant():
    q = lm.ones((1, 2, 4), requires_grad=True)
    mask = lm.tensor([[True, True], [False, False]])
    frames = lm.zeros((2, 1, 3)).log_softmax(axis=-1)
    targets = lm.tensor([[1, 1]])
    with lm.inspect.check_finite():
        grads = functional.scaled_dot_product_attention(q, q, q, mask).sum().backward()
        loss = functional.ctc_loss(frames, targets, [2], [2], zero_infinity=True)
    assert np.isfinite(grads[q].numpy()).all()
    assert loss.item() == 0.0
    assert raised(lambda: functional.ctc_loss(frames, targets, [2], [2])).op == "ctc"


def test_mask_of_infinities_that_came_in_is_not_blamed_for_a_nan_of_the_scores():
    q = lm.full((1, 2, 4), 1e30)
    mask = lm.tensor([[0.0, -math.inf], [0.0, 0.0]])
    error = raised(lambda: functional.scaled_dot_product_attention(q, q * 1e5, q, mask))
    assert (error.op, error.incoming) == ("attention", None)


# ------------------------------------------------------------------------------------- backward


def test_gradient_is_named_by_the_op_it_belongs_to_and_both_lines(device):
    x = lm.tensor([0.0, 4.0], device=device, requires_grad=True)

    def program():
        loss = x.sqrt().sum()
        loss.backward()

    error = raised(program)
    assert (error.op, error.output, error.index, error.value) == ("sqrt", 0, (0,), math.inf)
    assert error.operands == {"grad": 1.0, "y": 0.0}
    assert line_text(error.forward_site) == "loss = x.sqrt().sum()"
    assert line_text(error.site) == "loss.backward()"
    assert str(error).startswith("backward of sqrt: the gradient of input 0 holds inf at (0,)")


def test_steps_of_a_derivative_that_come_to_nothing_pass():
    x = lm.tensor([0.0, 3.0], requires_grad=True)
    with lm.inspect.check_finite():
        grads = (x.norm() + (x**2.0).sum() + lm.where(x > 0, x, 0.0).sum()).backward()
    assert np.isfinite(grads[x].numpy()).all()


def test_saved_value_from_before_the_block_is_named():
    x = lm.tensor([2.0, -1.0], requires_grad=True)
    y = x.sqrt().sum()
    error = raised(y.backward)
    assert error.incoming == "y"
    assert "backward of sqrt: y itself holds nan at (1,)" in str(error)
    assert "sqrt ran at" in str(error)


def test_gradient_given_to_backward_is_named():
    x = lm.tensor([2.0, 1.0], requires_grad=True)
    y = x * 3.0
    error = raised(lambda: y.backward(lm.tensor([math.nan, 1.0])))
    assert (error.op, error.incoming, error.index) == ("multiply", "grad", (0,))


def test_gradients_that_add_up_to_an_infinity_are_found():
    x = lm.tensor([0.1], requires_grad=True)
    for count, big in ((2, BIG), (3, BIG / 2)):
        loss = sum((x * big for _ in range(count)), start=0.0).sum()
        error = raised(loss.backward)
        assert (error.op, error.value) == ("add", math.inf)


def test_second_derivative_and_functional_gradients_are_looked_at():
    x = lm.tensor([0.0, 1.0], requires_grad=True)

    def program():
        first = (x**1.5).sum().backward(create_graph=True)[x]
        first.sum().backward()

    assert raised(program).forward_site is not None
    error = raised(lambda: lm.grad(lambda x: x.sqrt().sum())(lm.tensor([0.0])))
    assert (error.op, error.value) == ("sqrt", math.inf)


def test_passes_can_be_chosen():
    x = lm.tensor([0.0, 4.0], requires_grad=True)
    with lm.inspect.check_finite(backward=False):
        assert x.sqrt().sum().backward()[x].tolist()[0] == math.inf
    y = lm.tensor([-1.0], requires_grad=True)

    def program():
        y.sqrt().sum().backward()

    assert raised(program).forward_site is None
    error = raised(program, forward=False)
    assert "backward of sqrt: y itself holds nan" in str(error)


# ------------------------------------------------------------------------------------- in place


def test_write_in_place_is_undone(device):
    x = lm.full((2, 2), BIG, device=device)
    x[0, 0] = 1.0
    error = raised(lambda: x[:, ::-1].add_(x[:, ::-1]))
    assert (error.op, error.index, error.count) == ("add", (0, 0), 3)
    assert error.operands == {"x": x[0, 1].item(), "y": x[0, 1].item()}
    assert "nothing was written" in str(error)
    assert x.tolist() == lm.tensor([[1.0, BIG], [BIG, BIG]]).tolist()


def test_write_from_an_overlapping_view_tells_what_was_read():
    x = lm.tensor([1.0, BIG, 2.0, 3.0])
    error = raised(lambda: x[1:].add_(x[:-1] * 1.0).add_(BIG))
    assert error.op == "add"
    assert error.operands["y"] == pytest.approx(BIG)


def test_write_that_is_meant_is_done():
    x = lm.zeros((3,))
    with lm.inspect.check_finite():
        x[1] = -math.inf
        assert (x * 2.0).softmax(axis=0).tolist() == [0.5, 0.0, 0.5]
    assert x.tolist() == [0.0, -math.inf, 0.0]


def small_model():
    generator = lm.random.Generator(0)
    return lm.nn.Sequential(
        lm.nn.Linear(3, 2, generator=generator), lm.nn.Linear(2, 1, generator=generator)
    )


@pytest.mark.parametrize("optimizer", [lm.optim.SGD, lm.optim.Adam, lm.optim.AdamW])
def test_step_that_ruins_a_parameter_names_it_and_leaves_it(optimizer):
    model = small_model()
    with lm.no_grad():
        model[1].weight.fill_(-3.39e38)
    rule = optimizer(model.parameters(), lr=1e37, weight_decay=0.0)
    grads = sum((one.sum() * 10.0 for one in model.parameters()), start=0.0).backward()
    error = raised(lambda: rule.step(grads), model=model)
    assert (error.op, error.index, error.count) == (f"{optimizer.__name__}.step", (0, 0), 2)
    assert error.parameter == 2
    assert "the new p (1.weight) holds -inf at (0, 0)" in str(error)
    assert "parameter 2 of the optimiser: float32[1, 2], created at" in str(error)
    assert model[1].weight.detach().tolist() == lm.full((1, 2), -3.39e38).tolist()


def test_step_with_a_gradient_that_came_in_names_it():
    w = lm.nn.Parameter(lm.tensor([1.0]))
    v = lm.nn.Parameter(lm.tensor([1.0]))
    grads = (w * 2.0 + (v * 0.0).sqrt()).backward()
    error = raised(lambda: lm.optim.SGD([w, v], lr=0.1).step(grads))
    assert (error.incoming, error.parameter) == ("g", 1)
    assert str(error).endswith("those before it have been updated")
    assert (w.item(), v.item()) == (pytest.approx(0.8), 1.0)


def test_optimisers_that_share_a_rule_are_called_by_their_own_names():
    for optimizer in (lm.optim.Adam, lm.optim.AdamW):
        w = lm.nn.Parameter(lm.full((7,), BIG))
        grads = (w * -1.0).sum().backward()
        rule = optimizer([w], lr=BIG, weight_decay=0.0)
        assert raised(lambda rule=rule, grads=grads: rule.step(grads)).op == (
            f"{optimizer.__name__}.step"
        )


def test_trained_values_are_those_without_the_check():
    x, y = lm.random.normal((8, 3), generator=lm.random.Generator(1)), lm.zeros((8, 1))
    results = []
    for check in (False, True):
        model = small_model()
        rule = lm.optim.AdamW(model.parameters())

        def step(model=model, rule=rule):
            loss = functional.mse_loss(model(x), y)
            rule.step(loss.backward())
            return loss.item()

        run = lm.inspect.check_finite()(step) if check else step
        results.append([run() for _ in range(5)] + model[0].weight.detach().tolist())
    assert results[0] == results[1]


# ------------------------------------------------------------------------------------- the block


def test_mode_is_restored_after_the_error():
    before = MODE.get()
    raised(lambda: lm.tensor(-1.0).sqrt())
    assert MODE.get() is before
    assert math.isnan(lm.tensor(-1.0).sqrt().item())
    x = lm.tensor(0.0, requires_grad=True)
    raised(lambda: x.sqrt().backward())
    assert MODE.get() is before


def test_no_grad_and_other_interpreters_nest():
    x = lm.tensor(-1.0, requires_grad=True)
    with lm.inspect.check_finite(), lm.no_grad(), pytest.raises(NonFiniteError):
        x.sqrt()
    with printing() as printer, lm.inspect.check_finite():
        (x * 2.0).backward()
    assert printer.names[0] == "multiply"
    assert len(printer.names) > 1
    with lm.inspect.check_finite(inf=False), lm.inspect.check_finite(nan=False):
        with pytest.raises(NonFiniteError):
            x.sqrt()
        with pytest.raises(NonFiniteError):
            lm.tensor(0.0).log()


def test_decorated_functions_generators_and_coroutines_are_checked():
    bad = lm.tensor(-1.0)

    @lm.inspect.check_finite(inf=False)
    def function():
        return bad.sqrt()

    @lm.inspect.check_finite()
    def generator():
        yield lm.where(bad > 0, bad, -math.inf)
        yield bad.sqrt()

    @lm.inspect.check_finite()
    async def coroutine():
        await asyncio.sleep(0)
        return bad.sqrt()

    with pytest.raises(NonFiniteError):
        function()
    steps = generator()
    next(steps)
    assert math.isnan(bad.sqrt().item())  # not between its steps
    with pytest.raises(NonFiniteError):
        next(steps)
    with pytest.raises(NonFiniteError):
        asyncio.run(coroutine())


def test_block_is_local_to_the_thread_and_one_can_serve_several():
    check = lm.inspect.check_finite()
    outcomes = []

    def work(inside):
        try:
            if inside:
                with check:
                    lm.tensor(-1.0).sqrt()
            else:
                lm.tensor(-1.0).sqrt()
            outcomes.append("passed")
        except NonFiniteError:
            outcomes.append("raised")

    with check:
        for inside in (False, True, False):
            thread = threading.Thread(target=work, args=(inside,))
            thread.start()
            thread.join()
    assert outcomes == ["passed", "raised", "passed"]


def test_other_errors_are_those_without_the_check():
    with lm.inspect.check_finite():
        with pytest.raises(ShapeError, match="matmul"):
            lm.ones((2, 3)) @ lm.ones((2, 3))
        with pytest.raises(lm.errors.IndexRangeError, match="take"):
            lm.ones(3).take(lm.tensor([5]))
        with pytest.raises(ArgumentError, match="bernoulli"):
            lm.random.bernoulli((1,), lm.tensor([2.0]))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"nan": False, "inf": False}, "nothing is left to look for"),
        ({"forward": False, "backward": False}, "nothing is left to look for"),
        ({"nan": "yes"}, "nan must be True or False"),
        ({"allow": "log"}, r"got the string 'log'\nhint: write allow=\('log',\)"),
        ({"allow": ("logarithm",)}, "'logarithm', which is no op"),
        ({"model": 3}, "model must be a Module, got int"),
    ],
)
def test_options_that_cannot_be_raise(options, told):
    with pytest.raises(ArgumentError, match=told):
        lm.inspect.check_finite(**options)


def test_very_many_tensors_with_meant_values_are_remembered_within_a_bound(monkeypatch):
    monkeypatch.setattr("lumus.inspect.hunt.MAX_MEANT", 4)
    with lm.inspect.check_finite():
        for _ in range(20):
            meant = lm.where(lm.zeros((2,)) > 0, lm.ones((2,)), -math.inf)
            assert ((meant + 1.0) * 2.0).tolist() == [-math.inf] * 2
