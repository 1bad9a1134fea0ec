"""Zhang and Sutton (2014): what cannot be as printed, each statement run beside ours.

Not a figure of the paper.  Eighteen errata, Z1 to Z18: where what is printed can be run it is, and
a number shows that it is wrong and ours is right; four are matters of notation.  Then the ratios of
Tables 1 to 4 against their factors, whatever the digits that rounding took away.

Run     python reproduce/zhang_errata.py [--budget smoke|short|paper]
        Short and smoke run fewer and shorter chains.
Writes  figures/zhang_errata.png, .txt (the errata and claims), .json
"""

from reproduce.harness.start import Study, main

from typing import NamedTuple

import numpy as np

from algorithms.zhang_sshmc import check_sshmc, sshmc
from reproduce.harness.claims import Claim, Declared, Measured, mean, text_table
from reproduce.harness.errata import number_rows, side_claims
from reproduce.harness.files import or_exit
from reproduce.harness.replicates import replicates_by_key
from reproduce.harness.style import COLOURS, WIDTH, plt, row_labels
from reproduce.zhang.datasets import PURPOSES, attributes, german_credit
from reproduce.zhang.errata import ERRATA, FOUND, MISPRINTS, NOTATION, RATIOS, ratio, sentences
from reproduce.zhang.identities import (
    cox_masses,
    errors_of_flow,
    funnel_masses,
    logistic_masses,
    logistic_scores,
    one_step,
)
from reproduce.zhang.printed import FUNNEL, LOGISTIC, TABLES, half_unit, number, quote
from reproduce.zhang.printed_formulas import PRINTED, as_printed, third_from_the_start

NAME, WHAT = "zhang_errata", "what cannot be as printed"
MINUTES = {"paper": 3, "short": 0.5, "smoke": 0.2}

# The paper's settings
N = FUNNEL["n"]  # 100

# Our settings: eps for H_1 and H_2, leapfrogs for H_1, ABLA steps
TUNED = (0.1, 0.2, 2, 50)
ALGORITHM_1 = (0.15, 0.3, 1, 60)  # with eps = 0.3
LABELS = {"Z1": "(5)", "Z2": "line 1", "Z3": "line 5"}  # of Algorithm 1, as printed
SETTINGS = {"Z1": TUNED, "Z2": TUNED, "Z3": ALGORITHM_1, "Z4": TUNED}
HIGH = {"Z4": 6.0}  # v at the start, two standard deviations; the others start from exact draws
CHAINS = {"paper": 40, "short": 10, "smoke": 2}
LENGTH = {"paper": 1000, "short": 200, "smoke": 6}  # the second half counts
DRAWS = {"paper": 4000, "short": 1000, "smoke": 200}
STEPS, TIME = (0.2, 0.1, 0.05, 0.025), 1.0  # eps and length of trajectories for n = 3


def run_chain(key, name, length, seed):
    """Run a chain on the funnel: `name` is "ours", or an erratum's key as printed."""
    eps_theta, eps_phi, n_theta, L = SETTINGS[key]
    rng = np.random.default_rng(seed)
    v = HIGH.get(key) or 3 * rng.standard_normal()
    arguments = check_sshmc(
        rng.standard_normal(N) * np.exp(-v / 2), [v], as_printed(N, **PRINTED.get(name, {})),
        eps_theta, eps_phi, L, length, rng, n_theta, 1)
    sampler = third_from_the_start("sshmc") if name == "Z3" else sshmc
    found = sampler(*arguments)
    half = length // 2
    return {"v": found.phi[half:, 0].mean(), "AP": found.accepted[half:].mean(),
            "trace": found.phi[:: max(length // 100, 1), 0]}


def numbers(data_name, draws, seed):
    """Compute everything that needs no chain; of draws, their mean and its standard error."""
    found = {"funnel": funnel_masses(N, draws // 10, seed), "cox": cox_masses(8, draws, seed),
             "scores": logistic_scores([*PURPOSES.values()], 20, 0.01, draws, seed)}
    return {"step": one_step(3, 0.3, seed), "flow": errors_of_flow(3, STEPS, TIME, seed),
            "logistic": logistic_masses(data_name)} | {
        part: {name: mean(each) if np.ndim(each) else each for name, each in values.items()}
        for part, values in found.items()}


class Result(NamedTuple):
    """What is computed."""

    printed: dict  # {erratum: its number, as printed}
    ours: dict  # {erratum: its number, as ours}
    flow: dict  # {leapfrogs for H_1: errors against the flow of H, of STEPS}
    traces: dict  # {erratum or "ours": v of a chain}
    sizes: np.ndarray  # of the groups of German credit
    attributes: tuple  # categorical and numeric ones of its file, or None
    ratios: dict  # {one of RATIOS: that of the printed factors}
    sentences: dict  # {sentence: the ratio of printed numbers of which it speaks}


def run(experiment, cases):
    """Return the Result."""
    chains, length = CHAINS[experiment.budget], LENGTH[experiment.budget]
    runs = replicates_by_key(experiment, run_chain, {(key, name): [dict(
        key=key, name=name, length=length, seed=[experiment.seed, k],
        cost=10 if name == "Z3" else 1) for k in range(chains)]
        for key in SETTINGS for name in ("ours", key)}, "chains", warm=lambda: run_chain(
            "Z1", "ours", 1, 0))
    (found,) = experiment.replicates(numbers, [dict(
        data_name=cases.name, draws=DRAWS[experiment.budget], seed=experiment.seed)], "identities")
    step, flow, funnel, cox = (found[part] for part in ("step", "flow", "funnel", "cox"))
    both = {key: [mean([one["AP" if key in HIGH else "v"] for one in runs[key, name]])
                  for name in (key, "ours")] for key in SETTINGS}
    both |= {
        "Z3'": (step["Z3 volume"], step["volume"]), "Z4'": (funnel["Z4"], funnel["x"]),
        "Z5": (Measured(*funnel["Z5"]), Measured(*funnel["v"])), "Z6": (funnel["Z6"], funnel["Z"]),
        "Z7": (found["logistic"]["Z7"], found["logistic"]["B"]), "Z8": (cox["Z8"], cox["M"]),
        "Z9": (Measured(*cox["Z9"]), Measured(*cox["density"])),
        "Z10": (np.nan, Measured(*found["scores"]["joint"])),
        "Z11": (step["symplectic"], max(step["volume"], step["return"])),
        "Z12": tuple(flow[n][-1] / flow[n][-2] for n in "12"),
    }
    traces = {key: runs[key, key][0]["trace"] for key in ("Z1", "Z2", "Z3")}
    return Result(*({key: pair[side] for key, pair in both.items()} for side in (0, 1)), flow,
                  traces | {"ours": runs["Z1", "ours"][0]["trace"]},
                  np.unique(cases.group, return_counts=True)[1],
                  None if cases.note else attributes(),
                  {key: ratio(*key)[0] for key in RATIOS}, sentences())


def ratio_claim(table, method, column):
    """Make the claim that a printed ratio is that of its factors, as far as rounding says."""
    key = table, method, column
    printed, half = number(*key), half_unit(*key)
    value, low, high = ratio(*key)
    return Claim(f"{table}, {method}: {column}", TABLES[table].rows[method][column],
                 lambda r: r.ratios[key], printed - half - (high - value),
                 printed + half + (value - low), f"{table}, rounding: of the ratio, of the"
                 " effective sample size and of the time", "paper against itself",
                 Declared(MISPRINTS[key][0], FOUND, "", MISPRINTS[key][1]) if key in MISPRINTS
                 else None)


UCI = "Z17: the file german.data"
SCORE = Claim("Z10, ours: mean score of gamma", "theory: 0",
              lambda r: r.ours["Z10"], -0.5, 0.5, "that of a density of gamma has mean 0; without"
              " the Jacobian of gamma = log v it is -1", "ours", budgets=("paper",))
PAPER = ("short", "paper")  # where there is more than a few draws
CLAIMS = [
    *[c if c.what.split(",")[0] not in SETTINGS else c._replace(budgets=PAPER)
      for c in side_claims(ERRATA)], SCORE,
    *[ratio_claim(*key) for key in RATIOS],
    *[Claim(what, paper, lambda r, key=key: r.sentences[key], low, high, quote(key),
            "paper against itself", Declared(known, FOUND) if known else None)
      for key, what, paper, low, high, known in (
        ("7 times", "Table 3: time of SSHMC / HMC", "about 7", 6.5, 7.5, "Z16: 883 / 162 = 5.5"),
        ("two times", "Table 3: ESS/s of SSHMC / RMHMC(Gibbs)", "almost 2", 1.5, 2.0, ""),
        ("six times", "Table 4: ESS/h of SSHMC / RMHMC(Gibbs)", "about 6", 5.5, 6.5, ""),
        ("better low level", "Table 1: min ESS/s of x, RMHMC(Gibbs) / SSHMC", "better", 1.0, np.inf,
         "Table 1 has 55.15 against 103.57; than what is not said, and HMC has 3.14"))],
    *[Claim(f"Z17: {what}", str(printed), measure, printed, printed, "a count", "printed number",
            Declared(known, FOUND) if known else None, printed=printed)
      for what, printed, measure, known in (
        ("smallest group", LOGISTIC["sizes"][0], lambda r: min(r.sizes), ""),
        ("largest group", LOGISTIC["sizes"][1], lambda r: max(r.sizes), f"{UCI} has 280"),
        ("categorical", LOGISTIC["categorical"], lambda r: r.attributes[0], f"{UCI} has 13"),
        ("numeric", LOGISTIC["numeric"], lambda r: r.attributes[1], f"{UCI} has 7"))],
]


def table(r):
    """Lay out the errata, and the ratios."""
    words = [(key, e.where, e.theirs, e.ours) for key, e in ERRATA.items()] + NOTATION
    ratios = [[*key, TABLES[key[0]].rows[key[1]][key[2]], f"{r.ratios[key]:.4g}"] for key in RATIOS]
    return "\n\n".join([
        "Z1, Z2, Z4, Z4' and Z8 are one mixture of two conventions.  'Right' takes G as the"
        " precision of the momentum\n(Sections 3, 4.1).  If G is its covariance, line 1 and the +"
        " of (5), (7) and (10) are right as printed, but the\nenergy is r' G^-1 r / 2.",
        "\n".join(f"{key:4} {where}: {theirs}; right is {ours}"
                  for key, where, theirs, ours in words),
        text_table(number_rows(ERRATA, r), ["", "number", "of the paper", "of ours"]),
        "Z10, Z13, Z14 and Z18 are notation only.  Z15 and Z16 are among the ratios:",
        text_table(ratios, ["table", "method", "ratio", "printed", "of its factors"])])


def figure(r):
    """Draw traces of v, the errors against the flow of H, and the ratios."""
    fig = plt.figure(figsize=(WIDTH, 7.4), layout="constrained")
    traces, flow, ratios = fig.subplot_mosaic([["v", "H"], ["ratios"] * 2]).values()
    for (key, trace), colour in zip(r.traces.items(), COLOURS, strict=False):
        share = np.linspace(0, 1, len(trace))
        traces.plot(share, trace, lw=1, color=colour, label=LABELS.get(key, key))
    traces.set_yscale("symlog", linthresh=10)
    traces.set(xlabel="share of the chain", ylabel="$v$",
               title="funnel, $n$ = 100: a line as printed")
    for (n, errors), colour, marker in zip(r.flow.items(), COLOURS, "os", strict=False):
        flow.loglog(STEPS, errors, f"{marker}-", color=colour,
                    label=f"{n} leapfrog{'s' * (n > '1')} for $H_1$, 1 for $H_2$")
    flow.loglog(STEPS, 0.1 * np.square(STEPS), "k:", lw=1, label="slope 2")
    flow.set(xlabel=r"$\varepsilon$", title="Algorithm 1 does discretise $H$",
             ylabel=f"distance from the flow of $H$ at time {TIME:g}")
    flow.set_xticks(STEPS, map(str, STEPS))
    flow.minorticks_off()
    for k, key in enumerate(RATIOS):
        value, low, high = ratio(*key)
        printed, half = number(*key), half_unit(*key)
        ends = (printed - half) / high, (printed + half) / low
        colour = COLOURS[4] if key in MISPRINTS else "k"
        ratios.plot(ends, (k, k), color=colour)
        ratios.plot(printed / value, k, "s" if key in MISPRINTS else "o", color=colour)
    ratios.axvline(1, color="0.7", lw=1, zorder=0)
    row_labels(ratios, [", ".join(key) for key in RATIOS])
    ratios.set(xlabel="printed ratio / ratio of the printed factors", title=f"{len(MISPRINTS)} of"
               f" the {len(RATIOS)} ratios (squares) are not those of their factors")
    traces.legend(loc="center", bbox_to_anchor=(0.6, 0.7), ncols=2)
    flow.legend(loc="center", bbox_to_anchor=(0.5, 0.75))
    return fig


def cases(settings):
    """Return German credit."""
    return or_exit(german_credit, settings.data)


STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
