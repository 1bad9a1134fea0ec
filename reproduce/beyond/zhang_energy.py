"""Zhang and Sutton (2014), Section 4.3: what the blocks lend each other (ours).

The auxiliary potential A(r_theta | phi) "allows each of the separable Hamiltonian systems to borrow
energy from the other one".  Three questions:

1. On the funnel, while H_2 moves v, what pays for the change of -log p(v | x): the kinetic energy
   of v, as in HMC within Gibbs, or the auxiliary potential?
2. What of the energy that is exchanged is n v / 2, which U loses and the log determinant gains, and
   which no one has to lend?
3. Does the auxiliary potential accelerate theta too?  In no model of the paper M_phi depends on
   theta, so here one in which it does: two funnels crossed (zhang/coupled_funnels.py), with that
   dependence and without it.

Run     python reproduce/beyond/zhang_energy.py [--budget smoke|short|paper]
Writes  figures/zhang_energy.png, .txt (table and claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

from itertools import product

import numpy as np
from scipy.integrate import solve_ivp

from algorithms.zhang_sshmc import abla_path
from algorithms.zhang_sshmc_fast import sshmc
from models.funnel import Funnel
from reproduce.harness.claims import Claim, Measured, brief, mean, text_table
from reproduce.harness.replicates import replicates_by_key
from reproduce.harness.style import COLOURS, legend_below, panels
from reproduce.zhang import coupled_funnels as crossed
from reproduce.zhang.comparison import cost
from reproduce.zhang.energy_exchange import block_energies, within_gibbs
from reproduce.zhang.estimates import worst
from reproduce.zhang.funnel import exact_draw
from reproduce.zhang.printed import FUNNEL, quote

NAME, WHAT = "zhang_energy", "what the blocks lend each other"
MINUTES = {"paper": 1.5, "short": 0.5, "smoke": 0.2}

# The paper's settings (Section 5.1)
N_THETA, N_PHI = FUNNEL["n_theta"], FUNNEL["n_phi"]

# Our settings
SIZE = {"paper": FUNNEL["n"], "short": FUNNEL["n"], "smoke": 10}
STARTS = {"paper": 100, "short": 20, "smoke": 3}
EPS, L = 0.2, 200  # "halves" of the three readings (zhang/funnel.py)
# of the crossed funnels, one step size for all leapfrogs, one for each block
GRID = {"paper": ((0.02, 0.05, 0.1, 0.15), (50, 100, 200)), "short": ((0.05, 0.1), (100,)),
        "smoke": ((0.1,), (3,))}
CHAINS = {"paper": (8, 1000, 100), "short": (4, 300, 50), "smoke": (2, 20, 2)}  # n, burn-in
WEIGHTS = {"gradient_theta": 1.0, "gradient_phi": 1.0}


def run(experiment, cases):
    """Return the energies of all starts, the path of the first, and the crossed funnels' ESS."""
    budget, seed = experiment.budget, experiment.seed
    n = SIZE[budget]
    starts = experiment.replicates(one_start, [
        dict(n=n, seed=[seed, k], whole=k == 0) for k in range(STARTS[budget])], "starts",
        warm=warm)
    chains, length, burn_in = CHAINS[budget]
    done = replicates_by_key(experiment, crossed_funnels, {share: [
        dict(share=share, n=n, eps=eps, L=steps, chains=chains, length=length, burn_in=burn_in,
             seed=[seed, 1], cost=steps) for eps, steps in product(*GRID[budget])]
        for share in (1.0, 0.0)}, "settings", warm=warm)
    best = {share: max(each, key=lambda found: found["b"] / found["cost"])
            for share, each in done.items()}
    return {"n": n, "exact": exact_steps(n, seed), "path": starts[0]["path"], "starts": {name: [
        start[name] for start in starts] for name in starts[0] if name != "path"}, "best": best}


def one_start(n, seed, whole=True):
    """Return the energies of one trajectory of SSHMC, its path if `whole`, and of HMC in Gibbs."""
    rng = np.random.default_rng(seed)
    model = Funnel.from_size(n)
    x, v = exact_draw(rng, n)
    r_x, r_v = np.exp(v / 2) * rng.standard_normal(n), model.L_phi @ rng.standard_normal(1)
    path = abla_path(x, v, r_x, r_v, model, EPS / 2, EPS, L, N_THETA, N_PHI)
    found = block_energies(path, model, EPS / 2, N_THETA)
    alone = within_gibbs(x, v, r_v, model, EPS, N_PHI * L)
    return found["totals"] | {"path": found["path"] if whole else {}, "v alone": alone["v"],
                              "U alone": alone["U"]}


def exact_steps(n, seed):
    """Return the most that H changes on 20 ABLA steps whose flows of H_1 and H_2 are exact.

    Given v, x and its momentum turn at frequency 1; v is followed by a solver of order 8.
    """
    rng = np.random.default_rng(seed)
    x, (v,) = exact_draw(rng, n)
    mass = FUNNEL["mass_phi"]
    r, r_v = np.exp(v / 2) * rng.standard_normal(n), mass**0.5 * rng.standard_normal()

    def H():
        return (np.exp(v) * (x @ x) + np.exp(-v) * (r @ r) + v * v / 9 + r_v * r_v / mass) / 2

    def turn(time):
        return (x * np.cos(time) + np.exp(-v) * r * np.sin(time),
                r * np.cos(time) - np.exp(v) * x * np.sin(time))

    def rate(_, z, xx, rr):
        return z[1] / mass, (np.exp(-z[0]) * rr - np.exp(z[0]) * xx) / 2 - z[0] / 9

    start, off = H(), 0.0
    for _ in range(20):
        x, r = turn(EPS / 2)
        v, r_v = solve_ivp(rate, (0, EPS), [v, r_v], "DOP853", args=(x @ x, r @ r), rtol=1e-12,
                           atol=1e-12).y[:, -1]
        x, r = turn(EPS / 2)
        off = max(off, abs(H() - start))
    return off


def crossed_funnels(share, n, eps, L, chains, length, burn_in, seed):
    """Return the acceptance rate, the cost and the worst ESS of b and of b^2, chains together."""
    model = crossed.Crossed.from_size(n, share)
    records = []
    for k in range(chains):
        rng = np.random.default_rng([*seed, k])
        theta, phi = crossed.exact_draw(n, rng)
        chain = sshmc(theta, phi, model, eps, eps, L, burn_in + length, rng, keep=[n])
        records.append(chain._replace(phi=chain.phi[:, [n]]))
    ess = worst(records, burn_in)
    return {"eps": eps, "L": L, "AP": np.mean([r.accepted[burn_in:].mean() for r in records]),
            "b": min(ess["theta"], ess["theta squares"]), "a": min(ess["phi"], ess["phi squares"]),
            "cost": sum(cost(record.counts, WEIGHTS) for record in records)}


def warm():
    """Compile everything in this process, before others start."""
    one_start(3, [0])
    crossed_funnels(1.0, 3, 0.1, 2, 1, 9, 0, [0])


def log_ratio(r, name, other):
    """Return the mean over starts of the log of a quantity over another."""
    return mean(np.log(r["starts"][name]) - np.log(r["starts"][other]))


def log_ess_gain(r, entry):
    """Return log(worst ESS per gradient of a or b, with the auxiliary potential / without it)."""
    found = [r["best"][share][entry] / r["best"][share]["cost"] for share in (1.0, 0.0)]
    # chains that have hardly moved report too many draws; those that have moved, within a tenth
    return Measured(np.log(found[0] / found[1]), 0.1)


FULL = ("short", "paper")  # in 100 + 1 dimensions
CLAIMS = [
    Claim("most that H changes on 20 ABLA steps of exact flows", quote("no correction"),
          lambda r: r["exact"], 0.0, 1e-8, "numerics: H is about 100, the solver's tolerance 1e-12",
          "printed sentence"),
    Claim("log(range of log p(v | x), SSHMC / range of K(r_v))", quote("borrowed"),
          lambda r: log_ratio(r, "reach", "own"), np.log(2), np.inf, "order: 0 where K(r_v) alone"
          " pays, as in HMC within Gibbs; here it pays for less than half.  Changes while H_2 moves"
          " v, summed over the steps; mean over starts", "order", budgets=FULL),
    Claim("log(range of log p(v | x), SSHMC / HMC within Gibbs)", quote("larger change"),
          lambda r: log_ratio(r, "reach", "U alone"), 0.0, np.inf, "order, over as many leapfrogs"
          " in v; mean over starts", "order", budgets=FULL),
    Claim("log(range of v, SSHMC / HMC within Gibbs)", "ours: SSHMC moves v further",
          lambda r: log_ratio(r, "v", "v alone"), 0.0, np.inf, "order, over as many leapfrogs in v;"
          " mean over starts", "ours", budgets=FULL),
    Claim("log(range of U / range of what the blocks lend each other)", "ours: most is n v / 2",
          lambda r: log_ratio(r, "U", "lent"), np.log(4), np.inf, "what U gains by n v / 2 the log"
          " determinant loses: nobody has to lend it.  v^2 / 18 + K(r_v) varies by less than a"
          " quarter of what U does", "ours", budgets=FULL),
    Claim("log(range of U / range of U + n v / 2)", "ours: the wide energy variation is n v / 2",
          lambda r: log_ratio(r, "U", "U without"), np.log(4), np.inf, "as above: without these"
          " terms the potential varies by less than a quarter", "ours", budgets=FULL),
    Claim("b: log(ESS per gradient, with the auxiliary potential / without)",
          quote("mixing of theta"), lambda r: log_ess_gain(r, "b"), 0.0, np.inf, "order, crossed"
          " funnels: each with the best of its pilots.  Its error, a tenth for each ESS, is assumed"
          " and not measured", "order", budgets=FULL),
    Claim("log(that gain of b / the gain of a)", "ours: it is not the step size", lambda r:
          log_ess_gain(r, "b") - log_ess_gain(r, "a"), 0.0, np.inf, "order: a, in phi, has its"
          " auxiliary potential in both, and gains from the larger steps alone", "ours",
          budgets=FULL),
]


def table(r):
    """Lay out the energies, means over starts, and the crossed funnels."""
    starts = text_table([[name, brief(mean(r["starts"][key]))] for name, key in {
        "range of U": "U", "range of U + n v / 2": "U without", "range of K": "K",
        "range of K - n v / 2": "K without", "range of v^2 / 18 + K(r_v), lent": "lent",
        "range of log p(v | x) while H_2 moves v": "reach", "range of A + log |M| / 2 then": "paid",
        "range of K(r_v)": "own", "range of log p(v | x), HMC within Gibbs": "U alone",
        "range of v": "v", "range of v, HMC within Gibbs": "v alone"}.items()],
        ["in nats, or of v", "mean over starts"])
    crossing = text_table([
        ["with" if share else "without", found["eps"], found["L"], float(found["AP"]), found["b"],
         found["a"], 1e6 * found["b"] / found["cost"]] for share, found in r["best"].items()],
        ["auxiliary potential of phi", "eps", "L", "acceptance", "ESS b", "ESS a",
         "ESS b per 10^6 gradients"])
    return f"{starts}\n\nTwo funnels crossed, b in theta and a in phi\n\n{crossing}"


def figure(r):
    """Draw the energies of one trajectory with n v / 2 and without, and what b gains."""
    fig, axes = panels(1, 3, 3.8, width_ratios=(1, 1, 0.6))
    path = {name: np.array(values) for name, values in r["path"].items()}
    for ax, words, title in ((axes[0], "", "as in (4) and (5)"),
                             (axes[1], " without", "$n v / 2$ taken out of both")):
        for name, colour in zip(("U", "K"), COLOURS, strict=False):
            energy = path[name + words]
            ax.plot(energy - energy[0], color=colour, lw=1,
                    label={"U": "potential", "K": "kinetic"}[name])
        ax.plot(path["lent"] - path["lent"][0], color=COLOURS[2], lw=1,
                label=r"$v^2 / 18 + K(r_v)$: lent")
        ax.set(title=title, xlabel="ABLA steps", ylabel="energy less that at the start")
    for k, entry in enumerate("ab"):
        for share, fill in ((1.0, "k"), (0.0, "white")):
            found = r["best"][share]
            axes[2].plot(k, 1e6 * found[entry] / found["cost"], "ko", mfc=fill, ms=6,
                         label=("with", "without")[share == 0] + r" $A(r_\phi \mid \theta)$")
    axes[2].set(yscale="log", xlim=(-0.5, 1.5), ylabel="worst ESS per million gradients",
                title="crossed funnels")
    axes[2].set_xticks((0, 1), (r"$a$, in $\phi$", r"$b$, in $\theta$"))
    legend_below(fig, axes[0], axes[2])
    fig.suptitle(f"Section 4.3: the funnel of {r['n']} + 1 dimensions, one trajectory")
    return fig


cases = "none: the funnel itself, and two funnels crossed"
STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
