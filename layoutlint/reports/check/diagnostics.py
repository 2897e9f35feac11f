"""The common part of the formats for other tools: one diagnostic for each finding, and for each failure."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterator
from functools import cached_property

from layoutlint.judgement.finding import Finding, Fix, Report
from layoutlint.judgement.messages import advice_line
from layoutlint.judgement.origin import basis, origin_lines
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.build import Build
from layoutlint.model.record import Record, replace
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
    """What to do, behind a word for what that is: "Fix: ...", or empty."""
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
    folders: frozenset[str] = frozenset()
    """The folders from which debug information names files."""
    has_texts: bool = True
    """Whether an input is no debug information, and names files from the working folder."""

    def path(self, file: str) -> str:
        """Return a path from the top of the repository; as it is for a file outside of it."""
        if not self.top:
            return posixpath.normpath(file)
        if file not in self._paths:
            self._paths[file] = self._find(file)
        return self._paths[file]

    def _find(self, file: str) -> str:
        here = self._below_top(posixpath.join(self.top, self.folder, file))
        if posixpath.isabs(file) or file.endswith(".toml") or not self.folders:  # no name of a compiler
            return here or posixpath.normpath(file)
        compiled = {self._compiled_path(folder, file) for folder in self.folders} - {""}
        if self.has_texts and here in self._files:
            compiled.add(here)
        return compiled.pop() if len(compiled) == 1 else here or posixpath.normpath(file)

    def _compiled_path(self, folder: str, file: str) -> str:
        """Return a file of the repository that a compiler in a folder named; empty for none.

        The repository can have been elsewhere then: the path of one of its files is the end of that path.
        """
        path = posixpath.normpath(posixpath.join(folder, file))
        inside = self._below_top(path)
        if inside:
            return inside if inside in self._files else ""
        steps = path.strip("/").split("/")
        longer = range(len(steps) - len(posixpath.normpath(file).split("/")))
        ends = ("/".join(steps[number:]) for number in longer)
        return next((end for end in ends if end in self._files), "")

    def _below_top(self, path: str) -> str:
        path, inside = posixpath.normpath(path), f"{self.top}/"
        return path[len(inside) :] if path.startswith(inside) else ""

    @cached_property
    def _files(self) -> Collection[str]:
        return self.list_files()

    @cached_property
    def _paths(self) -> dict[str, str]:
        return {}


def locate(report: Report, repository: Repository | None) -> Repository:
    """Return the repository with what the inputs of a report tell of the names of files."""
    folders = frozenset[str]().union(*(reading.folders for reading in report.readings))
    has_texts = any(not reading.folders for reading in report.readings)
    return replace(repository or Repository(), folders=folders, has_texts=has_texts)


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
        advice_line(finding),
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
