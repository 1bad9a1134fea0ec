"""Can the draws be believed?  R-hat, effective sample sizes, divergences and E-BFMI in one table.

The rule is that of Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021): rank-normalised split
R-hat of at most 1.01 and effective sample sizes, of the bulk and of the tails, of at least 100
times the number of chains, for every variable.  R-hat compares chains with each other, so take
several.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from algorithms.ess import combined_chains
from models.gp_classification import GPClassification
from models.non_centred import NonCentred
from models.non_centred_gp import NonCentredGP
from sampling.run import (
    CONSTANT_MASS,
    OTHER_COORDINATES,
    check_model_of,
    rates_of,
    remedy,
    variables_of,
)

MOST_RHAT = 1.01
LEAST_ESS = 100  # effective draws, times the number of chains
LEAST_E_BFMI = 0.3  # the rule of thumb of Stan's manual
MOST_ROWS = 12
COLUMNS = ("mean", "sd", "mcse", "ess bulk", "ess tail", "R-hat")


class Summary(NamedTuple):
    """What `summary` found; print it for the table."""

    names: tuple  # of the variables, such as "q[0]", with what the problem calls them
    mean: np.ndarray  # (d,)
    sd: np.ndarray  # (d,)
    mcse: np.ndarray  # (d,) standard error of the mean, by the effective sample size
    ess_bulk: np.ndarray  # (d,)
    ess_tail: np.ndarray  # (d,) the smaller of those of the 5 % and 95 % quantiles
    rhat: np.ndarray  # (d,)
    acceptance: np.ndarray  # (chains,) rate of each; nan where nothing is proposed
    divergences: int
    e_bfmi: np.ndarray  # (chains,) nan where momenta have no constant mass
    doubts: tuple  # sentences that say why the draws should not be believed; none if they can be
    parameters: str = ""  # a sentence that says what the variables are
    first: tuple = ()  # places of the hyperparameters, which are shown first

    def __str__(self):
        """Return the table, with a sentence for each doubt."""
        chosen = self.rows()
        width = max(map(len, self.names))
        lines = [f"{'':{width}}  " + "  ".join(f"{head:>10}" for head in COLUMNS)]
        lines += [f"{name:{width}}  {mean:10.4g}  {sd:10.4g}  {mcse:10.2g}  {bulk:10.0f}"
                  f"  {tail:10.0f}  {rhat:10.3f}" for name, mean, sd, mcse, bulk, tail, rhat in (
                      [column[i] for column in self[:7]] for i in chosen)]
        if len(chosen) < len(self.names):
            lines.append(f"the others of {len(self.names)} have more effective draws than the"
                         f" last {MOST_ROWS // 2} of these")
        lines.append(f"acceptance rates {shown(self.acceptance)}; divergences {self.divergences};"
                     f" E-BFMI {shown(self.e_bfmi)}")
        lines += [f"{self.parameters}."] * bool(self.parameters)
        return "\n".join(lines + [f"Do not believe this yet: {doubt}." for doubt in self.doubts])

    def rows(self):
        """Return the places of all variables, or of a few: hyperparameters first, then the worst.

        Those with the fewest effective draws of the bulk are the worst.
        """
        if len(self.names) <= MOST_ROWS:
            return range(len(self.names))
        first = list(self.first[: MOST_ROWS // 2]) or [0, 1]
        worst = np.argsort(np.nan_to_num(self.ess_bulk, nan=-1.0))  # nan: it never moved
        order = [int(i) for i in worst if i not in first]
        return first + sorted(order[: MOST_ROWS // 2])


def shown(values):
    """Return a number for each chain."""
    return ", ".join("-" if np.isnan(value) else f"{value:.2f}" for value in values)


def summary(found, problem=None):
    """Return the Summary of what sampling.run.run gave back, with at least 10 draws a chain.

    problem : of sampling.problems, which says what its parameters are, and on which scale

    Raises ValueError for fewer draws, or for draws that cannot be of that problem.
    """
    variables = variables_of(found)
    names, hyperparameters = names_of(found, problem), getattr(problem, "labels", {}).get("phi", ())
    x = np.concatenate([np.moveaxis(draws, 2, 0) for draws in variables.values()])
    m, n = x.shape[1:]
    if n < 10:
        raise ValueError(f"found must have at least 10 draws of each chain, not {n}")
    ess = combined_chains(np.moveaxis(x, 0, 2)).ess
    sd = x.std(axis=(1, 2), ddof=1)
    made = Summary(
        tuple(names), x.mean(axis=(1, 2)), sd, sd / np.sqrt(ess),
        np.array([ess_bulk(each) for each in x]), np.array([ess_tail(each) for each in x]),
        np.array([rhat(each) for each in x]),
        np.array([rates_of(chain).mean() if rates_of(chain).size else np.nan
                  for chain in found.chains]),
        found.divergences,
        np.array([getattr(chain, "e_bfmi", e_bfmi(chain.energies, len(names))
                          if found.sampler in CONSTANT_MASS else np.nan)
                  for chain in found.chains]), (), getattr(problem, "parameters", ""),
        tuple(i for i, name in enumerate(names)
              if name.startswith("phi") or name.partition(" ")[2] in hyperparameters))
    return made._replace(doubts=tuple(doubts(made, m, found.sampler)))


def names_of(found, problem):
    """List the names of all variables, each with what the problem calls it."""
    if not hasattr(problem, "labels") and problem is not None:
        raise ValueError("problem must be one of sampling.problems, which knows what its variables"
                         f" are called, not a {type(problem).__name__}")
    if isinstance(found.model, GPClassification) and problem is not None:
        raise ValueError("problem must be left out for the draws of a fitted kernel, whose q is the"
                         " function at the cases: summary(found)")
    names = []
    for name, draws in found.variables.items():
        kept = name == "theta" and found.kept
        indices = kept or range(draws.shape[2])
        d = indices[-1] + 1
        labels = labels_of(name, found, problem) if problem is not None else [""] * d
        if len(labels) < d or (len(labels) > d and not kept):
            raise ValueError(f"problem must be the one that found was drawn for: {name} of found"
                             f" has {d} variables{' or more' * bool(kept)}, and that of problem"
                             f" {len(labels)}")
        names += [f"{name}[{i}] {labels[i]}".rstrip() for i in indices]
    if problem is not None:
        check_model_of(found, problem)
    return names


def labels_of(name, found, problem):
    """Return what a problem calls the variables: q of its model is theta and phi, or phi alone."""
    known = problem.labels
    if name == "q" and found.variables[name].shape[2] == len(known.get("phi", ())):
        return known["phi"]
    if name == "q" and "phi" in known and not isinstance(found.model,
                                                         NonCentred | NonCentredGP | None):
        return known["theta"] + known["phi"]
    return known.get(name, ())


def doubts(made, m, sampler):
    """Yield a sentence for each reason not to believe m chains of a sampler."""
    def worst(values, largest):
        order = np.where(np.isnan(values), np.inf, values if largest else -values)
        return made.names[np.argmax(order)], values[np.argmax(order)]

    still = np.flatnonzero(made.acceptance == 0)
    if still.size:
        yield f"chain {still[0]} has accepted no proposal; {remedy(sampler)}, and run it again"
        return
    name, value = worst(made.rhat, True)
    if not value <= MOST_RHAT:
        yield (f"R-hat of {name} is {value:.4f}, above {MOST_RHAT}: the chains do not agree; run"
               " longer ones, or find out which of them is elsewhere" if m > 1 else
               f"R-hat of {name} is {value:.4f}, above {MOST_RHAT}: the halves of the chain do not"
               " agree; run a longer one")
    for what, values in (("bulk", made.ess_bulk), ("tail", made.ess_tail)):
        name, value = worst(values, False)
        if not value >= LEAST_ESS * m:
            yield (f"the effective sample size of {name}, {what}, is {value:.0f}, below"
                   f" {LEAST_ESS * m}; run longer chains")
    if made.divergences:
        trajectories = "trajectory" if made.divergences == 1 else "trajectories"
        yield (f"{made.divergences} {trajectories} diverged; {remedy(sampler)}, or"
               f" {OTHER_COORDINATES}")
    low = np.flatnonzero(made.e_bfmi < LEAST_E_BFMI)
    if low.size:
        yield (f"E-BFMI of chain {low[0]} is {made.e_bfmi[low[0]]:.3f}, below {LEAST_E_BFMI}: a new"
               " momentum changes the energy too little to reach the tails; take other coordinates")
    if m == 1:
        yield "one chain has no other to be compared with; run four"


def halves(x):
    """Split each chain, (m, n), into its first and last half, (2 m, n // 2)."""
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, -half:]])


def rank_normalised(x):
    """Replace draws by normal scores of their ranks in all chains."""
    rank = rankdata(x, method="average").reshape(x.shape)
    return ndtri((rank - 3 / 8) / (x.size + 1 / 4))


def basic_rhat(x):
    """Return the square root of the ratio of the variance of all draws to that within chains."""
    n = x.shape[1]
    within = x.var(axis=1, ddof=1).mean()
    between = n * x.mean(axis=1).var(ddof=1)
    with np.errstate(all="ignore"):  # of chains that have not moved
        return np.sqrt(((n - 1) / n * within + between / n) / within)


def rhat(x):
    """Return R-hat of draws (m, n), rank-normalised halves: the larger, of location or of scale."""
    x = halves(x)
    folded = np.abs(x - np.median(x))
    return np.fmax(basic_rhat(rank_normalised(x)), basic_rhat(rank_normalised(folded)))


def ess_bulk(x):
    """Return the effective sample size of draws (m, n) in the bulk of the distribution."""
    return combined_chains(rank_normalised(halves(x))).ess


def ess_tail(x):
    """Return the smaller effective sample size of the shares below the 5 % and 95 % quantiles."""
    return np.min([combined_chains(halves(x <= np.quantile(x, q)).astype(float)).ess
                   for q in (0.05, 0.95)])


def e_bfmi(energies, d):
    """Estimate E-BFMI of a chain from potential energies (n,), of d variables with momenta.

    It is the mean square by which a new momentum changes the energy H = U + K, over the variance of
    H (Betancourt 2016).  Where the mass is constant, the old and the new kinetic energy are half a
    chi-squared number of d degrees each, independent of each other and of U: so this is
    d / (Var U + d / 2).
    """
    return d / (np.var(energies) + d / 2)
