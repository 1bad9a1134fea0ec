"""What a caller can get wrong with arrays, models and counts, over all samplers.

The docstring of a public function says which values each argument takes: those at the ends of
an interval are taken, thousands of others refused by a sentence that names the argument.
"""

import inspect
import re
import sys
from ast import literal_eval
from functools import reduce
from importlib import import_module
from typing import NamedTuple

import numpy as np
import pytest

from algorithms import rmhmc_within_gibbs
from algorithms import shahbaba_split_hmc as split_hmc
from algorithms.ais import HMC, geometric_ladder
from algorithms.ep import ep
from algorithms.ep_correction import second_order
from algorithms.map_estimate import MAP, map_estimate
from algorithms.rivals.elliptical_slice import Relative
from conftest import python
from judging import replaced
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
from models.hierarchical_logistic import GroupGivenV, HierarchicalLogistic
from models.jit import ROOT, too_large
from models.log_gaussian_cox import LogGaussianCox
from models.logistic_regression import LogisticRegression
from models.mixture import gaussian_mixture
from models.multinomial_logistic import MultinomialLogistic
from models.non_centred import NonCentred, energy_of_data, theta_of
from models.non_centred_gp import NonCentredGP
from models.soft_abs import SoftAbs
from models.stochastic_volatility import StochasticVolatility
from models.validate import LARGEST, annotations, array_of
from reproduce.harness import papers
from test_validate import own


def numbers(*shape):
    """Numbers that float32 has too."""
    return (np.arange(int(np.prod(shape))) * 0.625 % 2.125 - 0.5).reshape(shape)


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
EP_FOUND = ep(K, SIGNS)
EP_MODEL = GPClassification.from_ep(K, SIGNS, EP_FOUND)
FIT = MAP(numbers(3), np.eye(3), 4, True, 0.5)
PARTS = split_hmc.split_data(LOGISTIC, numbers(3), 0.5)
SUBSET = GPSubset.from_model(REGRESSION, CASES)


def rng():
    return np.random.default_rng(3)


# module.name: a function or class of algorithms/ and models/
DEFINED = {f"{module.__name__.rpartition('.')[2]}.{name}": each
           for folder in ("algorithms", "models") for path in sorted((ROOT / folder).rglob("*.py"))
           for module in [import_module(papers.module(path))] for name, each in vars(module).items()
           if getattr(each, "__module__", "") == module.__name__}
# what an argument is, unless a call says something else; `...` leaves out what has a default
USUAL = dict(
    q0=numbers(3), model=NORMAL, n=2, eps=SMALL, L=2, jitter=0.5, warm_up=1, target=0.65, deepest=3,
    mass="dense", length=0.5, scale=0.5, factor=np.eye(3), thin=1, l_max=2, t_max=2, f_max=3,
    tol=1e-12, tol_back=1e-8, max_iterations=99, betas=geometric_ladder(3, 0.25), runs=2, repeats=1,
    kernel=HMC(SMALL, 2), w=0.5, max_widths=9, r=1, s=1, unit="sweep", n_steps=2, sweeps=1, inner=1,
    eps_theta=SMALL, eps_phi=SMALL, n_theta=1, n_phi=1, L_theta=1, L_phi=1, keep=np.array([0]),
    f_position=9, f_momentum=9, noise=0.5, ellipses=5, max_sweeps=100, damping=1.0, y=SIGNS,
    x=numbers(9), index=CASES, beta=0.5, nodes=2, sigma_alpha=5.0, sigma_beta=5.0)
GP = dict(x0=numbers(4), model=REGRESSION)
OF_FUNNEL = dict(theta0=numbers(3), phi0=numbers(1), model=FUNNEL)
OF_GROUPS = dict(theta0=numbers(6), phi0=numbers(1), model=GROUPS)
# name: the arguments that are not as usual; those of "hmc of GPC" and "hmc" are of one function
SPECIAL = {
    "hmc": dict(M=np.eye(3)), "hmc of a mixture": dict(q0=numbers(2), model=MIXTURE, M=np.eye(2)),
    "hmc of classes": dict(q0=numbers(9), model=CLASSES, M=np.eye(9)),
    "hmc of GPC": dict(q0=numbers(N), model=GPC, M=np.eye(N)),
    "hmc of GPR": dict(q0=numbers(4), model=REGRESSION, M=np.eye(4)),
    "hmc of a block": dict(model=interface.GivenPhi(FUNNEL, numbers(1)), M=np.eye(3)),
    "nuts": dict(warm_up=2, target=0.8), "nuts_dual_averaging": {}, "hmc_dual_averaging": {},
    "random_walk": dict(n=3), "fitted_walk": dict(n=3), "pilot": dict(n=9, rounds=4, scale=0.1),
    "map_estimate": dict(model=LOGISTIC, tol=1e-9),
    "normal_split_hmc": dict(model=LOGISTIC, fit=FIT),
    "data_split_hmc": dict(model=LOGISTIC, split=PARTS, M=2),
    "split_data": dict(model=LOGISTIC, q_hat=numbers(3), fraction=0.5),
    "a leapfrog": dict(x=numbers(2), p=numbers(2), model=MIXTURE, f_max=9),
    "generalised_leapfrog": dict(x0=numbers(2), model=MIXTURE),
    "soft_abs": dict(x0=numbers(4), model=SoftAbs.from_model(FUNNEL, 2.0)),
    "paquet_rmhmc": dict(x0=numbers(N), model=GPC),
    "paquet_rmhmc_fast": dict(x0=numbers(N), model=GPC), "ais": dict(model=GPC),
    "ais_elliptical_slice": dict(model=GPC),
    "elliptical_slice": dict(x0=numbers(N), model=GPC, n=3, factor=...),
    "elliptical_slice of one's own": dict(x0=numbers(3), n=3, mean=numbers(3), thin=...),
    "slice_sampling": GP,
    "slice_sampling of FITC": GP | dict(model=GPFITC.from_model(REGRESSION, CASES)),
    "slice_sampling of eigenvalues": GP | dict(model=GPEigen.from_model(REGRESSION, 3)),
    "slice_sampling of a bound": GP | dict(model=GPVariational.from_model(REGRESSION, CASES)),
    "slice_sampling of spectra": dict(x0=numbers(3), model=GPSpectral.from_model(ISOTROPIC)),
    "discretizing_chain": GP | dict(approximation=GPNystrom.from_model(REGRESSION, CASES)),
    "tempered_transitions": GP | dict(layers=(SUBSET,)),
    "delayed_acceptance": dict(q0=numbers(4), model=REGRESSION, approximation=SUBSET,
                               factor=np.eye(4) / 4, n=3),
    "dragging": dict(q0=numbers(4), model=REGRESSION, slow=np.array([1]), factor=np.eye(1)),
    "sshmc": OF_FUNNEL, "sshmc_fast": OF_FUNNEL,
    "sshmc_fast of volatility": dict(theta0=numbers(N), phi0=numbers(3), model=VOLATILITY),
    "sshmc_fast of GPC": dict(theta0=numbers(N), phi0=numbers(2), model=FIELD),
    "sshmc_fast of groups": OF_GROUPS,
    "sshmc_fast of counts": dict(theta0=numbers(4), phi0=numbers(2), model=COX),
    "rmhmc_within_gibbs": OF_GROUPS,
    "auxiliary_mixture": dict(theta0=numbers(N), phi0=numbers(3), model=VOLATILITY, w=np.ones(3)),
    "polya_gamma_gibbs": OF_GROUPS | dict(draw=lambda m, rng: 0.2 + rng.random(m.size)),
    "surrogate_slice": dict(theta0=numbers(4), phi0=numbers(2), model=COX, w=np.ones(2)),
    "information": dict(theta=numbers(6), model=GROUPS),
    "predict": GP | dict(Z=numbers(3, 2), q=numbers(4)),
    "squared_exponential": dict(X=numbers(3, 2), Z=numbers(4, 2), log_length=0.5,
                                log_amplitude=0.25), "ep": dict(K=K, tol=1e-8),
    "ep_fast": dict(K=K, tol=1e-8), "second_order": dict(ep=EP_FOUND, order=4),
    "geometric_ladder": dict(B=1, beta_min=0.5), "combine": dict(log_weights=numbers(9)),
    "bridge_sampling": dict(at_target=numbers(9), at_proposal=numbers(8), tau=1.0, tol=1e-9),
    "autocovariance": {}, "initial_sequence": {}, "batch_means": {}, "ess": {}, "lineage_ess": {},
    "significant_lags": dict(literal=False), "combined_chains": dict(x=numbers(2, 9)),
    "orthant": dict(K=K), "tilting": dict(C=K),
    "tilted_run": dict(A=np.tril(K, -1), mu=numbers(N), points=4),
    "from_size": dict(n=3, mass_phi=2.0), "from_prior": dict(K=K),
    "from_ep": dict(K=K, ep=EP_FOUND), "GPEigen": GP | dict(m=3), "GPSubset": GP, "GPFITC": GP,
    "GPNystrom": GP, "GPVariational": GP,
    "GPRegression": dict(X=X, y=numbers(N), kind="ard", c=10.0, prior_mean=0.5,
                         prior_sd=numbers(4) + 1.0),
    "HierarchicalGPClassification": dict(Z=X, prior_mean=numbers(2), prior_sd=np.ones(2),
                                         nugget=1e-6, mass_phi=np.eye(2)),
    "HierarchicalLogistic": dict(X=X, group=np.arange(N) // 2, lam=0.5, mass_phi=2.0,
                                 curvature="prior"),
    "LogGaussianCox": dict(counts=np.arange(4.0).reshape(2, 2), mu=0.5, distance="pixel",
                           mass_phi=np.eye(2)), "LogisticRegression": dict(X=X, y=(SIGNS + 1) / 2),
    "MultinomialLogistic": dict(X=X, y=np.arange(N) % 2, K=3),
    "gaussian_mixture": dict(weights=np.array([0.25, 0.75]), means=numbers(2, 3),
                             covariances=np.tile(np.eye(3), (2, 1, 1))),
    "mixture_draw": dict(model=MIXTURE, n=3), "SoftAbs": dict(model=FUNNEL, alpha=2.0),
    "StochasticVolatility": dict(y=numbers(N), mass_phi=np.eye(3), beta_shape=0.0, beta_rate=0.5),
}
# name: that of the function in DEFINED, where it is another
NAMES = {"a leapfrog": "generalised_leapfrog.generalised_leapfrog", "ep": "ep.ep",
         "ep_fast": "ep_fast.ep", "generalised_leapfrog": "generalised_leapfrog.rmhmc",
         "soft_abs": "generalised_leapfrog.rmhmc", "paquet_rmhmc": "paquet_rmhmc.rmhmc",
         "paquet_rmhmc_fast": "paquet_rmhmc_fast.rmhmc", "sshmc": "zhang_sshmc.sshmc",
         "sshmc_fast": "zhang_sshmc_fast.sshmc", "from_size": "Funnel"}


def function_of(name):
    """Return the public function of a call, or of a class what makes one."""
    if name in ("from_prior", "from_ep"):
        return getattr(GPClassification, name)
    name = name.partition(" of ")[0]
    place = f".{NAMES.get(name, name)}"
    found = next(each for key, each in DEFINED.items() if f".{key}".endswith(place))
    makers = [part for part in dir(found) if part.startswith("from_")]
    return getattr(found, makers[0]) if isinstance(found, type) else found


def complete(function, changes):
    """Return a function and the arguments that it gets; `call` adds a Generator."""
    given = USUAL | changes
    return function, {name: given[name] for name in inspect.signature(function).parameters
                      if given.get(name, ...) is not ...}


CALLS = {name: complete(function_of(name), changes) for name, changes in SPECIAL.items()}


def call(name, **change):
    function, arguments = CALLS[name]
    new = {"rng": rng()} if "rng" in inspect.signature(function).parameters else {}
    return function(**(arguments | new | change))


def test_every_compiled_function_that_is_public_is_called_here():
    called = {id(function) for function, _ in CALLS.values()}
    for name, function in DEFINED.items():
        if hasattr(function, "compiled"):
            assert id(function) in called, f"{name} needs a row in CALLS"
            assert function.__name__ == name.partition(".")[2]
            assert inspect.signature(function) == inspect.signature(function.check)


def unaligned(a):
    found = np.empty(a.nbytes + 1, np.uint8)[1:].view(a.dtype).reshape(a.shape)
    found[...] = a
    return found


FORMS = {"read-only": lambda a: np.broadcast_to(a, a.shape), "Fortran": np.asfortranarray,
         "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2], "unaligned": unaligned,
         "reversed": lambda a: np.ascontiguousarray(a[..., ::-1])[..., ::-1],
         "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
         "objects": lambda a: a.astype(object), "long double": lambda a: a.astype(np.longdouble)}
REFUSED = {"masked": lambda a: np.ma.masked_array(a, np.zeros(a.shape, bool)),
           "complex": lambda a: a.astype(complex), "text": lambda a: a.astype(str),
           "objects": lambda a: np.full(a.shape, None), "a dict": lambda a: {"a": 1},
           "numbers as text": lambda a: a.astype(str).astype(object), "None": lambda a: None,
           "dates": lambda a: np.zeros(a.shape, "M8[D]")}
WRONG = {"short": lambda a: a[:-1], "long": lambda a: np.concatenate([a, a[-1:]]),
         "deep": lambda a: a[..., None], "nan": lambda a: np.full(a.shape, np.nan),
         "infinite": lambda a: np.full(a.shape, np.inf)}


def arrays_of(value):
    """Yield (path, annotation) of the arrays in a model's tuple."""
    for field, each in zip(value._fields, value, strict=True):
        if isinstance(each, np.ndarray):
            yield (field,), array_of(annotations(type(value))[field])
        elif hasattr(each, "_fields"):
            yield from (((field, *path), annotation) for path, annotation in arrays_of(each))


def at(path, model):
    return reduce(getattr, path, model)


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
        for path, annotation in arrays_of(model):
            if annotation or not only_annotated:
                changed[argument] = replaced(changed[argument], path, form(at(path, model)))
    return changed | {argument: form(each) for argument, each in vectors_of(name).items()}


class Passed(Exception):
    """Its arguments are those that a public function passes on to compiled code."""


@pytest.fixture
def passed_on(monkeypatch):
    def stop(*arguments):
        raise Passed(*arguments)

    for function in DEFINED.values():
        while hasattr(getattr(function, "__wrapped__", None), "check"):
            function = function.__wrapped__  # within what warns
        if hasattr(function, "check") and hasattr(function, "compiled"):
            monkeypatch.setattr(function, "compiled", stop)

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
    same(passed_on(name, **{argument: np.int64(each) for argument, each
                            in CALLS[name][1].items() if type(each) is int}), expected)


@pytest.mark.parametrize("name", CALLS)
def test_other_numbers_in_a_model_are_refused_by_name(name):
    for argument, model in models_of(name).items():
        for path, annotation in arrays_of(model):
            if not annotation:
                continue
            wrong = REFUSED | {k: v for k, v in WRONG.items() if annotation.finite or k == "deep"}
            for change in wrong.values():
                with pytest.raises(ValueError, match=rf"\b{path[-1]}\b|\.\w+ must"):
                    call(name, **{argument: replaced(model, path, change(at(path, model)))})


def leave_the_callers_arrays(name):
    """Call a function and see that the arrays it got are as they were, and no result is in them."""
    vectors = [*vectors_of(name).values()]
    mine = vectors + [at(path, model) for model in models_of(name).values()
                      for path, annotation in arrays_of(model) if annotation]
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
    python("-c", code, NUMBA_DISABLE_JIT="1")


# What a docstring says of an argument


def docstring(function):
    """Return it, or that of the mirror that has the same arguments."""
    other = re.search(r"arguments and result as algorithms\.(\w+)\.(\w+)", function.__doc__)
    return getattr(sys.modules[f"algorithms.{other[1]}"], other[2]).__doc__ if other else (
        function.__doc__)


def documented(function):
    """Return {argument: what the docstring says that it is}."""
    found = {}
    for line in re.sub(" +: ", " : ", docstring(function)).splitlines():
        for cell in re.split(r" {2,}", line.strip()):
            said = re.fullmatch(r"((?:\w+, )*\w+) : (.+)", cell)
            if said and said[1].split(", ")[0] in inspect.signature(function).parameters:
                names, kinds = said[1].split(", "), re.split(r", (?![^(\[]*[)\]])", said[2])
                each = kinds if len(kinds) == len(names) else [said[2]] * len(names)
                found |= dict(zip(names, each, strict=True))
    return found


def defaults_told(function):
    """Return {argument: its default}, where the docstring has "default 1" or "1, the default"."""
    known, found = {"all": None} | vars(sys.modules[function.__module__]), {}
    for names, row in re.findall(r"^ *((?:\w+, )*\w+) +: ((?:.+\n)+?)(?=$|.* : )",
                                 docstring(function), re.M):
        said = re.search(r"default (\(.*?\)|[\w.+-]*\w)|([\w\"]+),? \(?the\s+default\b", row)
        if said:
            text = said[1] or said[2]
            found |= dict.fromkeys(names.split(", "),
                                   known[text] if text in known else literal_eval(text))
    return found


@pytest.mark.parametrize("name", CALLS)
def test_a_default_is_the_one_that_is_told_or_compiled(name):
    # an entry point has that of its check, which stands neither in its docstring nor in its `def`
    function = CALLS[name][0]
    defaults, compiled = ({argument: each.default for argument, each in inspect.signature(
        of).parameters.items() if each.default not in (each.empty, None)}
        for of in (function, getattr(function, "py_func", function)))
    told = defaults_told(function)
    for argument, value in [*told.items(), *compiled.items()]:
        assert (defaults.get(argument) or 0) == (value or 0)  # to compiled code 0 is None
    assert {*defaults} <= {*compiled, *told}


JUNK = ["1", "text", b"1", 1j, 10**400, [10**400], {}, {"a": 1}, set(), object(), ..., [None],
        ["a"], [1.0, [1.0, 2.0]], np.array(["1"]), np.array([1j]), np.array(["2020"], "M8[Y]"),
        np.ma.ones(2), np.timedelta64(3, "s"), np.full((2, 2, 2), np.nan), np.nan, np.inf, -np.inf,
        np.longdouble("1e400"), inspect.getfullargspec(rng)]  # a NamedTuple


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
            yield value, f"at most {min(high, LARGEST):.0f}, not {repr(value)[:77]}"
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


def broken(function, argument, good):
    """Yield (an array without the structure that a docstring asks for, a part of the answer)."""
    said = re.search(rf"^ *(\w+, )*{argument}(, \w+)* *: .*", function.__doc__, re.M)
    if not said or not isinstance(good, np.ndarray) or good.ndim < 2:
        return
    above, large = np.triu(np.ones(good.shape), 1), good.shape[-1] > 1
    if "symmetric positive" in said[0]:
        yield good + above, "must be symmetric, but differs from its transpose by 1"
    if "symmetric positive definite" in said[0]:
        yield -good, "must be positive definite, but its Cholesky factorisation"
    if "positive diagonal" in said[0] or "Cholesky factor" in said[0]:
        yield from [(good + above, "lower")] * large
        yield good * (np.arange(len(good)) > 0), "lower"  # with a zero on the diagonal


@pytest.mark.parametrize("name", CALLS)
def test_what_a_docstring_rules_out_is_refused_by_name(name):
    function, arguments = CALLS[name]
    kinds = documented(function)
    assert {*kinds} == {*inspect.signature(function).parameters}
    for argument in {*arguments, "rng"} & {*kinds}:
        given = arguments.get(argument)
        for value, answer in (*wrong(kinds[argument], given), *broken(function, argument, given)):
            with pytest.raises(ValueError) as error:
                call(name, **{argument: value})
            told = str(error.value)
            assert re.search(rf"^(\w+ and )?({'|'.join(kinds)})\b.* (must|is empty)", told), value
            assert re.search(rf"\b{argument}\b", told) and answer in told, value


@pytest.mark.filterwarnings("ignore:the last round of the pilot accepted 100")
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
    *((NORMAL._replace(precision=scale * NORMAL.precision), "precision must be positive definite")
      for scale in (-1.0, 0.0)),
    (GPEigen(REGRESSION, N + 1), r"m must be at most the number of cases, 6, not 7"),
    (GPEigen(REGRESSION, 0), r"m must be a whole number of at least 1"),
    (GPSpectral(REGRESSION), r"whole must have one length, .* not 2"),
    (SUBSET._replace(index=np.arange(2)), r"index must have an entry for each of the 3 cases"),
    *((kind.from_model(REGRESSION, CASES)._replace(**change), message)
      for kind in (GPNystrom, GPFITC) for change, message in (
          (dict(index=np.array([0, 2, 6])), "index must hold numbers from 0 to 5, but holds 6"),
          (dict(index=np.array([0, 2, 4])), r"ZT must be model.whole.XT\[:, model.index\]"),
          (dict(jitter=2.0), "jitter must be"), (dict(jitter=-1.0), "jitter must be"))),
    *((GROUPS._replace(starts=np.array(starts)), "starts must ascend from 0 .* 6, not")
      for starts in ([0, 4, 2, 6], [1, 2, 4, 6], [0, 2, 4, 5])),
    (GROUPS._replace(V=2.0 * GROUPS.V), r"V must hold orthonormal eigenvectors, V\[i\]\[:, k\]"),
    (GROUPS._replace(lam=0.0), r"lam must be a finite number in \(0, inf\)"),
    (GROUPS._replace(b=GROUPS.b - 1.0), r"b must be >= 0, but the smallest is -"),
    (GroupGivenV(GROUPS, 3, 0.7), r"i must be less than the number of groups, 3"),
    (Relative(NORMAL, np.zeros(2), np.eye(2)), "model must be of 2 variables"),
    (COX._replace(counts=np.arange(3.0)), r"counts must have shape \(4,\), .* not \(3,\)"),
    *((COX._replace(counts=np.array([0.0, 1.0, 2.0, wrong])), r"counts must be whole numbers >= 0")
      for wrong in (0.5, -1.0)),
    (SoftAbs(FUNNEL, -1.0), r"alpha must be a finite number in \(0, inf\)"),
    (COX._replace(counts=np.zeros(9), distance=np.zeros((3, 3))), "memory must be that of a 3 x 3"),
    (MIXTURE._replace(weights=np.array([0.25, 0.75 + 1e-9])), r"weights must sum to one, not to 1"),
    (MIXTURE._replace(log_normalisers=np.zeros(2)), r"log_normalisers must be log\|2 pi S\| / 2"),
    (MIXTURE._replace(precisions=-MIXTURE.precisions), r"precisions must be positive definite"),
    *((GPC._replace(beta=beta), r"beta must be a finite number in \[0, 1\]")
      for beta in (-0.5, 1.5)),
    (GPC._replace(K=9 * K), "L_K must belong to the K, tau and nu that stand beside it, but they"),
    *((GPC._replace(log_det_K=wrong), "log_det_K must belong to the K")
      for wrong in (0.0, np.inf, -np.inf)),
    (LOGISTIC._replace(precision=-LOGISTIC.precision), "precision must be >= 0"),
    (CLASSES._replace(precision=-CLASSES.precision), "precision must be >= 0"),
    *((VOLATILITY._replace(**{field: least}), rf"{field} must be a finite number in \{bracket}0, ")
      for field, least, bracket in (
          ("beta_shape", -0.5, "["), ("beta_rate", -0.5, "["), ("nu", 0.0, "("),
          ("tau2", 0.0, "("), ("ar_a", 0.0, "("), ("ar_b", -1.0, "("))),
    (VOLATILITY._replace(beta_shape=1.0), "beta_rate must be a finite number in .0, inf."),
    (COX._replace(area=0.0), r"area must be a finite number in \(0, inf\)"),
    (GPC._replace(tau=np.ones(N)), "q_is_prior must be False where tau and nu are not 0"),
    *((EP_MODEL._replace(**{field: value}), f"{said} must belong to the K, tau and nu")
      for field, value, said in (
          ("tau", 2 * EP_MODEL.tau, "L_Sigma"), ("L_Sigma", EP_MODEL.L_K, "L_Sigma"),
          ("nu", 1.01 * EP_MODEL.nu, "mu"), ("log_det_Sigma", 0.0, "log_det_Sigma"))),
    (EP_MODEL._replace(tau=-EP_MODEL.tau), "tau must be >= 0, but the smallest is -"),
    (GPEigen(NORMAL, 2), r"whole must be of type GPRegression .*, not Gaussian"),
    (GPVariational(REGRESSION), r"nystrom must be of type GPNystrom .*, not GPRegression"),
    (NonCentredGP(FUNNEL), r"model must be of type HierarchicalGPClassification .*, not Funnel"),
    (SoftAbs(None, 1.0), r"model must be a model, .* not None"),
    (SoftAbs(REGRESSION, 1.0), r"model must have hessian .* GPRegression has none"),
    (NonCentred(NORMAL), r"model must have sizes .* Gaussian has none"),
    (NonCentred(FIELD), r"model must not be a HierarchicalGPClassification: write NonCentredGP"),
    (interface.GivenPhi(NORMAL, np.zeros(1)), r"model must have sizes .* Gaussian has none"),
    (interface.GivenPhi(FUNNEL, np.zeros(2)), r"phi must have shape \(1,\), not \(2,\)"),
    (interface.GivenTheta(FUNNEL, np.zeros(2)), r"theta must have shape \(3,\), not \(2,\)")])
def test_what_annotations_cannot_say_is_refused_by_name(model, message):
    with pytest.raises(ValueError, match=rf"^model\.{message}"):
        validate.model("model", model)


@pytest.mark.parametrize("function", [theta_of, energy_of_data])
def test_coordinates_that_are_not_centred_take_all_their_functions(function, monkeypatch):
    monkeypatch.delitem(function.implementations, Funnel)
    with pytest.raises(ValueError, match=rf"^model\.model must have {function.__name__} "):
        validate.model("model", NonCentred(FUNNEL))


@pytest.mark.parametrize("approximation", [
    lambda: NORMAL, lambda: GPSubset.from_model(ISOTROPIC, CASES), lambda: MIXTURE])
@pytest.mark.parametrize("name", ["discretizing_chain", "tempered_transitions",
                                  "delayed_acceptance"])
def test_an_approximation_of_other_variables_is_refused(name, approximation):
    with pytest.raises(ValueError, match=r"^(approximation|layers\[0\]) must be of 4 variables"):
        call(name, **{"layers": [approximation()]} if name == "tempered_transitions" else {
            "approximation": approximation()})


STARTS = "q0", "x0", "theta0"  # and phi0, which goes with theta0
SIZED = *STARTS, "phi0", "p", "w", "M", "mean", "factor", "q", "q_hat", "theta", "tau", "nu"


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


Crooked = own("Crooked", lambda q, model: q @ q / 2, lambda q, model: model.slope * q,
              compiled=False, slope=float)


@pytest.mark.parametrize("name", [
    "hmc", "nuts", "nuts_dual_averaging", "hmc_dual_averaging", "normal_split_hmc"])
def test_of_a_wrong_gradient_it_is_warned(name):
    with pytest.warns(RuntimeWarning, match="U and grad_U of Crooked disagree"):
        CALLS[name][0].check(**CALLS[name][1] | dict(model=Crooked(1.1), rng=rng()))


def doubles(q, model):
    q *= 2.0
    return q @ q


@pytest.mark.parametrize(("U", "said"), [
    (doubles, "U of Odd must leave its argument"), (lambda q, model: None, "U of Odd must return"),
    (lambda q, model: q[3], r"\w0? has shape \(\d,\), but there U of Odd fails: index 3"),
    (lambda q, model: q @ np.ones(4), r"\w0? has shape .* U of Odd fails: .* core dim")])
@pytest.mark.parametrize("name", [
    "hmc", "a leapfrog", "generalised_leapfrog", "elliptical_slice of one's own"])
def test_an_energy_that_is_none_is_refused(name, U, said, monkeypatch):
    kind = own("Odd", U, lambda q, model: q, compiled=False)
    for function in (interface.metric, interface.metric_gradient):
        monkeypatch.setitem(function.implementations, kind, None)
    with pytest.raises(ValueError, match=f"^{said}"):
        CALLS[name][0].check(**CALLS[name][1] | dict(model=kind()) | (
            {} if name == "a leapfrog" else dict(rng=rng())))


@pytest.mark.parametrize(("function", "shape", "said"), [
    (interface.metric, (2,), r"metric of Odd must be an .* shape \(2, 2\) there, not float64"),
    (interface.metric_gradient, (2, 2), r"metric_gradient of .* shape \(2, 2, 2\) there, not")])
def test_a_metric_of_another_shape_is_refused(function, shape, said, monkeypatch):
    kind = own("Odd", lambda q, model: q @ q / 2, lambda q, model: 1.0 * q, compiled=False)
    for each in (interface.metric, interface.metric_gradient):
        monkeypatch.setitem(each.implementations, kind, lambda q, model: np.eye(2))
    monkeypatch.setitem(function.implementations, kind, lambda q, model: np.zeros(shape))
    with pytest.raises(ValueError, match=rf"^x0 has shape \(2,\), so {said}"):
        call("generalised_leapfrog", model=kind())


class Blocks(NamedTuple):
    """Two parameters and a hyperparameter, N(0, 1) all."""

    kept: np.ndarray
    L_phi: np.ndarray


class Plain(NamedTuple):
    """The same without a mass of phi."""

    kept: np.ndarray


class ThetaOfBlocks(NamedTuple):
    theta: np.ndarray


class PhiOfBlocks(NamedTuple):
    phi: np.ndarray


OF_BLOCKS = {
    "sizes": lambda model: (2, 1), "precompute_phi": lambda phi, model: PhiOfBlocks(phi),
    "precompute_theta": lambda theta, model: ThetaOfBlocks(theta),
    "U_theta": lambda theta, Phi, model: theta @ theta / 2,
    "grad_U_theta": lambda theta, Phi, model: 1.0 * theta,
    "U_prior": lambda phi, model: phi @ phi / 2,
    "U_phi": lambda Phi, Theta, model: Phi.phi @ Phi.phi / 2,
    "grad_U_phi": lambda Phi, Theta, model: 1.0 * Phi.phi,
    "grad_U2": lambda Phi, Theta, r, model: 1.0 * Phi.phi,
    "momentum_theta": lambda z, Phi, model: z, "velocity_theta": lambda r, Phi, model: r,
    "log_det_theta": lambda Phi, model: 0.0}


@pytest.fixture
def blocks(monkeypatch):
    """Give a sampler a model of two blocks some functions of which are others, or lacking."""
    def check(sampler, kind=Blocks, **change):
        for name, made in (OF_BLOCKS | change).items():
            monkeypatch.setitem(getattr(interface, name).implementations, kind, made)
            if made is None:
                del getattr(interface, name).implementations[kind]
        model = kind(*(np.ones(2), np.eye(1))[:len(kind._fields)])
        arguments = CALLS[sampler][1] | dict(theta0=numbers(2), phi0=numbers(1), model=model)
        return CALLS[sampler][0].check(**arguments, rng=rng())

    return check


def refilled(x, kept):
    kept[:x.size] = x
    return kept[:x.size]


@pytest.mark.parametrize(("change", "said"), [
    (dict(U_theta=lambda theta, Phi, model: doubles(theta, model)),
     "U_theta of Blocks must leave its .* theta = theta.copy"),
    (dict(U_prior=doubles), "U_prior of Blocks must leave its .* phi = phi.copy"),
    (dict(U_theta=lambda theta, Phi, model: None), "U_theta of Blocks must return a number, not N"),
    (dict(U_theta=lambda theta, Phi, model: theta[2]), r"theta0 .* U_theta of Blocks fails: index"),
    (dict(precompute_phi=lambda phi, model: phi[1]), r"phi0 .* precompute_phi of Blocks fails: "),
    (dict(grad_U_theta=lambda theta, Phi, model: theta.astype(np.float32)),
     r"theta0 has .* so grad_U_theta of Blocks must be an array of .* not float32"),
    (dict(grad_U_theta=lambda theta, Phi, model: doubles(theta, model)), "grad_U_theta .* leave"),
    (dict(grad_U_theta=lambda theta, Phi, model: refilled(theta, model.kept)),
     "grad_U_theta of Blocks must return a new array at each call"),
    (dict(grad_U2=lambda Phi, Theta, r, model: None), "phi0 has .* so grad_U2 .* not a NoneType"),
    (dict(grad_U2=lambda Phi, Theta, r, model: refilled(Phi.phi, model.kept)), "grad_U2 .* new"),
    (dict(grad_U_theta=lambda theta, Phi, model: model.kept,
          U_theta=lambda theta, Phi, model: theta @ model.kept,
          add_grad_auxiliary_phi=lambda g, theta, r_phi, model: None),
     r"grad_U_theta of Blocks must return an array of its own, .*: return model\.kept\.copy"),
    (dict(grad_U_theta=None), r"model must have grad_U_theta .*@grad_U_theta.register\(Blocks\)")])
def test_functions_of_two_blocks_are_looked_at_as_those_of_one(change, said, blocks):
    blocks("sshmc")
    with pytest.raises(ValueError, match=f"^{said}"):
        blocks("sshmc", **change)


def test_a_model_without_a_mass_of_phi_is_told_what_to_write(blocks):
    own_mass = dict(momentum_phi=lambda z, Theta, model: z, velocity_phi=lambda r, Theta, model: r)
    for change, lacking in (({}, "momentum_phi"), (own_mass, "log_det_phi")):
        with pytest.raises(ValueError, match=f"^model must have {lacking} .* field L_phi, .* Plain"
                                             rf" has neither: .*@{lacking}.register\(Plain\)$"):
            blocks("sshmc", Plain, **change)
    blocks("sshmc", Plain, **own_mass, log_det_phi=lambda Theta, model: 0.0)


@pytest.mark.parametrize(("gradient", "said"), [
    (lambda Phi, Theta, model: model.kept[:1], r"of its own, .* not memory of model\.kept: return"),
    (lambda Phi, Theta, model: Phi.phi, r"of its own, .* not memory of Phi\.phi: return Phi\.phi"),
    (lambda Phi, Theta, model: None, "be an array of float64 of that shape there, not a NoneType")])
def test_rmhmc_within_gibbs_writes_into_no_memory_of_the_model(gradient, said, blocks, monkeypatch):
    monkeypatch.setitem(rmhmc_within_gibbs.block_phi.implementations, Blocks,
                        rmhmc_within_gibbs.phi_by_generalised_leapfrog.py_func)
    blocks("rmhmc_within_gibbs")
    with pytest.raises(ValueError, match=r"^model must have grad_U_theta "):
        blocks("rmhmc_within_gibbs", grad_U_theta=None)
    with pytest.raises(ValueError, match=f"grad_U_phi of Blocks must .*{said}"):
        blocks("rmhmc_within_gibbs", grad_U_phi=gradient)


OTHERS = LogisticRegression.from_data(X[::-1], (SIGNS + 1) / 2)
BEND = np.tile(np.diag([1.0, -0.5]), (3, 1, 1))
UPPER = np.triu(np.ones((N, N)))
FAR = Gaussian(np.full(4, 1e200), np.eye(4))  # where its energy is not finite


def part(cases):
    return interface.select_cases(LOGISTIC, cases, 0.0)


# (what CALLS has, the arguments that are changed, how what is said of it begins; ... is anything)
@pytest.mark.parametrize(("name", "change", "message"), [
    ("ess", dict(x=np.arange(4.0)), "x must hold at least 5 draws, not 4: shape (4,), ... (n,)"),
    ("combined_chains", dict(x=np.zeros((6, 3, 2))), "x must hold at least 5 draws, not 3"),
    ("initial_sequence", dict(x=np.zeros((2, 9, 2))), "x must have ... (n, d), not (2, 9, 2)"),
    ("bridge_sampling", dict(at_target=[0.0] * 4), "at_target must hold at least 5 ..., not 4"),
    ("bridge_sampling", dict(at_proposal=[1.0]), "at_proposal must hold at least 2 ..., not 1"),
    ("geometric_ladder", dict(B=2, beta_min=1.0), "beta_min must be below 1 for a ladder of B = 2"),
    *(("ais", dict(betas=betas), "betas must increase strictly from 0 to 1, ... it starts")
      for betas in ([0.5, 0.6, 0.7, 1.0], [0.0, 0.5, 0.5, 1.0], [0.0, 0.9])),
    *((name, dict(w=[1.0, -3.0, 2.0, 1.0][:d]), "w must be positive, but the smallest is -3")
      for name, d in (("slice_sampling", 4), ("discretizing_chain", 4), ("tempered_transitions", 4),
                      ("dragging", 4), ("auxiliary_mixture", 3), ("surrogate_slice", 2))),
    ("slice_sampling", dict(w=[1.0, 5e299, 2.0, 1.0], max_widths=10), "w times max_widths"),
    ("discretizing_chain", dict(r=2000, s=1000), "r times s must be at most 1000000, not 2000000"),
    ("discretizing_chain", dict(approximation=FAR), "approximation must ... at x0, ... is inf"),
    ("tempered_transitions", dict(layers=[SUBSET, FAR]), "layers[1] must ... at x0, ... is inf"),
    ("dragging", dict(slow=[2, 2], factor=np.eye(2)), "slow must be different ..., not [2, 2]"),
    ("dragging", dict(slow=[2, 0, 1, 3], factor=np.eye(4)), "slow must be some ... are 4 of 4"),
    ("dragging", dict(slow=[4]), "slow must hold indices from 0 to 3, not [4]"),
    ("elliptical_slice of one's own", dict(factor=None), "mean must come with a factor"),
    ("elliptical_slice of one's own", dict(mean=None, factor=None), "factor must be given"),
    ("ep", dict(K=np.diag([1.0, -2.0]), y=[1, 1]), "K must ... eigenvalue is -2: so it is no"),
    ("second_order", dict(ep=EP_FOUND._replace(converged=False)), "ep must have converged"),
    ("second_order", dict(ep=EP_FOUND._replace(Sigma=9 * EP_FOUND.Sigma)), "ep.tau must be below"),
    ("orthant", dict(K=np.diag([1.0, -2.0])), "K must be positive semi-definite, ... is -2"),
    ("tilted_run", dict(points=6), "points must be a power of 2, ..., not 6"),
    ("tilted_run", dict(A=np.triu(np.ones((3, 3))), mu=np.zeros(3)), "A must ... lower tri"),
    ("tilted_run", dict(mu=numbers(2)), "mu must have shape (6,), not (2,)"),
    ("normal_split_hmc", dict(fit=FIT._replace(converged=False)), "fit must ... not converge"),
    *(("normal_split_hmc", dict(fit=FIT._replace(hessian=np.diag([3.0, least, 4.0]))),
       "fit.hessian must be positive definite") for least in (-2.0, 0.0)),
    ("normal_split_hmc", dict(fit=MAP(np.zeros(2), np.eye(2), 1, True, 0.0)), "fit ... is of 2"),
    ("split_data", dict(fraction=0.05), "fraction must ..., but 0.05 of 6 is none"),
    *(("data_split_hmc", dict(split=split), f"split must be made of this model ..., but {why}")
      for split, why in (
           (PARTS._replace(R_1=part(CASES[:2])), "it has 3 + 2 cases, and the model has 6"),
           (PARTS._replace(R_0=part(CASES[:0]), R_1=LOGISTIC), "it has 0 + 6 cases, and the model"),
           (split_hmc.split_data(CLASSES, numbers(9), 0.5), "its parts ... a MultinomialLogistic"),
           (split_hmc.split_data(LogisticRegression.from_data(X[:, :1], SIGNS > 0), numbers(2),
                                 0.5), "its parts ... of 2 parameters and a LogisticRegression"),
           (PARTS._replace(R_1=None), "its parts ... of 3 parameters and a NoneType"),
           (split_hmc.split_data(OTHERS, numbers(3), 0.5), "the gradients of its parts at q0"))),
    ("combine", dict(log_weights=[True, False]), "log_weights must be logarithms, not True and"),
    ("LogisticRegression", dict(y=np.where(SIGNS > 0, "good", "bad")), "y ... y == 'bad'"),
    ("LogisticRegression", dict(X=[[1, "2", "red"], [3, "4", "blue"]] * 3), "X ... X[:, 2] =="),
    ("LogisticRegression", dict(y=["0", "1"] * 3), "y must be ... text such as '1' to float"),
    ("LogisticRegression", dict(y=np.array(["2020"] * 6, "M8[Y]")), "y ... numbers for dates"),
    ("LogisticRegression", dict(y=[0, 1, 2, 3, 1, 2]), "y must ... 0 and 1, but holds [2.0, 3.0]"),
    ("LogisticRegression", dict(X=X * [1, 0] + 2.5), "X must have no constant ... 1 is 2.5"),
    ("MultinomialLogistic", dict(y=[0, 1, 2, 3, 0.5, 3], K=3), "y must hold ... holds [0.5, 3.0]"),
    ("from_prior", dict(y=(SIGNS > 0) * 1), "y must ... write np.where(y == 1, 1, -1)"),
    ("from_ep", dict(K=K + UPPER), "K must be symmetric, but differs from its transpose by 1"),
    ("from_ep", dict(ep=EP_FOUND._replace(converged=False)), "ep has not converged"),
    *(("from_ep", dict(ep=EP_FOUND._replace(**{field: np.ones(5)})),
       f"ep.{field} must have shape (6,), not (5,)") for field in ("tau", "nu")),
    *(("from_ep", dict(ep=EP_FOUND._replace(tau=np.append(np.ones(5), least))),
       f"ep.tau must be >= 0, but its smallest element is {least:.3g}") for least in (-3.0, -2e-8)),
    ("from_ep", dict(ep=EP_FOUND._replace(nu=np.full(N, -1e308))), "ep.nu's largest size must"),
    ("GPEigen", dict(m=7), "m must be at most 6, the number of cases, not 7"),
    ("GPSubset", dict(index=[3, 1, 3, 0, 0]), "index must ... at most once, but repeats [0, 3]"),
    *((name, dict(index=value), f"index {message}")
      for name in ("GPSubset", "GPNystrom", "GPFITC", "GPVariational")
      for value, message in ((np.arange(0), "is empty: at least one case is needed"),
                             ([-1, 3], "must hold indices from 0 to 5, not [-1, 3]"))),
    ("GPRegression", dict(prior_sd=[1.0, -2.0, 3.0, 1.0]), "prior_sd must be > 0 ... in [-2, 3]"),
    ("SoftAbs", dict(model=REGRESSION), "model must have hessian ..., but GPRegression has none"),
    ("HierarchicalLogistic", dict(group=np.zeros(5)), "group must have shape (6,), not (5,)"),
    ("HierarchicalLogistic", dict(group=[0, 0, np.nan, np.inf, 1, 1]), "group must be finite"),
    *(("HierarchicalLogistic", dict(group=wrong), "group must be an array of numbers or of strings")
      for wrong in ([1, 1j, 2, 2, 2, 2], [1, object(), 2, 2, 2, 2], np.ma.arange(N))),
    *(("HierarchicalLogistic", dict(curvature=BEND * bend), "curvature must be positive semidef")
      for bend in ([1.0, 1.0], [1.0, 2e-8], [[[0.0]], [[1.0]], [[0.0]]])),
    ("HierarchicalLogistic", dict(curvature=BEND * np.nan), "curvature must be finite"),
    ("HierarchicalLogistic", dict(curvature=np.tile(UPPER[:2, :2], (3, 1, 1))), "curvature[0]"),
    ("HierarchicalLogistic", dict(X=X * np.array([1.0, 1e103])), "X at its largest must be"),
    ("HierarchicalGPClassification", dict(Z=np.where(np.eye(N, 1), 1e200, 1.0)), "Z ... squares"),
    ("HierarchicalGPClassification", dict(prior_sd=(1.0, 0.0)), "prior_sd must ... is [1.0, 0.0]"),
    ("LogGaussianCox", dict(counts=np.zeros((2, 3))), "counts must be square, not of shape (2, 3)"),
    ("LogGaussianCox", dict(counts=[[1.0, -1.0], [0.5, 2.0]]), "counts must ... hold [-1.0, 0.5]"),
    ("StochasticVolatility", dict(y=np.zeros(4)), "y must not be zero throughout"),
    ("StochasticVolatility", dict(mass_phi=-np.eye(3)), "mass_phi must be positive definite"),
    ("StochasticVolatility", dict(beta_shape=1.0, beta_rate=0.0), "beta_rate of a pos"),
    ("auxiliary_mixture", dict(model=StochasticVolatility.from_data(np.arange(N))),
     "model must be of a series without zeros, whose logarithms are finite"),
    ("gaussian_mixture", dict(weights=[1.0, 0.0]), "weights must be ... smallest is 0"),
    ("gaussian_mixture", dict(weights=[0.5, 0.25]), "weights must sum to one, not to 0.75"),
    ("gaussian_mixture", dict(covariances=[np.eye(3), -np.eye(3)]), "covariances[1] must be p"),
    *((name, dict(Z=numbers(4, 3)), "Z must have shape (n, 2), not (4, 3)")
      for name in ("predict", "squared_exponential")),
    *((name, dict(model=LOGISTIC), "model must be of type GPClassification (made by from_prior or")
      for name in ("ais", "paquet_rmhmc")),
    ("predict", dict(model=LOGISTIC), "model must be of type GPRegression (from"),
    ("normal_split_hmc", dict(fit=FIT.q), "fit must be a MAP, of algorithms.map_estimate, or"),
    ("data_split_hmc", dict(split=(CASES,)), "split must be of type DataSplit (made by"),
    ("initial_sequence", dict(monotone=1), "monotone must be True or False, not 1"),
    ("discretizing_chain", dict(marks=1), "marks must be True or False, not 1"),
    ("tilted_run", dict(mu=np.full(N, 1e200)), "mu's largest size must be a finite number in"),
    ("orthant", dict(K=np.diag([1e200, 1.0])), "K's largest size must be a finite number in"),
    ("polya_gamma_gibbs", dict(draw=lambda m, rng: np.full(m.size, 0.2 if m[1] == 3.0 else 1e308)),
     "draw must return positive, finite numbers, but in transition 1 theta became nan"),
    ("nuts_dual_averaging", dict(warm_up=3), "warm_up must be at most n = 2, not 3")])
def test_messages_say_what_was_wanted_and_what_was_found(name, change, message):
    with pytest.raises(ValueError, match="^" + re.escape(message).replace(r"\ \.\.\.", ".*")):
        call(name, **change)


def test_a_spectrum_is_of_one_length():
    with pytest.raises(ValueError, match=r"^model must have one length, but has 2"):
        GPSpectral.from_model(REGRESSION)


def test_curvatures_that_rounding_makes_negative_count_as_0():
    model = call("HierarchicalLogistic", curvature=BEND * np.array([1.0, 2e-12]))
    np.testing.assert_array_equal(model.b, np.tile([0.0, 1.0], (3, 1)))


def test_labels_of_any_length_are_told_apart():
    labels = np.array(["ab", "ac", "ab", "b", "b", "ac"], object)
    np.testing.assert_array_equal(call("HierarchicalLogistic", group=labels).starts, [0, 2, 4, 6])


@pytest.mark.parametrize("name", [name for name in CALLS if "mass_phi" in CALLS[name][1]])
def test_the_mass_of_phi_is_the_one_that_is_given_or_the_default(name):
    n, h = interface.sizes(call(name))
    default = {"from_size": n + 1 / 9, "HierarchicalLogistic": n / 2}.get(name, 1.0)
    dense = np.diag(np.arange(1.0, h + 1)) + 0.1
    for given, mass in ((None, default * np.eye(h)), (2.5, 2.5 * np.eye(h)), (dense, dense)):
        model = call(name, mass_phi=given)
        Theta = interface.precompute_theta(np.ones(n), model)
        root = np.array([interface.momentum_phi(e, Theta, model) for e in np.eye(h)])
        np.testing.assert_allclose(root.T @ root, mass, rtol=1e-14)


def test_a_chain_that_does_not_fit_into_memory_is_refused_by_name():
    resource = pytest.importorskip("resource", reason="the system sets no limits to a process")
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (2**35, limits[1]))  # 34 GB
    n = 2**31 - 1
    try:
        for name in ("hmc", "random_walk"):
            with pytest.raises(ValueError, match=r"^n must be such that the result fits into"
                                                 r" memory, not 2147483647: .* 51\.5 GB"):
                call(name, n=n)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    with pytest.raises(ValueError, match=r"runs must be such .* at least 17\.2 GB; run pieces"):
        raise ValueError(too_large({"model": GPC, "runs": n}))
    for keep, size in (([0, 1], "34.4"), (None, "154.6")):
        assert f"at least {size} GB" in too_large({"theta0": numbers(9), "n": n, "keep": keep})
    assert too_large({"q0": numbers(9), "L": 5, "n": n}).startswith("n must be such that")
    assert too_large({"X": X, "q": 1.0}) == "there is not enough memory for X, q"
    assert "not enough memory for what the model computes" in too_large({"x0": X, "n": 10})


@pytest.mark.parametrize("least, wrong", [  # the least size of m of which it is wrong
    *((1, wrong) for wrong in (lambda m: 1.0 + m[:1], lambda m: -1.0 - m, lambda m: m,
                               lambda m: np.full(m.size, np.inf))),
    *((3, wrong) for wrong in (
        lambda m: np.ones(m.size - 1), lambda m: np.ones((m.size, 1)), lambda m: None,
        lambda m: np.ones(m.size, complex), lambda m: np.full(m.size, np.inf)))])
def test_draws_of_another_kind_are_refused_at_first_and_later(least, wrong):
    said = {1: "draw must be a function of .* positive, finite numbers as m has",
            3: "what draw returns must"}[least]
    with pytest.raises(ValueError, match=f"^{said}"):
        call("polya_gamma_gibbs",
             draw=lambda m, rng: wrong(m) if m.size >= least else np.ones(m.size))


@pytest.mark.parametrize("draw", [
    lambda m: m, lambda m, rng, scale: m, Plain, np.random.Generator, np.random.default_rng])
def test_a_draw_of_other_arguments_is_refused_by_name(draw):
    with pytest.raises(ValueError, match=r"^draw must be a function of \(m, rng\)"):
        call("polya_gamma_gibbs", draw=draw)


@pytest.mark.parametrize("field", ["mu", "Sigma", "tau", "nu"])
def test_the_fields_of_what_ep_returns_are_converted_or_refused(field):
    wanted, value = second_order(EP_FOUND, SIGNS), getattr(EP_FOUND, field)
    assert second_order(EP_FOUND._replace(**{field: value.tolist()}), SIGNS) == wanted
    for wrong in (None, value[:-1], np.nan * value, "text"):
        with pytest.raises(ValueError, match=r"^ep\.\w+ must"):
            second_order(EP_FOUND._replace(**{field: wrong}), SIGNS)
    with pytest.raises(ValueError, match=r"^ep.Sigma must have a positive diagonal"):
        second_order(EP_FOUND._replace(Sigma=0 * EP_FOUND.Sigma), SIGNS)
