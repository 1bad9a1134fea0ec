"""What the claims on Tables 1 to 4 of Zhang and Sutton have in common, for the tests of each."""

from judging import put, slower
from reproduce.harness.claims import Measured
from reproduce.zhang.printed import GIBBS, HMC, METHODS, SSHMC, number


def printed_ess(table, row, column, prefix=""):
    """Return what the claim on a printed ESS is called; prefix: of "min", "med" and "max"."""
    name = prefix * (column in ("min", "med", "max")) + column
    return f"{row}: log(ESS of {name} / {number(table, row, column):g})"


def whole(table, row, columns, prefix=""):
    """Return what all claims on a row are called, which are judged together."""
    return [f"{row}: its printed ESS together",
            *(printed_ess(table, row, column, prefix) for column in columns)]


def runs(value):
    """Return the ESS of ten runs that scatter by a hundredth about a value."""
    return [0.99 * value, 1.01 * value] * 5


def rerun(row, column, factor):
    """Make a function that multiplies an ESS of all runs of a scan."""
    return lambda result: result._replace(scan=result.scan | {row: {
        key: found._replace(each=found.each | {
            column: [factor * ess for ess in found.each[column]]})
        for key, found in result.scan[row].items()}})


def common(table, columns, factor, seconds, blocks, prefix=""):
    """Return changes for check_moves that Tables 1 to 3 share, with the claims that differ.

    factor, seconds : of all ESS in the scan, and {row: of its times}
    blocks          : whose acceptance rates are put below and above the paper's range
    """
    return {f"{column} of {row}": (rerun(row, column, factor), whole(table, row, columns, prefix))
            for row in METHODS for column in columns} | {
        f"times of {row}": (slower(row, by), [f"time of {a} / {b}" for a, b in (
            (GIBBS, HMC), (SSHMC, HMC), (SSHMC, GIBBS)) if row in (a, b)])
        for row, by in seconds.items()} | {
        f"{value} of {block}, {row}": (
            put("rows", row, "AP", k, Measured(value, 0.001)),
            [f"{row}: acceptance rate{f' of {block}' * (row == GIBBS)}"])
        for row in METHODS for k, block in enumerate(blocks[: 1 + (row == GIBBS)])
        for value in (0.67, 0.88)}
