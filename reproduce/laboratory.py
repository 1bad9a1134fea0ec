"""Compute what the laboratories show, for every setting of their grids.

Run     python reproduce/laboratory.py [author ...]    five minutes; the compiled samplers do it
Writes  figures/laboratory/<author>.json, which reproduce/pages.py puts into the page, and
        figures/laboratory_<author>.png, which is shown where there is no JavaScript

reproduce/<author>/laboratory.py says what is computed, harness/laboratory.py how it is stored.
"""

import sys
from importlib import import_module

from threadpoolctl import threadpool_limits
from tqdm import tqdm

from harness import laboratory
from harness.listing import AUTHORS
from harness.mirrors import ROOT
from harness.style import png


def main():
    """Compute the laboratories of the named papers, or all."""
    unknown = [author for author in sys.argv[1:] if author not in AUTHORS]
    if unknown:
        raise SystemExit(f"{unknown[0]} is no paper: say one of {', '.join(AUTHORS)}, or nothing")
    laboratory.FOLDER.mkdir(exist_ok=True)
    for author in sys.argv[1:] or AUTHORS:
        with threadpool_limits(1, "blas"):  # other numbers of threads give other bits
            kept = laboratory.computed(import_module(f"{author}.laboratory").LABORATORY,
                                       lambda grid, of=author: tqdm(grid, of))
        text = laboratory.written(kept)
        laboratory.path(author).write_text(text)
        drawn = ROOT / "figures" / f"laboratory_{author}.png"
        drawn.write_bytes(png(laboratory.picture(kept)))
        print(f"figures/laboratory/{author}.json: {len(text.encode()) / 1000:.0f} kB;"
              f" figures/{drawn.name}")


if __name__ == "__main__":
    main()
