"""The four papers on each other's problems: one table, and one picture to choose from.

Ours, not the papers'.  Handwritten digits by Gaussian-process classification whose length and
amplitude are unknown, and logistic regression whose weights have an unknown variance: by SSHMC
(Zhang and Sutton), by RMHMC (Paquet and Fraccaro) within Gibbs, by mapping to a discretizing chain
(Wang and Neal), whose approximation on the second problem is split HMC's choice of cases (Shahbaba
et al.), by surrogate-data slices, and by NUTS.  Each method has pilot chains with eight settings,
NUTS its adaptation; reproduce/beyond/rivals/comparison_problems.py has the settings, and says what
differs.

Run     python reproduce/beyond/meet.py [--budget smoke|short|paper]
        Short has 100 digits instead of 365, and shorter chains.  To compute takes the extra `nuts`.
Writes  figures/meet.png, .txt (table and claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

import math
from functools import partial

import numpy as np

from reproduce.beyond.rivals.comparison_problems import (
    DIGITS,
    HYPER,
    LOGISTIC,
    MAPPING,
    METHODS,
    NUTS,
    RMHMC,
    SETTINGS,
    SSHMC,
    SURROGATE,
    chain,
    clock,
    warm,
)
from reproduce.beyond.rivals.moments import (
    ENOUGH,
    as_one,
    combine,
    distance,
    log_ess_per_unit,
    scale_log,
    worst,
)
from reproduce.harness.claims import Claim, Measured, brief, log, mean, text_table
from reproduce.harness.files import or_exit
from reproduce.harness.style import (
    COLOURS,
    legend_below,
    log_bar,
    mark,
    panels,
    plain_log,
    row_labels,
)
from reproduce.shahbaba.datasets import STAND_IN, StandIn, ctg, names

NAME, WHAT = "meet", "the four papers on each other's problems"
MINUTES = {"paper": 150, "short": 4, "smoke": 0.5}

# Our settings; those that are tried are in rivals/comparison_problems.py
DATA = {"paper": {DIGITS: 365, LOGISTIC: "CTG"}, "short": {DIGITS: 100, LOGISTIC: "CTG"},
        "smoke": {DIGITS: 20, LOGISTIC: "CTG"}}
CHAINS = {"paper": 5, "short": 4, "smoke": 2}
# draws; a quarter as many transitions are before them, of NUTS and of pilots half as many.  Those
# of the paper budget were to leave ENOUGH effective draws, by chains that were shorter
LENGTH = {"paper": {(DIGITS, SSHMC): 25_000, (DIGITS, RMHMC): 18_000, (DIGITS, SURROGATE): 10_000,
                    (DIGITS, NUTS): 2000, (DIGITS, MAPPING): 400, (LOGISTIC, SSHMC): 8000,
                    (LOGISTIC, RMHMC): 3000, (LOGISTIC, NUTS): 2000, (LOGISTIC, MAPPING): 10_000},
          "short": {(DIGITS, SSHMC): 500, (DIGITS, RMHMC): 250, (DIGITS, SURROGATE): 600,
                    (DIGITS, NUTS): 150, (DIGITS, MAPPING): 200, (LOGISTIC, SSHMC): 1000,
                    (LOGISTIC, RMHMC): 400, (LOGISTIC, NUTS): 250, (LOGISTIC, MAPPING): 250}}
LENGTH["smoke"] = dict.fromkeys(LENGTH["paper"], 12)
PILOT = {"paper": 8, "short": 8, "smoke": 2}  # a pilot has so many times fewer draws
LEAST = 0.5  # of a pilot's proposals are accepted
TIMED = {"paper": (5, 10), "short": (3, 10), "smoke": (1, 4)}  # rounds, transitions
COST = {DIGITS: {SSHMC: 1.0, RMHMC: 2.0, SURROGATE: 1.0, NUTS: 5.0, MAPPING: 9.0},
        LOGISTIC: {SSHMC: 0.01, RMHMC: 0.05, NUTS: 0.03, MAPPING: 0.2}}  # for the progress bar


# The work


def run(experiment, cases):
    """Return {problem: {method: its row}}."""
    budget, seed = experiment.budget, experiment.seed
    lengths, result = LENGTH[budget], {}
    data = DATA[budget] | ({LOGISTIC: STAND_IN + "1"} if isinstance(cases, StandIn) else {})
    for name, methods in METHODS.items():
        one = dict(name=name, data=data[name])
        start = partial(experiment.replicates, warm=partial(warm, **one))
        tried = [(method, setting, k) for method in methods if method != NUTS
                 for k, setting in enumerate(SETTINGS[name, method])]
        short = start(chain, [one | dict(
            method=method, setting=setting, n=(n := lengths[name, method] // PILOT[budget]),
            burn_in=n // 2, seed=[seed, 0, methods.index(method), k], place=[seed, 0],
            cost=COST[name][method] * n) for method, setting, k in tried], f"pilots of {name}")
        pilots = {method: [(run, setting) for (which, setting, _), run in
                           zip(tried, short, strict=True) if which == method]
                  for method in methods if method != NUTS}
        chosen = {method: pick(runs, HYPER[name]) for method, runs in pilots.items()}
        tasks = [one | dict(method=method, setting=chosen.get(method), n=n,
                            burn_in=n // 2 if method == NUTS else n // 4,
                            seed=[seed, 1, methods.index(method), k], place=[seed, 1, k],
                            cost=COST[name][method] * n)
                 for method in methods for n in [lengths[name, method]]
                 for k in range(CHAINS[budget])]
        chains = {method: [] for method in methods}
        for task, run in zip(tasks, start(chain, tasks, f"chains of {name}"), strict=True):
            chains[task["method"]].append(run)
        rounds, n = TIMED[budget]
        (times,) = start(clock, [one | dict(rounds=rounds, rows={
            method: [chosen.get(method), n] for method in methods})], f"timings of {name}")
        result[name] = add_distances(name, {method: row(
            chains[method], HYPER[name], chosen.get(method), times["seconds"][method],
            sum(run["gradients"] + run["set_up"] for run, _ in pilots.get(method, [])))
            for method in methods})
    return result


def pick(pilots, h):
    """Return the setting with the largest worst ESS, of values and squares, per unit of work.

    A pilot that refuses most proposals stands still where its steps are too large: what looks like
    draws is of the rest.  If all do, the setting of the highest acceptance rate is taken.
    """
    def efficiency(pair):
        with np.errstate(all="ignore"):  # of a quantity that never moved
            both = combine([pair[0]], h)
            return worst(both) / both.gradients

    moving = [pair for pair in pilots if pair[0]["rate"] >= LEAST]
    return (max(moving, key=efficiency) if moving
            else max(pilots, key=lambda pair: pair[0]["rate"]))[1]


def row(chains, h, setting, seconds, pilots):
    """Put together what is known of a method on a problem."""
    step, efficiency = mean(seconds), log_ess_per_unit(chains, "steps", h)
    found = {unit: log_ess_per_unit(chains, unit, h)
             for unit in ("work", "gradients", "densities", "factorisations")}
    return {"together": combine(chains, h), "setting": setting,
            "per": found | {"second": efficiency - log(step)},
            "set-up": float(np.mean([each["set_up"] for each in chains])), "pilots": pilots}


def exact(name, method):
    """Tell whether a method samples the model itself."""
    return (name, method) != (DIGITS, MAPPING)


def add_distances(name, rows):
    """Add to each row how far it is from NUTS, the one method whose code is not ours.

    "off" is a |z| as one number, a Measured, 0 for NUTS itself; a row of 4 or more is void.
    """
    h, found, b = HYPER[name], {}, rows[NUTS]["together"]
    for method, each in rows.items():
        a = each["together"]
        off = Measured(math.nan, math.nan)
        if exact(name, method):
            with np.errstate(all="ignore"):  # of a quantity that never moved
                z, se = distance(a, b, h)
                se += distance(b, a, h).se  # nan where either is too short
            off = Measured(abs(as_one(z, 2 * a.mean.size)) if np.isfinite(z) else z, se)
        # one that cannot be told is not void: its chains are too short, and it says so
        void = exact(name, method) and not (off.value < 4 or math.isnan(off.se))
        found[method] = each | {"off": off, "void": void}
    return found


def ep_shifts(rows):
    """Return how far EP's posterior of phi is off: of each, shift and log ratio of deviations.

    Each is [(log l, log sigma)] of Measured; shifts are in posterior deviations.
    """
    ours, b = rows[MAPPING]["together"], rows[NUTS]["together"]
    shift = [Measured((ours.mean[k] - b.mean[k]) / b.sd[k],
                      np.hypot(ours.mean_se[k], b.mean_se[k]) / b.sd[k]) for k in range(2)]
    ratio = [Measured(np.log(ours.sd[k] / b.sd[k]),
                      np.hypot(ours.sd_se[k] / ours.sd[k], b.sd_se[k] / b.sd[k]))
             for k in range(2)]
    return shift, ratio


# The claims


def log_ess_ratio(r, name, method, other, unit="second"):
    """Return log(ESS per unit, a method / another); nan if void, or the first is too short."""
    a, b = r[name][method], r[name][other]
    silent = a["void"] or b["void"] or (exact(name, method) and math.isnan(a["off"].se))
    return Measured(math.nan) if silent else a["per"][unit] - b["per"][unit]


LONG = ("paper",)
CLAIMS = [
    *[Claim(f"{name}, {method}: largest |z| against {NUTS}, as one", "ours",
            lambda r, n=name, m=method: r[n][m]["off"], 0.0, 0.0, "means and standard deviations of"
            " all quantities: standard errors of one normal number.  It cannot be told from chains"
            f" of fewer than {ENOUGH} effective draws each", "ours", budgets=LONG, theirs=1.0)
      for name, methods in METHODS.items() for method in methods
      if exact(name, method) and method != NUTS],
    Claim("digits: EP's posterior, largest shift of log l or log sigma in deviations", "ours",
          lambda r: max(map(abs, ep_shifts(r[DIGITS])[0]), key=lambda m: m.value), 0.0, 0.25,
          "a quarter of a posterior deviation: as much as 16 independent draws leave", "ours",
          budgets=LONG),
    Claim(f"digits: log(ESS per n^3/3 operations, {MAPPING} / {NUTS})", "ours",
          lambda r: log_ess_ratio(r, DIGITS, MAPPING, NUTS, "work"), 0.0, np.inf,
          "order; of EP's posterior of the hyperparameters, which is another and has no x", "ours",
          budgets=LONG),
    *[Claim(f"{name}: log(ESS per second, {a} / {b})", "ours",
            lambda r, n=name, a=a, b=b: log_ess_ratio(r, n, a, b), 0.0, np.inf, f"order; {why}",
            "ours",
            budgets=LONG, undecided="to be run again, with chains of other lengths, not more")
      for a, b, why in (
          (NUTS, SSHMC, "which of them to use"),
          (SSHMC, RMHMC, "Zhang and Sutton's statement, on problems of others; chains that are too"
           " short report too many draws, so those of the second may be"),
          (SURROGATE, RMHMC, "given x, phi hardly moves, and given surrogate data it does"))
      for name, methods in METHODS.items() if a in methods]]
UNITS = (("work", 1000), ("gradients", 1000), ("densities", 1000), ("factorisations", 1000),
         ("second", 1))


def trust_note(name, method, each):
    """Say whether a row is to be trusted."""
    if not exact(name, method):
        return "EP's posterior of phi"
    if each["void"]:
        return "VOID"
    return ("too short" if math.isnan(each["off"].se)
            else "reference" if method == NUTS else "agrees")


def summary(r):
    """Lay out methods by problems: what a practitioner chooses by."""
    marks = {"EP's posterior of phi": " *", "VOID": " VOID", "too short": " ?"}

    def cell(name, method, unit, scale):
        each = r[name].get(method)
        return "" if each is None else brief(scale_log(each["per"][unit], scale)) + marks.get(
            trust_note(name, method, each), "")

    rows = [[method, *(cell(name, method, *unit) for name in r for unit in (UNITS[0], UNITS[-1]))]
            for method in r[DIGITS]]  # which has all methods
    return ("Effective draws of the worst quantity.  *: of EP's posterior of length and amplitude;"
            " ?: too few draws to tell\n" + text_table(rows, [
                "method", "digits: per 1000 n^3/3", "per CPU second", "logistic: per 1000 passes",
                "per CPU second"]))


def table(r):
    """Lay out methods by problems, and how far EP's posterior is off."""
    rows = []
    for name, methods in r.items():
        for method, result in methods.items():
            f = result["together"]
            rows.append([name, method, "its own" if result["setting"] is None else
                         ", ".join(f"{x:.3g}" for x in result["setting"]),
                         f"{f.ess.min():.3g}", f"{f.ess_squares.min():.3g}",
                         *("-" if result["per"][unit] is None else
                           brief(scale_log(result["per"][unit], scale)) for unit, scale in UNITS),
                         f"{result['set-up']:.3g}", f"{result['pilots']:.3g}",
                         "" if math.isnan(result["off"].value) else f"{result['off'].value:.2g}",
                         trust_note(name, method, result)])
    shift, ratio = ep_shifts(r[DIGITS])
    return (summary(r) + "\n\nIn full: of values and of squares, in all chains; worst of both"
            " per 1000 units of work, gradients,\ndensities, factorisations, and per second.  In"
            " the unit of work set-up of a chain and all pilot chains\nare too: n^3 / 3 operations"
            " (digits), a pass over the data (logistic).  Mapping on the digits is judged\nby phi ="
            " (log l, log sigma) alone, the others by x of eight cases too\n\n"
            + text_table(rows, [
                "problem", "method", "setting", "values", "squares", "work", "gradients",
                "densities", "factorisations", "second", "set-up", "pilots", "|z|", "means"])
            + "\n\nEP's posterior of log l, log sigma: shifts in deviations "
            + ", ".join(map(brief, shift)) + "; log ratios of deviations "
            + ", ".join(map(brief, ratio)))


def figure(r):
    """Draw the efficiencies per unit of work and per second, each problem a row."""
    fig, axes = panels(len(r), 2, 1.2 + 2.0 * len(r), sharey="row", squeeze=False)
    for (name, found), line in zip(r.items(), axes, strict=True):
        for ax, unit, scale in zip(line, ("work", "second"), (1000, 1), strict=True):
            for y, (method, each) in enumerate(found.items()):
                middle, ends = log_bar(*each["per"][unit], scale)
                model = exact(name, method)
                hollow = each["void"] or (math.isnan(each["off"].se) and model)
                ax.errorbar(middle, y, xerr=ends[:, None], fmt="o" if model else "s", ms=6,
                            color=COLOURS[0 if model else 1], mfc="none" if hollow else None)
            ax.set(xscale="log")
            ax.grid(axis="x", color="0.9")
            plain_log(ax.xaxis)
        row_labels(line[0], list(found))
        line[0].set_title(name, loc="left")
        line[0].set_xlabel("effective draws of the worst quantity\nper 1000 "
                           + (r"times $n^3/3$ operations" if name == DIGITS
                              else "passes over the data"))
        line[1].set_xlabel("per CPU second")
    legend_below(fig, handles=[
        mark("the model's posterior", COLOURS[0]),
        mark(r"EP's approximation of it, of $\ell$ and $\sigma$ alone", COLOURS[1], "s"),
        mark("does not agree, or cannot tell", COLOURS[0], mfc="none")])
    return fig


def cases(settings):
    """Find the data sets before anything else; the digits are embedded."""
    return or_exit(names, settings, f"optical digits; {STAND_IN}1", "optical digits", ctg)


STUDY = Study(name=NAME, what=WHAT, minutes=MINUTES, doc=__doc__, cases=cases, run=run,
              claims=CLAIMS, table=table, figure=figure)

if __name__ == "__main__":
    main(STUDY)
