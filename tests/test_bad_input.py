"""What a caller can get wrong with arrays, models and counts, over all samplers.

The docstring of a public function says which values each argument takes: those at the ends of
an interval are taken, thousands of others refused by a sentence that names the argument.  An array
that holds the right numbers in another form is the same to compiled code.  The caller's arrays are
as they were, and no result shares memory with them.
"""

import inspect
import operator
import os
import re
import subprocess
import sys
from functools import reduce
from typing import NamedTuple

import numpy as np
import pytest

from algorithms import (
    ep_fast,
    generalised_leapfrog,
    hmc,
    hoffman_nuts,
    hoffman_nuts_fast,
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
from algorithms.ep import ep
from algorithms.ep_correction import second_order
from algorithms.ess import (
    autocovariance,
    batch_means,
    combined_chains,
    ess,
    initial_sequence,
    lineage_ess,
    significant_lags,
)
from algorithms.map_estimate import MAP, map_estimate
from algorithms.orthant import orthant, tilted_run, tilting
from algorithms.rivals import (
    dragging,
    elliptical_slice,
    fitted_walk,
    polya_gamma_gibbs,
    surrogate_slice,
)
from algorithms.rivals.ais_elliptical_slice import ais_elliptical_slice
from algorithms.rivals.auxiliary_mixture import auxiliary_mixture
from algorithms.rivals.bridge_sampling import bridge_sampling
from algorithms.rivals.delayed_acceptance import delayed_acceptance
from models import interface, validate
from models.covariance import squared_exponential
from models.funnel import Funnel
from models.gaussian import Gaussian
from models.gp_classification import GPClassification
from models.gp_eigen import GPEigen
from models.gp_fitc import GPFITC
from models.gp_nystrom import GPNystrom
from models.gp_regression import GPRegression, predict
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
from models.validate import LARGEST, annotations, array_of


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


def draw(m, rng):
    return 0.2 + rng.random(m.size)


EP_FOUND = ep(K, SIGNS)
FIT = MAP(numbers(3), np.eye(3), 4, True, 0.5)
PARTS = split_hmc.split_data(LOGISTIC, numbers(3), 0.5)
BETAS = geometric_ladder(3, 0.25)
FEW = dict(l_max=2, eps=SMALL, t_max=2, f_max=3)
RMHMC = FEW | dict(tol=1e-12, tol_back=1e-8)
SPLIT = dict(q0=numbers(3), model=LOGISTIC, eps=SMALL, L=2, n=2, jitter=0.5)
SLICE = dict(w=0.5, n=2, max_widths=9)
GP = dict(x0=numbers(4), model=REGRESSION)
SUBSET = GPSubset.from_model(REGRESSION, CASES)


def by_hmc(q0, model):
    return hmc.hmc, dict(q0=q0, model=model, eps=SMALL, L=2, n=2, M=np.eye(q0.size), jitter=0.5)


def by_slices(x0, model):
    return slice_sampling.slice_sampling, SLICE | dict(x0=x0, model=model)


def by_sshmc(twin, theta0, phi0, model):
    steps = dict(eps_theta=SMALL, eps_phi=SMALL, L=2, n=2, n_theta=1, n_phi=1, jitter=0.5)
    return twin.sshmc, steps | dict(theta0=theta0, phi0=phi0, model=model, keep=np.array([0]))


# name: (a public function, the arguments it gets; `call` adds a Generator)
CALLS = {
    "hmc": by_hmc(numbers(3), NORMAL),
    "hmc of a mixture": by_hmc(numbers(2), MIXTURE),
    "hmc of classes": by_hmc(numbers(9), CLASSES),
    "hmc of GPC": by_hmc(numbers(N), GPC),
    "hmc of GPR": by_hmc(numbers(4), REGRESSION),
    "hmc of a block": by_hmc(numbers(3), interface.GivenPhi(FUNNEL, numbers(1))),
    "nuts": (hoffman_nuts_fast.nuts, dict(q0=numbers(3), model=NORMAL, n=2, warm_up=2,
                                          mass="dense", target=0.8, deepest=3)),
    "nuts_dual_averaging": (hoffman_nuts.nuts_dual_averaging, dict(
        q0=numbers(3), model=NORMAL, n=2, warm_up=1, target=0.65, eps=SMALL, deepest=3)),
    "hmc_dual_averaging": (hoffman_nuts.hmc_dual_averaging, dict(
        q0=numbers(3), model=NORMAL, length=0.5, n=2, warm_up=1, target=0.65)),
    "random_walk": (random_walk.random_walk,
                    dict(q0=numbers(3), model=NORMAL, scale=0.5, n=3, thin=1)),
    "fitted_walk": (fitted_walk.fitted_walk,
                    dict(q0=numbers(3), model=NORMAL, factor=np.eye(3), n=3, thin=1)),
    "pilot": (fitted_walk.pilot, dict(q0=numbers(3), model=NORMAL, n=9, rounds=4, scale=0.1)),
    "map_estimate": (map_estimate, dict(model=LOGISTIC, q0=numbers(3), tol=1e-9,
                                        max_iterations=50)),
    "normal_split_hmc": (split_hmc_fast.normal_split_hmc, SPLIT | dict(fit=FIT)),
    "data_split_hmc": (split_hmc_fast.data_split_hmc, SPLIT | dict(split=PARTS, M=2)),
    "split_data": (split_hmc.split_data, dict(model=LOGISTIC, q_hat=numbers(3), fraction=0.5)),
    "a leapfrog": (generalised_leapfrog.generalised_leapfrog, dict(
        x=numbers(2), p=numbers(2), model=MIXTURE, l_max=2, eps=SMALL, f_max=9, tol=1e-12)),
    "generalised_leapfrog": (generalised_leapfrog.rmhmc, RMHMC | dict(x0=numbers(2),
                                                                      model=MIXTURE)),
    "soft_abs": (generalised_leapfrog.rmhmc, RMHMC | dict(
        x0=numbers(4), model=SoftAbs.from_model(FUNNEL, 2.0))),
    "paquet_rmhmc": (paquet_rmhmc.rmhmc, FEW | dict(x0=numbers(N), model=GPC)),
    "paquet_rmhmc_fast": (paquet_rmhmc_fast.rmhmc, FEW | dict(x0=numbers(N), model=GPC)),
    "ais": (ais, dict(model=GPC, betas=BETAS, kernel=HMC(SMALL, 2), runs=2)),
    "ais_elliptical_slice": (ais_elliptical_slice, dict(model=GPC, betas=BETAS, runs=2,
                                                        repeats=1)),
    "elliptical_slice": (elliptical_slice.elliptical_slice,
                         dict(x0=numbers(N), model=GPC, n=3, thin=1)),
    "elliptical_slice of one's own": (elliptical_slice.elliptical_slice, dict(
        x0=numbers(3), model=NORMAL, n=3, mean=numbers(3), factor=np.eye(3))),
    "slice_sampling": by_slices(numbers(4), REGRESSION),
    "slice_sampling of FITC": by_slices(numbers(4), GPFITC.from_model(REGRESSION, CASES)),
    "slice_sampling of eigenvalues": by_slices(numbers(4), GPEigen.from_model(REGRESSION, 3)),
    "slice_sampling of a bound": by_slices(numbers(4),
                                           GPVariational.from_model(REGRESSION, CASES)),
    "slice_sampling of spectra": by_slices(numbers(3), GPSpectral.from_model(ISOTROPIC)),
    "discretizing_chain": (discretizing_chain_fast.discretizing_chain, SLICE | GP | dict(
        approximation=GPNystrom.from_model(REGRESSION, CASES), r=1, s=1, unit="sweep")),
    "tempered_transitions": (tempered_transitions_fast.tempered_transitions, SLICE | GP | dict(
        layers=(SUBSET,), unit="sweep")),
    "delayed_acceptance": (delayed_acceptance, dict(
        q0=numbers(4), model=REGRESSION, approximation=SUBSET, factor=np.eye(4) / 4, n=3,
        inner=1)),
    "dragging": (dragging.dragging, dict(
        q0=numbers(4), model=REGRESSION, slow=np.array([1]), factor=np.eye(1), n=2, n_steps=2,
        sweeps=1, w=0.5, max_widths=10)),
    "sshmc": by_sshmc(sshmc, numbers(3), numbers(1), FUNNEL),
    "sshmc_fast": by_sshmc(sshmc_fast, numbers(3), numbers(1), FUNNEL),
    "sshmc_fast of volatility": by_sshmc(sshmc_fast, numbers(N), numbers(3), VOLATILITY),
    "sshmc_fast of GPC": by_sshmc(sshmc_fast, numbers(N), numbers(2), FIELD),
    "sshmc_fast of groups": by_sshmc(sshmc_fast, numbers(6), numbers(1), GROUPS),
    "sshmc_fast of counts": by_sshmc(sshmc_fast, numbers(4), numbers(2), COX),
    "rmhmc_within_gibbs": (rmhmc_within_gibbs.rmhmc_within_gibbs, dict(
        theta0=numbers(6), phi0=numbers(1), model=GROUPS, eps_theta=SMALL, eps_phi=SMALL,
        L_theta=1, L_phi=1, n=2, jitter=0.5, keep=np.array([1]), f_position=9, f_momentum=9,
        tol=1e-12, tol_back=1e-8)),
    "auxiliary_mixture": (auxiliary_mixture, dict(
        theta0=numbers(N), phi0=numbers(3), model=VOLATILITY, n=2, w=np.ones(3), max_widths=9,
        keep=np.array([1]))),
    "polya_gamma_gibbs": (polya_gamma_gibbs.polya_gamma_gibbs, SLICE | dict(
        theta0=numbers(6), phi0=numbers(1), model=GROUPS, draw=draw, keep=np.array([1]))),
    "surrogate_slice": (surrogate_slice.surrogate_slice, dict(
        theta0=numbers(4), phi0=numbers(2), model=COX, noise=0.5, w=np.ones(2), n=2, ellipses=5,
        keep=np.array([1]))),
    "information": (information, dict(theta=numbers(6), model=GROUPS)),
    "predict": (predict, dict(Z=numbers(3, 2), q=numbers(4), model=REGRESSION)),
    "squared_exponential": (squared_exponential, dict(X=numbers(3, 2), Z=numbers(4, 2),
                                                      log_length=0.5, log_amplitude=0.25)),
    "ep": (ep, dict(K=K, y=SIGNS, tol=1e-8, max_sweeps=100, damping=1.0)),
    "ep_fast": (ep_fast.ep, dict(K=K, y=SIGNS, tol=1e-8, max_sweeps=100, damping=1.0)),
    "second_order": (second_order, dict(ep=EP_FOUND, y=SIGNS, order=4)),
    "geometric_ladder": (geometric_ladder, dict(B=1, beta_min=0.5)),
    "combine": (combine, dict(log_weights=numbers(9))),
    "bridge_sampling": (bridge_sampling, dict(at_target=numbers(9), at_proposal=numbers(8),
                                              tau=1.0, tol=1e-9, max_iterations=99)),
    **{each.__name__: (each, dict(x=numbers(9)))
       for each in (autocovariance, initial_sequence, batch_means, ess, lineage_ess)},
    "significant_lags": (significant_lags, dict(x=numbers(9), literal=False)),
    "combined_chains": (combined_chains, dict(x=numbers(2, 9))),
    "orthant": (orthant, dict(K=K, nodes=2)),
    "tilting": (tilting, dict(C=K)),
    "tilted_run": (tilted_run, dict(A=np.tril(K, -1), mu=numbers(N), points=4)),
    "from_size": (Funnel.from_size, dict(n=3, mass_phi=2.0)),
    "from_prior": (GPClassification.from_prior, dict(K=K, y=SIGNS, beta=0.5)),
    "from_ep": (GPClassification.from_ep, dict(K=K, y=SIGNS, ep=EP_FOUND, beta=0.5)),
    "GPEigen": (GPEigen.from_model, dict(model=REGRESSION, m=3)),
    "GPFITC": (GPFITC.from_model, dict(model=REGRESSION, index=CASES, jitter=1e-9)),
    "GPNystrom": (GPNystrom.from_model, dict(model=REGRESSION, index=CASES, jitter=1e-9)),
    "GPVariational": (GPVariational.from_model, dict(model=REGRESSION, index=CASES,
                                                     jitter=1e-9)),
    "GPSubset": (GPSubset.from_model, dict(model=REGRESSION, index=CASES)),
    "GPRegression": (GPRegression.from_data, dict(
        X=X, y=numbers(N), kind="ard", c=10.0, prior_mean=0.5, prior_sd=numbers(4) + 1.0)),
    "HierarchicalGPClassification": (HierarchicalGPClassification.from_data, dict(
        Z=X, y=SIGNS, prior_mean=numbers(2), prior_sd=np.ones(2), nugget=1e-6,
        mass_phi=np.eye(2))),
    "HierarchicalLogistic": (HierarchicalLogistic.from_data, dict(
        X=X, y=SIGNS, group=np.arange(N) // 2, lam=0.5, mass_phi=2.0,
        curvature="prior")),
    "LogGaussianCox": (LogGaussianCox.from_counts, dict(
        counts=np.arange(4.0).reshape(2, 2), mu=0.5, distance="pixel", mass_phi=np.eye(2))),
    "LogisticRegression": (LogisticRegression.from_data, dict(
        X=X, y=(SIGNS + 1) / 2, sigma_alpha=5.0, sigma_beta=5.0)),
    "MultinomialLogistic": (MultinomialLogistic.from_data, dict(
        X=X, y=np.arange(N) % 2, K=3, sigma_alpha=5.0, sigma_beta=5.0)),
    "gaussian_mixture": (gaussian_mixture, dict(
        weights=np.array([0.25, 0.75]), means=numbers(2, 3), covariances=np.tile(
            np.eye(3), (2, 1, 1)))),
    "mixture_draw": (mixture_draw, dict(model=MIXTURE, n=3)),
    "SoftAbs": (SoftAbs.from_model, dict(model=FUNNEL, alpha=2.0)),
    "StochasticVolatility": (StochasticVolatility.from_data, dict(
        y=numbers(N), mass_phi=np.eye(3), beta_shape=0.0, beta_rate=0.5)),
}



def call(name, **change):
    """Call what CALLS has under a name, with other arguments in the place of some."""
    function, arguments = CALLS[name]
    new = {"rng": rng()} if "rng" in inspect.signature(function).parameters else {}
    return function(**(arguments | new | change))


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
    """Yield the arrays and numbers of a result, without memory that is to be written into."""
    if type(result).__name__ == "Memory":
        return
    if isinstance(result, tuple):
        for each in result:
            yield from flat(each)
    else:
        yield result


def models_of(name):
    """Return {argument: model} of a call, without those that are of no fixed form."""
    return {argument: each for argument, each in CALLS[name][1].items()
            if argument in ("model", "approximation")}


def vectors_of(name):
    """Return {argument: array} of a call, without those of indices and labels."""
    return {argument: each for argument, each in CALLS[name][1].items()
            if isinstance(each, np.ndarray) and each.dtype == float}


def in_form(name, form, only_annotated=False):
    """Return the arrays of a call and of its models in another form."""
    changed = models_of(name)
    for argument, model in models_of(name).items():
        for _, path, annotation in arrays_of(model, argument):
            if annotation or not only_annotated:
                array = form(reduce(operator.getitem, path, model))
                changed[argument] = replaced(changed[argument], path, array)
    return changed | {argument: form(each) for argument, each in vectors_of(name).items()}


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

    def found(name, **change):
        try:
            return list(flat(call(name, **change)))
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


@pytest.mark.parametrize("name", CALLS)
def test_the_right_numbers_in_any_form_are_the_same_to_compiled_code(name, passed_on):
    expected = passed_on(name)
    for form in FORMS.values():
        same(passed_on(name, **in_form(name, form)), expected)
    same(passed_on(name, **in_form(name, np.ndarray.tolist, only_annotated=True)), expected)
    same(passed_on(name, **{argument: each.astype(np.float32) for argument, each
                            in vectors_of(name).items()}), expected)


@pytest.mark.parametrize("name", CALLS)
def test_other_numbers_in_a_model_are_refused_by_name(name):
    for argument, model in models_of(name).items():
        for field, path, annotation in arrays_of(model, argument):
            if not annotation:
                continue
            old = reduce(operator.getitem, path, model)
            wrong = REFUSED | {k: v for k, v in WRONG.items() if annotation.finite or k == "deep"}
            for change in wrong.values():
                what = field.rsplit(".", 1)[-1]
                with pytest.raises(ValueError, match=rf"\b{what}\b|\.\w+ must"):
                    call(name, **{argument: replaced(model, path, change(old))})


def leave_the_callers_arrays(name):
    """Call a function and see that the arrays it got are as they were, and no result is in them."""
    vectors = [*vectors_of(name).values()]
    mine = vectors + [reduce(operator.getitem, path, model)
                      for argument, model in models_of(name).items()
                      for _, path, annotation in arrays_of(model, argument) if annotation]
    models_share = CALLS[name][0].__name__ == "from_model"
    before = [a.copy() for a in mine]
    for result in flat(call(name)):
        if isinstance(result, np.ndarray) and result.size:
            assert not any(np.shares_memory(result, a) for a in (
                vectors if models_share else mine)), name
    same(mine, before)


def test_the_callers_arrays_stay_and_no_result_shares_memory_with_them():
    # interpreted, since every sampler and model here would have to be compiled for that
    code = "import test_bad_input as t\nfor name in t.CALLS: t.leave_the_callers_arrays(name)"
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {
        "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)})


# What a docstring says of an argument


def documented(function):
    """Return {argument: what the docstring says that it is}."""
    found, text = {}, function.__doc__
    if other := re.search(r"arguments and result as algorithms\.(\w+)\.(\w+)", text):
        text = getattr(sys.modules[f"algorithms.{other[1]}"], other[2]).__doc__
    for line in re.sub(" +: ", " : ", text).splitlines():
        for cell in re.split(r" {2,}", line.strip()):
            said = re.fullmatch(r"((?:\w+, )*\w+) : (.+)", cell)
            if said and said[1].split(", ")[0] in inspect.signature(function).parameters:
                names, kinds = said[1].split(", "), re.split(r", (?![^(\[]*[)\]])", said[2])
                each = kinds if len(kinds) == len(names) else [said[2]] * len(names)
                found |= dict(zip(names, each, strict=True))
    return found


class Other(NamedTuple):
    """A model of another kind."""

    name: str = "a"


JUNK = ["1", "text", b"1", 1j, 10**400, [10**400], {}, {"a": 1}, set(), object(), ..., [None],
        ["a"], [1.0, [1.0, 2.0]], np.array(["1"]), np.array([1j]), np.array(["2020"], "M8[Y]"),
        np.ma.ones(2), np.full((2, 2, 2), np.nan), np.nan, np.inf, -np.inf, np.longdouble("1e400"),
        Other()]


def interval(kind):
    """Return the least and the largest number of a kind, and whether the least is ruled out."""
    bound, low, high = re.match(
        r"\w+(?: (>=?|from|in [(\[]) ?(\S+?)(?:(?:,| to) ([\d.e]+)]?)?)?(?:$|[ ,])", kind).groups()
    return float(low or -np.inf), float(high or np.inf), bound in (">", "in (")


def wrong(kind, good):
    """Yield (a value that a docstring rules out, a part of the answer)."""
    never = JUNK + [None] * ("None" not in kind) + [[]] * ("kept" not in kind)
    yield from ((value, "") for value in never)
    if kind.startswith("int"):
        low, high, _ = interval(kind)
        for value in (int(low) - 1, -(2**63), True, float(good), good + 0.5):
            given = "the float " * isinstance(value, float)
            yield value, f"must be a whole number of at least {low:.0f}, not {given}{value!r}"
        for value in (2**31, 10**400) if high == np.inf else (int(high) + 1,):
            yield value, f"at most {min(high, LARGEST):.0f}, not {value!r}"
    elif kind.startswith("float"):
        low, high, open_low = interval(kind)
        yield True, "must be a real number, not True"
        outside = [low] * open_low + [np.nextafter(low, -np.inf), -1e300] * (low > -np.inf)
        outside += [np.nextafter(high, np.inf), 1e300] * (high < np.inf)
        for value in map(float, outside):
            yield value, f"{'(' if open_low else '['}{low:g}, "
            yield value, f", not {value!r}"
    elif kind.startswith("bool"):
        yield from ((value, "must be True or False") for value in (1, None))
    elif kind.startswith("("):
        good = np.asarray(good)
        last = good.astype(float)
        last.flat[-1] = np.inf
        yield 0.5, "must "
        yield from [(good[..., None], "")] * (" or (" not in kind)
        if "labels" not in kind:  # which may be of any kind
            yield from ((form(good), "") for form in REFUSED.values() if form(good) is not None)
            yield last, ""


@pytest.mark.parametrize("name", CALLS)
def test_what_a_docstring_rules_out_is_refused_by_name(name):
    function, arguments = CALLS[name]
    kinds = documented(function)
    assert {*kinds} == {*inspect.signature(function).parameters}
    for argument in {*arguments, "rng"} & {*kinds}:
        for value, answer in wrong(kinds[argument], arguments.get(argument)):
            with pytest.raises(ValueError) as error:
                call(name, **{argument: value})
            told = str(error.value)
            assert re.search(rf"^(\w+ and )?({'|'.join(kinds)})\b.* (must|is empty)", told), value
            assert re.search(rf"\b{argument}\b", told) and answer in told, value


@pytest.mark.parametrize("name", CALLS)
def test_the_ends_of_an_interval_are_taken(name):
    function, arguments = CALLS[name]
    if "rng" in inspect.signature(function).parameters:
        arguments = arguments | {"rng": rng()}
    check = getattr(function, "check", function)
    for argument, kind in documented(function).items():
        if kind.startswith(("int", "float")) and function is not map_estimate:
            low, high, open_low = interval(kind)
            for end in [low] * (not open_low) + [high]:
                if np.isfinite(end):
                    check(**(arguments | {argument: int(end) if kind[0] == "i" else end}))


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
    (SoftAbs(FUNNEL, -1.0), r"alpha must be a finite number in \(0, inf\)"),
    (COX._replace(counts=np.zeros(9), distance=np.zeros((3, 3))), "memory must be that of a 3 x 3"),
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
        call(name, **{"layers": [approximation()]} if name == "tempered_transitions" else {
            "approximation": approximation()})


def test_sites_whose_mean_would_overflow_are_refused():
    found = ep(K, SIGNS)
    with pytest.raises(ValueError, match=r"^ep.nu's largest size must be .* 1e\+100\], not"):
        GPClassification.from_ep(K, SIGNS, found._replace(nu=np.full(N, -1e308)))
    GPClassification.from_ep(K, SIGNS, found._replace(nu=np.full(N, -1e100)))


STARTS = "q0", "x0", "theta0"  # and phi0, which goes with theta0
SIZED = *STARTS, "phi0", "w", "M", "mean", "factor", "q", "q_hat", "theta", "tau", "nu"


@pytest.mark.parametrize("name", CALLS)
def test_what_does_not_go_with_the_model_is_refused_by_name(name):
    arguments = CALLS[name][1]
    wrong = {argument: np.pad(each, (0, 1), constant_values=1.0)
             for argument, each in arguments.items()
             if argument in SIZED and np.ndim(each) and "model" in arguments}
    wrong |= {"keep": [arguments["theta0"].size]} if "keep" in arguments else {}
    for argument, value in wrong.items():
        with pytest.raises(ValueError, match=rf"^({argument}|model) (must|has)"):
            call(name, **{argument: value})


@pytest.mark.parametrize("name", CALLS)
def test_a_start_where_the_energy_is_not_finite_is_refused(name):
    for start in {*STARTS} & {*CALLS[name][1]} - {"rng"}:
        for size in (1e200, -1e200):
            with pytest.raises(ValueError, match=rf"^{start}( and phi0)? must be where .* finite"):
                call(name, **{start: np.full(CALLS[name][1][start].size, size)})


def short(n):
    return np.arange(n, dtype=float)


def by_groups(**named):
    """Make a logistic regression of three groups of two, with arguments of another value."""
    return HierarchicalLogistic.from_data(**(dict(X=X, y=SIGNS, group=np.arange(N) // 2) | named))


OTHERS = LogisticRegression.from_data(X[::-1], (SIGNS + 1) / 2)
BEND = np.tile(np.diag([1.0, -0.5]), (3, 1, 1))
UPPER = np.triu(np.ones((N, N)))


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
    (lambda: geometric_ladder(2, 1.0), "beta_min must be below 1 for a ladder of B = 2 steps"),
    (lambda: ais(GPC, [0.5, 0.6, 0.7, 1.0], HMC(SMALL, 1), 1, rng()),
     "betas must increase strictly from 0 to 1, as geometric_ladder's do; it starts"
     " [0.5, 0.6, 0.7] and ends [0.6, 0.7, 1.0]"),
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
    (lambda: call("elliptical_slice of one's own", factor=None),
     "mean must come with a factor, the Cholesky factor of its covariance"),
    (lambda: elliptical_slice.elliptical_slice(numbers(3), NORMAL, 1, rng()),
     "factor must be given for a model of type Gaussian, which has no Gaussian of its own"),
    (lambda: ep(np.diag([1.0, -2.0]), [1, 1]), "K must be positive definite, but its Cholesky"
     " factorisation fails; its smallest eigenvalue is -2: so it is no covariance, by more than"
     " rounding: see how it was computed"),
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
    (lambda: LogisticRegression.from_data(X, ["0", "1"] * 3),
     "y must be an array of real numbers, not list of <U1: convert text such as '1' to float"),
    (lambda: LogisticRegression.from_data(X, np.array(["2020-01-01"] * 6, "datetime64[D]")),
     "y must be an array of real numbers, not ndarray of datetime64[D]: write numbers for dates,"
     " such as days since the first"),
    (lambda: MultinomialLogistic.from_data(X, ["a", "b", "c"] * 2, 3),
     "y must be an array of real numbers, not list of <U1: it holds text, such as 'a'; write"
     " numbers for it, such as y == 'a'"),
    (lambda: GPClassification.from_prior(K, (SIGNS > 0) * 1),
     "y must hold only -1 and +1, but holds [0.0]; write np.where(y == 1, 1, -1)"),
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
    (lambda: by_groups(curvature=np.tile(UPPER[:2, :2], (3, 1, 1))),
     "curvature[0] must be symmetric, but differs from its transpose by 1"),
    (lambda: LogGaussianCox.from_counts(np.zeros((2, 3)), 0.0),
     "counts must be square, not of shape (2, 3): take a square part of the grid, or cells of"
     " another size"),
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


CASES_OF_NONE = PARTS._replace(R_0=interface.select_cases(LOGISTIC, np.arange(0), 1.0),
                               R_1=LOGISTIC)


# (what CALLS has, the argument that is changed, its value, what is said of it)
@pytest.mark.parametrize(("name", "argument", "value", "message"), [
    ("StochasticVolatility", "y", np.zeros(4),
     "must not be zero throughout: beta has no posterior distribution"),
    ("StochasticVolatility", "mass_phi", -np.eye(3),
     "must be positive definite, but its Cholesky factorisation failed"),
    ("auxiliary_mixture", "model", StochasticVolatility.from_data(np.arange(N)),
     "must be of a series without zeros, whose logarithms are finite"),
    ("HierarchicalLogistic", "curvature", "none",
     "must be one of ('bound', 'prior') or an array, not 'none'"),
    ("HierarchicalLogistic", "group", [1j] * N,
     "must be an array of numbers or of strings, not list of complex128"),
    ("HierarchicalLogistic", "group", [1, "a", object(), 2, 2, 2],
     "must be an array of numbers or of strings, not list of object"),
    ("LogGaussianCox", "distance", "cells", "must be 'unit' or 'pixel', not 'cells'"),
    ("HierarchicalGPClassification", "Z", np.where(np.eye(N, 1), 1e200, 1.0),
     "must have squares that can be added up, but they overflow"),
    ("HierarchicalGPClassification", "prior_sd", (1.0, 0.0), "must be > 0, but is [1.0, 0.0]"),
    ("GPRegression", "kind", "iso", "must be 'isotropic' or 'ard', not 'iso'"),
    *((name, "index", value, message)
      for name in ("GPSubset", "GPNystrom", "GPFITC", "GPVariational")
      for value, message in ((np.arange(0), "is empty: at least one case is needed"),
                             (None, "must be a list of whole numbers, not None"),
                             ([-1, 3], "must hold indices from 0 to 5, not [-1, 3]"))),
    ("SoftAbs", "model", REGRESSION,
     "must have hessian (models/interface.py), but GPRegression has none"),
    ("from_prior", "K", -np.eye(N), "must be positive definite, but its Cholesky"
     " factorisation fails; its smallest eigenvalue is -1: so it is no covariance, by more than"
     " rounding: see how it was computed"),
    ("from_prior", "K", K + UPPER, "must be symmetric, but differs from its transpose by 1"),
    ("from_ep", "K", K + UPPER, "must be symmetric, but differs from its transpose by 1"),
    ("from_ep", "ep", EP_FOUND._replace(converged=False), "has not converged, so its q is no fixed"
     " point: run it with more max_sweeps, or with damping"),
    ("orthant", "K", K + UPPER, "must be symmetric, but differs from its transpose by 1"),
    ("tilting", "C", K + UPPER, "must be symmetric, but differs from its transpose by 1"),
    ("predict", "Z", numbers(4, 3), "must have shape (n, 2), not (4, 3)"),
    ("squared_exponential", "Z", numbers(4, 3), "must have shape (n, 2), not (4, 3)"),
    ("a leapfrog", "p", numbers(3), "must have shape (2,), not (3,)"),
    ("tilted_run", "mu", numbers(2), "must have shape (6,), not (2,)"),
    ("hmc", "M", -np.eye(3), "must be positive definite, but its Cholesky factorisation failed"),
    ("hmc", "M", UPPER[:3, :3], "must be symmetric, but differs from its transpose by 1"),
    *(("elliptical_slice of one's own", "factor", value,
       "must be a lower Cholesky factor: 0 above the diagonal, and positive on it")
      for value in (UPPER[:3, :3], np.diag([1.0, 0.0, 1.0]))),
    *((name, "factor", value, "must be lower triangular with a positive diagonal, as a Cholesky"
       " factor is") for name, value in (("fitted_walk", UPPER[:3, :3]),
                                         ("fitted_walk", np.diag([1.0, 0.0, 1.0])),
                                         ("delayed_acceptance", UPPER[:4, :4]),
                                         ("dragging", -np.eye(1)))),
    ("dragging", "slow", [4], "must hold indices from 0 to 3, not [4]"),
    ("nuts_dual_averaging", "warm_up", 3, "must be at most n = 2, not 3"),
    ("nuts", "mass", "unit", "must be 'diagonal', 'fisher' or 'dense', not 'unit'"),
    ("data_split_hmc", "split", CASES_OF_NONE, "must be made of this model by split_data, but it"
     " has 0 + 6 cases, and the model has 6"),
    ("tempered_transitions", "layers", (), "must be a tuple of one model or more, the one nearest"
     " to the density first, not tuple"),
    ("ais", "betas", [0.0, 0.5, 0.5, 1.0], "must increase strictly from 0 to 1, as"
     " geometric_ladder's do; it starts [0.0, 0.5, 0.5] and ends [0.5, 0.5, 1.0]"),
    ("ais", "betas", [0.0, 0.9], "must increase strictly from 0 to 1, as"
     " geometric_ladder's do; it starts [0.0, 0.9] and ends [0.0, 0.9]")])
def test_messages_say_what_an_argument_must_be(name, argument, value, message):
    with pytest.raises(ValueError) as error:
        call(name, **{argument: value})
    assert str(error.value) == f"{argument} {message}"


def test_curvatures_that_rounding_makes_negative_count_as_0():
    model = by_groups(curvature=BEND * np.array([1.0, 2e-12]))
    np.testing.assert_array_equal(model.b, np.tile([0.0, 1.0], (3, 1)))


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
    assert "not enough memory for what the model computes" in too_large({"x0": X, "n": 10})


@pytest.mark.parametrize("least, message", [
    (1, "draw must be a function of .* positive, finite numbers as m has"),
    (3, "draw must return positive, finite numbers, but in transition 1 theta became nan by them")])
def test_draws_that_are_infinite_are_refused_at_first_and_later(least, message):
    def endless(m, rng):
        return np.full(m.size, np.inf if m.size >= least else 1.0)

    with pytest.raises(ValueError, match=message):
        polya_gamma_gibbs.polya_gamma_gibbs(numbers(6), numbers(1), GROUPS, endless, 2, rng())
