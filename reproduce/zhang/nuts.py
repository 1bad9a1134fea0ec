"""NUTS of an outside library, nutpie, on the models of Zhang and Sutton (2014).

It calls U and grad_U of our models, centred or not, and adapts a diagonal mass and a step size of
its own, to a higher rate of acceptance than its default of 0.8: at that one trajectory in 70 of the
non-centred volatility model diverges.  Needs the extra `nuts`:  pip install -e ".[nuts]"
"""

import sys
import warnings

import numpy as np

from models.interface import U, grad_U, sizes
from zhang.non_centred import NonCentred, theta_of

TARGET = 0.9  # rate of acceptance
MISSING = ("NUTS is that of nutpie, which is not installed: pip install -e \".[nuts]\"."
           "  Without it only stored results can be shown")


def library():
    """Import nutpie, or exit with status 2 and a sentence that says what to install."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of arviz, about versions to come
        try:
            import nutpie
        except ImportError:
            print(MISSING, file=sys.stderr)
            raise SystemExit(2) from None
    return nutpie


def nuts(model, start, draws, tune, seed, keep=None, maxdepth=10):
    """Run one chain of NUTS, in one thread.

    model       : NamedTuple        hierarchical, or a NonCentred one
    start       : (n + h,) float64  where it starts; no entry of the gradient may be 0 there
    draws, tune : int               transitions that are kept, and before them for adaptation
    keep        : (kept,) int or None   which entries of theta are recorded; None: all

    Returns {"theta": (draws, kept), "phi": (draws, h), "steps": gradients of the draws, "warm_up":
    of the adaptation, "divergences", "deepest": the share of trajectories of 2^maxdepth - 1 steps}.
    """
    nutpie = library()
    from nutpie.compiled_pyfunc import from_pyfunc

    inner = model.model if isinstance(model, NonCentred) else model
    n, h = sizes(inner)
    keep = np.arange(n) if keep is None else keep

    def log_density():
        return lambda q: (-U(q, model), -grad_U(q, model))

    def parts(*_):
        def expand(q):
            theta, phi = q[:n], q[n:]
            theta = theta_of(theta, phi, model.model) if inner is not model else theta
            return {"theta": theta[keep], "phi": phi.copy()}

        return expand

    compiled = from_pyfunc(
        n + h, log_density, parts, [np.dtype(float)] * 2, [(keep.size,), (h,)], ["theta", "phi"],
        make_initial_point_fn=lambda _: start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = nutpie.sample(compiled, draws=draws, tune=tune, chains=1, cores=1, seed=seed,
                              progress_bar=False, maxdepth=maxdepth, target_accept=TARGET,
                              store_divergences=False)
    stats = found.sample_stats
    return {"theta": found.posterior["theta"].values[0], "phi": found.posterior["phi"].values[0],
            "steps": int(stats["n_steps"].sum()),
            "warm_up": int(found.warmup_sample_stats["n_steps"].sum()),
            "divergences": int(stats["diverging"].sum()),
            "deepest": float(stats["maxdepth_reached"].mean())}
