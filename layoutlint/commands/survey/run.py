"""Surveys as their client runs them: which tasks are new, what became of them, and what the store had."""

from __future__ import annotations

import hashlib
import heapq
import os
import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from datetime import UTC, datetime

from layoutlint import __version__
from layoutlint.commands.survey import identity
from layoutlint.commands.survey.file_digests import FileDigests, content_digest
from layoutlint.commands.survey.identity import Identity
from layoutlint.commands.survey.row_log import RowLog
from layoutlint.commands.survey.rows import plain_text
from layoutlint.commands.survey.task import Assignment, Plan, Summary, survey_input
from layoutlint.errors import UsageError
from layoutlint.judgement.rule import Pack
from layoutlint.judgement.verdict import Outcome as Verdict
from layoutlint.lint.options import Options
from layoutlint.model.reading import Progress, no_progress
from layoutlint.model.record import Record, replace
from layoutlint.model.task import Executor, Limits, Outcome, Task
from layoutlint.readers.cache import keys
from layoutlint.surveys.result import FailedInput, Outcomes, SurveyResult, Verdicts
from layoutlint.surveys.store import Store
from layoutlint.surveys.tables import (
    COMPLETE,
    FAILED,
    GAPS,
    INCOMPLETE,
    OUTCOMES,
    RUNS,
    STORE_SCHEMA,
    WITHOUT,
    Row,
)

_BATCH = 256
"""The rows of `runs` that are written to one file."""
_BATCH_SECONDS = 10.0
"""The longest time that they wait: so much work is done again after the client is killed."""
_LISTED = 1_000
"""The failures that a result lists; the store has all."""
_PASSING = ("changed", "lost", "refused")
"""Failures that say nothing about the input: such a task runs again."""
_COUNTS = ("structs", "kept", "at_risk", "broken", "unknown", "problems")
_KNOWN = (
    "key", "input", "size", "ended", "outcome", "failure", "message", *_COUNTS, "judged",
)  # fmt: skip


class Known(Record, frozen=True):
    """The rows of a key in the store."""

    outcome: str
    failure: str | None
    message: str | None
    counts: tuple[int, ...]
    judged: tuple[str, ...]


class Request(Record, frozen=True):
    """The inputs, the plan and the limits of a survey."""

    inputs: Sequence[str]
    plan: Plan
    limits: Limits
    retries_failed: bool = False
    """Whether tasks that did not complete run again."""
    repeats: bool = False
    """Whether all tasks run again."""
    ignores_missing: bool = False
    progress: Progress = no_progress


def plan_of(packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options) -> Plan:
    """Return the plan of a survey; the mode of `options` is a Survey.

    Raises ReadError if the base BTF cannot be read.
    """
    base = options.read.btf_base
    content = None if base is None else identity.identify(base, content_digest).digest
    read = replace(options.read, progress=no_progress, jobs=1)
    options = replace(
        options,
        read=read,
        strictness=replace(options.strictness, ignore_missing=True),
    )
    deciding = replace(
        options,
        read=replace(read, cache=False, jobs=0, btf_base=content),
        intents=replace(options.intents, today=None),
        strictness=replace(options.strictness, allow_unknown=False),
    )
    words = (STORE_SCHEMA, __version__, keys.canonical((packs, kernel_packs, deciding)))
    digest = hashlib.sha256("\n".join(words).encode(errors="surrogatepass")).hexdigest()[:32]
    return Plan(packs, kernel_packs, options, digest)


def survey(request: Request, store: Store, executor: Executor) -> SurveyResult:
    """Run the tasks that the store lacks. Raises UsageError if it cannot be written, and ReadError."""
    return _Client(request, store).run(executor)


class _Client:
    """A running survey. Its memory grows with the number of inputs, by some hundred bytes for each."""

    def __init__(self, request: Request, store: Store) -> None:
        self._request, self._store = request, store
        self._known: dict[bytes, Known] = {}
        self._latest: dict[bytes, bytes] = {}
        """The key of the latest run of each input, by a digest of its name."""
        self._read_runs()
        self._digests = FileDigests(store)
        self._waiting: dict[bytes, list[tuple[str, Identity]]] = {}
        """By key, the inputs with the content of a task that runs."""
        self._started = time.monotonic()
        self._log = RowLog(store, RUNS, _BATCH, _BATCH_SECONDS)
        self._tally = _Tally()

    def _read_runs(self) -> None:
        """Read what the store has. Raises ReadError."""
        records: dict[Known, Known] = {}
        ended: dict[bytes, datetime] = {}
        for row in self._store.rows(RUNS, _KNOWN):
            key, name = bytes.fromhex(row["key"]), _digest_of(row["input"])
            if name in ended and ended[name] > row["ended"]:
                continue
            ended[name] = row["ended"]
            self._latest[name] = key
            known = _known_run(row)
            self._known[key] = records.setdefault(known, known)

    def run(self, executor: Executor) -> SurveyResult:
        """Run the tasks, and return what became of them."""
        outcomes: Generator[Outcome] = executor.run(self._tasks())
        try:
            for outcome in outcomes:
                self._finish(outcome)
        finally:
            outcomes.close()
            self._log.flush()
            self._digests.flush()
        return self._tally.result(self._request, self._store, time.monotonic() - self._started)

    def _tasks(self) -> Iterator[Task]:
        """Yield the tasks that have to run; inputs that the store has are counted."""
        request = self._request
        names = dict.fromkeys(request.inputs)
        for number, name in enumerate(names):
            request.progress("surveying", number, len(names))
            content = identity.identify(name, self._digests.digest, self._store.by_build_id)
            key = _key_of(request.plan, content.digest)
            if key in self._waiting:
                self._waiting[key].append((name, content))
            elif self._is_present(key, content):
                self._reuse(name, content, key)
            else:
                self._waiting[key] = []
                place = name, os.getcwd(), self._store
                work = Assignment(
                    request.plan, key.hex(), *place, content.file, content.state, content.size
                )
                yield Task(name, survey_input, work, request.limits)
        request.progress("surveying", len(names), len(names))

    def _is_present(self, key: bytes, content: Identity) -> bool:
        known = self._known.get(key)
        if known is None or not content.is_whole or self._request.repeats:
            return False
        is_final = not self._request.retries_failed and known.failure not in _PASSING
        return known.outcome == COMPLETE or is_final

    def _finish(self, outcome: Outcome) -> None:
        """Note the end of a task, for all inputs with its content. Raises UsageError."""
        work: Assignment = outcome.task.argument
        if isinstance(outcome.value, Summary) and outcome.value.unwritable is not None:
            raise UsageError(outcome.value.unwritable)
        row = _row(work.name, work.key, work.size, work.plan) | _outcome_row(outcome)
        key = bytes.fromhex(work.key)
        self._known[key] = _known_run(row)
        self._tally.add(row, is_new=True)
        self._note(row, key)
        for name, content in self._waiting.pop(key):
            self._reuse(name, content, key)

    def _reuse(self, name: str, content: Identity, key: bytes) -> None:
        """Count an input whose rows the store has; note it there unless its latest run is the same."""
        known = self._known[key]
        row = _row(name, key.hex(), content.size, self._request.plan) | {"reused": True}
        row |= {"outcome": known.outcome, "failure": known.failure, "message": known.message}
        row |= dict(zip(_COUNTS, known.counts, strict=True)) | {"judged": list(known.judged)}
        self._tally.add(row, is_new=False)
        if self._latest.get(_digest_of(name)) != key:
            self._note(row, key)

    def _note(self, row: Row, key: bytes) -> None:
        self._latest[_digest_of(row["input"])] = key
        self._log.add(row)


class _Tally:
    """The numbers of a survey, added up while it runs."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._judged: set[str] = set()
        self._failures: list[FailedInput] = []
        self._seconds = self._processor_seconds = 0.0
        self._memory = 0

    def add(self, row: Row, is_new: bool) -> None:
        """Add one input."""
        self._counts.update({name: row[name] for name in (*_COUNTS, "cache_hits", "cache_misses")})
        self._counts["new" if is_new else "present"] += 1
        self._counts["retried"] += row["attempts"] > 1
        self._outcomes[row["outcome"]] += 1
        self._judged.update(row["judged"])
        self._seconds += row["seconds"]
        self._processor_seconds += row["processor_seconds"]
        self._memory = max(self._memory, row["memory"])
        if row["outcome"] in GAPS:
            failed = FailedInput(
                row["input"], row["outcome"], row["failure"], row["message"] or "", row["attempts"]
            )
            self._failures.append(failed)
            if len(self._failures) > 2 * _LISTED:
                self._failures = _listed_failures(self._failures)

    def result(self, request: Request, store: Store, seconds: float) -> SurveyResult:
        """Return what the survey did."""
        counts = self._counts
        own = {rule.id for pack in request.plan.packs for rule in pack.rules if not rule.shipped}
        return SurveyResult(
            store=store.path,
            inputs=counts["new"] + counts["present"],
            new=counts["new"],
            present=counts["present"],
            outcomes=Outcomes(*(self._outcomes[name] for name in OUTCOMES)),
            verdicts=Verdicts(*(counts[each.value.replace("-", "_")] for each in Verdict)),
            structs=counts["structs"],
            failures=tuple(_listed_failures(self._failures)),
            unjudged=tuple(sorted(own - self._judged)),
            retried=counts["retried"],
            seconds=seconds,
            task_seconds=self._seconds,
            processor_seconds=self._processor_seconds,
            memory=self._memory,
            cache_hits=counts["cache_hits"],
            cache_misses=counts["cache_misses"],
            fails_at_risk=request.plan.options.strictness.fail_on is Verdict.AT_RISK,
            allows_unknown=request.plan.options.strictness.allow_unknown,
            ignores_missing=request.ignores_missing,
        )


def _listed_failures(failures: list[FailedInput]) -> list[FailedInput]:
    return heapq.nsmallest(_LISTED, failures, key=lambda failed: failed.input)


def _row(name: str, key: str, size: int | None, plan: Plan) -> Row:
    """Return a row of `runs` for a task that did nothing yet."""
    return {
        "key": key, "input": plain_text(name), "size": size, "rules": plan.digest, "version": __version__,
        "ended": datetime.now(UTC), "outcome": COMPLETE, "failure": None, "message": None, "reused": False,
        **dict.fromkeys(_COUNTS, 0), "judged": [], "seconds": 0.0, "processor_seconds": 0.0, "memory": 0,
        "attempts": 0, "cache_hits": 0, "cache_misses": 0,
    }  # fmt: skip


def _outcome_row(outcome: Outcome) -> Row:
    """Return what a row of `runs` says about a task that ran."""
    cost = {
        "seconds": outcome.seconds,
        "processor_seconds": outcome.processor_seconds,
        "memory": outcome.memory,
        "attempts": outcome.attempts,
    }
    if outcome.failure is not None:
        message = plain_text(outcome.failure.message)
        return cost | {"outcome": FAILED, "failure": outcome.failure.kind, "message": message}
    summary: Summary = outcome.value
    failure = "changed" if summary.is_changed else "unread" if summary.is_unread else None
    ending = FAILED if failure else INCOMPLETE if summary.problems else COMPLETE
    if summary.lacks_debug_information:
        failure, ending = None, WITHOUT
    counts = {name: getattr(summary, name) for name in (*_COUNTS, "cache_hits", "cache_misses")}
    ended = {"outcome": ending, "failure": failure, "message": summary.message}
    return cost | counts | ended | {"judged": list(summary.judged)}


def _known_run(row: Row) -> Known:
    counts = tuple(row[name] for name in _COUNTS)
    return Known(row["outcome"], row["failure"], row["message"], counts, tuple(row["judged"]))


def _key_of(plan: Plan, content: str) -> bytes:
    return hashlib.sha256(f"{content}\n{plan.digest}".encode()).digest()[:16]


def _digest_of(name: str) -> bytes:
    return hashlib.blake2b(plain_text(name).encode(), digest_size=12).digest()
