"""What a caller can get wrong with arrays, models and counts, over all samplers.

Every array of a start or of a model's tuple that holds the right numbers in another form is the
same to compiled code; what holds others is refused by name.  The caller's arrays are as they were,
and no result shares memory with them.  What is left out is as the docstrings and the papers have.
"""

import inspect
import operator
import os
import subprocess
import sys
from functools import reduce

import numpy as np
import pytest

from algorithms import (
    generalised_leapfrog,
    hmc,
    paquet_rmhmc,
    paquet_rmhmc_fast,
    random_walk,
    rmhmc_within_gibbs,
    slice_sampling,
)
from algorithms import (
    shahbaba_split_hmc as split_hmc,
)
from algorithms import (
    shahbaba_split_hmc_fast as split_hmc_fast,
)
from algorithms import (
    wang_discretizing_chain_fast as discretizing_chain_fast,
)
from algorithms import (
    wang_tempered_transitions_fast as tempered_transitions_fast,
)
from algorithms import (
    zhang_sshmc as sshmc,
)
from algorithms import (
    zhang_sshmc_fast as sshmc_fast,
)
from algorithms.ais import HMC, ais, combine, geometric_ladder
from algorithms.ep import check_ep, ep
from algorithms.ep_correction import check_second_order, second_order
from algorithms.ess import combined_chains, ess, initial_sequence, significant_lags
from algorithms.map_estimate import MAP, map_estimate
from algorithms.orthant import orthant, tilted_run, tilting
from algorithms.rivals import (
    dragging,
    elliptical_slice,
    fitted_walk,
    polya_gamma_gibbs,
    surrogate_slice,
)
from algorithms.rivals.ais_elliptical_slice import ais_elliptical_slice, check_ais_elliptical_slice
from algorithms.rivals.auxiliary_mixture import auxiliary_mixture, check_auxiliary_mixture
from algorithms.rivals.bridge_sampling import bridge_sampling
from algorithms.rivals.delayed_acceptance import check_delayed, delayed_acceptance
from models import interface, validate
from models.funnel import Funnel
from models.gaussian import Gaussian
from models.gp_classification import GPClassification
from models.gp_eigen import GPEigen
from models.gp_fitc import GPFITC
from models.gp_nystrom import GPNystrom
from models.gp_regression import GPRegression
from models.gp_spectral import GPSpectral
from models.gp_subset import GPSubset
from models.gp_variational import GPVariational
from models.hierarchical_gp_classification import HierarchicalGPClassification
from models.hierarchical_logistic import HierarchicalLogistic, information
from models.jit import too_large
from models.log_gaussian_cox import LogGaussianCox
from models.logistic_regression import LogisticRegression
from models.mixture import gaussian_mixture, mixture_draw
from models.multinomial_logistic import MultinomialLogistic
from models.soft_abs import SoftAbs
from models.stochastic_volatility import StochasticVolatility
from models.validate import annotations, array_of


def numbers(*shape):
    """Numbers that float32 has too."""
    size = int(np.prod(shape))
    return (np.arange(size) * 0.625 % 2.125 - 0.5).reshape(shape)


N = 6
X, SIGNS = numbers(N, 2), np.where(np.arange(N) % 3, 1.0, -1.0)
K = np.eye(N) + 0.5
NORMAL = Gaussian(numbers(3), np.array([[2.0, 0.5, 0.0], [0.5, 1.5, 0.25], [0.0, 0.25, 1.0]]))
GPC = GPClassification.from_prior(K, SIGNS)
LOGISTIC = LogisticRegression.from_data(X, (SIGNS + 1) / 2)
CLASSES = MultinomialLogistic.from_data(X, np.arange(N) % 3, 3)
REGRESSION = GPRegression.from_data(X, numbers(N), "ard")
ISOTROPIC = GPRegression.from_data(X, numbers(N), "isotropic")
CASES = np.array([0, 2, 5])
GROUPS = HierarchicalLogistic.from_data(X, SIGNS, np.arange(N) // 2)
COX = LogGaussianCox.from_counts(np.arange(4).reshape(2, 2), 0.5)
VOLATILITY = StochasticVolatility.from_data(numbers(N) + 0.25)
FIELD = HierarchicalGPClassification.from_data(X, SIGNS)
MIXTURE = gaussian_mixture([0.25, 0.75], numbers(2, 2), [np.eye(2), 2 * np.eye(2)])
FUNNEL = Funnel.from_size(3)
SMALL = 1e-3  # a step of which anything is accepted


def rng():
    return np.random.default_rng(3)


def blocks(n, sampler, *steps):
    """Call a sampler of two blocks with q = (theta, phi), of n parameters theta."""
    return lambda q, model: sampler(q[:n], q[n:], model, *steps, rng())


def by_hmc(q, model):
    return hmc.hmc(q, model, SMALL, 2, 2, rng())


def slices(q, model):
    return slice_sampling.slice_sampling(q, model, 0.5, 2, rng())


def by_sshmc(n, twin):
    return blocks(n, twin.sshmc, SMALL, SMALL, 2, 2)


def draw(m, rng):
    return 0.2 + rng.random(m.size)


# name: (what runs it from q with a model, q, model)
RUNS = {
    "hmc": (by_hmc, numbers(3), NORMAL),
    "hmc of a mixture": (by_hmc, numbers(2), MIXTURE),
    "hmc of classes": (by_hmc, numbers(9), CLASSES),
    "hmc of GPC": (by_hmc, numbers(N), GPC),
    "hmc of GPR": (by_hmc, numbers(4), REGRESSION),
    "hmc of a block": (by_hmc, numbers(3), interface.GivenPhi(FUNNEL, numbers(1))),
    "random_walk": (lambda q, m: random_walk.random_walk(q, m, 0.5, 3, rng()), numbers(3), NORMAL),
    "fitted_walk": (lambda q, m: fitted_walk.fitted_walk(q, m, np.eye(3), 3, rng()),
                    numbers(3), NORMAL),
    "pilot": (lambda q, m: fitted_walk.pilot(q, m, 9, rng()), numbers(3), NORMAL),
    "map_estimate": (lambda q, m: map_estimate(m, q), numbers(3), LOGISTIC),
    "normal_split_hmc": (lambda q, m: split_hmc_fast.normal_split_hmc(
        q, m, split_hmc.normal_approximation(map_estimate(LOGISTIC)), SMALL, 2, 2, rng()),
        numbers(3), LOGISTIC),
    "data_split_hmc": (lambda q, m: split_hmc_fast.data_split_hmc(
        q, m, split_hmc.split_data(LOGISTIC, numbers(3), 0.5), SMALL, 2, 2, 2, rng()),
        numbers(3), LOGISTIC),
    "split_data": (lambda q, m: split_hmc.split_data(m, q, 0.5), numbers(3), LOGISTIC),
    "generalised_leapfrog": (lambda q, m: generalised_leapfrog.rmhmc(q, m, 2, SMALL, 2, rng()),
                             numbers(2), MIXTURE),
    "soft_abs": (lambda q, m: generalised_leapfrog.rmhmc(q, m, 2, SMALL, 2, rng()), numbers(4),
                 SoftAbs.from_model(FUNNEL, 2.0)),
    "paquet_rmhmc": (lambda q, m: paquet_rmhmc.rmhmc(q, m, 2, SMALL, 2, rng()), numbers(N), GPC),
    "paquet_rmhmc_fast": (lambda q, m: paquet_rmhmc_fast.rmhmc(q, m, 2, SMALL, 2, rng()),
                          numbers(N), GPC),
    "ais": (lambda q, m: ais(m, geometric_ladder(3, 0.25), HMC(SMALL, 2), 2, rng()), None, GPC),
    "ais_elliptical_slice": (lambda q, m: ais_elliptical_slice(
        m, geometric_ladder(3, 0.25), 2, rng()), None, GPC),
    "elliptical_slice": (lambda q, m: elliptical_slice.elliptical_slice(q, m, 3, rng()),
                         numbers(N), GPC),
    "elliptical_slice of one's own": (lambda q, m: elliptical_slice.elliptical_slice(
        q, m, 3, rng(), numbers(3), np.eye(3)), numbers(3), NORMAL),
    "slice_sampling": (slices, numbers(4), REGRESSION),
    "slice_sampling of FITC": (slices, numbers(4), GPFITC.from_model(REGRESSION, CASES)),
    "slice_sampling of eigenvalues": (slices, numbers(4), GPEigen.from_model(REGRESSION, 3)),
    "slice_sampling of a bound": (slices, numbers(4), GPVariational.from_model(REGRESSION, CASES)),
    "slice_sampling of spectra": (slices, numbers(3), GPSpectral.from_model(ISOTROPIC)),
    "discretizing_chain": (lambda q, m: discretizing_chain_fast.discretizing_chain(
        q, REGRESSION, m, 0.5, 2, rng()), numbers(4), GPNystrom.from_model(REGRESSION, CASES)),
    "tempered_transitions": (lambda q, m: tempered_transitions_fast.tempered_transitions(
        q, REGRESSION, (m,), 0.5, 2, rng()), numbers(4), GPSubset.from_model(REGRESSION, CASES)),
    "delayed_acceptance": (lambda q, m: delayed_acceptance(
        q, REGRESSION, m, np.eye(4) / 4, 3, rng()), numbers(4),
        GPSubset.from_model(REGRESSION, CASES)),
    "dragging": (lambda q, m: dragging.dragging(q, m, [1], np.eye(1), 2, rng(), n_steps=2),
                 numbers(4), REGRESSION),
    "sshmc": (by_sshmc(3, sshmc), numbers(4), FUNNEL),
    "sshmc_fast": (by_sshmc(3, sshmc_fast), numbers(4), FUNNEL),
    "sshmc_fast of volatility": (by_sshmc(N, sshmc_fast), numbers(N + 3), VOLATILITY),
    "sshmc_fast of GPC": (by_sshmc(N, sshmc_fast), numbers(N + 2), FIELD),
    "sshmc_fast of groups": (by_sshmc(6, sshmc_fast), numbers(7), GROUPS),
    "sshmc_fast of counts": (by_sshmc(4, sshmc_fast), numbers(6), COX),
    "rmhmc_within_gibbs": (blocks(6, rmhmc_within_gibbs.rmhmc_within_gibbs, SMALL, SMALL, 1, 1, 2),
                           numbers(7), GROUPS),
    "auxiliary_mixture": (blocks(N, auxiliary_mixture, 2), numbers(N + 3), VOLATILITY),
    "polya_gamma_gibbs": (blocks(6, polya_gamma_gibbs.polya_gamma_gibbs, draw, 2), numbers(7),
                          GROUPS),
    "information": (information, numbers(6), GROUPS),
    "surrogate_slice": (blocks(4, surrogate_slice.surrogate_slice, 0.5, [1.0, 1.0], 2), numbers(6),
                        COX),
}


def strided(a):
    wide = np.repeat(a, 2, axis=-1)
    return wide[..., ::2]


def reversed_twice(a):
    return np.ascontiguousarray(a[..., ::-1])[..., ::-1]


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


def unaligned(a):
    memory = np.empty(a.nbytes + 1, np.uint8)
    found = memory[1:].view(a.dtype).reshape(a.shape)
    found[...] = a
    return found


FORMS = {"read-only": read_only, "Fortran": np.asfortranarray, "strided": strided,
         "reversed": reversed_twice, "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
         "unaligned": unaligned, "objects": lambda a: a.astype(object),
         "long double": lambda a: a.astype(np.longdouble)}
REFUSED = {"masked": lambda a: np.ma.masked_array(a, np.zeros(a.shape, bool)),
           "complex": lambda a: a.astype(complex), "text": lambda a: a.astype(str),
           "objects": lambda a: np.full(a.shape, None), "a dict": lambda a: {"a": 1},
           "numbers as text": lambda a: a.astype(str).astype(object), "None": lambda a: None,
           "dates": lambda a: np.zeros(a.shape, "M8[D]")}
WRONG = {"short": lambda a: a[:-1], "long": lambda a: np.concatenate([a, a[-1:]]),
         "deep": lambda a: a[..., None], "nan": lambda a: np.full(a.shape, np.nan),
         "infinite": lambda a: np.full(a.shape, np.inf)}


def arrays_of(value, name):
    """Yield (name, path, annotation) of the arrays in a model's tuple."""
    for i, (field, each) in enumerate(zip(value._fields, value, strict=True)):
        if isinstance(each, np.ndarray):
            yield f"{name}.{field}", (i,), array_of(annotations(type(value))[field])
        elif hasattr(each, "_fields"):
            for deeper, path, annotation in arrays_of(each, f"{name}.{field}"):
                yield deeper, (i, *path), annotation


def replaced(value, path, array):
    """Return a model with another array at `path`."""
    i, *rest = path
    each = replaced(value[i], rest, array) if rest else array
    return type(value)._make([*value[:i], each, *value[i + 1 :]])


def flat(result):
    """Yield the arrays and numbers of a result."""
    if isinstance(result, tuple):
        for each in result:
            yield from flat(each)
    else:
        yield result


def called(name, q, model):
    run, _, _ = RUNS[name]
    return list(flat(run(q, model)))


class Passed(Exception):
    """Its arguments are those that a public function passes on to compiled code."""


@pytest.fixture
def passed_on(monkeypatch):
    """Return a function like `called`, of what reaches compiled code if the name is public."""
    def stop(*arguments):
        raise Passed(*arguments)

    for module in [module for name, module in sys.modules.items() if name.startswith("algorithms")]:
        for function in vars(module).values():
            while hasattr(getattr(function, "__wrapped__", None), "check"):
                function = function.__wrapped__  # within what warns
            if hasattr(function, "check") and hasattr(function, "compiled"):
                monkeypatch.setattr(function, "compiled", stop)
    monkeypatch.setattr(information, "compiled", stop)

    def found(name, q, model):
        try:
            return called(name, q, model)
        except Passed as passed:
            return list(flat(passed.args))

    return found


def same(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert type(a) is type(b)
        if isinstance(a, np.random.Generator):
            assert a.bit_generator.state == b.bit_generator.state
            continue
        np.testing.assert_array_equal(a, b)
        if isinstance(a, np.ndarray):  # what Numba compiles for, and what BLAS reads
            assert a.dtype.isnative and a.dtype.char in "?dl"
            assert a.flags.c_contiguous and a.flags.aligned and a.flags.writeable


@pytest.mark.parametrize("name", RUNS)
def test_the_right_numbers_in_any_form_are_the_same_to_compiled_code(name, passed_on):
    _, q, model = RUNS[name]
    expected = passed_on(name, q, model)
    for form in FORMS.values():
        if q is not None:
            same(passed_on(name, form(q), model), expected)
        changed = model
        for _, path, _ in arrays_of(model, "model"):
            changed = replaced(changed, path, form(reduce(operator.getitem, path, model)))
        same(passed_on(name, q, changed), expected)
    if q is not None:
        same(passed_on(name, q.astype(np.float32), model), expected)


@pytest.mark.parametrize("name", RUNS)
def test_a_list_is_as_good_as_an_array(name, passed_on):
    _, q, model = RUNS[name]
    expected, changed = passed_on(name, q, model), model
    for _, path, annotation in arrays_of(model, "model"):
        if annotation:
            changed = replaced(changed, path, reduce(operator.getitem, path, model).tolist())
    same(passed_on(name, q, changed), expected)


@pytest.mark.parametrize("name", [name for name, run in RUNS.items() if run[1] is not None])
def test_other_numbers_in_the_start_are_refused_by_name(name):
    run, q, model = RUNS[name]
    for wrong in [*REFUSED.values(), *WRONG.values()]:
        if (name == "map_estimate" and wrong(q) is None) or (not isinstance(
                wrong(q), np.ndarray) and run.__qualname__.startswith("blocks")):
            continue
        with pytest.raises(ValueError, match=r"^(q0|x0|x|q_hat|theta0?|phi0)\b|sub"):
            run(wrong(q), model)


@pytest.mark.parametrize("name", RUNS)
def test_other_numbers_in_a_model_are_refused_by_name(name):
    _, q, model = RUNS[name]
    tried = 0
    for field, path, annotation in arrays_of(model, "model"):
        old = reduce(operator.getitem, path, model)
        if not annotation:
            continue
        wrong = REFUSED | {k: v for k, v in WRONG.items() if annotation.finite or k == "deep"}
        for change in wrong.values():
            what = field.removeprefix("model").rsplit(".", 1)[-1]
            with pytest.raises(ValueError, match=rf"\b{what}\b|\.\w+ must"):
                called(name, q, replaced(model, path, change(old)))
            tried += 1
    assert tried or not any(annotation for *_, annotation in arrays_of(model, "model"))


def leave_the_callers_arrays(name):
    """Run a sampler and see that the arrays it got are as they were, and no result is in them."""
    _, q, model = RUNS[name]
    paths = [path for _, path, annotation in arrays_of(model, "model") if annotation]
    mine = [reduce(operator.getitem, path, model) for path in paths] + [q] * (q is not None)
    before = [a.copy() for a in mine]
    for result in called(name, q, model):
        if isinstance(result, np.ndarray) and result.size:
            assert not any(np.shares_memory(result, a) for a in mine), name
    same(mine, before)


def test_the_callers_arrays_stay_and_no_result_shares_memory_with_them():
    # interpreted, since every sampler and model here would have to be compiled for that
    code = "import test_bad_input as t\nfor name in t.RUNS: t.leave_the_callers_arrays(name)"
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {
        "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)})


@pytest.mark.parametrize("value", [None, 3, "a", [1.0], (1.0, 2.0), {}, np.zeros(3), Gaussian])
@pytest.mark.parametrize("name", RUNS)
def test_what_is_no_model_is_refused_by_name(name, value):
    run, q, _ = RUNS[name]
    with pytest.raises(ValueError, match=r"^(model|approximation|layers\[0\]) must"):
        run(q, value)


@pytest.mark.parametrize(("model", "message"), [
    (FUNNEL._replace(n=0), r"n must be a whole number of at least 1"),
    (CLASSES._replace(y=CLASSES.y + 1), r"y must hold only whole numbers from 0 to 2, but holds 3"),
    (CLASSES._replace(K=2), r"y must hold only whole numbers from 0 to 1"),
    (CLASSES._replace(K=4), r"precision must have shape \(12,\).* not \(9,\)"),
    (CLASSES._replace(K=1), r"K must be a whole number of at least 2"),
    (REGRESSION._replace(group=np.array([0, 2])), r"group must hold numbers of the 2 lengths"),
    (REGRESSION._replace(c2=-1.0), r"c2 must be a finite number in \[0, inf\)"),
    (GPEigen(REGRESSION, N + 1), r"m must be at most the number of cases, 6, not 7"),
    (GPEigen(REGRESSION, 0), r"m must be a whole number of at least 1"),
    (GPSpectral(REGRESSION), r"whole must have one length, .* not 2"),
    (GPSubset(GPSubset.from_model(REGRESSION, CASES).part, np.arange(2)),
     r"index must have an entry for each of the 3 cases of model.part, not 2"),
    (GPNystrom.from_model(REGRESSION, CASES)._replace(index=np.array([0, 2, 6])),
     r"index must hold numbers from 0 to 5, but holds 6"),
    (GPNystrom.from_model(REGRESSION, CASES)._replace(index=np.array([0, 2, 4])),
     r"ZT must be model.whole.XT\[:, model.index\]"),
    (GPNystrom.from_model(REGRESSION, CASES)._replace(jitter=2.0), r"jitter must be"),
    (GPFITC.from_model(REGRESSION, CASES)._replace(index=np.array([0, 2, 6])),
     r"index must hold numbers from 0 to 5, but holds 6"),
    (GPFITC.from_model(REGRESSION, CASES)._replace(index=np.array([0, 2, 4])),
     r"ZT must be model.whole.XT\[:, model.index\]"),
    (GPFITC.from_model(REGRESSION, CASES)._replace(jitter=-1.0), r"jitter must be"),
    (GROUPS._replace(starts=np.array([0, 4, 2, 6])), r"starts must ascend from 0 .* 6, not"),
    (GROUPS._replace(starts=np.array([1, 2, 4, 6])), r"starts must ascend"),
    (GROUPS._replace(starts=np.array([0, 2, 4, 5])), r"starts must ascend"),
    (GROUPS._replace(lam=0.0), r"lam must be a finite number in \(0, inf\)"),
    (GROUPS._replace(b=GROUPS.b - 1.0), r"b must be >= 0, but the smallest is -"),
    (COX._replace(counts=np.arange(3.0)), r"counts must have shape \(4,\), .* not \(3,\)"),
    (COX._replace(counts=np.array([0.0, 1.0, 2.0, 0.5])), r"counts must be whole numbers >= 0"),
    (COX._replace(counts=np.array([0.0, 1.0, 2.0, -1.0])), r"counts must be whole numbers >= 0"),
    (MIXTURE._replace(weights=np.array([0.5, 0.75])), r"weights must sum to one, not to 1.25"),
    (MIXTURE._replace(weights=np.array([0.25, 0.75 + 1e-9])), r"weights must sum to one"),
    (MIXTURE._replace(log_normalisers=np.zeros(2)), r"log_normalisers must be log\|2 pi S\| / 2"),
    (MIXTURE._replace(precisions=MIXTURE.precisions * [[-1.0, 1.0], [1.0, 1.0]]),
     r"log_normalisers must be"),
    (interface.GivenPhi(FUNNEL, np.zeros(2)), r"phi must have shape \(1,\), not \(2,\)"),
    (interface.GivenTheta(FUNNEL, np.zeros(2)), r"theta must have shape \(3,\), not \(2,\)")])
def test_what_annotations_cannot_say_is_refused_by_name(model, message):
    with pytest.raises(ValueError, match=rf"^model\.{message}"):
        validate.model("model", model)


@pytest.mark.parametrize("approximation", [
    lambda: NORMAL, lambda: GPSubset.from_model(ISOTROPIC, CASES), lambda: MIXTURE])
@pytest.mark.parametrize("name", ["discretizing_chain", "tempered_transitions",
                                  "delayed_acceptance"])
def test_an_approximation_of_other_variables_is_refused(name, approximation):
    with pytest.raises(ValueError, match=r"^(approximation|layers\[0\]) must be of 4 variables"):
        RUNS[name][0](numbers(4), approximation())


@pytest.mark.parametrize("change", [
    {"n": -1}, {"n": 2.0}, {"n": 2**31}, {"model": None}, {"model": NORMAL}, {"rng": 3},
    {"model": MIXTURE._replace(weights=np.ones(2))}])
def test_draws_of_a_mixture_are_checked(change):
    (name,) = change
    with pytest.raises(ValueError, match=f"^{name}"):
        mixture_draw(**(dict(model=MIXTURE, n=2, rng=rng()) | change))
    assert mixture_draw(MIXTURE, 0, rng()).shape == (0, 2)


@pytest.mark.parametrize(("name", "make"), [
    ("sigma_beta", lambda v: LogisticRegression.from_data(X, (SIGNS + 1) / 2, 5.0, v)),
    ("sigma_alpha", lambda v: LogisticRegression.from_data(X, (SIGNS + 1) / 2, v, 5.0)),
    ("sigma_beta", lambda v: MultinomialLogistic.from_data(X, np.arange(N) % 3, 3, 5.0, v))])
@pytest.mark.parametrize("value", [0.0, 1e-155, 1e155, np.inf, "1", None])
def test_a_deviation_whose_square_is_no_number_is_refused(name, make, value):
    with pytest.raises(ValueError, match=f"^{name} must be"):
        make(value)
    for good in (1e-150, 1e150):
        assert make(good).precision[0 if "alpha" in name else -1] == pytest.approx(good**-2.0)


def test_sites_whose_mean_would_overflow_are_refused():
    found = ep(K, SIGNS)
    with pytest.raises(ValueError, match=r"^ep.nu's largest size must be .* 1e\+100\], not"):
        GPClassification.from_ep(K, SIGNS, found._replace(nu=np.full(N, -1e308)))
    GPClassification.from_ep(K, SIGNS, found._replace(nu=np.full(N, -1e100)))


@pytest.mark.parametrize("start", [np.full(3, 1e200), np.full(3, -1e155)])
def test_a_start_where_the_energy_overflows_is_refused(start):
    for name in ("hmc", "random_walk", "fitted_walk"):
        with pytest.raises(ValueError, match=r"^q0 must be where U is finite, .* inf"):
            RUNS[name][0](start, NORMAL)


def short(n):
    return np.arange(n, dtype=float)


def by_groups(**named):
    """Make a logistic regression of three groups of two, with arguments of another value."""
    return HierarchicalLogistic.from_data(**(dict(X=X, y=SIGNS, group=np.arange(N) // 2) | named))


FIT = MAP(np.zeros(3), np.eye(3), 4, True, 0.5)
PARTS = split_hmc.split_data(LOGISTIC, numbers(3), 0.5)
OTHERS = LogisticRegression.from_data(X[::-1], (SIGNS + 1) / 2)
EP_FOUND = ep(K, SIGNS)
BEND = np.tile(np.diag([1.0, -0.5]), (3, 1, 1))


def by_split(split, model=LOGISTIC):
    return split_hmc_fast.data_split_hmc(numbers(3), model, split, SMALL, 1, 1, 1, rng())


@pytest.mark.parametrize(("call", "message"), [
    (lambda: ess(short(4)), "x must hold at least 5 draws, not 4: shape (4,), expected (n,)"),
    (lambda: combined_chains(np.zeros((6, 3, 2))),
     "x must hold at least 5 draws, not 3: shape (6, 3, 2), expected (m, n, d)"),
    (lambda: initial_sequence(np.zeros((2, 9, 2))),
     "x must have shape (n,) or (n, d), not (2, 9, 2)"),
    (lambda: bridge_sampling(short(4), short(9)), "at_target must hold at least 5 draws, not 4"),
    (lambda: bridge_sampling(short(9), [1.0]), "at_proposal must hold at least 2 draws, not 1"),
    (lambda: geometric_ladder(5, 1.0), "beta_min must be below 1 for a ladder of B = 5 steps"),
    (lambda: ais(GPC, [0.5, 0.6, 0.7, 1.0], HMC(SMALL, 1), 1, rng()),
     "betas must increase strictly from 0 to 1, as geometric_ladder's do; it starts"
     " [0.5, 0.6, 0.7] and ends [0.6, 0.7, 1.0]"),
    (lambda: hmc.hmc(numbers(3), NORMAL, SMALL, 1, 1, rng(), np.eye(2)),
     "M must have shape (3, 3) to go with q0, not (2, 2)"),
    (lambda: slice_sampling.slice_sampling(numbers(3), NORMAL, [1.0, -2.0, 3.0], 1, rng()),
     "w must be positive, but the smallest is -2"),
    (lambda: slice_sampling.slice_sampling(numbers(3), NORMAL, [1.0, 5e299, 2.0], 1, rng(), 10),
     "w times max_widths must be at most 1e+300, but is 5 times as long"),
    (lambda: discretizing_chain_fast.discretizing_chain(numbers(3), NORMAL, NORMAL, 1.0, 1, rng(),
                                                   2000, 1000),
     "r times s must be at most 1000000, not 2000000"),
    (lambda: discretizing_chain_fast.discretizing_chain(
        numbers(3), NORMAL, Gaussian(np.full(3, 1e200), np.eye(3)), 1.0, 1, rng()),
     "approximation must have a finite U at x0, but U there is inf"),
    (lambda: tempered_transitions_fast.tempered_transitions(
        numbers(3), NORMAL, [NORMAL, Gaussian(np.full(3, 1e200), np.eye(3))], 1.0, 1, rng()),
     "layers[1] must have a finite U at x0, but U there is inf"),
    (lambda: dragging.dragging(numbers(3), NORMAL, [2, 2], np.eye(2), 1, rng()),
     "slow must be different variables, not [2, 2]"),
    (lambda: dragging.dragging(numbers(3), NORMAL, [2, 0, 1], np.eye(3), 1, rng()),
     "slow must be some of the variables, and not all, but there are 3 of 3"),
    (lambda: elliptical_slice.elliptical_slice(numbers(3), NORMAL, 1, rng()),
     "factor must be given for a model of type Gaussian, which has no Gaussian of its own"),
    (lambda: ep(np.diag([1.0, -2.0]), [1, 1]), "K must be positive definite, but its Cholesky"
     " factorisation fails; its smallest eigenvalue is -2"),
    (lambda: second_order(EP_FOUND, SIGNS, 9), "order must be at most 8, not 9"),
    (lambda: second_order(EP_FOUND._replace(converged=False, sweeps=7), SIGNS),
     "ep must have converged, but had not after 7 sweeps: the formula holds at a fixed point of EP"
     " only; call ep with more max_sweeps or with damping below 1"),
    (lambda: orthant(np.diag([1.0, -2.0]), 4),
     "K must be positive semi-definite, but its smallest eigenvalue is -2"),
    (lambda: tilting(np.diag([1.0, -2.0])), "C must be positive definite, but its Cholesky"
     " factorisation fails; its smallest eigenvalue is -2"),
    (lambda: tilted_run(np.zeros((2, 2)), np.zeros(2), 6, rng()),
     "points must be a power of 2, for Sobol's balance, not 6"),
    (lambda: tilted_run(np.triu(np.ones((3, 3))), np.zeros(3), 4, rng()), "A must be square and"
     " strictly lower triangular, as ordered_factor makes it, not (3, 3) with 6 other elements"),
    (lambda: split_hmc.normal_approximation(FIT._replace(converged=False)),
     "fit must be a posterior mode, but the search for it did not converge: the norm of the"
     " gradient is 0.5"),
    (lambda: split_hmc.normal_approximation(FIT._replace(hessian=np.diag([3.0, -2.0, 4.0]))),
     "fit.hessian must be positive definite, but its smallest eigenvalue is -2"),
    (lambda: split_hmc.normal_approximation(FIT._replace(hessian=np.diag([3.0, 0.0, 4.0]))),
     "fit.hessian must be positive definite, but its smallest eigenvalue is 0"),
    (lambda: split_hmc_fast.normal_split_hmc(
        numbers(3), LOGISTIC, split_hmc.normal_approximation(MAP(np.zeros(2), np.eye(2), 1, True,
                                                                 0.0)), SMALL, 1, 1, rng()),
     "fit must be of the model, of 3 parameters, but it is of 2"),
    (lambda: split_hmc.split_data(LOGISTIC, numbers(3), 0.05),
     "fraction must leave a case for R_0, but 0.05 of 6 is none"),
    (lambda: by_split(PARTS._replace(R_1=interface.select_cases(LOGISTIC, CASES[:2], 0.0))),
     "split must be made of this model by split_data, but it has 3 + 2 cases, and the model has 6"),
    (lambda: by_split(split_hmc.split_data(CLASSES, numbers(9), 0.5)),
     "split must be made of this model by split_data, but its parts are of another: a"
     " MultinomialLogistic of 9 parameters and a MultinomialLogistic"),
    (lambda: by_split(PARTS._replace(R_1=None)), "split must be made of this model by split_data,"
     " but its parts are of another: a LogisticRegression of 3 parameters and a NoneType"),
    (lambda: by_split(split_hmc.split_data(OTHERS, numbers(3), 0.5)), "split must be made of this"
     " model by split_data, but the gradients of its parts at q0 do not add up to the model's:"
     " it is of other data"),
    (lambda: combine([True, False]), "log_weights must be logarithms, not True and False"),
    (lambda: LogisticRegression.from_data(X, np.where(SIGNS > 0, "good", "bad")),
     "y must be an array of real numbers, not ndarray of <U4: it holds text, such as 'bad'; write"
     " numbers for it, such as y == 'bad'"),
    (lambda: LogisticRegression.from_data([[1, "2", "red"], [3, "4", "blue"]] * 3, CASES),
     "X must be an array of real numbers, not list of <U21: column 2 holds text, such as 'red';"
     " write numbers for it, such as X[:, 2] == 'red'"),
    (lambda: MultinomialLogistic.from_data(X, ["a", "b", "c"] * 2, 3),
     "y must be an array of real numbers, not list of <U1: it holds text, such as 'a'; write"
     " numbers for it, such as y == 'a'"),
    (lambda: GPClassification.from_prior(K, SIGNS > 0),
     "y must hold only -1 and +1, but holds [0.0]; write np.where(y == 1, 1, -1)"),
    (lambda: by_sshmc(3, sshmc)(np.full(4, 1e200), FUNNEL),
     "theta0 and phi0 must be where U is finite, but U there is inf"),
    (lambda: surrogate_slice.surrogate_slice(numbers(4), numbers(2), COX, 0.5, [1.0, -3.0], 1,
                                             rng()), "w must be positive, but the smallest is -3"),
    (lambda: auxiliary_mixture(numbers(N), numbers(3), VOLATILITY, 1, rng(), [1.0, -3.0, 2.0]),
     "w must be positive, but the smallest is -3"),
    (lambda: GPClassification.from_ep(K, SIGNS, EP_FOUND._replace(tau=np.array(
        [1.0, -3.0, 2.0, 1.0, 1.0, 1.0]))), "ep.tau must be >= 0, but its smallest element is -3"),
    (lambda: GPClassification.from_ep(K, SIGNS, EP_FOUND._replace(tau=np.append(
        np.ones(5), -2e-8))), "ep.tau must be >= 0, but its smallest element is -2e-08"),
    (lambda: GPEigen.from_model(REGRESSION, 7), "m must be at most 6, the number of cases, not 7"),
    (lambda: GPSpectral.from_model(REGRESSION), "model must have one length, but has 2"),
    (lambda: GPSubset.from_model(REGRESSION, [3, 1, 3, 0, 0]),
     "index must hold each case at most once, but repeats [0, 3]"),
    (lambda: GPRegression.from_data(X, numbers(N), "ard", prior_sd=[1.0, -2.0, 3.0, 1.0]),
     "prior_sd must be > 0 throughout, but lies in [-2, 3]"),
    (lambda: by_groups(group=np.zeros(5)), "group must have shape (6,), not (5,)"),
    (lambda: by_groups(group=[0, 0, np.nan, np.inf, 1, 1]),
     "group must be finite, but 2 of its 6 entries are not"),
    (lambda: by_groups(curvature=BEND),
     "curvature must be positive semidefinite, but has eigenvalue -0.5"),
    (lambda: by_groups(curvature=BEND * np.array([1.0, 2e-8])),
     "curvature must be positive semidefinite, but has eigenvalue -1e-08"),
    (lambda: by_groups(curvature=BEND * np.array([1.0, 1.0, np.nan])[:, None, None]),
     "curvature must be finite, but 4 of its 12 entries are not"),
    (lambda: LogGaussianCox.from_counts(np.zeros((2, 3)), 0.0),
     "counts must be square, not of shape (2, 3)"),
    (lambda: LogGaussianCox.from_counts([[1.0, -1.0], [0.5, 2.0]], 0.0),
     "counts must be whole numbers >= 0, but hold [-1.0, 0.5]"),
    (lambda: LogisticRegression.from_data(X, [0, 1, 2, 3, 1, 2]),
     "y must hold only 0 and 1, but holds [2.0, 3.0]"),
    (lambda: LogisticRegression.from_data(np.column_stack([X[:, 0], np.full(N, 2.5)]), np.ones(N)),
     "X must have no constant column, but column 1 is 2.5 throughout (the intercept is added"
     " here)"),
    (lambda: MultinomialLogistic.from_data(X, [0, 1, 2, 3, 0.5, 3], 3),
     "y must hold only whole numbers from 0 to 2, but holds [0.5, 3.0]"),
    (lambda: gaussian_mixture([0.5, -0.25, 0.75], numbers(3, 1), np.ones((3, 1, 1))),
     "weights must be positive, but the smallest is -0.25"),
    (lambda: gaussian_mixture([0.5, 0.25], numbers(2, 1), np.ones((2, 1, 1))),
     "weights must sum to one, not to 0.75"),
    (lambda: gaussian_mixture([0.5, 0.5], numbers(2, 1), [[[1.0]], [[-1.0]]]), "covariances[1] must"
     " be positive definite, but its Cholesky factorisation breaks down")])
def test_messages_say_what_was_wanted_and_what_was_found(call, message):
    with pytest.raises(ValueError) as error:
        call()
    assert str(error.value) == message


def test_curvatures_that_rounding_makes_negative_count_as_0():
    model = by_groups(curvature=BEND * np.array([1.0, 2e-12]))
    np.testing.assert_array_equal(model.b, np.tile([0.0, 1.0], (3, 1)))


def test_a_site_that_rounding_makes_negative_counts_as_0():
    tau = np.append(np.ones(5), -0.5e-8)
    assert GPClassification.from_ep(K, SIGNS, EP_FOUND._replace(tau=tau)).tau[-1] == 0.0


def test_covariates_whose_products_are_no_numbers_are_refused():
    by_groups(X=X * np.array([1.0, 1e99]))
    with pytest.raises(ValueError, match=r"^X at its largest must be a .* in \[0, 1e\+100\], not"):
        by_groups(X=X * np.array([1.0, 1e103]))


def test_labels_of_any_length_are_told_apart():
    labels = np.array(["ab", "ac", "ab", "b", "b", "ac"], object)
    np.testing.assert_array_equal(by_groups(group=labels).starts, [0, 2, 4, 6])


def test_masses_that_are_left_out():
    for model, mass in ((FUNNEL, 3 + 1 / 9), (GROUPS, 6 / 2), (COX, 1.0), (VOLATILITY, 1.0),
                        (FIELD, 1.0)):
        np.testing.assert_allclose(model.L_phi @ model.L_phi.T, mass * np.eye(len(model.L_phi)),
                                   rtol=1e-15)


# The public ones whose arguments a check_ function takes are known by that
SLICES = dict(max_widths=10)
EXACTLY = dict(tol=1e-12, tol_back=1e-8)
LEFT_OUT = {
    check_ais_elliptical_slice: dict(repeats=1),
    check_auxiliary_mixture: SLICES | dict(w=(0.1, 0.1, 0.3), keep=None),
    bridge_sampling: dict(tau=None, tol=1e-10, max_iterations=10000),
    check_delayed: dict(inner=1),
    discretizing_chain_fast.check_discretizing: SLICES | dict(r=1, s=1, unit="variable",
                                                              marks=False),
    dragging.check_dragging: SLICES | dict(n_steps=20, sweeps=1, w=0.5),
    elliptical_slice.check_elliptical_slice: dict(mean=None, factor=None, thin=1),
    check_ep: dict(tol=1e-8, max_sweeps=100, damping=1.0),
    check_second_order: dict(order=4),
    initial_sequence: dict(monotone=True),
    significant_lags: dict(literal=False),
    fitted_walk.check_fitted_walk: dict(thin=1),
    fitted_walk.pilot: dict(rounds=4, scale=0.1),
    generalised_leapfrog.check_trajectory: dict(f_max=100, tol=1e-12),
    generalised_leapfrog.check_chain: EXACTLY | dict(f_max=100),
    hmc.check_hmc: dict(M=None, jitter=0.0),
    map_estimate: dict(q0=None, tol=1e-10, max_iterations=100),
    paquet_rmhmc.check_rmhmc: dict(f_max=5),
    polya_gamma_gibbs.polya_gamma_gibbs: SLICES | dict(w=0.3, keep=None),
    random_walk.check_random_walk: dict(thin=1),
    rmhmc_within_gibbs.check_rmhmc_within_gibbs: EXACTLY | dict(
        jitter=0.0, keep=None, f_position=100, f_momentum=100),
    slice_sampling.check_slice: SLICES,
    split_hmc.check_normal: dict(jitter=0.2),
    split_hmc.check_data: dict(jitter=0.2),
    sshmc.abla_path: dict(n_theta=1, n_phi=1),
    sshmc.check_sshmc: dict(n_theta=1, n_phi=1, jitter=0.0, keep=None),
    surrogate_slice.check_surrogate_slice: dict(ellipses=5, keep=None),
    tempered_transitions_fast.check_tempered: SLICES | dict(unit="variable"),
    Funnel.from_size: dict(mass_phi=None),
    GPClassification.from_prior: dict(beta=1.0),
    GPClassification.from_ep: dict(beta=1.0),
    GPFITC.from_model: dict(jitter=1e-10),
    GPNystrom.from_model: dict(jitter=1e-10),
    GPVariational.from_model: dict(jitter=1e-10),
    GPRegression.from_data: dict(c=10.0, prior_mean=0.0, prior_sd=2.0),
    HierarchicalGPClassification.from_data: dict(
        prior_mean=(0.0, 0.0), prior_sd=(2.0, 2.0), nugget=1e-6, mass_phi=None),
    HierarchicalLogistic.from_data: dict(lam=0.01, mass_phi=None, curvature="bound"),
    LogGaussianCox.from_counts: dict(distance="unit", mass_phi=None),
    LogisticRegression.from_data: dict(sigma_alpha=5.0, sigma_beta=5.0),
    MultinomialLogistic.from_data: dict(sigma_alpha=5.0, sigma_beta=5.0),
    StochasticVolatility.from_data: dict(mass_phi=None, beta_shape=0.0, beta_rate=0.0),
}


def test_what_is_left_out_is_as_the_docstrings_have_it():
    for function, expected in LEFT_OUT.items():
        parameters = inspect.signature(function).parameters.values()
        found = {each.name: each.default for each in parameters if each.default is not each.empty}
        assert found == expected, function.__qualname__


def test_a_chain_that_does_not_fit_into_memory_is_refused_by_name():
    resource = pytest.importorskip("resource", reason="the system sets no limits to a process")
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (2**35, limits[1]))  # 34 GB
    n = 2**31 - 1
    try:
        for call in (lambda: hmc.hmc(numbers(3), NORMAL, SMALL, 2, n=n, rng=rng()),
                     lambda: random_walk.random_walk(numbers(3), NORMAL, 0.5, n, rng())):
            with pytest.raises(ValueError, match=r"^n must be such that the result fits into"
                                                 r" memory, not 2147483647: .* 51\.5 GB"):
                call()
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    with pytest.raises(ValueError, match=r"runs must be such .* at least 17\.2 GB; run pieces"):
        raise ValueError(too_large({"model": GPC, "runs": n}))
    assert "at least 34.4 GB" in too_large({"theta0": numbers(9), "n": n, "keep": [0, 1]})
    assert too_large({"X": X, "q": 1.0}) == "there is not enough memory for X, q"


@pytest.mark.parametrize("least, message", [
    (1, "draw must be a function of .* positive, finite numbers as m has"),
    (3, "draw must return positive, finite numbers, but in transition 1 theta became nan by them")])
def test_draws_that_are_infinite_are_refused_at_first_and_later(least, message):
    def endless(m, rng):
        return np.full(m.size, np.inf if m.size >= least else 1.0)

    with pytest.raises(ValueError, match=message):
        polya_gamma_gibbs.polya_gamma_gibbs(numbers(6), numbers(1), GROUPS, endless, 2, rng())
