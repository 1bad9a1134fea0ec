"""NUTS of an outside library: what is asked of it, and what is made of its answer."""

import sys
import warnings
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from models.funnel import Funnel
from models.non_centred import NonCentred
from reproduce.beyond.rivals import nuts as nutpie


def test_without_the_library_there_is_a_sentence(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "nutpie", None)
    with pytest.raises(SystemExit) as exit:
        nutpie.library()
    assert exit.value.code == 2 and 'pip install -e ".[nuts]"' in capsys.readouterr().err


def test_what_is_asked_of_the_library_and_made_of_its_answer(monkeypatch):
    asked, draws, energies = {}, np.arange(8.0).reshape(1, 4, 2), np.array([[2.0, 5.0, 1.0, 4.0]])

    def sample(compiled, **options):
        asked.update(options)
        return SimpleNamespace(
            posterior={"q": SimpleNamespace(values=draws)},
            sample_stats={"n_steps": np.array([3, 5, 7, 9]), "diverging": np.array([0, 1, 0, 1]),
                          "energy": energies},
            warmup_sample_stats={"n_steps": np.array([30, 20])})

    outer, inner = ModuleType("nutpie"), ModuleType("nutpie.compiled_pyfunc")
    outer.sample, inner.from_pyfunc = sample, lambda *given, **named: "compiled"
    monkeypatch.setitem(sys.modules, "nutpie", outer)
    monkeypatch.setitem(sys.modules, "nutpie.compiled_pyfunc", inner)
    found = nutpie.nuts(None, np.zeros(2), 4, 2, 5, 0.9)
    assert [asked[name] for name in ("draws", "tune", "seed", "target_accept")] == [4, 2, 5, 0.9]
    np.testing.assert_array_equal(found.pop("q"), draws[0])
    # squares of 3, 4 and 3 have the mean 34 / 3; the variance of 2, 5, 1, 4 is 5 / 2
    assert found == {"steps": 24, "warm_up": 50, "divergences": 2,
                     "e_bfmi": pytest.approx(34 / 7.5)}


def test_nuts_samples_the_funnel(monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of arviz, about versions to come
        pytest.importorskip("nutpie", reason="needs the extra `nuts`: pip install -e '.[nuts]'")
    calls, gradient = [], nutpie.grad_U
    monkeypatch.setattr(nutpie, "grad_U", lambda q, model: calls.append(1) or gradient(q, model))
    model, start = NonCentred(Funnel.from_size(3)), np.array([0.3, -0.2, 0.1, 0.5])
    found = nutpie.nuts(model, start, 2000, 300, 5, 0.9)
    assert found["q"].shape == (2000, 4)
    # a few more before the first transition, to find a step size
    assert 0 <= len(calls) - found["steps"] - found["warm_up"] < 30
    assert found["divergences"] == 0 and found["e_bfmi"] > 0.5
    # about 2000 effective draws: six standard errors of a deviation
    assert found["q"].std(axis=0)[[3, 0]] == pytest.approx([3, 1], rel=0.1)
