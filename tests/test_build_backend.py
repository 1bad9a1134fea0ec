"""build_backend.py: the project can be installed as a checkout to work in, and in no other way."""

import pytest

import build_backend


@pytest.mark.parametrize("hook", [
    "get_requires_for_build_wheel", "prepare_metadata_for_build_wheel", "build_wheel",
    "get_requires_for_build_sdist", "build_sdist"])
def test_nothing_is_built_and_a_sentence_says_what_to_do(hook, tmp_path):
    with pytest.raises(SystemExit, match=r"clone .* then run `pip install -e \.`"):
        getattr(build_backend, hook)(str(tmp_path))
    assert list(tmp_path.iterdir()) == []
