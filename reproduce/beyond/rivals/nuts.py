"""NUTS of an outside library, nutpie, on our models.

It calls U and grad_U of a model and adapts a mass and a step size of its own, to a higher rate of
acceptance than its default of 0.8: at that one trajectory in 70 of the non-centred volatility model
of Zhang and Sutton (2014) diverges.  Needs the extra `nuts`:  pip install -e ".[nuts]"
"""

import sys
import warnings

import numpy as np

from models.interface import U, grad_U

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


def read_state(q):
    """Keep all of a state."""
    return {"q": q.copy()}


def nuts(model, start, draws, tune, seed, maxdepth=10, low_rank=False, kept=read_state):
    """Run one chain of NUTS, in one thread.

    model       : NamedTuple     implements U and grad_U
    start       : (d,) float64   where it starts; no entry of the gradient may be 0 there
    draws, tune : int            transitions that are kept, and before them for adaptation
    low_rank    : bool           a diagonal mass and one of low rank added, or a diagonal one
    kept        : function       of a state, to {name: (k,) float64}, what is recorded of it

    Returns {each name of kept: (draws, k), "steps": gradients of the draws, "warm_up": of the
    adaptation, "divergences", "deepest": the share of trajectories of 2^maxdepth - 1 steps}.
    """
    nutpie = library()
    from nutpie.compiled_pyfunc import from_pyfunc

    sizes = {name: value.shape for name, value in kept(start).items()}

    def log_density():
        return lambda q: (-U(q, model), -grad_U(q, model))

    compiled = from_pyfunc(
        start.size, log_density, lambda *_: kept, [np.dtype(float)] * len(sizes),
        list(sizes.values()), list(sizes), make_initial_point_fn=lambda _: start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = nutpie.sample(compiled, draws=draws, tune=tune, chains=1, cores=1, seed=seed,
                              progress_bar=False, maxdepth=maxdepth, target_accept=TARGET,
                              low_rank_modified_mass_matrix=low_rank, store_divergences=False)
    stats = found.sample_stats
    return {name: found.posterior[name].values[0] for name in sizes} | {
        "steps": int(stats["n_steps"].sum()),
        "warm_up": int(found.warmup_sample_stats["n_steps"].sum()),
        "divergences": int(stats["diverging"].sum()),
        "deepest": float(stats["maxdepth_reached"].mean())}
