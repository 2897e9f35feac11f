"""Writing output files: refused before anything is read, and written whole or not at all.

A hostile tree can contain a link with the name of a report, so links are not followed. A report replaces
neither a file that is read nor another report.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from stat import S_ISBLK, S_ISCHR, S_ISDIR, S_ISFIFO, S_ISLNK, S_ISREG

from layoutlint import files
from layoutlint.errors import UsageError

_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d{1,4})")
_STREAMS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
_SOURCES = (".c", ".h", ".toml", ".ko", ".o")
"""Suffixes of files that are read, and that no report has."""


def refuse(paths: Iterable[str], read: Iterable[str] = ()) -> None:
    """Raise UsageError for a path that cannot be written, that is read, or that is given twice."""
    read_files = {key: path for path in read if (key := _identity(_file_of(path))) is not None}
    names: dict[object, str] = {}
    for path in paths:
        _refuse_unwritable(path)
        is_descriptor = _descriptor(path) is not None
        key = _identity(path)
        if key in read_files:
            raise UsageError(f"cannot write {path}: it is the same file as {read_files[key]}, which is read")
        place = path if is_descriptor else _place(path)
        other = names.get(place) or (names.get(key) if key is not None else None)
        if other is not None and not _is_device(path):
            raise UsageError(f"cannot write {path}: it is the same file as {other}, which is written as well")
        names[place] = path
        if key is not None:
            names[key] = path


def _file_of(path: str) -> str:
    """Return the archive in `ARCHIVE:MEMBER`, if that is a file; the path itself for others."""
    at = -1 if os.path.lexists(path) else path.find(":")
    while at > 0:
        if os.path.isfile(path[:at]):
            return path[:at]
        at = path.find(":", at + 1)
    return path


def refuse_page(path: str, read: Iterable[str]) -> None:
    """Raise UsageError for a page that cannot be written, or that would replace an input or a source."""
    refuse((path,), read)
    refuse_source(path)


def refuse_source(path: str) -> None:
    """Raise UsageError if a report would replace a source, a rule file or a binary."""
    if not os.path.isfile(path) or _descriptor(path) is not None:
        return
    if path.lower().endswith(_SOURCES) or _start(path).startswith(b"\x7fELF"):
        raise UsageError(f"cannot write {path}: it exists, and is not a report; remove it first")


def write_whole(path: str, text: str) -> None:
    """Write a whole file or none: first to a temporary file beside it. Raise UsageError.

    An existing file keeps its permissions.
    """
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: str, data: bytes) -> None:
    """Write a whole file or none, as `write_whole`, with bytes that need not be UTF-8."""
    try:
        _refuse_unwritable(path)
        if (descriptor := _descriptor(path)) is not None:
            _write_all(os.dup(descriptor), data)
        elif _is_device(path):
            _write_all(os.open(path, os.O_WRONLY | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC), data)
        else:
            _replace(path, data)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {files.error_reason(error)}") from error


def write_beside(path: str, temporary: str, data: bytes) -> None:
    """Write a new file that can replace another one in its folder, with its permissions. Raise UsageError.

    The content is on the disk then.
    """
    try:
        _refuse_unwritable(path)
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(file, "wb") as stream:
            os.fchmod(file, _permissions(path))
            stream.write(data)
            stream.flush()
            os.fsync(file)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {files.error_reason(error)}") from error


def write_new(path: str, text: str) -> None:
    """Write a whole new file or none; raise UsageError, also if the file exists."""
    import tempfile  # only runs that write files need it

    folder, name = os.path.split(path)
    try:
        _refuse_unwritable(path)
        file, temporary = tempfile.mkstemp(prefix=f".{name[:50]}.", dir=folder or ".")
        try:
            os.fchmod(file, _permissions(path))
            _write_all(file, text.encode("utf-8", "backslashreplace"))
            os.link(temporary, path)  # unlike a rename, fails if the file exists by now
        finally:
            os.unlink(temporary)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {files.error_reason(error)}") from error


def _replace(path: str, data: bytes) -> None:
    import tempfile  # only runs that write files need it

    folder, name = os.path.split(path)
    file, temporary = tempfile.mkstemp(prefix=f".{name[:50]}.", dir=folder or ".")
    try:
        os.fchmod(file, _permissions(path))
        _write_all(file, data)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _write_all(file: int, data: bytes) -> None:
    with os.fdopen(file, "wb") as stream:
        stream.write(data)


def _permissions(path: str) -> int:
    """Return the permissions of an existing file, or else those of a new one."""
    try:
        return os.lstat(path).st_mode & 0o777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _refuse_unwritable(path: str) -> None:
    descriptor = _descriptor(path)
    try:
        reason = _write_obstacle(path) if descriptor is None else _open_obstacle(descriptor)
    except OSError as error:
        reason = files.error_reason(error)
    except ValueError as error:  # a byte of value 0
        reason = str(error)
    if reason is not None:
        raise UsageError(f"cannot write {path}: {reason}")


def _open_obstacle(descriptor: int) -> str | None:
    os.fstat(descriptor)
    if descriptor < 2:
        return "the report that --format chooses is written there" if descriptor else "it is the input stream"
    return None


def _write_obstacle(path: str) -> str | None:
    """Return the reason why a file cannot be written; None if it can. Raises OSError."""
    folder = os.path.dirname(path)
    if (link := _link_above(folder)) is not None:
        return f"{link} is a symbolic link; give the path that it points to"
    if not S_ISDIR(os.stat(folder or ".").st_mode):
        return "not a directory"
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and S_ISLNK(mode):
        return "it is a symbolic link; give the path that it points to"
    if mode is not None and not S_ISREG(mode) and not S_ISCHR(mode):
        return _kind(mode)
    if (mode is None or S_ISREG(mode)) and not os.access(folder or ".", os.W_OK | os.X_OK):
        return "permission denied"
    return None


def _kind(mode: int) -> str:
    names = ((S_ISDIR, "a directory"), (S_ISFIFO, "a pipe"), (S_ISBLK, "a disk"))
    return f"it is {next((word for is_kind, word in names if is_kind(mode)), 'not a regular file')}"


def _link_above(folder: str) -> str | None:
    """Return the first part of a path that is a symbolic link in a checkout; None if none is.

    Relative paths are those of a checkout. In an absolute one, it begins with the working folder, or with the
    top of a repository: links further out are the user's.
    """
    is_absolute = os.path.isabs(folder)
    prefix, is_checkout = os.sep if is_absolute else "", not is_absolute
    for part in folder.split("/"):
        prefix = os.path.join(prefix, part)
        if part in ("", ".", ".."):
            continue
        if is_checkout and os.path.islink(prefix):
            return prefix
        is_checkout = is_checkout or _is_checkout(prefix)
    return None


def _is_checkout(folder: str) -> bool:
    """Return whether a folder is the working folder, in it, or in a repository."""
    real, working_folder = os.path.realpath(folder), os.path.realpath(os.curdir)
    while real != os.path.dirname(real):
        if real == working_folder or os.path.lexists(os.path.join(real, ".git")):
            return True
        real = os.path.dirname(real)
    return False


def _descriptor(path: str) -> int | None:
    """Return the number of a descriptor of this process that a path names; None for other paths."""
    match = _DESCRIPTOR.fullmatch(os.path.normpath(path))
    return int(match[1]) if match else _STREAMS.get(os.path.normpath(path))


def _is_device(path: str) -> bool:
    try:
        return S_ISCHR(os.lstat(path).st_mode)
    except OSError:
        return False


def _identity(path: str) -> tuple[int, int] | None:
    """Return device and number of a file, the same for all its names; None if it does not exist."""
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        return None
    return state.st_dev, state.st_ino


def _place(path: str) -> object:
    """Return a key for a folder and a name in it; the case of letters does not count, as on some systems."""
    folder, name = os.path.split(path)
    return _identity(folder or "."), name.casefold()


def _start(path: str) -> bytes:
    try:
        return files.read_start(path, 4)
    except OSError:
        return b""
