"""What a reader cannot read in a figure: it is drawn, and every text in it is measured."""

import itertools
import re
from unittest import mock

import matplotlib.pyplot as plt
from matplotlib.collections import LineCollection
from matplotlib.legend import Legend
from matplotlib.offsetbox import DrawingArea
from matplotlib.patches import StepPatch
from matplotlib.text import Text

SHOWN = 830  # CSS pixels, of which 96 are an inch: the width in which a page shows a figure
POINTS = 9
# symbols and operations in ASCII, outside of mathematics: eps, tau x g, f_max, -1
ASCII = re.compile(r"\b(alpha|beta|eps|eta|theta|phi|pi|rho|sigma|tau)\b|_|\w x \w"
                   r"|(?<![\w)])-\d|\^")
TOUCH = 1.0  # pixels by which boxes of texts may overlap: they are rounded up to whole ones
LOOK = ("color", "edgecolor", "facecolor", "alpha", "linestyle", "linewidth", "marker",
        "markersize", "markerfacecolor", "markeredgecolor", "hatch")
GAP = 3.0  # pixels between two words of a line: less, and 240 and 1200 are 2401200


def faults(fig, draw=None):
    """Return what is wrong with a figure as a list of sentences; empty if all can be read.

    draw : a function that draws it, where it is to be drawn once only
    """
    texts, legends = drawn(fig, draw or fig.canvas.draw)
    boxes = [(words(text), box) for text, box in texts]
    scale = min(fig.bbox.width, SHOWN) / fig.bbox.width * fig.dpi / 96
    found = [f"{words(text)!r} has {text.get_fontsize() * scale:.1f} points"
             for text, _ in texts if text.get_fontsize() * scale < POINTS - 1e-9]
    found += [f"{word!r} is ASCII" for word, _ in boxes
              if ASCII.search(re.sub(r"\$[^$]*\$", "1", word))]
    found += [f"{a!r} and {b!r} overlap" for (a, one), (b, other) in
              itertools.combinations(boxes, 2) if overlap(one, other)]
    found += [f"{word!r} is outside" for word, box in [
        *boxes, *(("the legend", legend.get_window_extent()) for legend in legends)]
        if not inside(box, fig.bbox)]
    found += [f"{word!r} is in another panel" for (text, _), (word, box) in
              zip(texts, boxes, strict=True) for ax in fig.axes
              if text.axes not in (ax, None) and overlap(box, ax.get_window_extent())]
    found += [f"the legend with {words(legend.get_texts()[0])!r} hides {line.get_label()!r}"
              for legend in legends for ax in fig.axes for line in curves(ax)
              if hides(legend.get_window_extent(), line)]
    found += [f"{words(a)!r} and {words(b)!r} look the same" for legend in legends
              for (a, one), (b, other) in itertools.combinations(zip(
                  legend.get_texts(), map(look, legend.findobj(DrawingArea)), strict=True), 2)
              if one == other]
    return found


def drawn(fig, draw):
    """Draw a figure; return its texts with their boxes, and its legends."""
    fig.set_dpi(plt.rcParams["savefig.dpi"])
    texts, original = {}, Text.draw

    def record(text, renderer, *rest):
        if text.get_visible() and text.get_text().strip():
            texts[text] = text.get_window_extent(renderer)
        return original(text, renderer, *rest)

    with mock.patch.object(Text, "draw", record):
        draw()
    return [*texts.items()], fig.findobj(Legend)


def words(text):
    return " ".join(text.get_text().split())


def overlap(a, b):
    """Tell whether two boxes have more than a rim in common, or are too close in a line."""
    return (min(a.x1, b.x1) - max(a.x0, b.x0) > -GAP
            and min(a.y1, b.y1) - max(a.y0, b.y0) > TOUCH)


def inside(box, canvas):
    return (box.x0 >= canvas.x0 - TOUCH and box.y0 >= canvas.y0 - TOUCH
            and box.x1 <= canvas.x1 + TOUCH and box.y1 <= canvas.y1 + TOUCH)


def look(key):
    """Return what tells an entry of a legend from others, of all that it is drawn of."""
    return [{name: str(value) for name, value in artist.properties().items() if name in LOOK}
            for artist in key.get_children()]


def curves(ax):
    """Return the lines of an axes: of data, error bars, histograms, references."""
    return [artist for artist in [*ax.lines, *ax.collections, *ax.patches]
            if isinstance(artist, plt.Line2D | LineCollection | StepPatch)]


def hides(box, line):
    """Tell whether a box covers a part of a line that is inside of its axes."""
    shown = box.intersection(box, line.axes.get_window_extent())
    if shown is None:
        return False
    paths = line.get_paths() if isinstance(line, LineCollection) else [line.get_path()]
    return any(path.transformed(line.get_transform()).intersects_bbox(shown, filled=False)
               for path in paths if len(path.vertices))
