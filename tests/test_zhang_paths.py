"""Trajectories on the funnel, and where their energy goes."""

import numpy as np
import pytest

from algorithms.zhang_sshmc import abla_path
from models.funnel import Funnel
from models.interface import U, grad_U, hessian
from reproduce import zhang_fig1 as paths
from reproduce.zhang import energy_exchange as lent
from reproduce.zhang.funnel import exact_draw

N = 4
MODEL = Funnel.from_size(N)
RNG = np.random.default_rng(3)
Q, Z = RNG.normal(size=(2, N + 1))


def test_hmc_takes_leapfrogs_and_records_one_of_every():
    path = paths.hmc_path(Q, Z, MODEL, 0.01, 12, every=4)
    q, p, points = Q, Z, [(Q, Z)]
    for step in range(1, 13):
        p = p - 0.005 * grad_U(q, MODEL)
        q = q + 0.01 * p
        p = p - 0.005 * grad_U(q, MODEL)
        if step % 4 == 0:
            points.append((q, p))
    wanted = {"time": [0, 0.04, 0.08, 0.12], "v": [q[-1] for q, _ in points],
              "x": [q[0] for q, _ in points], "U": [U(q, MODEL) for q, _ in points],
              "K": [p @ p / 2 for _, p in points], "log": [0] * 4}
    for name, values in wanted.items():
        np.testing.assert_allclose(path[name], values, rtol=0, atol=1e-13)  # rounding


def test_sshmc_is_the_path_of_abla():
    path = paths.sshmc_path(Q, Z, MODEL, 0.1, 0.2, 5, 2, 1)
    v = Q[-1]
    wanted = abla_path(Q[:N], Q[N:], np.exp(v / 2) * Z[:N], (N + 1 / 9) ** 0.5 * Z[N:], MODEL, 0.1,
                       0.2, 5, 2, 1)
    np.testing.assert_array_equal(path["v"], wanted.phi[:, 0])
    np.testing.assert_array_equal(path["x"], wanted.theta[:, 0])
    np.testing.assert_array_equal(path["U"], wanted.energy.U)
    # half the log determinant of e^v I
    np.testing.assert_allclose(path["log"], N * path["v"] / 2, rtol=1e-14, atol=0)
    np.testing.assert_allclose(path["U"] + path["K"], wanted.energy.H, rtol=1e-14, atol=0)
    np.testing.assert_allclose(path["time"], [0, 0.2, 0.4, 0.6, 0.8, 1.0], rtol=0, atol=1e-15)


def test_the_generalised_leapfrog_starts_at_the_start_and_conserves_its_energy():
    gaps = []
    for eps, L in ((0.1, 10), (0.05, 20)):
        path = paths.soft_abs_path(Q, Z, MODEL, 1.0, eps, L, every=2)
        assert path["v"][0] == Q[-1] and path["x"][0] == Q[0] and path["U"][0] == U(Q, MODEL)
        assert path["time"][-1] == pytest.approx(1.0, rel=1e-15) and len(path["v"]) == L // 2 + 1
        gaps.append(np.ptp(path["U"] + path["K"]))
    assert gaps[1] < 0.02 and 3 < gaps[0] / gaps[1] < 5  # of second order: 4, nearly
    # p = root of G times z, so that K = z'z / 2 + log |G| / 2; G: eigenvalues l coth(alpha l)
    values = np.linalg.eigvalsh(hessian(Q, MODEL))
    G = values / np.tanh(values)
    assert path["K"][0] == pytest.approx(Z @ Z / 2 + np.log(G).sum() / 2, rel=1e-10)  # eigenvalues


def test_a_step_that_has_no_solution_ends_the_path():
    path = paths.soft_abs_path(Q, 30 * Z, MODEL, 1.0, 2.0, 6, every=2)
    assert 1 <= len(path["v"]) < 4 and np.isfinite(path["U"]).all()


def test_every_path_starts_at_an_exact_draw_and_has_its_own_steps():
    found = paths.from_one_start(4, 2, [3])
    x, v = exact_draw(np.random.default_rng([3]), 4)
    # 1000 leapfrogs of 0.02, 250 steps of 0.2, 2 of 0.2
    for path, time in zip(found.values(), (20.0, 50.0, 0.4), strict=True):
        assert (path["x"][0], path["v"][0]) == (x[0], v[0])
        assert path["time"][-1] == pytest.approx(time, rel=1e-12)


def test_measures_by_hand():
    path = {"v": [0.0, 2.0, 1.0, 1.5, 3.0], "U": [5.0, 1.0, 2.0, 2.0, 2.0],
            "K": [1.0, 5.0, 4.5, 4.0, 4.0], "time": [0.0, 1.0, 2.0, 3.0, 4.0]}
    # v goes up, down, up, up: two turns; H is 6, 6, 6.5, 6, 6
    assert paths.measures(path) == paths.Ranges(v=3.0, U=4.0, K=4.0, H=0.5, turns=2.0, time=4.0)


# What the blocks lend each other


def made_path():
    x, v = RNG.normal(size=N), np.array([0.4])
    r_x, r_v = RNG.normal(size=N), np.array([3.0])
    return abla_path(x, v, r_x, r_v, MODEL, 0.1, 0.2, 7, 2, 1)


def test_energies_by_hand():
    path = made_path()
    found = lent.block_energies(path, MODEL, 0.1, 2)
    v, x, r, r_v = path.phi[:, 0], path.theta, path.r_theta, path.r_phi[:, 0]
    X, R = np.exp(v) * np.sum(x * x, 1) / 2, np.exp(-v) * np.sum(r * r, 1) / 2
    own = r_v**2 / 2 / (N + 1 / 9)
    wanted = {"U": X - N * v / 2 + v**2 / 18, "U without": X + v**2 / 18, "v": v,
              "K without": R + own, "K": R + own + N * v / 2, "lent": v**2 / 18 + own}
    constant = np.log(N + 1 / 9) / 2  # log |M_v| / 2
    for name, values in wanted.items():
        shown = found["path"][name] - constant * name.startswith("K")
        np.testing.assert_allclose(shown, values, rtol=0, atol=1e-13)  # rounding
        assert found["totals"][name] == pytest.approx(np.ptp(values), rel=1e-12)
    assert found["totals"]["own"] == pytest.approx(np.ptp(own), rel=1e-12)
    # H_2 moves v between the flows of H_1, which turn (x, r) by leapfrogs of 0.1
    changes = []
    for k in range(7):
        y, s, precision = x[k], r[k], np.exp(v[k])
        for _ in range(2):
            s = s - 0.05 * precision * y
            y = y + 0.1 / precision * s
            s = s - 0.05 * precision * y
        changes.append([sum(sign * value for sign, value in (
            (1, f(v[k + 1])), (-1, f(v[k])))) for f in (
            lambda w, y=y: np.exp(w) * (y @ y) / 2 - N * w / 2 + w * w / 18,
            lambda w, s=s: np.exp(-w) * (s @ s) / 2 + N * w / 2)])
    reach, paid = np.vstack([[0, 0], np.cumsum(changes, axis=0)]).T
    assert found["totals"]["reach"] == pytest.approx(np.ptp(reach), rel=1e-12)
    assert found["totals"]["paid"] == pytest.approx(np.ptp(paid), rel=1e-12)


def test_within_gibbs_the_kinetic_energy_pays_alone():
    x, v, r = Q[:N], Q[N:], np.array([4.0])
    found = lent.within_gibbs(x, v, r, MODEL, 1e-3, 4000)
    w, p, energies, places, own = v[0], r[0], [], [], []
    s = x @ x
    for step in range(4001):
        energies.append(np.exp(w) * s / 2 - N * w / 2 + w * w / 18)
        places.append(w)
        own.append(p * p / 2 / (N + 1 / 9))
        if step < 4000:
            p -= 5e-4 * (np.exp(w) * s / 2 - N / 2 + w / 9)
            w += 1e-3 * p / (N + 1 / 9)
            p -= 5e-4 * (np.exp(w) * s / 2 - N / 2 + w / 9)
    assert found["v"] == pytest.approx(np.ptp(places), rel=1e-9)  # rounding of 4000 steps
    assert found["U"] == pytest.approx(np.ptp(energies), rel=1e-9)
    assert found["U"] == pytest.approx(np.ptp(own), rel=1e-4)  # conserved, to order eps^2
