r"""Riemannian manifold Hamiltonian Monte Carlo for Gaussian-process classification.

In words    RMHMC is Hamiltonian Monte Carlo whose mass matrix is the local curvature of the
            density, so that every step has the scale of the place where the chain is. The mass
            depends on the position, so each leapfrog step has two implicit equations, which
            fixed-point iterations solve; if they converge, the trajectory is reversible and keeps
            volume, and the Metropolis test makes the chain exact. Use it to see what geometry buys
            on a few hundred latent values: an evaluation of the metric takes some N^3 operations.
Paper       U. Paquet and M. Fraccaro (2016), "An Efficient Implementation of Riemannian Manifold
            Hamiltonian Monte Carlo for Gaussian Process Models".
Mirror      rmhmc, hamiltonian_and_gradient, riemann_metric and derivatives are Algorithms 1 to 4
            with the paper's line numbers (Algorithm 2 has none: numbered here).  The inputs y, K,
            L^K, log|K|, mu, Sigma~, L^Sigma, log|Sigma| and beta travel together as `model`.

Departures
----------
Sections 4.1 and 4.3.2
    theirs  the precision of q is "K^-1 plus a diagonal matrix Sigma~"
    ours    plus Sigma~^-1, as in the equations beside it
    why     Sigma~ is the covariance of the sites
    test    test_the_precision_of_q_is_that_of_the_prior_plus_the_sites
Section 4.3
    theirs  two cases, whether q(x) = p(x) or not: p(x) is the prior here and in Section 5
    ours    whether q(x) is the prior or not, as in Section 4.3.1: "If q is equal to the prior"
    why     in Section 2 p(x) is the density that is sampled: one symbol for two densities
    test    a label
Section 4.4
    theirs  the first derivative, "given in Line 9" of Algorithm 4: N(y x) / Phi(y x)
    ours    y N(y x) / Phi(y x), as line 9 has it
    why     the chain rule
    test    test_section_4_4_is_the_gradient_of_the_log_likelihood

Notation
--------
paper              here            shape    meaning
x, p               x, p            (N,)     latent function values; momentum
x', p', dH/dp'     x_, p_, dH_dp_  (N,)     iterates of the fixed-point loops
L_beta, curly L    L_beta          ()       log density of x, unnormalised at beta > 0
dL_beta/dx         dL_dx           (N,)     its gradient; L is the curly one here, too
L, roman           ell             ()       (Algorithm 4) log likelihood; ell in the pseudocode too
dL/dx, roman       dell_dx         (N,)     (Algorithm 4) its gradient
f, f'              f, f_           (N,)     (Algorithm 4) (L^K)^-1 x; (L^Sigma)^-1 (x - mu)
L, V               L, V            (N, N)   (Algorithm 3) lower Cholesky factors; L V = K * s, ...
2 sum log L_nn     log_det(L)      ()       (Algorithm 3) log determinant of L L'
exp{r}             exp_r_of(z)     (N,)     N(z) / Phi(z), d log Phi / dz; lines 7 and 9 of
                                            Algorithm 3 are lambda_of(z), y kappa_of(z)
G^-1, log|G|       G_inv, log_det_G         metric tensor G = -(Hessian of L_beta): inverse, log det
dg                 dg              (N,)     dG_nn / dx_n
H, dH/dx, dH/dp    H, dH_dx, dH_dp          Hamiltonian and its gradients
epsilon            eps             ()       leapfrog step size
l_max, f_max       l_max, f_max    ()       leapfrog steps per trajectory; fixed-point iterations
t_max              t_max           ()       transitions
lambda, s, t       lam, s, t       (N,)     diagonal of Lambda; roots of it, of (1-beta) Sigma~^-1
Sigma~^-1          model.tau       (N,)     precisions of EP's sites; 0 where q is the prior
Sigma = K, mu = 0  model.q_is_prior ()      whether q is the prior (L^Sigma = L^K in Algorithm 4)
"""

from typing import NamedTuple

import numpy as np

from algorithms.hmc import warn_if_none_accepted
from models import validate
from models.gp_classification import LOG_2_PI, GPClassification
from models.jit import njit, public
from models.linalg import (
    cholesky,
    gram,
    identity_plus_scaled,
    log_det,
    rows_times,
    solve_lower,
    solve_lower_matrix,
    solve_lower_transposed,
)
from models.special import probit


@njit
def rmhmc(x0, model, l_max, eps, t_max, rng, f_max=5):
    r"""Run t_max transitions of RMHMC, which leave exp(L_beta) invariant as f_max -> infinity,
    where the fixed-point iterations converge.

    Mirror of Paquet and Fraccaro 2016, Algorithm 1.

    Parameters
    ----------
    x0           : (N,) float64         where the chain starts; not modified
    model        : GPClassification     with its beta in [0, 1]
    l_max, t_max : int >= 1             leapfrog steps per transition; transitions
    eps          : float > 0            step size
    rng          : Generator            advanced by N normals, then one uniform, per transition
    f_max        : int >= 1             fixed-point iterations; default 5, an example in Section 4.1

    Returns a Chain; warns if it accepts none of ten proposals or more.  Raises ValueError, naming
    the argument, for anything else.
    """
    samples, energies = np.empty((t_max, x0.size)), np.empty(t_max)
    accepted, energy_error = np.zeros(t_max, np.bool_), np.empty(t_max)
    # 1   input: y, K, L^K, log|K|, mu, Sigma~, L^Sigma, log|Sigma|, beta, x_0, l_max, eps, t_max
    # 2   x := x_0
    x = x0
    # 3   {L_beta, dL_beta/dx, G^-1, log|G|, dg} := riemann-metric(x, ...)
    L_beta, dL_dx, G_inv, log_det_G, dg = riemann_metric(x, model)
    # 4   for t = 1 to t_max do
    for t in range(t_max):
        # 5   L^Ginv := chol(G^-1)
        L_G_inv, _ = cholesky(G_inv)
        # 6   p ~ N(0, I)
        p = rng.standard_normal(x.size)
        # 7   p := (L^Ginv)' \ p    // initial momentum is p ~ N(0, G(x)^-1)
        #     theirs  the comment: "p ~ N(p; 0, G(x)^-1)"; Section 3 has "p(p|x) = N(p; 0, G(x))"
        #     ours    p ~ N(0, G), as the code beside it draws
        #     why     with L the lower factor of G^-1, (L')^-1 z has covariance (L L')^-1 = G
        #     test    test_line_7_draws_the_momentum_from_its_distribution
        p = solve_lower_transposed(L_G_inv, p)
        # 8   {H, dH/dx} := hamiltonian-and-gradient(L_beta, dL_beta/dx, G^-1, log|G|, dg, p)
        H, dH_dx = hamiltonian_and_gradient(L_beta, dL_dx, G_inv, log_det_G, dg, p)
        # 9   H_old := H; x_old := x; likewise dL_beta/dx, L_beta, G^-1, log|G|, dg
        H_old, x_old, dL_dx_old, L_beta_old = H, x, dL_dx, L_beta
        G_inv_old, log_det_G_old, dg_old = G_inv, log_det_G, dg
        # 10  // take l_max leapfrog steps
        # 11  for l = 1 to l_max do
        for _l in range(l_max):
            # 12  // the loops f = 1, ..., f_max are a time-reversible volume-preserving integrator
            #     theirs  the comment: the loops "are a time-reversible volume
            #             preserving" integrator, "to ensure a correct MCMC algorithm"
            #     ours    the same loops, f_max an argument
            #     why     this holds only as f_max -> infinity, where the iterations converge;
            #             reproduce/beyond/paquet_fixed_point.py measures what f_max = 5 leaves
            #     test    test_trajectories_lead_back
            # 13  for f = 1 to f_max do
            for _f in range(f_max):
                # 14  p' := p - 1/2 eps dH/dx    // equation (13)
                p_ = p - eps / 2 * dH_dx
                # 15  {H, dH/dx} := hamiltonian-and-gradient(L_beta, dL_beta/dx, ..., dg, p')
                H, dH_dx = hamiltonian_and_gradient(L_beta, dL_dx, G_inv, log_det_G, dg, p_)
            # 16  end for
            # 17  p := p'
            p = p_
            # 18  dH/dp := G^-1 p
            dH_dp = G_inv @ p
            # 19  dH/dp' := dH/dp
            dH_dp_ = dH_dp
            # 20  for f = 1 to f_max do
            for _f in range(f_max):
                # 21  x' := x + 1/2 eps (dH/dp + dH/dp')    // equation (14)
                x_ = x + eps / 2 * (dH_dp + dH_dp_)
                # 22  {L_beta, dL_beta/dx, G^-1, log|G|, dg} := riemann-metric(x', ...)
                L_beta, dL_dx, G_inv, log_det_G, dg = riemann_metric(x_, model)
                # 23  dH/dp' := G^-1 p
                dH_dp_ = G_inv @ p
            # 24  end for
            # 25  x := x'
            x = x_
            # 26  {H, dH/dx} := hamiltonian-and-gradient(L_beta, dL_beta/dx, ..., dg, p)
            H, dH_dx = hamiltonian_and_gradient(L_beta, dL_dx, G_inv, log_det_G, dg, p)
            # 27  p := p - 1/2 eps dH/dx    // equation (15)
            p = p - eps / 2 * dH_dx
            # 28  {H, dH/dx} := hamiltonian-and-gradient(L_beta, dL_beta/dx, ..., dg, p)
            H, dH_dx = hamiltonian_and_gradient(L_beta, dL_dx, G_inv, log_det_G, dg, p)
        # 29  end for
        # ours
        energy_error[t] = H - H_old
        # 30  if rand < exp{H_old - H} then
        #     theirs  silent about an energy that is infinite or not a number, or a factorisation
        #             that fails
        #     ours    the proposal is rejected, and counted in `divergences`
        #     why     a state of energy -inf would be accepted, and never left again; a factor that
        #             does not exist is nan, and so is the energy
        #     test    test_line_30_rejects_an_energy_that_is_not_finite
        if rng.random() < np.exp(H_old - H) and np.isfinite(H):
            # ours
            accepted[t] = True
            # 31  // accept; do nothing
        # 32  else
        else:
            # 33  // reject
            # 34  x := x_old; likewise dL_beta/dx, L_beta, G^-1, log|G|, dg
            x, dL_dx, L_beta = x_old, dL_dx_old, L_beta_old
            G_inv, log_det_G, dg = G_inv_old, log_det_G_old, dg_old
        # 35  end if
        # 36  samples(t) := x
        samples[t] = x
        # 37  energies(t) := -L_beta
        energies[t] = -L_beta
    # 38  end for
    # 39  return samples, energies
    return Chain(samples, energies, accepted, energy_error, work(model, l_max, t_max, f_max))


@njit
def hamiltonian_and_gradient(L_beta, dL_dx, G_inv, log_det_G, dg, p):
    """The Hamiltonian and its gradient in x; returns (H, dH_dx), a float and an (N,) array.

    Mirror of Paquet and Fraccaro 2016, Algorithm 2.
    """
    # 1   function hamiltonian-and-gradient
    # 2   input: L_beta, dL_beta/dx, G^-1, log|G|, dg, p    // dg := vec[dG(x)_nn/dx_n]
    # 3   H := 1/2 p' G^-1 p + 1/2 log|G| - L_beta    // equation (12), without N/2 log(2 pi)
    #     theirs  the comment: H is "equation (12)"
    #     ours    equation (11)
    #     why     (12) are Hamilton's equations
    #     test    a label
    H = p @ (G_inv @ p) / 2 + log_det_G / 2 - L_beta
    # 4   w := G^-1 p
    w = G_inv @ p
    # 5   dH/dx := 1/2 (dg o diag(G^-1)) - 1/2 (w o w o dg) - dL_beta/dx
    dH_dx = dg * np.diag(G_inv) / 2 - w * w * dg / 2 - dL_dx
    # 6   return {H, dH/dx}
    return H, dH_dx


@njit
def riemann_metric(x, model):
    r"""The metric tensor at x; returns (L_beta, dL_dx, G_inv, log_det_G, dg).

    Mirror of Paquet and Fraccaro 2016, Algorithm 3.
    """
    y, K, L_K, tau, beta = model.y, model.K, model.L_K, model.tau, model.beta
    # 1   function riemann-metric
    # 2   input: x, y, K, L^K, log|K|, mu, Sigma~, L^Sigma, log|Sigma|, beta
    # 3   {L_beta, dL_beta/dx} := derivatives(x, ...)
    L_beta, dL_dx = derivatives(x, model)
    # 4   // the non-zero (diagonal) entries of dG(x)/dx_n as a vector dg
    # 5   z := y o x
    z = y * x
    # 6   r := -1/2 z^2 - 1/2 log(2 pi) - log Phi(z)
    #     lines   6, 7 and 9
    #     theirs  exp{r} by subtraction of logarithms, then differences of its powers
    #     ours    the same functions without them: `curvature` of models/special.py, by a continued
    #             fraction below z = -6; a lambda below 1e-60 is 0
    #     why     for z << 0 the differences keep no digit: at z = -400 dg is -4e-4, not -3e-8
    #     test    test_lines_6_to_9_keep_their_digits_far_from_the_data
    # 7   lambda := z o exp{r} + exp{2 r}
    lam = lambda_of(z)
    # 8   lambda := beta lambda
    lam = beta * lam
    # 9   dg := y o (1 - x^2) o exp{r} - 3 x o exp{2 r} - 2 y o exp{3 r}
    dg = y * kappa_of(z)
    # 10  dg := beta dg
    dg = beta * dg
    # 11  // the inverse of G(x) and its determinant
    # 12  s := sqrt(lambda)
    s = np.sqrt(lam)
    # 13  if Sigma = K (i.e. Sigma~ = 0) and mu = 0 then
    #     theirs  "if Sigma = K (i.e. Sigma~ = 0) and mu = 0"
    #     ours    Sigma~^-1 = 0
    #     why     Sigma^-1 = K^-1 + Sigma~^-1
    #     test    test_line_13_holds_where_the_inverse_of_Sigma_tilde_is_zero
    if model.q_is_prior:
        # 14  L := chol(I + K o (s s'))
        L, _ = cholesky(identity_plus_scaled(K, s))
        # 15  V := L \ (K * s)
        V = solve_lower_matrix(L, rows_times(K, s))
        # 16  // * multiplies row n of K by s_n
        # 17  G^-1 := K - V'V
        G_inv = K - gram(V)
        # 18  log|G| := -2 sum_n log L^K_nn + 2 sum_n log L_nn
        log_det_G = -log_det(L_K) + log_det(L)
    # 19  else
    else:
        # 20  t := sqrt(1 - beta) diag(Sigma~^(-1/2))
        t = np.sqrt(1 - beta) * np.sqrt(tau)
        # 21  L := chol(I + K o (t t'))
        L, _ = cholesky(identity_plus_scaled(K, t))
        # 22  V := L \ (K * t)
        V = solve_lower_matrix(L, rows_times(K, t))
        # 23  A := K - V'V
        A = K - gram(V)
        # 24  log|A^-1| := -2 sum_n log L^K_nn + 2 sum_n log L_nn
        log_det_A_inv = -log_det(L_K) + log_det(L)
        # 25  L := chol(I + A o (s s'))
        L, _ = cholesky(identity_plus_scaled(A, s))
        # 26  V := L \ (A * s)
        V = solve_lower_matrix(L, rows_times(A, s))
        # 27  G^-1 := A - V'V
        G_inv = A - gram(V)
        # 28  log|G| := log|A^-1| + 2 sum_n log L_nn
        log_det_G = log_det_A_inv + log_det(L)
    # 29  end if
    # 30  return {L_beta, dL_beta/dx, G^-1, log|G|, dg}
    return L_beta, dL_dx, G_inv, log_det_G, dg


@njit
def derivatives(x, model):
    r"""L_beta and its gradient; returns (L_beta, dL_dx), a float and an (N,) array.

    Mirror of Paquet and Fraccaro 2016, Algorithm 4.
    """
    y, L_K, mu, beta, N = model.y, model.L_K, model.mu, model.beta, x.size
    log_det_K, L_Sigma, log_det_Sigma = model.log_det_K, model.L_Sigma, model.log_det_Sigma
    # 1   function derivatives
    # 2   input: x, y, L^K, log|K|, mu, L^Sigma, log|Sigma|, beta
    # 3   // value and derivative of the probit log likelihood
    # 4   z := y o x
    z = y * x
    # 5   ell := sum_n log Phi(z_n)
    ell = np.sum(log_Phi_of(z))
    # 6   I := indexes(z_n > -15)
    # 7   dell/dx(I) := (2 pi)^(-1/2) exp{-z_I^2 / 2} / Phi(z_I)
    # 8   dell/dx(not I) := -z - 1/z + 2/z^3, element-wise over z_(not I)
    #     lines   6 to 8
    #     theirs  two regimes, joined at z = -15, where they differ by 8e-7 of dell/dx
    #     ours    two as well, which agree to rounding where they are joined, at z = -6: erfcx above
    #             and a continued fraction below (models/special.py)
    #     why     dell/dx has to be the gradient of line 5 for every z
    #     test    test_lines_6_to_8_are_one_function
    dell_dx = exp_r_of(z)
    # 9   dell/dx := y o dell/dx
    dell_dx = y * dell_dx
    # 10  // add the derivatives of the log prior
    # 11  f := L^K \ x
    f = solve_lower(L_K, x)
    # 12  if L^Sigma = L^K and mu = 0 then
    if model.q_is_prior:
        # 13  L_beta := beta ell - N/2 log(2 pi) - 1/2 log|K| - 1/2 f'f
        L_beta = beta * ell - N / 2 * LOG_2_PI - log_det_K / 2 - f @ f / 2
        # 14  dL_beta/dx := beta dell/dx - (L^K)' \ f
        dL_dx = beta * dell_dx - solve_lower_transposed(L_K, f)
    # 15  else
    else:
        # 16  f' := L^Sigma \ (x - mu)
        f_ = solve_lower(L_Sigma, x - mu)
        # 17  L_beta := beta ell - N/2 log(2 pi) - beta (1/2 log|K| + 1/2 f'f)
        #         - (1 - beta) (1/2 log|Sigma| + 1/2 f''f')
        L_beta = (beta * ell - N / 2 * LOG_2_PI - beta * (log_det_K / 2 + f @ f / 2)
                  - (1 - beta) * (log_det_Sigma / 2 + f_ @ f_ / 2))
        # 18  dL_beta/dx := beta dell/dx + beta (L^K)' \ f - (1 - beta) (L^Sigma)' \ f'
        #     theirs  + beta (L^K)' \ f
        #     ours    - beta (L^K)' \ f
        #     why     it is the gradient of line 17, and Section 4.3 has the minus
        #     test    test_line_18_is_the_gradient_of_line_17
        dL_dx = (beta * dell_dx - beta * solve_lower_transposed(L_K, f)
                 - (1 - beta) * solve_lower_transposed(L_Sigma, f_))
    # 19  end if
    # 20  return {L_beta, dL_beta/dx}
    return L_beta, dL_dx


def check_rmhmc(x0, model, l_max, eps, t_max, rng, f_max=5):
    """Check the arguments of rmhmc."""
    validate.instance("model", model, GPClassification, "made by from_prior or from_ep")
    model = validate.model("model", model)
    return (validate.state("x0", x0, model), model, validate.count("l_max", l_max),
            validate.real("eps", eps, 0.0, open_low=True), validate.count("t_max", t_max),
            validate.generator("rng", rng), validate.count("f_max", f_max))


rmhmc = warn_if_none_accepted(public(check_rmhmc)(rmhmc))


class Counts(NamedTuple):
    """The work of a whole run, without its products of a matrix and a vector."""

    metric: int  # evaluations of the metric tensor
    gradient: int  # evaluations of L_beta and its gradient
    cholesky: int  # factorisations of an N x N matrix
    thirds: int  # all O(N^3) work in units of N^3 / 3: a factorisation is 1, L \ B and V'V are 3


class Chain(NamedTuple):
    """The record of t_max transitions."""

    samples: np.ndarray  # (t_max, N) states
    energies: np.ndarray  # (t_max,) -L_beta at the states
    accepted: np.ndarray  # (t_max,) bool
    energy_error: np.ndarray  # (t_max,) H at the end of the trajectory minus H at its start
    counts: Counts

    @property
    def divergences(self):
        """How many proposals had an H that was not finite; sampling/run.py adds rises over 1000."""
        return int(np.sum(~np.isfinite(self.energy_error)))


# The formulas of line 5 of Algorithm 4, and of lines 6, 7 and 9 of Algorithm 3


@njit
def log_Phi_of(z):
    """log Phi(z), element-wise."""
    return probit(z).log_Phi


@njit
def exp_r_of(z):
    """exp{r} = N(z) / Phi(z), the derivative of log Phi(z), element-wise."""
    return probit(z).h


@njit
def lambda_of(z):
    """z exp{r} + exp{2 r}, minus the second derivative of log Phi(z), element-wise."""
    return probit(z).lam


@njit
def kappa_of(z):
    """(1 - z^2) exp{r} - 3 z exp{2 r} - 2 exp{3 r}, the derivative of lambda_of, element-wise."""
    return probit(z).kappa


@njit
def work(model, l_max, t_max, f_max):
    """Return the Counts of a run: 1 + l_max f_max t_max evaluations of the metric."""
    evaluations = 1 + l_max * f_max * t_max
    factors = 1 if model.q_is_prior else 2  # per evaluation of the metric
    return Counts(evaluations, evaluations, factors * evaluations + t_max,
                  7 * factors * evaluations + t_max)
