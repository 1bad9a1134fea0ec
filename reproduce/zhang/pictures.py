"""The panels of Figure 3 of Zhang and Sutton (2014): mean fields, and the data sets of Table 4."""

import math

import numpy as np

from reproduce.harness.style import COLOURS
from reproduce.zhang.cox import DATA
from reproduce.zhang.datasets import load


def draw_fields(fig, line, fields):
    """Draw {title: (d, d) field} in the first panels of a line, on one scale of colours."""
    low, high = (end(list(map(end, fields.values()))) for end in (np.min, np.max))
    for ax, (title, field) in zip(line, fields.items(), strict=False):
        shown = ax.imshow(field, vmin=low, vmax=high, cmap="viridis")
        ax.set(title=title, xticks=[], yticks=[])
    fig.colorbar(shown, ax=line[: len(fields)], orientation="horizontal", shrink=0.8, aspect=30,
                 label="log intensity")


def draw_data(lines):
    """Draw the counts of each data set above the field they are of, a line for each family."""
    for line, (distance, names) in zip(lines, DATA.items(), strict=True):
        for ax, name in zip(line, names, strict=True):
            data = load(name)
            row, column = np.nonzero(data.y)
            ax.imshow(data.x, cmap="Greys", alpha=0.5)
            ax.scatter(column, row, s=2 * data.y[row, column], color=COLOURS[4])
            ax.set(title=f"{data.y.sum():.0f} points", xticks=[], yticks=[])
        line[0].set_ylabel({"unit": "unit square", "pixel": "in pixels"}[distance])


def mean_field(found):
    """Return the mean of the field over all runs, (d, d)."""
    field = np.mean(found.field, axis=0)
    return field.reshape(math.isqrt(field.size), -1)
