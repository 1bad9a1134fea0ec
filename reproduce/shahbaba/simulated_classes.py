"""Split HMC with three simulated classes: shahbaba/multinomial.py where CTG is nowhere to be had.

As many cases and attributes as CTG has; y is the class with the largest of three random linear
functions plus Gumbel noise, which is logistic regression's own model.  The code is the same, the
data are not, so neither are the keys of replicates.
"""

import numpy as np

from reproduce.harness.files import Data
from reproduce.shahbaba import multinomial
from reproduce.shahbaba.datasets import COUNTS, SHAPES

NAME = "three simulated classes"


def three_classes(name="CTG", seed=1):
    """Return the stand-in, under any name."""
    rng = np.random.default_rng(seed)
    (n, p), K = SHAPES[name], len(COUNTS[name])
    X = rng.standard_normal((n, p))
    scores = X @ rng.standard_normal((p, K)) + rng.gumbel(size=(n, K))
    return Data(NAME, X, scores.argmax(1).astype(float))


def tune(**task):
    """Run multinomial.tune on the stand-in."""
    multinomial.all_classes = three_classes
    return multinomial.tune(**task)


def row_of_chains(**task):
    """Run multinomial.row_of_chains on the stand-in."""
    multinomial.all_classes = three_classes
    return multinomial.row_of_chains(**task)


def warm():
    """Compile everything in this process, before others start."""
    multinomial.all_classes = three_classes
    multinomial.warm()
