"""What the scripts that compare samplers on the models of Zhang and Sutton claim, of both."""

import re

import numpy as np
import pytest

from reproduce.beyond import zhang_nuts, zhang_rivals
from reproduce.beyond.rivals.moments import Together
from reproduce.harness.claims import Measured, judge
from reproduce.zhang.printed import GIBBS, HMC, SSHMC
from reproduce.zhang.references import HYPER

SCRIPTS = (zhang_nuts, zhang_rivals)


def made_up(script):
    """Return a result of which every claim is true: all samplers have the same moments."""
    found, seconds = {}, {}
    for name, method in script.RUNS:
        k, work = len(HYPER[name]) + 3, {SSHMC: 1e5, HMC: 1e5, GIBBS: 1e4}.get(method, 1e3)
        found[name, method] = Together(
            np.arange(k) * 1.0, np.full(k, 0.02), np.ones(k), np.full(k, 0.03), np.full(k, 2500.0),
            np.full(k, 600.0), 5000, 4, work, 0, 0.0, 0.8)
        ahead = (method in (SSHMC, GIBBS)) == (name in ("funnel", "volatility")) and method != HMC
        seconds[name, method] = (0.01 if ahead else 1.0) * Measured(10.0, 1.0)
    if script is zhang_nuts:
        return {"found": found, "seconds": seconds}
    return {"found": found, "seconds": seconds, "before": dict.fromkeys(script.RUNS, 123.0),
            "setting": {key: settings[0] for key, settings in script.SCAN.items()}}


def level(result):
    """Return the result with as much work and as many seconds in every row."""
    return result | {"found": {key: f._replace(gradients=1e5)
                               for key, f in result["found"].items()},
                     "seconds": dict.fromkeys(result["found"], Measured(10.0, 1.0))}


def verdicts(script, result):
    return {f.claim.what: f.verdict for f in judge(script.CLAIMS, result, "paper")}


def changed(script, key, field, place, value):
    """Return the claims whose verdict is another when one number is."""
    result = made_up(script)
    getattr(result["found"][key], field)[place] += value
    return {what for what, verdict in verdicts(script, result).items() if verdict != "agrees"}


@pytest.mark.parametrize(("script", "claim"), [
    (script, claim) for script in SCRIPTS for claim in script.ORDERS],
    ids=lambda x: getattr(x, "what", None))
def test_a_sampler_that_is_not_ahead_changes_its_claim(script, claim):
    name, unit, better, other = re.fullmatch(
        r"(\w+): log\(worst ESS per (.+?), (.+) / (.+)\)", claim.what).groups()
    for method, factor in ((better, 1e5), (other, 1e-5)):
        result, key = made_up(script), (name, method)
        if unit == "CPU second":
            result["seconds"][key] = factor * result["seconds"][key]
        else:
            f = result["found"][key]
            result["found"][key] = f._replace(gradients=factor * f.gradients)
        found = verdicts(script, result)
        assert found[claim.what] == "differs"
        assert all(what.startswith(f"{name}: log(worst ESS per {unit},")
                   for what, verdict in found.items() if verdict != "agrees")


@pytest.mark.parametrize(("script", "name"), [
    *((zhang_nuts, name) for name in zhang_nuts.REAL),
    *((zhang_rivals, name) for name in zhang_rivals.PROBLEMS)])
def test_a_reference_that_is_imprecise_changes_its_claim(script, name):
    what = {f"{name}: largest standard error of the reference, in standard deviations"}
    for place in (0, -1):  # a hyperparameter, a parameter
        assert changed(script, (name, script.NON_CENTRED), "mean_se", place, 0.031) == what
        assert changed(script, (name, script.NON_CENTRED), "sd_se", place, 0.021) == what
        assert changed(script, (name, script.NON_CENTRED), "mean_se", place, 0.029) == set()
