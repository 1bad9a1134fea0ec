"""NUTS without anything to set beside those of nutpie and blackjax, on four models.

Ours, not a paper's.  algorithms/hoffman_nuts_fast.py, as it is when nothing is said, and the same
with the mass of Stan; nutpie, and blackjax, which follows Stan.  All have as many transitions
before and after adaptation, the same target of 0.8 and the same starts, and are judged by what a
gradient buys: the least effective sample size of the values and the squares of all variables.

normal      100 independent variables with standard deviations 0.01, 0.02, ..., 1
logistic    logistic regression on CTG, of Split HMC
credit      hierarchical logistic regression on German credit, of SSHMC, not centred
funnel      the funnel of SSHMC with 100 variables, not centred

Run     python reproduce/beyond/nuts.py [--budget smoke|short|paper]
        Short has two chains of 300 draws, smoke of 30.  To compute takes the extra `compare`.
Writes  figures/nuts.png, .txt (table and claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

import time

import numpy as np

from algorithms.hoffman_nuts_fast import nuts
from models.funnel import Funnel
from models.gaussian import Gaussian
from models.hierarchical_logistic import HierarchicalLogistic
from models.interface import sizes
from models.logistic_regression import LogisticRegression
from models.non_centred import NonCentred
from reproduce.beyond.rivals import blackjax_nuts
from reproduce.beyond.rivals import nuts as nutpie
from reproduce.beyond.rivals.moments import combine, distance, log_efficiency, moments, scale_log
from reproduce.harness.claims import Claim, Measured, brief, log, mean, text_table
from reproduce.harness.files import or_exit
from reproduce.harness.style import COLOURS, MARKERS, legend_below, log_bar, mark, panels, plain_log
from reproduce.shahbaba import datasets as classes
from reproduce.zhang import datasets as groups

NAME, WHAT = "nuts", "NUTS beside those of two libraries"
MINUTES = {"paper": 15, "short": 6, "smoke": 3}
FAR = 40.0  # a log of an efficiency beyond which there is none to draw

OURS, STAN, NUTPIE, BLACKJAX = "ours", "ours, mass of Stan", "nutpie", "blackjax"
METHODS = (OURS, STAN, NUTPIE, BLACKJAX)
PROBLEMS = ("normal", "logistic", "credit", "funnel")


def our_chain(model, start, draws, tune, seed, mass):
    """Run a chain of ours; return what nuts of rivals/nuts.py returns."""
    chain = nuts(start, model, draws, np.random.default_rng(seed), tune, mass)
    steps = int(chain.gradients.sum())
    return {"q": chain.samples, "steps": steps, "warm_up": chain.counts.gradient - steps,
            "divergences": chain.divergences}


# Our settings: chains, draws, transitions before them
RUNS = {"paper": (8, 2000, 1000), "short": (2, 300, 300), "smoke": (2, 30, 30)}
TIMED = {"paper": 5, "short": 2, "smoke": 1}  # rounds
TARGET = 0.8
ALL = 1000  # variables, or more: none is looked at apart (rivals/moments.py)
SD = np.arange(1, 101) / 100
CLOSE = 0.9  # of the best rival's effective draws per gradient
SIGMA = 5.0  # of the weights of `logistic`


# The work


def problem(name, data):
    """Return the model, its log density for JAX, and a function of rng that draws a start."""
    _, jax = blackjax_nuts.library()
    np_, log_sigmoid = jax.numpy, jax.nn.log_sigmoid
    if name == "normal":
        return (Gaussian(np.zeros(100), np.diag(SD**-2.0)), lambda q: -(q / SD) @ (q / SD) / 2,
                lambda rng: SD * rng.standard_normal(100))
    if name == "funnel":
        return (NonCentred(Funnel.from_size(100)),
                lambda q: -q[:-1] @ q[:-1] / 2 - q[-1] ** 2 / 18,
                lambda rng: rng.standard_normal(101))
    if name == "logistic":
        cases = classes.load(data)
        model = LogisticRegression.from_data(cases.X, cases.y, SIGMA, SIGMA)
        signed = model.X * (2 * model.y - 1)[:, None]
        return (model, lambda q: log_sigmoid(signed @ q).sum() - model.precision @ q**2 / 2,
                lambda rng: rng.standard_normal(model.precision.size) / 2)
    cases = groups.load(data)
    model = HierarchicalLogistic.from_data(cases.X, cases.y, cases.group)
    _, which = np.unique(cases.group, return_inverse=True)
    n, p = sizes(model)[0], cases.X.shape[1]
    rows = cases.X * cases.y[:, None]

    def log_density(q):
        w = (np_.exp(q[-1] / 2) * q[:-1]).reshape(-1, p)
        return (log_sigmoid((rows * w[which]).sum(axis=1)).sum() - q[:-1] @ q[:-1] / 2
                - model.lam * np_.exp(q[-1]) + q[-1])

    return (NonCentred(model), log_density,
            lambda rng: np.append(rng.standard_normal(n), -1.5 + rng.standard_normal() / 10))


def runners(name, data):
    """Return {method: function (start, draws, tune, seed)} and the function that draws a start."""
    model, log_density, start = problem(name, data)
    nutpie.TARGET = TARGET
    return {OURS: lambda *of: our_chain(model, *of, "fisher"),
            STAN: lambda *of: our_chain(model, *of, "diagonal"),
            NUTPIE: lambda *of: nutpie.nuts(model, *of),
            BLACKJAX: blackjax_nuts.sampler(log_density, TARGET)}, start


def chain(name, data, method, draws, tune, seed):
    """Run a chain: its moments (rivals/moments.py), its gradients, and those before them."""
    methods, start = runners(name, data)
    rng = np.random.default_rng(seed)
    found = methods[method](start(rng), draws, tune, int(rng.integers(1, 2**31)))
    return moments(found["q"]) | {
        "gradients": found["steps"], "set_up": found["warm_up"], "rate": float("nan"),
        "divergences": found["divergences"], "deepest": float("nan")}


def clock(name, data, rounds, draws, tune):
    """CPU seconds of a gradient of each method, in turn, those of the adaptation among them."""
    methods, start = runners(name, data)
    seconds = {method: [] for method in methods}
    for k in range(rounds + 1):  # the first one compiles
        for method, run in methods.items():
            q = start(np.random.default_rng(k))
            begin = time.process_time()  # libraries have threads of their own
            found = run(q, draws, tune, k + 1)
            seconds[method].append(
                (time.process_time() - begin) / (found["steps"] + found["warm_up"]))
    return {"seconds": {method: each[1:] for method, each in seconds.items()}}


def libraries():
    """Import what has to be there, or exit with status 2."""
    nutpie.library()
    blackjax_nuts.library()


def run(experiment, cases):
    """Return {problem: {method: its row}}."""
    chains, draws, tune = RUNS[experiment.budget]
    result = {}
    for place, name in enumerate(PROBLEMS):
        one = dict(name=name, data=cases.names.get(name, ""))
        tasks = [one | dict(method=method, draws=draws, tune=tune, seed=[experiment.seed, place, k],
                            cost=1.0)
                 for method in METHODS for k in range(chains)]
        done = iter(experiment.replicates(chain, tasks, f"chains of {name}", warm=libraries))
        (times,) = experiment.replicates(clock, [one | dict(
            rounds=TIMED[experiment.budget], draws=max(draws // 4, 30), tune=max(tune // 4, 30))],
            f"timings of {name}", warm=libraries)
        result[name] = {}
        for method in METHODS:
            found = [next(done) for _ in range(chains)]
            result[name][method] = {
                "together": combine(found, ALL), "per": log_efficiency(found, ALL),
                "set-up": float(np.mean([each["set_up"] for each in found])),
                "second": mean(times["seconds"][method])}
    return result


# The claims


def beside_the_best(r, name):
    """Return log(ESS per gradient, ours / that of the better library)."""
    best = max((r[name][method]["per"] for method in (NUTPIE, BLACKJAX)), key=lambda m: m.value)
    return r[name][OURS]["per"] - best


CLAIMS = [
    *[Claim(f"{name}: log(worst ESS per gradient, ours / the better of {NUTPIE} and {BLACKJAX})",
            "ours", lambda r, name=name: beside_the_best(r, name), np.log(CLOSE), np.inf,
            "not more than a tenth below it, at equal length", "ours", budgets=("paper",),
            undecided="the worst variable of eight chains is known to a tenth or less")
      for name in PROBLEMS],
    *[Claim(f"{name}, {method}: largest |z| against {NUTPIE}", "ours",
            lambda r, key=(name, method): Measured(distance(
                r[key[0]][key[1]]["together"], r[key[0]][NUTPIE]["together"], ALL).value, 0.0),
            0.0, 4.5, "means and standard deviations of 22 to 210 variables: one of 400 is above"
            " 4.5 once in 370 times", "ours", budgets=("paper",))
      for name in PROBLEMS for method in METHODS if method != NUTPIE],
]


def table(r):
    """Lay out methods by problems."""
    rows = []
    for name, methods in r.items():
        for method, each in methods.items():
            f = each["together"]
            rows.append([name, method, f.n, f"{f.gradients / f.n:.3g}", f.divergences,
                         f"{f.ess.min():.0f}", f"{f.ess_squares.min():.0f}",
                         brief(scale_log(each["per"], 1000)), f"{each['set-up']:.0f}",
                         brief(scale_log(log(each["second"]) - each["per"], 1000))])
    return ("Effective draws of the worst variable, of values and of squares, in all chains; of"
            " both per 1000 gradients.\nAdaptation: gradients of a chain before its draws\n\n"
            + text_table(rows, ["problem", "method", "draws", "gradients", "div.", "values",
                                "squares", "per 1000 gradients", "adaptation",
                                "CPU ms per effective draw"]))


def figure(r):
    """Draw effective draws per gradient and CPU time per effective draw."""
    fig, axes = panels(1, 2, 4.0)
    for k, (method, colour, marker) in enumerate(zip(METHODS, COLOURS, MARKERS, strict=False)):
        for place, name in enumerate(r):
            each = r[name][method]
            for ax, m in ((axes[0], each["per"]), (axes[1], log(each["second"]) - each["per"])):
                if not abs(m.value) < FAR:  # a chain that did not move has no effective draw
                    continue
                middle, ends = log_bar(m.value, np.nan_to_num(m.se), 1000)
                ax.errorbar(place + (k - 1.5) / 8, middle, yerr=ends[:, None], fmt=marker,
                            color=colour)
    for ax, title in zip(axes, ("effective draws of the worst variable per 1000 gradients",
                                "CPU milliseconds per effective draw"), strict=True):
        ax.set(yscale="log", title=title)
        ax.set_xticks(range(len(r)), r)
        plain_log(ax.yaxis)
    legend_below(fig, handles=[mark(method, *how) for method, *how in zip(
        METHODS, COLOURS, MARKERS, strict=False)])
    return fig


def cases(settings):
    """Return the two data sets, or what takes their place."""
    credit = or_exit(groups.german_credit, settings.data)
    name = or_exit(classes.names, settings, f"{classes.STAND_IN}1", classes.ctg)
    note = ""
    if isinstance(name, classes.StandIn):
        name, note = name.name, name.note
    return groups.Cases(f"{credit.name}; {name}", {"credit": credit.name, "logistic": name},
                        "; ".join(each for each in (credit.note, note) if each))


STUDY = Study(name=NAME, what=WHAT, minutes=MINUTES, doc=__doc__, cases=cases, run=run,
              claims=CLAIMS, table=table, figure=figure)

if __name__ == "__main__":
    main(STUDY)
