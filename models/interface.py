"""What an algorithm may ask of a model or of a setting: generic functions, chosen by type.

A model is a NamedTuple of float64 arrays and scalars.  U and grad_U are generic: the type of
`model` decides which code runs, in the interpreter and in compiled code alike.  Unlike a function
argument or a closure, this leaves a cache of machine code usable, for models that can be imported:
what is compiled for one that a script or a notebook defines itself is compiled in each process.
"""

from models.jit import Generic, njit


def generic(on, default=None):
    """Make of an empty function one whose code depends on the class of its argument number `on`."""
    return lambda stub: Generic(stub, on, default)


@generic(on=1)
def U(q, model):
    """Potential energy: minus the log density at q, up to a constant.  q: (d,) -> float."""


@generic(on=1)
def grad_U(q, model):
    """Gradient of U at q.  q: (d,) -> (d,)."""


@njit
def one_after_the_other(q, model):
    """Return U and grad U at q, each by itself."""
    return U(q, model), grad_U(q, model)


@generic(on=1, default=one_after_the_other)
def U_and_grad_U(q, model):
    """U and its gradient at q, for models that have both in less time than one after the other."""


@generic(on=1)
def metric(q, model):
    """Metric tensor G at q: the covariance of RMHMC's momentum.  q: (d,) -> (d, d), symmetric."""


@generic(on=1)
def metric_gradient(q, model):
    """Derivatives of the metric at q.  q: (d,) -> (d, d, d), [i] is dG / dq_i."""


@generic(on=1)
def hessian(q, model):
    """Matrix of second derivatives of U at q.  q: (d,) -> (d, d), symmetric."""


@generic(on=1)
def log_likelihood(q, model):
    """Log probability of all the data given q.  q: (d,) -> float."""


@generic(on=1)
def case_entropy(q, model):
    """Entropy in nats of each case's class probabilities given q.  q: (d,) -> (n,), >= 0."""


@generic(on=0)
def part(model, cases, prior):
    """Return the model of some cases only, their rows copied next to each other in memory.

    cases: (m,) of int, m >= 0.  prior: float, the prior's share of U: 1 keeps it, 0 leaves it out.
    """
