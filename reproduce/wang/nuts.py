"""NUTS of an outside library, nutpie, on the regressions of Wang and Neal (2013).

It calls U and grad_U of our model, and adapts a diagonal mass and a step size of its own.  Needs
the extra `nuts`:  pip install -e ".[nuts]"
"""

import warnings

import numpy as np

from models.interface import U, grad_U
from reproduce.beyond.rivals.nuts import library


def nuts(model, start, draws, tune, seed, target_accept=0.8, maxdepth=8):
    """Run one chain of NUTS, in one thread.

    model         : NamedTuple     any model that implements U and grad_U
    start         : (d,) float64   where it starts; no entry of the gradient may be 0 there
    draws, tune   : int            transitions that are kept, and before them for adaptation
    target_accept : float          what the step size is adapted to

    Returns {"samples": (draws, d), "steps": gradients of the draws, "warm_up": of the adaptation,
    "divergences"}; each gradient comes together with U.
    """
    nutpie = library()
    from nutpie.compiled_pyfunc import from_pyfunc

    def log_density():
        return lambda q: (-U(q, model), -grad_U(q, model))

    def parts(*_):
        return lambda q: {"q": q.copy()}

    compiled = from_pyfunc(start.size, log_density, parts, [np.dtype(float)], [(start.size,)],
                           ["q"], make_initial_point_fn=lambda _: start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = nutpie.sample(compiled, draws=draws, tune=tune, chains=1, cores=1, seed=seed,
                              progress_bar=False, maxdepth=maxdepth, store_divergences=False,
                              target_accept=target_accept)
    stats = found.sample_stats
    return {"samples": found.posterior["q"].values[0], "steps": int(stats["n_steps"].sum()),
            "warm_up": int(found.warmup_sample_stats["n_steps"].sum()),
            "divergences": int(stats["diverging"].sum())}
