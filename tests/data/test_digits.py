"""The bundled digits: what they are, and how they are split."""

import gzip
import hashlib
import math
from pathlib import Path

import numpy as np
import pytest

import lumus as lm
from lumus.data import digits
from lumus.errors import ArgumentError

FILE = Path(lm.__file__).parent / "data" / "digits.csv.gz"


def table():
    return np.array([[float(one) for one in line.split(",")] for line in gzip.open(FILE, "rt")])


def test_parts_hold_every_scan_once():
    scans = table()
    assert scans.shape == (1797, 65)
    train, test = digits()
    assert (len(train), len(test)) == (1438, 359)
    images = np.concatenate([train.images.numpy(), test.images.numpy()])
    labels = np.concatenate([train.labels.numpy(), test.labels.numpy()])
    ours = np.concatenate([images.reshape(-1, 64) * 16, labels[:, None]], axis=1)
    order = np.lexsort(ours.T)
    assert (ours[order] == scans[np.lexsort(scans.T)]).all()


def test_parts_have_their_dtypes_shapes_and_ranges():
    for part in digits():
        assert part.images.shape == (len(part), 8, 8)
        assert (part.images.dtype, part.labels.dtype) == (lm.float32, lm.int64)
        assert (part.images.min().item(), part.images.max().item()) == (0.0, 1.0)
        assert sorted(set(part.labels.tolist())) == list(range(10))


def test_split_is_the_same_everywhere():
    # As computed when the split was made: another NumPy or machine must not give another one.
    _, test = digits()
    assert test.labels[:12].tolist() == [2, 8, 2, 6, 6, 7, 1, 9, 8, 5, 2, 8]
    digest = hashlib.sha256(np.asarray(test.labels).astype("<i8").tobytes()).hexdigest()
    assert digest.startswith("672b4cab99211aed")


def test_another_seed_is_another_split():
    first, again, other = (digits(seed=seed)[1].images.numpy() for seed in (0, 0, 1))
    assert (first == again).all()
    assert (first != other).any()


@pytest.mark.parametrize(("held_out", "sizes"), [(0.0, (1797, 0)), (0.5, (899, 898))])
def test_held_out_part_has_the_size_that_was_asked_for(held_out, sizes):
    parts = digits(held_out=held_out)
    assert tuple(len(part) for part in parts) == sizes
    assert [part.images.shape[0] for part in parts] == list(sizes)


@pytest.mark.parametrize("held_out", [-0.1, 1.0, math.nan])
def test_held_out_outside_its_range_raises(held_out):
    with pytest.raises(ArgumentError, match="held_out must be in"):
        digits(held_out=held_out)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_seed_outside_its_range_raises(seed):
    with pytest.raises(ArgumentError, match="the seed must be in"):
        digits(seed=seed)


def test_parts_are_the_callers_own():
    first, _ = digits()
    first.images.zero_()
    assert digits()[0].images.max().item() == 1.0


def test_notice_names_origin_and_licence():
    notice = (FILE.parent / "NOTICE").read_text()
    for words in ("E. Alpaydin and C. Kaynak", "Creative Commons Attribution", "BSD 3-Clause"):
        assert words in notice
