"""A folder with a patch applied, beside the original: what a patch series makes of a source tree."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.revisions import git

_MOST_FILES = 300_000
_LARGEST_FILE = 1 << 24
_LARGEST_PATCH = 1 << 26
_UNPACKED_SIZE = re.compile(rb"^(?:literal|delta) ([0-9]+)\r?$", re.MULTILINE)
"""The size to which a part of a binary patch unpacks (git-apply(1), `--binary`)."""
_MOST_PARTS = 2_000
_HEADER = re.compile(
    rb"^diff --git (.+?)\r?\n"
    rb"(?=index |old mode |new mode |new file |deleted file |similarity |dissimilarity |rename |copy |--- )",
    re.MULTILINE,
)
"""The first line of a file's patch; the next line tells it from text of a mail."""
_MOVED = re.compile(rb"^(?:rename|copy) from (.+?)\r?$", re.MULTILINE)
"""A path whose content a patch takes, of which `git apply --numstat` gives the new path alone."""


_BINARY = re.compile(
    rb"^diff --git (.+?)\r?\n"
    rb"(?:(?:index|old mode|new mode|new file|deleted file|similarity|dissimilarity|rename|copy) [^\n]*\n)++"
    rb"Binary files [^\n]* differ\r?\n",
    re.MULTILINE,
)
"""A file's patch without its content, as `git diff` writes it for a binary file."""
_BEGINS = re.compile(rb"^(?:diff --git|---|\+\+\+) ", re.MULTILINE)
"""A line without which a text changes no file."""


def apply(patch: str, shown: str, original: str, folder: str, is_wanted: Callable[[str], bool]) -> None:
    """Fill an empty folder with the wanted files of another one, and apply a patch to them.

    `patch` is the path of a copy of the patch, which is overwritten, `shown` its name in messages. Unchanged
    files are linked if the file system can. Raises ReadError for a patch that does not apply, or a folder
    with too many files.
    """
    text = _drop_binary_files(files.read_all(patch, _LARGEST_PATCH), shown, is_wanted)
    touched: set[str] = set()
    words: tuple[str, ...] = ()
    if text is not None:
        _refuse_large_parts(text, shown)
        words = _strip_option(text)
        _write(patch, text)
        touched = {*git.patched_paths(patch, shown, *words), *map(os.fsdecode, _MOVED.findall(text))}
        if not _any_ends_in_cr(original, touched):
            text = _without_mailed_cr(text)

    def is_needed(path: str) -> bool:
        return path in touched or is_wanted(path)

    try:
        for number, path in enumerate(_paths(original, is_needed)):
            if number == _MOST_FILES:
                raise ReadError(original, f"has more than the {_MOST_FILES:,} files to read that are allowed")
            source, target = os.path.join(original, path), os.path.join(folder, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if files.is_link(source):
                os.symlink(_link_target(source, original, is_needed), target)
            elif path in touched or not _link(source, target):
                shutil.copyfile(source, target)
    except OSError as error:
        raise ReadError(original, f"cannot be copied: {files.error_reason(error)}") from error
    parts = [] if text is None else _parts(text)
    if len(parts) > _MOST_PARTS:
        raise ReadError(shown, f"changes files again more than the {_MOST_PARTS:,} times that are allowed")
    for part in parts:
        _write(patch, part)
        git.apply_patch(patch, shown, folder, *words)


def _write(path: str, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)


def _drop_binary_files(text: bytes, shown: str, is_wanted: Callable[[str], bool]) -> bytes | None:
    """Return a patch without binary files whose content it lacks; None if it changes no others.

    `git apply` refuses them. Raises ReadError for a wanted file.
    """

    def drop(part: re.Match[bytes]) -> bytes:
        wanted = sorted(filter(is_wanted, map(os.fsdecode, _header_names(part[1]))))
        if wanted:
            reason = f"lacks the content of {wanted[0]}, a binary file for git"
            raise ReadError(shown, f"{reason}; write it by `git diff --binary`")
        return b""

    rest, number = _BINARY.subn(drop, text)
    return None if number and not _BEGINS.search(rest) else rest


def _strip_option(text: bytes) -> tuple[str, ...]:
    """Return the option for a patch whose paths have no prefix (`git diff --no-prefix`): both are equal."""
    names = (header[1] for header in _HEADER.finditer(text))
    return ("-p0",) if any(name[: len(name) // 2] == name[len(name) // 2 + 1 :] for name in names) else ()


def _any_ends_in_cr(original: str, paths: Iterable[str]) -> bool:
    """Return whether a line of any of the files ends in CR and LF; files that cannot be read have none."""
    for path in paths:
        try:
            if b"\r\n" in files.read_start(os.path.join(original, path), _LARGEST_FILE):
                return True
        except OSError:
            continue
    return False


def _without_mailed_cr(text: bytes) -> bytes:
    """Return a patch without the CRs that a mail program put in front of each LF: git has none in headers."""
    return text.replace(b"\r\n", b"\n") if text.count(b"\n") == text.count(b"\r\n") else text


def _parts(text: bytes) -> list[bytes]:
    """Divide a series so that no part changes a file twice.

    `git apply` removes the old files of all its patches before it writes the new ones, so a file that one
    patch changes and a later one renames or deletes would stay.
    """
    starts = [0]
    changed: set[bytes] = set()
    for header in _HEADER.finditer(text):
        names = _header_names(header[1])
        if not changed.isdisjoint(names):
            starts.append(header.start())
            changed.clear()
        changed |= names
    return [text[start:end] for start, end in pairwise((*starts, len(text)))]


def _header_names(text: bytes) -> set[bytes]:
    """Return the old and the new path of `a/OLD b/NEW`, as they are spelled, and further ones if in doubt."""
    half = len(text) // 2
    pairs = [(text[:half], text[half + 1 :])]
    if pairs[0][0].strip(b'"')[2:] != pairs[0][1].strip(b'"')[2:]:
        divider = next((each for each in (b" b/", b' "b/') if each in text), b" ")
        pairs = [text.partition(divider)[::2], text.rpartition(divider)[::2]]
    return {name.strip(b'"').removeprefix(b"a/").removeprefix(b"b/") for pair in pairs for name in pair}


def _refuse_large_parts(text: bytes, shown: str) -> None:
    """Raise ReadError for a binary patch that unpacks to more than a C file may have."""
    for size in _UNPACKED_SIZE.findall(text):
        if len(size) > 9 or int(size) > _LARGEST_FILE:
            raise ReadError(shown, f"has a binary part that unpacks to more than {_LARGEST_FILE:,} bytes")


def _paths(original: str, is_needed: Callable[[str], bool]) -> Iterator[str]:
    """Yield the paths of the files to copy, and of the links."""
    for at, folders, names in files.walk(original):
        folders[:] = [name for name in folders if name != ".git"]
        for name in (*names, *folders):
            whole = os.path.join(at, name)
            path = os.path.relpath(whole, original)
            if files.is_link(whole) or (is_needed(path) and files.is_file(whole)):
                yield path


def _link_target(link: str, top: str, is_needed: Callable[[str], bool]) -> str:
    """Return where the copy of a link leads: to the copy of what it leads to, or to the original."""
    real, real_top = files.real_path(link), files.real_path(top)
    path = os.path.relpath(real, real_top)
    is_copied = not path.startswith("../") and (files.is_folder(real) or is_needed(path))
    return os.path.relpath(real, files.real_path(os.path.dirname(link))) if is_copied else real


def _link(source: str, target: str) -> bool:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        return False
    return True
