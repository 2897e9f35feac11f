"""The sources of a kernel that its configuration builds (Documentation/kbuild/makefiles.rst)."""

from __future__ import annotations

import os
import re
from bisect import bisect
from collections.abc import Iterator

from layoutlint import files
from layoutlint.readers.clang import text_search
from layoutlint.readers.clang.kernel.tree import Tree

_CONTINUED = re.compile(rb"\\\n\s*")
_ASSIGNMENT = re.compile(
    r"^[ \t]*([\w.-]+?)-(y|m|objs|\$\((?:subst m,y,)?\$?\(?CONFIG_(\w+)\)+)[ \t]*([:+]?)=[ \t]*(.*)$",
    re.MULTILINE,
)
_PREFIXED = re.compile(r"\$\(addprefix\s+([^,\s]+)\s*,([^)]*)\)")
_CONDITION = re.compile(r"^[ \t]*(?:ifn?(?:eq|def)|else|endif)\b", re.MULTILINE)
_LIST = re.compile(r"\$\(([\w-]+)-[ym]\)")
"""The words of another variable: `obj-y := filemap.o $(mmu-y)`."""
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
        for word in (*_expand(objects, "obj"), *_expand(objects, "lib")):
            if word.endswith("/"):
                waiting.append(os.path.normpath(os.path.join(folder, word)))
            else:
                yield from _parts(objects, folder, word.removesuffix(".o"))


def _parts(objects: dict[str, list[str]], folder: str, name: str) -> Iterator[str]:
    """Yield the source of an object, or those of the objects that it consists of."""
    waiting, seen = [name], set[str]()
    while waiting:
        name = waiting.pop()
        parts = tuple(_expand(objects, name))
        waiting += (part.removesuffix(".o") for part in parts if part.endswith(".o") and name not in seen)
        file = os.path.normpath(os.path.join(folder, f"{name}.c"))
        if name not in seen and (not parts or f"{name}.o" in parts) and files.is_file(file):
            yield file
        seen.add(name)


def _expand(objects: dict[str, list[str]], variable: str) -> Iterator[str]:
    """Yield the words of a variable, and those of the variables that it names; each variable once."""
    waiting, seen = [variable], set[str]()
    while waiting:
        variable = waiting.pop()
        for word in objects.get(variable, ()) if variable not in seen else ():
            match = _LIST.fullmatch(word)
            if match is None:
                yield word
            else:
                waiting.append(match[1])
        seen.add(variable)


def _objects(tree: Tree, folder: str) -> dict[str, list[str]]:
    """Return the words of each variable of a Makefile that the configuration leaves."""
    names = (os.path.join(folder, name) for name in ("Kbuild", "Makefile"))
    content = next((content for content in map(text_search.content, names) if content), b"")
    text = _CONTINUED.sub(b" ", content).decode("utf-8", "replace")
    conditions = [match.start() for match in _CONDITION.finditer(text)]
    values: dict[tuple[str, str], tuple[int, list[str]]] = {}
    for match in _ASSIGNMENT.finditer(text):
        variable, suffix, option, operator, value = match.groups()
        if suffix not in ("y", "m", "objs") and option not in tree.config:
            continue
        name, branch = (variable, "y" if option else suffix), bisect(conditions, match.start())
        before, words = values.get(name, (branch, []))
        if operator != "+" and before == branch:
            words = []  # it is gone: `mmu-y := a.o`, `mmu-$(CONFIG_MMU) := b.o`
        values[name] = branch, [*words, *_words(value)]
    objects: dict[str, list[str]] = {}
    for (variable, _), (_, words) in values.items():
        objects.setdefault(variable, []).extend(words)
    return objects


def _words(value: str) -> list[str]:
    value = _COMMENT.sub("", value)
    prefixed = [prefix + word for prefix, words in _PREFIXED.findall(value) for word in words.split()]
    plain = _PREFIXED.sub(" ", value).split()
    objects = (word for word in (*plain, *prefixed) if "$" not in word and word.endswith((".o", "/")))
    return [*objects, *(word for word in plain if _LIST.fullmatch(word))]
