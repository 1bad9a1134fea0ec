"""The style of the figures, and what measures that they can be read."""

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from legible import faults
from reproduce.harness import style
from reproduce.harness.style import COLOURS, mathematics, panels, shades

# G. M. Machado, M. M. Oliveira, L. A. F. Fernandes (2009), IEEE Transactions on Visualization and
# Computer Graphics 15(6), severity 1.0: on linear RGB
SIGHTS = {
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "all cones": np.eye(3),
}
XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
                [0.0193339, 0.1191920, 0.9503041]])  # of linear sRGB, IEC 61966-2-1
# CIE 1976 units; 2.3 are just noticed side by side, these are points that lie apart.  The colours
# that matplotlib would take have 3.6 (its green and its red, under protanopia)
APART = 15


def lab(colour, sight):
    """Return CIE L*, a*, b* of a colour as it is seen."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    t = XYZ @ np.clip(np.array(SIGHTS[sight]) @ linear, 0, 1) / XYZ.sum(axis=1)
    x, y, z = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def least(colours, sight):
    seen = [lab(colour, sight) for colour in colours]
    return min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2))


@pytest.mark.parametrize("sight", SIGHTS)
def test_no_two_colours_are_confused(sight):
    assert least([*COLOURS, "black", "white"], sight) > APART


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_shades_are_told_apart_and_darken(n, sight):
    assert least([*shades(n), "white"], sight) > APART
    lightness = [lab(colour, sight)[0] for colour in shades(n)]
    assert lightness == sorted(lightness, reverse=True)


@pytest.mark.parametrize(("text", "wanted"), [
    ("tau x g", r"$\tau$ $\times$ $g$"), ("64 x 64", r"64 $\times$ 64"),
    ("tau_beta x s", r"$\tau_{\beta}$ $\times$ $s$"), ("eps_theta = 0.2", r"$\varepsilon_{\theta}$"
                                                       " = 0.2"),
    ("f_max", r"$f_{\mathrm{max}}$"), ("w_0", "$w_{0}$"), ("mean -15", "mean \u221215"),
    ("HMC-like, n-1", "HMC-like, n-1"), ("normal, 0.9 eps", r"normal, 0.9 $\varepsilon$"),
    ("w_ij", r"$w_{\mathrm{ij}}$"), ("theta_1", r"$\theta_{1}$"), ("Table 2", "Table 2")])
def test_symbols_are_set_as_mathematics(text, wanted):
    assert mathematics(text) == wanted


def test_a_plain_log_axis_has_all_ticks_that_are_inside():
    _, ax = panels(1, 1, 2)
    for low, high, wanted in ((0.15, 21, "0.2 0.5 1 2 5 10 20"), (160, 450, "200 300 400"),
                              (1, 10, "1 2 5 10"), (0.1, 500, "0.1 0.3 1 3 10 30 100 300"),
                              (0.01, 1e5, "0.01 0.1 1 10 100 1000 10000 100000")):
        ax.set(xscale="log", xlim=(low, high))
        style.plain_log(ax.xaxis)
        assert [each.get_text() for each in ax.get_xticklabels()] == wanted.split()
        assert not len(ax.get_xticks(minor=True))


def test_a_legend_has_every_label_once():
    fig, (left, right) = panels(1, 2, 2)
    for ax, colour in ((left, "k"), (right, "g")):
        ax.plot([1, 2], colour, label="a")
    right.plot([2, 1], label="b")
    style.legend_below(fig, left, right, handles=[style.mark("c", "k"), style.mark("b", "r")])
    assert [each.get_text() for each in fig.legends[0].get_texts()] == ["a", "b", "c"]
    colours = [to_rgb(each.get_color()) for each in fig.legends[0].legend_handles]
    assert colours == [to_rgb(each) for each in ("k", "r", "k")]  # of a label the first one


def test_a_bar_of_a_log_ends_at_two_standard_errors():
    # of a log of log 10 (0.1), in units of a third: 30, from 30 / e^0.2 to 30 e^0.2
    middle, (below, above) = style.log_bar(np.log(10.0), 0.1, 3.0)
    assert (middle, middle - below, middle + above) == pytest.approx(
        (30, 30 / 1.2214027581601699, 30 * 1.2214027581601699), rel=1e-12)


def test_rows_are_labelled_from_top_to_bottom():
    _, ax = panels(1, 1, 2)
    style.row_labels(ax, ["first", "eps", "third"])
    places = dict(zip([each.get_text() for each in ax.get_yticklabels()], ax.get_yticks(),
                      strict=True))
    assert places == {"first": 0, r"$\varepsilon$": 1, "third": 2}
    bottom, top = ax.get_ylim()
    assert top < 0 and bottom > 2


def test_after_so_many_colours_curves_are_dashed_and_their_markers_hollow():
    found = style.styles(5, 3)
    assert [each["color"] for each in found] == [*COLOURS[:3], *COLOURS[:2]]
    assert [each["marker"] for each in found] == ["o", "s", "D", "o", "s"]
    assert [each["ls"] for each in found] == ["-"] * 3 + ["--"] * 2
    assert [each["mfc"] for each in found] == [*COLOURS[:3], "white", "white"]
    assert [each["color"] for each in style.styles(6)] == [*COLOURS]


FAULTS = {
    "small": (lambda fig, ax: ax.set_xlabel("steps", fontsize=8), "has 8.0 points"),
    "wide": (lambda fig, ax: fig.set_size_inches(2 * style.WIDTH, 3), "has 4.5 points"),
    "ASCII": (lambda fig, ax: ax.set_title("tau x g"), "is ASCII"),
    "an index": (lambda fig, ax: ax.set_title("f_max"), "is ASCII"),
    "a hyphen": (lambda fig, ax: ax.annotate("-15", (0.7, 0.2)), "is ASCII"),
    "ticks": (lambda fig, ax: ax.set_xticks(np.linspace(0, 1, 40)), "overlap"),
    "notes": (lambda fig, ax: [ax.text(0.5, 0.2, word) for word in "ab"], "overlap"),
    "a long title": (lambda fig, ax: ax.set_title("word " * 20, loc="left"), "overlap"),
    "a longer one": (lambda fig, ax: fig.suptitle("word " * 40), "is outside"),
    "far right": (lambda fig, ax: fig.axes[1].text(1.2, 0.2, "a note").set_in_layout(False),
                  "is outside"),
    "a neighbour": (lambda fig, ax: ax.text(1.2, 0.9, "a note").set_in_layout(False),
                    "is in another panel"),
    "a legend": (lambda fig, ax: ax.legend(loc="upper right"), "hides"),
    "twice": (lambda fig, ax: fig.legend(handles=[
        style.mark(label, COLOURS[0], mfc=fill) for label, fill in (
            ("a", "white"), ("b", COLOURS[0]), ("c", COLOURS[0]))], loc="outside lower center"),
              "'b' and 'c' look the same"),
    "over bars": (lambda fig, ax: (ax.errorbar([0.9], [0.1], [0.05], fmt="none"),
                                   ax.legend(loc="lower right")), "hides"),
    "over a histogram": (lambda fig, ax: (ax.stairs([0.1], [0.8, 0.95]),
                                          ax.legend(loc="lower right")), "hides"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_seen_and_only_where_it_is(name):
    fig, axes = panels(1, 2, 3)
    for ax in axes:
        ax.plot([0, 1], [0, 1], label="a line")
        ax.set(xlabel=r"$\varepsilon$", title="a title")
    assert faults(fig) == []
    change, wanted = FAULTS[name]
    change(fig, axes[0])
    assert any(wanted in fault for fault in faults(fig))
