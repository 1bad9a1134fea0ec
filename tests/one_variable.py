"""`caches_agree`: U by a cache is U from scratch, after any trials, commits and jumps back."""

import numpy as np
import pytest

from models.interface import U, commit, log_likelihood_of, prepare, replace_variable, trial


def caches_agree(model, q, steps, rng, rel):
    """Walk about q; each trial and each cache must give what U gives, to `rel`, relative to U."""
    line, cache, known = [prepare(q, model)], prepare(q, model), U(q, model)
    assert cache.U == pytest.approx(known, rel=rel)
    for _ in range(steps):
        k = int(rng.integers(q.size))
        for _ in range(rng.integers(1, 4)):
            value = q[k] + 0.7 * rng.standard_normal()
            before, expected = cache.q.copy(), U(replace_variable(cache.q, k, value), model)
            energy = trial(cache, k, value, model)
            assert energy == pytest.approx(expected, rel=rel)
            np.testing.assert_array_equal(cache.q, before)
        choice = rng.random()
        if choice < 0.5:
            cache = commit(cache, k, value, energy, model)
            line.append(cache)
        elif choice < 0.75:  # back to any state before, or one of another line
            cache = line[rng.integers(len(line))]
        elif choice < 0.85:
            cache = prepare(cache.q, model)
        assert cache.U == pytest.approx(U(cache.q, model), rel=rel)
    assert len(line) > steps / 3  # it did walk


def likelihood_is_energy_without_prior(model, q, expected, rel):
    """The log likelihood from an energy, for an expected one."""
    assert log_likelihood_of(U(q, model), q, model) == pytest.approx(expected, rel=rel)
