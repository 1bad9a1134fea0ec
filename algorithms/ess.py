"""Autocorrelation time and effective sample size of a Markov chain.

In words    The autocorrelation time tau is the number of draws of a chain that are worth one
            independent draw, 1 plus twice the sum of all autocorrelations; each estimate here ends
            the sum before noise takes over, or compares means of batches in its place.  It is valid
            because the variance of a mean over a long stationary chain is tau times that of a mean
            over as many independent draws.  Use it for the error of a mean and for comparing
            samplers, on chains of many times tau: of a mode that was never visited it knows
            nothing.
Paper       C. J. Geyer (1992), "Practical Markov chain Monte Carlo", Statistical Science 7,
            473-483: initial positive and initial monotone sequence estimators.
            A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Buerkner (2021),
            "Rank-normalization, folding, and localization", Bayesian Analysis 16, 667-718:
            several chains together.
            B. Shahbaba, S. Lan, W. O. Johnson, R. M. Neal (2014), "Split Hamiltonian Monte Carlo",
            Statistics and Computing 24, 339-349, Section 3.3: batch means.
            M. Girolami and B. Calderhead (2011), "Riemann manifold Langevin and Hamiltonian Monte
            Carlo methods", J. R. Statist. Soc. B 73, 123-214, and their program: Geyer's initial
            monotone sequence with a limit of its own.
            C. Wang and R. M. Neal (2013), "MCMC Methods for Gaussian Process Models Using Fast
            Approximations for the Likelihood", arXiv 1305.2235, Section 6.1: a sum up to the last
            significant lag.
Mirror      initial_sequence_tau, combined_tau, batch_means_tau and significant_tau; the numbers of
            the lines are ours.

A single chain's autocorrelation time by initial_sequence and by combined_chains differs by what
lines 4 and 6 of the latter say below: it takes 1 / (n - 1) off the autocorrelation at every lag.
All estimates raise ValueError if x has another shape, fewer draws or entries that are not finite.

Departures
----------
All four estimates of tau
    theirs  no limit (Geyer; Shahbaba et al.; Wang and Neal)
    ours    at least 1 / log10(N), N the draws in all, as in Vehtari et al.: ESS <= N log10(N)
    why     noise can carry the estimate for an antithetic chain to 0 and below.  The limit binds
            for tau < 0.2 at N = 10^5; below N = 10 it exceeds 1, and raises
            tau even of independent draws
    test    test_antithetic_chains_stop_at_the_limit
Vehtari et al. (2021), Sections 3.1 and 4.1
    theirs  chains are split in halves, draws replaced by their ranks
    ours    neither: ArviZ's method "identity"
    why     tau is of a quantity, not of its ranks.  ArviZ differs in two corners: a constant chain
            is independent there (ESS = N; here nan), and its last even lag may be negative if a
            short chain (n < 20) runs out of lags
    test    test_combined_chains_neither_split_chains_nor_rank_draws

Notation
--------
paper        here          shape    meaning
x            x             (n,)     one scalar function of the state, draw by draw
gamma_t      gamma         (n,)     autocovariance at lag t = 0, ..., n - 1, divided by n
Gamma_j      Gamma         ()       gamma_{2j} + gamma_{2j+1}: for a reversible chain positive,
                                    decreasing and convex in j (Geyer's Theorem 3.1)
tau          tau           ()       autocorrelation time, 1 + 2 sum_{t > 0} gamma_t / gamma_0
S_eff        ess           ()       effective sample size: draws / tau
W, var+      W, var_plus   ()       variance within chains; of the chains together
B, S_b^2     B, S2_b       ()       draws in a batch, sample variance of the batch means
rho_i, M     rho, M        (M,) ()  autocorrelation gamma_i / gamma_0; draws
"""

from typing import NamedTuple

import numpy as np
from scipy import fft

from models import validate
from models.jit import njit

ONE_CHAIN = {1: "(n,)", 2: "(n, d)"}
SEVERAL_CHAINS = {2: "(m, n)", 3: "(m, n, d)"}


@njit
def initial_sequence_tau(gamma, monotone):
    """Sum autocovariances up to where noise takes over.

    Mirror of Geyer 1992, Section 3.3.

    Parameters
    ----------
    gamma    : (n,) float64   autocovariances or autocorrelations from lag 0, n >= 1; gamma_0 > 0
    monotone : bool           as in initial_sequence

    Returns
    -------
    tau      : float          autocorrelation time, without limits; -1 if no pair is positive
    pairs    : int            the number of Gamma_j summed
    """
    # 1   sum <- 0
    total, previous, pairs = 0.0, np.inf, 0
    # 2   for j = 0, 1, 2, ...
    for j in range(gamma.size // 2):
        # 3   Gamma_j <- gamma_{2j} + gamma_{2j+1}
        Gamma = gamma[2 * j] + gamma[2 * j + 1]
        # 4   if Gamma_j <= 0:  stop
        if not Gamma > 0:
            break
        # 5   if monotone and j > 0:  Gamma_j <- min(Gamma_j, Gamma_{j-1})
        if monotone:
            Gamma = min(Gamma, previous)
        # 6   sum <- sum + Gamma_j
        total += Gamma
        # ours
        previous, pairs = Gamma, j + 1
    # 7   sigma^2 <- -gamma_0 + 2 sum
    sigma2 = -gamma[0] + 2 * total
    # 8   tau <- sigma^2 / gamma_0
    return sigma2 / gamma[0], pairs


@njit
def combined_tau(gamma, means):
    """Compute the autocorrelation time of m chains from their autocovariances and means.

    Mirror of Vehtari et al. 2021, Sections 3.1 and 3.2, as in Stan and ArviZ.

    Line 5 leaves out the last three lags, or four if n is even, as ArviZ does: rho_{2k} exists.

    Parameters
    ----------
    gamma : (n,) float64   autocovariances, averaged over the chains; n >= 5
    means : (m,) float64   the chains' means; not all equal if gamma_0 = 0

    Returns
    -------
    tau   : float          without limits
    """
    n, m = gamma.size, means.size
    # 1   W <- (1/m) sum_i s_i^2,  s_i^2 = n / (n - 1) gamma_{i,0}
    W = n / (n - 1) * gamma[0]
    # 2   B/n <- 1 / (m - 1) sum_i (mean_i - mean)^2;  0 if m = 1
    between = np.sum((means - means.mean())**2) / (m - 1) if m > 1 else 0.0
    # 3   var+ <- (n - 1) / n W + B/n
    var_plus = (n - 1) / n * W + between
    # 4   rho_0 <- 1;  rho_t <- 1 - (W - (1/m) sum_i gamma_{i,t}) / var+,  t = 1, 2, ...
    #     theirs  s_i^2 rho_{i,t}, which is n / (n - 1) gamma_{i,t}
    #     ours    gamma_{i,t}
    #     why     Stan and ArviZ have it so
    #     test    test_combined_chains_equal_arviz_in_the_autocovariance
    rho = 1 - (W - gamma) / var_plus
    rho[0] = 1.0
    # 5   tau <- -1 + 2 sum_{j<k} (rho_{2j} + rho_{2j+1}), Geyer's initial monotone sequence
    tau, k = initial_sequence_tau(rho[:(n - 3) // 2 * 2], True)
    # 6   tau <- the average of the sums that end at lag 2k - 1 and at lag 2k:  tau + rho_{2k}
    #     theirs  rho_{2k}, whatever its sign
    #     ours    max(rho_{2k}, 0)
    #     why     Stan and ArviZ have it so
    #     test    test_combined_chains_equal_arviz_in_the_lag_at_which_the_sum_stops
    return tau + max(rho[2 * k], 0.0)


def batch_means_tau(x):
    """Compute the autocorrelation time from batch means.

    Mirror of Shahbaba et al. 2014, Section 3.3.

    Parameters
    ----------
    x   : (N,) float64   draws, not all equal, N >= 8

    Returns
    -------
    tau : float          without limits
    k   : int            the number of batches
    """
    # 1   B <- N^(2/3)
    B = cube_root(x.size**2)
    # 2   divide the draws into N^(1/3) batches of size B
    #     lines   1 to 2
    #     theirs  B = N^(2/3), and N^(1/3) batches
    #     ours    both rounded down; the last N - B k draws are in no batch, but all N are in S^2
    #     why     neither is a whole number; the authors' program does so (N = 50000: B = 1357, k =
    #             36)
    #     test    test_batch_means_by_hand
    k = cube_root(x.size)
    batches = x[:B * k].reshape(k, B)
    # 3   S^2 <- sample variance of the draws
    S2 = x.var(ddof=1)
    # 4   S_b^2 <- sample variance of the batch means
    S2_b = batches.mean(axis=1).var(ddof=1)
    # 5   tau <- B S_b^2 / S^2
    return B * S2_b / S2, k


def significant_tau(rho, literal):
    """Sum autocorrelations up to where they are not significant any more.

    Mirror of Wang and Neal 2013, Section 6.1, equation (44).

    Parameters
    ----------
    rho     : (M,) float64   autocorrelations from lag 0
    literal : bool           as in significant_lags

    Returns
    -------
    tau     : float          without limits
    k       : int            the last lag summed
    """
    # 1   k <- a point where for all i > k, rho_i is not significantly different from 0
    #     theirs  for all i > k, rho_i is not significantly different from 0
    #     ours    the first lag that is not significant is k + 1: |rho_i| < 1.96 / sqrt(M)
    #     why     noise passes 1.96 / sqrt(M) at one lag in twenty, so that no k short of about M
    #             would do, and up to there the sum is noise.  literal=True takes that k
    #     test    test_the_literal_cut_off_sums_noise
    significant = np.append(np.abs(rho) >= 1.96 / np.sqrt(rho.size), False)
    k = np.flatnonzero(significant)[-1] if literal else np.argmin(significant) - 1
    # 2   tau <- 1 + 2 sum_{i=1}^k rho_i
    return 1 + 2 * np.sum(rho[1 : k + 1]), k


class InitialSequence(NamedTuple):
    """Geyer's estimates for one chain: () for x of shape (n,), (d,) for (n, d)."""

    tau: np.ndarray  # autocorrelation time
    ess: np.ndarray  # effective sample size, n / tau
    se: np.ndarray  # approximate standard error of tau
    lags: np.ndarray  # int, autocovariances summed: lags 0, ..., lags - 1


class CombinedChains(NamedTuple):
    """Estimates from m chains together: () for x of shape (m, n), (d,) for (m, n, d)."""

    tau: np.ndarray  # autocorrelation time
    ess: np.ndarray  # effective sample size of all the draws, m n / tau


class BatchMeans(NamedTuple):
    """Estimates by batch means for one chain: () for x of shape (n,), (d,) for (n, d)."""

    tau: np.ndarray  # autocorrelation time
    ess: np.ndarray  # effective sample size, n / tau
    se: np.ndarray  # standard error of tau


class SignificantLags(NamedTuple):
    """Estimates from the significant lags of one chain: () for x of shape (n,), (d,) for (n, d)."""

    tau: np.ndarray  # autocorrelation time
    ess: np.ndarray  # effective sample size, n / tau
    se: np.ndarray  # approximate standard error of tau
    lags: np.ndarray  # int, autocovariances summed: lags 0, ..., lags - 1


def autocovariance(x):
    """Estimate the autocovariance of a chain at every lag, by FFT in O(n log n).

        gamma_t = (1/n) sum_{s=0}^{n-1-t} (x_s - mean) (x_{s+t} - mean)

    Division by n, not n - t, makes the sequence positive semidefinite (Geyer 1992, Section 3.1).

    Parameters
    ----------
    x       : (n,) or (n, d)   finite draws, one chain; not modified

    Returns
    -------
    gamma   : as x             lag t in row t, each coordinate by itself
    """
    return covariances(check_draws(x, ONE_CHAIN, 1))


def initial_sequence(x, monotone=True):
    """Estimate a chain's autocorrelation time by Geyer's initial sequence.

    The sum of the autocovariances in pairs is cut at the first pair that is not positive, and the
    pairs may not increase (`monotone`).  For a reversible chain this is conservative: the limit
    of tau is not below the truth.  For one that is not, take batch means as well.

    Parameters
    ----------
    x        : (n,) or (n, d)   finite draws, n >= 5, each coordinate by itself; not modified.
                                Several chains (m, n) go to combined_chains.
    monotone : bool             the initial monotone sequence; False: the initial positive sequence

    Returns
    -------
    InitialSequence(tau, ess, se, lags), with 1 / log10(n) <= tau.  A coordinate that
    never moves has tau, ess and se nan, lags 0: its autocorrelation is 0 / 0.
    se = tau sqrt(2 (2 lags - 1) / n) is the error of a sum over a fixed window, many tau wide
    (Madras & Sokal 1988, J. Stat. Phys. 50, 109-186).  For first-order autoregressions with n =
    10^5 se was 8 to 25 % too large for tau from 1 to 20, right at 1/2, 20 % too small at 1/4.
    """
    if not isinstance(monotone, bool | np.bool_):
        raise ValueError(f"monotone must be True or False, not {validate.shown(monotone)}")
    x = check_draws(x, ONE_CHAIN, 5)
    n = len(x)

    def estimate(column):
        if is_constant(column):
            return np.nan, np.nan, np.nan, 0
        tau, pairs = initial_sequence_tau(covariances(scale_to_unit(column)), bool(monotone))
        tau = limit(tau, n)
        return tau, n / tau, tau * np.sqrt(2 * (4 * pairs - 1) / n), 2 * pairs

    return InitialSequence(*by_coordinate(estimate, x.reshape(n, -1).T, x.shape[1:]))


def combined_chains(x):
    """Estimate the autocorrelation time of several chains with the same target, together.

    Chains that have not mixed count for little: what their means differ by is autocorrelation too.

    Parameters
    ----------
    x : (m, n) or (m, n, d)   finite draws, m >= 1 chains, n >= 5; each coordinate by itself; not
                              modified

    Returns
    -------
    CombinedChains(tau, ess), with 1 / log10(m n) <= tau; both nan for a coordinate that has one
    value in all chains.
    Source: Vehtari et al. (2021), Sections 3.1 and 3.2, as far as the header's departures.
    """
    x = check_draws(x, SEVERAL_CHAINS, 5)
    m, n = x.shape[:2]

    def estimate(chains):
        if is_constant(chains):
            return np.nan, np.nan
        chains = scale_to_unit(chains)
        gamma = np.mean([covariances(chain) for chain in chains], axis=0)
        tau = limit(combined_tau(gamma, chains.mean(axis=1)), m * n)
        return tau, m * n / tau

    return CombinedChains(*by_coordinate(estimate, np.moveaxis(x.reshape(m, n, -1), 2, 0),
                                         x.shape[2:]))


def batch_means(x):
    """Estimate a chain's autocorrelation time from the variance of the means of batches.

    Parameters
    ----------
    x : (n,) or (n, d)   finite draws, n >= 8, each coordinate by itself; not modified

    Returns
    -------
    BatchMeans(tau, ess, se), with 1 / log10(n) <= tau; all nan for a coordinate that
    never moves.
    se = tau sqrt(2 / (k - 1)) for k = floor(n^(1/3)) batches: long batches have nearly normal and
    independent means, so that (k - 1) S_b^2 / E S_b^2 is chi-squared with k - 1 degrees of freedom,
    whose variance is 2 (k - 1).  S^2 adds less, a relative variance of order tau / n.  k grows
    slowly: 24 % of tau at n = 50000.  With batches not much longer than tau, tau comes out too
    small.
    Source: Shahbaba et al. (2014), Section 3.3.
    """
    x = check_draws(x, ONE_CHAIN, 8)
    n = len(x)

    def estimate(column):
        if is_constant(column):
            return np.nan, np.nan, np.nan
        tau, k = batch_means_tau(scale_to_unit(column))
        tau = limit(tau, n)
        return tau, n / tau, tau * np.sqrt(2 / (k - 1))

    return BatchMeans(*by_coordinate(estimate, x.reshape(n, -1).T, x.shape[1:]))


def significant_lags(x, literal=False):
    """Estimate a chain's autocorrelation time by the sum up to where lags cease to be significant.

    Parameters
    ----------
    x       : (n,) or (n, d)   finite draws, one chain, n >= 5, each coordinate by itself; not
                               modified
    literal : bool             True ends the sum at the last significant lag of all; False, the
                               default, before the first lag that is not significant

    Returns
    -------
    SignificantLags(tau, ess, se, lags), with 1 / log10(n) <= tau; nan, and lags 0, for a coordinate
    that never moves.  se = tau sqrt(2 (2 lags - 1) / n), as for initial_sequence; it means nothing
    for the literal reading.
    Source: Wang and Neal (2013), Section 6.1, equations (43) and (44).
    """
    if not isinstance(literal, bool | np.bool_):
        raise ValueError(f"literal must be True or False, not {validate.shown(literal)}")
    x = check_draws(x, ONE_CHAIN, 5)
    n = len(x)

    def estimate(column):
        if is_constant(column):
            return np.nan, np.nan, np.nan, 0
        gamma = covariances(scale_to_unit(column))
        tau, k = significant_tau(gamma / gamma[0], bool(literal))
        tau = limit(tau, n)
        return tau, n / tau, tau * np.sqrt(2 * (2 * k + 1) / n), k + 1

    return SignificantLags(*by_coordinate(estimate, x.reshape(n, -1).T, x.shape[1:]))


def ess(x):
    """Estimate the effective sample size, of one chain or of several.

    Parameters
    ----------
    x   : (n,) or (n, d)   one chain: initial_sequence, monotone
          or (m, n, d)     several chains: combined_chains

    Returns
    -------
    ess : () or (d,)       in draws; nan for a coordinate that never moves

    Raises ValueError as these functions do.
    """
    x = check_draws(x, {**ONE_CHAIN, 3: "(m, n, d)"}, 5)
    return (combined_chains(x) if x.ndim == 3 else initial_sequence(x)).ess


def lineage_ess(x):
    """Estimate the effective sample size of one chain as the program of RMHMC's authors does.

    Geyer's initial monotone sequence on all lags, with tau >= 1: no chain counts for more than its
    draws, antithetic or not.  Papers that follow it, as Zhang and Sutton (2014), print this number.

    Parameters
    ----------
    x   : (n,) or (n, d)   finite draws, n >= 5, each coordinate by itself; not modified

    Returns
    -------
    ess : () or (d,)       in draws, n / tau; nan for a coordinate that never moves
    Source: Girolami and Calderhead (2011), the function CalculateESS of their program.
    """
    x = check_draws(x, ONE_CHAIN, 5)
    n = len(x)

    def estimate(column):
        if is_constant(column):
            return (np.nan,)
        tau, _ = initial_sequence_tau(covariances(scale_to_unit(column)), True)
        return (n / max(tau, 1.0),)

    return by_coordinate(estimate, x.reshape(n, -1).T, x.shape[1:])[0]


def cube_root(n):
    """Return the largest whole number whose cube is at most n: 4 of 64, for which floor gives 3."""
    root = round(n ** (1 / 3))
    return root - (root**3 > n)


def covariances(x):
    """Compute autocovariance(x) without the checks."""
    n = len(x)
    padded = fft.next_fast_len(2 * n - 1, real=True)  # n - 1 zeros keep the ends apart
    spectrum = fft.rfft(x - x.mean(axis=0), padded, axis=0)
    return fft.irfft(np.abs(spectrum)**2, padded, axis=0)[:n] / n


def scale_to_unit(x):
    """Scale by a power of two to below 1: exact, and squares neither overflow nor vanish."""
    return np.ldexp(x, -np.frexp(np.abs(x).max())[1])


def is_constant(x):
    """Tell whether all entries are equal: no tolerance, because draws have no natural scale."""
    return x.min() == x.max()


def limit(tau, draws):
    """Keep tau from falling below 1 / log10(draws)."""
    return np.maximum(tau, 1 / np.log10(draws))


def by_coordinate(estimate, columns, shape):
    """Apply `estimate` to each of `columns`; return its results as arrays of `shape`."""
    return [np.array(field).reshape(shape)[()]  # [()] turns an array of shape () into a scalar
            for field in zip(*map(estimate, columns), strict=True)]


def check_draws(x, layouts, least):
    """Return x as a finite float64 array in one of `layouts`, with at least `least` draws."""
    try:
        ndim = np.ndim(x)
    except ValueError:
        raise ValueError("x must be an array of numbers, not lists of unequal lengths") from None
    if ndim not in layouts:
        raise ValueError(f"x must have shape {' or '.join(layouts.values())}, not {np.shape(x)}")
    x = validate.array("x", x, (-1,) * ndim)
    n = x.shape[1 if "m" in layouts[ndim] else 0]
    if n < least:
        raise ValueError(f"x must hold at least {least} draws, not {n}: shape {x.shape}, expected"
                         f" {layouts[ndim]}")
    return x
