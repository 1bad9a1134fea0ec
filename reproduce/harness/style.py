"""One style for all figures: their width, letters of 9 points, mathematics, and colours for all.

A page shows a figure 830 pixels wide, of 1/96 inch each.  Figures are drawn at this width, so a
point is a point and nothing is written below 9 of them.  tests/test_style.py measures it.
"""

import io
import re
from functools import cache

import numpy as np

WIDTH = 830 / 96  # inches
# M. Okabe and K. Ito (2008), Color Universal Design; black and grey are for papers and references,
# and their yellow is too pale on white
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")
MARKERS = "osD^vP"  # beside the colours, for those who see none
GREEK = r"alpha|beta|eps|eta|theta|phi|pi|rho|sigma|tau"
SYMBOL = re.compile(rf"\b({GREEK}|[A-Za-z](?=_))(?:_({GREEK}|\w+))?\b")


@cache
def pyplot():
    """Import matplotlib.pyplot, which takes a second, and set it up."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as found

    found.rcParams.update({
        "font.size": 9, "axes.titlesize": 9, "figure.titlesize": 9, "legend.fontsize": 9,
        "axes.prop_cycle": found.cycler(color=COLOURS), "figure.dpi": 150, "savefig.dpi": 150,
        "legend.frameon": False, "legend.columnspacing": 1.5, "legend.handletextpad": 0.5,
        "lines.linewidth": 1.2, "lines.markersize": 4.5, "axes.axisbelow": True,
    })
    return found


class Later:
    """In place of matplotlib.pyplot: imports it when something of it is first used."""

    def __getattr__(self, name):
        """Return what is in it."""
        return getattr(pyplot(), name)


plt = Later()


def panels(rows, columns, height, **options):
    """Return a figure as wide as a page shows it and `height` inches high, and its axes."""
    return plt.subplots(rows, columns, figsize=(WIDTH, height), layout="constrained", **options)


def png(fig):
    """Return a figure as PNG, in 256 colours: half the bytes, and no difference that is seen."""
    from PIL import Image

    drawn, small = io.BytesIO(), io.BytesIO()
    fig.savefig(drawn)
    picture = Image.open(drawn).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    picture.save(small, format="png", optimize=True)
    return small.getvalue()


def shades(n):
    """Return n blues from pale to dark, for what has an order; at most 5 can be told apart."""
    return [plt.matplotlib.colors.to_hex(c) for c in plt.get_cmap("Blues")(np.linspace(0.4, 1, n))]


def styles(n, colours=6, hollow=True):
    """Return how to draw n curves: after so many colours again, dashed, with hollow markers.

    If hollow would mean something else: with filled markers that these colours did not have.
    """
    found = []
    for k in range(n):
        again, colour = k >= colours, COLOURS[k % colours]
        found.append({"color": colour, "ls": "--" if again else "-",
                      "marker": MARKERS[(k + 3 * (again and not hollow)) % colours],
                      "mfc": "white" if again and hollow else colour})
    return found


def mathematics(text):
    """Set the ASCII symbols of a text as mathematics: eps_theta, tau x g, w_0, -1."""

    def letters(match):
        name, index = (re.sub(rf"^({GREEK})$", r"\\\1", part or "").replace(r"\eps", r"\varepsilon")
                       for part in match.groups())
        if len(index) > 1 and index[0] != "\\":
            index = rf"\mathrm{{{index}}}"
        return f"${name}_{{{index}}}$" if index else f"${name}$"

    text = re.sub(r" x ([A-Za-z])\b", r" x $\1$", SYMBOL.sub(letters, text))
    text = text.replace(" x ", r" $\times$ ")
    return re.sub(r"(?<![\w)$])-(?=\d)", "\N{MINUS SIGN}", text)


def mark(label, colour, marker="o", line="", **options):
    """Return the entry of a legend."""
    return plt.Line2D([], [], color=colour, marker=marker, ls=line, label=label, **options)


def legend_below(fig, *axes, handles=(), ncols=5):
    """Write the legends of axes, and more handles, below all panels, each label once."""
    pairs = [pair for ax in axes for pair in zip(*ax.get_legend_handles_labels(), strict=True)]
    entries = {label: handle for handle, label in reversed(pairs)}  # the first one of a label
    entries = {label: entries[label] for _, label in pairs} | {h.get_label(): h for h in handles}
    fig.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=ncols)


def legend_above(ax, ncols=3):
    """Write the legend of a panel that has no title in its place."""
    ax.legend(ncols=ncols, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def plain_log(axis, steps=(1, 2, 5)):
    """Give a logarithmic axis, such as ax.xaxis, plain numbers as ticks: steps times 10^k.

    Where there would be fewer than three, those between too; where too many, fewer to a power.
    """
    low, high = sorted(axis.get_view_interval())
    powers = range(int(np.floor(np.log10(low))), int(np.floor(np.log10(high))) + 1)
    for each in (steps, (1, 3), (1,), (1, 1.5, 2, 3, 4, 5, 7)):
        ticks = [float(f"{step}e{k}") for k in powers for step in each]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if 3 <= len(ticks) <= 9:
            break
    axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_ticks([], minor=True)


def row_labels(ax, labels):
    """Write labels of rows from top to bottom, with no ticks."""
    ax.set_yticks(range(len(labels)), map(mathematics, labels))
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(labels) - 0.4, -0.6)


def log_bar(log, se, scale=1.0):
    """Return a value given by its log, and the ends of 2 standard errors as errorbar wants them."""
    middle = scale * np.exp(log)
    return middle, np.array([middle * (1 - np.exp(-2 * se)), middle * (np.exp(2 * se) - 1)])
