r"""Riemannian manifold Hamiltonian Monte Carlo for Gaussian-process classification.

Paper       U. Paquet and M. Fraccaro (2016), "An Efficient Implementation of Riemannian Manifold
            Hamiltonian Monte Carlo for Gaussian Process Models".
Mirror      rmhmc, hamiltonian_and_gradient, riemann_metric and derivatives are Algorithms 1 to 4
            with the paper's line numbers (Algorithm 2 has none: numbered here).  The inputs y, K,
            L^K, log|K|, mu, Sigma~, L^Sigma, log|Sigma| and beta travel together as `model`.

Departures
----------
Algorithm 1, line 7
    theirs  the comment: "p ~ N(p; 0, G(x)^-1)"; Section 3 has "p(p|x) = N(p; 0, G(x))"
    ours    p ~ N(0, G), as the code beside it draws
    why     with L the lower factor of G^-1, (L')^-1 z has covariance (L L')^-1 = G
    test    test_line_7_draws_the_momentum_from_its_distribution
Algorithm 1, line 12
    theirs  the comment: the loops, f_max = 5, "are a time-reversible volume preserving" integrator
    ours    the same loops, f_max an argument
    why     both hold only in the limit f_max -> infinity; reproduce/paquet_fixed_point.py measures
            what f_max = 5 leaves
    test    test_trajectories_lead_back
Algorithm 1, line 30
    theirs  silent about an energy that is infinite or not a number, or a factorisation that fails
    ours    the proposal is rejected, and counted in `divergences`
    why     a state of energy -inf would be accepted, and never left again; a factor that does not
            exist is nan, and so is the energy
    test    test_line_30_rejects_an_energy_that_is_not_finite
Algorithm 2, line 3
    theirs  the comment: H is "equation (12)"
    ours    equation (11)
    why     (12) are Hamilton's equations
    test    a label
Algorithm 3, lines 6, 7 and 9
    theirs  exp{r} by subtraction of logarithms, then differences of its powers
    ours    the same functions from a continued fraction: models/special.py
    why     for z << 0 the differences keep no digit: at z = -400 dg is -4e-4 for -3e-8
    test    test_lines_6_to_9_keep_their_digits_far_from_the_data
Algorithm 3, line 13
    theirs  "if Sigma = K (i.e. Sigma~ = 0) and mu = 0"
    ours    Sigma~^-1 = 0
    why     Sigma^-1 = K^-1 + Sigma~^-1
    test    test_line_13_holds_where_the_inverse_of_Sigma_tilde_is_zero
Sections 4.1 and 4.3.2
    theirs  the precision of q is "K^-1 plus a diagonal matrix Sigma~"
    ours    plus Sigma~^-1, as in the equations beside it
    why     Sigma~ is the covariance of the sites
    test    test_the_precision_of_q_is_that_of_the_prior_plus_the_sites
Section 4.3
    theirs  "the cases where q(x) = p(x)" and not
    ours    q(x) = prior(x) and not; Section 4.3.1: "If q is equal to the prior"
    why     p(x) is what is sampled
    test    a label
Algorithm 4, lines 6 to 8
    theirs  two regimes, joined at z = -15
    ours    one function: models/special.py
    why     they differ there by 8e-7 of dL/dx, and so does the gradient from that of line 5
    test    test_lines_6_to_8_are_one_function
Algorithm 4, line 18
    theirs  + beta (L^K)' \ f
    ours    - beta (L^K)' \ f
    why     it is the gradient of line 17, and Section 4.3 has the minus
    test    test_line_18_is_the_gradient_of_line_17
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
dL_beta/dx         dL_dx           (N,)     its gradient (curly L too)
L, roman           ell             ()       (Algorithm 4) log likelihood; ell in the pseudocode too
dL/dx, roman       dell_dx         (N,)     (Algorithm 4) its gradient
f, f'              f, f_           (N,)     (Algorithm 4) (L^K)^-1 x; (L^Sigma)^-1 (x - mu)
L, V               L, V            (N, N)   (Algorithm 3) lower Cholesky factors; L V = K * s, ...
exp{r}             ratios.h        (N,)     N(z) / Phi(z), d log Phi / dz
line 7             ratios.lam      (N,)     (Algorithm 3) minus the second derivative of log Phi
line 9             y ratios.kappa  (N,)     (Algorithm 3) kappa is minus its third derivative
G^-1, log|G|       G_inv, log_det_G         metric tensor G = -(Hessian of L_beta): inverse, log det
dg                 dg              (N,)     dG_nn / dx_n
H, dH/dx, dH/dp    H, dH_dx, dH_dp          Hamiltonian and its gradients
epsilon            eps             ()       leapfrog step size
l_max, f_max       l_max, f_max    ()       leapfrog steps per trajectory; fixed-point iterations
t_max              t_max           ()       transitions
lambda, s, t       lam, s, t       (N,)     diagonal of Lambda; roots of it, of (1-beta) Sigma~^-1
Sigma~^-1          model.tau       (N,)     precisions of EP's sites; 0 where q is the prior
"""

from typing import NamedTuple

import numpy as np

from models import validate
from models.gp_classification import LOG_2_PI, GPClassification
from models.jit import entry, njit
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


class Counts(NamedTuple):
    """The O(N^2) and O(N^3) work of a whole run."""

    metric: int  # evaluations of the metric tensor
    gradient: int  # evaluations of L_beta and its gradient
    cholesky: int  # factorisations of an N x N matrix
    thirds: int  # all O(N^3) work in units of N^3 / 3: a factorisation is 1, a solve L \ B is 3


class Chain(NamedTuple):
    """The record of t_max transitions."""

    samples: np.ndarray  # (t_max, N) states
    energies: np.ndarray  # (t_max,) -L_beta at the states
    accepted: np.ndarray  # (t_max,) bool
    energy_error: np.ndarray  # (t_max,) H at the end of the trajectory minus H at its start
    counts: Counts

    @property
    def divergences(self):
        """How many proposals were rejected because their H was not finite."""
        return int(np.sum(~np.isfinite(self.energy_error)))


def check_rmhmc(x0, model, l_max, eps, t_max, rng, f_max=5):
    """Check the arguments of rmhmc."""
    validate.instance("model", model, GPClassification, "made by from_prior or from_ep")
    model = validate.model("model", model)
    return (validate.state("x0", x0, model), model, validate.count("l_max", l_max),
            validate.real("eps", eps, 0.0, open_low=True), validate.count("t_max", t_max),
            validate.generator("rng", rng), validate.count("f_max", f_max))


@entry(check_rmhmc)
@njit
def rmhmc(x0, model, l_max, eps, t_max, rng, f_max=5):
    r"""Run t_max transitions of RMHMC, which leave exp(L_beta) invariant as f_max -> infinity.

    Pseudocode (Paquet and Fraccaro 2016, Algorithm 1)
     1  input: y, K, L^K, log|K|, mu, Sigma~, L^Sigma, log|Sigma|, beta, x_0, l_max, eps, t_max
     2  x := x_0
     3  {L_beta, dL_beta/dx, G^-1, log|G|, dg} := riemann-metric(x, ...)
     4  for t = 1 to t_max do
     5      L^Ginv := chol(G^-1)
     6      p ~ N(0, I)
     7      p := (L^Ginv)' \ p    // initial momentum is p ~ N(0, G(x)^-1)
     8      {H, dH/dx} := hamiltonian-and-gradient(L_beta, dL_beta/dx, G^-1, log|G|, dg, p)
     9      H_old := H; x_old := x; likewise dL_beta/dx, L_beta, G^-1, log|G|, dg
    10      // take l_max leapfrog steps
    11      for l = 1 to l_max do
    12          // the loops f = 1, ..., f_max are a time-reversible volume-preserving integrator
    13          for f = 1 to f_max do
    14              p' := p - 1/2 eps dH/dx    // equation (13)
    15              {H, dH/dx} := hamiltonian-and-gradient(L_beta, dL_beta/dx, ..., dg, p')
    16          end for
    17          p := p'
    18          dH/dp := G^-1 p
    19          dH/dp' := dH/dp
    20          for f = 1 to f_max do
    21              x' := x + 1/2 eps (dH/dp + dH/dp')    // equation (14)
    22              {L_beta, dL_beta/dx, G^-1, log|G|, dg} := riemann-metric(x', ...)
    23              dH/dp' := G^-1 p
    24          end for
    25          x := x'
    26          {H, dH/dx} := hamiltonian-and-gradient(L_beta, dL_beta/dx, ..., dg, p)
    27          p := p - 1/2 eps dH/dx    // equation (15)
    28          {H, dH/dx} := hamiltonian-and-gradient(L_beta, dL_beta/dx, ..., dg, p)
    29      end for
    30      if rand < exp{H_old - H} then
    31          // accept; do nothing
    32      else
    33          // reject
    34          x := x_old; likewise dL_beta/dx, L_beta, G^-1, log|G|, dg
    35      end if
    36      samples(t) := x
    37      energies(t) := -L_beta
    38  end for
    39  return samples, energies

    Parameters
    ----------
    x0           : (N,) float64         where the chain starts; not modified
    model        : GPClassification     with its beta in [0, 1]
    l_max, t_max : int >= 1             leapfrog steps per transition; transitions
    eps          : float > 0            step size
    rng          : Generator            advanced by N normals, then one uniform, per transition
    f_max        : int >= 1             fixed-point iterations, 5 in the paper

    Returns a Chain.  Raises ValueError, naming the argument, for anything else.
    """
    samples, energies = np.empty((t_max, x0.size)), np.empty(t_max)                         # --
    accepted, energy_error = np.zeros(t_max, np.bool_), np.empty(t_max)                     # --
    evaluations = 1                                                                         # --
    x = x0                                                                                  # L2
    L_beta, dL_dx, G_inv, log_det_G, dg = riemann_metric(x, model)                          # L3
    for t in range(t_max):                                                                  # L4
        L_G_inv, _ = cholesky(G_inv)                                                        # L5
        p = rng.standard_normal(x.size)                                                     # L6
        p = solve_lower_transposed(L_G_inv, p)                                              # L7
        H, dH_dx = hamiltonian_and_gradient(L_beta, dL_dx, G_inv, log_det_G, dg, p)         # L8
        H_old, x_old, dL_dx_old, L_beta_old = H, x, dL_dx, L_beta                           # L9
        G_inv_old, log_det_G_old, dg_old = G_inv, log_det_G, dg                             # L9
        for _l in range(l_max):                                                             # L11
            for _f in range(f_max):                                                         # L13
                p_ = p - eps / 2 * dH_dx                                                    # L14
                H, dH_dx = hamiltonian_and_gradient(L_beta, dL_dx, G_inv, log_det_G, dg, p_)  # L15
            p = p_                                                                          # L17
            dH_dp = G_inv @ p                                                               # L18
            dH_dp_ = dH_dp                                                                  # L19
            for _f in range(f_max):                                                         # L20
                x_ = x + eps / 2 * (dH_dp + dH_dp_)                                         # L21
                L_beta, dL_dx, G_inv, log_det_G, dg = riemann_metric(x_, model)             # L22
                dH_dp_ = G_inv @ p                                                          # L23
            x = x_                                                                          # L25
            H, dH_dx = hamiltonian_and_gradient(L_beta, dL_dx, G_inv, log_det_G, dg, p)     # L26
            p = p - eps / 2 * dH_dx                                                         # L27
            H, dH_dx = hamiltonian_and_gradient(L_beta, dL_dx, G_inv, log_det_G, dg, p)     # L28
        evaluations += l_max * f_max                                                        # --
        energy_error[t] = H - H_old                                                         # --
        if rng.random() < np.exp(H_old - H) and np.isfinite(H):                             # L30
            accepted[t] = True                                                              # --
        else:                                                                               # L32
            x, dL_dx, L_beta = x_old, dL_dx_old, L_beta_old                                 # L34
            G_inv, log_det_G, dg = G_inv_old, log_det_G_old, dg_old                         # L34
        samples[t] = x                                                                      # L36
        energies[t] = -L_beta                                                               # L37
    factors = 1 if model.q_is_prior else 2  # per evaluation of the metric                  # --
    counts = Counts(evaluations, evaluations, factors * evaluations + t_max,                # --
                    7 * factors * evaluations + t_max)                                      # --
    return Chain(samples, energies, accepted, energy_error, counts)                         # L39


@njit
def hamiltonian_and_gradient(L_beta, dL_dx, G_inv, log_det_G, dg, p):
    """The Hamiltonian and its gradient in x; returns (H, dH_dx), a float and an (N,) array.

    Pseudocode (Paquet and Fraccaro 2016, Algorithm 2)
     1  function hamiltonian-and-gradient
     2  input: L_beta, dL_beta/dx, G^-1, log|G|, dg, p
     3  H := 1/2 p' G^-1 p + 1/2 log|G| - L_beta    // equation (12), without N/2 log(2 pi)
     4  w := G^-1 p
     5  dH/dx := 1/2 (dg o diag(G^-1)) - 1/2 (w o w o dg) - dL_beta/dx
     6  return {H, dH/dx}
    """
    H = p @ (G_inv @ p) / 2 + log_det_G / 2 - L_beta                                        # L3
    w = G_inv @ p                                                                           # L4
    dH_dx = dg * np.diag(G_inv) / 2 - w * w * dg / 2 - dL_dx                                # L5
    return H, dH_dx                                                                         # L6


@njit
def riemann_metric(x, model):
    r"""The metric tensor at x; returns (L_beta, dL_dx, G_inv, log_det_G, dg).

    Pseudocode (Paquet and Fraccaro 2016, Algorithm 3)
     1  function riemann-metric
     2  input: x, y, K, L^K, log|K|, mu, Sigma~, L^Sigma, log|Sigma|, beta
     3  {L_beta, dL_beta/dx} := derivatives(x, ...)
     4  // the non-zero (diagonal) entries of dG(x)/dx_n as a vector dg
     5  z := y o x
     6  r := -1/2 z^2 - 1/2 log(2 pi) - log Phi(z)
     7  lambda := z o exp{r} + exp{2 r}
     8  lambda := beta lambda
     9  dg := y o (1 - x^2) o exp{r} - 3 x o exp{2 r} - 2 y o exp{3 r}
    10  dg := beta dg
    11  // the inverse of G(x) and its determinant
    12  s := sqrt(lambda)
    13  if Sigma = K (i.e. Sigma~ = 0) and mu = 0 then
    14      L := chol(I + K o (s s'))
    15      V := L \ (K * s)
    16      // * multiplies row n of K by s_n
    17      G^-1 := K - V'V
    18      log|G| := -2 sum_n log L^K_nn + 2 sum_n log L_nn
    19  else
    20      t := sqrt(1 - beta) diag(Sigma~^(-1/2))
    21      L := chol(I + K o (t t'))
    22      V := L \ (K * t)
    23      A := K - V'V
    24      log|A^-1| := -2 sum_n log L^K_nn + 2 sum_n log L_nn
    25      L := chol(I + A o (s s'))
    26      V := L \ (A * s)
    27      G^-1 := A - V'V
    28      log|G| := log|A^-1| + 2 sum_n log L_nn
    29  end if
    30  return {L_beta, dL_beta/dx, G^-1, log|G|, dg}
    """
    y, K, L_K, tau, beta = model.y, model.K, model.L_K, model.tau, model.beta               # --
    L_beta, dL_dx = derivatives(x, model)                                                   # L3
    z = y * x                                                                               # L5
    ratios = probit(z)                                                                      # L6
    lam = ratios.lam                                                                        # L7
    lam = beta * lam                                                                        # L8
    dg = y * ratios.kappa                                                                   # L9
    dg = beta * dg                                                                          # L10
    s = np.sqrt(lam)                                                                        # L12
    if model.q_is_prior:                                                                    # L13
        L, _ = cholesky(identity_plus_scaled(K, s))                                         # L14
        V = solve_lower_matrix(L, rows_times(K, s))                                         # L15
        G_inv = K - gram(V)                                                                 # L17
        log_det_G = -log_det(L_K) + log_det(L)                                              # L18
    else:                                                                                   # L19
        t = np.sqrt(1 - beta) * np.sqrt(tau)                                                # L20
        L, _ = cholesky(identity_plus_scaled(K, t))                                         # L21
        V = solve_lower_matrix(L, rows_times(K, t))                                         # L22
        A = K - gram(V)                                                                     # L23
        log_det_A_inv = -log_det(L_K) + log_det(L)                                          # L24
        L, _ = cholesky(identity_plus_scaled(A, s))                                         # L25
        V = solve_lower_matrix(L, rows_times(A, s))                                         # L26
        G_inv = A - gram(V)                                                                 # L27
        log_det_G = log_det_A_inv + log_det(L)                                              # L28
    return L_beta, dL_dx, G_inv, log_det_G, dg                                              # L30


@njit
def derivatives(x, model):
    r"""L_beta and its gradient; returns (L_beta, dL_dx), a float and an (N,) array.

    Pseudocode (Paquet and Fraccaro 2016, Algorithm 4)
     1  function derivatives
     2  input: x, y, L^K, log|K|, mu, L^Sigma, log|Sigma|, beta
     3  // value and derivative of the probit log likelihood
     4  z := y o x
     5  ell := sum_n log Phi(z_n)
     6  I := indexes(z_n > -15)
     7  dell/dx(I) := (2 pi)^(-1/2) exp{-z_I^2 / 2} / Phi(z_I)
     8  dell/dx(not I) := -z - 1/z + 2/z^3, element-wise over z_(not I)
     9  dell/dx := y o dell/dx
    10  // add the derivatives of the log prior
    11  f := L^K \ x
    12  if L^Sigma = L^K and mu = 0 then
    13      L_beta := beta ell - N/2 log(2 pi) - 1/2 log|K| - 1/2 f'f
    14      dL_beta/dx := beta dell/dx - (L^K)' \ f
    15  else
    16      f' := L^Sigma \ (x - mu)
    17      L_beta := beta ell - N/2 log(2 pi) - beta (1/2 log|K| + 1/2 f'f)
                  - (1 - beta) (1/2 log|Sigma| + 1/2 f''f')
    18      dL_beta/dx := beta dell/dx + beta (L^K)' \ f - (1 - beta) (L^Sigma)' \ f'
    19  end if
    20  return {L_beta, dL_beta/dx}
    """
    y, L_K, mu, beta, N = model.y, model.L_K, model.mu, model.beta, x.size                  # --
    log_det_K, L_Sigma, log_det_Sigma = model.log_det_K, model.L_Sigma, model.log_det_Sigma # --
    z = y * x                                                                               # L4
    ratios = probit(z)                                                                      # --
    ell = np.sum(ratios.log_Phi)                                                            # L5
    dell_dx = ratios.h                                                                      # L6-8
    dell_dx = y * dell_dx                                                                   # L9
    f = solve_lower(L_K, x)                                                                 # L11
    if model.q_is_prior:                                                                    # L12
        L_beta = beta * ell - N / 2 * LOG_2_PI - log_det_K / 2 - f @ f / 2                  # L13
        dL_dx = beta * dell_dx - solve_lower_transposed(L_K, f)                             # L14
    else:                                                                                   # L15
        f_ = solve_lower(L_Sigma, x - mu)                                                   # L16
        L_beta = (beta * ell - N / 2 * LOG_2_PI - beta * (log_det_K / 2 + f @ f / 2)        # L17
                  - (1 - beta) * (log_det_Sigma / 2 + f_ @ f_ / 2))                         # L17
        dL_dx = (beta * dell_dx - beta * solve_lower_transposed(L_K, f)                     # L18
                 - (1 - beta) * solve_lower_transposed(L_Sigma, f_))                        # L18
    return L_beta, dL_dx                                                                    # L20
