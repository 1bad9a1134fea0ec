"""Compute what the laboratories show, for every setting of their grids.

Run     python reproduce/tools/laboratory.py [author ...]    five minutes, of compiled samplers
Writes  figures/laboratory/<author>.json, which reproduce/tools/pages.py puts into the page

reproduce/<author>/laboratory.py says what is computed, harness/laboratory_page.py how it is stored.
"""

import sys
from importlib import import_module

from threadpoolctl import threadpool_limits
from tqdm import tqdm

from reproduce.harness import laboratory_page
from reproduce.harness.papers import choose_papers


def main():
    """Compute the laboratories of the named papers, or all."""
    for author in choose_papers(sys.argv[1:]):
        with threadpool_limits(1, "blas"):  # other numbers of threads give other bits
            kept = laboratory_page.compute_all(
                import_module(f"reproduce.{author}.laboratory").LABORATORY,
                lambda grid, of=author: tqdm(grid, of))
        text = laboratory_page.write_json(kept)
        laboratory_page.path(author).write_text(text, "utf-8")
        print(f"figures/laboratory/{author}.json: {len(text.encode()) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
