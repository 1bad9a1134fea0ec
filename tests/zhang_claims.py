"""What the claims on Tables 1 to 4 of Zhang and Sutton have in common, for the tests of each."""

from judging import put
from reproduce.harness.claims import Measured
from reproduce.zhang.printed import GIBBS, METHODS, number


def printed_ess(table, row, column, prefix=""):
    """Return what the claim on a printed ESS is called; prefix: of "min", "med" and "max"."""
    name = prefix * (column in ("min", "med", "max")) + column
    return f"{row}: log(ESS of {name} / {number(table, row, column):g})"


def whole(table, row, columns, prefix=""):
    """Return what all claims on a row are called, which are judged together."""
    return [f"{row}: its printed ESS together",
            *(printed_ess(table, row, column, prefix) for column in columns)]


def time(row, other):
    """Return what the claim on the times of two rows is called."""
    return f"time of {row} / {other}"


def runs(value):
    """Return the ESS of ten runs that scatter by a hundredth about a value."""
    return [0.99 * value, 1.01 * value] * 5


def rerun(row, column, factor):
    """Make a function that multiplies an ESS of all runs of a scan."""
    return lambda result: result._replace(scan=result.scan | {row: {
        key: found._replace(each=found.each | {
            column: [factor * ess for ess in found.each[column]]})
        for key, found in result.scan[row].items()}})


def rates(*blocks):
    """Return changes for check_moves: every acceptance rate below and above the paper's range."""
    return {f"{value} of {block}, {row}": (
        put("rows", row, "AP", k, Measured(value, 0.001)),
        [f"{row}: acceptance rate{f' of {block}' * (row == GIBBS)}"])
        for row in METHODS for k, block in enumerate(blocks[: 1 + (row == GIBBS)])
        for value in (0.6, 0.95)}
