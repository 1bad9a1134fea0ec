"""What wang_errata.py computes without a chain: inverses, transition matrices, operations.

Every function returns plain numbers.  The formulas are those of the paper, written out with dense
matrices and nothing of ours, so that what is printed and what is right are seen side by side.
"""

import numpy as np
from scipy.linalg import cholesky, eigh

SIGMA, ETA, C = 0.5, 5.0, 10.0


# Section 5.2: kernels and their inverses


def kernel(X, Z, lengths):
    """Return c^2 + eta^2 exp(-sum_k (x_k - z_k)^2 / rho_k^2), (n, m): (24) without noise."""
    squares = (((X[:, None] - Z[None]) / lengths) ** 2).sum(axis=2)
    return C**2 + ETA**2 * np.exp(-squares)


def gap(found, exact):
    """Return the norm of a difference of matrices over that of the exact one."""
    return np.linalg.norm(found - exact, 2) / np.linalg.norm(exact, 2)


def equation_36(n, seed):
    """Return the relative error of C^-1 by (36) with its last B as printed, and transposed.

    All n eigenvectors are taken, because only a square B has a product B (...) B.
    """
    X = np.random.default_rng(seed).random((n, 2))
    K, d = kernel(X, X, np.array([0.5, 1.0])), SIGMA**2
    s, B = np.linalg.eigh(K)
    exact = np.linalg.inv(K + d * np.eye(n))
    return [gap(np.eye(n) / d - B @ np.diag(1 / ((s + d) / s)) @ last / d, exact)
            for last in (B, B.T)]


def nystrom_inverses(n, m, seed):
    """Return the relative errors of C^-1 by (37) and by (32), with the vectors of (41)."""
    X = np.random.default_rng(seed).random((n, 5))
    K, d = kernel(X, X[:m], 2.0 * np.arange(1, 6)), SIGMA**2
    values, vectors = np.linalg.eigh(K[:m])
    kept = values > 1e-10 * values[-1]  # below that they are rounding
    values, vectors = values[kept], vectors[:, kept]
    s, B = n / m * values, np.sqrt(m / n) / values * (K @ vectors)  # (40), (41)
    exact = np.linalg.inv((B * s) @ B.T + d * np.eye(n))
    by_37 = np.eye(n) / d - (B * (s / (d * (s + d)))) @ B.T
    by_32 = np.eye(n) / d - B @ np.linalg.inv(np.diag(1 / s) + B.T @ B / d) @ B.T / d**2
    return [gap(by_37, exact), gap(by_32, exact)]


def determinant(n, seed):
    """Return log |C| less that by (30), the product of the squared diagonal of R."""
    X = np.random.default_rng(seed).random((n, 2))
    matrix = kernel(X, X, np.array([0.5, 1.0])) + SIGMA**2 * np.eye(n)
    values = eigh(matrix, eigvals_only=True)
    return np.log(values).sum() - 2 * np.log(np.diag(cholesky(matrix))).sum()


def without_factor(p, lengths, n, m, jitter, draws, seed):
    """Return how many of some random K^(m,m), with jitter, are not positive definite.

    It is the test that chol makes: a pivot that is not positive.
    """
    rng = np.random.default_rng(seed)
    failed = 0
    for _ in range(draws):
        Z = rng.random((n, p))[:m]
        K = kernel(Z, Z, lengths)
        K[np.diag_indices(m)] += jitter * np.trace(K) / m
        failed += not all_pivots_positive(K)
    return failed


def all_pivots_positive(A):
    """Tell whether Cholesky's method goes through, on a copy of A."""
    A = A.copy()
    for k in range(len(A)):
        if not A[k, k] > 0:
            return False
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :]) / A[k, k]
    return True


# Section 5.2.4: operations


class Count:
    """Multiplications and divisions, by step of a computation."""

    def __init__(self):
        """Start with nothing."""
        self.step, self.done = "", {}

    def __call__(self):
        """Count one."""
        self.done[self.step] = self.done.get(self.step, 0) + 1


class Number:
    """A number that reports each multiplication and division in which it takes part."""

    __slots__ = ("count", "value")

    def __init__(self, value, count):
        """Keep a float and the Count that is told."""
        self.value, self.count = value, count

    def __mul__(self, other):
        """Multiply."""
        self.count()
        return Number(self.value * getattr(other, "value", other), self.count)

    def __truediv__(self, other):
        """Divide."""
        self.count()
        return Number(self.value / getattr(other, "value", other), self.count)

    def __add__(self, other):
        """Add."""
        return Number(self.value + getattr(other, "value", other), self.count)

    def __sub__(self, other):
        """Subtract."""
        return Number(self.value - getattr(other, "value", other), self.count)

    def exp(self):
        """Return e^-x, which is counted as one."""
        self.count()
        return Number(np.exp(-self.value), self.count)

    def sqrt(self):
        """Return the square root."""
        return Number(np.sqrt(self.value), self.count)

    __radd__, __rmul__ = __add__, __mul__


def factor(A):
    """Return R, upper triangular with R'R = A, by Cholesky's method."""
    m = len(A)
    R = np.zeros_like(A)
    for k in range(m):
        R[k, k] = (A[k, k] - R[:k, k] @ R[:k, k]).sqrt() if k else A[k, k].sqrt()
        for j in range(k + 1, m):
            R[k, j] = ((A[k, j] - R[:k, k] @ R[:k, j]) if k else A[k, j]) / R[k, k]
    return R


def operations(p, m, n, seed):
    """Count the multiplications and divisions of C^^-1 by Nystrom-Cholesky: {step: number}.

    (42), (32) and (38) as they stand, every matrix triangular or symmetric where it is.
    """
    count, rng = Count(), np.random.default_rng(seed)
    numbers = np.vectorize(lambda x: Number(x, count), otypes=[object])
    X = numbers(rng.random((n, p)) / 0.3)  # divided by their lengths
    count.step = "K^(n,m)"
    differences = X[:, None] - X[None, :m]
    squares = (differences * differences).sum(axis=2)
    K = np.vectorize(lambda t: t.exp() * ETA**2 + C**2, otypes=[object])(squares)
    count.step = "chol(K^(m,m))"
    small = K[:m].copy()
    for k in range(m):
        small[k, k] = small[k, k] + 1e-6
    R = factor(small)
    count.step = "K^(n,m) R^-1"
    B = K.copy()
    for j in range(m):
        B[:, j] = (B[:, j] - B[:, :j] @ R[:j, j] if j else B[:, j]) / R[j, j]
    count.step = "B'B"
    A = np.empty((m, m), object)
    for j in range(m):
        A[: j + 1, j] = B[:, : j + 1].T @ B[:, j]
        A[j, : j + 1] = A[: j + 1, j]
    count.step = "chol(I + B'B / d)"
    A = A / SIGMA**2
    for k in range(m):
        A[k, k] = A[k, k] + 1.0
    factor(A)
    return count.done


# Sections 3 and 4: transition matrices on a few states


def density(energies):
    """Return the probabilities of states."""
    p = np.exp(-energies)
    return p / p.sum()


def heat_bath(p, blocks):
    """Return the matrix that draws a state anew from its block, reversible for p."""
    P = np.zeros((p.size, p.size))
    for block in blocks:
        P[np.ix_(block, block)] = p[block] / p[block].sum()
    return P


def updates(p):
    """Return two updates, each reversible for p, which together reach all states."""
    states = np.arange(p.size)
    return [heat_bath(p, np.split(states, np.arange(first, p.size, 2))) for first in (2, 1)]


def problem(states, seed):
    """Draw a density and an approximation of it."""
    rng = np.random.default_rng(seed)
    energies = rng.standard_normal(states)
    return density(energies), density(energies + 0.7 * rng.standard_normal(states))


def metropolis_matrix(Q, pi, star):
    """Return the transition matrix of proposals Q, accepted by the ratio (13) of pi / pi*."""
    weight = pi / star
    P = Q * np.minimum(1, weight[None] / weight[:, None])
    P[np.diag_indices(pi.size)] += 1 - P.sum(axis=1)
    return P


def discretizing(R, reverse, pi, star, s=1):
    """Return the transition matrix of mapping to a discretizing chain, r = 1."""
    power = np.linalg.matrix_power
    return metropolis_matrix((power(R, s) + power(reverse, s)) / 2, pi, star)


def tempered_matrix(R, reverse, pi, star):
    """Return the transition matrix of tempered transitions with one layer: up R, down R~."""
    return metropolis_matrix(R @ reverse, pi, star)


def distance_from_invariance(P, pi):
    """Return how far pi is from being invariant."""
    return np.abs(pi @ P - pi).max()


def naive_reverse(states, problems, seed):
    """Return what is off with a sweep taken for its own reverse, and with its reverse.

    {method: [its largest |pi P - pi| of each problem]}, methods "mapping" and "tempered", each with
    the reverse as printed and as ours; "invariant": the invariant law of the naive mapping less pi,
    largest of any state, over the largest of pi.
    """
    found = {f"{method}, {which}": [] for method in ("mapping", "tempered")
             for which in ("printed", "ours")} | {"invariant": []}
    for k in range(problems):
        pi, star = problem(states, [seed, k])
        first, second = updates(star)
        R, reverse = first @ second, second @ first
        for which, back in (("printed", R), ("ours", reverse)):
            found[f"mapping, {which}"].append(distance_from_invariance(discretizing(R, back, pi,
                                                                                    star), pi))
            found[f"tempered, {which}"].append(distance_from_invariance(tempered_matrix(R, back, pi,
                                                                                        star), pi))
        P = discretizing(R, R, pi, star)
        values, vectors = np.linalg.eig(P.T)
        law = np.real(vectors[:, np.argmax(np.real(values))])
        found["invariant"].append(np.abs(law / law.sum() - pi).max() / pi.max())
    return found


def equivalence(states, seed):
    """Return how far the two methods are from each other, with s = 1 and with s = 2 k, k = 1."""
    pi, star = problem(states, seed)
    first, second = updates(star)
    R = first @ second @ first  # reversible
    both = tempered_matrix(R, R, pi, star)
    return [np.abs(discretizing(R, R, pi, star, s) - both).max() for s in (1, 2)]


def gibbs(correlation):
    """Return E[x_1 x_2'] and E[x_2 x_1'] of a sweep in sequence, and of the two for its reverse.

    A standard normal pair of this correlation; x is before the sweep and x' is after it.
    """
    S = np.array([[1, correlation], [correlation, 1]])
    first, second = np.array([[0, correlation], [0, 1]]), np.array([[1, 0], [correlation, 0]])
    G, back = (M @ S for M in (second @ first, first @ second))  # E[x'_i x_j]
    return {"x1 x2'": G[1, 0], "x2 x1'": G[0, 1], "printed": abs(G - G.T).max(),
            "ours": abs(G - back.T).max()}


def equation_11(K, states, seed):
    """Return the largest |log A' - log A| over realizations, A' with x' as printed, and with x_k'.

    (13) follows from A = A'.  Printed, A' has R(x_(k'+1) | x'), where x' is what the mapping brings
    back; after a second move of the mark that is x_k'', and not x_k'.  Every k, k' and k'' is
    taken, with k'' another than k'.
    """
    rng = np.random.default_rng(seed)
    star = density(rng.standard_normal(states))
    # a step that can go anywhere, and not reversible
    mixed = 0.5 * np.eye(states) + 0.5 * np.tile(star, (states, 1))
    first, second = updates(star)
    R = first @ mixed @ second
    reverse = second @ mixed @ first
    logs = np.log(R), np.log(reverse), np.log(star)
    printed = ours = 0.0
    for _ in range(20):
        x = rng.integers(states, size=K)
        A = [log_A(x, k, x[k], *logs) for k in range(K)]
        ours = max(ours, np.ptp(A))
        printed = max([printed] + [abs(log_A(x, k_, x[back], *logs) - A[k])
                                   for k in range(K) for k_ in range(K - 1) for back in range(K)
                                   if back != k_])
    return [printed, ours]


def log_A(x, k, after, R, reverse, star):
    """Return log of pi*(x_k) R(x_(k+1) | after) ... R(..) R~(x_(k-1) | x_k) ... R~(x_0 | x_1)."""
    total = star[x[k]]
    for j in range(k, len(x) - 1):
        total += R[after if j == k else x[j], x[j + 1]]
    return total + sum(reverse[x[j], x[j - 1]] for j in range(k, 0, -1))
