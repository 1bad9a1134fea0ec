"""An ABLA step against a generalised leapfrog: estimates, claims, and what is run."""

import numpy as np
import pytest

import studies
from judging import check_labels, read_table, replaced, verdicts
from reproduce.beyond import zhang_softabs as softabs
from reproduce.harness.claims import BUDGETS, Measured
from reproduce.zhang.printed import SSHMC

SOFT = softabs.SOFT


def made_up(step=1000.0, draws=1.0):
    """Return a result: a generalised leapfrog takes `step` ABLA steps, a draw as many of either."""
    def found(AP, value):
        return {"AP": Measured(AP, 0.01), "draws": Measured(value, 0.02 * value)}

    return {"n": 100, "seconds": {SSHMC: [1e-7, 1.01e-7], SOFT: [step * 1e-7, step * 1.01e-7]},
            "found": {SSHMC: {100: found(0.9, 0.1), 200: found(0.8, 0.4)},
                      SOFT: {8: found(0.9, 0.001), 12: found(0.8, draws * 0.024)}}}


def test_what_depends_on_programs_that_we_do_not_know_is_not_specified():
    found = verdicts(softabs, made_up(3e5))
    assert {what for what, v in found.items() if v == "not specified"} == {
        "log(time of a step, SoftAbs / ABLA / 100)",
        "log(effective draws a second, SSHMC / SoftAbs / 2.5)"}
    assert set(found.values()) == {"not specified", "agrees"}
    # 100 times as long, and SSHMC takes 40 steps for one of the other
    result = made_up(130.0, draws=40.0)
    assert verdicts(softabs, result) == {claim.what: "agrees" for claim in softabs.CLAIMS} | {
        STEPS: "differs"}


TIME, SPEED = ("log(time of a step, SoftAbs / ABLA), at least",
               "log(effective draws a second, SSHMC / SoftAbs), at least")
STEPS = "log(steps for an effective draw of v, SSHMC / SoftAbs)"
LITTLE = {L: {"AP": Measured(0.8, 0.01), "draws": Measured(1e-6, 1e-8)} for L in (100, 200)}
MOVED = {
    "steps are no slower": (["seconds", SOFT], [5e-6, 5e-6], [TIME]),
    "SSHMC's draws are worth little": (["found", SSHMC], LITTLE, [SPEED, STEPS]),
    **{f"the other's are worth {worth}": (["found", SOFT, 12, "draws"], Measured(worth, 1e-5), [
        STEPS]) for worth in (0.0043, 0.134)},  # 0.024 by a factor of 5, and four errors of 2 %
}


@pytest.mark.parametrize("name", MOVED)
def test_one_quantity_moved_and_no_other_claim_differs(name):
    *change, wanted = MOVED[name]
    found = verdicts(softabs, replaced(made_up(3e5), *change))
    assert {what for what in found if found[what] == "differs"} == set(wanted)


def test_the_time_is_that_of_a_step_but_for_the_first_round(monkeypatch):
    now, step = [0.0], {SSHMC: [0.5, 0.25, 0.125], SOFT: [8.0, 4.0, 2.0]}
    costs = {method: iter(each) for method, each in step.items()}

    def transition(method, q, model, L, n, rng):
        now[0] += L * n * next(costs[method])

    monkeypatch.setattr(softabs, "transition", transition)
    monkeypatch.setattr(softabs.time, "thread_time", lambda: now[0])
    assert softabs.clock(3, 2)["seconds"] == {method: each[1:] for method, each in step.items()}


def test_effective_draws_of_an_autoregression():
    rng, rho = np.random.default_rng(4), 0.8
    v = 3 * rng.standard_normal(20_000)
    after = rho * v + 3 * (1 - rho**2) ** 0.5 * rng.standard_normal(20_000)
    found = softabs.effective(np.column_stack([v, after, np.arange(20_000) % 4 > 0]))
    assert abs(found["draws"].value - (1 - rho) / (1 + rho)) < 4 * found["draws"].se
    # (v' - v)^2 / 18 is 1 - rho times a chi-squared number: a relative error of sqrt(2 / n), times
    # d log draws / d log(1 - rho) = 2 / (1 + rho)
    assert found["draws"].se == pytest.approx(
        found["draws"].value * 0.01 * 2 / (1 + rho), rel=0.05)
    assert found["AP"].value == 0.75


class Recorder(studies.Recorder):
    def made(self, function, tasks):
        if function is softabs.clock:
            return [{"seconds": {method: [1.0] for method in softabs.STEPS}}]
        return [{"pairs": [[0.0, 0.1 * task["L"] ** 0.5, 1.0]] * len(task["seeds"])}
                for task in tasks]


@pytest.mark.parametrize("budget", BUDGETS)
def test_what_is_run(budget):
    experiment = Recorder(budget)
    result = softabs.run(experiment, None)
    (_, tasks), _ = experiment.calls
    for method, steps in softabs.STEPS.items():
        assert list(result["found"][method]) == list(steps)
        for L in steps:
            seeds = [seed for task in tasks
                     if (task["method"], task["L"]) == (method, L) for seed in task["seeds"]]
            assert seeds == [[5, k] for k in range(softabs.STARTS[budget][method])]
            half = 0.01 * L / 18
            assert result["found"][method][L]["draws"].value == pytest.approx(
                half / (2 - half), rel=1e-12)
    assert {task["n"] for task in tasks} == {softabs.SIZE[budget]}


@pytest.mark.parametrize("method", softabs.STEPS)
def test_a_transition_starts_from_the_draw_of_its_seed(method):
    pairs = softabs.from_exact_draws(method, 3, 3, [[1, 2], [1, 3]])["pairs"]
    for (v, after, accepted), seed in zip(pairs, ([1, 2], [1, 3]), strict=True):
        rng = np.random.default_rng(seed)
        assert v == softabs.exact_draw(rng, 3)[1][0]
        assert (after != v) == bool(accepted)


def test_each_method_has_the_steps_of_print(monkeypatch):
    asked = []
    monkeypatch.setattr(softabs, "sshmc", lambda *given, **named: asked.append(
        (*given, named)) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        softabs.transition(SSHMC, "xxxv", "model", 7, 5, None)
    # "halves": 2 leapfrogs of half the step for x, and 1 for v
    assert asked == [("xxx", "v", "model", 0.1, 0.2, 7, 5, None, {"n_theta": 2, "n_phi": 1})]


def test_the_table_and_the_figure():
    result = made_up()
    rows = read_table(softabs.table(result), "method")
    assert rows[1] == {
        "method": SSHMC, "steps": "200", "acceptance": "0.800 (0.010)", "us a step": "0.101",
        "draws a transition": "0.4000 (0.0080)", "draws per 1000 steps": "2.000 (0.040)"}
    assert rows[3]["method"] == SOFT and rows[3]["us a step"] == "100"
    (ax,) = softabs.figure(result).axes
    check_labels([ax], ("steps", "effective draws of $v$"))
    labels = [text.get_text().split(" $")[0] for text in ax.get_legend().get_texts()]
    assert labels == [f"{SSHMC}: 0.1", f"{SOFT}: 100"]  # 1e-7 and 1e-4 seconds a step
    for bar, (L, draws) in zip(ax.containers, (
            ([100, 200], [1.0, 2.0]), ([8, 12], [0.125, 2.0])), strict=True):
        point, _, (ends,) = bar.lines
        assert point.get_xdata().tolist() == L
        assert point.get_ydata() == pytest.approx(draws, rel=1e-12)  # per 1000 steps
        np.testing.assert_allclose([each[:, 1] for each in ends.get_segments()],
                                   np.outer(draws, [0.96, 1.04]), rtol=1e-12)
