"""Import models.jit before any test file loads SciPy, so that BLAS runs on one thread."""

import models.jit  # noqa: F401
