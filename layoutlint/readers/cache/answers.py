"""Dependencies of a kept result: answers of the file system, as plain values, and whether they still hold.

A file is the same if its state is: device, inode, size, and both times in nanoseconds. A file that changed
shortly before it was read could change again without a new time (git's racy rule), so its state proves
nothing. Then, and if the state differs, the SHA-256 of its content decides, if it is known.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable
from typing import Any

from layoutlint import files
from layoutlint.files.accesses import ABSENT, Log, State, kind_of, state_of

Answers = dict[str, Any]
"""Plain values, as `settle` describes them."""

_YOUNG = 2_000_000_000
"""The nanoseconds in which a second change may get the time of the first: FAT counts in 2 seconds."""
_VIRTUAL = ("/proc/", "/sys/", "/dev/")
"""File systems whose states are no sign of changes."""
_LARGEST_HASHED = 1 << 27
"""The most bytes of a file that are read to compare its digest."""
_LISTING, _KINDS, _LINKED, _CONTENTS = "listing", "kinds", "linked", "contents"
_REAL, _PLAIN = "real", "plain"


def settle(log: Log) -> Answers | None:
    """Return the answers of a log as plain values; None if the result may differ although they hold.

    Answers are grouped by folder. If the state of a folder is the same, so are the kinds of its entries,
    except what links lead to. Keys of a folder, all optional but the first:
    `state`: its state, or None if that proves nothing; `kinds`: entries and their kinds; `linked`: the same
    for links; `listing`: the digest of its entries; `real`: its path without links, and `plain`: entries that
    are no links; `contents`: for each file its name, state or None, and digest or None.
    """
    if log.obstacle is not None:
        return None
    folders: dict[str, dict[str, Any]] = {}

    def folder_of(path: str) -> tuple[dict[str, Any], str]:
        folder, _, name = path.rpartition("/")
        return folders.setdefault(folder or "/", {}), name

    for path, (state, digest) in log.contents.items():
        kept_state = _as_list(state) if is_proof(path, state, log.begun) else None
        if kept_state is None and digest is None:
            return None
        folder, name = folder_of(path)
        folder.setdefault(_CONTENTS, []).append([name, kept_state, digest])
    for path, kind in log.kinds.items():
        folder, name = folder_of(path)
        is_link = kind != ABSENT and os.path.islink(path)
        folder.setdefault(_LINKED if is_link else _KINDS, {})[name] = kind
    for path, digest in log.listings.items():
        folders.setdefault(path, {})[_LISTING] = digest
    links = []
    for path, real in log.real_paths.items():
        folder, name = folder_of(path)
        if name and real.rpartition("/")[2] == name:
            above = folder.get(_REAL) or os.path.realpath(path.rpartition("/")[0] or "/")
            if real == os.path.join(above, name):
                folder[_REAL] = above
                folder.setdefault(_PLAIN, []).append(name)
                continue
        links.append([path, real])
    for path, folder in folders.items():
        folder["state"] = _folder_state(path, log.begun)
    same = _same_files(log.contents.items())
    return {"folders": folders, "links": links, "states": list(log.states.items()), "same": same}


def log_answers(answers: Answers, log: Log) -> None:
    """Add answers that hold to a log."""
    for path, folder in answers["folders"].items():
        at = "" if path == "/" else path
        for name, state, digest in folder.get(_CONTENTS, ()):
            now = tuple(state) if state is not None else _state(f"{at}/{name}")
            if now is None:
                log.obstacle = f"{at}/{name} changed while it was read"
            else:
                log.add_content(f"{at}/{name}", now, digest)
        for name, kind in (*folder.get(_KINDS, {}).items(), *folder.get(_LINKED, {}).items()):
            log.add_kind(f"{at}/{name}", kind)
        if _LISTING in folder:
            log.listings[path] = folder[_LISTING]
        for name in folder.get(_PLAIN, ()):
            log.real_paths[f"{at}/{name}"] = os.path.join(folder[_REAL], name)
    log.real_paths.update(answers["links"])
    log.states.update((path, None if state is None else tuple(state)) for path, state in answers["states"])


def _same_files(contents: Iterable[tuple[str, tuple[State, object]]]) -> list[list[str]]:
    """Return the paths that lead to one file, for each file with several: `#pragma once` compares them."""
    paths: dict[tuple[int, int], list[str]] = {}
    for path, (state, _) in contents:
        paths.setdefault(state[:2], []).append(path)
    return sorted(sorted(several) for several in paths.values() if len(several) > 1)


def is_proof(path: str, state: State, begun: int) -> bool:
    """Return whether a file of this state cannot have changed since a time without getting another state."""
    return max(state[3], state[4]) + _YOUNG < begun and not path.startswith(_VIRTUAL)


def _folder_state(path: str, begun: int) -> State | None:
    state = _state(path)
    return state if state is not None and is_proof(f"{path}/", state, begun) else None


def _state(path: str) -> State | None:
    try:
        return state_of(os.stat(path))
    except (OSError, ValueError):
        return None


class Check:
    """Whether answers still hold; `answers` then have the states of today."""

    def __init__(self, answers: Answers) -> None:
        self._begun = time.time_ns()
        self._answers = answers
        self.is_renewed = False
        """Whether states changed and contents did not."""

    def holds(self) -> bool:
        """Return whether the file system answers the same."""
        answers = self._answers
        return (
            all(_as_list(_state(path)) == _as_list(state) for path, state in answers["states"])
            and all(os.path.realpath(path) == real for path, real in answers["links"])
            and all(self._folder_holds(path, folder) for path, folder in answers["folders"].items())
            and (not self.is_renewed or self._files_are_distinct())
        )

    def _folder_holds(self, path: str, folder: dict[str, Any]) -> bool:
        kept, state = folder["state"], _state(path)
        if kept is None or state is None or list(state) != list(kept):
            if not _entries_hold(path, folder):
                return False
            proved = _folder_state(path, self._begun)
            if proved != kept:
                folder["state"], self.is_renewed = proved, True
        if _REAL in folder and os.path.realpath(path) != folder[_REAL]:
            return False
        if any(kind_of(f"{path}/{name}") != kind for name, kind in folder.get(_LINKED, {}).items()):
            return False
        return self._contents_hold(path, folder.get(_CONTENTS, ()))

    def _contents_hold(self, folder: str, contents: list[list[Any]]) -> bool:
        stat = os.stat
        for content in contents:
            name, kept, digest = content
            path = f"{folder}/{name}"
            try:
                now = stat(path)
            except (OSError, ValueError):
                return False
            state = [now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns]
            if state != kept:
                if digest is None or _digest(path) != digest:
                    return False
                content[1] = state if is_proof(path, state_of(now), self._begun) else None
                self.is_renewed = self.is_renewed or content[1] != kept
        return True

    def _files_are_distinct(self) -> bool:
        """Return whether the same paths lead to one file as before."""
        log = Log()
        log_answers(self._answers, log)
        return log.obstacle is None and _same_files(log.contents.items()) == self._answers["same"]


def _entries_hold(path: str, folder: dict[str, Any]) -> bool:
    """Return whether the entries of a folder have the same kinds, one by one."""
    if any(kind_of(f"{path}/{name}") != kind for name, kind in folder.get(_KINDS, {}).items()):
        return False
    if any(os.path.islink(f"{path}/{name}") for name in folder.get(_PLAIN, ())):
        return False
    return _LISTING not in folder or folder[_LISTING] == _listing(path)


def _as_list(state: Iterable[int] | None) -> list[int] | None:
    """Return a state in the form that JSON has for it."""
    return None if state is None else list(state)


def _listing(path: str) -> str | None:
    try:
        return files.digest_of_folder(path)
    except OSError:
        return None


def _digest(path: str) -> str | None:
    """Return the SHA-256 of a file; None if it cannot be read, or is too large."""
    try:
        return hashlib.sha256(files.read_all(path, _LARGEST_HASHED)).hexdigest()
    except OSError:
        return None
