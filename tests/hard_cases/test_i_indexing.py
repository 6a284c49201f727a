"""Views, slices, indices, gather and scatter, concat."""

import numpy as np
import pytest

import lumus as lm
from lumus.errors import ArgumentError, IndexRangeError, KindError, ReadOnlyError, ShapeError
from lumus.nn.functional import embedding, one_hot
from tests.hard_cases.values import (
    TAIL_LENGTHS,
    check_exact,
    constant,
    elements,
    gradients,
    leaf,
)


def test_write_through_a_transposed_view_I1(device):
    x = constant([[1.0, 2.0], [3.0, 4.0]], device)
    x.T[0, 1] = 9.0
    check_exact(x, [[1.0, 2.0], [9.0, 4.0]])


def test_write_to_a_broadcast_tensor_raises_before_it_writes_I2(device):
    x = constant([1.0], device)
    for view in (x.broadcast_to(3), x.broadcast_to(2, 1, 3), x.broadcast_to(2, 3)[1]):
        for write in (
            lambda y: y.add_(1.0),
            lambda y: y.zero_(),
            lambda y: y.copy_(5.0),
            lambda y: y.__setitem__(0, 5.0),
            lambda y: y.__setitem__([0, 0], 5.0),
        ):
            with pytest.raises(ReadOnlyError, match="share memory"):
                write(view)
    check_exact(x, [1.0])


@pytest.mark.parametrize("length", [6, *TAIL_LENGTHS])
@pytest.mark.parametrize("dtype", [lm.float32, lm.float64, lm.int8])
def test_overlapping_source_and_destination_I3(length, dtype):
    expected = np.arange(length)
    a = lm.arange(length).astype(dtype)
    a[1:] = a[:-1]
    check_exact(a, [0, *expected[:-1]])
    a = lm.arange(length).astype(dtype)
    a[:-1] = a[1:]
    check_exact(a, [*expected[1:], expected[-1]])
    a = lm.arange(length).astype(dtype)
    a[:-1] += a[1:]
    check_exact(a, [*(expected[:-1] + expected[1:]), expected[-1]])
    a = lm.arange(length).astype(dtype)
    a[1:].add_(a[:-1])
    check_exact(a, [0, *(expected[:-1] + expected[1:])])
    a = lm.arange(length).astype(dtype)
    a.copy_(a[::-1])
    check_exact(a, expected[::-1])


def test_overlapping_source_and_destination_on_the_reference_device_I3():
    a = lm.arange(6, device="reference")
    a[1:] = a[:-1]
    check_exact(a, [0, 0, 1, 2, 3, 4])
    a = lm.arange(6, device="reference")
    a[:-1] += a[1:]
    check_exact(a, [1, 3, 5, 7, 9, 5])


def test_strided_slice_I4(device):
    x = lm.arange(7.0, device=device, requires_grad=True)
    y = x[1:6:2]
    check_exact(y, [1.0, 3.0, 5.0])
    check_exact(gradients(y, x, grad=[1.0, 2.0, 3.0])[0], [0.0, 1.0, 0.0, 2.0, 0.0, 3.0, 0.0])


def test_negative_steps_I5(device):
    x = lm.arange(5.0, device=device, requires_grad=True)
    y = x[::-2]
    check_exact(y, [4.0, 2.0, 0.0])
    check_exact(gradients(y, x, grad=[1.0, 2.0, 3.0])[0], [3.0, 0.0, 2.0, 0.0, 1.0])
    check_exact(lm.arange(8, device=device)[::-2], [7, 5, 3, 1])
    check_exact(lm.arange(7, device=device)[5:1:-2], [5, 3])
    tens = constant([10, 20, 30, 40, 50], device)
    assert tens[3:-1:-1].shape == (0,)
    check_exact(tens[3::-1], [40, 30, 20, 10])


def test_every_slice_of_a_short_axis_is_numpys_I5():
    for length in (0, 1, 5):
        x, array = lm.arange(length), np.arange(length)
        bounds = [None, *range(-length - 2, length + 3)]
        for start in bounds:
            for stop in bounds:
                for step in (None, 1, 2, 7, -1, -2, -7):
                    index = slice(start, stop, step)
                    check_exact(x[index], array[index])


def test_basic_index_out_of_range_I6(device):
    x = constant([10, 20, 30], device)
    for index in (3, -4):
        with pytest.raises(IndexError, match=rf"index {index} .* length 3"):
            x[index]
        with pytest.raises(IndexRangeError):
            x[index] = 0
    check_exact(x[1:99], [20, 30])
    assert x[99:].shape == (0,)


@pytest.mark.parametrize("index", [3, -4])
def test_advanced_index_out_of_range_names_the_value_and_changes_nothing_I7(device, index):
    x = constant([10.0, 20.0, 30.0], device)
    bad = constant([0, index], device)
    values = constant([1.0, 2.0], device)
    uses = (
        lambda: x[[0, index]],
        lambda: x[bad],
        lambda: x.take(bad),
        lambda: x.take_along_axis(bad, axis=0),
        lambda: x.scatter_add(bad, values, axis=0),
        lambda: x.index_add(bad, values),
        lambda: x.at[bad].set(values),
        lambda: x.at[bad].add(values),
        lambda: x.__setitem__(bad, values),
        lambda: x.__setitem__([0, index], 7.0),
    )
    for use in uses:
        with pytest.raises(IndexRangeError, match=rf"index {index} ") as caught:
            use()
        assert (caught.value.index, caught.value.bound) == (index, 3)
    check_exact(x, [10.0, 20.0, 30.0])


def test_negative_advanced_indices_count_from_the_end_I7(device):
    x = leaf([10.0, 20.0, 30.0], device)
    last = constant([-1], device)
    for y in (x[[-1]], x.take([-1]), x.take_along_axis(last, axis=0)):
        check_exact(y, [30.0])
        check_exact(gradients(y, x)[0], [0.0, 0.0, 1.0])
    one = constant([1.0], device)
    check_exact(x.detach().scatter_add(last, one, axis=0), [10.0, 20.0, 31.0])
    check_exact(x.detach().index_add(last, one), [10.0, 20.0, 31.0])


@pytest.mark.parametrize("number", [3, -1, -4])
def test_number_of_no_row_or_class_is_named_with_its_position_I7(device, number):
    weight, ids = constant([[1.0], [2.0], [3.0]], device), constant([[0, 1], [number, 2]], device)
    for use in (lambda: embedding(ids, weight), lambda: one_hot(ids, 3)):
        with pytest.raises(IndexRangeError, match=rf"{number} at position \[1, 0\]") as raised:
            use()
        assert (raised.value.index, raised.value.bound) == (number, 3)
    with pytest.raises(IndexRangeError, match=f": {number} is no row: there are 3, from 0 on"):
        embedding(ids[1, 0], weight)


def test_duplicate_indices_accumulate_in_backward_I8(device):
    x = leaf([1.0, 2.0, 3.0], device)
    y = x[[0, 0, 2]]
    check_exact(gradients(y, x, grad=[1.0, 4.0, 9.0])[0], [5.0, 0.0, 9.0])
    y = x.take([0, 0, 2])
    check_exact(gradients(y, x, grad=[1.0, 4.0, 9.0])[0], [5.0, 0.0, 9.0])


def test_set_with_duplicate_indices_gives_its_gradient_to_the_last_I9(device):
    x, s = leaf([1.0, 2.0, 3.0], device), leaf([5.0, 7.0], device)
    y = x.at[[1, 1]].set(s)
    check_exact(y, [1.0, 7.0, 3.0])
    dx, ds = gradients(y.sum(), x, s)
    check_exact(dx, [1.0, 0.0, 1.0])
    check_exact(ds, [0.0, 1.0])


def test_assignment_with_duplicate_indices_keeps_the_last_I9(device):
    x = constant([1.0, 2.0, 3.0], device)
    x[[1, 1]] = constant([5.0, 7.0], device)
    check_exact(x, [1.0, 7.0, 3.0])


def test_read_modify_write_and_accumulate_differ_I10(device):
    x = lm.zeros((2,), device=device)
    x[[0, 0]] += 1.0
    check_exact(x, [1.0, 0.0])
    ones = lm.ones((2,), device=device)
    check_exact(lm.zeros((2,), device=device).index_add([0, 0], ones), [2.0, 0.0])
    check_exact(lm.zeros((2,), device=device).at[[0, 0]].add(1.0), [2.0, 0.0])


def test_scatter_add_with_duplicates_I11(device):
    x, source = lm.zeros((3,), device=device, requires_grad=True), leaf([1.0, 2.0, 4.0], device)
    y = x.scatter_add(constant([0, 2, 0], device), source, axis=0)
    check_exact(y, [5.0, 0.0, 2.0])
    dx, dsource = gradients(y, x, source, grad=[10.0, 20.0, 30.0])
    check_exact(dx, [10.0, 20.0, 30.0])
    check_exact(dsource, [10.0, 30.0, 10.0])


def test_scatter_add_has_the_same_bits_for_any_number_of_threads_I11():
    before = lm.num_threads()
    generator = lm.random.Generator(0)
    index = lm.random.integers((200000,), 0, 17, generator=generator)
    source = lm.random.normal((200000,), generator=generator)
    found = set()
    try:
        for threads in (1, 2, 3, 8):
            lm.set_num_threads(threads)
            found.add(elements(lm.zeros((17,)).scatter_add(index, source, axis=0)).tobytes())
    finally:
        lm.set_num_threads(before)
    assert len(found) == 1


def test_mask_that_selects_nothing_and_mask_of_the_wrong_length_I13(device):
    x = leaf([1.0, 2.0, 3.0], device)
    y = x[constant([False, False, False], device)]
    assert y.shape == (0,)
    check_exact(gradients(y, x)[0], [0.0, 0.0, 0.0])
    for mask in ([True, False], [True] * 4, [[True, False, True]]):
        with pytest.raises(IndexRangeError, match="mask of shape"):
            x[constant(mask, device)]


def test_empty_list_is_an_integer_index_I14(device):
    x = lm.zeros((2, 5), device=device, requires_grad=True)
    y = x[:, []]
    assert y.shape == (2, 0)
    check_exact(gradients(y, x)[0], np.zeros((2, 5)))


def test_integers_above_2_to_the_24_stay_exact_I15(device):
    big = [16777217, 16777219]
    x = constant(big, device)
    assert x.tolist() == x.copy().tolist() == big
    assert x.max().item() == big[1]
    check_exact(x == big[0], [True, False])
    check_exact(x == x - 1, [False, False])
    assert x.flip().sort().tolist() == x.sort().tolist() == big
    assert x.argsort(descending=True).tolist() == [1, 0]
    assert [one.tolist() for one in x.topk(1)] == [[big[1]], [1]]
    assert x.cumsum().tolist() == [big[0], sum(big)]
    assert x.cummax()[0].tolist() == lm.unique(x).tolist() == big
    assert lm.arange(16777216, 16777220, device=device).tolist() == list(range(16777216, 16777220))


def test_index_above_2_to_the_24_reads_that_row_I15():
    rows = np.zeros((16777218, 1), np.uint8)
    rows[16777217] = 7
    x = lm.from_numpy(rows)
    assert x[16777217].item() == 7
    assert x[[16777217, 16777216]].tolist() == [[7], [0]]
    assert x.reshape(-1).argmax().item() == 16777217


def test_gradient_of_many_repeats_of_a_bfloat16_row_I17(device):
    weight = lm.zeros((3, 1), dtype=lm.bfloat16, device=device, requires_grad=True)
    rows = weight.take([2] * 1000)
    check_exact(gradients(rows, weight)[0], [[0.0], [0.0], [1000.0]])
    rows = embedding(lm.full((1000,), 2, dtype=lm.int64, device=device), weight)
    check_exact(gradients(rows, weight)[0], [[0.0], [0.0], [1000.0]])


def test_padding_row_of_an_embedding_has_no_gradient_I16(device):
    weight = leaf([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], device)
    y = embedding(constant([[1, 0, 1]], device), weight, padding_idx=1)
    check_exact(y, [[[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]])
    check_exact(gradients(y, weight)[0], [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    for count in (1, 768, 769, 800, 5000):
        zeros = lm.zeros((count,), dtype=lm.int64, device=device)
        y = embedding(zeros, weight, padding_idx=0)
        check_exact(gradients(y, weight)[0], np.zeros((3, 2)))


def test_concat_with_empty_operands_I18(device):
    empty = lm.zeros((0, 3), device=device, requires_grad=True)
    full = lm.ones((2, 3), device=device, requires_grad=True)
    y = lm.concat([empty, full])
    assert y.shape == (2, 3)
    d_empty, d_full = gradients(y, empty, full)
    assert (d_empty.shape, d_full.shape) == ((0, 3), (2, 3))
    with pytest.raises(ShapeError, match=r"\(0,\).*\(2, 3\)"):
        lm.concat([lm.zeros((0,), device=device), full])
    with pytest.raises(KindError):
        lm.concat([lm.zeros((3,), dtype=lm.int64, device=device), lm.zeros((0,), device=device)])
    with pytest.raises(ArgumentError, match="axis 999"):
        lm.concat([lm.zeros((0,), device=device), lm.zeros((0,), device=device)], axis=999)


def test_reshape_of_no_elements_I19(device):
    x = lm.zeros((0, 3), device=device)
    assert x.reshape(-1, 5).shape == (0, 5)
    with pytest.raises(ShapeError, match="ambiguous"):
        x.reshape(-1, 0)
    with pytest.raises(ShapeError, match="ambiguous"):
        x.reshape(0, -1)


def test_flip_gradient_I20(device):
    x = leaf([1.0, 2.0, 3.0, 4.0], device)
    y = x.flip()
    check_exact(y, [4.0, 3.0, 2.0, 1.0])
    check_exact(gradients(y, x, grad=[1.0, 2.0, 3.0, 4.0])[0], [4.0, 3.0, 2.0, 1.0])


def test_roll_gradient_rolls_back_I20(device):
    x = leaf([1.0, 2.0, 3.0, 4.0], device)
    y = x.roll(-1)
    check_exact(y, [2.0, 3.0, 4.0, 1.0])
    check_exact(gradients(y, x, grad=[1.0, 2.0, 3.0, 4.0])[0], [4.0, 1.0, 2.0, 3.0])


def test_arange_with_a_float_step_and_the_end_of_linspace_I21(device):
    x = lm.arange(0.6, 0.9, 0.1, device=device)
    check_exact(x, (0.6 + np.arange(4) * 0.1).astype(np.float32))
    assert lm.linspace(0.0, 0.7, 8, device=device)[-1].item() == np.float32(0.7)


def test_bad_index_names_the_axis_of_the_tensor_that_was_indexed_I7(device):
    x = lm.zeros((2, 3, 4), device=device)
    uses = (
        lambda: x[:, [0, 5]],
        lambda: x[1, [5]],
        lambda: x[None, 0, [5]],
        lambda: x[[0, 1], [5, 0]],
        lambda: x.take([5], axis=1),
        lambda: x.at[:, [5]].add(1.0),
        lambda: x.at[0, [5]].set(1.0),
        lambda: x.index_add([5], lm.zeros((2, 1, 4), device=device), axis=1),
        lambda: x.__setitem__((slice(None), [5]), 1.0),
    )
    for use in uses:
        with pytest.raises(IndexRangeError, match="index 5 is out of range for axis 1 of length 3"):
            use()
