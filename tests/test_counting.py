"""The counter of operations: known answers, what is whose line, and what is committed."""

import json
import os
import re
import subprocess
import sys
from fractions import Fraction
from functools import cache, partial
from importlib import import_module

import numba
import numpy as np
import pytest

from algorithms import (
    ep_fast,
    hmc,
    paquet_rmhmc,
    paquet_rmhmc_fast,
)
from algorithms import (
    shahbaba_split_hmc as split_hmc,
)
from algorithms import (
    shahbaba_split_hmc_fast as split_hmc_fast,
)
from algorithms import (
    wang_discretizing_chain_fast as discretizing_chain_fast,
)
from algorithms import (
    zhang_sshmc as sshmc,
)
from algorithms import (
    zhang_sshmc_fast as sshmc_fast,
)
from models import gp_classification, linalg
from models.jit import ROOT
from models.stochastic_volatility import StochasticVolatility
from reproduce.harness import counting, operations
from reproduce.harness.counting import FLOPS, Case, Count, Counter, instrument, polynomial, totals
from reproduce.harness.papers import PAPERS
from reproduce.paquet.operations import model as gaussian_process
from reproduce.shahbaba import operations as shahbaba
from reproduce.shahbaba.printed import number
from reproduce.tools import record
from reproduce.wang import operations as wang

COUNTS = [(author, count) for author in PAPERS
          for count in import_module(f"reproduce.{author}.operations").COUNTS]
IDS = [f"{author}-{count.mirror.__name__}-{count.per}" for author, count in COUNTS]
SIZES = (2, 3, 4, 5, 6)


@cache
def committed(author):
    return json.loads((ROOT / "figures" / "operations" / f"{author}.json").read_text())


def stored(author, name, case, kind=FLOPS):
    """The committed polynomial of the first Count of a mirror, for a case: as a function."""
    count = next(each for each in committed(author) if each["mirror"] == name)
    (found,) = (each for each in count["cases"] if each["name"] == case)
    return lambda **at: evaluated(found["whole"][kind], found["sizes"], at)


def evaluated(terms, names, at):
    return sum(Fraction(coefficient) * int(np.prod([at[name] ** power for name, power in zip(
        names, powers, strict=True)])) for powers, coefficient in terms)


# Known answers: in a process in which nothing is compiled


def known():
    """Functions of ours, of an N that is given, and how many operations they make, by hand."""
    def matrix(N):
        return np.eye(N) + 0.1

    def add_outer(N):
        return partial(import_module("algorithms.ep").add_outer, matrix(N), 0.5, np.ones(N))

    def symmetric(N):
        return partial(linalg.identity_plus_scaled, matrix(N), np.ones(N))

    def on_factor(function, B):
        return lambda N: partial(function, matrix(N), B(N))

    return {
        # column j: a root, and for it and each element below j products, j sums and a division
        "cholesky": (lambda N: partial(linalg.cholesky, matrix(N)), lambda N: sum(
            1 + 2 * j + (N - 1 - j) * (2 * j + 1) for j in range(N))),
        # row i: i products, i sums and a division
        "solve": (on_factor(linalg.solve_lower, np.ones), lambda N: sum(
            2 * i + 1 for i in range(N))),
        "solve transposed": (on_factor(linalg.solve_lower_transposed, np.ones), lambda N: N**2),
        "solve for a matrix": (on_factor(linalg.solve_lower_matrix, np.eye), lambda N: N**3),
        # of column j a reciprocal, and k places below it k products, k - 1 sums and one product
        "invert": (lambda N: partial(linalg.invert_lower, matrix(N)), lambda N: sum(
            1 + sum(2 * k for k in range(1, N - j)) for j in range(N))),
        # half of it, as it is symmetric: N products, N sums for each element
        "gram": (lambda N: partial(linalg.gram, matrix(N)), lambda N: 2 * N * N * (N + 1) // 2),
        "symmetric times": (on_factor(linalg.symmetric_times, np.ones), lambda N: 2 * N**2),
        "rows times": (on_factor(linalg.rows_times, np.ones), lambda N: N**2),
        "log determinant": (lambda N: partial(linalg.log_det, matrix(N)), lambda N: 2 * N + 1),
        # A_ij (s_i s_j) of one triangle, and 1 on the diagonal
        "identity plus scaled": (symmetric, lambda N: N * (N + 1) + N),
        # c s_i once a row, and then a product and a sum
        "rank-one update": (add_outer, lambda N: N + 2 * N**2),
    }


def found_now():
    """What is counted now: of `known`, and for the pages."""
    ours = {name: totals(Case(name, start, {"N": SIZES}))["whole"][FLOPS]
            for name, (start, _) in known().items()}
    return {"known": ours, **{author: record.operations(author) for author in PAPERS}}


@pytest.fixture(scope="module")
def again():
    """What is counted in a process in which nothing is compiled."""
    code = "import json, test_counting; print(json.dumps(test_counting.found_now()))"
    folders = os.pathsep.join(map(str, (ROOT, ROOT / "tests")))
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE,
                          text=True, env={**os.environ, "NUMBA_DISABLE_JIT": "1",
                                          "PYTHONPATH": folders})
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", known())
def test_what_is_known_is_counted(name, again):
    _, by_hand = known()[name]
    for N in (*SIZES, 40):  # which is not among those that were counted
        assert evaluated(again["known"][name], ["N"], {"N": N}) == by_hand(N)


def test_a_factorisation_is_a_third_and_a_solve_is_one(again):
    tops = {name: again["known"][name][0] for name in ("cholesky", "solve", "solve for a matrix")}
    assert tops == {"cholesky": [[3], "1/3"], "solve": [[2], "1"], "solve for a matrix": [[3], "1"]}


@pytest.mark.parametrize("author", PAPERS)
def test_what_is_committed_is_what_is_counted_now(author, again):
    # if this fails, run python reproduce/tools/record.py and then reproduce/tools/pages.py
    assert again[author] == committed(author)


def test_nothing_is_counted_of_compiled_code():
    assert not numba.config.DISABLE_JIT
    with pytest.raises(ValueError, match=r"so NUMBA_DISABLE_JIT must be 1.*record\.py"):
        counting.store_count(COUNTS[0][1])


# What the samplers count themselves, and what the headers of the twins say


@pytest.mark.parametrize(("sampler", "from_q", "case"), [
    (paquet_rmhmc.rmhmc, False, "mirror, from the prior"),
    (paquet_rmhmc.rmhmc, True, "mirror, from EP's q"),
    (paquet_rmhmc_fast.rmhmc, False, "twin, from the prior"),
    (paquet_rmhmc_fast.rmhmc, True, "twin, from EP's q")])
def test_the_thirds_of_rmhmc_are_those_that_it_counts(sampler, from_q, case):
    at = {"l_max": 4, "f_max": 6}
    one, two = (sampler(np.zeros(2), gaussian_process(2, from_q), 4, 0.1, t_max,
                        np.random.default_rng(1), 6).counts.thirds for t_max in (1, 2))
    count = stored("paquet", "paquet_rmhmc.rmhmc", case)
    # of a cubic polynomial the third difference is 6 times its leading coefficient
    leading = sum(sign * count(N=N, **at) for N, sign in enumerate((-1, 3, -3, 1))) / 6
    assert 3 * leading == two - one


@pytest.mark.parametrize(("sampler", "case"), [(sshmc.sshmc, "general"),
                                               (sshmc_fast.sshmc, "twin")])
def test_the_evaluations_of_sshmc_are_those_that_it_counts(sampler, case):
    # of another model than the one that was counted
    model = StochasticVolatility.from_data([0.3, -1.2, 0.7, 2.0])
    at = {"L": 5, "n_theta": 2, "n_phi": 3}
    runs = [sampler(np.zeros(4), np.zeros(3), model, 0.01, 0.01, 5, n, np.random.default_rng(1),
                    2, 3).counts for n in (1, 2)]
    gradient_theta, gradient_phi, factors, _ = np.subtract(runs[1], runs[0])
    told = partial(stored, "zhang", "zhang_sshmc.sshmc_step", case)
    assert told("grad U_1")(**at) == gradient_theta and told("grad U_2")(**at) == gradient_phi
    # sshmc itself evaluates U once more for each state that it keeps; its twin has it
    assert told("factors of M_theta")(**at) + (case == "general") == factors


def test_g_of_split_hmc_is_what_is_counted():
    start = np.zeros(2)
    normal = split_hmc.normal_approximation(shahbaba.map_estimate(shahbaba.model()))
    counts = split_hmc_fast.normal_split_hmc(start, shahbaba.model(), normal, 0.1, 4, 1,
                                             np.random.default_rng(1)).counts
    told = stored("shahbaba", "shahbaba_split_hmc.normal_split_step", "twin", "grad U")
    assert told(L=4) == counts.g
    counts = split_hmc_fast.data_split_hmc(start, shahbaba.model(), shahbaba.split(), 0.1, 4, 5,
                                           1, np.random.default_rng(1)).counts
    told = partial(stored, "shahbaba", "shahbaba_split_hmc.data_split_step", "twin")
    f = shahbaba.split().fraction
    assert f * float(told("grad U_0")(L=4, M=5)) + (1 - f) * float(told("grad U_1")(L=4, M=5)) == (
        pytest.approx(counts.g, rel=1e-15))  # f is rounded
    assert told("U")(L=4, M=5) == 1
    counts = hmc.hmc(start, shahbaba.model(), 0.1, 6, 1, np.random.default_rng(1)).counts
    assert stored("paquet", "hmc.hmc_step", "mirror", "grad U")(L=6) == counts.gradient - 1


@pytest.mark.parametrize(("r", "case"), [(1, "twin, r = s = 1"), (5, "twin, r = 5, s = 1")])
def test_the_evaluations_of_a_discretizing_chain_are_those_that_it_counts(r, case):
    pi, star, _ = wang.densities()
    near = wang.prepare(wang.START, pi)
    here = wang.State(wang.START, near.U, near, wang.prepare(wang.START, star))
    tally, star_tally, rng = np.zeros(4, int), np.zeros(4, int), wang.generator()
    for _ in range(wang.UPDATES):
        here, _ = discretizing_chain_fast.discretizing_chain_step(here, pi, star, wang.MOVE, r, 1,
                                                                  tally, star_tally, rng)
    told = partial(stored, "wang", "wang_discretizing_chain.whole_chain_step", case)
    assert told("pi")() * wang.UPDATES == tally[0]
    assert told("pi*")() * wang.UPDATES == star_tally[0]


def test_the_headers_of_the_twins_say_what_is_counted():
    for case, thirds in (("mirror, from the prior", "35"), ("mirror, from EP's q", "70"),
                         ("twin, from EP's q", "6")):
        terms = terms_of("paquet", "paquet_rmhmc.rmhmc", case)  # of N^3 for each step, f_max = 5
        step = 3 * (5 * terms[3, 1, 1] + terms.get((3, 1, 0), 0))
        assert str(step) == thirds
        assert f"{thirds} N^3 / 3" in flowing(paquet_rmhmc_fast) or f"({thirds} where q" in flowing(
            paquet_rmhmc_fast)
    assert terms_of("paquet", "ep.ep", "mirror")[3,] == Fraction(22, 3)
    assert terms_of("paquet", "ep.ep", "twin, once at the end")[3,] == Fraction(7, 3)
    twin = terms_of("paquet", "ep.ep", "twin")  # in b and N
    assert twin[0, 3] == 1 and twin[1, 2] == 2
    for said in ("22 N^3 / 3 operations per sweep become N^3", "N^3 + 2 b N^2",
                 "7 N^3 / 3 at the end"):
        assert said in flowing(ep_fast)
    at = {"L": 5, "n_theta": 2, "n_phi": 3}
    for kind, twin, mirror in (
            ("grad U_1", "(2 n_theta + 1) L + 1", "4 n_theta L"),
            ("grad U_2", "(n_phi + 1) L", "2 n_phi L"),
            ("factors of M_theta", "n_phi L", "2 (n_phi + 1) L + 4")):
        said = flowing(sshmc_fast).replace("the mirror ", "")
        assert f"{twin} {mirror}" in said
        for case, formula in (("twin", twin), ("general", mirror)):
            by_the_header = eval(re.sub(r"(?<=[\w)]) (?=[\w(])", " * ", formula), {}, at)
            # that of the energy of the state which is kept is not a transition's
            kept = formula.endswith("+ 4")
            told = stored("zhang", "zhang_sshmc.sshmc_step", case, kind)
            assert told(**at) == by_the_header - kept


def flowing(module):
    return " ".join(module.__doc__.split())


def terms_of(author, name, case):
    count = next(each for each in committed(author) if each["mirror"] == name)
    (found,) = (each for each in count["cases"] if each["name"] == case)
    return {tuple(powers): Fraction(c) for powers, c in found["whole"][FLOPS]}


# What is said of the papers' counts


def test_what_is_said_of_leapfrogs_and_gradients():
    at = {"L": 7, "n_theta": 3, "n_phi": 2}
    leapfrogs = (2 * 3 + 2) * 7
    gradients = {case: sum(stored("zhang", "zhang_sshmc.sshmc_step", case, kind)(**at)
                           for kind in ("grad U_1", "grad U_2")) for case in ("general", "twin")}
    assert gradients == {"general": 2 * leapfrogs, "twin": leapfrogs + 2 * 7 + 1}
    as_printed = [stored("zhang", "zhang_sshmc.sshmc_step", "mirror", kind)(L=7)
                  for kind in ("grad U_1", "grad U_2")]
    assert sum(as_printed) == 2 * (2 + 1) * 7


def test_what_is_said_of_the_table_of_shahbaba():
    said = next(count for author, count in COUNTS if count.mirror.__name__ == "normal_split_step")
    assert (number("Chess", "g", "normal"), number("Chess", "L", "normal")) == (13, 9)
    assert "g = 13 and L = 9" in said.paper
    for name in ("Simulated", "StatLog", "CTG"):
        assert number(name, "g", "normal") == number(name, "L", "normal")


def test_what_is_said_of_the_tables_of_wang():
    counts = [each for each in committed("wang") if "Gaussian-process" in each["per"]]
    tops = {case["name"]: {tuple(powers): Fraction(c) for powers, c in case["whole"][FLOPS]
                           if sum(powers) == 3} for case in counts[0]["cases"]}
    third, two = Fraction(1, 3), Fraction(2)
    assert tops == {"pi": {(3, 0): third, (2, 1): two},
                    "pi*, subset of data": {(3, 0): third, (2, 1): two},
                    # in m, n and p: 2 m^2 n is above 4 m n p once m > 2 p, and above m^3 always
                    "pi*, Nystrom": {(3, 0, 0): 1, (2, 1, 0): two, (1, 1, 1): 4}}


@pytest.mark.parametrize(("author", "count"), COUNTS, ids=IDS)
def test_every_count_says_what_the_paper_says(author, count):
    assert count.paper.endswith(".")
    assert "none" in count.paper or "Section" in count.paper


# The counter


EXAMPLE = '''"""Paper  nobody.  Mirror  summed.

Departures  none.
"""
import numpy as np


def summed(A, n):
    """Sum.

    Mirror of nobody.
    """
    # 1   s := 0
    s, c = 0.0, 2.0
    # 2   for k = 1 to n
    for k in range(n):
        # 3   s := s + total(A)
        s = (s
             + total(A, c))
        # 4   twice the number of s, if k > 1
        if k > 0:
            s = c * c * s
    # 5   return s
    return s


def total(A, c):
    found, count = 0.0, 0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            found += c * c * A[i, j]
            count += 2 * j + 1
    return found


def updated(A, c):
    for i in range(A.shape[0]):
        c = c / 2.0
        A[i] += c * A[i]
        A[i] = -A[i]
    return A


def changing(A, n):
    square = 0.0
    for i in range(n):
        grow(A)
        square += A[0] * A[0]
    return square


def grow(A):
    A[0] += 1.0


def library(A):
    v = np.exp(A[0]) + np.sqrt(2.0)
    return np.sum(A @ v) + A.sum() + (np.outer(v, v) ** 2)[0, 0] + v @ v


def strange(A):
    return np.linalg.svd(A)


def whole(n):
    while n > 1:
        n = n // 2 + n % 2 - (n << 1) * 0
    return n


def recursive(n, x):
    return x if n == 0 else x * recursive(n - 1, x)


def check_it(A):
    return A + A


class Entry:
    def __init__(self, compiled):
        self.compiled = compiled

    def __call__(self, A, c):
        return self.compiled(check_it(A), c)


entered = Entry(total)


def by_an_entry(A):
    return entered(A, 2.0)


class Generic:
    on = 1

    def __init__(self, name, function):
        self.__name__, self.function = name, function

    def choose(self, kind):
        return self.function

    def __call__(self, *arguments):
        return self.function(*arguments)


outer = Generic("outer_one", lambda q, model: inner_of(q, model))
inner = Generic("inner_one", lambda q, model: 1.0)


def inner_of(q, model):
    return inner(q, model) + inner(q, model)


def asks(q, model):
    return outer(q, model) + inner(q, model) + inner(q, None)
'''


def flops(module, function, *arguments):
    with instrument([module]) as counter:
        return counter.run(partial(function, *arguments), (), None).whole[FLOPS]


def test_operations_belong_to_the_line_that_is_executed(example):
    with instrument([example]) as counter:
        run = counter.run(partial(example.summed, np.ones((3, 4)), 3), (example.summed,), None)
    # c c once, then a product and a sum for each element; and the sum of line 3
    by_line = {line: dict(made) for (_, line), made in run.lines.items()}
    assert by_line[2] == {frozenset({(FLOPS, 1 + 2 * 12 + 1)}): 3}
    # a mirror's own lines are literal: c c is counted each time
    assert by_line[5] == {frozenset({(FLOPS, 2)}): 2}
    assert by_line[0] == by_line[6] == {frozenset(): 1} and by_line[1] == {frozenset(): 4}
    assert run.whole == {FLOPS: 3 * 26 + 2 * 2}
    assert {name for name, _ in run.lines} == {"an_example.summed"}


@pytest.mark.parametrize(("name", "arguments", "expected"), [
    ("updated", (np.ones((3, 4)), 1.0), 3 * (1 + 4 + 4)),
    ("changing", (np.ones(1), 5), 5 * (1 + 1 + 1)),  # A changes in a function: nothing is taken out
    # 3 exponentials, a root; a product with a vector, and its sum; the other sum; squares of an
    # outer product; a scalar product; and what joins them
    ("library", (np.ones((3, 3)),), 3 + 1 + 3 + (18 + 3) + 1 + 9 + 1 + (9 + 9) + 1 + 6),
    ("whole", (37,), 0),
    ("recursive", (4, 1.5), 4),
    ("by_an_entry", (np.ones((2, 2)),), 1 + 2 * 4),  # and not the checks
])
def test_what_is_an_operation(example, name, arguments, expected):
    assert flops(example, getattr(example, name), *arguments) == expected


def test_what_is_not_known_is_an_error(example):
    with pytest.raises(ValueError, match="nothing is known of numpy's svd"):
        flops(example, example.strange, np.ones((2, 2)))
    with pytest.raises(ValueError, match="nothing is known of the routine dsyevd"):
        counting.known_operations(linalg.dsyevd, (), None)


def test_evaluations_are_counted_at_the_outermost_call(example):
    def asks(name, of):
        return (f"{name} of {of}",) if of else ()

    with instrument([example]) as counter:
        run = counter.run(partial(example.asks, 1.0, "pi"), (), asks)
    assert run.whole == {"outer_one of pi": 1, "inner_one of pi": 1}


def test_afterwards_everything_is_as_before(example):
    before = {name: value.__code__ for name, value in vars(example).items()
              if hasattr(value, "__code__")}
    names = set(vars(example))
    with pytest.raises(ZeroDivisionError), instrument([example]):
        assert example.total.__code__ is not before["total"]
        example.updated(np.ones((1, 1)), 1 / 0)
    assert set(vars(example)) == names
    assert all(getattr(example, name).__code__ is code for name, code in before.items())


def test_what_makes_the_arguments_is_not_counted(example):
    def start(n):
        example.total(np.ones((n, n)), 3.0)
        return partial(example.total, np.ones((1, n)), 3.0)

    case = Case("c", start, {"n": (1, 2, 3)}, less=lambda n: partial(example.total, np.ones((1, 1)),
                                                                     3.0))
    assert totals(case, [example])["whole"] == {FLOPS: [[[1], "2"], [[0], "-2"]]}


def test_a_line_has_a_polynomial_or_a_range(example):
    def start(n):
        return partial(example.summed, np.ones((n, n)), 2)

    sizes = {"n": (1, 2, 3, 4)}
    found = totals(Case("c", start, sizes, (example.summed,)), [example])
    assert found["sizes"] == ["n"]
    assert found["lines"] == {"an_example.summed": {
        "2": {FLOPS: [[[2], "2"], [[0], "2"]]}, "5": {FLOPS: [[[0], "2"]]}}}
    # one run, divided by how often it does what is counted
    found = totals(Case("c", lambda: start(2), {}, (example.summed,), times=4), [example])
    assert found["whole"] == {FLOPS: [[[], "11/2"]]}
    # a line that is not always executed alike
    found = totals(Case("c", lambda: partial(example.recursive, 2, 1.0), {}), [example])
    assert found == {"sizes": [], "whole": {FLOPS: [[[], "2"]]}, "lines": {}}
    assert counting.line_polynomial([{frozenset({(FLOPS, 3)}): 1, frozenset(): 2}], FLOPS,
                                    {}) == [0, 3]
    with pytest.raises(ValueError, match="must take the same each time"):
        counting.line_polynomial([{frozenset({(FLOPS, 3)}): 1, frozenset(): 2}], FLOPS, sizes)


def test_a_polynomial_is_found_exactly_and_what_is_none_is_an_error():
    sizes = {"a": (1, 3, 4), "b": (2, 5, 6, 7)}
    values = [Fraction(2, 3) * a * b**2 - a + Fraction(1, 2) * b for a in sizes["a"]
              for b in sizes["b"]]
    assert polynomial(values, sizes) == {(1, 2): Fraction(2, 3), (1, 0): -1, (0, 1): Fraction(1, 2)}
    with pytest.raises(ValueError, match="must be a polynomial of degree 1 in a"):
        polynomial([value + (k == 5) for k, value in enumerate(values)], sizes)
    with pytest.raises(ValueError, match="executed for all sizes or for none"):
        polynomial(values[:5], sizes)
    # b stands for N / a
    assert counting.divide({(3, 2): 1, (1, 1): 5, (0, 0): 2}, ["a", "b"], ("b", "N", "a")) == {
        (1, 2): 1, (0, 1): 5, (0, 0): 2}


def test_a_special_function_is_one_operation_an_element():
    x = np.ones(3)
    assert counting.known_operations(gp_classification.log_Phi, (0.5,), -0.4) == 1
    assert counting.known_operations(import_module("models.special").probit, (x,), None) == 3
    write_exp = import_module("models.gp_kernel").write_exp
    assert counting.known_operations(write_exp, (None, 7, x), None) == 7
    assert counting.known_operations(np.isfinite, (x,), np.isfinite(x)) == 0


# On a page


@pytest.mark.parametrize(("terms", "names", "expected"), [
    ([[[3, 1, 1], "7/3"], [[3, 0, 0], "1/3"]], ["N", "l", "f"], "(7 l f + 1) N^3 / 3"),
    ([[[3], "1"]], ["N"], "N^3"), ([[[3], "16/3"]], ["N"], "16 N^3 / 3"),
    ([[[0, 3], "1"], [[1, 2], "2"]], ["b", "N"], "N^3 + 2 b N^2"),
    ([[[1, 1], "2"], [[1, 0], "1"], [[0, 0], "1"]], ["L", "k"], "2 L k + L + 1"),
    ([[[], "329/60"]], [], "5.48"), ([[[], "1"]], [], "1"), ([[[0], "3"]], ["L"], "3"),
    ([[[2, 0], "1"], [[2, 1], "1"]], ["N", "L"], "(1 + L) N^2"),
])
def test_a_polynomial_in_words(terms, names, expected):
    assert operations.in_words(terms, names) == expected


@pytest.mark.parametrize(("kind", "value", "names", "expected"), [
    (FLOPS, [[[3], "1/3"], [[2], "1"]], ["N"], "N\u00b3/3"), (FLOPS, [[[1], "9"]], ["N"], ""),
    (FLOPS, [[[2], "2"]], ["N"], "2N\u00b2"), ("grad U", [[[0], "1"]], ["L"], "\u2207U"),
    ("grad U_1", [[[1], "4"]], ["n_theta"], "4 n<sub>\u03b8</sub> \u2207U<sub>1</sub>"),
    ("pi*", [2, 10], [], "2\u201310 \u03c0*"), ("factors of M", [[[1], "4"]], ["n"], ""),
])
def test_what_stands_beside_a_line(kind, value, names, expected):
    assert operations.count_html(kind, value, names) == expected


def test_a_title_says_whose_a_polynomial_is_where_they_differ():
    assert operations.title([("N", "N + 1", "a"), ("N", "N + 1", "b")]) == "N + 1"
    assert operations.title([("N", "N + 1", "a"), ("N", "N", "b")]) == "a: N + 1; b: N"
    assert operations.join_counts(["twin, from a", "twin, from b"]) == "twin, from a or from b"


def test_a_counter_counts_nothing_before_it_runs(example):
    with instrument([example]) as counter:
        assert example.total(np.ones((2, 2)), 1.0) == 4.0
        assert not counter.running and isinstance(counter, Counter)
    assert issubclass(Count, tuple)
