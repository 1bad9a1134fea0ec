"""NUTS of an outside library (rivals/nuts.py) on the hierarchical models, centred or not."""

import numpy as np

from models.interface import sizes
from models.non_centred import NonCentred, theta_of
from reproduce.beyond.rivals import nuts as nutpie


def nuts(model, start, draws, tune, seed, keep=None, maxdepth=10):
    """Run one chain of NUTS, in one thread; rivals/nuts.py says what it returns.

    model : NamedTuple            hierarchical, or a NonCentred one
    start : (n + h,) float64      where it starts; no entry of the gradient may be 0 there
    keep  : (kept,) int or None   which entries of theta are recorded; None: all

    The draws are "theta", (draws, kept), and "phi", (draws, h).
    """
    inner = model.model if isinstance(model, NonCentred) else model
    n, _ = sizes(inner)
    keep = np.arange(n) if keep is None else keep

    def kept(q):
        theta, phi = q[:n], q[n:]
        theta = theta_of(theta, phi, inner) if inner is not model else theta
        return {"theta": theta[keep], "phi": phi.copy()}

    return nutpie.nuts(model, start, draws, tune, seed, maxdepth, kept=kept)
