"""One style for all figures: a font size, and colours that the colour-blind can tell apart."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

# M. Okabe and K. Ito (2008), Color Universal Design; black is for reference lines
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442")

plt.rcParams.update({
    "font.size": 9, "axes.titlesize": 10, "figure.titlesize": 10, "legend.fontsize": 9,
    "axes.prop_cycle": plt.cycler(color=COLOURS), "savefig.dpi": 150,
})
