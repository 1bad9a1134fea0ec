"""How the figures of Tables 1 to 4 show the pilots of which the settings were picked."""

import numpy as np

from reproduce.harness.style import COLOURS, MARKERS, legend_above
from reproduce.zhang.printed import ACCEPTANCE


def draw_pilots(ax, tried, work, scale=1.0, ncols=3):
    """Draw the worst ESS per unit of work against the acceptance rate; grey where print has it.

    tried: {row: its pilots}; work: what scale units of a pilot's cost are.
    """
    for (row, pilots), colour, marker in zip(tried.items(), COLOURS, MARKERS, strict=False):
        ax.plot([np.mean(p["AP"]) for p in pilots],
                [scale * min(p["ess"].values()) / p["cost"] for p in pilots], marker, ms=3,
                color=colour, label=row)
    ax.axvspan(*ACCEPTANCE, color="0.9", zorder=-1)
    ax.set(yscale="log", xlabel="acceptance rate of the pilots (mean over blocks)",
           ylabel=f"worst ESS per {work}")
    legend_above(ax, ncols)
