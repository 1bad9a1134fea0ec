"""Zhang and Sutton (2014), Table 2: three methods on hierarchical logistic regression.

German credit in ten groups.  The paper states no step size and of no method but RMHMC within Gibbs
how many steps there are.  Settings are chosen by a rule (zhang/comparison.py) from recorded pilot
chains; what is printed is compared with all settings whose acceptance rate is in its range.

Run     python reproduce/zhang_table2.py [--budget smoke|short|paper] [--data DIR]
        Paper has ten runs of 5000 after 1000 for each row, short two of 300 after 100.
Writes  figures/zhang_table2.png, .txt (table and claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

import numpy as np

from algorithms.hmc import hmc
from algorithms.rmhmc_within_gibbs import rmhmc_within_gibbs
from algorithms.zhang_sshmc_fast import sshmc
from reproduce.harness.claims import brief, text_table
from reproduce.harness.files import or_exit
from reproduce.harness.style import COLOURS, legend_above, panels, row_labels
from reproduce.zhang import comparison, logistic
from reproduce.zhang.comparison import acceptance_claims, advantage, full_claim, times_claim
from reproduce.zhang.datasets import german_credit
from reproduce.zhang.estimates import Blocks, in_blocks
from reproduce.zhang.logistic import BOUND, DROPPED, JITTER, MODE, PRIOR, SOLVER, Whole, gain
from reproduce.zhang.printed import GIBBS, HMC, METHODS, SSHMC, TABLES, number, quote

NAME, WHAT = "zhang_table2", "three methods on hierarchical logistic regression"
MINUTES = {"paper": 18, "short": 2, "smoke": 0.5}

# The paper's settings (Section 5.2)
TABLE, ESS = "Table 2", ("min", "med", "max", "v")
N, BURN_IN = TABLES[TABLE].samples, TABLES[TABLE].burn_in

# Our settings; the step sizes and numbers of steps that are tried are in zhang/logistic.py
ANY = ", any rate"
SMALL = 50  # cases: five of the groups are not larger
ROWS = {**{row: (row, BOUND, None) for row in METHODS},  # method, mass, groups of at most so many
        f"{SSHMC}, {MODE}": (SSHMC, MODE, None), f"{SSHMC}, {PRIOR}": (SSHMC, PRIOR, None),
        DROPPED: (DROPPED, BOUND, None), "small groups": (SSHMC, BOUND, SMALL),
        f"small groups, {PRIOR}": (SSHMC, PRIOR, SMALL)}
PILOT = {"paper": (4, 800, 200), "short": (2, 150, 50), "smoke": (2, 20, 5)}  # chains, n, burn-in
PILOT_GIBBS = {"paper": (2, 300, 100), "short": (2, 40, 10), "smoke": (2, 6, 1)}
RUNS = {"paper": 10, "short": 2, "smoke": 2}  # of a row
SCANNED = {"paper": 2, "short": 1, "smoke": 1}  # of a setting of the scan
LENGTH = {"paper": (N, BURN_IN), "short": (300, 100), "smoke": (10, 2)}  # of a run; burn-in
TRAPPED = {"paper": (4, 1500, 100), "short": (1, 200, 20), "smoke": (1, 5, 1)}  # as PILOT
TIMED = {"paper": (10, 50), "short": (5, 10), "smoke": (2, 2)}  # rounds, transitions


def transitions(method, theta, phi, model, setting, n, rng, jitter=JITTER, solver=SOLVER):
    """Run n transitions of a method from (theta, phi); return a record with theta and phi.

    Of the Gibbs sampler's blocks the groups count as one: "accepted" is their share.
    """
    if method == HMC:
        return in_blocks(hmc(np.append(theta, phi), model, setting["eps"], setting["L"], n, rng,
                             jitter=jitter), theta.size)
    if method == SSHMC:
        return sshmc(theta, phi, model, n=n, rng=rng, jitter=jitter, **setting)
    chain = rmhmc_within_gibbs(theta, phi, Whole(*model) if method == DROPPED else model, n=n,
                               rng=rng, jitter=jitter, **setting, **solver)
    share = np.column_stack([chain.accepted[:, :-1].mean(axis=1), chain.accepted[:, -1]])
    return Blocks(chain.theta, chain.phi, share, chain.divergences, chain.counts)


def pilots(method, data, mass, largest, settings, chains, n, burn_in, seed):
    """Run pilot chains with each of `settings`."""
    model = logistic.problem(data, mass, largest)
    return comparison.pilot_chains(
        settings, chains, seed, logistic.WEIGHTS[method], burn_in, lambda setting, rng: transitions(
            method, *logistic.start(model), model, setting, burn_in + n, rng))


def one_run(method, data, mass, largest, setting, n, burn_in, seed, jitter=JITTER):
    """Run one chain of n draws after `burn_in`, from the mode."""
    model = logistic.problem(data, mass, largest)
    chain = transitions(method, *logistic.start(model), model, setting, burn_in + n,
                        np.random.default_rng(seed), jitter)
    return logistic.run_in_numbers(chain, burn_in, logistic.WEIGHTS[method])


def clock(data, rows, rounds, n):
    """Time a transition of each row, {name: [method, mass, largest, setting]}, in turn."""
    rng = np.random.default_rng(0)
    models = {name: logistic.problem(data, *row[1:3]) for name, row in rows.items()}
    return comparison.clock_in_turn(
        rows, rounds, n, lambda name: logistic.start(models[name]), lambda name, theta, phi, n:
        transitions(rows[name][0], theta, phi, models[name], rows[name][3], n, rng,
                    solver=logistic.LINEAGE))


def warm(data):
    """Compile everything in this process, before others start."""
    for method, setting in (comparison.SMALL | {DROPPED: comparison.SMALL[GIBBS]}).items():
        one_run(method, data, MODE, None, setting, n=20, burn_in=1, seed=0)


def run(experiment, cases):
    """Choose settings by pilots, run and time the chains of rows and of the scan: a Table2."""
    budget, data = experiment.budget, cases.name
    tried = comparison.tune(experiment, pilots, {
        row: (dict(method=method, data=data, mass=mass, largest=largest),
              logistic.grid(method, mass, budget) + logistic.longer(row, budget),
              (PILOT_GIBBS if method == GIBBS else PILOT)[budget])
        for row, (method, mass, largest) in ROWS.items()}, logistic.weight, lambda: warm(data))
    wanted = {row: (*ROWS[row], comparison.pick(tried[row])["setting"], RUNS[budget])
              for row in ROWS} | {
        row + ANY: (*ROWS[row], comparison.pick(tried[row], 0, 1)["setting"], RUNS[budget])
        for row in METHODS} | {
        f"{row}: {name}": (*ROWS[row], setting, SCANNED[budget]) for row in METHODS
        for name, setting in logistic.scan(row, tried[row]).items()}
    n, burn_in = LENGTH[budget]
    tasks = {key: [logistic.task(data, *key_of, n, burn_in, [experiment.seed, 100 + k, chain])
                   for chain in range(runs)]
             for k, (key, (*key_of, runs)) in enumerate(wanted.items())}
    runs, n, burn_in = TRAPPED[budget]
    tasks |= {name: [logistic.task(data, GIBBS, BOUND, None, setting, n, burn_in,
                                   [experiment.seed, 99, k]) | {"jitter": 0.0} for k in range(runs)]
              for name, setting in logistic.TRAP.items()}
    done = comparison.runs_by_setting(experiment, one_run, tasks, lambda: warm(data))
    seconds = comparison.time_rows(experiment, clock, {
        key: key_of for key, (*key_of, _) in wanted.items()}, TIMED[budget], lambda: warm(data),
        data=data)
    found = {key: logistic.estimates(done[key], wanted[key][3], seconds[key]) for key in wanted}
    rows, scan = comparison.split_scan(found, [key for key in found if ": " not in key], ": ")
    trap = {key: logistic.estimates(done[key], logistic.TRAP[key]) for key in logistic.TRAP}
    return logistic.Table2(LENGTH[budget][0], tried, rows, trap, scan)


OPEN = "the settings are not stated"
ESS_CLAIMS = comparison.ess_claims(TABLE, METHODS, ESS, "w, ")
CLAIMS = [
    *ESS_CLAIMS,
    *acceptance_claims(METHODS, "wv", 0.02),
    *[times_claim(TABLE, a, b, OPEN, ESS_CLAIMS)
      for a, b in ((GIBBS, HMC), (SSHMC, HMC), (SSHMC, GIBBS))],
    *[full_claim(f"log(min ESS per second, SSHMC / {other})", quote("much higher"),
                 lambda r, other=other: comparison.pairs(
                     r, SSHMC, other, lambda x, y: advantage(x, y, "least", "seconds"),
                     lambda found: found.least.value / np.mean(found.seconds)),
                 np.log(2), np.inf, "much: more than twice; over all"
                 " w and v by the paper's estimator, each method at the fastest and the slowest of"
                 " its settings of the scan, which the paper does not state", "order")
      for other in (HMC, GIBBS)],
    full_claim(f"log(min ESS per second, SSHMC / {GIBBS}){ANY}", quote("outperforms"),
               gain(SSHMC + ANY, GIBBS + ANY, "least", "seconds"), 0.0, np.inf, "order: each method"
               " at its best setting, which for the Gibbs sampler is none of the paper's acceptance"
               " rate", "order"),
    full_claim(f"log(worst ESS per gradient, SSHMC / HMC){ANY}", "ours: HMC is not behind",
               gain(SSHMC + ANY, HMC + ANY, "worst", "cost"), -np.inf, 0.0, "order: with squares,"
               " each at its best.  v is known to a fifth here and the funnel is short: a step of"
               " HMC costs 1 gradient, one of ABLA 3, and HMC's best is 6 to 10 leapfrogs", "ours"),
    *[full_claim(f"{mass}: log(ESS of v per draw, SSHMC / HMC within Gibbs)",
                 quote("larger change"), gain(row, DROPPED, "v"), 0.0, np.inf, "order: the masses"
                 " are X'X/4 + I / v or the like in both, the settings each method's own, by the"
                 " rule; without the auxiliary potentials a Gibbs sampler is left, and no"
                 " trajectory takes it past the limit of exact draws of each block", "order")
      for mass, row in ((BOUND, SSHMC), (MODE, f"{SSHMC}, {MODE}"))],
    full_claim("X'X/4: log(ESS of v per gradient, SSHMC / HMC within Gibbs)", "ours: not ahead",
               gain(SSHMC, DROPPED, "v", "cost"), -np.inf, 0.0, "order: an ABLA step needs three"
               " gradients of w, and the Gibbs sampler gets to its limit, which is not low here,"
               " with three leapfrogs", "ours"),
    full_claim("log(worst ESS per gradient, Hessian at the mode / X'X/4)", quote("rough mass"),
               gain(f"{SSHMC}, {MODE}", SSHMC, "worst", "cost"), -np.log(2), np.log(4), "usually"
               " good enough: the bound, which no mode is needed for, is no worse than a fourth of"
               " the Hessian at the mode", "printed sentence"),
    full_claim("small groups: log(worst ESS per gradient, prior's mass / X'X/4)",
               quote("prior mass"), gain(f"small groups, {PRIOR}", "small groups", "worst", "cost"),
               -np.log(2), np.inf, f"nearly: no less than half; the five groups of 9 to {SMALL}"
               " cases alone, which are sparse, as the sentence supposes", "printed sentence"),
    full_claim("all groups: log(worst ESS per gradient, prior's mass / X'X/4)", "ours: the sentence"
               " supposes sparse groups", gain(f"{SSHMC}, {PRIOR}", SSHMC, "worst", "cost"),
               -np.inf, 0.0, "order: with v near 0.12 the prior's precision is 8; the likelihood's"
               " curvature goes up to a quarter of the largest eigenvalue of X'X, over 100 in the"
               " groups of 181 to 280 cases.  H_1 has frequencies from 1 to 4 and needs more"
               " leapfrogs", "ours"),
    full_claim("trap: log(ESS of v, six steps of 0.27 / of 0.5), no jitter", "ours: at the same"
               " acceptance", lambda r: advantage(*r.trap.values(), "v"), np.log(5), np.inf,
               "the time of six steps of 0.5 is near half a period: w becomes -w, and w'w, all that"
               " v sees, stays", "ours"),
    full_claim("trap: acceptance rate of w, six steps of 0.27 - of 0.5", "ours", lambda r:
               r.trap["six of 0.27"].AP[0] - r.trap["six of 0.5"].AP[0], -0.1, 0.1,
               "it shows nothing of that", "ours"),
    *[full_claim(f"mean of log v, {row} - SSHMC, in standard deviations", "ours: one distribution",
                 lambda r, row=row: (r.rows[row].gamma - r.rows[SSHMC].gamma) / r.rows[SSHMC].sd,
                 -0.1, 0.1, "all are right: 4 standard errors of a difference of two means, each"
                 " of ten runs with an ESS of 300", "ours")
      for row in ROWS if row != SSHMC and not row.startswith("small")],
]


def table(r):
    """Lay out the table with ours beside it, the settings, and the scan."""
    rows = [[row, "paper", *(p[c] for c in ESS), "", p["time"], p["all/s"], ""]
            for row, p in TABLES[TABLE].rows.items()]
    for key, runs in comparison.all_rows(r, r.trap).items():
        seconds = r.n * np.mean(runs.seconds or np.inf)  # the trap is not timed
        rows.append([key, " ".join(map(brief, runs.AP)), *(
            brief(getattr(runs, name)) for name in (*ESS, "worst")),
            *((f"{seconds:.3g}", f"{runs.least.value / seconds:.3g}")
              if runs.seconds else ("", "")), f"{runs.cost:.0f}"])
    return text_table(rows, [f"runs of {r.n}", "acceptance", "min ESS w", "median", "max",
                             "ESS v", "worst", "seconds", "min ESS/s", "gradients"]) + (
        "\n\nw: theta; worst: of w, v and their squares; RMHMC(Gibbs) is timed as Girolami and"
        " Calderhead's program runs\nit.  Mass of w: X'X/4 and the prior, the Hessian at the mode,"
        " or the prior.  small groups: of 9 to 50 cases;\nany rate: the best, also outside of"
        " 70-85 %; six of 0.5: six leapfrog\nsteps of 0.5, no jitter\n\n"
        f"{comparison.by_the_rule(r, 22)}")


def figure(r):
    """Draw the ESS of every row and of the paper, and the pilots."""
    fig, (left, right) = panels(1, 2, 5.2)
    for k, (row, found) in enumerate(r.rows.items()):
        for shift, colour, symbol, names in ((0.15, COLOURS[0], "w", ("min", "med", "max")),
                                             (-0.15, COLOURS[1], "v", ("v",))):
            left.plot([getattr(found, name).value for name in names], [k + shift] * len(names),
                      "o-", color=colour, label=f"${symbol}$, ours" * (k == 0))
            tried = [getattr(each, c).value for each in r.scan.get(row, {}).values() for c in names]
            left.plot(tried, np.full(len(tried), k + shift), "|", color=colour, alpha=0.6)
            if row in METHODS:
                left.plot([r.n / N * number(TABLE, row, name) for name in names],
                          [k + shift + 0.15] * len(names), "kD-", ms=3, lw=0.5,
                          label="paper" * (k == 0 and len(names) > 1))
    left.set(xscale="log", xlabel=f"ESS of {r.n}: of $v$;\nof $w$: least, median, largest")
    row_labels(left, list(r.rows))
    left.set_xticks([250, 500, 1000, 2000, 4000], [250, 500, 1000, 2000, 4000])
    left.minorticks_off()
    legend_above(left)
    comparison.draw_pilots(right, {row: r.tried[row] for row in ROWS if not row.startswith(
        "small")}, "1000 gradients", 1e3)
    fig.suptitle(f"Table 2: hierarchical logistic regression, {r.n} draws; ticks: other settings")
    return fig


def cases(settings):
    """Return German credit."""
    return or_exit(german_credit, settings.data)


STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
