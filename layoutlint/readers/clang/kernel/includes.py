"""Which headers of a kernel tree its configuration leaves out, by the directives that include them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from layoutlint.readers.clang import text_search
from layoutlint.readers.clang.kernel.tree import Tree

_DIRECTIVE = re.compile(
    rb"^[ \t]*#[ \t]*(ifdef|ifndef|if|elif|else|endif|include)\b((?:[^\n\\]|\\.|\\\n)*)", re.MULTILINE
)
_TOKEN = re.compile(r"defined\s*\(\s*\w+\s*\)|defined\s+\w+|\w+\s*\(\s*\w+\s*\)|\w+|&&|\|\||[!()]|\S")
_NAMED = re.compile(r"(\w+)\W+(\w+)")
_INCLUDED = re.compile(rb'[ \t]*([<"])([^>"\n]+)[>"]')
_COMMENT = re.compile(r"/\*.*?\*/|//.*", re.DOTALL)
_ENABLED = ("IS_ENABLED", "IS_BUILTIN", "IS_MODULE", "IS_REACHABLE")
_KNOWN = {"__KERNEL__": True, "__ASSEMBLY__": False, "__ASSEMBLER__": False, "1": True, "0": False}

_BY_SOURCES = {"linux/slab_def.h": "SLAB", "linux/slub_def.h": "SLUB"}
"""Headers that only sources include, and the option under which they do (mm/slab.h up to v6.7): packages of
headers have no sources."""
_OTHER_MACHINES = {
    "arm": ("arm", "arm64"), "arm64": ("arm64",), "sh": ("sh",), "s390": ("s390",), "mips": ("mips",),
    "sparc": ("sparc",), "powerpc": ("powerpc",), "riscv": ("riscv",), "x86": ("x86", "um"),
}  # fmt: skip
"""Folders and beginnings of names below include/ (xen/arm/page.h, kvm/arm_pmu.h), and who includes them."""
_MACHINE = re.compile(rf"(?:^|/)({'|'.join(_OTHER_MACHINES)})(?=[/_-])")

Truth = bool | None
"""None where the configuration does not decide it."""


class Includes:
    """The `#include` directives of a tree's headers, with the conditions around them."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def alternatives(self, names: Iterable[str]) -> list[str]:
        """Return headers, by their names in `#include <...>`, without those that others replace.

        That is so where one file includes either under conditions of which one does not hold.
        """
        every = list(dict.fromkeys(names))
        return [name for name in every if not self._is_replaced(name, every)]

    def _is_replaced(self, name: str, others: list[str]) -> bool:
        if not self.left_out(name):
            return False
        points = self._points(name)
        used = {
            by
            for other in others
            for by, holds in self._sites.get(other, ())
            if other != name and holds is not False
        }
        return not points or not points.isdisjoint(used)

    def _points(self, name: str) -> set[str]:
        """The headers in which a condition leaves out a header, or what includes it; none where none does."""
        found, waiting, seen = set[str](), [name], {name}
        while waiting:
            for by, holds in self._sites.get(waiting.pop(), ()):
                if holds is False:
                    found.add(by)
                elif by not in seen:
                    seen.add(by)
                    waiting.append(by)
        return found

    def left_out(self, name: str) -> bool:
        """Return whether headers include one only under conditions that the configuration does not meet.

        Sources, which packages of headers lack, may still include it.
        """
        option = _BY_SOURCES.get(name)
        if option is not None:
            return option not in self._tree.config
        return name in self._excluded or (name not in self._sites and self._is_for_others(name))

    def _is_for_others(self, name: str) -> bool:
        machine = _MACHINE.search(name)
        return machine is not None and self._tree.arch not in _OTHER_MACHINES[machine[1]]

    @cached_property
    def _excluded(self) -> set[str]:
        """The headers of which all `#include` are under conditions that do not hold, or in such headers."""
        left = {
            name: {by for by, holds in sites if holds is not False} for name, sites in self._sites.items()
        }
        inside: dict[str, list[str]] = {}
        for name, by_which in left.items():
            for by in by_which:
                inside.setdefault(by, []).append(name)
        unused = {by for by in inside if by not in left and self._is_for_others(by)}
        waiting = [*unused, *(name for name, by_which in left.items() if not by_which)]
        found = set(waiting)
        while waiting:
            gone = waiting.pop()
            for name in inside.get(gone, ()):
                left[name].discard(gone)
                if not left[name] and name not in found:
                    found.add(name)
                    waiting.append(name)
        return found

    @cached_property
    def _modular(self) -> frozenset[str]:
        return self._tree.modular

    @cached_property
    def _sites(self) -> dict[str, list[tuple[str, Truth]]]:
        """By the name of a header, those that include it, each with whether the condition there holds."""
        sites: dict[str, list[tuple[str, Truth]]] = {}
        seen: set[str] = set()
        for folder in self._tree.folders:
            for file in text_search.files([folder], (".h",)):
                if file not in seen:
                    seen.add(file)
                    own = os.path.relpath(file, _innermost(file, self._tree.folders))
                    for name, truth in self.included(text_search.content(file)):
                        at = os.path.normpath(os.path.join(os.path.dirname(own), name[1:]))
                        sites.setdefault(at if name[0] == '"' else name[1:], []).append((own, truth))
        return sites

    def included(self, text: bytes) -> Iterator[tuple[str, Truth]]:
        """Yield what a text includes, `<` or `"` before it, and whether the conditions around it hold."""
        opened: list[
            tuple[Truth, Truth]
        ] = []  # of each #if: whether an earlier branch, and this one, is taken
        for match in _DIRECTIVE.finditer(text):
            word, rest = match[1].decode(), match[2]
            if word == "include":
                named = _INCLUDED.match(rest)
                if named is not None:
                    around = _all(here for _, here in opened)
                    yield (named[1] + named[2]).decode(errors="surrogateescape"), around
            elif word == "endif":
                opened = opened[:-1]
            elif word in ("elif", "else"):
                before, here = opened.pop() if opened else (None, None)
                taken = _any((before, here))
                own = True if word == "else" else self._holds(rest)
                opened.append((taken, _all((_not(taken), own))))
            else:
                holds = self._defined(rest.decode(errors="replace")) if word != "if" else self._holds(rest)
                opened.append((False, _not(holds) if word == "ifndef" else holds))

    def _defined(self, name: str) -> Truth:
        """Whether a macro is defined, as far as the configuration tells."""
        word = _COMMENT.sub(" ", name).strip()
        if word in _KNOWN:
            return _KNOWN[word]
        if not word.startswith("CONFIG_"):
            return None
        option = word.removeprefix("CONFIG_")
        if option.endswith("_MODULE") and option not in self._tree.config:
            option = option.removesuffix("_MODULE")
            return None if option in self._tree.config else False
        if option not in self._tree.config:
            return False
        return option not in self._modular

    def _holds(self, rest: bytes) -> Truth:
        text = _COMMENT.sub(" ", rest.decode(errors="replace").replace("\\\n", " "))
        return _Expression(self, _TOKEN.findall(text)).value()

    def enabled(self, option: str) -> Truth:
        """Return whether an option, with CONFIG_ before it, is on, built in or as a module."""
        return option.removeprefix("CONFIG_") in self._tree.config if option.startswith("CONFIG_") else None

    def truth(self, token: str) -> Truth:
        """Return what a word of a condition comes to."""
        if "(" not in token and not token.startswith("defined"):
            return _KNOWN.get(token)
        named = _NAMED.match(token)
        if named is None:
            return None
        if named[1] == "defined":
            return self._defined(named[2])
        if named[1] not in _ENABLED:
            return None
        is_on = self.enabled(named[2])
        return is_on if named[1] == "IS_ENABLED" or not is_on else None


class _Expression:
    """The condition of an `#if`: names, `!`, `&&`, `||` and parentheses; anything else is not decided."""

    def __init__(self, includes: Includes, tokens: list[str]) -> None:
        self._includes, self._tokens, self._at = includes, tokens, 0

    def value(self) -> Truth:
        """Return what the condition comes to."""
        try:
            found = self._either()
        except (IndexError, RecursionError):
            return None
        return found if self._at == len(self._tokens) else None

    def _either(self) -> Truth:
        found = [self._both()]
        while self._next("||"):
            found.append(self._both())
        return _any(found)

    def _both(self) -> Truth:
        found = [self._one()]
        while self._next("&&"):
            found.append(self._one())
        return _all(found)

    def _one(self) -> Truth:
        if self._next("!"):
            return _not(self._one())
        if self._next("("):
            found = self._either()
            if not self._next(")"):
                raise IndexError
            return found
        token = self._tokens[self._at]
        self._at += 1
        return self._includes.truth(token)

    def _next(self, token: str) -> bool:
        is_it = self._at < len(self._tokens) and self._tokens[self._at] == token
        self._at += is_it
        return is_it


def _not(truth: Truth) -> Truth:
    return None if truth is None else not truth


def _all(truths: Iterable[Truth]) -> Truth:
    found = set(truths)
    return False if False in found else None if None in found else True


def _any(truths: Iterable[Truth]) -> Truth:
    found = set(truths)
    return True if True in found else None if None in found else False


def _innermost(file: str, folders: tuple[str, ...]) -> str:
    return max((folder for folder in folders if file.startswith(folder + os.sep)), key=len)
