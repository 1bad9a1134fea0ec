"""Clocks: times that are results, and the claims that would take them from several processors.

A ratio of times from two kinds of processors says nothing of two methods.  Which claims take the
times of which processor is not declared but tried: the script's own arithmetic is done again with
the times of that kind changed, and what then has another number takes them.
"""

import math
import random

from reproduce.harness.claims import UNMADE, judge
from reproduce.harness.replicates import TIMES, Missing, kind_of, name_of

# by which the logs of times are changed, at random: much and often, or an order may stay as it is;
# and so little that a script which chooses by times what it computes chooses the same
SPREADS = (3.0,) * 8 + (1e-6,)


class Retimed:
    """An experiment that gives what another has used, with the times of one kind changed."""

    def __init__(self, experiment, kind, spread, seed):
        """Change the logs of the times of `kind` by so much, each by a number of its own."""
        self.experiment, self.fresh = experiment, False
        self.used = {name_of(r["function"], r["task"]): r
                     for each in (experiment, *experiment.others.values())
                     for r in each.used.values()}
        self.kind, self.spread, self.rng = kind, spread, random.Random(seed)

    def __getattr__(self, name):
        """Return what the other has: its settings, for a script that makes another experiment."""
        return getattr(self.experiment, name)

    def of(self, name):
        """Return this one, which has what was used of other scripts too."""
        return self

    def replicates(self, function, tasks, *_, **__):
        """Return the results of tasks; raise Missing if the other had no use of one."""
        return [self.result(function, {k: v for k, v in task.items() if k != "cost"})
                for task in tasks]

    def result(self, function, task):
        """Return the result of one task."""
        record = self.used.get(name_of(function.__name__, task))
        if record is None:
            raise Missing(f"{self.name} did not compute {function.__name__}({task})")
        changed = kind_of(record) == self.kind
        return {key: self.change(value) if changed and key in TIMES else value
                for key, value in record["result"].items()}

    def change(self, times):
        """Return times with each number in them multiplied by another."""
        if isinstance(times, dict):
            return {key: self.change(part) for key, part in times.items()}
        if isinstance(times, list):
            return [self.change(part) for part in times]
        return times * math.exp(self.rng.gauss(0, self.spread))


def claims_with_times(study, experiment, findings, cases, kind):
    """Return the set of the claims (what they are about) that take times of a kind of processor.

    All of them, if the script cannot be followed because it chooses by times what it computes.
    """
    found, followed = set(), False
    for seed, spread in enumerate(SPREADS):
        try:
            result = study.run(Retimed(experiment, kind, spread, seed), cases)
        except Missing:
            continue
        followed = True
        others = judge([finding.claim for finding in findings], result, experiment.budget)
        found |= {a.claim.what for a, b in zip(findings, others, strict=True)
                  if str(a.ours) != str(b.ours)}
    return found if followed else {finding.claim.what for finding in findings}


def judge_times(study, experiment, result, cases):
    """Return the Findings of a script, `inconclusive` where times are of several processors.

    The reason then says of which.
    """
    findings, kinds = judge(study.claims, result, experiment.budget), experiment.clocks
    if len(kinds) < 2:
        return findings
    takers = {kind: claims_with_times(study, experiment, findings, cases, kind) for kind in kinds}
    return [judge_mixed(finding, [kind for kind in kinds if finding.claim.what in takers[kind]])
            for finding in findings]


def judge_mixed(finding, kinds):
    """Return a finding whose times are of such kinds of processors, not judged if these differ."""
    if len(kinds) < 2 or finding.verdict == UNMADE:
        return finding
    why = (f"{finding.claim.why}.  Not judged: the times are of several kinds of processors,"
           f" {' and '.join(kinds)}, and say nothing of each other")
    return finding._replace(claim=finding.claim._replace(why=why), verdict="inconclusive",
                            undecided="more runs do not help: all times have to be of one kind of"
                            " processor")
