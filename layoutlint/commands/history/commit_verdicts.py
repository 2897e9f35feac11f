"""The verdict of one rule on the files of commits."""

from __future__ import annotations

import os
from collections.abc import Callable

from layoutlint.commands.history.commit_files import CommitFiles, Questions, collect_questions, is_new_or_gone
from layoutlint.comparison.standings import NO_FAILURE, Badness, Standing, standing
from layoutlint.errors import LayoutlintError, ReadError
from layoutlint.files import accesses
from layoutlint.judgement.finding import Finding, Report
from layoutlint.judgement.messages import finding_message
from layoutlint.judgement.rule import Pack
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint import run
from layoutlint.lint.options import Options
from layoutlint.model.reading import no_progress
from layoutlint.model.record import Record, field, replace
from layoutlint.revisions import exported_tree, submodules
from layoutlint.revisions.exported_tree import ExportedTree
from layoutlint.revisions.git import Commit
from layoutlint.revisions.tree_copies import WorkingTree
from layoutlint.workers.child import HAS_PROCESSES, Lost
from layoutlint.workers.pool import run_in_child


class Verdict(Record, frozen=True):
    """The result of a rule on a commit."""

    standing: Standing
    outcome: str | None
    """None if the commit could not be judged."""
    sentence: str
    """What was found, or why nothing could be."""


class Judged(Record, frozen=True):
    """A commit whose files were read."""

    verdict: Verdict
    questions: Questions
    """What was asked about its files."""
    answers: tuple[object, ...]


class CommitVerdicts(Record):
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
    judged: list[Judged] = field(default_factory=list)
    latest: list[ExportedTree] = field(default_factory=list)

    def judge(self, commit: Commit) -> Verdict:
        """Return the verdict of the rule on a commit, which is kept for the next call."""
        if commit.id not in self.verdicts:
            try:
                files = self._files(commit)
            except LayoutlintError as error:
                verdict = _unknown_verdict(str(error))
            else:
                verdict = self._known_verdict(files) or self._judge(commit, files)
            self.verdicts[commit.id] = verdict
        return self.verdicts[commit.id]

    def is_read(self, path: str, letters: str) -> bool:
        """Return whether an edit of a file can change a verdict; `letters` are its status in git."""
        if any(each.questions.lie_below(path) for each in self.judged):
            return True
        if not self.is_wanted(path):
            return False
        tree = self.working_tree
        if tree is not None and is_new_or_gone(letters) and _folder(path) not in tree.tracked_folders:
            return True
        return any(each.questions.concern(path, letters) for each in self.judged)

    def _files(self, commit: Commit) -> CommitFiles:
        blobs = submodules.files_of(commit)
        return CommitFiles({path: blob for path, blob in blobs.items() if self.is_wanted(path)})

    def _known_verdict(self, files: CommitFiles) -> Verdict | None:
        """Return the verdict on a commit that has the same files, as far as they were read; None if new."""
        known = (each for each in self.judged if each.questions.is_complete)
        return next((e.verdict for e in known if self._answers(files, e.questions) == e.answers), None)

    def _answers(self, files: CommitFiles, questions: Questions) -> tuple[object, ...]:
        """Return the answers of a commit; folders that only it has can change where flags lead."""
        tree = self.working_tree
        folders = frozenset() if tree is None else frozenset(files.entries) - tree.tracked_folders
        return *files.answers(questions), folders

    def _judge(self, commit: Commit, files: CommitFiles) -> Verdict:
        folder = os.path.join(self.root, str(len(self.verdicts)))
        os.mkdir(folder)
        try:
            earlier = self.latest.pop() if self.latest else None
            self.latest.append(exported_tree.export(commit, folder, self.is_wanted, earlier))
            if earlier is not None:
                exported_tree.remove(earlier.folder)
            if not HAS_PROCESSES:
                raise ReadError(commit.name, "judging commits needs processes, which this system lacks")
            verdict, databases, questions = run_in_child(self._judge_folder, folder)
            self.databases.update(dict.fromkeys(databases))
            self.judged.append(Judged(verdict, questions, self._answers(files, questions)))
            return verdict
        except Lost as lost:
            return _unknown_verdict(f"the process that read it {lost.how}")
        except LayoutlintError as error:
            return _unknown_verdict(str(error))
        finally:
            if not any(tree.folder == folder for tree in self.latest):
                exported_tree.remove(folder)

    def _judge_folder(self, folder: str) -> tuple[Verdict, list[str], Questions]:
        """Return the verdict in a folder with the files of a commit, the databases with its flags, and what
        was asked about the files.
        """
        databases: list[str] = []
        with accesses.log_answers() as log:
            accesses.enter_folder(folder)
            try:
                report = self._report(folder)
            except LayoutlintError as error:
                verdict = _unknown_verdict(str(error))
            else:
                verdict = self._verdict(report)
                databases += filter(None, (reading.compile_commands for reading in report.readings))
        return verdict, databases, collect_questions(log, self.latest[-1])

    def _report(self, folder: str) -> Report:
        tree = self.working_tree
        copy = None if tree is None else tree.copy(folder, self.latest[-1].files)
        quiet = replace(self.options.read, progress=no_progress, cache=False, copy=copy)
        packs = [tuple(map(self._with_rule_only, packs)) for packs in (self.packs, self.kernel_packs)]
        return run.check((self.path,), packs[0], packs[1], replace(self.options, read=quiet))

    def _verdict(self, report: Report) -> Verdict:
        findings = [f for f in (*report.findings, *report.kept_findings) if f.rule.id == self.rule]
        unread = next((str(unread) for unread in report.unread), "no struct that it is about is there")
        if not findings:
            return _unknown_verdict(unread)
        worst = max(findings, key=_severity)
        if worst.verdict.outcome is Outcome.UNKNOWN:
            return _unknown_verdict(finding_message(worst))
        sentence = f"{worst.verdict.outcome.value}: {finding_message(worst)}"
        return Verdict(standing(worst), worst.verdict.outcome.value, sentence)

    def _with_rule_only(self, pack: Pack) -> Pack:
        return replace(pack, rules=tuple(rule for rule in pack.rules if rule.id == self.rule))


def _unknown_verdict(reason: str) -> Verdict:
    return Verdict(NO_FAILURE, None, reason)


def _folder(path: str) -> str:
    """Return the folder of a file, `.` for the top."""
    return os.path.dirname(path) or "."


def _severity(finding: Finding) -> tuple[bool, Badness]:
    """Return how badly a rule fails; unknown is the worst."""
    return finding.verdict.outcome is Outcome.UNKNOWN, standing(finding).badness
