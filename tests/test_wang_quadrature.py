"""The exact posterior of a regression with one length, and rows of chains beside it."""

import numpy as np
import pytest

from judging import read_table, verdicts
from models.gp_regression import GPRegression
from models.interface import U, log_likelihood
from reproduce.beyond import wang_rivals as script
from reproduce.beyond.rivals.moments import as_one
from reproduce.wang import quadrature
from reproduce.wang.printed import STANDARD
from reproduce.wang.rivals import NUTS, WALK
from test_wang_rivals import made_up, row_of


def model_of(n, prior_sd=0.5):
    rng = np.random.default_rng(2)
    return GPRegression.from_data(rng.random((n, 2)), rng.standard_normal(n), "isotropic", 3.0,
                                  [-0.3, 0.4, -0.5], prior_sd)


def test_on_the_grid_are_log_likelihood_and_posterior():
    model = model_of(7)
    P, values = quadrature.on_grid(model, *(np.array([a, b]) for a, b in
                                            ((-0.2, 0.3), (-1.0, 2.0), (-1.5, 0.5))))
    *q, log_L = (np.broadcast_to(x, P.shape).ravel() for x in values)
    energies = [U(each, model) for each in np.transpose(q)]
    wanted = [log_likelihood(each, model) for each in np.transpose(q)]
    np.testing.assert_allclose(log_L, wanted, rtol=1e-9)
    weights = np.exp(min(energies) - np.array(energies))
    np.testing.assert_allclose(P.ravel(), weights / weights.sum(), rtol=1e-7)


def test_the_moments_are_those_of_a_sum_over_a_box_of_the_hyperparameters():
    model = model_of(4)
    axes = [m + np.linspace(-2.5, 2.5, 26) for m in model.mean]
    q = np.stack([x.ravel() for x in np.meshgrid(*axes)], axis=1)
    energies = np.array([U(each, model) for each in q])
    p = np.exp(energies.min() - energies)
    p /= p.sum()
    x = np.column_stack([q, [log_likelihood(each, model) for each in q]])
    mean = p @ x
    found = quadrature.exact_moments(model)
    np.testing.assert_allclose(found["mean"], mean, rtol=0, atol=1e-4)
    np.testing.assert_allclose(found["sd"], np.sqrt(p @ (x - mean) ** 2), rtol=1e-3)
    with pytest.raises(ValueError, match="model must have a posterior within the grid"):
        quadrature.exact_moments(model_of(2, 30.0))


EXACT = {"mean": [0.0, 1.0], "sd": [2.0, 1.0]}


def test_rows_that_pass_and_are_elsewhere_are_not_believed():
    near = quadrature.judge_row(row_of(3.0), EXACT | {"sd": [1.0, 1.0]})
    assert near["believed"] and near["passes"] and near["off"] == pytest.approx(as_one(0.0, 4))
    far = quadrature.judge_row(row_of(3.0, mean=0.2), EXACT)  # its deviation is 10 errors away
    assert far["passes"] and not far["believed"] and far["off"] == as_one(10.0, 4)
    assert far["shift"] == pytest.approx((0.1, 0.05))
    assert np.isnan(far["per gradient"].se) and np.isnan(far["per second"].se)
    off = quadrature.judge_row(row_of(3.0, believed=False), EXACT)
    assert not off["passes"] and not off["believed"]
    class Experiment:
        def replicates(self, function, tasks, unit):
            assert function is quadrature.exact_of and [task["n"] for task in tasks] == [30, 30]
            return [{"mean": [task["number"], 1.0], "sd": [1.0, 1.0]} for task in tasks]

    rows = {(number, index, WALK): row_of(3.0, mean=1.0) for number in (1, 4, 5)
            for index in range(2)}
    found = quadrature.judge_rows(Experiment(), rows, 30)
    assert {key for key, row in found.items() if not row["believed"]} == {(4, 0, WALK)}


def test_the_grids_close_in_on_what_is_narrow(monkeypatch):
    model, sd = model_of(7), np.array([0.1, 0.9, 0.3])
    at = np.array([np.log(model.y.std()) + 0.05, 0.2, model.mean[2]])

    def on_grid(model, *axes):
        x = np.meshgrid(*axes, indexing="ij", sparse=True)
        P = np.exp(-sum((a - m) ** 2 / s**2 for a, m, s in zip(x, at, sd, strict=True)) / 2)
        return P / P.sum(), x

    monkeypatch.setattr(quadrature, "on_grid", on_grid)
    found = quadrature.exact_moments(model, (28, 28, 28))
    # of the first grid a step is three deviations of t, by which its deviation is off by a sixth
    np.testing.assert_allclose(found["mean"], at, rtol=0, atol=1e-3)
    np.testing.assert_allclose(found["sd"], sd, rtol=1e-2)


def test_what_passes_is_compared_and_claimed_whether_it_is_believed_or_not():
    wrong = row_of(3.0) | {"off": 9.0, "believed": False}
    assert quadrature.distance({(2, 0, STANDARD): wrong, (2, 0, WALK): row_of(3.0)}, 2) == (
        as_one(9.0, 2), 0.0)
    others = {(2, 0, NUTS): wrong, (2, 1, WALK): wrong, (2, 0, WALK): wrong | {"passes": False}}
    assert np.isnan(quadrature.distance(others, 2).se)
    r = made_up()
    wrong = {"off": 9.0, "believed": False}
    r.rows[4, 0, STANDARD] |= wrong | {"passes": False}
    r.rows[2, 0, NUTS] |= wrong
    r.rows[1, 1, WALK] |= wrong
    assert set(verdicts(script, r).values()) <= {"agrees", "no claim"}
    r.rows[2, 0, STANDARD] |= wrong
    assert verdicts(script, r)["2: largest |z| against quadrature, as one"] == "differs"
    cells = {row["first data set"]: row for row in read_table(quadrature.table(r.rows), "first")}
    assert cells[STANDARD] == {"first data set": STANDARD, "kind 1": "0.5", "kind 2": "9",
                               "kind 4": ""}
