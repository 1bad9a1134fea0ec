"""Laboratories: pictures and numbers for every setting of a grid, computed beforehand.

A Laboratory says what there is to set and what is computed for it, by the samplers of algorithms/;
`computed` goes through the whole grid.  What it returns is stored as JSON, and the page's script
draws it: no sampler is written a second time.  `picture` draws the same without a script.

What is stored:

    about, says    sentences; those of `says` have their numbers from what is stored
    samplers       names; a Series belongs to the one with its number `of`
    controls       [{name, label, texts, named}]; presets [{label, at}], at: numbers of texts, of
                   which the first is the start
    panels         [{title, x, y, box, log, ground}]
    time           what the frames are
    rows           names of the numbers, one for each sampler; told: which of them are read aloud
    shapes         the distinct Series, as lists; a point has four digits, a number five, null is
                   not finite; a number in place of a list stands for numbers running from it
    settings       of every combination, the last control running fastest: {series, numbers,
                   frames}, where series are numbers of shapes
    blas           the kernels of the BLAS on which it was computed
"""

import json
import math
import textwrap
from itertools import product
from typing import NamedTuple

import numpy as np

from reproduce.harness.papers import ROOT
from reproduce.harness.replicates import machine

FOLDER = ROOT / "figures" / "laboratory"
DIGITS, COARSE = 5, 4  # of a number, and of a point
FAR = 1e9  # a point further away is not drawn
KINDS = ("line", "dots", "now", "path", "trace", "chain", "bands")  # what laboratory.js draws


class Control(NamedTuple):
    """What can be set."""

    name: str
    label: str
    values: tuple
    texts: tuple = ()  # how the values are called; default: as numbers


class Panel(NamedTuple):
    """A picture with two axes."""

    title: str
    x: str  # its label
    y: str
    box: tuple = (None,) * 4  # least x, greatest x, least y, greatest y; None: as the series need;
    # (): as the grey ones do, those of no sampler
    log: str = ""  # "x", "y" or "xy": logarithmic
    ground: tuple = ()  # polylines that are there at every setting


class Series(NamedTuple):
    """Something drawn in a panel."""

    panel: int
    kind: str  # "line"; "dots"; "now", a large dot for the newest point; "path", all three;
    # "trace", a line and the newest point; "chain", a line and dots; "bands" from x to y
    of: int  # the sampler, whose colour it has; -1 is none
    x: object  # a list or an array, or a number: running numbers from it
    y: object
    born: object = ()  # the frame from which a point is there, as x; default: always
    gone: object = ()  # the frame from which it is there no more
    full: object = ()  # the frame from which a dot is filled; default: always
    dashed: bool = False


class Setting(NamedTuple):
    """What is computed for one setting."""

    series: list
    numbers: dict  # {row: a number for each sampler, or numbers of frames}
    frames: int = 1  # pictures of a run, which the page plays


class Preset(NamedTuple):
    """A setting that has a name."""

    label: str
    at: dict  # {control: value}, of all controls


class Laboratory(NamedTuple):
    """What can be tried for a paper."""

    about: str
    samplers: tuple
    controls: tuple
    panels: tuple
    time: str  # what the frames are
    told: tuple  # the rows that are read aloud when something is set
    setting: object  # of (name=value, ...) -> Setting
    presets: tuple  # the first one is the start
    says: object  # of (number) -> sentences; number(row, sampler, **values) is a stored one


def compute_all(laboratory, progress=list):
    """Compute every setting of a Laboratory; return what is stored.

    progress : of a list of settings -> something that goes through them
    """
    names = [control.name for control in laboratory.controls]
    grid = [dict(zip(names, values, strict=True))
            for values in product(*(control.values for control in laboratory.controls))]
    shapes, settings, rows = {}, [], []
    for values in progress(grid):
        computed = to_stored(laboratory.setting(**values))
        rows = rows or list(computed["numbers"])
        if list(computed["numbers"]) != rows:
            raise ValueError(f"every setting must have the same rows, but {values} has"
                             f" {list(computed['numbers'])}, not {rows}")
        settings.append({
            "series": [shapes.setdefault(json.dumps(shape), len(shapes))
                       for shape in computed["series"]],
            "numbers": list(computed["numbers"].values()), "frames": computed["frames"]})
    return describe(laboratory, rows, [json.loads(shape) for shape in shapes], settings,
                     machine()["blas"])


def describe(laboratory, rows, shapes, settings, blas):
    """Return what is stored: what was computed, and what a Laboratory says of it."""
    kept = {
        "about": laboratory.about, "samplers": list(laboratory.samplers),
        "controls": [{"name": control.name, "label": control.label, "texts": texts(control),
                      "named": bool(control.texts)} for control in laboratory.controls],
        "panels": [panel._asdict() | {"box": list(panel.box),
                                      "ground": round_numbers(panel.ground, FAR, COARSE)}
                   for panel in laboratory.panels],
        "presets": [{"label": preset.label, "at": indices(laboratory, preset.at)}
                    for preset in laboratory.presets],
        "time": laboratory.time, "rows": rows,
        "told": [rows.index(row) for row in laboratory.told],
        "shapes": shapes, "settings": settings, "blas": blas}
    says = laboratory.says(lambda row, sampler, **values: number(
        kept, row, sampler, indices(laboratory, values)))
    return {"says": says, **kept}


def to_stored(setting):
    """Return a Setting as it is stored, with its series as lists."""
    return {"series": [[*each[:3], *(round_numbers(part, FAR, COARSE) for part in each[3:8]),
                        int(each.dashed)] for each in setting.series],
            "numbers": {row: round_numbers(each) for row, each in setting.numbers.items()},
            "frames": setting.frames}


def round_numbers(value, far=math.inf, digits=DIGITS):
    """Return numbers with so many digits; None for what is not finite, or too far."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [round_numbers(part, far, digits) for part in value]
    if isinstance(value, float):
        value = float(f"{value:.{digits}g}")
        if not abs(value) < far:
            return None
        return int(value) if value.is_integer() and abs(value) < 10**DIGITS else value
    return value


def texts(control):
    """Return how the values of a Control are called."""
    return list(control.texts or (f"{value:g}" for value in control.values))


def indices(laboratory, values):
    """Return the places of values, {control: value}, in the grid."""
    return [control.values.index(values[control.name]) for control in laboratory.controls]


def place(kept, at):
    """Return the number of a setting, of its places in the grid."""
    number = 0
    for k, control in zip(at, kept["controls"], strict=True):
        number = number * len(control["texts"]) + k
    return number


def number(kept, row, sampler, at):
    """Return a stored number: of a row, of a sampler, at places in the grid; the last of frames."""
    found = kept["settings"][place(kept, at)]["numbers"][kept["rows"].index(row)][
        kept["samplers"].index(sampler)]
    found = found[-1] if isinstance(found, list) else found
    return math.nan if found is None else found


def path(author):
    """Return where a paper's laboratory is stored."""
    return FOLDER / f"{author}.json"


def write_json(kept):
    """Write what is stored as JSON, a shape or a setting in a line."""
    parts = []
    for key, value in kept.items():
        inner = ",\n".join(json.dumps(each, separators=(",", ":"), allow_nan=False,
                                      ensure_ascii=False) for each in value) if key in (
            "shapes", "settings") else ""
        text = f"[\n{inner}\n]" if inner else json.dumps(value, allow_nan=False,
                                                         ensure_ascii=False)
        parts.append(f'"{key}": {text}')
    return "{" + ",\n".join(parts) + "}\n"


def read(author):
    """Return what is stored of a paper's laboratory."""
    return json.loads(path(author).read_text())


def page_data(kept):
    """Return the part of what is stored that the page's script needs."""
    return {key: kept[key] for key in ("samplers", "controls", "panels", "presets", "rows", "told",
                                       "shapes", "settings")}


def show(x, digits=2):
    """Write a number of a sentence; 10 to a power as papers have it."""
    value = float(f"{x:.{digits}g}")
    text = f"{value:g}"
    if value and math.isfinite(value) and not 1e-3 <= abs(value) < 1e5:
        mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
        mantissa = f"{float(mantissa):g}·" if float(mantissa) != 1 else ""
        text = f"{mantissa}10" + str(int(power)).translate(str.maketrans("-0123456789",
                                                                         "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return text.replace("-", "\N{MINUS SIGN}")


# Without a script


def expand_range(numbers, count):
    """Return so many numbers from the one that stands for them, or the list that there is."""
    return numbers if isinstance(numbers, list) else list(range(numbers, numbers + count))


def limits(kept, here, number):
    """Return the least and greatest x and y of what is grey in a panel, with some room."""
    shapes = [shape for k in here["series"] for shape in [kept["shapes"][k]]
              if shape[0] == number and shape[2] < 0]
    found = []
    for axis in (3, 4):
        ends = [x for shape in shapes for x in shape[axis]]
        room = 0.06 * (max(ends) - min(ends))
        found += [min(ends) - room, max(ends) + room]
    return found


def picture(kept):
    """Draw the first preset: what the page shows where there is no JavaScript."""
    from reproduce.harness.style import COLOURS, panels, plt

    here = kept["settings"][place(kept, kept["presets"][0]["at"])]
    columns = {1: 1, 4: 2, 8: 4}.get(len(kept["panels"]), 3)
    rows = math.ceil(len(kept["panels"]) / columns)
    fig, axes = panels(rows, columns, 2.7 * rows, squeeze=False)
    for panel, ax in zip(kept["panels"], axes.flat, strict=False):
        for line in panel["ground"]:
            ax.add_artist(plt.Line2D(*np.array(line).T, color="0.75", lw=0.6))
        ax.set(title=textwrap.fill(panel["title"], 96 // columns), xlabel=panel["x"],
               ylabel=panel["y"], xscale="log" if "x" in panel["log"] else "linear",
               yscale="log" if "y" in panel["log"] else "linear")
    for ax in list(axes.flat)[len(kept["panels"]):]:
        ax.set_visible(False)
    last, ends_of = here["frames"] - 1, []
    for k in here["series"]:
        panel, kind, sampler, *lists, dashed = kept["shapes"][k]
        points = [values for values in lists if isinstance(values, list)]
        x, y, born, gone, full = (expand_range(values, len(points[0])) for values in lists)
        visible = [(not born or born[i] <= last) and (not gone or gone[i] > last)
                   for i in range(len(x))]
        x, y = (np.array(values, float)[visible] for values in (x, y))
        ax, colour = axes.flat[panel], COLOURS[(0, 4, 3)[sampler]] if sampler >= 0 else "0.5"
        if kind == "bands":
            for ends in zip(x, y, strict=True):
                ax.axvspan(*ends, color=colour, alpha=0.2, lw=0)
        if kind in ("line", "path", "trace", "chain"):
            ax.plot(x, y, color=colour, ls="--" if dashed else "-", lw=1)
        if kind in ("dots", "path", "chain"):
            hollow = [bool(full) and full[i] > last for i in np.flatnonzero(visible)]
            ax.scatter(x, y, s=9, marker="o^s"[sampler], edgecolors=colour, linewidths=0.8,
                       facecolors=["none" if empty else colour for empty in hollow])
        if kind in ("now", "path", "trace"):
            ends_of += ax.plot(x[-1:], y[-1:], "o^s"[sampler], color=colour, ms=6,
                               mec="k", zorder=3)
    for number, (panel, ax) in enumerate(zip(kept["panels"], axes.flat, strict=False)):
        low_x, high_x, low_y, high_y = panel["box"] or limits(kept, here, number)
        ax.set_xlim(low_x, high_x)
        ax.set_ylim(low_y, high_y)
    for mark in ends_of:  # one on the frame is drawn whole, above it
        low_x, high_x, low_y, high_y = *mark.axes.get_xlim(), *mark.axes.get_ylim()
        for x, y in zip(*mark.get_data(), strict=True):
            mark.set_clip_on(not (low_x <= x <= high_x and low_y <= y <= high_y))
    for name, colour, marker in zip(kept["samplers"], (0, 4, 3), "o^s", strict=False):
        axes.flat[0].plot([], [], color=COLOURS[colour], marker=marker, label=name)
    fig.legend(loc="outside lower center", ncols=3)
    return fig
