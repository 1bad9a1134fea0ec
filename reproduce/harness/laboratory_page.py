"""Laboratories: pictures and numbers for every setting of a grid, computed beforehand.

A Laboratory says what there is to set and what is computed for it, by the samplers of algorithms/;
`computed` goes through the whole grid.  What it returns is stored as JSON, and the page's script
draws it: no sampler is written a second time.

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
    return json.loads(path(author).read_text("utf-8"))


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
