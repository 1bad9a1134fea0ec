"""NUTS of an outside library, nutpie, on our models.

It calls U and grad_U of a model and adapts a mass and a step size of its own.  Needs the extra
`nuts`:  pip install -e ".[nuts]"
"""

import sys
import warnings

import numpy as np

from models.interface import U, grad_U

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


def nuts(model, start, draws, tune, seed, target):
    """Run one chain of NUTS with a diagonal mass, in one thread.

    model       : NamedTuple     implements U and grad_U
    start       : (d,) float64   where it starts; no entry of the gradient may be 0 there
    draws, tune : int            transitions that are kept, and before them for adaptation
    target      : float          acceptance rate of the adaptation

    Returns {"q": (draws, d), "steps": gradients of the draws, "warm_up": of the adaptation,
    "divergences", "e_bfmi"}.
    """
    nutpie = library()
    from nutpie.compiled_pyfunc import from_pyfunc

    def log_density():
        return lambda q: (-U(q, model), -grad_U(q, model))

    compiled = from_pyfunc(
        start.size, log_density, lambda *_: lambda q: {"q": q.copy()}, [np.dtype(float)],
        [start.shape], ["q"], make_initial_point_fn=lambda _: start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = nutpie.sample(compiled, draws=draws, tune=tune, chains=1, cores=1, seed=seed,
                              progress_bar=False, target_accept=target, store_divergences=False)
    stats = found.sample_stats
    energies = np.asarray(stats["energy"]).ravel()
    return {"q": found.posterior["q"].values[0], "steps": int(stats["n_steps"].sum()),
            "warm_up": int(found.warmup_sample_stats["n_steps"].sum()),
            "divergences": int(stats["diverging"].sum()),
            "e_bfmi": float(np.mean(np.diff(energies) ** 2) / np.var(energies))}
