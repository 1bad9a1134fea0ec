"""What every model has to hold, and the density in non-centred coordinates."""

from types import SimpleNamespace

import numpy as np
import pytest

import test_gp_regression
import test_hierarchical_logistic
import test_log_gaussian_cox
import test_stochastic_volatility
from algorithms.zhang_sshmc import H1, H2
from conftest import python
from differences import differences
from models import interface, multinomial_logistic, validate
from models.covariance import squared_exponential
from models.funnel import Funnel
from models.gaussian import Gaussian
from models.gp_classification import GPClassification
from models.gp_eigen import GPEigen
from models.gp_fitc import GPFITC
from models.gp_nystrom import GPNystrom
from models.gp_spectral import GPSpectral
from models.gp_subset import GPSubset
from models.gp_variational import GPVariational
from models.hierarchical_gp_classification import HierarchicalGPClassification
from models.hierarchical_logistic import GroupGivenV, HierarchicalLogistic
from models.interface import U, grad_U, metric, metric_gradient
from models.logistic_regression import BLOCK, LogisticRegression
from models.mixture import gaussian_mixture
from models.multinomial_logistic import MultinomialLogistic
from models.non_centred import NonCentred, theta_of
from models.non_centred_gp import NonCentredGP, latent
from models.soft_abs import SoftAbs
from models.stochastic_volatility import CHUNK

# of order 4: 1e-12 / 30 times fifth derivatives, that reach 1e5 and go with the values; rounding of
# values up to 1e4 over 1e-3
CLOSE = {"rtol": 1e-7, "atol": 1e-7}
assert multinomial_logistic.BLOCK == BLOCK  # of cases


def normal(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape)


SIGNS = np.where(normal(9, seed=2) < 0, -1.0, 1.0)
K = squared_exponential(normal(9, 2), normal(9, 2), 0.3, 1.0)
EP = SimpleNamespace(tau=np.abs(normal(9)), nu=normal(9), converged=True)


def flat():
    yield "Gaussian", Gaussian(normal(2), np.array([[2.0, 0.6], [0.6, 1.0]])), normal(2, seed=3)
    for k, d in ((1, 1), (2, 2), (4, 3)):
        A = normal(k, d, d)
        mixture = gaussian_mixture(np.arange(1, k + 1) / (k * (k + 1) / 2), 2 * normal(k, d),
                                   A @ A.swapaxes(1, 2) + 0.2 * np.eye(d))
        yield f"mixture of {k}", mixture, normal(d, seed=4)
    for beta in (0.0, 0.3, 1.0):
        for scale in (1.0, 6.0):
            x = scale * normal(9, seed=5)
            yield f"prior, {beta}, {scale}", GPClassification.from_prior(K, SIGNS, beta), x
            yield f"EP, {beta}, {scale}", GPClassification.from_ep(K, SIGNS, EP, beta), x
    for n in (2, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5):
        y = (normal(n, seed=6) > 0).astype(float)
        yield f"logistic of {n}", LogisticRegression.from_data(normal(n, 3), y, 2, 0.7), normal(4)
        y = np.random.default_rng(n).integers(0, 3, n)
        yield (f"multinomial of {n}", MultinomialLogistic.from_data(normal(n, 2), y, 3, 2.0, 0.7),
               normal(9))
    for n, kind, p in ((1, "isotropic", 1), (7, "ard", 3), (70, "isotropic", 3), (70, "ard", 3)):
        yield f"GP of {n}, {p}, {kind}", *test_gp_regression.problem(n, kind, p)
    whole, q = test_gp_regression.problem(20, "ard")
    yield "GP subset", GPSubset.from_model(whole, [11, 3, 0]), q
    groups, theta = test_hierarchical_logistic.MODEL, test_hierarchical_logistic.THETA
    for i in range(4):
        yield f"group {i}", GroupGivenV(groups, i, 0.7), theta[3 * i : 3 * i + 3]
    yield "SoftAbs", SoftAbs.from_model(Funnel.from_size(4), 3.0), normal(5)


def hierarchical():
    yield "funnel", Funnel.from_size(4), normal(4), np.array([0.8])
    yield "funnel, origin", Funnel.from_size(4, 2.5), np.zeros(4), np.array([-np.log(9)])
    for place, phi in test_stochastic_volatility.PLACES.items():
        for T in (1, 2, 3, 4, 5, 40, CHUNK + 1):
            model, x, _ = test_stochastic_volatility.problem(
                T, phi, **test_stochastic_volatility.PROPER)
            yield f"volatility of {T}, {place}", model, x, np.array(phi)
    X, y, group = test_hierarchical_logistic.data()
    for curvature in ("bound", "prior", test_hierarchical_logistic.CURVED):
        model = HierarchicalLogistic.from_data(X, y, group, 0.4, curvature=curvature)
        yield f"groups, {curvature!s:.5}", model, normal(12), np.array([-0.6])
    for distance in ("unit", "pixel"):
        for d in (1, 2, 3, 4):
            model, x, _ = test_log_gaussian_cox.problem(d, distance)
            yield f"Cox of {d}, {distance}", model, x, test_log_gaussian_cox.PHI
    for n in (1, 9):
        model = HierarchicalGPClassification.from_data(
            normal(n, 3), SIGNS[:n], (0.3, -0.2), (1.5, 0.7), 0.01, [[2.5, 0.5], [0.5, 1.5]])
        yield f"GP classification of {n}", model, normal(n, seed=7), np.array([0.4, 0.7])


def non_centred():
    """Yield the name, the model, the state, and a function of (z, phi) that returns theta."""
    for name in ("funnel", "groups, bound", "volatility of 1, paper", "volatility of 5, paper",
                 "volatility of 5, negative", "Cox of 3, pixel", "Cox of 4, unit"):
        model, theta, phi = HIERARCHICAL[name]
        yield (f"non-centred {name}", NonCentred(model), np.append(normal(theta.size), phi),
               lambda z, phi, model=model: theta_of(z, phi, model))
    model, theta, phi = HIERARCHICAL["GP classification of 9"]
    yield ("non-centred GP classification", NonCentredGP(model), np.append(normal(9), phi),
           lambda z, phi, model=model: latent(z, interface.precompute_phi(phi, model)))


HIERARCHICAL = {name: rest for name, *rest in hierarchical()}
INDEPENDENT = {name: rest for name, *rest in non_centred()}
ALL = ({name: rest for name, *rest in flat()}
       | {name: (model, np.concatenate(q)) for name, (model, *q) in HIERARCHICAL.items()}
       | {name: (model, q) for name, (model, q, _) in INDEPENDENT.items()})
each = pytest.mark.parametrize("name", ALL)
each_hierarchical = pytest.mark.parametrize("name", HIERARCHICAL)


@each
def test_a_state_of_another_length_is_refused(name):
    model, q = ALL[name]
    for wrong in (q[:-1], np.append(q, 0.0)):  # compiled code would read or write beyond it
        with pytest.raises(ValueError, match=rf"q must have shape \({q.size},\)"):
            validate.state("q", wrong, model, gradient=True)


@each
def test_derivatives_are_those_of_differences(name):
    model, q = ALL[name]
    g = grad_U(q, model)
    np.testing.assert_allclose(g, differences(lambda q: U(q, model), q), **CLOSE)
    if type(model) in interface.U_and_grad_U.implementations:  # the default: test_interface.py
        energy, together = interface.U_and_grad_U(q, model)
        assert energy == U(q, model)
        np.testing.assert_array_equal(together, g)
    for function, derivative in ((grad_U, interface.hessian), (metric, metric_gradient),
                                 (interface.hessian, interface.hessian_gradient)):
        if type(model) in derivative.implementations:
            ours = derivative(q, model)
            np.testing.assert_allclose(ours, differences(lambda q, f=function: f(q, model), q),
                                       **CLOSE)
            matrix = ours if ours.ndim == 2 else function(q, model)
            np.testing.assert_array_equal(matrix, matrix.T)


@each
def test_far_out_an_energy_is_large_or_no_number_and_a_nan_is_never_lost(name):
    model, q = ALL[name]
    for far in (np.full(q.size, 800.0), 800.0 * (-1.0) ** np.arange(q.size)):
        for state in (far, -far):
            energy = U(state, model)
            assert not np.isfinite(energy) or energy > 1e3
            assert grad_U(state, model).shape == q.shape  # and no exception
    for k in {0, q.size // 2, q.size - 1}:
        state, moved = q.copy(), q.copy()
        state[k], moved[k] = np.nan, q[k] + 0.1
        has_a_say = grad_U(moved, model) != grad_U(q, model)
        assert np.isnan(U(state, model)) and np.isnan(grad_U(state, model)[has_a_say]).all()


def strided_states_are_the_same():
    for model, q in {type(model): (model, q) for model, q in ALL.values()}.values():
        strided = np.repeat(q, 2)[::2]
        for function in (U, grad_U):  # NumPy adds what is strided in another order
            np.testing.assert_allclose(function(strided, model), function(q, model), rtol=1e-12,
                                       atol=1e-14, err_msg=type(model).__name__)


def test_a_strided_state_is_the_same():
    # interpreted: for other strides everything would have to be compiled again
    python("-c", "import test_models as t; t.strided_states_are_the_same()", NUMBA_DISABLE_JIT="1")


@pytest.mark.parametrize("name", INDEPENDENT)
def test_the_density_in_non_centred_coordinates_is_that_of_theta_times_the_jacobian(name):
    given, q, theta_at = INDEPENDENT[name]
    n, found = interface.sizes(given.model)[0], []
    for seed in range(3):
        q = q + 0.3 * normal(q.size, seed=seed)
        z, phi = q[:n], q[n:]
        J = differences(lambda z, phi=phi: theta_at(z, phi), z)  # exact: theta is linear in z
        found.append(U(q, given) - U(np.append(theta_at(z, phi), phi), given.model)
                     + np.linalg.slogdet(J)[1])
    np.testing.assert_allclose(found, found[0], rtol=0, atol=1e-9)  # rounding / 1e-3 of J


@each_hierarchical
def test_the_blocks_are_parts_of_U_and_have_their_gradients(name):
    model, theta, phi = HIERARCHICAL[name]
    Phi, Theta = interface.precompute_phi(phi, model), interface.precompute_theta(theta, model)
    n, h = interface.sizes(model)
    assert (n, h) == (theta.size, phi.size)
    whole, q = U(np.concatenate([theta, phi]), model), np.concatenate([theta, phi])
    assert (interface.U_theta(theta, Phi, model) + interface.U_prior(phi, model)
            == pytest.approx(whole, rel=1e-12))  # other sums
    other = phi - 0.3  # U_phi is U but for what does not depend on phi
    assert (interface.U_phi(interface.precompute_phi(other, model), Theta, model)
            - interface.U_phi(Phi, Theta, model)
            == pytest.approx(U(np.concatenate([theta, other]), model) - whole, rel=1e-9))
    for given, block in ((interface.GivenPhi(model, phi), slice(n)),
                         (interface.GivenTheta(model, theta), slice(n, None))):
        at, moved = q[block], q.copy()  # each block given the other is a model for any sampler
        moved[block] -= 0.3
        assert U(moved[block], given) - U(at, given) == pytest.approx(U(moved, model) - whole,
                                                                      rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(grad_U(at, given), grad_U(q, model)[block], rtol=1e-9, atol=1e-9)
    parts = [interface.grad_U_theta(theta, Phi, model), interface.grad_U_phi(Phi, Theta, model)]
    np.testing.assert_allclose(np.concatenate(parts), grad_U(q, model), rtol=1e-10, atol=1e-10)
    r_theta, r_phi = normal(n, seed=8), normal(h, seed=9)
    first, second = H1(model, Phi, r_phi), H2(model, Theta, r_theta)
    for block, at, found in ((first, theta, grad_U(theta, first)), (
            second, phi, interface.grad_U2(Phi, Theta, r_theta, model))):
        np.testing.assert_allclose(found, differences(lambda z, b=block: U(z, b), at), **CLOSE)
    change = [U(each, second) - interface.U_phi(at, Theta, model)
              - r_theta @ interface.velocity_theta(r_theta, at, model) / 2
              - interface.log_det_theta(at, model) / 2
              for each in (phi, other) for at in [interface.precompute_phi(each, model)]]
    assert change[0] == pytest.approx(change[1], rel=1e-9, abs=1e-9)
    if type(model) in interface.metric_phi.implementations:
        given = interface.GivenTheta(model, theta)
        np.testing.assert_allclose(interface.metric_gradient_phi(Phi, Theta, model), differences(
            lambda phi: metric(phi, given), phi), rtol=1e-6, atol=1e-6)


@each_hierarchical
def test_momentum_velocity_and_determinant_are_those_of_one_mass(name):
    model, theta, phi = HIERARCHICAL[name]
    Phi, Theta = interface.precompute_phi(phi, model), interface.precompute_theta(theta, model)
    F = interface.fisher_theta(Phi, model)
    for momentum, velocity, log_det, cache, x in (
            (interface.momentum_theta, interface.velocity_theta, interface.log_det_theta, Phi,
             theta),
            (interface.momentum_phi, interface.velocity_phi, interface.log_det_phi, Theta, phi),
            (interface.fisher_momentum, interface.fisher_velocity, None, F, theta)):
        root, inverse = (np.array([function(e, cache, model) for e in np.eye(x.size)])
                         for function in (momentum, velocity))
        # condition numbers up to 1e4, times rounding
        np.testing.assert_allclose(root.T @ root @ inverse, np.eye(x.size), rtol=0, atol=1e-10)
        if log_det:
            assert log_det(cache, model) == pytest.approx(2 * np.linalg.slogdet(root)[1], abs=1e-9)
    for far in (-800.0, 800.0):  # no exception
        Phi = interface.precompute_phi(np.full(phi.size, far), model)
        assert interface.velocity_theta(theta, Phi, model).shape == theta.shape
        assert np.ndim(interface.log_det_theta(Phi, model)) == 0
        assert not np.isfinite(energy := U(phi + far, H2(model, Theta, theta))) or energy > 1e3


WHOLE, Q = test_gp_regression.problem(40, "ard")
SMALL, (ONE, Q_ONE) = (test_gp_regression.problem(30, kind) for kind in ("ard", "isotropic"))
# K^(m,m) + jitter has a condition of 1e6, of which B loses as many digits
SOME = SMALL[0], np.array([11, 3, 0, 17, 8, 29, 14]), 1e-6
# models, states, and what rounding makes of U: C has a condition of up to 4e5
REGRESSIONS = {"whole": (WHOLE, Q, 1e-12), "isotropic": (ONE, Q_ONE, 1e-12),
               "subset": (GPSubset.from_model(WHOLE, np.arange(0, 40, 3)), Q, 1e-12),
               "eigen": (GPEigen.from_model(SMALL[0], 9), Q, 1e-11),
               "spectral": (GPSpectral.from_model(ONE), Q_ONE, 1e-10)} | {
    name: (kind.from_model(*SOME), Q, 1e-11) for name, kind in (
        ("Nystrom", GPNystrom), ("FITC", GPFITC), ("variational", GPVariational))}
each_regression = pytest.mark.parametrize("name", REGRESSIONS)


@each_regression
def test_caches_agree_with_evaluation_from_scratch(name):
    (model, q, rel), rng = REGRESSIONS[name], np.random.default_rng(3)
    q = q.copy()
    cache = interface.prepare(q, model)
    line, known, kept = [cache], U(q, model), q.copy()
    q[:] = 9.0  # a cache has its own copy of the state
    np.testing.assert_array_equal(cache.q, kept)
    assert cache.U == pytest.approx(known, rel=rel)
    for _ in range(100):
        k = int(rng.integers(q.size))
        for _ in range(rng.integers(1, 4)):
            value = kept[k] + 0.5 * rng.integers(-2, 3)  # some come again
            before = cache.q.copy()
            expected = U(interface.replace_variable(cache.q, k, value), model)
            energy = interface.trial(cache, k, value, model)
            assert energy == pytest.approx(expected, rel=rel)
            np.testing.assert_array_equal(cache.q, before)
        choice = rng.random()
        if choice < 0.5:
            cache = interface.commit(cache, k, value, energy, model)
            line.append(cache)
        elif choice < 0.75:  # back to any state before, or one of another line
            cache = line[rng.integers(len(line))]
        elif choice < 0.85:
            cache = interface.prepare(cache.q, model)
        assert cache.U == pytest.approx(U(cache.q, model), rel=rel)
    assert len(line) > 33  # it did walk


@each_regression
def test_a_commit_evaluates_nothing(name):
    model, q, _ = REGRESSIONS[name]
    cache = interface.prepare(q, model)
    new = interface.commit(cache, 1, 0.7, np.nan, model)
    assert np.isnan(new.U) and new.q[1] == 0.7 and cache.q[1] == q[1] and cache.U == U(q, model)


@each_regression
@pytest.mark.parametrize("k, value", [(0, np.nan), (0, np.inf), (0, -400.0), (1, 400.0),
                                      (1, np.nan), (2, np.nan)])
def test_where_there_is_no_factor_the_energy_is_not_finite_and_the_cache_goes_on(name, k, value):
    model, q, _ = REGRESSIONS[name]
    cache = interface.prepare(q, model)
    found = interface.trial(cache, k, value, model)
    assert np.isfinite(found) == np.isfinite(U(interface.replace_variable(q, k, value), model))
    # without noise a factor of rounding is left to some
    assert value == -400.0 or not np.isfinite(found)
    # the kernel by another sum, and the jitter
    assert interface.trial(cache, 1, q[1], model) == pytest.approx(cache.U, rel=1e-8)


@each_regression
def test_the_log_likelihood_of_an_energy_is_without_the_prior(name):
    model, q, _ = REGRESSIONS[name]
    whole = getattr(model, "whole", getattr(model, "part", model))
    assert interface.log_likelihood_of(3.0, q, model) == interface.U_prior(q, whole) - 3.0
    np.testing.assert_array_equal(model.precision, whole.precision)
