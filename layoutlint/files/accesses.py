"""A log of the answers that the file system gives to a run: a cache asks later whether they still hold.

The functions of `files` log what they ask. Nothing is logged unless a log is active. Processes of this run
return theirs with their results (`drain`, `merge`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from stat import S_ISDIR, S_ISREG, S_ISVTX
from typing import Any, ParamSpec, TypeVar

State = tuple[int, int, int, int, int]
"""Device, inode, size in bytes, and the times of the last change of content and of inode in nanoseconds."""
ABSENT, FILE, FOLDER, SHARED, OTHER = "absent", "file", "folder", "shared folder", "other"
"""The kinds of things that a path leads to, through links; users share folders such as /tmp (sticky)."""

_run = 0
"""The number of runs that this process began before: results that `remember` keeps are those of this run."""
_P = ParamSpec("_P")
_R = TypeVar("_R")


def state_of(status: os.stat_result) -> State:
    """Return the identity of a file, and values that change with its content."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def kind_of(path: str) -> str:
    """Return the kind of a path; `absent` if the system refuses to say, as os.path.exists has it."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return ABSENT
    if S_ISDIR(mode):
        return SHARED if mode & S_ISVTX else FOLDER
    return FILE if S_ISREG(mode) else OTHER


class Log:
    """The answers so far; paths are absolute, as they were asked for."""

    def __init__(self, begun: int | None = None, folder: str | None = None) -> None:
        self.begun = time.time_ns() if begun is None else begun
        """The time of the first question, in nanoseconds since 1970."""
        self.folder = os.getcwd() if folder is None else folder
        self.contents: dict[str, tuple[State, str | None]] = {}
        """For each file that was read its state then, and the SHA-256 of what was read, if that is known."""
        self.kinds: dict[str, str] = {}
        self.listings: dict[str, str] = {}
        """For each folder that was listed, the digest of its entries."""
        self.real_paths: dict[str, str] = {}
        self.states: dict[str, State | None] = {}
        """Files whose times, size or permissions decided something."""
        self.shared: dict[Log, None] = {}
        """Logs that other logs share and that can still grow; part of this one at its end."""
        self.obstacle: str | None = None
        """Why the result may differ next time although all answers are the same; None if it cannot."""

    def absolute(self, path: str) -> str:
        """Return the absolute path of a question."""
        return path if path.startswith("/") else f"{self.folder}/{path}"

    def add_content(self, path: str, state: State, digest: str | None = None) -> None:
        """Record the state of a file that is read, and the digest of its whole content."""
        earlier_state, earlier_digest = self.contents.get(path, (state, None))
        if earlier_state != state or (digest and earlier_digest and digest != earlier_digest):
            self.obstacle = f"{path} changed while it was read"
        self.contents[path] = state, digest or earlier_digest

    def add_kind(self, path: str, kind: str) -> None:
        """Record the kind of a path."""
        if self.kinds.setdefault(path, kind) != kind:
            self.obstacle = f"{path} changed while it was read"

    def _add_equal(self, answers: dict[str, Any], more: dict[str, Any]) -> None:
        for path, answer in more.items():
            if answers.setdefault(path, answer) != answer:
                self.obstacle = f"{path} changed while it was read"

    def add(self, other: Log) -> None:
        """Record the answers of another log, which may have begun earlier."""
        self.begun = min(self.begun, other.begun)
        for path, (state, digest) in other.contents.items():
            self.add_content(path, state, digest)
        self._add_equal(self.kinds, other.kinds)
        self._add_equal(self.listings, other.listings)
        self._add_equal(self.real_paths, other.real_paths)
        self._add_equal(self.states, other.states)
        self.obstacle = self.obstacle or other.obstacle

    def leave_out(self, folder: str) -> None:
        """Drop the answers about an absolute folder and what is below it: nobody can ask them again."""
        below = f"{folder}/"
        for answers in (self.contents, self.kinds, self.listings, self.real_paths, self.states):
            for path in [path for path in answers if f"{path}/".startswith(below)]:
                del answers[path]

    def end(self) -> None:
        """Record the answers of shared logs."""
        for log in self.shared:
            self.add(log)
        self.shared = {}

    def plain(self) -> tuple[Any, ...]:
        """Return the answers as plain values, which marshal accepts."""
        paths = self.contents, self.kinds, self.listings, self.real_paths, self.states
        return self.begun, *paths, self.obstacle

    def is_empty(self) -> bool:
        """Return whether nothing was recorded."""
        return not (any(self.plain()[1:]) or self.shared)


_log: Log | None = None


def active_log() -> Log | None:
    """Return the log of this process; None if nothing is logged."""
    return _log


@contextmanager
def log_answers() -> Iterator[Log]:
    """Log the answers in the body of a `with`; at its end an outer log gets them as well."""
    global _log
    outer, log = _log, Log()
    _log = log
    try:
        yield log
    finally:
        _log = outer
        log.end()
        if outer is not None:
            outer.add(log)


class SharedLog:
    """The answers of something that lives longer than one log: each log that uses it gets all of them."""

    def __init__(self) -> None:
        self._log: Log | None = None
        self._is_complete = True

    @contextmanager
    def log_answers(self) -> Iterator[None]:
        """Log the answers in the body of a `with` here, and for the log that is active."""
        global _log
        outer = _log
        if outer is None:
            self._is_complete = False
            yield
            return
        if not self._is_complete:
            outer.obstacle = "some answers were not logged"
        self._log = self._log or Log()
        _log = self._log
        try:
            yield
        finally:
            _log = outer
            outer.shared[self._log] = None


def enter_folder(folder: str) -> None:
    """Change the working folder of this process, to which relative questions refer from now on."""
    os.chdir(folder)
    if _log is not None:
        _log.folder = os.getcwd()


def begin_process() -> None:
    """Begin a log of its own in a process that was forked, if its parent has one."""
    global _log
    if _log is not None:
        _log = Log(_log.begun, _log.folder)


def drain() -> tuple[Any, ...] | None:
    """Return the answers since the last call as plain values, for the parent; None without any."""
    log = _log
    if log is None or log.is_empty():
        return None
    log.end()
    begin_process()
    return log.plain()


def merge(answers: tuple[Any, ...] | None) -> None:
    """Record the answers that another process drained."""
    if _log is not None and answers is not None:
        other = Log(_log.begun, _log.folder)
        other.begun, other.contents, other.kinds, other.listings, *rest = answers
        other.real_paths, other.states, other.obstacle = rest
        _log.add(other)


def refuse(obstacle: str) -> None:
    """Record that the result may differ next time, and why."""
    if _log is not None:
        _log.obstacle = _log.obstacle or obstacle


def begin_run() -> None:
    """Forget what `remember` keeps: files may have changed since the last run of this process."""
    global _run
    _run += 1


def remember(most: int, is_lasting: bool = False) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Return a decorator that keeps the last `most` results of a function that reads files, for this run.

    A call that gets a kept result records the answers that made it. Lasting results are kept for
    later runs of the process, too: of files of the installation, or of arguments with the state of a file.
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        results: dict[Any, tuple[_R, Log | None]] = {}
        run = _run

        @wraps(function)
        def call(*arguments: _P.args, **options: _P.kwargs) -> _R:
            nonlocal run
            if run != _run:
                run = _run
                if not is_lasting:
                    results.clear()
            key = (arguments, tuple(sorted(options.items())))
            kept = results.get(key)
            if kept is None or (kept[1] is None and _log is not None):
                kept = results[key] = _logged_call(function, *arguments, **options)
                if len(results) > most:
                    del results[next(iter(results))]
            elif _log is not None and kept[1] is not None:
                _log.add(kept[1])
            return kept[0]

        return call

    return decorate


def _logged_call(
    function: Callable[_P, _R], *arguments: _P.args, **options: _P.kwargs
) -> tuple[_R, Log | None]:
    """Return the result of a call, with its log if one is active."""
    if _log is None:
        return function(*arguments, **options), None
    with log_answers() as log:
        return function(*arguments, **options), log
