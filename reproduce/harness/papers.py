"""The papers, and where their commands are: the one list from which all others are made.

A command of a paper is reproduce/<short name>_<what>.py if it computes a figure, a table or the
errors of the paper, and reproduce/beyond/<short name>_<what>.py if it is a study of ours.
"""

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (ROOT / "reproduce", ROOT / "reproduce" / "beyond")
TOGETHER = "meet"  # the study of all papers, which has a page with them
ALONE = "nuts"  # the study of an algorithm of none


class Paper(NamedTuple):
    """What is known of a paper here."""

    authors: str  # as a sentence names them
    numbers: int  # results in its tables


PAPERS = {
    "paquet": Paper("Paquet & Fraccaro", 0),
    "shahbaba": Paper("Shahbaba, Lan, Johnson & Neal", 108),
    "zhang": Paper("Zhang & Sutton", 77),
    "wang": Paper("Wang & Neal", 96),
}


def scripts(author="", folders=FOLDERS):
    """List the paths of a paper's commands, or of all with those of none, sorted by name."""
    names = [f"{author}_*.py"] if author else [*(f"{each}_*.py" for each in PAPERS),
                                               f"{TOGETHER}.py", f"{ALONE}.py"]
    return sorted((path for folder in folders for name in names for path in folder.glob(name)),
                  key=lambda path: path.name)


def script(name):
    """Return the path of a command; a ValueError if there is none of that name."""
    for folder in FOLDERS:
        if (folder / f"{name}.py").is_file():
            return folder / f"{name}.py"
    raise ValueError(f"there is no command {name!r}: it must be one of"
                     f" {', '.join(path.stem for path in scripts())}")


def choose_papers(arguments):
    """List the papers that a command is asked for, or all; it ends if one of them is none."""
    if unknown := [author for author in arguments if author not in PAPERS]:
        raise SystemExit(f"{unknown[0]} is no paper: say one of {', '.join(PAPERS)}, or nothing")
    return arguments or list(PAPERS)


def module(path):
    """Return the dotted name under which a file is imported."""
    path = Path(path).resolve()
    folder = ROOT if path.is_relative_to(ROOT) else path.parent
    return ".".join(path.relative_to(folder).with_suffix("").parts)
