"""Bridge sampling of a normalising constant, and importance sampling as its special case.

In words    The normalising constant of a density is computed from draws of it and from draws of
            another one that is normalised, as the ratio of two means.  It is valid because the two
            means are the same integral, one of them divided by the constant that is wanted,
            whatever function both have as a weight; the best weight depends on that constant, and
            is found by iteration.  Use it for an evidence where a chain has been run anyway and a
            density that overlaps with it is at hand, a fitted normal one for example.
Papers      X.-L. Meng and W. H. Wong (1996), "Simulating ratios of normalizing constants via a
            simple identity: a theoretical exploration", Statistica Sinica 6, 831-860.
            S. Fruehwirth-Schnatter (2004), "Estimating marginal likelihoods for mixture and Markov
            switching models using bridge sampling techniques", Econometrics Journal 7, 143-167:
            the relative error.
            A. Vehtari, D. Simpson, A. Gelman, Y. Yao and J. Gabry (2024), "Pareto smoothed
            importance sampling", JMLR 25 (72), 1-58: the tail, its length, and what its k tells.
            J. Zhang and M. A. Stephens (2009), "A new and efficient estimation method for the
            generalized Pareto distribution", Technometrics 51, 316-325: the fit.
Mirror      iterate_bridge, line by line.

Wanted is Z, the integral of p*.  There are draws from p = p* / Z, mostly of a Markov chain, and
draws from a density q that is normalised; of both one needs only l = p* / q.  For any function
alpha of l,

    Z = E_q[alpha p*] / E_p[alpha q].

alpha = 1 / q is importance sampling: it needs no draws from p, and its error is the variance of l
under q, which may be infinite.  alpha = 1 / p* is the harmonic mean, with that of 1 / l under p.
For independent draws the best is alpha = 1 / (s_1 p* + s_2 Z q), s_1 and s_2 the shares of the
draws from p and from q.  It depends on Z, hence the iteration.  Then both means are of bounded
numbers, p / (s_1 p + s_2 q) <= 1 / s_1 and q / (s_1 p + s_2 q) <= 1 / s_2: whatever the tails are,
the variance is finite.  What it needs is that p and q overlap.  s_1 = 0 is importance sampling.

With W = p / (s_1 p + s_2 q) at the draws from q, and V = q / (s_1 p + s_2 q) at those from p, the
relative error of Z, which is the error of log Z, is to first order

    RE^2 = Var(W) / (n_2 E[W]^2) + tau Var(V) / (n_1 E[V]^2),

tau the autocorrelation time of V along the chain: the spectral density at 0 over the variance.

Notation
--------
paper       here            shape    meaning
q_1, c_1    p*, Z                    unnormalised density and its constant; c_2 = 1
l = q_1/q_2 at_target       (n_1,)   log l at the draws from p
            at_proposal     (n_2,)   log l at the draws from q
r = c_1/c_2 log_r           ()       log of the estimate
s_1, s_2    s_1, s_2        ()       shares
            W, V            (n_2,), (n_1,)   see above
rho(0)      tau             ()       autocorrelation time
k           pareto_k        ()       shape of the tail of l under q: moments above 1 / k are
                                     infinite; above .7 a sum over l is not to be trusted
"""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from algorithms.ess import initial_sequence
from models import validate

SMALLEST_TAIL = 5  # weights; of fewer no shape can be found
PRIOR_K, PRIOR_WEIGHT = 0.5, 10  # Vehtari et al., Appendix C: as if of ten more weights


def iterate_bridge(at_target, at_proposal, tau, tol, max_iterations):
    """Iterate the optimal bridge; return (log_r, W, V, iterations, converged).

    Mirror of Meng and Wong 1996, Section 4.

    at_target      : (n_1,) finite            log l at draws from p
    at_proposal    : (n_2,) finite or -inf    log l at draws from q
    tau            : float > 0                autocorrelation time of the draws from p
    tol            : float > 0                of log r
    max_iterations : int >= 1

    The map of log r is a contraction: whatever the guess, there is one limit.  W and V, (n_2,) and
    (n_1,), over their means, are those of the last r but one.
    """
    # 1   s_1 <- n_1 / (n_1 + n_2);  s_2 <- n_2 / (n_1 + n_2)
    #     theirs  s_1 = n_1 / (n_1 + n_2), for independent draws
    #     ours    n_1 / tau in place of n_1, tau the autocorrelation time of log l along the chain
    #     why     n_1 dependent draws are worth n_1 / tau, and what the weights are to balance is
    #             worth
    #     test    test_a_chain_of_repeated_draws_is_worth_what_it_is_without
    n_1, n_2 = at_target.size / tau, at_proposal.size
    s_1, s_2 = n_1 / (n_1 + n_2), n_2 / (n_1 + n_2)
    # 2   r <- a first guess
    log_r, iterations, converged = np.median(at_target), 0, False
    # 3   repeat
    while iterations < max_iterations and not converged:
        # 4   A <- mean over the draws from p_2 of l / (s_1 l + s_2 r)
        W = -np.logaddexp(np.log(s_1), np.log(s_2) + log_r - at_proposal)
        A = logsumexp(W) - np.log(W.size)
        # 5   B <- mean over the draws from p_1 of 1 / (s_1 l + s_2 r)
        #     lines   4 and 5
        #     theirs  means of l / (s_1 l + s_2 r) and of 1 / (s_1 l + s_2 r)
        #     ours    the means of 1 / (s_1 + s_2 r / l) and 1 / (s_1 l / r + s_2), W and V by logs;
        #             the second is r B, so line 6 is r <- r A / (r B)
        #     why     l is exp of hundreds; it over- and underflows
        #     test    test_ratios_of_any_size
        V = -np.logaddexp(np.log(s_1) + at_target - log_r, np.log(s_2))
        B = logsumexp(V) - np.log(V.size)
        # 6   r <- A / B
        previous, log_r = log_r, log_r + A - B
        # 7   until r changes by less than tol
        iterations, converged = iterations + 1, abs(log_r - previous) < tol
    # 8   return r
    return float(log_r), np.exp(W - A), np.exp(V - B), iterations, bool(converged)


class Bridge(NamedTuple):
    """A log normalising constant by bridge sampling."""

    log_Z: float
    standard_error: float  # of log_Z: the root of the sum of the next two
    from_target: float  # variance by the draws from p, their autocorrelation included
    from_proposal: float  # variance by the draws from q
    tau: float  # autocorrelation time of V
    iterations: int
    converged: bool  # did log Z change by less than tol in the last of them?


class ImportanceSampling(NamedTuple):
    """A log normalising constant by importance sampling."""

    log_Z: float
    standard_error: float  # of log_Z, by the delta method; of no meaning where pareto_k > 0.7
    effective: float  # draws: (sum l)^2 / sum l^2
    pareto_k: float  # nan for fewer than SMALLEST_TAIL weights in the tail


def bridge_sampling(at_target, at_proposal, tau=None, tol=1e-10, max_iterations=10_000):
    """Estimate log Z, the log of the integral of p*, and its standard error.

    Parameters
    ----------
    at_target      : (n_1,)          log p* - log q at draws from p, in the order of their chain;
                                     finite, n_1 >= 5
    at_proposal    : (n_2,)          the same at independent draws from q; finite or -inf, n_2 >= 2
    tau            : float > 0 or None   autocorrelation time of the draws from p, 1 if they are
                                     independent; None, the default: it is estimated by Geyer's
                                     initial sequence
    tol            : float > 0       the iteration ends when log Z changes by less; default 1e-10
    max_iterations : int >= 1        default 10000; it takes many if p and q hardly overlap

    Returns a Bridge.  Where p and q hardly overlap the error is large, and itself a poor estimate:
    do not trust one of .3 or more.  Raises ValueError, naming the argument, for anything else.
    """
    at_target = validate.array("at_target", at_target, (-1,))
    if at_target.size < 5:
        raise ValueError(f"at_target must hold at least 5 draws, not {at_target.size}")
    at_proposal = log_ratios("at_proposal", at_proposal)
    tol = validate.real("tol", tol, 0.0, open_low=True)
    max_iterations = validate.count("max_iterations", max_iterations)
    worth = time_of(at_target) if tau is None else validate.real("tau", tau, 0.0, open_low=True)
    # Jensen: log Z is at most the mean of log p* - log q over p, and at least that over q
    if np.isfinite(at_proposal).all() and np.ptp(at_target) > 0 and (
            at_proposal.mean() - at_target.mean() > 10 * (
                at_target.std() * (worth / at_target.size)**0.5
                + at_proposal.std() / at_proposal.size**0.5)):
        raise ValueError("at_target must be at draws from p, and at_proposal at draws from q; they"
                         f" seem to be exchanged: the mean of the first, {at_target.mean():.6g}, is"
                         f" below that of the second, {at_proposal.mean():.6g}; or the chain of the"
                         " first is far too short")
    log_Z, W, V, iterations, converged = iterate_bridge(at_target, at_proposal, worth, tol,
                                                  max_iterations)
    if tau is None:
        tau = time_of(V)
    from_target, from_proposal = tau * relative_variance(V), relative_variance(W)
    return Bridge(log_Z, (from_target + from_proposal) ** 0.5, from_target, from_proposal,
                  float(tau), iterations, converged)


def importance_sampling(at_proposal):
    """Estimate log Z from draws of q alone: the limit of bridge_sampling for s_1 = 0.

    at_proposal : (n,)   log p* - log q at independent draws from q; finite or -inf, n >= 2

    Returns an ImportanceSampling.  Raises ValueError, naming the argument, for anything else.
    """
    at_proposal = log_ratios("at_proposal", at_proposal)
    top = at_proposal.max()
    W = np.exp(at_proposal - top)
    return ImportanceSampling(float(top + np.log(W.mean())), relative_variance(W) ** 0.5,
                              float(W.sum() ** 2 / (W @ W)), pareto_k(at_proposal))


def pareto_k(log_weights):
    """Return the shape k of the tail of the weights, by a generalised Pareto fit.

    The tail has min(n / 5, 3 sqrt(n)) weights, rounded down, each less the threshold, which is
    the largest of the others (Vehtari et al., Section 3); ties with the threshold are not in it.

    log_weights : (n,) finite or -inf, n >= 2.  Raises ValueError for anything else.

    Returns a float: nan if there are fewer than SMALLEST_TAIL weights in the tail, as there are if
    q is p.
    """
    log_w = np.sort(log_ratios("log_weights", log_weights))
    n = log_w.size
    m = int(min(n / 5, 3 * np.sqrt(n)))
    w = np.exp(log_w - log_w[-1])
    excess = w[n - m :] - w[n - m - 1]
    excess = excess[excess > 1e-12]  # rounding: of what is the same
    if excess.size < SMALLEST_TAIL:
        return np.nan
    shares = np.array([excess.size, PRIOR_WEIGHT]) / (excess.size + PRIOR_WEIGHT)
    return float(shares @ (generalised_pareto(excess), PRIOR_K))


def generalised_pareto(x):
    """Return the shape k of a generalised Pareto distribution from draws of it (Zhang, Stephens).

    The density is (1 + k x / sigma)^(-1/k - 1) / sigma.  In theta = -k / sigma and k the likelihood
    has for each theta its maximum in k in closed form, k(theta) = mean log(1 - theta x), where its
    log is l(theta) = n (log(-theta / k) - k - 1).  theta is estimated by its mean over m points
    with the weights exp(l), of a prior that is spread by the quartile of x; k by k(theta).

    x : (n,) ascending, > 0
    """
    n = x.size
    m = 30 + int(np.sqrt(n))
    quartile = x[int(n / 4 + 0.5) - 1]
    j = np.arange(1, m + 1)
    theta = 1 / x[-1] + (1 - np.sqrt(m / (j - 0.5))) / (3 * quartile)
    k = np.log1p(-np.outer(theta, x)).mean(axis=1)
    log_likelihood = n * (np.log(-theta / k) - k - 1)
    w = np.exp(log_likelihood - logsumexp(log_likelihood))
    return np.log1p(-(w @ theta) * x).mean()


def relative_variance(W):
    """Return the variance of the mean of W, (n,), as if independent, over its square."""
    return float(np.var(W, ddof=1) / W.size / W.mean() ** 2)


def time_of(x):
    """Return the autocorrelation time of a chain, (n,); 1 if it is constant."""
    tau = initial_sequence(x).tau
    return 1.0 if np.isnan(tau) else float(tau)


def log_ratios(name, value):
    """Return `value` as an (n,) float64 array, n >= 2, of which -inf is not all."""
    value = validate.logarithms(name, value)
    if value.size < 2:
        raise ValueError(f"{name} must hold at least 2 draws, not {value.size}")
    if np.isneginf(value).all():
        raise ValueError(f"{name} must not be -inf throughout")
    return value
