"""The headers of a kernel tree that its configuration leaves out, by the directives that include them.

Reads directives, which `c_tokens` blanks, and so has patterns of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from layoutlint.readers.c_tokens import BLOCK_COMMENT, LINE_COMMENT
from layoutlint.readers.clang import text_search
from layoutlint.readers.clang.kernel.make_lines import Truth, conjoin, disjoin, negate
from layoutlint.readers.clang.kernel.tree import Tree

_DIRECTIVE = re.compile(
    rb"^[ \t]*#[ \t]*(ifdef|ifndef|if|elif|else|endif|include)\b((?:[^\n\\]|\\.|\\\n)*)", re.MULTILINE
)
_TOKEN = re.compile(r"defined\s*\(\s*\w+\s*\)|defined\s+\w+|\w+\s*\(\s*\w+\s*\)|\w+|&&|\|\||[!()]|\S")
_NAMED = re.compile(r"(\w+)\W+(\w+)")
_INCLUDED = re.compile(rb'[ \t]*([<"])([^>"\n]+)[>"]')
_COMMENT = re.compile(f"{BLOCK_COMMENT}|{LINE_COMMENT}", re.DOTALL)
_ENABLED = ("IS_ENABLED", "IS_BUILTIN", "IS_MODULE", "IS_REACHABLE")
_MACRO_VALUES = {"__KERNEL__": True, "__ASSEMBLY__": False, "__ASSEMBLER__": False, "1": True, "0": False}

_BY_SOURCES = {"linux/slab_def.h": "SLAB", "linux/slub_def.h": "SLUB"}
"""Headers that only sources include, and the option under which they do (mm/slab.h up to v6.7): header
packages have no sources."""
_OTHER_MACHINES = {
    "arm": ("arm", "arm64"), "arm64": ("arm64",), "sh": ("sh",), "s390": ("s390",), "mips": ("mips",),
    "sparc": ("sparc",), "powerpc": ("powerpc",), "riscv": ("riscv",), "x86": ("x86", "um"),
}  # fmt: skip
"""Folders and prefixes below include/ (xen/arm/page.h, kvm/arm_pmu.h), and the architectures that include
them."""
_MACHINE = re.compile(rf"(?:^|/)({'|'.join(_OTHER_MACHINES)})(?=[/_-])")


class Includes:
    """The `#include` directives of a tree's headers, with the conditions around them."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def drop_replaced(self, names: Iterable[str]) -> list[str]:
        """Return headers, by their names in `#include <...>`, without those that others replace.

        A header replaces another if one file includes either, under conditions of which one does not hold.
        """
        unique = list(dict.fromkeys(names))
        return [name for name in unique if not self._is_replaced(name, unique)]

    def _is_replaced(self, name: str, others: list[str]) -> bool:
        if not self.is_left_out(name):
            return False
        excluders = self._excluders(name)
        includers = {
            includer
            for other in others
            for includer, holds in self._sites.get(other, ())
            if other != name and holds is not False
        }
        return not excluders or not excluders.isdisjoint(includers)

    def _excluders(self, name: str) -> set[str]:
        """Return the headers in which a condition leaves out a header or one that includes it; none if none
        does.
        """
        headers, pending, visited = set[str](), [name], {name}
        while pending:
            for includer, holds in self._sites.get(pending.pop(), ()):
                if holds is False:
                    headers.add(includer)
                elif includer not in visited:
                    visited.add(includer)
                    pending.append(includer)
        return headers

    def is_left_out(self, name: str) -> bool:
        """Return whether headers include one only under conditions that the configuration does not meet.

        Sources, which header packages lack, may still include it.
        """
        option = _BY_SOURCES.get(name)
        if option is not None:
            return option not in self._tree.config
        return name in self._excluded_headers or (name not in self._sites and self._is_for_others(name))

    def _is_for_others(self, name: str) -> bool:
        machine = _MACHINE.search(name)
        return machine is not None and self._tree.arch not in _OTHER_MACHINES[machine[1]]

    @cached_property
    def _excluded_headers(self) -> set[str]:
        """Headers of which each `#include` is under a condition that does not hold, or in such a header."""
        includers = {
            name: {includer for includer, holds in sites if holds is not False}
            for name, sites in self._sites.items()
        }
        included_by: dict[str, list[str]] = {}
        for name, parents in includers.items():
            for includer in parents:
                included_by.setdefault(includer, []).append(name)
        unused = {
            includer
            for includer in included_by
            if includer not in includers and self._is_for_others(includer)
        }
        pending = [*unused, *(name for name, parents in includers.items() if not parents)]
        excluded = set(pending)
        while pending:
            header = pending.pop()
            for name in included_by.get(header, ()):
                includers[name].discard(header)
                if not includers[name] and name not in excluded:
                    excluded.add(name)
                    pending.append(name)
        return excluded

    @cached_property
    def _macros(self) -> frozenset[str]:
        return self._tree.macros

    @cached_property
    def _sites(self) -> dict[str, list[tuple[str, Truth]]]:
        """By the name of a header, the headers that include it, with whether the condition there holds."""
        sites: dict[str, list[tuple[str, Truth]]] = {}
        visited: set[str] = set()
        for folder in self._tree.folders:
            for file in text_search.files_below([folder], (".h",)):
                if file not in visited:
                    visited.add(file)
                    own_name = os.path.relpath(file, _innermost(file, self._tree.folders))
                    for name, truth in self.find_includes(text_search.content(file)):
                        resolved = os.path.normpath(os.path.join(os.path.dirname(own_name), name[1:]))
                        sites.setdefault(resolved if name[0] == '"' else name[1:], []).append(
                            (own_name, truth)
                        )
        return sites

    def find_includes(self, text: bytes) -> Iterator[tuple[str, Truth]]:
        """Yield the includes of a text, with the prefix `<` or `"`, and whether the conditions around them
        hold.
        """
        branches: list[
            tuple[Truth, Truth]
        ] = []  # for each #if: whether an earlier branch, and this one, is taken
        for match in _DIRECTIVE.finditer(text):
            word, rest = match[1].decode(), match[2]
            if word == "include":
                target = _INCLUDED.match(rest)
                if target is not None:
                    holds_around = conjoin(current for _, current in branches)
                    yield (target[1] + target[2]).decode(errors="surrogateescape"), holds_around
            elif word == "endif":
                branches = branches[:-1]
            elif word in ("elif", "else"):
                earlier, current = branches.pop() if branches else (None, None)
                was_taken = disjoin((earlier, current))
                condition = True if word == "else" else self._holds(rest)
                branches.append((was_taken, conjoin((negate(was_taken), condition))))
            else:
                holds = self._is_defined(rest.decode(errors="replace")) if word != "if" else self._holds(rest)
                branches.append((False, negate(holds) if word == "ifndef" else holds))

    def _is_defined(self, name: str) -> Truth:
        """Return whether a macro is defined, as far as the configuration states it."""
        word = _COMMENT.sub(" ", name).strip()
        if word in _MACRO_VALUES:
            return _MACRO_VALUES[word]
        if not word.startswith("CONFIG_"):
            return None
        return word.removeprefix("CONFIG_") in self._macros

    def _holds(self, rest: bytes) -> Truth:
        text = _COMMENT.sub(" ", rest.decode(errors="replace").replace("\\\n", " "))
        return _Expression(self, _TOKEN.findall(text)).value()

    def is_enabled(self, option: str) -> Truth:
        """Return whether an option, with its CONFIG_, is on, built in or as a module."""
        return option.removeprefix("CONFIG_") in self._tree.config if option.startswith("CONFIG_") else None

    def word_value(self, token: str) -> Truth:
        """Return the value of a word in a condition."""
        if "(" not in token and not token.startswith("defined"):
            return _MACRO_VALUES.get(token)
        operands = _NAMED.match(token)
        if operands is None:
            return None
        if operands[1] == "defined":
            return self._is_defined(operands[2])
        if operands[1] not in _ENABLED:
            return None
        is_on = self.is_enabled(operands[2])
        return is_on if operands[1] == "IS_ENABLED" or not is_on else None


class _Expression:
    """The condition of an `#if`: names, `!`, `&&`, `||` and parentheses; anything else is undecided."""

    def __init__(self, includes: Includes, tokens: list[str]) -> None:
        self._includes, self._tokens, self._at = includes, tokens, 0

    def value(self) -> Truth:
        """Return the value of the condition."""
        try:
            value = self._disjunction()
        except (IndexError, RecursionError):
            return None
        return value if self._at == len(self._tokens) else None

    def _disjunction(self) -> Truth:
        operands = [self._conjunction()]
        while self._accept("||"):
            operands.append(self._conjunction())
        return disjoin(operands)

    def _conjunction(self) -> Truth:
        operands = [self._operand()]
        while self._accept("&&"):
            operands.append(self._operand())
        return conjoin(operands)

    def _operand(self) -> Truth:
        if self._accept("!"):
            return negate(self._operand())
        if self._accept("("):
            value = self._disjunction()
            if not self._accept(")"):
                raise IndexError
            return value
        token = self._tokens[self._at]
        self._at += 1
        return self._includes.word_value(token)

    def _accept(self, token: str) -> bool:
        is_next = self._at < len(self._tokens) and self._tokens[self._at] == token
        self._at += is_next
        return is_next


def _innermost(file: str, folders: tuple[str, ...]) -> str:
    return max((folder for folder in folders if file.startswith(folder + os.sep)), key=len)
