"""What pip asks when it installs the project: setuptools, for `pip install -e .` and nothing else.

The figures, the scripts that make them and the cache of machine code belong to the checkout, which
a wheel or a source distribution would leave behind.
"""

from setuptools.build_meta import (
    build_editable,
    get_requires_for_build_editable,
    prepare_metadata_for_build_editable,
)

__all__ = ["build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable",
           "get_requires_for_build_sdist", "get_requires_for_build_wheel",
           "prepare_metadata_for_build_editable", "prepare_metadata_for_build_wheel"]


def refuse(*_, **__):
    """Stop with a sentence that says what to do."""
    raise SystemExit("mirrormc is a checkout to work in and is not built: clone the repository,"
                     " then run `pip install -e .` in it")


build_wheel = build_sdist = prepare_metadata_for_build_wheel = refuse
get_requires_for_build_wheel = get_requires_for_build_sdist = refuse
