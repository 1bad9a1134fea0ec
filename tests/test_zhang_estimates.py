"""What is kept of a run: every estimate by hand at a small case, and where it goes."""

from types import SimpleNamespace

import numpy as np
import pytest

from algorithms.ess import combined_chains, initial_sequence
from algorithms.zhang_sshmc import Counts
from reproduce.zhang import estimates


def tau(x):
    return initial_sequence(x[:, None]).tau[0]


@pytest.fixture(scope="module")
def chain():
    rng = np.random.default_rng(1)
    theta = rng.normal(size=(120, 3)).cumsum(0) * [0.1, 1.0, 3.0] + rng.normal(size=(120, 3))
    phi = rng.normal(size=(120, 2))
    phi[:, 1] -= 0.2 * np.roll(phi[:, 1], 1)  # moves back and forth
    return estimates.Blocks(theta, phi, rng.random(120) < 0.8, 2, Counts(7, 9, 11, 0))


def test_a_summary_by_hand(chain):
    found = estimates.summary(chain, 20)
    theta, phi, n = chain.theta[20:], chain.phi[20:], 100
    ess = sorted(n / tau(x) for x in theta.T)
    assert found["n"] == n and found["counts"] == {
        "gradient_theta": 7.0, "gradient_phi": 9.0, "factor_theta": 11.0, "factor_phi": 0.0}
    assert found["AP"] == np.mean(chain.accepted[20:]) and found["divergences"] == 2
    blocks = np.column_stack([np.arange(120) % 2 == 0, np.arange(120) % 4 == 0])
    assert estimates.summary(chain._replace(accepted=blocks), 20)["AP"] == [0.5, 0.25]

    def close(ours, wanted):  # rounding
        np.testing.assert_allclose(ours, wanted, rtol=1e-10, atol=0)

    close(found["theta"]["ours"], ess)
    close(found["theta"]["lineage"], np.minimum(n, ess))
    close(found["theta"]["squares"], sorted(n / tau((x - x.mean()) ** 2) for x in theta.T))
    taus, middle = np.array([tau(x) for x in phi.T]), phi.sum(0) / n
    assert min(taus) < 1  # so that the cap is seen
    sd = np.sqrt(np.sum((phi - middle) ** 2, 0) / n)
    wanted = {"tau": taus, "ours": n / taus, "lineage": np.minimum(n, n / taus), "mean": middle,
              "squares": [n / tau(x) for x in (phi - middle).T ** 2], "sd": sd,
              "mean_se": sd * np.sqrt(taus / n), "tau_se": initial_sequence(phi).se}
    assert found["phi"].keys() == wanted.keys()
    for name, values in wanted.items():
        close(found["phi"][name], values)


def test_a_histogram_counts_what_is_in_its_bins_and_what_is_not(chain):
    found = estimates.summary(chain, 0, bins=[[-1, 0, 1], [0, 0.5]])["phi"]
    a, b = chain.phi.T
    assert found["histogram"] == [[np.sum((a >= -1) & (a < 0)), np.sum((a >= 0) & (a <= 1))],
                                  [np.sum((b >= 0) & (b <= 0.5))]]
    assert found["outside"] == [np.sum(abs(a) > 1), np.sum((b < 0) | (b > 0.5))]


def test_what_never_moved_has_no_ess(chain):
    still = chain._replace(phi=np.ones((120, 2)), accepted=np.zeros(120, bool))
    found = estimates.summary(still, 20)
    assert found["AP"] == 0
    assert np.isnan([found["phi"]["ours"], found["phi"]["lineage"]]).all()
    one = chain._replace(theta=np.where([True, False, True], chain.theta, 1.0))
    assert np.isnan(estimates.summary(one, 20)["theta"]["lineage"]).all()


def test_a_joint_record_in_blocks():
    q = np.arange(20.0).reshape(4, 5)
    joint = SimpleNamespace(samples=q, accepted=np.ones(4, bool), divergences=3, counts=(1, 2))
    found = estimates.in_blocks(joint, 3)
    np.testing.assert_array_equal(np.hstack([found.theta, found.phi]), q)
    assert found.theta.shape == (4, 3) and found[2:] == (joint.accepted, 3, (1, 2))
    np.testing.assert_array_equal(estimates.in_blocks(joint, 3, [2, 0]).theta, q[:, [2, 0]])


def test_the_worst_ess_is_that_of_all_chains_together(chain):
    other = chain._replace(phi=chain.phi[::-1] + np.array([0.0, 5.0]))
    found = estimates.worst([chain, other], 20)
    assert found["phi"] < 10  # the second entry has another mean in each chain
    for name in ("theta", "phi"):
        both = np.array([getattr(each, name)[20:] for each in (chain, other)])
        assert found[name] == combined_chains(both).ess.min()
        squares = (both - both.mean((0, 1))) ** 2
        assert found[f"{name} squares"] == combined_chains(squares).ess.min()
    # 0 for what never moved
    assert estimates.worst([chain._replace(phi=np.ones((120, 2)))])["phi"] == 0
