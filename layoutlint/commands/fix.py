"""`layoutlint check --fix`: removes the suppressions from C sources that nothing needs."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator

from layoutlint import files
from layoutlint.commands import output_files
from layoutlint.errors import UsageError
from layoutlint.intent.annotations.removal import NotRemoved, without_suppressions
from layoutlint.judgement.finding import Report, SuppressionUse
from layoutlint.model.record import Record
from layoutlint.revisions import git

_LARGEST = 1 << 24
"""The most bytes of a C file."""


class Fixer(Record):
    """Removes suppressions from files of some inputs that git tracks and that nobody changed meanwhile."""

    inputs: tuple[str, ...]
    sources: tuple[str, ...]
    """The source directories of compiled inputs."""
    top: str
    """The real path of the working tree."""
    tracked: frozenset[str]
    started: int
    """The time before the inputs were read, in nanoseconds."""

    def fix(self, report: Report) -> Iterator[str]:
        """Remove what a report knows to be needless, and yield what was done, and what was not, and why."""
        uses: dict[tuple[str, int, str], list[SuppressionUse]] = defaultdict(list)
        for use in sorted(report.suppressions, key=lambda use: _is_through_link(self._path(use))):
            uses[os.path.realpath(self._path(use)), use.source.line or 0, use.text].append(use)
        by_path: dict[str, list[SuppressionUse]] = defaultdict(list)
        for (path, _, _), same in sorted(uses.items()):
            if not any(use.is_used for use in same):
                by_path[path].append(max(same, key=lambda use: bool(use.doubt)))
        for same_file in by_path.values():
            yield from (_refusal(use, use.doubt) for use in same_file if use.doubt)
            needless = [use for use in same_file if use.is_needless]
            paths = sorted((self._path(use) for use in needless), key=_is_through_link)
            try:
                yield from self._fix_file(paths[0], needless) if paths else ()
            except (NotRemoved, UsageError, OSError) as error:
                reason = files.error_reason(error) if isinstance(error, OSError) else str(error)
                yield from (_refusal(use, reason) for use in needless)

    def _path(self, use: SuppressionUse) -> str:
        """Return the path of the file with a suppression."""
        file = use.source.file
        places = [file, *(os.path.join(folder, file.lstrip("/")) for folder in self.sources)]
        return next((place for place in places if os.path.isfile(place)), file)

    def _fix_file(self, path: str, uses: list[SuppressionUse]) -> Iterator[str]:
        """Rewrite one file whole or not at all; raises NotRemoved, UsageError and OSError."""
        self._refuse(path)
        status = os.stat(path)
        content = files.read_all(path, _LARGEST)
        text = content.decode(errors="surrogateescape")
        text, reasons = without_suppressions(text, map(_place, uses))
        fixed = text.encode(errors="surrogateescape")
        if fixed != content:
            if _state(os.stat(path)) != _state(status):
                raise NotRemoved("the file was changed meanwhile")
            output_files.write_bytes(path, fixed)
        for use in sorted(uses, key=_place):
            reason = reasons.get(_place(use))
            yield _refusal(use, reason) if reason else f"removed `{use.text}` at {use.source}"

    def _refuse(self, path: str) -> None:
        """Raise NotRemoved for a file that is not one of the inputs, not tracked, or changed meanwhile."""
        real = os.path.realpath(path)
        if not any(_is_below(real, folder) for folder in self._folders()):
            raise NotRemoved("the file is not among the inputs")
        inside = os.path.relpath(real, self.top)
        if inside.startswith(os.pardir) or inside not in self.tracked:
            raise NotRemoved("git does not track the file")
        status = os.stat(path)
        if status.st_mtime_ns >= self.started:
            raise NotRemoved("the file was changed meanwhile")
        if not status.st_mode & 0o222 or not os.access(path, os.W_OK):
            raise NotRemoved("the file is read-only")

    def _folders(self) -> Iterator[str]:
        """Yield the real paths of inputs and source directories, and the folder of a compilation database."""
        for path in (*self.inputs, *self.sources):
            real = os.path.realpath(path)
            yield os.path.dirname(real) if real.endswith(".json") else real


def _place(use: SuppressionUse) -> tuple[int, str]:
    return use.source.line or 0, use.text


def _refusal(use: SuppressionUse, reason: str) -> str:
    return f"not removed: `{use.text}` at {use.source}: {reason}"


def _state(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _is_through_link(path: str) -> bool:
    return os.path.realpath(path) != os.path.abspath(path)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def fixer(inputs: Iterable[str], sources: tuple[str, ...], started: int) -> Fixer:
    """Return what removes suppressions from inputs; raises UsageError outside of a git repository."""
    top = git.top_folder("--fix")
    return Fixer(tuple(inputs), sources, top, git.tracked_paths(top), started)


def gaps(report: Report) -> str:
    """Return why nothing may be removed: a part of the inputs was not judged; empty if all was."""
    if report.unread:
        return f"something could not be read: {report.unread[0]}"
    parts = [part for part in report.coverage.not_covered if part.rules]
    return f"something was not covered: {parts[0]}" if parts else ""
