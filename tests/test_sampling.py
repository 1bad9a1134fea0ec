"""sampling/: chains run in pieces, watched and stopped; what says whether to believe them."""

import inspect
import multiprocessing
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import namedtuple
from contextlib import nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy.signal import lfilter

from algorithms.hmc import hmc
from algorithms.hoffman_nuts import hmc_dual_averaging, nuts_dual_averaging
from algorithms.hoffman_nuts_fast import nuts
from algorithms.paquet_rmhmc import rmhmc as mirror_rmhmc
from algorithms.random_walk import random_walk
from algorithms.rivals.delayed_acceptance import delayed_acceptance
from algorithms.rivals.dragging import dragging
from algorithms.rivals.fitted_walk import pilot
from algorithms.rivals.polya_gamma_gibbs import polya_gamma_gibbs
from algorithms.rmhmc_within_gibbs import rmhmc_within_gibbs
from algorithms.slice_sampling import slice_sampling
from algorithms.wang_discretizing_chain_fast import discretizing_chain
from algorithms.wang_tempered_transitions_fast import tempered_transitions
from algorithms.zhang_sshmc_fast import sshmc
from conftest import python
from models import validate
from models.funnel import Funnel
from models.gaussian import Gaussian
from models.jit import ROOT
from models.mixture import gaussian_mixture, mixture_draw
from models.non_centred import NonCentred
from models.soft_abs import SoftAbs
from sampling import run as runs
from sampling.check import check_model
from sampling.problems import counts_on_a_grid, hierarchical_logistic, logistic_regression
from sampling.run import Chains, run
from sampling.summary import e_bfmi, ess_bulk, ess_tail, rhat, summary
from studies import environment, wait_until
from test_bad_input import CALLS, Crooked
from test_validate import Measured, own

MODEL = Gaussian(np.zeros(2), np.eye(2))
SETTINGS = dict(model=MODEL, eps=0.7, L=3)


def generator(seed=1):
    return np.random.default_rng(seed)


def quietly(sampler, *arguments, **named):
    """Return what run gives back of two chains, in this process and without bars."""
    return run(sampler, *arguments, **dict(chains=2, jobs=1, bars=False, rng=generator()) | named)


def same_as_called(found, sampler, *fields, **arguments):
    """Compare chains with what calls of the sampler give; return these."""
    calls = [sampler(**arguments, rng=rng) for rng in generator().spawn(len(found.chains))]
    for ours, alone in zip(found.chains, calls, strict=True):
        for field in fields:
            np.testing.assert_array_equal(getattr(ours, field), getattr(alone, field))
    return calls


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("bars", [False, True])
def test_chains_in_pieces_have_the_draws_of_unbroken_ones(jobs, bars, capsys, monkeypatch):
    if not bars:  # without them nothing waits for tqdm's lock, which killed processes keep
        monkeypatch.setattr(runs, "tqdm", None)
    starts = generator(2).standard_normal((3, 2))
    found = run(hmc, starts, **SETTINGS, n=501, rng=generator(), chains=3, jobs=jobs, bars=bars)
    for ours, start, rng in zip(found.chains, starts, generator().spawn(3), strict=True):
        alone = hmc(start, **SETTINGS, n=501, rng=rng)
        for field in ("samples", "energies", "accepted", "energy_error"):
            np.testing.assert_array_equal(getattr(ours, field), getattr(alone, field))
        # each piece evaluates the state that it begins with
        assert ours.counts.gradient - 501 * 3 == ours.counts.density - 501 > 1
    assert found.wanted == 501
    rate = np.mean(found.chains[2].accepted)
    said = capsys.readouterr().err
    assert ("501/501" in said and f"accepted {rate:.2f}" in said and "chain 2" in said) == bars


def pieces():
    """Compare every sampler that is run in pieces with its calls, as test_bad_input.py has them."""
    runs.SECONDS = 1e9  # pieces of 1, 4 and 2 draws
    settings = {}
    for sampler, arguments in CALLS.values():
        if sampler in (*runs.PIECEWISE, runs.nuts, runs.slice_sampling):
            (count,) = {*runs.LENGTHS} & {*arguments}
            settings.setdefault(sampler, arguments | {count: 7}).pop("keep", None)
    settings[runs.nuts] |= {"warm_up": 40, "deepest": 1}  # which most trees would pass
    settings[runs.generalised_rmhmc]["f_max"] = 100  # enough for its equations
    for sampler, arguments in settings.items():
        found = quietly(sampler, **arguments)
        fields = {"samples", "theta", "phi", "energies", "accepted", "step"}
        alone = same_as_called(found, sampler, *fields & {*found.chains[0]._fields}, **arguments)
        if hasattr(alone[0].counts, "g"):  # of each transition
            assert {each.counts.g for each in (*alone, *found.chains)} == {alone[0].counts.g}
        # or this would see nothing
        assert min(np.mean(getattr(each, "accepted", 1.0)) for each in alone) > 0.3
        assert sampler is not runs.slice_sampling or [str(each.counts) for each in alone] == [
            str(each.counts) for each in found.chains]
        print(sampler.__module__)


# whose chains `run` makes in one piece
WHOLE = {nuts_dual_averaging, hmc_dual_averaging, mirror_rmhmc, pilot, delayed_acceptance, dragging,
         polya_gamma_gibbs, discretizing_chain, tempered_transitions}


def test_every_sampler_is_run_in_pieces_or_known_to_be_run_as_a_whole():
    samplers = {function for function, _ in CALLS.values()
                if function.__module__.startswith("algorithms.")
                and "rng" in (names := inspect.signature(function).parameters)
                and {*runs.LENGTHS} & {*names}}
    assert samplers == WHOLE | {*runs.PIECEWISE, runs.nuts, runs.slice_sampling}, (
        "put it in PIECEWISE of sampling/run.py if a chain can go on from its last draw alone")


FUNNEL = dict(theta0=np.zeros(3), phi0=np.zeros(1), model=Funnel.from_size(3), eps_theta=0.1,
              eps_phi=0.1, L=2, n=9)


@pytest.mark.parametrize("keep, said", [
    ([1, 0], "hold different"), ([0, 0], "hold different indices in increasing order"),
    (np.array([2, 1], np.uint8), "hold different"), (["a", "b"], "be")])  # the sampler's own words
def test_variables_that_are_kept_are_in_their_order(keep, said):
    with pytest.raises(ValueError, match=f"keep must {said}"):
        run(sshmc, **FUNNEL, rng=generator(), keep=keep)


def test_a_chain_that_keeps_some_variables_is_that_of_one_call():
    same_as_called(quietly(sshmc, **FUNNEL, keep=[1], chains=1), sshmc, "theta", **FUNNEL, keep=[1])
    found = quietly(sshmc, **FUNNEL | {"n": 13}, keep=np.array([1, 2])).after(3)
    assert pickle.loads(pickle.dumps(found)).kept == found.kept == (1, 2)
    assert summary(found).names == ("theta[1]", "theta[2]", "phi[0]")


def test_every_sampler_that_is_run_in_pieces_can_be_continued_exactly():
    done = python("-c", "import test_sampling as t; t.pieces()", NUMBA_DISABLE_JIT="1")
    assert len(done.split()) == len(runs.PIECEWISE) + 2


@pytest.mark.filterwarnings("ignore:.*trajectories diverged")
def test_a_sampler_with_a_warm_up_in_its_draws_is_run_as_it_is():
    # which is compiled by a chain of one draw, with no longer a warm-up
    arguments = dict(q0=np.zeros(2), model=MODEL, n=40, warm_up=30)
    found = quietly(nuts_dual_averaging, **arguments)
    calls = same_as_called(found, nuts_dual_averaging, "samples", **arguments)
    assert [*map(str, found.chains)] == [*map(str, calls)]


@pytest.mark.parametrize("sampler, jobs, settings", [
    (hmc, 1, dict(eps=0.7, L=3)), (hmc, 2, dict(eps=0.7, L=3)), (nuts, 1, dict(warm_up=30)),
    (slice_sampling, 2, dict(w=2.0))])
def test_ctrl_c_gives_back_what_was_drawn_within_a_second(sampler, settings, jobs):
    def stop():
        time.sleep(1.5)
        nonlocal begin
        begin = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)

    begin = 0.0
    quietly(sampler, np.zeros(2), MODEL, **settings, n=1)  # compiles
    threading.Thread(target=stop).start()
    found = quietly(sampler, np.zeros(2), MODEL, **settings, n=10**8, jobs=jobs)
    assert time.monotonic() - begin < 1
    drawn = len(found.chains[0].samples)
    assert 0 < drawn < found.wanted == 10**8
    same_as_called(found, sampler, "samples", **settings, n=drawn, model=MODEL,
                   **{"x0" if sampler is slice_sampling else "q0": np.zeros(2)})


@pytest.mark.parametrize("chains_with_draws", [0, 1])
def test_a_stop_before_the_first_draw_is_raised(chains_with_draws, monkeypatch):
    one = hmc(np.zeros(2), **SETTINGS, n=1, rng=generator())

    def stopped(*_):
        yield from [(0, one)] * chains_with_draws
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "in_turn", stopped)
    with pytest.raises(KeyboardInterrupt):
        quietly(hmc, np.zeros(2), **SETTINGS, n=5)


def test_ctrl_c_while_a_process_is_forked_is_not_lost():
    # Python calls what is registered so, and ignores what is raised there
    os.register_at_fork(after_in_parent=lambda: pressed and os.kill(pressed.pop(), signal.SIGINT))
    pressed = [os.getpid()]
    with pytest.raises(KeyboardInterrupt):
        quietly(hmc, np.zeros(2), **SETTINGS, n=2000, jobs=2)
    assert not pressed and not any(child.name.startswith("chains ")  # others are of other tests
                                   for child in multiprocessing.active_children())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_process_that_is_killed_is_told_of():
    def kill():
        while not (ours := [child for child in multiprocessing.active_children()
                            if child.name == "chains 1"]):
            time.sleep(0.05)
        time.sleep(0.5)
        os.kill(ours[0].pid, signal.SIGKILL)

    threading.Thread(target=kill).start()
    with pytest.raises(RuntimeError, match="ended from outside"):
        quietly(hmc, np.zeros(2), **SETTINGS, n=10**8, jobs=2)


class Odd(Exception):
    def __init__(self, one, two):  # another process cannot make it again
        super().__init__(one)


def odd(n, rng):
    if multiprocessing.parent_process():
        raise Odd("no more draws", 2)
    return hmc(np.zeros(2), **SETTINGS, n=n, rng=rng)


def test_an_error_that_cannot_be_sent_is_told_of():
    # Dask, where it is imported, teaches pickle to send every error
    with pytest.raises((RuntimeError, Odd), match=r"^(Odd: )?no more draws$"):
        quietly(odd, n=3, jobs=2)


def test_chains_end_with_the_process_that_began_them():
    code = ("from test_sampling import *\nquietly(hmc, np.zeros(900), Gaussian(np.zeros(900),"
            " np.eye(900)), 0.7, 3, n=10**7, jobs=2)")
    parent = subprocess.Popen([sys.executable, "-c", code], env=environment(ROOT / "tests"))
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
    wait_until(lambda: len(children.read_text().split()) == 2, process=parent)
    ours = children.read_text().split()
    time.sleep(1)  # they are sending what they have drawn
    parent.kill()
    parent.wait()
    try:
        wait_until(lambda: not any(os.path.exists(f"/proc/{each}") for each in ours), 20)
    finally:
        for each in ours:
            with suppress(ProcessLookupError):
                os.kill(int(each), signal.SIGKILL)


def pool_runs(_):
    return quietly(hmc, np.zeros(2), **SETTINGS, n=9, jobs=2)


def test_one_chain_begins_at_the_only_row():
    found = quietly(hmc, np.array([[0.5, -1.0]]), **SETTINGS, n=9, chains=1)
    same_as_called(found, hmc, "samples", q0=np.array([0.5, -1.0]), **SETTINGS, n=9)


def test_a_process_that_may_have_no_children_runs_chains_itself():
    with warnings.catch_warnings(action="ignore"):  # of threads: JAX's are idle here
        pool = multiprocessing.get_context("fork").Pool(1)
    with pool:
        (found,) = pool.map(pool_runs, [0])
    same_as_called(found, hmc, "samples", q0=np.zeros(2), **SETTINGS, n=9)


def test_of_several_transitions_a_draw_all_are_left_out_or_kept():
    found = quietly(random_walk, np.zeros(2), MODEL, scale=2.0, n=50, thin=3)
    late = found.after(20)
    for whole, part in zip(found.chains, late.chains, strict=True):
        for name, first in (("samples", 20), ("accepted", 60), ("energy_error", 60)):
            np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[first:])
    seen, chain = late.statistics, late.chains[1]
    np.testing.assert_allclose(seen["accepted"][1], chain.accepted.reshape(30, 3).mean(axis=1))
    np.testing.assert_array_equal(seen["energy_error"][1],
                                  chain.energy_error.reshape(30, 3).max(axis=1))
    assert seen["diverging"].shape == (2, 30) and not seen["diverging"].any()
    assert late.wanted == 30 and late.variables["q"].shape == (2, 30, 2)
    with pytest.raises(ValueError, match="n must leave some of the 50 draws"):
        found.after(50)


def test_counts_of_as_many_layers_as_there_are_draws_are_left_whole():
    one = quietly(slice_sampling, np.zeros(2), MODEL, w=1.0, n=2, chains=1)
    layers = one.chains[0].counts._replace(approximations=np.array([5, 7]))
    one = one._replace(chains=(one.chains[0]._replace(counts=layers),))
    assert one.after(1).chains[0].counts is layers


def test_a_chain_that_came_back_has_moved():
    assert runs.has_moved(np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 1.0]]))
    assert not runs.has_moved(np.ones((3, 2)))
    blocks = SimpleNamespace(theta=np.zeros((20, 2)), phi=np.arange(20.0)[:, np.newaxis])
    runs.warn(Chains((blocks,), 20, hmc))  # no warning: one block is enough


def test_a_bar_counts_what_diverged_in_all_pieces():
    (part,) = chains_of(np.zeros((1, 100, 1)), energy_error=np.full(100, np.inf)).chains
    assert str(runs.Tally().after(part, hmc).after(part, hmc)) == "accepted 0.75, diverged 200"
    assert str(runs.Tally(4, 3.0)) == "accepted 0.75"


def test_a_walk_to_where_u_is_large_or_infinite_is_no_divergence_and_to_where_it_is_nan_one():
    x = generator(6).standard_normal((1, 100, 1))
    error = np.where(np.arange(100) == 7, np.inf, 5000.0)
    for sampler in runs.WALKS:
        for bad, counted in ((np.inf, 0), (np.nan, 1), (-np.inf, 1)):
            one = chains_of(x, energy_error=np.where(error == np.inf, bad, error))
            assert one._replace(sampler=sampler).divergences == counted
    assert chains_of(x, energy_error=error).divergences == 100
    assert chains_of(x, energy_error=np.minimum(error, 1000.0)).divergences == 0
    assert chains_of(x, energy_error=-np.abs(error)).divergences == 1  # downhill is none
    # of two transitions a draw one is enough
    twice = chains_of(x, energy_error=np.where(np.arange(200) == 7, np.nan, 0.0),
                      accepted=np.ones(200))._replace(sampler=random_walk)
    assert twice.statistics["diverging"][0].nonzero()[0].tolist() == [3]


@pytest.mark.parametrize("wrong, said", [
    (dict(q0=np.zeros((2, 2)), chains=3), r"q0 must have a row for each of the 3 .*\(2, 2\)"),
    (dict(q0=np.zeros((3, 2)), chains=2), r"q0 must have a row for each of the 2 .*\(3, 2\)"),
    (dict(q0=[[1, 2], [3]]), "q0 must be"), (dict(eps=-1), "eps must be a finite number"),
    (dict(epsilon=1), r"^hmc\(\) got .* 'epsilon'; did you mean 'eps'"),
    (dict(cores=4), r"^run\(\) got .* 'cores'; it takes chains, jobs and bars"),
    (dict(rng=np.random.Generator(np.random.RandomState(3)._bit_generator)),
     "rng must be one that can spawn others"), (dict(chains=0), "chains must be a whole number"),
    (dict(jobs=[]), "jobs must be"), (dict(sampler=None), "sampler must be a function of algori"),
    *((dict(sampler=kind), "sampler must be a function of algorithms/")
      for kind in (dict, Gaussian)),
    (dict(q0=np.ma.zeros((3, 2)), chains=3), "^q0 must be an array of real numbers, not masked"),
    (dict(chains=10**9), "chains must be at most 10000"),
    (dict(bars="no"), "bars must be True or False, not 'no'"),
    (dict(sampler=lambda **named: None), "sampler must take n and rng")])
def test_what_is_wrong_is_raised_before_anything_runs(wrong, said, monkeypatch):
    monkeypatch.setattr(runs, "pieces", None)
    with pytest.raises((ValueError, TypeError), match=said):
        run(**dict(sampler=hmc, q0=np.zeros(2), n=5, rng=generator()) | SETTINGS | wrong)


Sized = own("Sized", lambda q, model: (model.size * q**2).sum() / 2,
            lambda q, model: model.size * q, size=np.ndarray)


def test_a_list_in_a_model_is_an_array_to_run_as_it_is_to_the_sampler():
    model = Sized([1.0, 2.0])
    same_as_called(quietly(hmc, np.ones(2), model, 0.5, 3, 9), hmc, "samples", q0=np.ones(2),
                   model=model, eps=0.5, L=3, n=9)


def test_a_function_that_returns_no_draws_is_refused():
    mixture = gaussian_mixture([1.0], [[0.0]], [[[1.0]]])
    with pytest.raises(ValueError, match=r"draws, .* but mixture_draw returns a ndarray"):
        run(mixture_draw, mixture, n=9, rng=generator())
    Half = namedtuple("Half", "theta")
    with pytest.raises(ValueError, match=r"`theta` and `phi`, .* returns a Half"):
        quietly(lambda n, rng: Half(np.zeros((n, 1))), n=9)


def test_nuts_goes_on_with_the_step_and_the_mass_of_its_warm_up(capsys):
    arguments = dict(q0=np.ones(2), model=MODEL, n=60, warm_up=150)
    found = run(nuts, **arguments, rng=generator(), chains=2, jobs=1)
    said = capsys.readouterr().err
    assert "warm-up 150 of 150" in said and "60/60" in said
    calls = same_as_called(found, nuts, "samples", "total_energies", "rates", "depths", "gradients",
                           "step", **arguments)
    for ours, alone in zip(found.chains, calls, strict=True):
        np.testing.assert_array_equal(ours.mass.variances, alone.mass.variances)
        assert ours.counts.gradient > alone.counts.gradient
    one = quietly(nuts, **arguments | dict(n=1), chains=1)
    (alone,) = same_as_called(one, nuts, **arguments | dict(n=1))
    assert one.chains[0].counts == alone.counts  # of a single piece
    made = summary(found.after(10))
    np.testing.assert_allclose(made.acceptance, [c.rates[10:].mean() for c in found.chains])
    np.testing.assert_allclose(made.e_bfmi, [c.e_bfmi for c in found.after(10).chains])
    assert found.after(58).chains[0].mass.variances.shape == (2,)
    last, seen = found.chains[1], found.statistics
    for name, values in dict(tree_depth=last.depths, lp=-last.energies, n_steps=last.gradients,
                             acceptance_rate=last.rates, energy=last.total_energies).items():
        np.testing.assert_array_equal(seen[name][1], values)


@pytest.mark.parametrize("model, said", [
    (Crooked(1.1), "U and grad_U of Crooked disagree"),
    (Measured(np.zeros(2)), "Measured has no grad_U")])
def test_what_all_chains_would_warn_of_is_said_once(model, said, monkeypatch):
    monkeypatch.setattr(validate, "differenced", {})
    one = hmc(np.zeros(2), **SETTINGS, n=5, rng=generator())
    monkeypatch.setattr(runs, "pieces", lambda *_: iter([one]))  # none of this model
    with pytest.warns(RuntimeWarning) as caught:
        found = quietly(hmc, np.ones(2), model, eps=0.1, L=2, n=5, chains=3)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert said in str(caught[0].message)
    assert found.variables["q"].shape == (3, 5, 2)


STILL = dict(accepted=np.zeros(20, bool), energy_error=np.full(20, 50.0))
LOST = STILL | dict(energy_error=np.full(20, np.inf))
SLOW = dict(rates=np.full(20, 1e-22), divergent=np.zeros(20, bool))


@pytest.mark.parametrize("sampler, fields, said", [
    (hmc, STILL, "chain 0 accepted none of its 20 proposals: halve eps; chain 1 accepted none"),
    (random_walk, STILL, "chain 1 accepted none of its 20 proposals: halve scale"),
    (runs.auxiliary_mixture, STILL, "none of its 20 proposals: begin elsewhere"),  # w is of slices
    (hmc, LOST, "40 of 40 trajectories diverged: halve eps, or take coordinates .* such as log x"),
    (runs.generalised_rmhmc, STILL, "chain 1 accepted none of its 20 proposals: halve eps"),
    (runs.generalised_rmhmc, LOST, "40 of 40 trajectories diverged: halve eps"),
    (nuts, SLOW, "chain 0 has not moved from where it started: take a larger target.* or begin"),
    (nuts, SLOW | dict(divergent=np.ones(20, bool)),
     "40 of 40 trajectories diverged: take a larger target, .* warm_up .*, or take coordinates"),
    (hmc, STILL | dict(accepted=np.ones(20, bool)), "chain 0 has not .*: its steps are too small"),
    (nuts, SLOW | dict(depths=np.repeat([4, 10], [9, 11])),
     "most trajectories of chain 1 double 10 times or more: take units .*, or mass='fisher'"),
    (slice_sampling, {}, "chain 1 has not moved from where it started: halve w, or begin")])
def test_chains_that_go_nowhere_say_so(sampler, fields, said):
    chain = SimpleNamespace(samples=np.zeros((20, 1)), **fields)
    with pytest.warns(RuntimeWarning, match=said) as caught:
        runs.warn(Chains((chain, chain), 20, sampler))
    assert len(caught) == 1


@pytest.mark.parametrize("proposals", [9, 10])
def test_ten_proposals_of_which_none_was_accepted_are_enough(proposals):
    found = chains_of(np.arange(float(proposals)).reshape(1, -1, 1),
                      accepted=np.zeros(proposals, bool))
    with pytest.warns(RuntimeWarning) if proposals > 9 else nullcontext():
        runs.warn(found)


def test_a_run_that_goes_nowhere_says_so_once():
    with pytest.warns(RuntimeWarning, match="chain 1 accepted none of its 20 proposals") as caught:
        quietly(hmc, np.ones(2), MODEL, eps=500.0, L=1, n=20)
    assert len(caught) == 1 and caught[0].filename == __file__
    far = FUNNEL | dict(theta0=np.ones(3), phi0=np.ones(1), eps_theta=500.0, eps_phi=500.0, n=20)
    with pytest.warns(RuntimeWarning, match="accepted none of its 20") as caught:  # in one piece
        quietly(sshmc, **far, keep=[0])
    assert len(caught) == 1


def chains_of(draws, **fields):
    """Make what run gives back of draws (chains, n, d)."""
    t = np.arange(draws.shape[1])
    alike = dict(energies=2.0 + t % 2, accepted=t % 4 > 0, energy_error=np.zeros(t.size)) | fields
    return Chains(tuple(SimpleNamespace(samples=x, **alike) for x in draws), t.size, hmc)


@pytest.mark.parametrize("n", [400, 401])
@pytest.mark.parametrize("kind", ["slow", "apart", "of two scales", "heavy tails", "ties"])
def test_diagnostics_are_those_of_arviz(kind, n):
    x = generator(4).standard_normal((4, n))
    x = {"slow": lfilter([1.0], [1.0, -0.9], x), "apart": x + np.arange(4)[:, np.newaxis] / 4,
         "ties": np.round(x), "of two scales": x * np.array([[1.0], [1.0], [1.0], [2.0]]),
         "heavy tails": np.tan(np.pi * (np.argsort(x, axis=1) + 0.5) / n)}[kind]
    assert rhat(x) == pytest.approx(array_stats.rhat(x), rel=1e-12)
    assert ess_bulk(x) == pytest.approx(array_stats.ess(x, method="bulk"), rel=1e-9)
    assert ess_tail(x) == pytest.approx(array_stats.ess(x, method="tail", prob=(0.05, 0.95)),
                                        rel=1e-9)


def test_r_hat_of_draws_of_two_values_is_that_of_their_location():
    # the folded ones are constant, of which R-hat is 0 / 0; ArviZ has the same number
    x = (generator(4).random((4, 400)) < 0.5).astype(float)
    assert 1.0 < rhat(x) < 1.02


def test_e_bfmi_by_potential_energies_is_that_of_the_hamiltonian():
    # after each refreshed momentum of d = 4 in exact trajectories, and U of 3 times its variance
    rng, d, n = generator(5), 4, 200_000
    old, new = (rng.chisquare(d, n) / 2 for _ in range(2))
    energies = np.sqrt(3) * rng.chisquare(d, n) / 2
    theirs = np.mean((new - old) ** 2) / np.var(energies + new)  # Stan's, of H
    assert [e_bfmi(energies, d)] * 2 == pytest.approx([theirs, 2 / (3 + 1)], rel=0.03)


def test_a_summary_says_what_to_believe():
    x = generator(6).standard_normal((4, 1000, 2)) * [1.0, 3.0] + [5.0, 0.0]
    good = summary(chains_of(x))
    assert good.names == ("q[0]", "q[1]") and not good.doubts
    np.testing.assert_allclose(good.mean, [5.0, 0.0], atol=0.2)
    np.testing.assert_allclose([good.sd, 4000**0.5 * good.mcse], [[1.0, 3.0]] * 2, rtol=0.1)
    apart = x + 3.0 * np.arange(4)[:, np.newaxis, np.newaxis]  # one deviation, of all draws
    np.testing.assert_allclose(summary(chains_of(apart)).sd, apart.std(axis=(0, 1), ddof=1))
    with pytest.raises(ValueError, match=r"q of found has 2 variables, and that of problem 3$"):
        summary(chains_of(x), logistic_regression(x[0], x[0, :, 0] > 5))
    named = str(summary(chains_of(x), logistic_regression(x[0, :, :1], x[0, :, 0] > 5)))
    assert re.sub("( intercept| X.:, 0.)? +", " ", named) == re.sub(" +", " ", str(good)) + (
        "\nq is the intercept, then the weights of standardised covariates.")
    assert named.splitlines()[2].startswith("q[1] X[:, 0] ")
    assert list(good.acceptance) == [0.75] * 4 and good.divergences == 0
    np.testing.assert_allclose(good.e_bfmi, 2 / (0.25 + 1))
    lines = str(good).splitlines()
    assert lines[0].split() == "mean sd mcse ess bulk ess tail R-hat".split()
    assert lines[2].split()[:3] == ["q[1]", f"{good.mean[1]:.4g}", f"{good.sd[1]:.4g}"]
    assert lines[3] == ("acceptance rates 0.75, 0.75, 0.75, 0.75; divergences 0; E-BFMI 1.60, 1.60,"
                        " 1.60, 1.60")


def test_a_summary_of_many_shows_hyperparameters_and_the_worst_of_the_others():
    x = generator(6).standard_normal((4, 1000, 20))
    x[:, :, [3, 17]] = np.repeat(x[:, ::4, [3, 17]], 4, axis=1)
    x[:, :, 9] = 1.0  # never moved
    # evaluations that were not finite are no divergences: a slice sampler has no trajectories
    made = summary(Chains(tuple(SimpleNamespace(theta=each[:, :19], phi=each[:, 19:], divergences=7)
                                for each in x), 1000, slice_sampling))
    assert made.divergences == 0
    assert np.isnan([made.e_bfmi, made.acceptance]).all()  # of one that proposes nothing
    assert "acceptance rates -, -, -, -; divergences 0; E-BFMI -, -, -, -" in str(made)
    shown = [line.split()[0] for line in str(made).splitlines()]
    assert shown[1] == "phi[0]" and {"theta[3]", "theta[9]", "theta[17]"} < set(shown[2:8])
    assert str(made).splitlines()[8] == ("the others of 20 have more effective draws than the last"
                                         " 6 of these")
    rows = made._replace(first=tuple(range(8))).rows()  # of so many hyperparameters six
    assert rows[:6] == [*range(6)] and {9, 17} < {*rows[6:]} and len(rows) == 12
    # of what has no hyperparameters, the first two
    shown = str(summary(chains_of(x))).splitlines()
    assert [line.split()[0] for line in shown[1:3]] == ["q[0]", "q[1]"] and "others of" in shown[9]
    assert "q[11] " in (twelve := str(summary(chains_of(x[:, :, :12])))) and "others" not in twelve
    problem = counts_on_a_grid(np.ones((4, 4)))  # q of NonCentred
    shown = str(summary(chains_of(x[:, :, :18]), problem)).splitlines()
    assert [line.split("  ")[0] for line in shown[1:3]] == ["q[16] log sigma^2", "q[17] log beta"]
    problem = hierarchical_logistic(np.eye(18), np.arange(18) % 2, np.zeros(18))  # all have names
    centred = chains_of(x[:, :, :20])._replace(model=problem.model)
    assert str(summary(centred, problem)).splitlines()[1].startswith("q[19] log v")


@pytest.mark.parametrize("change, said", [
    (lambda x: x + np.arange(4)[:, np.newaxis, np.newaxis] * [0, 1.0],
     r"R-hat of q\[1\] is 1\.\d+, above 1.01: the chains do not agree"),
    (lambda x: x[:2] + np.arange(2)[:, np.newaxis, np.newaxis], "the chains do not agree; run"),
    (lambda x: x[:1] + np.linspace(0, 3, 2000)[:, np.newaxis], "halves of the chain do not agree"),
    (lambda x: x[:, :90], r"q\[\d\], bulk, is \d+, below 400"),
    (lambda x: x[:1], "one chain has no other to be compared with"),
    (lambda x: np.repeat(x[:, ::20], 20, axis=1), r"q\[\d\], tail, is \d+, below 400")])
def test_a_summary_doubts(change, said):
    x = change(generator(6).standard_normal((4, 2000, 2)))
    text = str(summary(chains_of(x)))
    assert any(line.startswith("Do not believe this yet: ") for line in text.splitlines())
    assert re.search(said, text), text


def test_a_summary_counts_divergences_and_low_energy_changes():
    x = generator(6).standard_normal((4, 1000, 1))
    lost = np.where(np.arange(1000) < 3, [1001.0, np.inf, np.nan] * 333 + [0.0], 0.0)
    made = summary(chains_of(x, energy_error=lost))
    assert made.divergences == 12 and made.doubts[0].startswith(
        "12 trajectories diverged; halve eps, or take")
    np.testing.assert_array_equal(chains_of(x, energy_error=lost).statistics["diverging"].sum(1), 3)
    one = np.where(np.arange(1000) < 1, np.inf, 0.0)
    assert "1 trajectory diverged; halve eps" in str(summary(chains_of(x[:1], energy_error=one)))
    text = str(summary(chains_of(x, energy_error=lost)._replace(sampler=nuts)))
    assert "12 trajectories diverged; take a larger target, such as 0.95 or 0.99, and a" in text
    low = chains_of(x, energies=np.linspace(0, 20, 1000)).chains
    assert "E-BFMI of chain 0 is 0.029, below 0.3" in summary(Chains(low, 1000, hmc)).doubts[0]
    lower = chains_of(x, energies=np.linspace(0, 40, 1000)).chains[3]
    made = summary(Chains((*chains_of(x[:2]).chains, low[2], lower), 1000, hmc))  # the first low
    assert "E-BFMI of chain 2 is 0.029, below 0.3" in made.doubts[0]
    assert summary(chains_of(x[:, :10])).doubts
    for wrong, said in (((chains_of(x[:, :9]),), "at least 10 draws of each chain, not 9"),
                        ((x,), "found must be the Chains .* gave back, not a ndarray"),
                        ((chains_of(x)._replace(chains=()),), "chains of one sampler and one len"),
                        ((chains_of(x)._replace(chains=chains_of(x[:1]).chains + chains_of(
                            x[:1, 9:]).chains),), "chains of one sampler and one length"),
                        ((chains_of(x), x), "problem must be one of sampling.problems")):
        with pytest.raises(ValueError, match=said):
            summary(*wrong)


def test_more_than_a_hundredth_of_divergences_is_warned_of():
    x = generator(6).standard_normal((4, 1000, 1))
    with pytest.warns(RuntimeWarning, match="44 of 4000 trajectories diverged"):
        runs.warn(chains_of(x, energy_error=np.where(np.arange(1000) < 11, np.inf, 0.0)))
    runs.warn(chains_of(x, energy_error=np.where(np.arange(1000) < 10, np.inf, 0.0)))


def test_a_variable_that_never_moves_is_doubted_and_a_chain_is_to_have_a_shorter_step():
    assert summary(chains_of(np.zeros((4, 100, 2)), accepted=np.zeros(100, bool))).doubts == (
        "chain 0 has accepted no proposal; halve eps, and run it again",)
    x = generator(6).standard_normal((4, 1000, 2))
    x[:, :, 1] = 3.0
    assert [doubt[:31] for doubt in summary(chains_of(x)).doubts] == [
        "R-hat of q[1] is nan, above 1.0", *["the effective sample size of q["] * 2]


def test_a_misspelt_keyword_of_run_is_not_taken_for_one_of_the_samplers():
    with pytest.raises(TypeError, match=r"run\(\) got .* 'chain'; did you mean 'chains'\? It"):
        run(random_walk, np.zeros(2), MODEL, 0.5, 30, generator(), chain=2)  # which has thin


class Draws(NamedTuple):
    samples: object


@pytest.mark.parametrize("samples", [np.ones(5), [[1.0]], np.ones((5, 2), int)])
def test_draws_of_another_form_are_refused(samples):
    with pytest.raises(ValueError, match=r"must return samples as an array of floats of shape"):
        quietly(lambda q0, n, rng: Draws(samples), 0.0, n=5)


def test_blocks_that_are_accepted_one_by_one_have_one_statistic_a_draw():
    found = quietly(rmhmc_within_gibbs, np.zeros(3), np.zeros(1), Funnel.from_size(3), 0.3, 0.3, 3,
                    3, n=20)
    each = found.chains[1]
    for name in ("diverging", "energy_error", "accepted"):
        assert found.statistics[name].shape == (2, 20)
    np.testing.assert_allclose(found.statistics["energy_error"][1], each.energy_error.max(axis=1))
    np.testing.assert_allclose(found.statistics["accepted"][1], each.accepted.mean(axis=1))
    assert runs.same(found.model, Funnel.from_size(3)) and found.after(3).model is found.model


def test_chains_are_pickled_without_a_model_that_cannot_be(monkeypatch):
    Own = namedtuple("Own", "a")
    found = Chains(tuple(map(Draws, generator(6).standard_normal((2, 20, 1)))), 20, hmc)
    assert pickle.loads(pickle.dumps(found._replace(model=Own(1.0)))).model is None
    with monkeypatch.context() as patch:  # of a script: another module where the file is read
        patch.setattr(Gaussian, "__module__", "__main__")
        patch.setattr(sys.modules["__main__"], "Gaussian", Gaussian, raising=False)
        for model in (MODEL, NonCentred(MODEL), SoftAbs(NonCentred(MODEL), 1.0)):
            assert pickle.loads(pickle.dumps(found._replace(model=model))).model is None
    copy = pickle.loads(pickle.dumps(found._replace(model=MODEL)))
    assert runs.same(copy.model, MODEL) and copy.wanted == found.wanted
    np.testing.assert_array_equal(copy.variables["q"], found.variables["q"])


def test_a_model_is_the_same_whatever_its_memory_holds():
    one, other = (counts_on_a_grid([[3, 0], [1, 7]]) for _ in range(2))
    found = quietly(hmc, np.zeros(6), NonCentred(one.model), 0.1, 3, 20)
    for problem in (one, other):  # whose memory is not that of the first
        assert problem.predict(found).expected.shape == (2, 2)
        assert summary(found, problem).names[-1] == "q[5] log beta"
    with pytest.raises(ValueError, match="its model has other data"):
        counts_on_a_grid([[3, 0], [1, 8]]).predict(found)

    Own = namedtuple("Own", "a")
    assert runs.same(Own(np.array([np.nan, 1.0])), Own(np.array([np.nan, 1.0])))
    assert runs.same(Own("a"), Own("a")) and not runs.same(Own("a"), Own("b"))
    assert runs.same(Own((np.ones(2), 1.0)), Own((np.ones(2), 1.0)))
    assert not runs.same(Own((1, 2)), Own((1, 2, 3))) and not runs.same(Own(1.0), (1.0,))


LEVEL = 1.0
Level = own("Level", lambda q, model: ((q - LEVEL) ** 2).sum() / 2, lambda q, model: q - LEVEL,
            scale=float)


def test_a_global_variable_that_changed_after_it_was_compiled_is_told(monkeypatch):
    def call():
        return quietly(hmc, np.zeros(2), Level(1.0), 0.5, 3, 20)

    call()
    monkeypatch.setattr(sys.modules[__name__], "LEVEL", 7.0)
    for again in (call, lambda: run(slice_sampling, np.zeros(2), Level(1.0), 2.0, 20, generator()),
                  lambda: check_model(Level(1.0), np.zeros(2))):
        with pytest.raises(ValueError, match=r"^U of Level gives 1.0 compiled, but 49.0 by its so"
                                             ".* since it was compiled, or it draws random"):
            again()
