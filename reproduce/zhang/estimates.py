"""What is kept of a run of any of the methods of Zhang and Sutton (2014): plain numbers.

The effective sample size has two estimators.  "lineage" is that of the programs which the paper
names: Geyer's initial monotone sequence, never above the number of draws.  "ours" may exceed it.
A trajectory that makes about half a turn makes the mean look perfect while variances mix badly, so
the ESS of (x - mean)^2 stands beside that of x.  An ESS is nan where a quantity never moved.
"""

from typing import NamedTuple

import numpy as np

from algorithms.ess import combined_chains, initial_sequence, lineage_ess


class Blocks(NamedTuple):
    """A record in blocks, of a sampler of the joint space."""

    theta: np.ndarray  # (n, d)
    phi: np.ndarray  # (n, h)
    accepted: np.ndarray  # (n,) bool
    divergences: int
    counts: NamedTuple


def in_blocks(chain, n_theta, keep=None):
    """Return the record of hmc, of states (theta, phi), as a Blocks with theta[keep], or all."""
    theta = chain.samples[:, :n_theta]
    return Blocks(theta if keep is None else theta[:, keep], chain.samples[:, n_theta:],
                  chain.accepted, chain.divergences, chain.counts)


def summary(chain, burn_in, bins=None):
    """Return what is to be known of one run, without its first `burn_in` transitions.

    chain : Chain    a record with theta (n, d), phi (n, h), accepted (n,) or (n, blocks),
                     divergences and counts
    bins  : list     of the edges of a histogram for each entry of phi, or None

    n       draws                     AP        acceptance rate, of each block if there are several
    divergences  of all transitions   counts    of all transitions, {name: number}
    theta   {"lineage", "ours", "squares": [min, median, max] of the ESS over the entries;
             "squares" is that of (x - mean)^2, ours}
    phi     {"lineage", "ours", "squares", "tau", "tau_se", "mean", "mean_se", "sd": of each entry;
             "histogram": counts, and "outside": draws outside the bins, if there are bins}
    """
    theta, phi = (np.asarray(x)[burn_in:] for x in (chain.theta, chain.phi))
    n = len(phi)
    geyer = initial_sequence(phi)
    deviation = phi.std(axis=0)
    found = {
        "n": n, "AP": np.mean(np.asarray(chain.accepted)[burn_in:], axis=0).tolist(),
        "divergences": chain.divergences,
        "counts": counts_dict(chain.counts),
        "theta": {"lineage": spread(lineage_ess(theta)),
                  "ours": spread(initial_sequence(theta).ess),
                  "squares": spread(initial_sequence(squares(theta)).ess)},
        "phi": {"lineage": lineage_ess(phi).tolist(), "ours": geyer.ess.tolist(),
                "squares": initial_sequence(squares(phi)).ess.tolist(),
                "tau": geyer.tau.tolist(), "tau_se": geyer.se.tolist(),
                "mean": phi.mean(axis=0).tolist(), "sd": deviation.tolist(),
                "mean_se": (deviation * np.sqrt(geyer.tau / n)).tolist()},
    }
    if bins is not None:
        inside = [np.histogram(x, edges)[0].tolist() for x, edges in zip(phi.T, bins, strict=True)]
        found["phi"] |= {"histogram": inside, "outside": [n - sum(each) for each in inside]}
    return found


def squares(x):
    """Return (x - mean)^2 of each column."""
    return (x - x.mean(axis=0)) ** 2


def spread(values):
    """Return [min, median, max]; nan if any is."""
    return [float(np.min(values)), float(np.median(values)), float(np.max(values))]


def worst(chains, burn_in=0):
    """Return the least ESS of theta, phi and their squares, in one or several chains together.

    {"theta", "theta squares", "phi", "phi squares": the least over the entries, of all draws};
    0 for what never moved.  Chains that have not mixed count for little.
    """
    found = {}
    for block in ("theta", "phi"):
        x = np.array([getattr(chain, block)[burn_in:] for chain in chains])
        centred = (x - x.mean(axis=(0, 1))) ** 2
        for name, values in ((block, x), (f"{block} squares", centred)):
            found[name] = float(np.min(np.nan_to_num(combined_chains(values).ess, nan=0.0)))
    return found


def counts_dict(counts):
    """Return operation counts, a NamedTuple, as {name: number}."""
    return {name: float(count) for name, count in counts._asdict().items()}
