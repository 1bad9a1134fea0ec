"""Split HMC (Shahbaba, Lan, Johnson and Neal 2014), Table 1: three methods on simulated data.

First the paper's own data set (R's generator, seed 2011), then four others made in the same way, so
that the spread between data sets is known; and the authors' variant of the normal approximation,
whose flow of U_0 lasts 0.9 eps in every step while the kicks follow the random step.

Run     python reproduce/shahbaba_table1.py [--budget smoke|short|paper]
        smoke 15 s, short 2 min, paper 55 min with 2 jobs; the first run compiles, 1 min more.
        Short has chains of 2000 iterations on the paper's data and 300 on the others.
Writes  shahbaba_table1.png, .txt (the table and the claims) and .json, into figures/ for the paper
        budget and figures/<budget>/ for the others; the exit status is 1 if a claim fails

tau by batch means, the paper's estimator, has a standard error of 24 % for one chain of 50000; the
initial monotone sequence of the same chain has 3 to 8 %, and so it is what we compare methods by.
s is a time on this machine, of compiled code: only ratios are compared.  The products follow from
their factors; shahbaba_errata.py checks the printed ones against theirs.
"""

import numpy as np
from scipy.special import ndtr, polygamma
from scipy.stats import chi2

import data
from chains import AUTHORS, one_chain, problem, transitions
from harness import Claim, Measured, announce, finish, parse, plt, replicates
from harness import table as text_table
from shahbaba_errata import (
    BATCHES,
    KNOWN,
    MEASURES,
    METHODS,
    PROBLEMS,
    SE_LOG_TAU,
    SENTENCES,
    definition,
    half_units,
    least,
    numbers,
    sentence,
)

NAME = "shahbaba_table1"

# The paper's settings (Sections 3.3 and 3.3.1; L, M and the fraction f are with its numbers)
EPS = {"Simulated": 0.015, "StatLog": 0.08, "CTG": 0.08, "Chess": 0.09}  # of HMC
AP = {"Simulated": "0.69 0.74 0.74", "StatLog": "0.69 0.74 0.85", "CTG": "0.69 0.77 0.81",
      "Chess": "0.62 0.73 0.62"}
ITERATIONS = 50_000
OWN = data.SIMULATED + "2011"

# Our settings
ALL = ("HMC", "normal", AUTHORS, "data")
OTHERS = [data.SIMULATED + str(seed) for seed in (1, 2, 3, 4)]
LENGTH = {"smoke": 100, "short": 2000, "paper": ITERATIONS}
CHAINS = {"smoke": 1, "short": 2, "paper": 2}  # of each method on the paper's own data
LENGTH_OTHERS = {"smoke": 20, "short": 300, "paper": ITERATIONS}  # one chain of each method
MINUTES = {"smoke": 0.25, "short": 2, "paper": 55}
COST = {"HMC": 20.0, "normal": 10.0, AUTHORS: 10.0, "data": 12.6}  # for the progress bar
SE_AP = (0.25 * 2 / ITERATIONS) ** 0.5  # at most: the acceptances have a tau of 1 to 2
WIDE = 3  # of the paper's standard errors, either side of a printed number

FLOW = ("the authors' program follows the flow of U_0 for 0.9 eps in every step, whatever the"
        " random step of its kicks; with that variant we find the printed rate (see its claim)")


def column(method):
    """Return the printed column that a method is compared with."""
    return "normal" if method == AUTHORS else method


def log_claim(name, method, row, estimator, known=""):
    """Make the claim that a printed tau is ours, on the log scale, where its error is constant."""
    printed = numbers(getattr(PROBLEMS[name], row))[column(method)]
    half = half_units(getattr(PROBLEMS[name], row))[column(method)]
    # theirs is ours times chi-squared over its degrees of freedom
    least_of_theirs, largest_of_theirs = np.log(
        chi2.ppf(ndtr([-WIDE, WIDE]), BATCHES - 1) / (BATCHES - 1))
    return Claim(
        f"{name}, {method}: log({row} / {printed:g}), {estimator}", f"{printed:g}",
        np.log1p(-half / printed) - largest_of_theirs, np.log1p(half / printed) - least_of_theirs,
        "Monte Carlo: theirs, a multiple of a chi-squared number of 35 degrees of freedom for 36"
        f" batches, between the probabilities of {WIDE} standard errors; rounding", known)


def rate_claim(name, method, known=""):
    """Make the claim that a printed acceptance rate is ours."""
    printed = numbers(AP[name])[column(method)]
    margin = 0.005 + WIDE * SE_AP
    return Claim(f"{name}, {method}: AP", f"{printed:.2f}", printed - margin, printed + margin,
                 f"rounding, and {WIDE} standard errors of theirs, at most {SE_AP:.4f} each for"
                 " 50000 iterations", known)


def proportional():
    """Return the range of the paper's own (s / g) / (s / g of HMC), with rounding."""
    ends = []
    for printed in PROBLEMS.values():
        s, half = numbers(printed.s), half_units(printed.s)
        for method in METHODS[1:]:
            g = definition(printed, method) / definition(printed, "HMC")
            for sign in (-1, 1):
                ends.append((s[method] + sign * half[method]) / (s["HMC"] - sign * half["HMC"]) / g)
    return min(ends), max(ends)


def sentences(name):
    """Yield what the text says of a problem; what it says of "normal" also of its variant."""
    for about, *methods, measures, where in SENTENCES:
        if about == name:
            yield name, *methods, measures, where
            if "normal" in methods:
                variant = [AUTHORS if method == "normal" else method for method in methods]
                yield name, *variant, measures, f"{where}.  With the variant that print has"


def claims_about(name, known):
    """Make all claims about one of the PROBLEMS; known: {what: derivation}."""
    printed = PROBLEMS[name]
    found = [Claim(f"{name}, {method}: g", printed.g.split()[k],
                   numbers(printed.g)[method] - 0.05, numbers(printed.g)[method] + 0.05,
                   "rounding", KNOWN.get((name, method, "g"), ""))
             for k, method in enumerate(METHODS)]
    found += [rate_claim(name, method) for method in ALL]
    found += [log_claim(name, method, row, estimator) for method in ALL
              for row in ("tau", "tau_beta") for estimator in ("batch means", "initial sequence")]
    found += [Claim(f"{name}, {method}: (s / g) / (s / g of HMC)", "close to 1", *proportional(),
                    "machine: Section 3.3, s is close to proportional to g; accepted is the range"
                    " of the paper's own values over its four problems, with rounding")
              for method in METHODS[1:]]
    found += [Claim(f"{name}: s, HMC / {method}", "order", 1.0, np.inf,
                    "machine: the CPU times are substantially lower than those of HMC")
              for method in METHODS[1:]]
    found += [Claim(sentence(*words[:4]), "order", 0.0, np.inf,
                    f"{words[4]}; by initial sequences.  Least: in standard errors")
              for words in sentences(name)]
    found += [Claim(f"{name}: mean {what} of two methods, largest difference / s.e.", "theory",
                    0.0, 4.0, "all methods sample the same posterior: 4 standard errors")
              for what in ("log likelihood", "sum of beta^2")]
    return [claim._replace(known=known.get(claim.what, claim.known)) for claim in found]


CLAIMS = claims_about("Simulated", {"Simulated, normal: AP": FLOW} | {
    sentence("Simulated", "data", method, ("tau_beta x g", "tau_beta x s")):
        "the printed tau_beta, 13.5 and 7.3, have an error of 24 % each and differ by 1.8 standard"
        " errors; initial sequences, of a few per cent, find them nearly equal, and then the normal"
        " approximation, of g = 10, is ahead of data splitting, of g = 12.6"
    for method in ("normal", AUTHORS)})


def tasks_of(name, data_name, methods, chains, n, seed):
    """List the arguments of one_chain for some chains of each method on a data set."""
    printed = PROBLEMS[name]
    tasks = []
    for method in methods:
        L = int(numbers(printed.L)[column(method)])
        eps = EPS[name] * numbers(printed.L)["HMC"] / L  # the trajectory's length stays the same
        for chain in range(chains):
            tasks.append(dict(
                data_name=data_name, method=method, eps=eps, L=L,
                M=printed.M if method == "data" else 1, fraction=printed.f, n=n,
                seed=[seed, ALL.index(method), chain], cost=n * COST[method]))
    return tasks


def compile_all():
    """Compile everything in this process, before others start."""
    stage = problem("illustrative data of slope 5, seed 1", 0.5)
    for method in ALL:
        transitions(method, stage[1].q_hat, stage, 0.1, 2, 2, 2, np.random.default_rng(0))


def grouped(tasks, results):
    """Return {data set: {method: its chains}}."""
    out = {}
    for task, result in zip(tasks, results, strict=True):
        out.setdefault(task["data_name"], {}).setdefault(task["method"], []).append(result)
    return out


def run(settings):
    """Return {data set: {method: its chains}}, the paper's own data set first."""
    budget = settings.budget
    tasks = tasks_of("Simulated", OWN, ALL, CHAINS[budget], LENGTH[budget], settings.seed)
    for other in OTHERS if budget != "smoke" else OTHERS[:1]:
        tasks += tasks_of("Simulated", other, METHODS, 1, LENGTH_OTHERS[budget], settings.seed)
    return grouped(tasks, replicates(NAME, settings, one_chain, tasks, unit="chains",
                                     note=progress, warm=compile_all))


def progress(found):
    """Say the mean acceptance rate of the chains so far."""
    return f"acceptance rate {np.mean([chain['AP'] for chain in found]):.2f}"


def pooled(chains):
    """Put chains of one method together: {quantity: Measured}, and the degrees of freedom."""
    m = len(chains)
    seconds = np.concatenate([chain["seconds"] for chain in chains])
    found = {"g": Measured(chains[0]["g"]),
             "s": Measured(seconds.mean(), seconds.std(ddof=1) / seconds.size**0.5),
             "AP": mean([Measured(chain["AP"], chain["AP_se"]) for chain in chains])}
    # the log of a sum of m chi-squared numbers, each of one degree less than there are batches
    freedom = m * (chains[0]["batches"] - 1)
    relative = float(polygamma(1, freedom / 2) ** 0.5)
    for row in ("tau", "tau_beta"):
        tau = np.mean([chain[row]["batch"] for chain in chains])
        found[row, "batch means"] = Measured(tau, tau * relative)
        found[row, "initial sequence"] = mean(
            [Measured(chain[row]["initial"], chain[row]["se"]) for chain in chains])
        found[row, "mean"] = mean(
            [Measured(chain[row]["mean"], chain[row]["mean_se"]) for chain in chains])
    return found


def mean(measured):
    """Return the mean of independent estimates."""
    return Measured(np.mean([m.value for m in measured]),
                    sum(m.se**2 for m in measured) ** 0.5 / len(measured))


def log(measured, over=1.0):
    """Return the log of a Measured, divided by a number."""
    return Measured(np.log(measured.value / over), measured.se / measured.value)


def product(found, measure, estimator="initial sequence"):
    """Return a product of the table, such as tau x g."""
    row, factor = measure.split(" x ")
    (tau, tau_se), (x, x_se) = found[row, estimator], found[factor]
    return Measured(tau * x, np.hypot(tau_se * x, tau * x_se))


def compare(found, better, worse, measure):
    """Return log(worse / better) of a product."""
    a, b = (log(product(found[method], measure)) for method in (worse, better))
    return Measured(a.value - b.value, np.hypot(a.se, b.se))


def measured_of(name, found):
    """Measure what claims_about(name) is about; found: {method: pooled chains}."""
    out = {}
    printed = PROBLEMS[name]
    for method, p in found.items():
        out |= {f"{name}, {method}: {key}": p[key] for key in ("g", "AP")}
        for row in ("tau", "tau_beta"):
            theirs = numbers(getattr(printed, row))[column(method)]
            for estimator in ("batch means", "initial sequence"):
                out[f"{name}, {method}: log({row} / {theirs:g}), {estimator}"] = log(
                    p[row, estimator], theirs)
    out.pop(f"{name}, {AUTHORS}: g", None)
    for method in METHODS[1:]:
        a, b = log(found["HMC"]["s"]), log(found[method]["s"])
        ratio, relative = np.exp(a.value - b.value), np.hypot(a.se, b.se)
        g = found["HMC"]["g"].value / found[method]["g"].value
        out[f"{name}: s, HMC / {method}"] = Measured(ratio, ratio * relative)
        out[f"{name}, {method}: (s / g) / (s / g of HMC)"] = Measured(g / ratio,
                                                                      g / ratio * relative)
    for words in sentences(name):
        out[sentence(*words[:4])] = least(compare(found, *words[1:3], m) for m in words[3])
    for what, row in (("log likelihood", "tau"), ("sum of beta^2", "tau_beta")):
        z = [apart(p, q, row) for p in found.values() for q in found.values() if p is not q]
        out[f"{name}: mean {what} of two methods, largest difference / s.e."] = max(z)
    return out


def apart(p, q, row):
    """Return how many standard errors two methods' means are apart.

    A standard error goes with the root of tau, so that half the relative error of tau is its own.
    """
    (a, a_se), (b, b_se) = p[row, "mean"], q[row, "mean"]
    relative = max(x.se / x.value for x in (p[row, "initial sequence"], q[row, "initial sequence"]))
    z = abs(a - b) / np.hypot(a_se, b_se)
    return Measured(z, z * relative / 2)


def table(chains):
    """Measure what the claims are about, and the spread between data sets."""
    own = {method: pooled(found) for method, found in chains[OWN].items()}
    out = measured_of("Simulated", own)
    for method in METHODS:
        rates = [pooled(found[method])["AP"].value for found in chains.values()]
        out[f"{method}: AP, least of {len(rates)} data sets"] = min(rates)
        out[f"{method}: AP, largest of {len(rates)} data sets"] = max(rates)
    return out


def plus_minus(measured):
    """Format a value with its standard error, briefly."""
    value, se = measured
    if se <= 0:
        return f"{value:.4g}"
    digits = max(0, 1 - int(np.floor(np.log10(se))))
    return f"{value:.{digits}f} ({se:.{digits}f})"


def rows_of(name, found):
    """Return the rows of the paper's table with ours beside, a standard error in brackets."""
    printed = PROBLEMS[name]
    theirs = {"L": printed.L, "g": printed.g, "s": printed.s, "AP": AP[name], "tau": printed.tau,
              "tau_beta": printed.tau_beta, **printed.products}
    rows = []

    def add(label, key, ours):
        words = theirs.get(key, "- - -").split()
        rows.append([label, *(cell for method in found for cell in (
            "" if method == AUTHORS else words[METHODS.index(method)], ours(method)))])

    add("L", "L", lambda m: f"{numbers(printed.L)[column(m)]:g}")
    add("g", "g", lambda m: plus_minus(found[m]["g"]))
    add("s, ms", "-", lambda m: plus_minus(Measured(*(1e3 * x for x in found[m]["s"]))))
    add("s / s of HMC", "-", lambda m: f"{found[m]['s'].value / found['HMC']['s'].value:.3f}")
    rows[-2][1::2] = ["" if m == AUTHORS else f"{1e3 * numbers(printed.s)[m]:g}" for m in found]
    rows[-1][1::2] = ["" if m == AUTHORS else
                      f"{numbers(printed.s)[m] / numbers(printed.s)['HMC']:.3f}" for m in found]
    add("AP", "AP", lambda m: plus_minus(found[m]["AP"]))
    for row in ("tau", "tau_beta"):
        for estimator in ("batch means", "initial sequence"):
            add(f"{row}, {estimator}", row if estimator == "batch means" else "-",
                lambda m, row=row, e=estimator: plus_minus(found[m][row, e]))
            add(f"{row} x g, {estimator}", f"{row} x g" if estimator == "batch means" else "-",
                lambda m, row=row, e=estimator: plus_minus(product(found[m], f"{row} x g", e)))
            if estimator == "batch means":
                add(f"{row} x s, s, {estimator}", f"{row} x s",
                    lambda m, row=row: plus_minus(product(found[m], f"{row} x s", "batch means")))
        add(f"{row} x s / s of HMC, init. seq.", "-", lambda m, row=row: plus_minus(Measured(
            *(x / found["HMC"]["s"].value for x in product(found[m], f"{row} x s")))))
        rows[-1][1::2] = ["" if m == AUTHORS else
                          f"{numbers(theirs[f'{row} x s'])[m] / numbers(printed.s)['HMC']:.3g}"
                          for m in found]
    return rows


def laid_out(name, found):
    """Return the paper's table with ours beside it."""
    header = [name, *(cell for method in found for cell in (
        "" if method == AUTHORS else "paper", f"{method}: ours"))]
    return text_table(rows_of(name, found), header)


def text(chains):
    """Lay out the table, the chains, and the data sets side by side."""
    own = {method: pooled(chains[OWN][method]) for method in ALL}
    rows = []
    for data_name, found in chains.items():
        for method in METHODS:
            p = pooled(found[method])
            rows.append([data_name.removeprefix(data.SIMULATED), method, *(
                plus_minus(p[key]) for key in (
                    "AP", ("tau", "initial sequence"), ("tau_beta", "initial sequence"))),
                plus_minus(product(p, "tau x g")), plus_minus(product(p, "tau_beta x g"))])
    sizes = ", ".join(f"{len(c)} x {c[0]['batches']}" for c in chains[OWN].values())
    return (f"The paper's own data set; chains x batches: {sizes}; a standard error in brackets\n\n"
            f"{laid_out('Simulated', own)}\n\nFive data sets, by R's seed (2011 is the paper's),"
            " tau by initial sequences\n\n"
            + text_table(rows, ["seed", "method", "AP", "tau", "tau_beta", "tau x g",
                                "tau_beta x g"]))


def dots(ax, name, measure, found, others=(), y0=0.0):
    """Draw a product for each method: print, batch means, initial sequence; return the labels.

    That of print is the product of the printed tau with the printed s, or with the g of its
    definition: some of the printed products are others (shahbaba_errata.py).
    """
    row, factor = measure.split(" x ")
    printed = PROBLEMS[name]
    unit = found["HMC"]["s"].value if factor == "s" else 1.0
    labels = []
    for k, (method, p) in enumerate(found.items()):
        y = y0 + k
        if method != AUTHORS:
            x = numbers(getattr(printed, row))[method]
            x *= (definition(printed, method) if factor == "g" else
                  numbers(printed.s)[method] / numbers(printed.s)["HMC"])
            bar(ax, x, SE_LOG_TAU, y + 0.25, "D", "k", 3.5)
        for estimator, shift, marker in (("batch means", 0.0, "s"), ("initial sequence", -0.25,
                                                                       "o")):
            value, se = product(p, measure, estimator)
            bar(ax, value / unit, se / value, y + shift, marker,
                "C0" if estimator == "batch means" else "C1", 3.5)
        for other in others:
            if method in other:
                scale = other["HMC"]["s"].value if factor == "s" else 1.0
                ax.plot(product(other[method], measure).value / scale, y - 0.25, "o", mfc="none",
                        color="C1", ms=6, mew=0.7)
        labels.append((y, method if k else f"{name}: {method}"))
    return labels


def bar(ax, value, se_log, y, marker, colour, size):
    """Draw a value with 2 standard errors of its log."""
    low, high = value * (1 - np.exp(-2 * se_log)), value * (np.exp(2 * se_log) - 1)
    ax.errorbar(value, y, xerr=[[low], [high]], fmt=marker, color=colour, ms=size, lw=1)


def dot_plot(problems, others=()):
    """Draw the four products of all methods; problems: {name: {method: pooled chains}}."""
    height = 1.6 + 1.15 * sum(map(len, problems.values())) / 2
    fig, axes = plt.subplots(2, 2, figsize=(10, 1.5 + 1.1 * height), sharey=True,
                             layout="constrained")
    for ax, measure in zip(axes.T.flat, MEASURES, strict=True):
        labels, y0 = [], 0.0
        for name, found in problems.items():
            labels += dots(ax, name, measure, found, others, y0)
            y0 += len(found) + 0.7
        ax.set_yticks([y for y, _ in labels], [label for _, label in labels], fontsize=8)
        ax.tick_params(axis="y", length=0)
        ax.set(xscale="log", xlabel=rf"${measure.replace('tau', chr(92) + 'tau')}$".replace(
            "_beta", r"_\beta").replace(" x ", r" \times ") + (
                " / s of HMC" if measure.endswith("s") else ""), ylim=(y0 - 1.0, -0.7))
        ticks = [t for t in (2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)
                 if ax.get_xlim()[0] <= t <= ax.get_xlim()[1]]
        ax.set_xticks(ticks, map(str, ticks))
        ax.minorticks_off()
        ax.grid(axis="x", color="0.9")
        ax.set_axisbelow(True)
    for label, marker, colour in (
            ("printed factors, g of Section 3.3", "D", "k"), ("ours, batch means", "s", "C0"),
            ("ours, initial sequence", "o", "C1")):
        axes[0, 0].plot([], [], marker, color=colour, ms=4, label=label)
    if others:
        axes[0, 0].plot([], [], "o", mfc="none", color="C1", label="other data sets")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4,
               fontsize=9)
    return fig


def figure(chains):
    """Draw the four products of the table with 2 standard errors, and the other data sets."""
    own = {method: pooled(chains[OWN][method]) for method in ALL}
    others = [{method: pooled(c) for method, c in found.items()}
              for data_name, found in chains.items() if data_name != OWN]
    fig = dot_plot({"Simulated": own}, others)
    fig.suptitle("Table 1: simulated data, n = 10000, p = 100; bars are 2 standard errors",
                 fontsize=10)
    return fig


if __name__ == "__main__":
    settings = parse(__doc__)
    announce(NAME, settings, f"three methods, chains of {LENGTH[settings.budget]}", OWN,
             MINUTES[settings.budget])
    chains = run(settings)
    failures = finish(NAME, settings, CLAIMS, table(chains), figure(chains), chains, text(chains))
    raise SystemExit(failures > 0)
