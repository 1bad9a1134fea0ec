"""Figure 1 of Zhang and Sutton: trajectories on the funnel, claims, and what is drawn."""

import numpy as np
import pytest

from algorithms.zhang_sshmc import abla_path
from judging import check_labels, check_moves, multiplied
from models.funnel import Funnel
from models.interface import U, grad_U, hessian
from reproduce import zhang_fig1 as fig1
from reproduce.zhang.funnel import exact_draw
from reproduce.zhang.printed import HMC, SSHMC

SOFT, N = fig1.SOFT, 4
FUNNEL = Funnel.from_size(N)
Q, Z = np.random.default_rng(3).normal(size=(2, N + 1))


def made_up():
    def ranges(v, U, turns):
        spread = np.array([0.98, 1.0, 1.02, 1.0])
        return fig1.Ranges(
            v=(v * spread).tolist(), U=(U * spread).tolist(), K=(0.8 * U * spread).tolist(),
            H=[0.01 * U] * 4, turns=[turns] * 4, time=[50.0] * 4)

    path = {"time": [0, 1, 2], "v": [0, 1, 2], "x": [0.5, -0.5, 0], "U": [9, 5, 7], "K": [1, 5, 3]}
    return fig1.Result(100, dict.fromkeys(fig1.SHOWN, path), {
        HMC: ranges(0.5, 20.0, 12.0), SSHMC: ranges(4.0, 200.0, 1.0),
        SOFT: ranges(3.0, 150.0, 2.0)})


NARROW = "HMC: range of v / standard deviation of v"
MOVED = {name: (multiplied(factor, "ranges", method, quantity), claims)
         for name, factor, method, quantity, *claims in (
    ("HMC does not oscillate", 0.3, HMC, "turns", "HMC: turns of v on its way"),
    ("HMC's region is not narrow", 3.3, HMC, "v", NARROW),
    ("HMC goes as far", 10.0, HMC, "v", NARROW, "log(range of v, SSHMC / HMC)"),
    ("HMC's potential varies as widely", 5.5, HMC, "U", "log(range of U, SSHMC / HMC)"),
    ("HMC's kinetic energy varies as widely", 5.5, HMC, "K", "log(range of K, SSHMC / HMC)"),
    ("SoftAbs varies less", 0.6, SOFT, "U", "log(range of U, SSHMC / SoftAbs)"),
    ("SoftAbs varies more", 3.0, SOFT, "U", "log(range of U, SSHMC / SoftAbs)"),
    *((f"SoftAbs goes {factor} times as far", factor, SOFT, "v", "log(range of v, SSHMC / SoftAbs)")
      for factor in (0.6, 3.0)),
    *((f"{method} loses energy", 12.0, method, "H", f"{method}: log(range of H / range of U)")
      for method in fig1.SHOWN))}


def test_one_quantity_moved_and_no_other_claim_differs():
    check_moves(fig1, made_up(), MOVED)


def test_the_ratio_is_taken_start_by_start():
    some = made_up().ranges[HMC]
    ranges = {HMC: some._replace(v=[1.0, 4.0]), SSHMC: some._replace(v=[2.0, 4.0])}
    found = fig1.ratio(made_up()._replace(ranges=ranges), "v", SSHMC, HMC)
    assert found.value == pytest.approx(np.log(2) / 2, rel=1e-15)
    assert found.se == pytest.approx(np.log(2) / 2, rel=1e-12)  # of 0.69 and 0


def test_the_figure_has_a_method_a_column():
    fig = fig1.figure(made_up())
    axes = np.array(fig.axes).reshape(2, 3)
    assert [ax.get_title() for ax in axes[0]] == [
        *fig1.SHOWN[:2], f"{fig1.SHOWN[2]} (ours)"]
    energies = {line.get_label(): line.get_xydata().T.tolist() for line in axes[0, 1].get_lines()}
    time = [0, 1, 2]
    assert energies == {"potential": [time, [0, -4, -2]], "kinetic": [time, [0, 4, 2]],
                        "total": [time, [0, 0, 0]]}
    path, start = axes[1, 2].get_lines()
    assert path.get_xydata().T.tolist() == [[0, 1, 2], [0.5, -0.5, 0]]  # v, x
    assert (start.get_label(), start.get_xydata().tolist()) == ("the start", [[0, 0.5]])
    check_labels(fig.axes, ("simulated time", "energy less"), *[("simulated time", "")] * 2,
                 ("$v$", "$x_1$"), *[("$v$", "")] * 2)
    assert len({ax.get_ylim() for ax in axes[0]}) == 1


def test_hmc_takes_leapfrogs_and_records_one_of_every():
    path = fig1.hmc_path(Q, Z, FUNNEL, 0.01, 12, every=4)
    q, p, points = Q, Z, [(Q, Z)]
    for step in range(1, 13):
        p = p - 0.005 * grad_U(q, FUNNEL)
        q = q + 0.01 * p
        p = p - 0.005 * grad_U(q, FUNNEL)
        if step % 4 == 0:
            points.append((q, p))
    wanted = {"time": [0, 0.04, 0.08, 0.12], "v": [q[-1] for q, _ in points],
              "x": [q[0] for q, _ in points], "U": [U(q, FUNNEL) for q, _ in points],
              "K": [p @ p / 2 for _, p in points], "log": [0] * 4}
    for name, values in wanted.items():
        np.testing.assert_allclose(path[name], values, rtol=0, atol=1e-13)  # rounding


def test_sshmc_is_the_path_of_abla():
    path = fig1.sshmc_path(Q, Z, FUNNEL, 0.1, 0.2, 5, 2, 1)
    v = Q[-1]
    wanted = abla_path(Q[:N], Q[N:], np.exp(v / 2) * Z[:N], (N + 1 / 9) ** 0.5 * Z[N:], FUNNEL, 0.1,
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
        path = fig1.soft_abs_path(Q, Z, FUNNEL, 1.0, eps, L, every=2)
        assert path["v"][0] == Q[-1] and path["x"][0] == Q[0] and path["U"][0] == U(Q, FUNNEL)
        assert path["time"][-1] == pytest.approx(1.0, rel=1e-15) and len(path["v"]) == L // 2 + 1
        gaps.append(np.ptp(path["U"] + path["K"]))
    assert gaps[1] < 0.02 and 3 < gaps[0] / gaps[1] < 5  # of second order: 4, nearly
    # p = root of G times z, so that K = z'z / 2 + log |G| / 2; G: eigenvalues l coth(alpha l)
    values = np.linalg.eigvalsh(hessian(Q, FUNNEL))
    G = values / np.tanh(values)
    assert path["K"][0] == pytest.approx(Z @ Z / 2 + np.log(G).sum() / 2, rel=1e-10)  # eigenvalues


def test_a_step_that_has_no_solution_ends_the_path():
    path = fig1.soft_abs_path(Q, 30 * Z, FUNNEL, 1.0, 2.0, 6, every=2)
    assert 1 <= len(path["v"]) < 4 and np.isfinite(path["U"]).all()


def test_every_path_starts_at_an_exact_draw_and_has_its_own_steps():
    found = fig1.from_one_start(4, 2, [3])
    x, v = exact_draw(np.random.default_rng([3]), 4)
    # 1000 leapfrogs of 0.02, 250 steps of 0.2, 2 of 0.2
    for path, time in zip(found.values(), (20.0, 50.0, 0.4), strict=True):
        assert (path["x"][0], path["v"][0]) == (x[0], v[0])
        assert path["time"][-1] == pytest.approx(time, rel=1e-12)


def test_measures_by_hand():
    path = {"v": [0.0, 2.0, 1.0, 1.5, 3.0], "U": [5.0, 1.0, 2.0, 2.0, 2.0],
            "K": [1.0, 5.0, 4.5, 4.0, 4.0], "time": [0.0, 1.0, 2.0, 3.0, 4.0]}
    # v goes up, down, up, up: two turns; H is 6, 6, 6.5, 6, 6
    assert fig1.measures(path) == fig1.Ranges(v=3.0, U=4.0, K=4.0, H=0.5, turns=2.0, time=4.0)
