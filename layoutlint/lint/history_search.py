"""The verdict of one rule on the files of commits, and the search for the one that made it worse."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from layoutlint.comparison.bisection import TooManySkipped, Trial, bisect
from layoutlint.comparison.search_result import SearchResult, TriedCommit
from layoutlint.comparison.standings import NO_FAILURE, Badness, standing
from layoutlint.errors import LayoutlintError, ReadError, UsageError
from layoutlint.intent import exported_tree, git
from layoutlint.intent.exported_tree import ExportedTree
from layoutlint.intent.git import Commit
from layoutlint.intent.tree_copies import WorkingTree
from layoutlint.judgement.finding import Finding, Report
from layoutlint.judgement.messages import finding_message
from layoutlint.judgement.rule import Pack
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint import run
from layoutlint.lint.options import Options
from layoutlint.model.reading import no_progress
from layoutlint.model.record import Record, field, replace
from layoutlint.readers.processes.child import HAS_PROCESSES, Lost
from layoutlint.readers.processes.pool import run_in_child

_MOST_SKIPPED = 100
"""The most commits that are passed over; each is read in full, to no avail."""


class Verdict(Record, frozen=True):
    """The result of a rule on a commit."""

    badness: Badness
    outcome: str | None
    """None if the commit could not be judged."""
    sentence: str
    """What was found, or why nothing could be."""


class RuleHistory(Record):
    """Judges a rule on the files of commits, each in a temporary folder below `root`."""

    rule: str
    packs: tuple[Pack, ...]
    kernel_packs: tuple[Pack, ...]
    options: Options
    path: str
    """The input, below the top of the tree."""
    is_wanted: Callable[[str], bool]
    root: str
    working_tree: WorkingTree | None = None
    """What the working tree adds to each commit; None for a kernel."""
    databases: dict[str, None] = field(default_factory=dict)
    """The compilation databases whose flags commits were read with."""
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    """By the id of the commit."""
    latest: list[ExportedTree] = field(default_factory=list)

    def search(self, good: Commit, bad: Commit) -> SearchResult:
        """Return the first commit after `good` in which the rule got worse.

        Raises UsageError if the rule is not worse at `bad`, and ReadError if one of both cannot be judged.
        """
        before, after = self._judge_end(good), self._judge_end(bad)
        if after.badness <= before.badness:
            raise UsageError(
                f"{self.rule} is {after.outcome} at {bad.name} and {before.outcome} at {good.name}: "
                "nothing got worse"
            )
        try:
            bisection = bisect(
                bad.id,
                good.id,
                lambda last, goods: git.halving_commits(bad.top, last, goods),
                lambda commit: self._trial(Commit(commit, commit, bad.top), before),
                _MOST_SKIPPED,
            )
        except TooManySkipped:
            raise ReadError(
                f"{good.name}..{bad.name}",
                f"more than {_MOST_SKIPPED} commits could not be judged, the last because "
                f"{list(self.verdicts.values())[-1].sentence}; search a smaller range",
            ) from None
        describe = partial(self._describe, top=bad.top, before=before)
        in_order = git.commits_between(good, bad) if len(bisection.suspects) > 1 else []
        suspects = tuple(
            map(describe, sorted(bisection.suspects, key=in_order.index) if in_order else bisection.suspects)
        )
        return SearchResult(
            self.rule,
            before.sentence,
            self.verdicts[bisection.suspects[-1]].sentence,
            suspects[-1] if bisection.first_bad is not None else None,
            suspects,
            tuple(map(describe, bisection.trials)),
            tuple(self.databases),
        )

    def _judge_end(self, commit: Commit) -> Verdict:
        verdict = self.judge(commit)
        if verdict.outcome is None:
            raise ReadError(commit.name, f"{self.rule} cannot be judged: {verdict.sentence}")
        return verdict

    def _trial(self, commit: Commit, before: Verdict) -> Trial:
        verdict = self.judge(commit)
        if verdict.outcome is None:
            return Trial.SKIPPED
        return Trial.BAD if verdict.badness > before.badness else Trial.GOOD

    def _describe(self, commit_id: str, top: str, before: Verdict) -> TriedCommit:
        commit = Commit(commit_id, commit_id, top)
        date, subject = git.describe(commit)
        verdict = self.verdicts[commit_id]
        reason = "" if verdict.outcome is not None else verdict.sentence
        return TriedCommit(commit_id, date, subject, self._trial(commit, before), verdict.outcome, reason)

    def judge(self, commit: Commit) -> Verdict:
        """Return the verdict of the rule on a commit, which is kept for the next call."""
        if commit.id not in self.verdicts:
            self.verdicts[commit.id] = self._judge(commit)
        return self.verdicts[commit.id]

    def _judge(self, commit: Commit) -> Verdict:
        folder = os.path.join(self.root, str(len(self.verdicts)))
        os.mkdir(folder)
        try:
            earlier = self.latest.pop() if self.latest else None
            self.latest.append(exported_tree.export(commit, folder, self.is_wanted, earlier))
            if earlier is not None:
                exported_tree.remove(earlier.folder)
            if not HAS_PROCESSES:
                raise ReadError(commit.name, "judging commits needs processes, which this system lacks")
            verdict, databases = run_in_child(self._judge_folder, folder)
            self.databases.update(dict.fromkeys(databases))
            return verdict
        except (Lost, LayoutlintError) as error:
            how = f"the process that read it {error.how}" if isinstance(error, Lost) else str(error)
            return Verdict(NO_FAILURE.badness, None, how)
        finally:
            if not any(tree.folder == folder for tree in self.latest):
                exported_tree.remove(folder)

    def _judge_folder(self, folder: str) -> tuple[Verdict, list[str]]:
        """Return the verdict in a folder with the files of a commit, and the databases with its flags."""
        os.chdir(folder)
        tree = self.working_tree
        copy = None if tree is None else tree.copy(folder, self.latest[-1].files)
        quiet = replace(self.options.read, progress=no_progress, cache=False, copy=copy)
        packs = [tuple(map(self._with_rule_only, packs)) for packs in (self.packs, self.kernel_packs)]
        report = run.check((self.path,), packs[0], packs[1], replace(self.options, read=quiet))
        databases = [each.compile_commands for each in report.readings if each.compile_commands is not None]
        return self._verdict(report), databases

    def _verdict(self, report: Report) -> Verdict:
        findings = [f for f in (*report.findings, *report.kept_findings) if f.rule.id == self.rule]
        unread = next((str(unread) for unread in report.unread), "no struct that it is about is there")
        if not findings:
            return Verdict(NO_FAILURE.badness, None, unread)
        worst = max(findings, key=_severity)
        if worst.verdict.outcome is Outcome.UNKNOWN:
            return Verdict(NO_FAILURE.badness, None, finding_message(worst))
        sentence = f"{worst.verdict.outcome.value}: {finding_message(worst)}"
        return Verdict(standing(worst).badness, worst.verdict.outcome.value, sentence)

    def _with_rule_only(self, pack: Pack) -> Pack:
        return replace(pack, rules=tuple(rule for rule in pack.rules if rule.id == self.rule))


def _severity(finding: Finding) -> tuple[bool, Badness]:
    """Return how badly a rule fails; unknown is the worst."""
    return finding.verdict.outcome is Outcome.UNKNOWN, standing(finding).badness
