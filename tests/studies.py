"""A study for tests of what runs it: it computes nothing, unless a test says what."""

from reproduce.harness.run import Study
from reproduce.harness.style import plt

NOTHING = Study(
    name="x_fig7", what="nothing much", minutes=dict.fromkeys(("smoke", "short", "paper"), 0.1),
    doc="A script.", cases=lambda settings: "none", run=lambda experiment, cases: None, claims=[],
    table=lambda r: "", figure=lambda r: plt.figure())
