"""Beside Zhang and Sutton (2014): NUTS of an outside library on the four models.

Ours, not the paper's.  NUTS (nutpie) samples each model as it is, "centred", and in coordinates
that are independent before there are data, "non-centred"; its long non-centred chains are the
references with which SSHMC, RMHMC within Gibbs and HMC must agree on the real data sets.  What is
stored is shown without the library; to compute takes the extra `nuts`.

Run     python reproduce/beyond/zhang_nuts.py [--budget smoke|short|paper]
        Short and smoke have fewer and shorter chains.
Writes  figures/zhang_nuts.png, .txt (efficiencies, references, claims), .json
"""

from reproduce.harness.start import Study, main

import numpy as np

from reproduce.beyond.rivals.moments import ENOUGH, combine, distance, imprecision, worst
from reproduce.beyond.rivals.nuts import library
from reproduce.harness.claims import Claim, Measured, brief, log, mean, text_table
from reproduce.harness.style import COLOURS, MARKERS, legend_below, mark, panels
from reproduce.zhang.datasets import three_problems
from reproduce.zhang.printed import GIBBS, HMC, SSHMC
from reproduce.zhang.references import HYPER, clock, nuts_chain, own_chain, warm

NAME, WHAT = "zhang_nuts", "NUTS on the four models"
MINUTES = {"paper": 25, "short": 3, "smoke": 0.6}

# The paper's settings: leapfrogs of Sections 5.1 to 5.4; it does not give step sizes

# Our settings: of chains that mix in trials, none of them tuned
NON_CENTRED, CENTRED = "NUTS, non-centred", "NUTS, centred"
SETTINGS = {
    ("funnel", SSHMC): dict(eps_theta=0.05, eps_phi=0.2, L=200, n_theta=4, jitter=0.2),
    ("credit", SSHMC): dict(eps_theta=0.2, eps_phi=0.8, L=6, n_theta=2, jitter=0.6),
    ("credit", GIBBS): dict(eps_theta=0.3, eps_phi=0.27, L_theta=6, L_phi=6, jitter=0.2),
    ("credit", HMC): dict(eps=0.09, L=20, jitter=0.2),
    ("volatility", SSHMC): dict(eps_theta=0.055, eps_phi=0.011, L=20, n_theta=5, n_phi=2,
                                jitter=0.3),
    ("volatility", GIBBS): dict(eps_theta=0.1, eps_phi=0.5, L_theta=50, L_phi=6, jitter=0.2),
    ("volatility", HMC): dict(eps=0.02, L=100, jitter=0.2),
    ("Cox", SSHMC): dict(eps_theta=0.049, eps_phi=0.03, L=40, n_theta=2, jitter=0.2),
    ("Cox", GIBBS): dict(eps_theta=0.35, eps_phi=0.9, L_theta=20, L_phi=1, jitter=0.2),
    ("Cox", HMC): dict(eps=0.02, L=50, jitter=0.2),
}
# (chains, draws, transitions before them), and for NUTS the greatest depth of its trees
RUNS = {
    ("funnel", NON_CENTRED): (4, 2000, 500, 10), ("funnel", CENTRED): (4, 2000, 1000, 10),
    ("credit", NON_CENTRED): (4, 4000, 600, 10), ("credit", CENTRED): (4, 4000, 600, 10),
    ("volatility", NON_CENTRED): (4, 5000, 1500, 10), ("volatility", CENTRED): (4, 8000, 1000, 10),
    ("Cox", NON_CENTRED): (4, 1000, 400, 10), ("Cox", CENTRED): (2, 120, 150, 8),
    ("funnel", SSHMC): (4, 2000, 100), ("credit", SSHMC): (4, 10_000, 1000),
    ("credit", GIBBS): (4, 4000, 500), ("credit", HMC): (4, 20_000, 2000),
    ("volatility", SSHMC): (4, 5000, 500), ("volatility", GIBBS): (4, 20_000, 2000),
    ("volatility", HMC): (4, 20_000, 2000), ("Cox", SSHMC): (4, 2500, 250),
    ("Cox", GIBBS): (4, 2000, 200), ("Cox", HMC): (4, 700, 100),
}
SHARE = {"paper": 1.0, "short": 0.1, "smoke": 0.004}  # of the draws
SLOW = {"paper": 1.0, "short": 0.4, "smoke": 1.0}  # of that, on the Cox process
LEAST = {"paper": 0, "short": 30, "smoke": 10}  # draws, and transitions before them
DEPTH = {"paper": 10, "short": 6, "smoke": 3}
TIMED = {"paper": (3, 20), "short": (2, 10), "smoke": (1, 5)}  # rounds, transitions


# The work


def run(experiment, cases):
    """Return {(problem, sampler): Together}, and CPU seconds of all draws."""
    budget, tasks = experiment.budget, {}
    for place, ((name, sampler), (chains, *lengths, depth)) in enumerate(
            (key, run if len(run) == 4 else (*run, 0)) for key, run in RUNS.items()):
        share = SHARE[budget] * (SLOW[budget] if name == "Cox" else 1)
        draws, before = (max(round(n * share), LEAST[budget]) for n in lengths)
        how = (dict(centred=sampler == CENTRED, draws=draws, tune=before,
                    maxdepth=min(depth, DEPTH[budget])) if depth else
               dict(method=sampler, setting=SETTINGS[name, sampler], n=draws, burn_in=before))
        tasks[name, sampler] = [dict(name=name, data_name=cases.names[name], **how,
                                     seed=[experiment.seed, place, k],
                                     cost=cost(name, sampler) * (draws + before))
                                for k in range(min(chains, 2 if budget == "smoke" else 4))]
    found = {}
    for function, wanted in ((nuts_chain, (CENTRED, NON_CENTRED)),
                             (own_chain, (SSHMC, GIBBS, HMC))):
        keys = [key for key in tasks if key[1] in wanted]
        done = iter(experiment.replicates(
            function, [task for key in keys for task in tasks[key]], "chains",
            warm=lambda: warm(cases.names, SETTINGS)))
        for key in keys:
            found[key] = combine([next(done) for _ in tasks[key]], len(HYPER[key[0]]))
    rounds, n = TIMED[budget]
    rows = {f"{name}, {sampler}": [name, cases.names[name], "" if len(run) == 4 else sampler,
                                   sampler == CENTRED if len(run) == 4 else
                                   SETTINGS[name, sampler], n]
            for (name, sampler), run in RUNS.items()}
    (times,) = experiment.replicates(clock, [dict(rows=rows, rounds=rounds)], "timings",
                                     warm=library)
    seconds = {key: mean(times["seconds"][", ".join(key)])
               * (found[key].gradients if len(RUNS[key]) == 4 else found[key].n) for key in RUNS}
    return {"found": found, "seconds": seconds}


def cost(name, sampler):
    """Return about how many milliseconds a transition takes, for the progress bar."""
    return {"funnel": 1, "credit": 1, "volatility": 4, "Cox": 50}[name] * {
        CENTRED: 8, GIBBS: 5}.get(sampler, 1)


# The claims


REAL = ("credit", "volatility", "Cox")


def distance_from_reference(r, name, sampler):
    """Return how far a sampler is from the reference, in standard errors."""
    return distance(r["found"][name, sampler], r["found"][name, NON_CENTRED], len(HYPER[name]))


def log_ess_ratio(r, name, better, other, per):
    """Return log(worst ESS per gradient or CPU second of a sampler / that of another).

    The log of an ESS is known to (12 / ESS)^1/2: that of a run whose sum ends at six
    autocorrelation times.  With it are the errors of the clock.
    """
    ratio = Measured(0.0)
    for sign, sampler in ((1, better), (-1, other)):
        found, ess = r["found"][name, sampler], worst(r["found"][name, sampler])
        work = found.gradients if per == "gradient" else r["seconds"][name, sampler]
        ratio = ratio + (Measured(np.log(ess), (12 / ess) ** 0.5) - log(work)) * sign
    return ratio


def order(name, better, other, per, note):
    """Make the claim of ours that a sampler is ahead of another on a model."""
    return Claim(f"{name}: log(worst ESS per {per}, {better} / {other})", "ours",
                 lambda r: log_ess_ratio(
        r, name, better, other, per), 0.0, np.inf, f"order: {note}", "ours", budgets=("paper",),
        undecided="to be run again, with settings by a longer search: more chains of these would"
        " decide about the settings")


BY_GRADIENT = "a gradient of SSHMC and of RMHMC(Gibbs) is that of one block, and costs less"
ORDERS = [
    *[order(name, NON_CENTRED, SSHMC, "gradient", BY_GRADIENT) for name in HYPER],
    order("funnel", SSHMC, NON_CENTRED, "CPU second", "the coordinates that NUTS is given make of"
          " the funnel a normal distribution, and it is called through Python"),
    order("volatility", SSHMC, NON_CENTRED, "CPU second", "compiled code against Python's calls"),
    order("Cox", NON_CENTRED, SSHMC, "CPU second", "compiled code against Python's calls"),
    *[order("volatility", GIBBS, HMC, per, "its mass follows the hyperparameters")
      for per in ("gradient", "CPU second")],
]
CLAIMS = [
    *ORDERS,
    *[Claim(f"{name}: largest standard error of the reference, in standard deviations", "ours",
            lambda r, name=name: imprecision(r["found"][name, NON_CENTRED]), 0, 0.05,
            "a twentieth: of means and standard deviations, of hyperparameters and parameters",
            "ours", budgets=("paper",)) for name in REAL],
    *[Claim(f"{name}, {sampler}: largest |z| against the reference", "ours",
            lambda r, key=(name, sampler): distance_from_reference(r, *key),
            0, 4, "the means and the standard deviations of about a hundred quantities: one of them"
            f" is above 4 once in 160 times.  It cannot be told from chains of fewer than {ENOUGH}"
            " effective draws each of a hyperparameter", "ours",
            budgets=("paper",) if sampler != SSHMC or name == "Cox" else ("short", "paper"))
      for name, sampler in RUNS if name in REAL and sampler != NON_CENTRED
      and (name, sampler) != ("Cox", CENTRED)],
]


def table(r):
    """Lay out efficiencies, and the references with the distances of the other samplers."""
    rows = []
    for key in sorted(RUNS, key=lambda key: [*HYPER].index(key[0])):
        f, seconds = r["found"][key], r["seconds"][key]
        rows.append([*key, f.n, f"{f.gradients / f.n:.3g}",
                     "" if np.isnan(f.rate) else f"{f.rate:.2f}", f.divergences,
                     f"{min(f.ess[: len(HYPER[key[0]])]):.0f}", f"{worst(f):.0f}",
                     f"{1000 * worst(f) / f.gradients:.3g}", brief(worst(f) / seconds)])
    references = [[name, what, brief(Measured(f.mean[k], f.mean_se[k])),
                   brief(Measured(f.sd[k], f.sd_se[k]))]
                  for name in HYPER for f in [r["found"][name, NON_CENTRED]]
                  for k, what in enumerate(HYPER[name])]
    return "\n\n".join([
        "ESS of all draws: the least of the hyperparameters' means, and the worst of the means and"
        " variances of\nhyperparameters and parameters.  A gradient of SSHMC and of RMHMC(Gibbs) is"
        " that of one block",
        text_table(rows, ["model", "sampler", "draws", "gradients", "rate", "div.", "ESS", "worst",
                          "per 1000 gradients", "per CPU s"]),
        "Posterior means and standard deviations by the reference, NUTS non-centred:",
        text_table(references, ["model", "", "mean", "standard deviation"])])


def figure(r):
    """Draw the efficiencies, and how far the samplers are from the references."""
    fig, axes = panels(1, 3, 4.0)
    samplers = dict(zip((NON_CENTRED, CENTRED, SSHMC, GIBBS, HMC), zip(
        COLOURS, MARKERS, strict=True), strict=False))
    for ax, per, title in ((axes[0], "gradients", "worst ESS per gradient"),
                           (axes[1], "seconds", "worst ESS per CPU second")):
        for k, (sampler, (colour, marker)) in enumerate(samplers.items()):
            for place, name in enumerate(HYPER):
                if (name, sampler) in RUNS:
                    f = r["found"][name, sampler]
                    work = f.gradients if per == "gradients" else r["seconds"][name, sampler].value
                    ax.plot(place + (k - 2) / 8, worst(f) / work, marker, color=colour)
        ax.set(yscale="log", title=title)
        ax.set_xticks(range(len(HYPER)), HYPER)
    for k, (sampler, (colour, marker)) in enumerate([*samplers.items()][1:]):
        for place, name in enumerate(REAL):
            if (name, sampler) in RUNS:
                z, se = distance_from_reference(r, name, sampler)
                axes[2].plot(place + (k - 1.5) / 8, z, marker, color=colour,
                             mfc=colour if se == 0 else "white")
    axes[2].axhline(4, color="k", lw=0.8)
    axes[2].set(title="largest |z| (hollow: chains too short)", ylim=(0, None))
    axes[2].set_xticks(range(len(REAL)), REAL)
    legend_below(fig, handles=[mark(name, *how) for name, how in samplers.items()])
    return fig


def cases(settings):
    """Return the data sets, of which the funnel has none."""
    found = three_problems(settings.data)
    return found._replace(names={"funnel": None} | found.names)


STUDY = Study(name=NAME, what=WHAT, minutes=MINUTES, doc=__doc__, cases=cases, run=run,
              claims=CLAIMS, table=table, figure=figure)

if __name__ == "__main__":
    main(STUDY)
