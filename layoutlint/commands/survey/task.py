"""The task of a survey: it reads and judges one input, and writes its rows into the store.

The rows of a kernel have hundreds of megabytes, so they do not travel: workers share the folder of the store,
and return numbers only.
"""

from __future__ import annotations

import os
from collections import Counter

from layoutlint.commands.survey.identity import State, state_of
from layoutlint.commands.survey.rows import RowMaker, plain_text
from layoutlint.errors import LayoutlintError, ReadError
from layoutlint.geometry.alignment_proofs import open_alignments
from layoutlint.judgement.finding import Finding, Report
from layoutlint.judgement.rule import Pack
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint import run
from layoutlint.lint.options import Mode, Options
from layoutlint.lint.reading import Inputs, split_unnarrowed
from layoutlint.model.paths import is_pattern
from layoutlint.model.record import Record, replace
from layoutlint.model.wanted import Wanted
from layoutlint.readers.cache import readings as cached_readings
from layoutlint.surveys.store import Store, Unwritable
from layoutlint.surveys.tables import LAYOUTS, PROBLEMS, READINGS, VERDICTS, WITHOUT, Row


class Survey(Mode, frozen=True):
    """A run that keeps the layouts of structs beside the verdicts of rules."""

    names: tuple[str, ...] = ()
    """The names and patterns of these structs."""

    @property
    def needs_rules(self) -> bool:
        """Return False: layouts are kept without any."""
        return False

    @property
    def skips_missing(self) -> bool:
        """Return True: a rule may judge another input."""
        return True

    def request(self, wanted: Wanted, options: Options) -> Wanted:
        """Return a request for the structs, whether a rule names them or not.

        The variables that exclude alignments are requested as well: one reading is enough.
        """
        patterns = {name for name in self.names if is_pattern(name)}
        named = frozenset(self.names) - patterns
        return replace(
            wanted,
            misplaced=open_alignments,
            names=wanted.names | named,
            patterns=tuple(sorted({*wanted.patterns, *patterns})),
            kernel=wanted.kernel - named - patterns,
            unless=tuple(each for each in wanted.unless if each[0] not in named | patterns),
        )

    def narrow(self, inputs: Inputs, wanted: Wanted) -> Inputs:
        """Return inputs with the structs that rules want, and all that were read beside them."""
        return split_unnarrowed(inputs, wanted)


class Plan(Record, frozen=True):
    """The common part of all tasks of a survey."""

    packs: tuple[Pack, ...]
    kernel_packs: tuple[Pack, ...]
    options: Options
    digest: str
    """The digest of rules, options and version, which distinguishes rows of the store."""


class Assignment(Record, frozen=True):
    """The argument of a task."""

    plan: Plan
    key: str
    name: str
    """The input, as seen from `folder`."""
    folder: str
    store: Store
    file: str | None
    """The file with the input; None for an input that is no file."""
    state: State | None
    """Its state when its digest was made."""
    size: int | None
    """Bytes of the input; None if they are not known."""


class Summary(Record, frozen=True):
    """The result of a task, in numbers."""

    structs: int = 0
    kept: int = 0
    at_risk: int = 0
    broken: int = 0
    unknown: int = 0
    problems: int = 0
    judged: tuple[str, ...] = ()
    """The rules that judged a struct."""
    message: str | None = None
    """The first problem."""
    is_unread: bool = False
    """Whether nothing could be read."""
    lacks_debug_information: bool = False
    """Whether nothing has debug information, and that is all."""
    is_changed: bool = False
    """Whether the file changed meanwhile, so that nothing was written."""
    unwritable: str | None = None
    """Why the store could not be written."""
    cache_hits: int = 0
    cache_misses: int = 0


def survey_input(work: Assignment) -> Summary:
    """Read and judge an input, and write its rows."""
    os.chdir(work.folder)
    counts = cached_readings.counts
    hits, misses = counts.hits, counts.misses
    try:
        maker, failure = _judge(work), None
    except (LayoutlintError, RecursionError) as error:
        maker, failure = None, _failure(work, error)
    if work.file is not None and state_of(work.file) != work.state:
        return Summary(is_changed=True, message="changed while it was read")
    try:
        summary = _write(work, maker, failure)
    except Unwritable as error:
        return Summary(unwritable=str(error))
    return replace(summary, cache_hits=counts.hits - hits, cache_misses=counts.misses - misses)


def _judge(work: Assignment) -> RowMaker:
    plan = work.plan
    read = replace(plan.options.read, trusts_build_ids=work.store.by_build_id)
    options = replace(plan.options, read=read)
    inputs = run.read((work.name,), plan.packs, plan.kernel_packs, options)
    report = run.report(inputs, plan.packs, plan.kernel_packs, options)
    return RowMaker(work.key, work.name, inputs, report)


def _failure(work: Assignment, error: Exception) -> Row:
    reason = "the input is nested too deeply" if isinstance(error, RecursionError) else str(error)
    if isinstance(error, ReadError) and error.path == work.name:
        reason = error.reason
    return {"key": work.key, "kind": "unread", "member": None, "reason": plain_text(reason)}


def _write(work: Assignment, maker: RowMaker | None, failure: Row | None) -> Summary:
    """Write the rows of a task, or why there are none. Raises Unwritable."""
    store, key = work.store, work.key
    problems = [failure] if failure is not None else [] if maker is None else list(maker.problems())
    store.write(READINGS, key, () if maker is None else maker.readings())
    structs = store.write(LAYOUTS, key, () if maker is None else maker.layouts())
    store.write(VERDICTS, key, () if maker is None else maker.verdicts())
    store.write(PROBLEMS, key, problems)
    report = None if maker is None else maker.report
    is_unread = report is None or not report.readings
    numbers = Counter[Outcome]() if report is None else _numbers(report)
    return Summary(
        structs,
        numbers[Outcome.KEPT],
        numbers[Outcome.AT_RISK],
        numbers[Outcome.BROKEN],
        numbers[Outcome.UNKNOWN],
        len(problems),
        () if report is None else _judged_rules(report),
        str(problems[0]["reason"]) if problems else None,
        is_unread,
        is_unread and bool(problems) and all(row["kind"] == WITHOUT for row in problems),
    )


def _numbers(report: Report) -> Counter[Outcome]:
    """Return how many findings have an outcome, of those that decide the exit status."""
    kept = Counter(finding.verdict.outcome for finding in report.kept_findings if _is_rule(finding))
    return kept + Counter(
        finding.verdict.outcome
        for finding in report.findings
        if finding.counts
    )


def _judged_rules(report: Report) -> tuple[str, ...]:
    findings = (*report.findings, *report.kept_findings)
    return tuple(sorted({finding.rule.id for finding in findings if _is_rule(finding)}))


def _is_rule(finding: Finding) -> bool:
    return finding.struct is not None and not finding.rule.kind.traits.is_built_in
