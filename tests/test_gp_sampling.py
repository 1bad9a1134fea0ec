"""Wang and Neal's samplers on regressions whose approximations are not nested: their caches."""

import numpy as np
import pytest

from algorithms.slice_sampling import slice_sampling
from algorithms.wang_discretizing_chain_fast import discretizing_chain
from algorithms.wang_tempered_transitions_fast import tempered_transitions
from models.gp_eigen import GPEigen
from models.gp_fitc import GPFITC
from models.gp_nystrom import GPNystrom
from models.gp_regression import GPRegression
from models.gp_spectral import GPSpectral
from models.gp_subset import GPSubset
from models.gp_variational import GPVariational
from models.interface import U, log_likelihood, prepare, replace_variable, trial
from test_gp_regression import dense_C, problem


@pytest.mark.parametrize("unit", ["variable", "sweep", "random"])
def test_over_a_whole_chain_the_caches_agree_with_evaluation_from_scratch(unit):
    # the mark jumps back and forth, and most excursions are undone
    rng = np.random.default_rng(1)
    X, cases = rng.random((30, 2)), np.arange(30)
    # within .2 <= sigma, eta <= 5 a factor of C keeps all but three digits of U
    q = np.log([0.5, 2.0, 0.4, 0.8])
    y = np.linalg.cholesky(dense_C(X, q)) @ rng.standard_normal(30)
    model = GPRegression.from_data(X, y, "ard", 10.0, q, 0.2)
    star, near, far = (GPSubset.from_model(model, some)
                       for some in (cases[::2], cases[cases % 4 < 3], cases[::-3]))
    chains = [slice_sampling(q, model, 1.0, 60, rng),
              tempered_transitions(q, model, [near, far], 1.0, 60, rng, unit)]
    marked = discretizing_chain(q, model, star, 1.0, 40, rng, 5, 2, unit, marks=True)
    assert marked.counts.cache_hits > 0 and 0 < marked.accepted.mean() < 1
    for chain in (*chains, marked):
        assert np.ptp(chain.samples, axis=0).min() > 0.1  # it moved
        np.testing.assert_allclose(
            [chain.energies, chain.log_likelihood],
            [[f(q, model) for q in chain.samples] for f in (U, log_likelihood)], rtol=1e-12)
    np.testing.assert_allclose(
        marked.marks.energies, np.apply_along_axis(U, 3, marked.marks.samples, model), rtol=1e-12)


def blind(model):
    """Return a model whose covariates are no numbers."""
    return model._replace(**{
        field: blind(value) if hasattr(value, "_replace") else np.full_like(value, np.nan)
        for field, value in zip(model._fields, model, strict=True)
        if hasattr(value, "_replace") or field in ("XT", "ZT")})


@pytest.mark.parametrize("kind", [GPRegression, GPSubset, GPNystrom, GPFITC, GPVariational, GPEigen,
                                  GPSpectral])
def test_a_new_sigma_or_eta_needs_no_covariates(kind):
    whole, q = problem(20, "isotropic")
    model = {GPRegression: lambda: whole, GPEigen: lambda: GPEigen.from_model(whole, 6),
             GPSpectral: lambda: GPSpectral.from_model(whole)}.get(
        kind, lambda: kind.from_model(whole, np.arange(7)))()
    cache = prepare(q, model)
    for k in (1, 0):
        expected = U(replace_variable(q, k, q[k] + 0.3), model)
        assert trial(cache, k, q[k] + 0.3, blind(model)) == pytest.approx(expected, rel=1e-10)
    if kind in (GPNystrom, GPFITC, GPVariational, GPEigen):  # sigma needs no kernel either
        cache = prepare(q, model)
        cache.memory.kernel.E[:] = np.nan
        assert trial(cache, 0, q[0] + 0.3, model) == pytest.approx(expected, rel=1e-12)
