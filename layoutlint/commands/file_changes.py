"""Changes of several source files, all of them or none, also if the process is killed meanwhile.

A journal in the user's folder of states names the files before the first temporary one is written, and is
committed when all of them are complete. The next run finishes a committed change, and undoes another one.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from stat import S_IMODE
from typing import NamedTuple

from layoutlint import files
from layoutlint.commands import output_files
from layoutlint.errors import UsageError

_COMMIT = b"commit\n"
_SUFFIX = ".changes"
_LARGEST = 1 << 20
"""The most bytes of a journal."""
_LARGEST_FILE = 1 << 26
"""The most bytes of a changed file."""


class _Change(NamedTuple):
    """A file that gets the content of another one; both contents by their SHA-256."""

    path: str
    temporary: str
    old: str
    new: str


def replace_files(texts: Mapping[str, tuple[bytes, bytes]]) -> None:
    """Replace the old content of each file by its new one, all of them or none.

    Raises UsageError if a file was changed meanwhile, or cannot be written.
    """
    for path, (old, _) in texts.items():
        if _content(path, len(old)) != old:
            raise UsageError(f"{path} was changed while it was read, and is left as it is")
    changes = [_change(path, *contents) for path, contents in texts.items()]
    with _Journal(changes) as journal:
        try:
            for change in changes:
                output_files.write_beside(change.path, change.temporary, texts[change.path][1])
            journal.commit()
        except BaseException:
            _remove(changes)
            raise
        _rename(changes, texts)


def _change(path: str, old: bytes, new: bytes) -> _Change:
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name[:50]}.{secrets.token_hex(4)}")
    return _Change(path, temporary, _digest(old), _digest(new))


def _rename(changes: Sequence[_Change], texts: Mapping[str, tuple[bytes, bytes]]) -> None:
    """Put all new files in the place of the old ones; if one fails, put the others back."""
    done: list[str] = []
    try:
        for change in changes:
            os.replace(change.temporary, change.path)
            done.append(change.path)
    except BaseException as error:
        _remove(changes)
        for path in done:
            output_files.write_bytes(path, texts[path][0])
        if isinstance(error, OSError):
            raise UsageError(f"cannot write {change.path}: {files.error_reason(error)}") from error
        raise
    for folder in {os.path.dirname(change.path) for change in changes}:
        _sync_folder(folder)


def _remove(changes: Sequence[_Change]) -> None:
    for change in changes:
        with suppress(OSError):
            os.unlink(change.temporary)


class _Journal:
    """The record of a change that is being made; without a folder for it, there is none.

    It is locked while its process runs.
    """

    def __init__(self, changes: Sequence[_Change]) -> None:
        self._changes = changes
        self._path: str | None = None
        self._file = -1

    def __enter__(self) -> _Journal:
        folder = _folder(create=True)
        if folder is None:
            return self
        name = os.path.join(folder, secrets.token_hex(8))
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
            self._file = os.open(name, flags, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX)
            os.write(self._file, json.dumps([list(change) for change in self._changes]).encode() + b"\n")
            os.fsync(self._file)
            os.rename(name, name + _SUFFIX)
            self._path = name + _SUFFIX
            _sync_folder(folder)
        except OSError as error:
            raise UsageError(f"cannot write {name}: {files.error_reason(error)}") from error
        return self

    def commit(self) -> None:
        """Record that all new contents are complete on the disk."""
        for folder in {os.path.dirname(change.path) for change in self._changes}:
            _sync_folder(folder)
        if self._path is not None:
            os.write(self._file, _COMMIT)
            os.fsync(self._file)

    def __exit__(self, *_: object) -> None:
        if self._path is not None:
            os.unlink(self._path)
            os.close(self._file)


def finish_interrupted() -> Iterator[str]:
    """Finish or undo the changes of processes that were killed; yield what was done, in sentences."""
    folder = _folder(create=False)
    for name in sorted(os.listdir(folder)) if folder is not None else ():
        if not name.endswith(_SUFFIX):
            continue
        path = os.path.join(folder or "", name)
        with suppress(OSError):
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            with os.fdopen(file, "rb") as stream:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while its process runs
                changes, is_committed = _parse(stream.read(_LARGEST))
                if is_committed:
                    yield from _finish(changes)
                elif any(os.path.lexists(change.temporary) for change in changes):
                    _remove(changes)
                    names = ", ".join(change.path for change in changes)
                    yield f"an earlier run was killed before it changed {names}: nothing was changed"
                os.unlink(path)


def _parse(data: bytes) -> tuple[list[_Change], bool]:
    """Return the changes of a journal, and whether it is committed."""
    line, _, rest = data.partition(b"\n")
    try:
        changes = [_Change(*map(str, each)) for each in json.loads(line)]
    except (ValueError, TypeError):
        return [], False
    return changes, rest == _COMMIT


def _finish(changes: Sequence[_Change]) -> Iterator[str]:
    for change in changes:
        if not os.path.lexists(change.temporary):
            continue
        content = _content(change.path, _LARGEST_FILE)
        if content is not None and _digest(content) == change.old:
            os.replace(change.temporary, change.path)
            _sync_folder(os.path.dirname(change.path))
            yield f"finished the change of {change.path}, during which an earlier run was killed"
        else:
            yield (
                f"an earlier run was killed before it changed {change.path}, which is another text by now: "
                f"the new text is in {change.temporary}"
            )


def _folder(create: bool) -> str | None:
    """Return the folder of journals, by the XDG Base Directory Specification; None if there is none.

    Others may not write there: a journal names files that are replaced.
    """
    folders = (os.environ.get("XDG_STATE_HOME", ""), os.path.join(os.environ.get("HOME", ""), ".local/state"))
    state = next(filter(os.path.isabs, folders), None)
    if state is None:
        return None
    path = os.path.join(state, "layoutlint")
    try:
        if create:
            os.makedirs(path, 0o700, exist_ok=True)
        status = os.lstat(path)
    except OSError:
        return None
    is_safe = os.path.isdir(path) and not os.path.islink(path) and status.st_uid == os.geteuid()
    return path if is_safe and not S_IMODE(status.st_mode) & 0o022 else None


def _content(path: str, most: int) -> bytes | None:
    try:
        return files.read_all(path, most)
    except OSError:
        return None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _sync_folder(folder: str) -> None:
    with suppress(OSError):
        descriptor = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
