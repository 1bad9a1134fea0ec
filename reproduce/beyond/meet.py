"""The four papers on each other's problems: one table, and one picture to choose from.

Ours, not the papers'.  Handwritten digits by Gaussian-process classification whose length and
amplitude are unknown, and logistic regression whose weights have an unknown variance: by SSHMC
(Zhang and Sutton), by RMHMC (Paquet and Fraccaro) within Gibbs, by mapping to a discretizing chain
(Wang and Neal), whose approximation on the second problem is split HMC's choice of cases (Shahbaba
et al.), by our NUTS, and by a specialist for each, surrogate-data slices or Polya-Gamma Gibbs.
Each method but NUTS, which tunes itself, has pilot chains with four or eight settings.  A row is
compared if rivals/moments.py believes it; rivals/comparison_problems.py has the settings, and says
what differs.  The digits are 100 of the 365 that the project has, so that chains of each method can
be long enough; they are not the paper's.  There a fifth of the trajectories of NUTS diverged in a
first run, so that it has a second row with a target of 0.95, and the others are compared with that.

Run     python reproduce/beyond/meet.py [--budget smoke|short|paper]
        Short has 50 digits, and shorter chains.  Computing needs `pip install -e .[rivals]`.
Writes  figures/meet.png, .txt (table and claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

import numpy as np

from reproduce.beyond.rivals import comparison_problems as problems
from reproduce.beyond.rivals import rows
from reproduce.beyond.rivals.comparison_problems import DIGITS, LOGISTIC, METHODS, SETTINGS
from reproduce.beyond.rivals.rows import TAKEN, agreement, draw_efficiency, order
from reproduce.harness.claims import Claim, Measured, brief, text_table
from reproduce.harness.style import COLOURS, legend_below, mark, panels, plain_log, row_labels
from reproduce.shahbaba.datasets import STAND_IN, StandIn, ctg, finder

NAME, WHAT = "meet", "the four papers on each other's problems"
MINUTES = {"paper": 50, "short": 4, "smoke": 0.5}

SSHMC, RMHMC, SURROGATE, NON_CENTRED, CAREFUL, MAPPING = METHODS[DIGITS]
POLYA, CENTRED = problems.POLYA, problems.CENTRED

# Our settings; those that are tried are in rivals/comparison_problems.py
DATA = {"paper": {DIGITS: 100, LOGISTIC: "CTG"}, "short": {DIGITS: 50, LOGISTIC: "CTG"},
        "smoke": {DIGITS: 20, LOGISTIC: "CTG"}}
NAMES = {SSHMC: ("eps_theta", "n_theta", "eps_phi", "L"), RMHMC: ("eps", "L"), POLYA: ("w",),
         SURROGATE: ("noise", "ellipses"), MAPPING: ("w", "all cases", "r")}  # of a setting
# draws of a chain, transitions before them, draws of a pilot; in the run no pilot of mapping had
# ENOUGH effective draws, nor one of RMHMC on the digits, and the most efficient was taken; those of
# Polya-Gamma Gibbs are longer than in a first run, in which they and its chains fell short
RUNS = {
    (DIGITS, SSHMC): (40_000, 2000, 8000), (DIGITS, RMHMC): (5000, 500, 1000),
    (DIGITS, SURROGATE): (25_000, 1000, 4000), (DIGITS, NON_CENTRED): (3000, 500, 0),
    (DIGITS, MAPPING): (1000, 50, 150),
    (LOGISTIC, SSHMC): (10_000, 1000, 2000), (LOGISTIC, RMHMC): (4000, 400, 800),
    (LOGISTIC, POLYA): (40_000, 1000, 12_000), (LOGISTIC, NON_CENTRED): (2500, 500, 0),
    (LOGISTIC, CENTRED): (2500, 500, 0), (LOGISTIC, MAPPING): (40_000, 4000, 5000),
    (DIGITS, CAREFUL): (3000, 500, 0),  # last, since the place of a row is its seed
}
SHARE = {"paper": 1.0, "short": 0.04, "smoke": 0.002}  # of the draws
LEAST = {"paper": 0, "short": 40, "smoke": 10}  # draws, and transitions before them
DEEPEST = {"paper": 10, "short": 6, "smoke": 3}  # doublings of NUTS
TIMED = {"paper": (3, 20), "short": (2, 10), "smoke": (1, 4)}  # rounds, transitions
# about milliseconds of a draw, for the bar
COST = {(DIGITS, SSHMC): 3, (DIGITS, RMHMC): 6, (DIGITS, SURROGATE): 5, (DIGITS, NON_CENTRED): 30,
        (DIGITS, CAREFUL): 60, (DIGITS, MAPPING): 8, (LOGISTIC, SSHMC): 2, (LOGISTIC, RMHMC): 20,
        (LOGISTIC, POLYA): 5, (LOGISTIC, NON_CENTRED): 10, (LOGISTIC, CENTRED): 10,
        (LOGISTIC, MAPPING): 4}


def run(experiment, cases):
    """Return {(problem, method): its row}, with its setting and the units of work before."""
    budget = experiment.budget
    data = DATA[budget] | ({LOGISTIC: STAND_IN + "1"} if isinstance(cases, StandIn) else {})
    return rows.run_rows(
        experiment, (problems.pilot, problems.row_of_chains, problems.clock),
        {key: [max(round(n * SHARE[budget]), LEAST[budget]) for n in each]
         for key, each in RUNS.items()},
        SETTINGS, lambda key: dict(name=key[0], data=data[key[0]]), {"deepest": DEEPEST[budget]},
        COST.get, TIMED[budget], lambda: problems.warm(data))


def exact(key):
    """Tell whether a method samples the model itself."""
    return key != (DIGITS, MAPPING)


def ep_shifts(r):
    """Return how far EP's posterior of phi is off: of each, shift and log ratio of deviations.

    Each is [(log l, log sigma)] of Measured, shifts in posterior deviations; the errors are nan if
    a row is not believed.
    """
    rows = [r[DIGITS, method] for method in (MAPPING, SSHMC)]  # of NUTS a fifth diverges
    ours, b = (row["together"] for row in rows)
    unknown = 0.0 if all(row["believed"] for row in rows) else np.nan
    shift = [Measured((ours.mean[k] - b.mean[k]) / b.sd[k],
                      np.hypot(ours.mean_se[k], b.mean_se[k]) / b.sd[k] + unknown)
             for k in range(2)]
    ratio = [Measured(np.log(ours.sd[k] / b.sd[k]), unknown + np.hypot(
        ours.sd_se[k] / ours.sd[k], b.sd_se[k] / b.sd[k])) for k in range(2)]
    return shift, ratio


ANOTHER = "of EP's posterior of the hyperparameters, which is another and has no x"
CLAIMS = [
    *agreement([key for key in RUNS if exact(key)], {DIGITS: CAREFUL, LOGISTIC: NON_CENTRED}),
    Claim("digits: EP's posterior, largest shift of log l or log sigma in deviations", "ours",
          lambda r: max(map(abs, ep_shifts(r)[0]), key=lambda m: m.value), 0.0, 0.25,
          "a quarter of a posterior deviation: as much as 16 independent draws leave", "ours",
          budgets=("paper",)),
    order(DIGITS, MAPPING, NON_CENTRED, "unit of work", ANOTHER),
    order(DIGITS, MAPPING, SSHMC, "unit of work", f"{ANOTHER}.  Added after the run, in which the"
          " number of NUTS has a large error"),
    *[order(DIGITS, other, SSHMC, "CPU second") for other in (NON_CENTRED, CAREFUL)],
    *[order(LOGISTIC, other, NON_CENTRED, "CPU second", seen=True) for other in (SSHMC, CENTRED)],
    *[order(name, SSHMC, RMHMC, "CPU second", "Zhang and Sutton's statement, on problems of"
            " others") for name in METHODS],
    order(DIGITS, SSHMC, SURROGATE, "CPU second"),
    *[order(LOGISTIC, NON_CENTRED, other, "CPU second") for other in (POLYA, MAPPING)],
]


def table(r):
    """Lay out the rows, their settings, and how far EP's posterior is off."""
    shift, ratio = ep_shifts(r)
    r = {(name, each): r[name, each] for name, methods in METHODS.items() for each in methods}
    settings = [[*key, ", ".join(f"{name} {x:.3g}" for name, x in zip(
        NAMES[key[1]], each["setting"], strict=False))] for key, each in r.items()
        if key in SETTINGS]
    return "\n\n".join([
        "Four chains a row.  A unit of work is n^3 / 3 operations on the digits, and a pass over"
        " the data on the\nlogistic problem; work: of a draw; before: of pilots, warm-up and"
        " burn-in.  Worst R-hat and least\neffective sample sizes, of bulk and tail; least E-BFMI"
        " of a chain.  Effective draws of the worst quantity,\nof its values or squares, per 1000"
        " units and per CPU second, where the row is believed: R-hat at most 1.01\nand effective"
        " sample sizes of 400; divergences and E-BFMI are shown, not judged.  Mapping on the digits"
        " is of EP's\nposterior of log l and log sigma alone; the others are judged by x of eight"
        " cases too",
        rows.table_of_rows(r),
        TAKEN, text_table(settings, ["problem", "method", "setting"]),
        "EP's posterior of log l, log sigma: shifts in deviations " + ", ".join(map(brief, shift))
        + "; log ratios of deviations " + ", ".join(map(brief, ratio))])


def figure(r):
    """Draw the efficiencies per unit of work and per second, each problem a row."""
    fig, axes = panels(len(METHODS), 2, 1.2 + 2.0 * len(METHODS), sharey="row", squeeze=False)
    for (name, methods), line in zip(METHODS.items(), axes, strict=True):
        for ax, per, scale in zip(line, ("per gradient", "per second"), (1000, 1), strict=True):
            for y, method in enumerate(methods):
                each, model = r[name, method], exact((name, method))
                draw_efficiency(ax, y, each, each[per], scale, fmt="o" if model else "s", ms=6,
                                color=COLOURS[0 if model else 1])
            ax.set(xscale="log")
            ax.grid(axis="x", color="0.9")
            plain_log(ax.xaxis)
        row_labels(line[0], list(methods))
        line[0].set_title(name, loc="left")
        line[0].set_xlabel("effective draws of the worst quantity\nper 1000 "
                           + (r"times $n^3/3$ operations" if name == DIGITS
                              else "passes over the data"))
        line[1].set_xlabel("per CPU second; bars are 2 standard errors")
    legend_below(fig, handles=[
        mark("the model's posterior", COLOURS[0]),
        mark(r"EP's approximation of it, of $\ell$ and $\sigma$ alone", COLOURS[1], "s")])
    return fig


cases = finder(f"optical digits; {STAND_IN}1", "optical digits", ctg)  # the digits are embedded
STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
