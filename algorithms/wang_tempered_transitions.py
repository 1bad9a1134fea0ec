"""Mapping with tempered transitions: exact sampling guided by several approximations.

In words    The state goes up, by one update for each of the approximations pi_1, ..., pi_n, which
            become cheaper, and down again by their reverses; where that ends is accepted or
            rejected as a whole. It is valid because each update on the way down is the reversal,
            with respect to the same pi_i, of the one on the way up: in the ratio of the
            probabilities of the path and of the reversed path the updates cancel, and the product
            of density ratios that is left, (15), is the Metropolis ratio. Use it where pi is
            expensive and one cheap approximation would be too far from pi for long moves: pi is
            needed at the two ends of a path only, and at its start it is known from the path
            before.
Paper       C. Wang and R. M. Neal (2013), "MCMC Methods for Gaussian Process Models Using Fast
            Approximations for the Likelihood", arXiv 1305.2235, Section 4.
Mirror      tempered_transitions_step, the list of Section 4, "Generate x-hat_1 from x using
            T-hat_1; ...", as a loop up and a loop down, which
            take in the factors of (15) as they pass.  Numbers and wording are ours.  The scripts
            run the twin, algorithms/wang_tempered_transitions_fast.py.

pi_1 is the approximation that is nearest to pi; the others follow as they become cheaper.  They are
the layers.  pi stays invariant even if their subsets of the data are not nested.  With one layer
and k updates of a reversible R it is a mapping to a discretizing chain with r = 1 and s = 2 k (end
of Section 4).

Departures
----------
Section 6.3
    theirs  silent about what T-hat_i is, and how many variables it updates
    ours    slice updates of as many as the twin's argument `unit` says; where T-hat_i is a sweep,
            T-check_i is the sweep in the opposite sequence, as after (14)
    why     with the same sequence pi would not be left invariant
    test    test_proofs.py::test_the_naive_reverse_of_tempered_transitions_is_biased

Notation
--------
paper            here            shape        meaning
pi_0, pi_i       pi[0], pi[i]                 exp(-U) of each: models; pi_0 = pi
n                n               ()           number of layers
x, x'            x               (d,)         state, and the next one
x-hat_i          x_              (d,)         states on the way up; x-hat_0 = x
x-check_i        x_              (d,)         and down; x-bar_n is the highest, x* = x-check_0
T-hat_i          step_forward                 a step that leaves pi_i invariant
T-check_i        step_backward                its reverse, equation (14)
(15)             exp(log_ratio)  ()           acceptance ratio
"""

import numpy as np

from algorithms.slice_sampling import step_backward, step_forward
from models.interface import U
from models.jit import check_interrupt, njit


@njit
def tempered_transitions_step(x, pi, move, rng):
    """Go up through all layers and down again, and accept where that ends or stay.

    Mirror of Wang and Neal 2013, Section 4.

    Parameters
    ----------
    x    : (d,) float64          where the chain is; not modified
    pi   : tuple of NamedTuple   pi_0 = pi, pi_1, ..., pi_n: models that implement U, of the same
                                 variables; compiled code takes them if they are of one type
    move : NamedTuple            what T-hat and T-check are: Slice, for instance
    rng  : Generator             advanced by what the steps take, in their order, then by a uniform

    Returns x', (d,).
    """
    # ours
    n, log_ratio = len(pi) - 1, 0.0
    # 1   x-hat_0 is x
    x_ = x
    # 2   for i = 1, ..., n do
    for i in range(1, n + 1):
        check_interrupt()
        # 3   a factor of (15):  pi_i(x-hat_(i-1)) / pi_(i-1)(x-hat_(i-1))
        log_ratio += U(x_, pi[i - 1]) - U(x_, pi[i])
        # 4   generate x-hat_i from x-hat_(i-1), using T-hat_i;  x-hat_n is x-bar_n and x-check_n
        x_ = step_forward(x_, pi[i], move, rng)
    # 5   for i = n, ..., 1 do
    for i in range(n, 0, -1):
        check_interrupt()
        # 6   generate x-check_(i-1) from x-check_i, using T-check_i;  x-check_0 is x*
        x_ = step_backward(x_, pi[i], move, rng)
        # 7   a factor of (15):  pi_(i-1)(x-check_(i-1)) / pi_i(x-check_(i-1))
        log_ratio += U(x_, pi[i]) - U(x_, pi[i - 1])
    # 8   y' <- y = (x, x-hat_1, ..., x-bar_n, ..., x-check_1, x*) with its order flipped, with
    #         probability min(1, the product of the factors), (15); otherwise y' <- y
    #     theirs  silent about a density that is infinite or not a number
    #     ours    the flip is rejected
    #     why     a state of energy -inf would be accepted, and never left again
    #     test    test_a_flip_to_an_energy_that_is_not_finite_is_rejected
    flipped = rng.random() < np.exp(log_ratio) and np.isfinite(log_ratio)
    # 9   x' <- the first coordinate of y'
    return x_ if flipped else x
