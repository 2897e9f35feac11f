"""What the Makefile beside a kernel source adds to its flags (Documentation/kbuild/makefiles.rst)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache

from layoutlint.readers.clang import text_search

_CONTINUED = re.compile(rb"\\\n\s*")
_COMMENT = re.compile(rb"(?:^|\s)#.*")
_ADDS = re.compile(rb"^(subdir-)?ccflags-y\s*(?:\+|:)?=\s*(.*)$", re.MULTILINE)
_WORD = re.compile(r"-[ID]\s*(?:[^\s$]|\$\(\w+\))+")
_VARIABLE = re.compile(r"\$\((\w+)\)")


def added(source: str, top: str) -> tuple[str, ...]:
    """The -I and -D of `ccflags-y` for a file below the folder `top`, those of folders above it first.

    Flags that hang on an option of the configuration, and those with variables of the Makefile's own, are
    not among them.
    """
    own = os.path.dirname(source)
    folders = [own]
    while folders[-1] != top and len(folders[-1]) > len(top):
        folders.append(os.path.dirname(folders[-1]))
    found = [word for folder in reversed(folders) for word in _of(folder, top, folder == own)]
    return tuple(dict.fromkeys(found))


@cache
def _of(folder: str, top: str, is_own: bool) -> tuple[str, ...]:
    return tuple(_words(folder, top, is_own))


def _words(folder: str, top: str, is_own: bool) -> Iterator[str]:
    names = (os.path.join(folder, name) for name in ("Kbuild", "Makefile"))
    text = next((text for text in map(text_search.content, names) if text), b"")
    below = os.path.relpath(folder, top)
    known = {"srctree": top, "src": below, "obj": below}
    for is_inherited, words in _ADDS.findall(_CONTINUED.sub(b" ", text)):
        if not is_inherited and not is_own:
            continue
        for word in _WORD.findall(_COMMENT.sub(b"", words).decode("utf-8", "replace")):
            named = set(_VARIABLE.findall(word))
            if named <= known.keys():
                yield _resolved(_VARIABLE.sub(lambda match: known[match[1]], word), top)


def _resolved(word: str, top: str) -> str:
    """A flag without blanks behind its letter, and with folders seen from the root."""
    flag, value = word[:2], word[2:].strip()
    return flag + (os.path.normpath(os.path.join(top, value)) if flag == "-I" else value)
