"""The sources of a kernel that its configuration builds (Documentation/kbuild/makefiles.rst)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from layoutlint import files
from layoutlint.readers.clang import text_search
from layoutlint.readers.clang.kernel.tree import Tree

_CONTINUED = re.compile(rb"\\\n\s*")
_ASSIGNMENT = re.compile(
    r"^[ \t]*([\w.-]+?)-(y|m|objs|\$\((?:subst m,y,)?\$?\(?CONFIG_(\w+)\)+)[ \t]*[:+]?=[ \t]*(.*)$",
    re.MULTILINE,
)
_PREFIXED = re.compile(r"\$\(addprefix\s+([^,\s]+)\s*,([^)]*)\)")
_COMMENT = re.compile(r"(?:^|\s)#.*")


def sources(tree: Tree, folder: str) -> list[str]:
    """Return the C files that are built in a folder of a kernel and in folders that it names, sorted.

    Conditional parts of a Makefile count as if they were taken: the result can have a file too many.
    """
    return sorted(set(_sources(tree, os.path.normpath(os.path.join(tree.source, folder)))))


def _sources(tree: Tree, folder: str) -> Iterator[str]:
    """Yield the sources of a folder and of those that it leads to; each folder is read once."""
    waiting, seen = [folder], set[str]()
    while waiting:
        folder = waiting.pop()
        place = files.real_path(folder)
        objects = {} if place in seen else _objects(tree, folder)
        seen.add(place)
        for word in (*objects.get("obj", ()), *objects.get("lib", ())):
            if word.endswith("/"):
                waiting.append(os.path.normpath(os.path.join(folder, word)))
            else:
                yield from _parts(objects, folder, word.removesuffix(".o"))


def _parts(objects: dict[str, list[str]], folder: str, name: str) -> Iterator[str]:
    """Yield the source of an object, or those of the objects that it consists of."""
    waiting, seen = [name], set[str]()
    while waiting:
        name = waiting.pop()
        parts = objects.get(name, ())
        waiting += (part.removesuffix(".o") for part in parts if part.endswith(".o") and name not in seen)
        file = os.path.normpath(os.path.join(folder, f"{name}.c"))
        if name not in seen and (not parts or f"{name}.o" in parts) and files.is_file(file):
            yield file
        seen.add(name)


def _objects(tree: Tree, folder: str) -> dict[str, list[str]]:
    """Return the words of each variable of a Makefile that the configuration leaves."""
    names = (os.path.join(folder, name) for name in ("Kbuild", "Makefile"))
    text = next((text for text in map(text_search.content, names) if text), b"")
    objects: dict[str, list[str]] = {}
    for variable, suffix, option, value in _ASSIGNMENT.findall(
        _CONTINUED.sub(b" ", text).decode("utf-8", "replace")
    ):
        if suffix in ("y", "m", "objs") or option in tree.config:
            objects.setdefault(variable, []).extend(_words(value))
    return objects


def _words(value: str) -> list[str]:
    value = _COMMENT.sub("", value)
    prefixed = [prefix + word for prefix, words in _PREFIXED.findall(value) for word in words.split()]
    plain = _PREFIXED.sub(" ", value).split()
    return [word for word in (*plain, *prefixed) if "$" not in word and word.endswith((".o", "/"))]
