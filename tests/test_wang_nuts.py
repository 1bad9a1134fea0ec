"""What is asked of NUTS of an outside library, and what is made of its answer."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from models.gp_regression import GPRegression
from models.interface import U, grad_U
from reproduce.wang import nuts as room

MODEL = GPRegression.from_data(np.linspace(0, 1, 6)[:, None], np.arange(6.0), "isotropic")
START = np.array([0.1, 0.4, -0.2])


@pytest.fixture
def asked(monkeypatch):
    """Put a module in the library's place that keeps what it was asked."""
    kept = {}

    def from_pyfunc(d, log_density, expand, dtypes, shapes, names, make_initial_point_fn):
        kept.update(d=d, log_density=log_density()(START), shapes=shapes, names=names,
                    expanded=expand()(START), start=make_initial_point_fn(3))
        return "compiled"

    def sample(compiled, **options):
        kept.update(compiled=compiled, options=options)
        values = np.arange(12.0).reshape(1, 4, 3)
        return SimpleNamespace(
            posterior={"q": SimpleNamespace(values=values)},
            sample_stats={"n_steps": np.array([3, 5, 7, 9]), "diverging": np.array([0, 1, 0, 1])},
            warmup_sample_stats={"n_steps": np.array([30, 20])})

    library, inner = ModuleType("nutpie"), ModuleType("nutpie.compiled_pyfunc")
    library.sample, inner.from_pyfunc = sample, from_pyfunc
    monkeypatch.setitem(sys.modules, "nutpie", library)
    monkeypatch.setitem(sys.modules, "nutpie.compiled_pyfunc", inner)
    return kept


def test_the_density_is_ours_and_what_comes_back_is_counted(asked):
    found = room.nuts(MODEL, START, 4, 2, 5, 0.7)
    value, gradient = asked["log_density"]
    assert value == -U(START, MODEL)
    np.testing.assert_array_equal(gradient, -grad_U(START, MODEL))
    np.testing.assert_array_equal(asked["start"], START)
    np.testing.assert_array_equal(asked["expanded"]["q"], START)
    assert asked["d"] == 3 and asked["shapes"] == [(3,)] and asked["names"] == ["q"]
    options = asked["options"]
    assert (options["draws"], options["tune"], options["seed"]) == (4, 2, 5)
    assert (options["chains"], options["cores"], options["target_accept"]) == (1, 1, 0.7)
    np.testing.assert_array_equal(found["samples"], np.arange(12.0).reshape(4, 3))
    assert (found["steps"], found["warm_up"], found["divergences"]) == (24, 50, 2)


def test_without_the_library_a_sentence_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "nutpie", None)
    with pytest.raises(SystemExit) as end:
        room.library()
    assert end.value.code == 2 and 'pip install -e ".[nuts]"' in capsys.readouterr().err
