"""Settings by a rule that does not look at print.

The paper tunes by hand, "so that the acceptance rate is around 70-85 %", and says nothing of the
step sizes.  We run pilot chains on a fixed grid of settings.  Of those whose acceptance rate is in
the paper's range we take the one with the largest worst ESS per unit of cost: the worst over the
parameters, the hyperparameters and the squares of both, the cost in operations, not in seconds,
which would be others in each run.
"""

from reproduce.zhang.estimates import counted, worst
from reproduce.zhang.printed import ACCEPTANCE


def pilot(setting, chains, weights, burn_in=0):
    """Return what `pick` needs of a setting's pilot chains, plain numbers.

    setting : dict         what the chains were run with, handed on
    chains  : list         records, of equal lengths
    weights : {str: float} cost of each operation that the records count; others cost nothing
    burn_in : int          transitions left out of the rate and of the ESS; their cost is in

    "AP" is a list: the acceptance rate, averaged over the chains, of each block.
    """
    rates = [chain.accepted[burn_in:].mean(axis=0) for chain in chains]
    AP = sum(rates) / len(rates)
    return {"setting": setting, "AP": AP.tolist() if AP.ndim else [float(AP)],
            "ess": worst(chains, burn_in), "cost": sum(cost(c.counts, weights) for c in chains)}


def cost(counts, weights):
    """Return the cost of a record's operations: the weighted sum of its counts."""
    found = counted(counts)
    return sum(weight * found[name] for name, weight in weights.items())


def efficiency(found):
    """Return the worst ESS per unit of cost of a pilot()."""
    return min(found["ess"].values()) / found["cost"]


def outside(found, low=ACCEPTANCE[0], high=ACCEPTANCE[1]):
    """Return by how much the acceptance rates are outside [low, high], the worst block's."""
    return max(max(low - rate, rate - high, 0.0) for rate in found["AP"])


def pick(pilots, low=ACCEPTANCE[0], high=ACCEPTANCE[1]):
    """Return the pilot() that the rule takes.

    Of those whose acceptance rates are all in [low, high]: the most efficient.  If there are none,
    the most efficient of those that are outside by no more than 0.02 more than the nearest is.
    """
    if not pilots:
        raise ValueError("pilots must hold at least one pilot, but is empty")
    nearest = min(outside(found, low, high) for found in pilots)
    margin = 0.02 if nearest > 0 else 0.0
    return max((found for found in pilots if outside(found, low, high) <= nearest + margin),
               key=efficiency)
