"""NUTS of another outside library, blackjax, on log densities that are written for JAX.

Its adaptation is that of Stan: windows, a diagonal mass, dual averaging to 0.8.  JAX
differentiates the density.  Needs the extra `compare`:  pip install -e ".[compare]"
"""

import sys

import numpy as np

MISSING = ("blackjax or JAX is not installed: pip install -e \".[compare]\"."
           "  Without them only stored results can be shown")


def library():
    """Import JAX, in double precision, and blackjax, or exit with status 2 and a sentence."""
    try:
        import blackjax
        import jax
    except ImportError:
        print(MISSING, file=sys.stderr)
        raise SystemExit(2) from None
    jax.config.update("jax_enable_x64", True)
    return blackjax, jax


def sampler(log_density, target):
    """Return a function (start, draws, tune, seed) that runs one chain; compiled at its first call.

    log_density is of a JAX array (d,); the result is what nuts of rivals/nuts.py returns.
    """
    blackjax, jax = library()
    step = blackjax.nuts.build_kernel()
    adaptation = blackjax.window_adaptation(blackjax.nuts, log_density,
                                            target_acceptance_rate=target)
    warm_up = jax.jit(adaptation.run, static_argnames="num_steps")

    def transition(carry, key):
        state, parameters = carry
        state, info = step(key, state, log_density, **parameters)
        return (state, parameters), (state.position, info.num_integration_steps,
                                     info.is_divergent, info.energy)

    @jax.jit
    def follow(state, parameters, keys):
        return jax.lax.scan(transition, (state, parameters), keys)[1]

    def chain(start, draws, tune, seed):
        before, after = jax.random.split(jax.random.key(seed))
        (state, parameters), adapted = warm_up(before, start, num_steps=tune)
        q, steps, divergent, energies = follow(state, parameters,
                                               jax.random.split(after, draws))
        return {"q": np.asarray(q), "steps": int(steps.sum()), "divergences": int(divergent.sum()),
                "warm_up": int(adapted.info.num_integration_steps.sum()),
                "e_bfmi": float(np.mean(np.diff(energies) ** 2) / np.var(energies))}

    return chain
