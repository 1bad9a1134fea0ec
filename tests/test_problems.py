"""sampling/problems.py: from data to models, and predictions against what is known exactly."""

from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit, ndtr
from scipy.stats import multivariate_normal, norm

from algorithms.ep import ep
from algorithms.hmc import hmc
from differences import differences
from models.gp_regression import predict as predict_given
from models.interface import log_likelihood
from models.non_centred import NonCentred
from models.soft_abs import Contracted, SoftAbs
from reproduce.beyond.rivals.ep_marginal_likelihood import EPEvidence
from sampling import problems
from sampling.problems import (
    blocks_of,
    counts_on_a_grid,
    gp_classifier,
    gp_regression,
    hierarchical_logistic,
    logistic_regression,
    volatility,
)
from sampling.run import Chains
from sampling.summary import names_of

generator = np.random.default_rng
rng = generator(8)
X, NEW = rng.standard_normal((9, 2)) * [1.0, 20.0] + [3.0, 500.0], rng.standard_normal((4, 2)) * [
    1.0, 20.0] + [3.0, 500.0]
Z, Z_NEW = (X - X.mean(0)) / X.std(0), (NEW - X.mean(0)) / X.std(0)
NAMES = np.where(np.arange(9) % 3 == 0, "yes", "no")


def found(*blocks):
    """Make what run gives back of draws (chains, n, d), of q or of theta and phi."""
    names = ("theta", "phi") if len(blocks) == 2 else ("samples",)
    return Chains(tuple(SimpleNamespace(**dict(zip(names, each, strict=True)))
                        for each in zip(*blocks, strict=True)), len(blocks[0][0]), None)


class Frame:  # what a DataFrame has
    def __init__(self, values, columns=("age", "income")):
        self.columns = columns
        self.values = dict(zip(columns, np.transpose(values), strict=True))

    def __getitem__(self, name):
        return self.values[name]


def test_logistic_regression_averages_probabilities_of_the_second_label():
    problem, q = logistic_regression(X, NAMES), rng.standard_normal((2, 5, 3))
    flat = q.reshape(10, 3)
    raw = flat[:, 1:] / X.std(0)  # the weights of covariates as they are
    wanted = expit(flat[:, :1] - raw @ X.mean(0)[:, None] + raw @ NEW.T).mean(0)
    seen = problem.predict(found(q), NEW)
    np.testing.assert_allclose(seen.probability, wanted, rtol=1e-10)
    assert list(seen.label) == [("no", "yes")[int(p > 0.5)] for p in wanted]
    np.testing.assert_array_equal(problem.model.y, NAMES == "yes")
    np.testing.assert_allclose(problem.model.X[:, 1:], Z)
    assert problem.start.shape == (3,)
    for given, deviations in (((), [5, 5, 5]), ((2.0, 0.5), [2, 0.5, 0.5])):
        prior = logistic_regression(X, NAMES, *given).model.precision
        np.testing.assert_allclose(prior**-0.5, deviations)


def test_a_data_frame_and_lists_are_taken_as_arrays():
    q = rng.standard_normal((1, 3, 3))
    one, two, three, four = (logistic_regression(x, y) for x, y in (
        (X, NAMES), (Frame(X), list(NAMES)), (X.tolist(), np.where(NAMES == "yes", 7, -7)),
        (X, NAMES == "yes")))
    wanted = one.predict(found(q), NEW).probability
    for problem, new in ((two, Frame(NEW)), (three, NEW.tolist()), (four, NEW)):
        seen = problem.predict(found(q), new)
        np.testing.assert_array_equal(seen.probability, wanted)
    assert list(three.classes) == [-7, 7] and four.classes.tolist() == [False, True]
    assert seen.label.tolist() == [bool(p > 0.5) for p in wanted]


def test_columns_of_new_cases_are_found_by_their_names():
    q, problem = rng.standard_normal((1, 3, 3)), logistic_regression(Frame(X), NAMES)
    wanted = problem.predict(found(q), Frame(NEW)).probability
    for new in (Frame(NEW[:, ::-1], ("income", "age")), NEW):
        np.testing.assert_array_equal(problem.predict(found(q), new).probability, wanted)
    for columns, said in ((("age", "wage"), r"add \['income'\]; leave out \['wage'\]$"),
                          (("income", "income"), r"add \['age'\]; leave out \['income'\]$")):
        with pytest.raises(ValueError, match=r"columns of the data, .*'income'\]; " + said):
            problem.predict(found(q), Frame(NEW, columns))


def test_each_variable_of_a_problem_has_the_name_of_its_covariate_or_group():
    frame = Frame(X)
    assert logistic_regression(frame, NAMES).labels == {"q": ["intercept", "age", "income"]}
    assert gp_regression(frame, X[:, 0]).labels == {
        "q": ["log sigma", "log eta", "log rho of age", "log rho of income"]}
    assert gp_regression(X, X[:, 0], "isotropic").labels["q"][2:] == ["log rho"]
    group = np.where(np.arange(len(X)) % 2, "north", "south")
    labels = hierarchical_logistic(X, NAMES, group).labels
    assert labels["theta"][2:4] == ["north: X[:, 1]", "south: intercept"]
    assert labels["phi"] == labels["q"][6:] == ["log v"]
    assert labels["q"][:6] == [f"z of {each}" for each in labels["theta"]]
    for problem in (hierarchical_logistic(X, NAMES, group), gp_classifier(X, NAMES),
                    volatility(X[:, 0] - X[:, 0].mean()), counts_on_a_grid([[1, 2], [0, 1]])):
        theta, phi = problem.start
        assert {name: len(each) for name, each in problem.labels.items()} == {
            "theta": theta.size, "phi": phi.size, "q": theta.size + phi.size}
        # in the order of the problem's own words on phi
        said = problem.parameters.replace(",", " ").replace("(", " ").replace(")", " ")
        places = [said.index(each) for each in problem.labels["phi"]]
        assert places == sorted(places)


def test_what_pandas_has_for_a_missing_value_is_refused():
    pandas = pytest.importorskip("pandas", reason="pip install pandas, or the extra `compare`")
    ages = pandas.array([1, 2, None, 4, 5, 6, 7, 8, None], dtype="Int64")
    frame = pandas.DataFrame({"age": ages, "income": X[:, 1]})
    with pytest.raises(ValueError, match=r"X\['age'\] must have .*2 of its 9 .*: \[2, 8\]; leave"):
        gp_regression(frame, X[:, 0])
    with pytest.raises(ValueError, match=r"y must have no missing values, but 2 of its 9 rows"):
        logistic_regression(X, pandas.array(ages > 4, dtype="boolean"))
    full = gp_regression(frame.fillna(3), X[:, 0])
    np.testing.assert_allclose(full.scale.mean, [35 / 9 + 4 / 9, X[:, 1].mean()])


@pytest.mark.parametrize("kind", [float, np.float32, int, bool])
def test_numbers_are_read_once_and_not_looked_at_one_by_one(kind, monkeypatch):
    tables, read = [], problems.table
    monkeypatch.setattr(problems, "is_missing", None)
    monkeypatch.setattr(problems, "table", lambda *given: tables.append(given) or read(*given))
    cases = (X > X.mean(axis=0) if kind is bool else 10 * X).astype(kind)
    problem = logistic_regression(cases, NAMES == "yes")
    np.testing.assert_array_equal(problem.model.X[:, 1:], problem.scale(cases))
    assert len(tables) == 2  # the second of them here


def test_each_group_has_its_own_weights():
    group = np.array(["b", "a", "c"] * 3)
    problem = hierarchical_logistic(X, NAMES, group)
    theta = rng.standard_normal((2, 4, 9))  # of a, b, c: an intercept and two weights each
    seen = problem.predict(found(theta, np.zeros((2, 4, 1))), NEW, ["c", "a", "b", "a"])
    w = theta.reshape(8, 3, 3)[:, [2, 0, 1, 0]]
    wanted = expit(w[:, :, 0] + (w[:, :, 1:] * Z_NEW).sum(2)).mean(0)
    np.testing.assert_allclose(seen.probability, wanted, rtol=1e-10)
    assert problem.model.lam == 0.01 and problem.start[0].shape == (9,)
    # the model's cases are sorted by group and have the sign of their class
    order = np.argsort(group, kind="stable")
    sign = np.where(NAMES == "yes", 1.0, -1.0)[order]
    np.testing.assert_allclose(problem.model.X[1:].T, sign[:, None] * Z[order])
    np.testing.assert_allclose(problem.model.X[0], sign)
    with pytest.raises(ValueError, match=r"of the data, \['a', 'b', 'c'\], but holds \['d'\]$"):
        problem.predict(found(theta, np.zeros((2, 4, 1))), NEW, ["c", "a", "d", "a"])


def test_gp_regression_undoes_the_standardisation():
    y = 100.0 + 10.0 * rng.standard_normal(9)
    problem, q = gp_regression(X, y), np.array([[[-1.0, 0.2, 0.3, -0.2], [-0.5, 0.0, 0.1, 0.1]]])
    np.testing.assert_allclose(problem.model.y * y.std() + y.mean(), y)
    np.testing.assert_allclose(problem.model.XT.T, Z)
    seen = problem.predict(found(q), NEW)
    alone = [predict_given(Z_NEW, each, problem.model) for each in q[0]]
    np.testing.assert_allclose(seen.mean, y.mean() + y.std() * np.mean(
        [each.mean for each in alone], axis=0))
    for sd, field in ((seen.sd, "noisy"), (seen.sd_latent, "latent")):
        variance = np.mean([getattr(each, field) for each in alone], axis=0) + np.var(
            [each.mean for each in alone], axis=0)
        np.testing.assert_allclose(sd, y.std() * np.sqrt(variance))
    many = found(np.tile(q, (1, 300, 1)))
    np.testing.assert_allclose(problem.predict(many, NEW, 600).mean, seen.mean)
    assert gp_regression(X, y, "isotropic").start.shape == (3,)


def test_the_fit_of_a_regression_has_the_largest_evidence():
    x = generator(3).uniform(0, 10, (60, 2))
    y = 20 + 5 * np.sin(3 * x[:, 0]) + generator(4).standard_normal(60)
    problem = gp_regression(x, y)
    fit, model = problem.fit(), problem.model
    np.testing.assert_allclose(fit.log_Z, log_likelihood(fit.q, model))
    free = np.abs(fit.q) < 6  # not at a bound
    assert free.sum() >= 3
    slope = differences(lambda q: log_likelihood(q, model), fit.q)
    np.testing.assert_allclose(slope[free], 0, atol=0.01)
    assert (np.abs(slope[~free]) < 1).all()
    assert abs(np.exp(fit.q[0]) * y.std() - 1) < 0.3  # the noise of y
    assert fit.q[3] > fit.q[2] + 1  # the second covariate does nothing
    # an ascent from the start of chains, at which all is noise, ends there
    lost = minimize(lambda q: -log_likelihood(q, model), problem.start, method="L-BFGS-B")
    assert fit.log_Z > 10 - lost.fun
    seen, alone = problem.predict_by_fit(fit, x[:5]), predict_given(
        (x[:5] - x.mean(0)) / x.std(0), fit.q, model)
    np.testing.assert_allclose(seen.mean, y.mean() + y.std() * alone.mean)
    np.testing.assert_allclose(seen.sd_latent, y.std() * np.sqrt(alone.latent))


CLASSIFIER = gp_classifier(X, NAMES)
FIT, SIX = CLASSIFIER.fit(), gp_classifier(np.arange(6.0)[:, None], np.arange(6) < 3)
GROUPED = hierarchical_logistic(X, NAMES, NAMES)
PHI = np.array([0.2, 0.6])


def joint(new):
    """Return the covariance of the function at the cases, with the nugget, and at a new one."""
    all_z = np.vstack([Z, new])
    square = ((all_z[:, None] - all_z) ** 2).sum(2)
    K = np.exp(2 * PHI[1]) * np.exp(-square / 2 * np.exp(-2 * PHI[0]))
    return K + np.exp(2 * PHI[1]) * 1e-6 * np.diag([1.0] * 9 + [0.0])


def test_evidence_has_its_gradient_and_its_kernel():
    np.testing.assert_allclose(CLASSIFIER.kernel(PHI), joint(Z_NEW[0])[:9, :9], rtol=1e-12)
    assert CLASSIFIER.evidence(np.ones(2, np.uint8))[0] == CLASSIFIER.evidence([1, 1])[0]
    log_Z, gradient = CLASSIFIER.evidence(PHI)
    np.testing.assert_allclose(gradient, differences(lambda phi: CLASSIFIER.evidence(phi)[0], PHI),
                               rtol=1e-5)
    assert FIT.log_Z > log_Z
    for step in 0.05 * np.vstack([np.eye(2), -np.eye(2)]):
        moved = np.array([FIT.log_length, FIT.log_amplitude]) + step
        assert (np.abs(moved) > 6).any() or CLASSIFIER.evidence(moved)[0] <= FIT.log_Z + 1e-6
    assert FIT.log_Z == pytest.approx(FIT.ep.log_Z)


def test_lengths_of_their_own_find_the_covariate_that_matters():
    x, new = (generator(seed).standard_normal((80, 3)) * [1.0, 50.0, 0.1] for seed in (3, 4))
    y = np.sin(3 * x[:, 1] / 50) > 0
    one, own = gp_classifier(x, y), gp_classifier(x, y, "ard")
    assert own.lengths[1] == 1 and own.lengths[[0, 2]].min() > 20 and (one.lengths == 1).all()
    fit = own.fit()
    assert fit.log_Z > one.fit().log_Z + 10
    right = (own.predict_by_ep(fit, new).probability > 0.5) == (np.sin(3 * new[:, 1] / 50) > 0)
    assert right.mean() > 0.9
    # the function at the cases themselves has the kernel of X divided by the lengths
    scaled = (x - x.mean(0)) / x.std(0) / own.lengths
    np.testing.assert_allclose([own.X, own.scale(x)], [scaled, scaled], rtol=1e-12)
    squares = ((scaled[:, None] - scaled)**2).sum(2)
    np.testing.assert_allclose(own.model.distance, squares, atol=1e-9)
    assert gp_classifier(x[:, 1:2], x[:, 1] > 0, "ard").lengths == [1.0]
    # where one length for all finds nothing but noise
    x = generator(1).standard_normal((30, 100))
    assert gp_classifier(x, x[:, 0] > 0, "ard").fit().log_Z > 30 * np.log(0.5) + 10


def test_no_other_ratio_of_the_lengths_has_more_evidence(monkeypatch):
    sought, at = [], np.array([0.3, -0.2, 0.5])
    monkeypatch.setattr(problems, "minimize", lambda minus, *rest, **options: (
        sought.append(minus) or minimize(minus, *rest, **options)))
    x = generator(5).standard_normal((60, 2))
    y = np.sin(2 * x[:, 0]) + np.sin(x[:, 1]) + 0.3 * generator(6).standard_normal(60) > 0
    own = gp_classifier(x, y, "ard")
    minus = sought[-1]  # an optimum needs each slope only up to a factor, a line search all of it
    np.testing.assert_allclose(minus(at)[1], differences(lambda z: minus(z)[0], at), rtol=1e-4)
    phi = np.array(own.fit()[:2])

    def log_Z(x):
        moved = own._replace(X=own.X * np.exp(x))
        return problems.evidence_and_slope(moved.kernel(phi), own.model.y)[0]

    assert 1.2 < own.lengths[1] < 20 and np.abs(phi).max() < 6
    np.testing.assert_allclose(differences(log_Z, np.zeros(2)), 0.0, atol=0.02)


def test_the_evidence_is_checked_by_draws():
    problem = gp_classifier(X[:3], NAMES[:3])
    fit, y = problem.fit(), problem.model.y
    exact = np.log(multivariate_normal.cdf(np.zeros(3), cov=np.outer(y, y) * (fit.K + np.eye(3)),
                                           rng=generator(1)))
    rng = generator(2)
    found = problem.check_evidence(fit, problem.draws(fit, 1000, rng, jobs=1, bars=False), rng)
    assert found.standard_error < 0.02
    assert abs(found.log_Z - exact) < 4 * found.standard_error + 1e-4


@pytest.mark.parametrize("frequency", [1, 4, 12])
def test_a_fit_finds_short_lengths_too(frequency):
    # from one length it ends where all is noise, of log Z = 100 log(1/2) and about -145
    x = np.linspace(0, 10, 100)[:, None]
    wave = np.sin(frequency * x[:, 0]) + 0.1 * generator(3).standard_normal(100)
    problem = gp_classifier(x, wave > 0)
    fit = problem.fit()
    assert fit.log_Z > -65 and -4 < fit.log_length < 0
    assert ((problem.predict_by_ep(fit, x).probability > 0.5) == (wave > 0)).mean() > 0.9
    problem = gp_regression(x, wave)
    fit = problem.fit()
    assert fit.log_Z > -110 and np.exp(fit.q[0]) < 0.2
    assert np.abs(problem.predict_by_fit(fit, x).mean - np.sin(frequency * x[:, 0])).max() < 0.4


def test_a_fit_is_the_best_evidence_of_an_ep_that_has_converged(monkeypatch):
    found = iter([(False, 9.0), (True, -3.0), (True, -2.0), (True, -4.0), (False, 0.0),
                  *[(False, 1.0)] * 5])
    monkeypatch.setattr(problems, "ep", lambda K, y: SimpleNamespace(
        **dict(zip(("converged", "log_Z"), next(found), strict=True))))
    monkeypatch.setattr(problems, "minimize", lambda minus, begin, **_: SimpleNamespace(x=begin))
    assert CLASSIFIER.fit()[:3] == (0.5 * np.log(CLASSIFIER.X.shape[1]) - 2.0, 1.0, -2.0)
    with pytest.raises(RuntimeError, match="EP did not converge at the kernel that was found"):
        CLASSIFIER.fit()


def test_prediction_by_ep_is_that_of_its_joint_normal_distribution():
    K = CLASSIFIER.kernel(PHI)
    fit = problems.Fit(*PHI, 0.0, K, ep(K, CLASSIFIER.model.y), CLASSIFIER.model.y)
    tau, nu = np.append(fit.ep.tau, 0.0), np.append(fit.ep.nu, 0.0)  # a case that has no label
    seen = CLASSIFIER.predict_by_ep(fit, NEW)
    for z, p in zip(Z_NEW, seen.probability, strict=True):
        Sigma = np.linalg.inv(np.linalg.inv(joint(z)) + np.diag(tau))
        m, v = (Sigma @ nu)[9], Sigma[9, 9]
        assert p == pytest.approx(quad(lambda f, m=m, v=v: ndtr(f) * norm.pdf(f, m, v**0.5),
                                       m - 9 * v**0.5, m + 9 * v**0.5)[0], rel=1e-7)
    assert list(seen.classes) == ["no", "yes"]
    # draws of the kernel alone, such as of EP's evidence: the mean over them
    other = fit._replace(log_length=0.5, K=CLASSIFIER.kernel([0.5, PHI[1]]))
    other = other._replace(ep=ep(other.K, CLASSIFIER.model.y))
    kernels = found(np.array([[PHI], [[0.5, PHI[1]]], [PHI]]))._replace(
        model=EPEvidence(CLASSIFIER.model, 1.0, True))
    np.testing.assert_allclose(CLASSIFIER.predict(kernels, NEW).probability, (
        2 * seen.probability + CLASSIFIER.predict_by_ep(other, NEW).probability) / 3, rtol=1e-6)
    assert names_of(kernels, CLASSIFIER) == ["q[0] log l", "q[1] log sigma"]
    with pytest.raises(ValueError, match="found must be of this problem, but its model"):
        gp_classifier(2 * X**2, NAMES).predict(kernels, NEW)


def test_prediction_by_draws_integrates_over_the_function_at_new_cases():
    theta = rng.standard_normal((2, 3, 9)) @ np.linalg.cholesky(CLASSIFIER.kernel(PHI)).T
    seen = CLASSIFIER.predict(found(theta, np.tile(PHI, (2, 3, 1))), NEW)
    for z, p in zip(Z_NEW, seen.probability, strict=True):
        P = np.linalg.inv(joint(z))
        means = -theta.reshape(6, 9) @ P[9, :9] / P[9, 9]
        assert p == pytest.approx(ndtr(means / np.sqrt(1 + 1 / P[9, 9])).mean(), rel=1e-6)
    moved = CLASSIFIER.predict(found(theta, np.tile(PHI + 1, (2, 3, 1))), NEW).probability
    assert np.abs(moved - seen.probability).max() > 1e-3


def test_draws_of_a_non_centred_model_are_those_of_theta():
    problem, z = CLASSIFIER, rng.standard_normal((1, 2, 9))
    q = np.concatenate([z, np.tile(PHI, (1, 2, 1))], axis=2)
    theta = z @ np.linalg.cholesky(problem.kernel(PHI)).T
    np.testing.assert_allclose(problem.predict(found(q), NEW).probability, problem.predict(
        found(theta, q[:, :, 9:]), NEW).probability, rtol=1e-7)
    problem, z = volatility(rng.standard_normal(5)), rng.standard_normal((1, 2, 8))
    theta, phi = blocks_of(found(z), problem)
    np.testing.assert_array_equal(phi, z[0, :, 5:])
    slope, sigma = np.tanh(phi[:, 2]), np.exp(phi[:, 1])
    np.testing.assert_allclose(theta[:, 1], slope * theta[:, 0] + sigma * z[0, :, 1])


def test_the_next_return_is_a_mixture_over_draws_and_the_next_volatility():
    problem = volatility(rng.standard_normal(5), nu=4.0, tau2=0.3)
    assert (problem.model.nu, problem.model.tau2) == (4.0, 0.3)
    assert volatility([1.0, -1.0]).model[4:6] == (10.0, 0.05)  # the paper's prior
    theta, phi = np.zeros((1, 2, 5)), np.array([[[0.3, -1.0, 1.2], [-0.2, -0.5, 0.4]]])
    theta[0, :, -1] = 0.7, -0.4
    seen = problem.predict(found(theta, phi))

    def below(value):
        return np.mean([quad(lambda x, b=b, s=s, a=a, last=last: norm.cdf(
            value / np.exp(b + x / 2)) * norm.pdf(x, np.tanh(a) * last, np.exp(s)), -9, 9)[0]
            for (b, s, a), last in zip(phi[0], theta[0, :, -1], strict=True)])

    for value in (-2.0, 0.0, 0.5):
        assert seen.probability_below(value) == pytest.approx(below(value), rel=1e-8)
    assert seen.probability_below(seen.quantile(0.01)) == pytest.approx(0.01, rel=1e-9)
    far = problems.Return(np.array([2.0]), np.ones(1)).quantile(1e-30)
    assert far == pytest.approx(2 * norm.ppf(1e-30), rel=1e-9)
    variance = np.mean([np.exp(2 * b + np.tanh(a) * last + np.exp(2 * s) / 2)
                        for (b, s, a), last in zip(phi[0], theta[0, :, -1], strict=True)])
    assert seen.sd == pytest.approx(variance**0.5, rel=1e-9)
    assert problems.Return(np.array([3e200, 4e200]), np.full(2, 0.5)).sd == pytest.approx(
        12.5**0.5 * 1e200)


STRAY = problems.Return(np.array([0.3] * 1000 + [1e13]), np.full(1001, 1 / 1001))


@pytest.mark.parametrize("seen", [STRAY, *(problems.Return(
    np.exp(spread * problems.NODES / 2), problems.WEIGHTS / problems.WEIGHTS.sum())
    for spread in (0.0, 1.0, 5.0, 8.0))])
def test_a_quantile_has_its_share_however_far_deviations_spread(seen):
    for share in (1e-20, 0.05, 0.3, 0.4999, 0.5 - 1e-16, 0.7, 0.999):
        assert seen.probability_below(seen.quantile(share)) == pytest.approx(share, rel=1e-10)
    assert seen.quantile(0.5) == 0.0 and seen.quantile(0.7) > 0


def test_cells_have_their_intensity():
    problem, x = counts_on_a_grid([[0, 2], [1, 5]]), rng.standard_normal((2, 5, 4))
    wanted = [each.reshape(2, 2) for values in (x, np.exp(x) / 4)
              for each in (values.mean((0, 1)), values.std((0, 1)))]
    np.testing.assert_allclose(problem.predict(found(x, np.zeros((2, 5, 2)))), wanted)
    assert 4 * np.exp(problem.model.mu + 0.5) / 4 == pytest.approx(8)
    assert (problem.start[0] == problem.model.mu).all()
    np.testing.assert_array_equal(problem.model.counts, [0, 2, 1, 5])


def test_a_model_shares_no_memory_with_the_data_and_with_a_start():
    counts = np.ones((3, 3))
    grid, start = counts_on_a_grid(counts), LINE.start
    counts += 1.0
    start += 1.0
    assert (grid.model.counts == 1.0).all() and not LINE.model.mean.any()


LINE = gp_regression(X, X[:, 0])
OF_GROUPS = found(np.zeros((1, 1, 6)), np.zeros((1, 1, 1)))


@pytest.mark.parametrize("call, said", [
    (lambda: logistic_regression(Frame(X * [1, 0] + 2), NAMES), "column 'income' is 2 throughout"),
    (lambda: logistic_regression(X, np.arange(9)), r"two values, not of 9: \[0, 1, 2, 3, 4\]"),
    (lambda: counts_on_a_grid([[1, np.nan], [2, None]]), "values, but have 2: .* or larger cells"),
    (lambda: counts_on_a_grid(None), "counts must be an array or a list, not None"),
    (lambda: volatility([1.0, -1.0]).predict(found(np.full((1, 4, 2), 2e3), np.ones((1, 4, 3)))),
     "found must have volatilities that float64 can hold"),
    (lambda: counts_on_a_grid(np.ma.ones((2, 2))), "counts must not be a masked array"),
    (lambda: gp_classifier(X, NAMES, "ARD"), "kind must be 'isotropic' or 'ard', not 'ARD'"),
    (lambda: gp_classifier(X, NAMES[:8]), r"y must have shape \(9,\), a label for each row"),
    (lambda: problems.Return(np.ones(1), np.ones(1)).probability_below([0.0]), "value must be a"),
    (lambda: CLASSIFIER.scale(X[:, :1]), r"X must have shape \(n, 2\), not \(9, 1\)"),
    (lambda: counts_on_a_grid(np.zeros((2, 2))), "counts must not be zero throughout"),
    (lambda: volatility([1.0, -1.0], tau2=0.0), r"tau2 must be a finite number in \(0, inf\)"),
    (lambda: volatility(np.zeros(3)), "returns must not be zero throughout"),
    (lambda: volatility(np.arange(1.0, 22.0)), r"the same sign: of prices take np\.diff"),
    (lambda: gp_regression(X[:, 0], X[:, 0]), r"not shape \(9,\): of one covariate make np\.resh"),
    (lambda: LINE.scale(X[0]), r"of one case np\.reshape\(X, \(1, -1\)\)$"),
    (lambda: logistic_regression(X, NAMES[:, None]), r"not \(9, 1\): take its column"),
    (lambda: volatility([1.0, np.nan]), r"returns must have no missing values, .*: \[1\]; leave"),
    (lambda: CLASSIFIER.predict(found(np.zeros((1, 4, 3))), X), "q has 11 variables, but has 3"),
    (lambda: LINE.predict(OF_GROUPS, X), "whose q has 4 variables, but has no q"),
    (lambda: volatility([1.0, -1.0]).predict(X), "that sampling.run.run gave back, not a ndarray"),
    (lambda: gp_regression([[1, 2], [3]], [1, 2]), "X must be an array .* of unequal lengths"),
    (lambda: gp_regression(X[:1], [1.0]), "X must have two cases or more, not one"),
    (lambda: gp_regression(X * [1.0, 1e200], X[:, 0]), "deviation is inf, as that of column 1"),
    (lambda: gp_regression(X, 1e200 * X[:, 0]), "y must have a finite standard deviation"),
    (lambda: gp_classifier(Frame(X * [1.0, 1e-200]), NAMES), "is 0, as that of column 'income'"),
    (lambda: gp_regression(X, np.where(np.arange(9) > 2, np.nan, 1)), r"6 of .* 6, 7, \.\.\.\]; l"),
    (lambda: logistic_regression(X, ["a", None, "b"] * 3), r"y must .* but 3 of .*: \[1, 4, 7\];"),
    (lambda: logistic_regression(X, np.array([1, "a", 1] * 3, object)), r"y .* \['int', 'str'\]"),
    (lambda: gp_classifier(Frame([["low", 1], ["high", 2]]), [0, 1]), r"X\['age'\] == 'low'"),
    (lambda: logistic_regression(X, ["a", np.nan, "b"] * 3), "y must .* no missing values, but 3"),
    (lambda: logistic_regression(X, ["1", 1, 2] * 3), r"values of one kind, .* \['int', 'str'\]"),
    (lambda: logistic_regression(X, np.ma.masked_array(NAMES, NAMES == "no")), "y .* masked array"),
    (lambda: logistic_regression([*X[:-1], np.ma.masked_array(X[8])], NAMES), "X .* masked array"),
    (lambda: hierarchical_logistic(X, NAMES, np.array([2, *["NaT"] * 8], "M8[D]")), "group .* 8"),
    (lambda: logistic_regression(X, [1j, complex("nan")] * 4 + [1j]), "y must have no missing"),
    (lambda: gp_regression(X, [Decimal("nan"), *range(8)]), "y must have no missing values"),
    (lambda: logistic_regression(np.c_[X, [0.1 + 0.2, *[0.3] * 8]], NAMES), "no constant column"),
    (lambda: gp_regression(X, [0.1 + 0.2, *[0.3] * 8]), "y must not be constant, but is 0.3 thr"),
    (lambda: GROUPED.predict(OF_GROUPS, X, ["yes"]), r"group must have shape \(9,\), a label for"),
    (lambda: counts_on_a_grid([[1, -1], [0, 0]]), "not be negative, but the least is -1"),
    (lambda: logistic_regression(Frame(X, ("age", "age")), NAMES), "columns of different names"),
    (lambda: CLASSIFIER.predict(found(np.zeros((1, 4, 11))), X, 0), "draws must be"),
    (lambda: problems.Return(np.ones(1), np.ones(1)).quantile(1.0), "share must be a probability"),
    (lambda: logistic_regression(X, None), "y must be an array or a list, not None"),
    (lambda: gp_regression(X, 1e-300 * X[:, 0]), "y must have a finite standard deviation above 0"),
    (lambda: counts_on_a_grid([[1e308, 1e308], [0, 0]]), "counts at their largest must be"),
    (lambda: GROUPED.predict(OF_GROUPS, X, [object()] * 9), "group must be among those of the"),
    (lambda: CLASSIFIER.kernel(1.0), r"phi must have shape \(2,\), not \(\)"),
    (lambda: CLASSIFIER.draws(None, 9, rng), "fit must be of type Fit .* not NoneType"),
    (lambda: CLASSIFIER.draws(FIT, 9, rng, chains=0), "chains must be a whole number"),
    (lambda: CLASSIFIER.check_evidence(FIT, 9, rng), "found must be the Chains that"),
    (lambda: CLASSIFIER.check_evidence(FIT, OF_GROUPS, rng), "draws.. of this problem returned"),
    (lambda: gp_classifier(X[:5], NAMES[:5]).posterior(FIT), r"5 cases, but its K has shape \(9,"),
    (lambda: CLASSIFIER.predict_by_ep(FIT._replace(ep=None), X), "cases, but its ep.tau has"),
    (lambda: gp_classifier(X, NAMES[::-1]).predict_by_ep(FIT, X), "is of other cases or labels"),
    (lambda: CLASSIFIER.posterior(FIT._replace(log_length="a")), "^fit.log_length must be a real"),
    (lambda: logistic_regression(np.zeros(9, [("a", float)]), NAMES), "not of records: make it"),
    (lambda: gp_classifier(2 * X**2, NAMES).predict_by_ep(FIT, X), "is of other cases or labels"),
    (lambda: LINE.predict_by_fit(None, X), "fit must be of type Regression"),
    (lambda: LINE.predict_by_fit(problems.RegressionFit(np.zeros(3), 0.0), X), "fit.q must have")])
def test_data_that_make_no_model_are_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_the_evidence_is_checked_by_all_chains_and_as_many_draws_of_ep(monkeypatch):
    fit = SIX.fit()
    found = SIX.draws(fit, 10, generator(1), chains=2, bars=False)
    monkeypatch.setattr(problems, "log_L", lambda x, model: x)
    monkeypatch.setattr(problems, "bridge_sampling", lambda ours, at_q: SimpleNamespace(
        ours=ours, at_q=at_q, converged=True))
    bridge = SIX.check_evidence(fit, found, generator(2))
    monkeypatch.setattr(problems, "bridge_sampling", lambda *_: SimpleNamespace(converged=False))
    with pytest.warns(RuntimeWarning, match="bridge sampling has not converged"):
        SIX.check_evidence(fit, found, generator(2))
    assert bridge.ours.tolist() == np.ravel([c.log_likelihood for c in found.chains]).tolist()
    assert bridge.at_q.shape == (20, 6)


def test_draws_with_the_fitted_kernel_predict_as_ep_does_nearly():
    found = CLASSIFIER.draws(FIT, 1000, generator(3), jobs=1, bars=False)
    averaged = CLASSIFIER.predict(found, NEW, 4000, FIT)
    # EP's own error, and that of 4000 draws
    np.testing.assert_allclose(averaged.probability, CLASSIFIER.predict_by_ep(FIT, NEW).probability,
                               rtol=0, atol=0.02)
    with pytest.raises(ValueError, match=r"^fit must be given with what draws\(\) returned for it"):
        CLASSIFIER.predict(found, NEW)
    other = gp_classifier(2 * X**2, NAMES)
    with pytest.raises(ValueError, match=r"^found must be what draws\(\) of this problem"):
        other.predict(found, NEW, fit=other.fit())
    with pytest.raises(ValueError, match=r"^problem must be left out for the draws of a fitted"):
        names_of(found, CLASSIFIER)


def test_draws_of_ep_have_its_mean_and_covariance():
    fit = SIX.fit()
    off = problems.by_ep(SIX.posterior(fit), 6, SimpleNamespace(
        standard_normal=lambda shape: np.eye(*shape))) - fit.ep.mu
    Sigma = fit.K - fit.K @ np.linalg.solve(fit.K + np.diag(1 / fit.ep.tau), fit.K)
    np.testing.assert_allclose(off.T @ off, Sigma, rtol=1e-6)


def test_draws_that_predict_are_evenly_spaced():
    assert problems.spaced(1000, 4).tolist() == [0, 333, 666, 999]
    assert problems.spaced(3, 4).tolist() == [0, 1, 2]


def test_draws_of_the_model_itself_are_theta_and_phi_and_those_of_another_are_refused():
    q = np.random.default_rng(3).standard_normal((1, 5, 7))
    itself, non_centred = (found(q)._replace(model=model) for model in (
        GROUPED.model, NonCentred(GROUPED.model)))
    wanted = GROUPED.predict(found(q[:, :, :6], q[:, :, 6:]), X, NAMES).probability
    np.testing.assert_allclose(GROUPED.predict(itself, X, NAMES).probability, wanted)
    for metric in SoftAbs, Contracted:  # the density is the model's
        GROUPED.predict(itself._replace(model=metric(GROUPED.model, 1.0)), X, NAMES)
    assert np.abs(GROUPED.predict(non_centred, X, NAMES).probability - wanted).max() > 0.01
    names = names_of(itself, GROUPED)
    assert names[0].startswith("q[0] ") and names[0].endswith("intercept")
    assert names_of(non_centred, GROUPED)[0].startswith("q[0] z of ")
    kept = found(q[:, :, :2], q[:, :, 6:])._replace(kept=(1, 4))
    assert names_of(kept, GROUPED)[:2] == [f"theta{names[k][1:]}" for k in kept.kept]
    with pytest.raises(ValueError, match="theta of found has 7 variables or more, and that of pro"):
        names_of(kept._replace(kept=(1, 6)), GROUPED)
    stranger = hierarchical_logistic(X, NAMES, NAMES, lam=3.0)
    for draws in (itself, non_centred):
        for call in (lambda d=draws: stranger.predict(d, X, NAMES),
                     lambda d=draws: names_of(d, stranger)):
            with pytest.raises(ValueError, match="found must be of this problem, but its model"):
                call()


def test_groups_are_of_any_kind_that_has_an_order():
    group = np.arange(9) % 3
    plain = hierarchical_logistic(X, NAMES, group)
    days = np.array(["2020-01-01", "2020-01-02", "2020-02-01"], "M8[D]")
    for labels in (group.astype(object), days[group], group + 0.5):
        made = hierarchical_logistic(X, NAMES, labels)
        np.testing.assert_array_equal(made.model.X, plain.model.X)
        assert made.groups.tolist() == np.unique(labels).tolist()
    with pytest.raises(ValueError, match=r"labels of one kind, .* not of \['int', 'str'\]"):
        hierarchical_logistic(X, NAMES, np.array([0, 1, "a"] * 3, object))


def test_returns_begin_at_their_own_size_and_are_warned_of_where_their_mean_is_not_0():
    returns = 1000 * np.array([1.0, -1.0, 2.0, -2.0])
    assert volatility(returns).start[1][0] == pytest.approx(np.log(returns.std()))
    with pytest.warns(RuntimeWarning, match="returns must not be zero, but 1 of .* is"):
        found = volatility(np.append(returns, 0.0))  # a zero has no logarithm
    assert found.start[1][0] == pytest.approx(np.log(np.append(returns, 0.0).std()))
    with pytest.warns(RuntimeWarning, match="returns must not be zero, but 2 of 6 are, so"):
        volatility(np.append(returns, [0.0, 0.0]))
    rng = np.random.default_rng(1)
    twenty = np.array([1.0, 1.1] * 10)  # too few to be refused, or warned of
    for far in (1 + rng.standard_normal(100), -1 + rng.standard_normal(100), [*twenty, -0.1]):
        with pytest.warns(RuntimeWarning, match=r"must have mean 0, but .* more than five"):
            volatility(far)
    for few in ([0.01], [1e-200, -1e-200, 1e-199], [1e200, -1e200, 1e199], twenty):
        volatility(few)


def test_rows_of_pandas_in_another_order_are_refused():
    pandas = pytest.importorskip("pandas", reason="pip install pandas, or the extra `compare`")
    index = [3, 1, 2, 0, 4, 5, 6, 7, 8]
    frame, y = pandas.DataFrame(X, index=index), pandas.Series(NAMES, index=index)
    logistic_regression(frame, y)
    logistic_regression(frame, y.reset_index(drop=True).set_axis(list("abcdefghi")))
    other = y.sort_index()
    for call in (lambda: logistic_regression(frame, other), lambda: gp_classifier(frame, other),
                 lambda: hierarchical_logistic(frame, y, other),
                 lambda: hierarchical_logistic(frame, y, y).predict(None, frame, other),
                 lambda: gp_regression(frame, other == "yes")):
        with pytest.raises(ValueError, match=r"(y|group) must have its rows in the order .*loc\[X"):
            call()
    logistic_regression(frame.set_axis(list("012345678")), pandas.Series(NAMES))  # the same order


def test_draws_without_a_covariance_predict_nothing():
    x = np.linspace(0, 1, 40)[:, None]
    regression = gp_regression(x, np.sin(5 * x[:, 0]))
    with pytest.raises(ValueError, match="the responses have hardly any noise"):
        regression.predict(found(np.array([[[-40.0, 0.0, 0.0]]])), X[:, :1])
    with pytest.raises(ValueError, match=r"^fit must have parameters whose covariance"):
        regression.predict_by_fit(problems.RegressionFit(np.array([-40.0, 0.0, 0.0]), -np.inf),
                                  X[:, :1])
    fit, other = regression.fit(), gp_regression(x, np.cos(9 * x[:, 0]))
    with pytest.raises(ValueError, match="fit must be of this problem, but its log_Z"):
        other.predict_by_fit(fit, X[:, :1])


def test_predictions_take_few_cases_at_once_and_are_those_of_all(monkeypatch):
    q, theta, phi = (rng.standard_normal((1, 40, n)) for n in (3, 6, 1))
    calls = (lambda: logistic_regression(X, NAMES).predict(found(q), X),
             lambda: GROUPED.predict(found(theta, phi), X, NAMES))
    wanted, seen = [call().probability for call in calls], []
    monkeypatch.setattr(problems, "expit", lambda x: seen.append(x.size) or 1 / (1 + np.exp(-x)))
    monkeypatch.setattr(problems, "PIECE", 40 * 3 * 2)
    for call, probability in zip(calls, wanted, strict=True):
        np.testing.assert_allclose(call().probability, probability, rtol=1e-12)
    assert max(seen) <= 40 * 3 * 2 and sum(seen) == 2 * 40 * 9


def test_a_problem_in_the_place_of_its_model_is_named():
    problem = logistic_regression(X, NAMES)
    with pytest.raises(ValueError, match=r"not the Logistic that has one: give its \.model"):
        hmc(np.zeros(3), problem, 0.1, 2, 5, generator(1))
