"""The flags that the Makefile of a folder adds to a kernel source (Documentation/kbuild/makefiles.rst)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from layoutlint.files import accesses
from layoutlint.readers.clang import text_search

_CONTINUED = re.compile(rb"\\\n\s*")
_COMMENT = re.compile(rb"(?:^|\s)#.*")
_ADDS = re.compile(rb"^(subdir-)?ccflags-y\s*(?:\+|:)?=\s*(.*)$", re.MULTILINE)
_WORD = re.compile(r"-[ID]\s*(?:[^\s$]|\$\(\w+\))+")
_VARIABLE = re.compile(r"\$\((\w+)\)")


def added_flags(source: str, top: str) -> tuple[str, ...]:
    """Return the -I and -D of `ccflags-y` for a file below the folder `top`, those of outer folders first.

    The Makefile of the nearest outer folder builds a folder that has none (`xfs-y += libxfs/xfs_ag.o`). Flags
    that depend on an option of the configuration, or on the Makefile's own variables, are left out.
    """
    folders = [os.path.dirname(source)]
    while folders[-1] != top and len(folders[-1]) > len(top):
        folders.append(os.path.dirname(folders[-1]))
    own_folder = next((folder for folder in folders if _has_makefile(folder)), folders[0])
    words = [
        word for folder in reversed(folders) for word in _cached_words(folder, top, folder == own_folder)
    ]
    return tuple(dict.fromkeys(words))


@accesses.remember(1 << 16)
def _cached_words(folder: str, top: str, is_own: bool) -> tuple[str, ...]:
    return tuple(_words(folder, top, is_own))


def _words(folder: str, top: str, is_own: bool) -> Iterator[str]:
    text = _makefile(folder)
    relative = os.path.relpath(folder, top)
    variables = {"srctree": top, "src": relative, "obj": relative}
    for is_inherited, words in _ADDS.findall(_CONTINUED.sub(b" ", text)):
        if not is_inherited and not is_own:
            continue
        for word in _WORD.findall(_COMMENT.sub(b"", words).decode("utf-8", "replace")):
            used_variables = set(_VARIABLE.findall(word))
            if used_variables <= variables.keys():
                yield _resolve(_VARIABLE.sub(lambda match: variables[match[1]], word), top)


@accesses.remember(1 << 16)
def _has_makefile(folder: str) -> bool:
    return bool(_makefile(folder))


def _makefile(folder: str) -> bytes:
    """Return the text of a folder's Makefile; empty if it has none."""
    names = (os.path.join(folder, name) for name in ("Kbuild", "Makefile"))
    return next((text for text in map(text_search.content, names) if text), b"")


def _resolve(word: str, top: str) -> str:
    """Return a flag without blanks after its letter, and with an absolute folder."""
    flag, value = word[:2], word[2:].strip()
    return flag + (os.path.normpath(os.path.join(top, value)) if flag == "-I" else value)
