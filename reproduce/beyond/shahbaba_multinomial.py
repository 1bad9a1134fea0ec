"""Shahbaba, Lan, Johnson and Neal (2014), Section 4: split HMC with more than two classes.

Ours: the paper says how both splits extend, and leaves the best way of choosing R_0 to future
research.  Here they run on all classes of StatLog (6) and CTG (3), R_0 chosen by entropy, by the
largest gradient norm, and at random, with the same trajectory length and the same tuning effort
(shahbaba/multinomial.py).  Which of them needs the fewest gradients nothing predicts: that is no
claim, and the table has it with its errors.

Run     python reproduce/beyond/shahbaba_multinomial.py [--budget smoke|short|paper]
        Short and smoke have CTG alone, and shorter chains.
Writes  figures/shahbaba_multinomial.png, .txt (table, pilots, claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

import math
from functools import partial

from reproduce.beyond.rivals.moments import row_of
from reproduce.beyond.rivals.rows import CHAINS, agreement, draw_efficiency, trust
from reproduce.harness.claims import Measured, brief, text_table
from reproduce.harness.style import COLOURS, panels, plain_log, row_labels
from reproduce.shahbaba import multinomial, simulated_classes
from reproduce.shahbaba.datasets import COUNTS, StandIn, all_classes, finder
from reproduce.shahbaba.multinomial import METHODS, RATE, SHARES

NAME, WHAT = "shahbaba_multinomial", "both splits with more than two classes"
MINUTES = {"paper": 90, "short": 1.5, "smoke": 0.3}

# Our settings; those of the methods follow from a rule in shahbaba/multinomial.py, and of the
# paper's there are only the prior and the jitter of Section 3.3
PILOT = {"paper": 40, "short": 20, "smoke": 2}  # transitions of a pilot chain
# transitions of a chain, after how many others: with an autocorrelation time of 3.5 four chains
# have 1400 effective draws, and chance alone takes R-hat of 100 quantities to 1.01 at about 1200
LENGTH = {
    "paper": {"StatLog": (1200, 60), "CTG": (1500, 120)}, "short": {"CTG": (250, 25)},
    "smoke": {"CTG": (20, 5)}}
COST = {"StatLog": 5.0, "CTG": 1.0}  # for the progress bar


def run(experiment, cases):
    """Return {(data set, method): its row, and how it was tuned}."""
    budget, seed = experiment.budget, experiment.seed
    room = simulated_classes if isinstance(cases, StandIn) else multinomial
    start = partial(experiment.replicates, warm=room.warm)
    keys = [(name, method) for name in LENGTH[budget] for method in METHODS]
    tasks = [dict(name=name, method=method, n=PILOT[budget],
                  seed=[seed, 0, METHODS.index(method)], cost=COST[name]) for name, method in keys]
    tuned = list(start(room.tune, tasks, "settings"))
    tasks = [dict(name=name, method=method, setting=of["setting"], n=n, burn_in=burn_in,
                  chains=CHAINS, seed=[seed, 1, METHODS.index(method)],
                  cost=COST[name] * (n + burn_in))
             for (name, method), of in zip(keys, tuned, strict=True)
             for n, burn_in in [LENGTH[budget][name]]]
    return {key: row_of(found) | {"tuned": of} for key, of, found in zip(
        keys, tuned, start(room.row_of_chains, tasks, "rows"), strict=True)}


RANDOM = METHODS[-1]
CLAIMS = agreement([(name, method) for name in COUNTS for method in METHODS],
                   dict.fromkeys(COUNTS, "HMC"))


def table(r):
    """Lay out settings, efficiencies and comparisons; then the pilots."""
    rows, pilots = [], []
    for (name, method), row in r.items():
        f, tuned, (log_per, se) = row["together"], row["tuned"], row["per gradient"]
        fraction, M, eps, L = tuned["setting"]
        rows.append([name, method, f"{fraction:g}", M, f"{tuned['left']:.2f}", f"{eps:.3g}", L,
                     f"{f.gradients / f.n:.4g}", f"{f.rate:.2f}", f.divergences or "",
                     *trust(row), *(f"{f.n / min(ess):.3g}" for ess in (f.ess, f.ess_squares)),
                     *([brief(Measured(math.exp(-log_per), math.exp(-log_per) * se)),
                        *("" if other == method
                          else brief(row["per gradient"] - r[name, other]["per gradient"])
                          for other in ("HMC", RANDOM))]
                       if row["believed"] else ["not believed", "", ""])])
        pilots.append([name, method, *(f"{rate:.2f}" for rate in tuned["rates"]),
                       f"{tuned['share']:g}", f"{tuned['gradients']:.0f}"])
    return ("f: share of the cases in R_0, those of the largest entropy or gradient, or random"
            " ones; M: inner steps;\nw_1 / w: the largest frequency of U_1 over that of U.  Worst"
            " R-hat and least effective sample sizes, of bulk\nand tail; least E-BFMI of a chain. "
            " tau: of the worst coefficient, of its values and of squares about the\nmean; tau x g"
            " of the worst of both, with a standard error; HMC / own, random / own: log of tau x"
            " g of HMC,\nor with a random R_0, over the row's\n\n"
            + text_table(
                rows, ["data", "method", "f", "M", "w_1 / w", "eps", "L", "g", "rate", "div.",
                       "R-hat", "bulk", "tail", "E-BFMI",
                       "tau", "squares", "tau x g", "HMC / own", "random / own"])
            + f"\n\nPilot chains: rates by share of the scale; taken: the largest whose rate,"
            f" smoothed to a falling curve,\nis {RATE} or more\n\n" + text_table(
                pilots, ["data", "method", *map(str, SHARES), "taken", "gradients"]))


def figure(r):
    """Draw tau x g of every method that is believed, with 2 standard errors."""
    names = list(dict.fromkeys(name for name, _ in r))
    fig, axes = panels(1, len(names), 3, sharey=True, squeeze=False)
    for ax, name in zip(axes[0], names, strict=True):
        for y, method in enumerate(METHODS):
            row = r[name, method]
            draw_efficiency(ax, y, row, -row["per gradient"], fmt="o", color=COLOURS[0])
        ax.set(title=f"{name}, {len(COUNTS[name])} classes (bars: 2 s.e.)", xscale="log",
               xlabel=r"$\tau \times g$ of the worst coefficient")
        plain_log(ax.xaxis)
        ax.grid(axis="x", color="0.9")
    row_labels(axes[0, 0], METHODS)
    return fig


cases = finder(simulated_classes.NAME, *(partial(all_classes, name) for name in COUNTS))
STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
