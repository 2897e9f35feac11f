"""How the source of an input aligns declarations, for advice in its own words."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from layoutlint import files
from layoutlint.model.aligner import ATTRIBUTE, LINUX, PLAIN, Aligner
from layoutlint.model.reading import Reading

_MOST_FILES = 3_000
_LARGEST = 1 << 20
"""The most bytes of a header."""
_SYSTEM = re.compile(r"/usr/include(?:/(?:[\w.]*-linux-gnu\w*|bits|sys|linux|asm\w*)(?:/.*)?)?")
"""Folders of the C library and of Linux, which have no macro for programs."""
_DEFINITION = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\((\w+)\))?[ \t]+([^\n\\]{1,200})$", re.MULTILINE
)
_USE = re.compile(r"\b\w++(?=\()")
_ALIGNED = re.compile(r"\baligned\b|\b_?[Aa]lignas\b|_aligned\(")


def source_aligner(reading: Reading, sources: tuple[str, ...]) -> Aligner:
    """Return what aligns declarations: Linux's macros, the project's macro in its headers, or plain C.

    The headers are those beside the files that define structs, and below the source directories. A macro with
    an argument counts if another header uses it; others can belong to a library.
    """
    if reading.is_kernel:
        return LINUX
    defining: dict[str, str] = {}
    using: dict[str, set[str]] = {}
    for path in _headers(reading, sources):
        text = _text(path)
        for name in set(_USE.findall(text)):
            if "align" in name.lower():
                using.setdefault(name, set()).add(path)
        for name, parameter, body in _DEFINITION.findall(text):
            if not _ALIGNED.search(body):
                continue
            if not parameter and "cache" in name.lower() and "align" in name.lower():
                return _of_macro(str(name), is_attribute="_Alignas" not in body and "alignas" not in body)
            if parameter and re.fullmatch(rf"__attribute__\s*\(\(_*aligned_*\({parameter}\)\)\)\s*", body):
                defining.setdefault(name, path)
    used = (name for name, path in defining.items() if using.get(name, set()) - {path})
    return next((Aligner(sized=f"{name}({{}})", is_attribute=True) for name in used), PLAIN)


def _of_macro(name: str, is_attribute: bool) -> Aligner:
    return Aligner(name, ATTRIBUTE, True) if is_attribute else Aligner(name)


def _headers(reading: Reading, sources: tuple[str, ...]) -> Iterator[str]:
    defining = (struct.source.file for struct in reading.structs if struct.source is not None)
    folders = dict.fromkeys(os.path.dirname(os.path.abspath(file)) for file in defining)
    below = (folder for source in sources for folder, _, _ in files.walk(source))
    count = 0
    for folder in dict.fromkeys((*folders, *below) if reading.reader == "clang" else below):
        if _SYSTEM.fullmatch(folder):
            continue
        for name in _header_names(folder):
            count += 1
            if count > _MOST_FILES:
                return
            yield os.path.join(folder, name)


def _header_names(folder: str) -> Iterable[str]:
    try:
        return [name for name in files.names_in(folder) if name.endswith(".h")]
    except OSError:
        return ()


def _text(path: str) -> str:
    try:
        return files.read_all(path, _LARGEST).decode("latin-1")
    except OSError:
        return ""
