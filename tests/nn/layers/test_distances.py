"""Distances and similarities as layers."""

import numpy as np
import pytest
import scipy.spatial.distance

import lumus as lm
from lumus import nn


def pair():
    random = np.random.default_rng(0)
    return random.standard_normal((4, 3)), random.standard_normal((4, 3))


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_pairwise_distance_is_the_norm_of_the_difference(p):
    x, y = pair()
    layer = nn.PairwiseDistance(p, eps=0.0, keepdims=True)
    expected = [[scipy.spatial.distance.minkowski(a, b, p)] for a, b in zip(x, y, strict=True)]
    np.testing.assert_allclose(layer(lm.tensor(x), lm.tensor(y)).numpy(), expected, rtol=1e-6)
    shifted = nn.PairwiseDistance(p)(lm.tensor(x), lm.tensor(x)).numpy()
    np.testing.assert_allclose(shifted, 1e-6 * 3 ** (1 / p), rtol=1e-5)
    assert repr(layer) == f"PairwiseDistance(p={p}, eps=0.0, keepdims=True)"


def test_cosine_similarity_is_one_less_the_cosine_distance():
    x, y = pair()
    expected = [1 - scipy.spatial.distance.cosine(a, b) for a, b in zip(x, y, strict=True)]
    found = nn.CosineSimilarity()(lm.tensor(x), lm.tensor(y)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    along_columns = nn.CosineSimilarity(axis=0)(lm.tensor(x.T), lm.tensor(y.T)).numpy()
    np.testing.assert_allclose(along_columns, expected, rtol=1e-5)
    large = nn.CosineSimilarity()(
        lm.tensor(x * 1e30),
        lm.tensor(y * 1e-30),
    ).numpy()
    assert np.isfinite(large).all()


def test_layers_refuse_what_is_no_number():
    with pytest.raises(lm.errors.ArgumentError, match="PairwiseDistance: p"):
        nn.PairwiseDistance("2")
    with pytest.raises(lm.errors.ArgumentError, match="CosineSimilarity: axis"):
        nn.CosineSimilarity(axis=0.5)
