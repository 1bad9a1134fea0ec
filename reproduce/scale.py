"""How far it goes: what the replicates cost, and what more of them would, on 1 to 10^4 cores.

Run     python reproduce/scale.py        some seconds; from figures/replicates alone
Writes  the blocks `costs`, `scale` and `dealing` of reproduce/CLUSTER.md

Seconds are of the machines that the records name; operations, bytes and efficiencies are of none.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from harness.cost import MIDDLE, amount, fitted, longest_first, predicted, reached, spoken
from harness.dealing import efficiencies, efficiency, makespan, shares_of, stage
from harness.fingerprint import ROOT, digest
from harness.replicates import FIGURES, TIMES, kind_of, to_json, unpack, write
from harness.tables import filled, markdown
from wang.printed import ISOTROPIC, NYSTROM, STANDARD
from wang.printed import ROWS as WANG

PAGE = ROOT / "reproduce" / "CLUSTER.md"
STORE = FIGURES / "replicates"
CORES = (1, 100, 10_000)
SHARES, KILLED, REPEATS = (2, 10, 100, 1000), 0.1, 20
BASE = 190e6  # bytes of a process before there is a matrix: libraries, and what is compiled
# of N x N numbers, K included; the Cox process has four of N^2 / 8, by the square's symmetries
MATRICES = {"RMHMC": 6, "EP": 4}
# files, bytes of a node, and seconds beyond which it breaks; and what a task asks for (slurm.sh)
MANY, LARGE, LONG, TASK = 100_000, 64e9, 7 * 86400, 2e9
READ = 5  # bytes of memory for each that is stored, while a pack is read: its text, and objects
# of the sizes of problems that tasks only name: cases and covariates, or length
LOGISTIC = {"Simulated": (10_000, 100), "StatLog": (4435, 37), "CTG": (2126, 22),
            "Chess": (3196, 37)}
CLASSES = {"StatLog": 6, "CTG": 3}
USPS = 767
# operations of a step on Zhang & Sutton's problems, of n = 100, 1000 x 25, 2000, and 1024 cells
STEP = {"funnel": 4e2, "credit": 1e5, "volatility": 1e5, "Cox": 1e7}
L_MAX = {"RMHMC": 10, "HMC": 200}  # leapfrog steps of a transition of Paquet & Fraccaro


# Operations of the leading term


def annealed(method, N):
    """Return the operations of a temperature, a draw or a point.

    A step of RMHMC is six factorisations; what is added runs below their speed, and counts as more
    operations: small blocks in N^2, functions of numbers in N.
    """
    kernel = method.split("-")[-1]
    if kernel == "RMHMC":
        return L_MAX[kernel] * (2 * N**3 + 700 * N**2 + 5e4 * N + 5e3)
    if kernel == "HMC":
        return L_MAX[kernel] * (2 * N**2 + 500 * N + 5e3)
    return N**2 + (1000 if method == "IS from q" else 100 if kernel == "ellipse" else 500) * N


def leapfrogs(setting):
    """Return the leapfrog steps of a transition of Zhang & Sutton's samplers."""
    return setting.get("L") or setting.get("L_theta", 1) + setting.get("L_phi", 1)


def transitions(setting=None, settings=(), n=1, burn_in=0, chains=1, pieces=1, **_):
    """Return the leapfrog steps of a replicate."""
    each = [setting] if setting else settings
    return sum(map(leapfrogs, each)) * (n + burn_in) * chains * pieces


def of_cox(data, **task):
    """Return operations: a step on d x d cells takes products of blocks of a fourth of them."""
    cells = 4096 if "64 x 64" in data else 1024
    return transitions(**task) * cells**3 / 64


def of_regression(number, method, windows=1, iterations=None, m=None, w=1.0, max_widths=10, **_):
    """Return operations: for each variable an evaluation, and some of what is cheaper, if it is.

    Where all covariates have one length it is by eigenvalues (wang/spectra.py), in O(n).
    """
    row = WANG[number]
    m, n = np.max(m or row.m.get(method, 0)), row.n
    tried = 2 + min(max_widths, 0.5 / w)  # evaluations of an update
    kept = row.kind == ISOTROPIC and method != NYSTROM
    full, part = ((1e3 * n, 1e3 * m) if kept else (n**3 / 3 + 10 * n**2, m**3 / 3 + 10 * m**2))
    part = 2 * n * m**2 if method == NYSTROM else part
    each = tried * full if method == STANDARD else full + tried * part
    return (iterations or 1333 * windows) * row.d * each


def of_logistic(data_name="", name="", method="", L=None, setting=None, n=1, burn_in=0, M=1,
                fraction=0.4, **_):
    """Return operations: 4 n p for a gradient, of the data that are split off M times as often."""
    cases, p = next((LOGISTIC[key] for key in LOGISTIC if key in (name, data_name.split(",")[0])),
                    LOGISTIC["Simulated"])
    split = fraction * M + 1 - fraction if M > 1 else 3.0 if method.startswith("data") else 1.0
    return (n + burn_in) * (L or setting[1]) * split * 4 * cases * p


def of_multinomial(name, setting, n, burn_in, **_):
    """Return operations: 4 n p K for a gradient, of a share of the data M times as often."""
    share, M, _, L = setting
    (cases, p), K = LOGISTIC[name], CLASSES[name]
    return (n + burn_in) * L * (1 + share * M) * 4 * cases * p * K


MODELS = {
    "paquet_fig1": dict.fromkeys(("measure", "tune"), lambda method, l_max, n, **_: n * l_max * (
        20 if method == "RMHMC" else 1)),
    "paquet_fig2": {"one_run": lambda method, B, **_: B * annealed(method, USPS)},
    "paquet_fixed_point": {"chains": lambda name, transitions, f_maxes, **_: transitions * 10 * (
        sum(f_maxes) * ((USPS if "USPS" in name else 2) ** 3 / 3 + 3e4))},
    "paquet_logz": {"estimate": lambda method, B, runs, N, **_: B * runs * annealed(method, N)},
    "paquet_rivals": {"estimate": lambda method, problem_key, size, runs, **_: (
        annealed(method, problem_key[0]) * size * runs)},
    "shahbaba_fig1": {"one_chain": lambda n, **_: n},
    "shahbaba_multinomial": {"chain": of_multinomial},
    "shahbaba_rivals": {"chain": of_logistic, "pilot": of_logistic},
    "shahbaba_stability": {"trajectories": lambda L, count, **_: count * L**2},
    "shahbaba_table1": {"one_chain": of_logistic},
    "shahbaba_table2": {"one_chain": of_logistic},
    "shahbaba_tau_beta": {"one_chain": of_logistic},
    "wang_m": {"long_chain": of_regression, "acceptance": of_regression},
    "wang_prediction": {"compared": lambda number, n, iterations, **_: iterations * (
        n or WANG[number].n) ** 2 if number else iterations * (n or 300) ** 2},
    "wang_r_s": {"long_chain": lambda r, s, **task: of_regression(**task) * s * r**0.6},
    "wang_steps": {"long_chain": of_regression},
    "wang_table1": {"one_set": lambda number, **_: (WANG[number].n ** 3 / 3 + (
        WANG[number].p * WANG[number].n ** 2 / 2)) * (60 + 4 * WANG[number].d)},
    "wang_windows": {"long_chain": of_regression},
    "zhang_energy": {"crossed_funnels": lambda L, chains, length, **_: L * chains * length},
    "zhang_errata": {"run_chain": lambda length, name, **_: length * (8 if name == "Z3" else 1)},
    "zhang_fig3": {"one_chain": of_cox, "pilots": of_cox},
    "zhang_nuts": {"own_chain": lambda name, **task: transitions(**task) * STEP[name]},
    "zhang_rivals": {"chain": lambda name, **task: transitions(**task) * STEP[name]},
    "zhang_softabs": {"from_exact_draws": lambda method, L, seeds, n, **_: L * len(seeds) * (
        n**3 if "SoftAbs" in method else n)},
    "zhang_table1": {"one_chain": transitions, "pilots": transitions},
    "zhang_table2": {"one_run": transitions, "pilots": transitions},
    "zhang_table3": {"one_chain": transitions, "pilots": transitions},
    "zhang_table4": {"one_chain": of_cox, "pilots": of_cox, "jumps": of_cox},
}


# What is stored


@cache
def records(name):
    """Return the stored records of a script."""
    return list(unpack(STORE / f"{name}.json.gz").values())


@cache
def fit(name):
    """Return the Fit of a script's model."""
    return fitted(MODELS.get(name, {}), records(name))


def costs():
    """Lay out what the replicates of each script cost, and how well its model foretells that."""
    rows, ratios, processors = [], [], set()
    for path in sorted(STORE.glob("*.json.gz")):
        name = path.name.split(".")[0]
        if not (FIGURES / f"{name}.json").exists():  # of a run that is not through
            continue
        found = fit(name)
        low, high = np.percentile(found.ratios, MIDDLE) if found.ratios.size else (0, 0)
        rows.append([f"`{name}`", found.replicates, spoken(found.seconds), spoken(found.longest),
                     amount(found.bytes), f"{100 * found.modelled:.0f} %",
                     f"{low:.2f} to {high:.2f}" if high else "no model"])
        ratios.append(found.ratios)
        processors |= {kind_of(record) for record in records(name)}
    off = np.abs(np.log(np.concatenate(ratios)))
    return "\n".join([*markdown(
        ["script", "replicates", "one core", "the longest", "file of one", "modelled",
         "predicted / measured"], rows), "",
        f"Of {off.size:,} replicates with a model {100 * np.mean(off < np.log(2)):.0f} % are within"
        f" a factor of two. Computed on {'; '.join(sorted(processors))}."])


# script -> function, how many times over, shares
STAGES = {"paquet_fig2": ("one_run", 1, SHARES), "paquet_fig2 more": ("one_run", 20, (100,)),
          "wang_steps": ("long_chain", 1, SHARES), "wang_r_s": ("long_chain", 1, SHARES),
          "zhang_table2": ("pilots", 1, SHARES)}


def dealing():
    """Lay out the efficiency of shares of lists of replicates, one of them many times over."""
    rows = []
    for name, (function, times, shares) in STAGES.items():
        found, expected = stage(name.split()[0], function)
        took = {key: record["seconds"] for key, record in found.items()}
        model = {key: predicted(MODELS[name.split()[0]], fit(name.split()[0]), record)
                 for key, record in found.items()}
        took, expected, model = (
            {digest(key, str(k)): value for key, value in each.items() for k in range(times)}
            for each in (took, expected, model))
        for cores in shares:
            of = efficiencies(took, expected, cores, KILLED, REPEATS, 1)
            by_model = efficiency(took, cores, makespan(shares_of(model, cores), took))
            rows.append([f"`{name.split()[0]}`, {len(took):,}", f"{cores:,}", *(
                f"{100 * share:.0f} %" for share in (of["dealt"], of["killed"], by_model,
                                                     of["random"], of["list"]))])
    return "\n".join(markdown(
        ["script, replicates", "shares", "dealt", f"{100 * KILLED:.0f} % killed", "by the model",
         "at random", "longest first"], rows))


# More of them


class Plan(NamedTuple):
    """Something larger than what was run."""

    what: str
    replicates: float
    seconds: float  # of one, mean
    longest: float  # seconds
    memory: float  # bytes of a process
    bytes: float  # of the file of one


def clocked(part, key):
    """Return sizes and seconds of a part of the clock of `paquet_rivals`, at the paper's kernel."""
    (times,) = (r["result"]["seconds"][part] for r in records("paquet_rivals")
                if TIMES & r["result"].keys())
    found = {int(name[1:].split(",")[0]): float(np.mean(value)) for name, value in times.items()
             if name.endswith(f", 4.85, 5.1), {key}")}
    return sorted(found), [found[N] for N in sorted(found)]


def plans():
    """List what is asked for, by what is stored."""
    panels = {}
    for r in records("paquet_fig2"):
        if r["function"] == "one_run":
            panels.setdefault((r["task"]["method"], r["task"]["B"]), []).append(r["seconds"])
    each = [float(np.mean(took)) for took in panels.values()]
    fig2, table1, split = fit("paquet_fig2"), fit("wang_table1"), fit("shahbaba_table1")
    field = [r["seconds"] for r in records("zhang_fig3") if r["function"] == "one_chain"]
    found = [Plan(f"Paquet & Fraccaro, Figure 2, {runs:,} runs of each of {len(each)} methods",
                  runs * len(each), float(np.mean(each)), max(each),
                  BASE + MATRICES["RMHMC"] * 8 * USPS**2, fig2.bytes) for runs in (1000, 100_000)]
    found += [
        Plan("Wang & Neal, Table 1, 10,000 data sets", 1e4, table1.seconds / table1.replicates,
             table1.longest, BASE + 6 * 8 * 900**2, table1.bytes),
        Plan("Shahbaba et al., Table 1, 10,000 data sets, 3 methods", 3e4,
             split.seconds / split.replicates, split.longest, BASE + 8 * 10_000 * 100, split.bytes),
        Plan("Cox process, 64 x 64, 10,000 fields, a chain each", 1e4, float(np.mean(field)),
             max(field), BASE + 4 * 4096**2, len(to_json(next(
                 r for r in records("zhang_fig3") if r["function"] == "one_chain"))))]
    for N in (1000, 10_000, 100_000):
        one = 1000 * reached(*clocked("unit", "AISq-RMHMC"), N)
        found.append(Plan(f"RMHMC, N = {N:,}, 100 chains of 1000", 100, one, one,
                          BASE + MATRICES["RMHMC"] * 8 * N**2, fig2.bytes))
    for N in (1000, 10_000, 100_000):
        one = reached(*clocked("setup", "q"), N)
        found.append(Plan(f"EP, N = {N:,}, 100 kernels", 100, one, one,
                          BASE + MATRICES["EP"] * 8 * N**2, fig2.bytes))
    return found


def breaks(plan):
    """Say what is too much first, if anything is."""
    stored = READ * plan.replicates * plan.bytes
    wrong = [text for is_so, text in (
        (plan.memory > LARGE, f"memory: {amount(plan.memory)} a process"),
        (TASK < plan.memory <= LARGE, "a task asks for 2 GB: `SBATCH_MEM_PER_CPU`"),
        (plan.longest > LONG, f"one replicate takes {spoken(plan.longest)}"),
        (plan.replicates > MANY, f"{plan.replicates:,.0f} files"),
        (stored > TASK / 2, f"{amount(stored)} to read the packed file")) if is_so]
    return "; ".join(wrong) or "nowhere"


def scale():
    """Lay out time, memory and files of what is larger than what was run."""
    return "\n".join(markdown(
        ["", *(f"{cores:,} core{'s' * (cores > 1)}" for cores in CORES), "memory of a process",
         "files", "where it breaks"],
        [[plan.what, *(spoken(longest_first(plan.replicates, plan.seconds, plan.longest, cores))
                       for cores in CORES), amount(plan.memory),
          f"{plan.replicates:,.0f}, {amount(plan.replicates * plan.bytes)}", breaks(plan)]
         for plan in plans()]))


BLOCKS = {"costs": costs, "scale": scale, "dealing": dealing}


def main():
    """Write the page."""
    write(PAGE, filled(PAGE.read_text(), BLOCKS))
    print(PAGE.relative_to(ROOT))


if __name__ == "__main__":
    main()
