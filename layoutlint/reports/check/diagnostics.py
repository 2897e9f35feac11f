"""The common part of the formats for other tools: one diagnostic for each finding, and for each failure."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterator
from functools import cached_property

from layoutlint.judgement.finding import Finding, Fix, Report
from layoutlint.judgement.messages import finding_advice
from layoutlint.judgement.origin import basis, origin_lines
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.build import Build
from layoutlint.model.record import Record
from layoutlint.model.structs import Source
from layoutlint.reports.finding_phrases import fingerprint, sentence, struct_name

NOT_READ, NOT_COVERED = "not-read", "not-covered"
"""What stands in the place of a rule where an input, or a part of one, was not judged."""


class Diagnostic(Record, frozen=True):
    """One thing that a report has to say about one place."""

    file: str
    line: int | None
    severity: str
    """`error`, `warning` or `note`."""
    rule: str
    message: str
    """One line."""
    advice: str
    struct: str
    """The struct, or empty."""
    identity: str
    """A text that stays the same if lines move, and differs between diagnostics."""
    is_unknown: bool = False
    """Whether something could not be judged."""
    basis: str = ""
    """What a finding rests on, in a word; empty if people only declared the rule, as for most."""
    origins: tuple[str, ...] = ()
    """The same in sentences, one line each."""
    fix: Fix | None = None
    """A safe change that mends it."""

    @property
    def message_with_origins(self) -> str:
        """The message and the origins, in one line."""
        return ". ".join((self.message, *self.origins))

    @property
    def place(self) -> str:
        """The file, with the line if it is known."""
        return self.file if self.line is None else f"{self.file}:{self.line}"


class Repository(Record, frozen=True, dict=True):
    """Where a run stands in the repository, for tools that want paths from its top."""

    top: str = ""
    """The absolute path of the top; empty for none."""
    folder: str = ""
    """The working folder, from the top."""
    list_files: Callable[[], Collection[str]] = tuple
    """Returns the paths of its files, from the top."""
    has_file: Callable[[str], bool] = bool
    """Returns whether there is a file at a path, from the working folder."""

    def path(self, file: str) -> str:
        """Return a path from the top of the repository; as it is for a file outside of it.

        Debug information names files from the folder where the compiler ran: a name that is no file there
        is that of the only file whose path ends with it.
        """
        path = posixpath.normpath(posixpath.join(self.top, self.folder, file)) if self.top else file
        inside = f"{self.top}/"
        if not self.top or not path.startswith(inside):
            return posixpath.normpath(file)
        path = path[len(inside) :]
        if posixpath.isabs(file) or self.has_file(file) or path in self._files:
            return path
        found = [each for each in self._files if each.endswith(f"/{posixpath.normpath(file)}")]
        return found[0] if len(found) == 1 else path

    @cached_property
    def _files(self) -> Collection[str]:
        return self.list_files()


def diagnostics(report: Report) -> Iterator[Diagnostic]:
    """Yield what counts of a report, in its order: findings that nobody accepts, then failures."""
    for finding in report.findings:
        if not finding.is_accepted:
            yield finding_diagnostic(finding, report.builds)
    for unread in report.unread:
        yield _failure(unread.origin, unread.sentence, NOT_READ, unread.place)
    for part in report.coverage.not_covered:
        if part.rules:
            yield _failure(part.origin, part.sentence, NOT_COVERED)


def finding_diagnostic(finding: Finding, builds: tuple[Build, ...]) -> Diagnostic:
    """Return the diagnostic of one finding; `builds` are those of the matrix."""
    place, word = finding.place, basis(finding)
    return Diagnostic(
        place.file,
        place.line,
        finding.rule.severity.value,
        finding.rule.id,
        " ".join(sentence(finding, builds).split()),
        finding_advice(finding),
        struct_name(finding),
        f"{fingerprint(finding)} {place.file}",
        finding.verdict.outcome is Outcome.UNKNOWN,
        "" if word == "declared" else word,
        tuple(origin_lines(finding)),
        finding.fix,
    )


def _failure(origin: str, sentence_of_it: str, rule: str, place: Source | None = None) -> Diagnostic:
    message, at = " ".join(sentence_of_it.split()), place or Source(origin)
    return Diagnostic(at.file, at.line, "error", rule, message, "", "", f"{rule} {origin} {message}", True)
