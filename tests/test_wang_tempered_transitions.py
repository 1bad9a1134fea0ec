"""The ratio, caches and record, mirror and twin; that they are exact: test_proofs.py."""

import numpy as np
import pytest

from algorithms import wang_tempered_transitions_fast as fast
from algorithms.wang_tempered_transitions import tempered_transitions_step
from algorithms.wang_tempered_transitions_fast import make_excursion, tempered_transitions
from conftest import Given
from departing import departs
from models.gaussian import Gaussian
from models.interface import U, prepare
from normal import FAR, MODEL, NEAR, Q, normal, subset
from test_wang_discretizing_chain import Stride, interpreted

BELL = Gaussian(np.array([0.4, 0.1]), np.array([[3.0, 0.2], [0.2, 3.0]]))
CLIMB = Stride(np.array([0.02, 0.0]), np.array([0.0, 0.02]))  # to the right, and then upward
INTERPRETED = {kind: function.py_func for kind, function in make_excursion.implementations.items()}


class Threshold:
    """In place of a uniform: remembers what it is compared with."""

    __array_ufunc__ = None

    def __lt__(self, ratio):
        self.ratio = ratio
        return False


def mirrored(run, model, layers, u):
    return interpreted(run, Q, (model, *layers), CLIMB, Given(uniforms=(u,)))


def step(model, layers, u):
    layered, near = fast.stack(layers), prepare(Q, model)
    here = fast.State(Q, near.U, near, fast.near_all(Q, layered))
    tally = np.zeros((1 + len(layers), 4), int)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(make_excursion, "implementations", INTERPRETED)
        return *fast.tempered_transitions_step.py_func(here, model, layered, CLIMB, tally,
                                                       Given(uniforms=(u,))), tally


@pytest.mark.parametrize("layers", [(NEAR,), (NEAR, FAR), (NEAR, BELL, FAR)])
def test_the_ratio_is_equation_15(layers):
    n, all_ = len(layers), (MODEL, *layers)
    up = [Q + np.array([0.02 * i, 0.0]) for i in range(n + 1)]
    down = [up[n] + np.array([0.0, 0.02 * (n - i)]) for i in range(n + 1)]
    log_ratio = sum(U(up[i - 1], all_[i - 1]) - U(up[i - 1], all_[i])
                    + U(down[i - 1], all_[i]) - U(down[i - 1], all_[i - 1])
                    for i in range(1, n + 1))
    ours, theirs = Threshold(), Threshold()
    np.testing.assert_array_equal(
        mirrored(tempered_transitions_step.py_func, MODEL, layers, ours), Q)
    here, accepted, _ = step(MODEL, layers, theirs)
    assert [ours.ratio, theirs.ratio] == pytest.approx([np.exp(log_ratio)] * 2, abs=1e-13)
    assert not accepted
    np.testing.assert_array_equal(here.q, Q)
    there = mirrored(tempered_transitions_step.py_func, MODEL, layers, 0.0)
    np.testing.assert_allclose(there, down[0], rtol=0, atol=1e-15)
    here, accepted, _ = step(MODEL, layers, 0.0)
    assert accepted
    np.testing.assert_allclose(here.q, down[0], rtol=0, atol=1e-15)
    assert here.U == U(here.q, MODEL) == here.near.U
    assert here.layers.cache.U == U(here.q, layers[0])  # of the nearest layer, not evaluated again


def test_a_cache_that_is_brought_near_has_the_variables_and_no_energy():
    none, e = fast.NoLayer(0.0), np.array([1.0, 0.0])
    trip = fast.Trip(prepare(Q, NEAR), prepare(Q + 1.0, NEAR), none)
    for q, known in ((Q, True), (Q + 1.0, True), (Q + e, False), (Q + 0.3 * e, False)):
        cache = fast.near_after(q, trip, fast.Layers(NEAR, none)).cache
        np.testing.assert_array_equal(cache.q, q)
        assert cache.U == U(q, NEAR) if known else np.isnan(cache.U)


@departs(tempered_transitions_step, {"L8": "flipped = rng.random() < np.exp(log_ratio)"})
def test_a_flip_to_an_energy_that_is_not_finite_is_rejected(run):
    for beyond in (np.inf, np.nan, -np.inf):
        np.testing.assert_array_equal(mirrored(run, normal(MODEL.y, 0.21, beyond), (NEAR,), 0.5), Q)


@pytest.mark.parametrize("unit", ["variable", "sweep", "random"])
def test_the_record_and_its_counts_are_true(unit):
    model, near, far = normal(MODEL.y), subset(MODEL, 3), subset(MODEL, 1)
    chain = tempered_transitions(Q, model, (near, far), 1.0, 40, np.random.default_rng(1), unit)
    assert chain.counts.density == model.calls[0] - 1
    assert chain.counts.approximations.tolist() == [near.calls[0] - 1, far.calls[0] - 1]
    mappings = 1 if unit == "sweep" else 2
    assert chain.counts.density - 1 == 40 * mappings  # pi is asked once a mapping
    assert chain.accepted.shape == (40, mappings, 1) and 0 < chain.accepted.mean() < 1


def test_counts_are_of_all_layers_and_each_of_its_kind():
    for pi, far in ((MODEL, normal(MODEL.y[:1], 0.5)), (normal(MODEL.y, 0.5), FAR)):
        counts = tempered_transitions(Q, pi, (NEAR, far), 1.0, 100, np.random.default_rng(1),
                                      max_widths=1).counts
        assert counts.widths == 0 < counts.shrinkages  # an interval is one width, and no more
        assert counts.not_finite > 20  # of the layer alone, or of pi alone
