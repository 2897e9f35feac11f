"""Which structs depend on macros that tell compilers apart: in their text, or in what it uses.

From a struct, the search follows the types that decide its layout, the macros in their text, the conditions
around each and around the `#include` of its file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

from layoutlint import files
from layoutlint.model.record import Record, field
from layoutlint.readers.clang import builtin_headers, conditions, directives, gcc_macros, libclang
from layoutlint.readers.clang.conditions import Macros
from layoutlint.readers.clang.directives import File
from layoutlint.readers.clang.libclang import Cursor, Spot

_WORD = re.compile(
    rb"\bdefined[ \t]*\(?[ \t]*(?P<defined>\w+)[ \t]*\)?|"
    rb"(?P<macro>[A-Za-z_]\w*)[ \t]*\([ \t]*(?P<name>[A-Za-z_]\w*)[ \t]*\)|[A-Za-z_]\w*"
)
_BEFORE = re.compile(rb"[;{}][^;{}]*\Z")
_PARAMETERS = re.compile(rb"[ \t]*\w+(?:\(([^()]*)\))?")
_QUESTIONS = frozenset(name.encode() for name in gcc_macros.QUESTIONS)
_ALWAYS_DEFINED = frozenset(name.encode() for name in gcc_macros.VERSION_NAMES)
UNANSWERABLE = b"?"
"""What stands for the name in a question that a macro asks in too many ways."""
_OF_LIBRARY = tuple(
    f"/{name}"
    for name in (
        *("include/stdc-predef.h", "include/stdint.h", "include/math.h", "include/wchar.h"),
        *("bits/wchar.h", "bits/fp-fast.h", "bits/flt-eval-method.h", "include/stdatomic.h"),
        *("machine/ieeefp.h", "machine/setjmp.h", "machine/time.h", "include/sys/features.h"),
    )
)
"""Headers of C libraries that ask for what compilers predefine, and define no struct by it."""
_ENDS = 3
"""The compilers that come first: the likeliest, and the first and last version."""
_LONGEST_BEFORE = 1000
_TAIL = 2000
"""The bytes around a definition in which the rest of its declaration is searched."""

Node = tuple[object, ...]
"""A word, a question such as `__has_attribute(packed)`, a place, a file or a struct."""


class Dependence(Record, dict=True):
    """The search through one unit."""

    lib: Any
    unit: int
    main: str
    folders: tuple[str, ...]
    """The include folders."""
    roots: frozenset[bytes]
    """Words in which compilers differ."""
    compilers: tuple[Macros, ...]
    """The macros of each compiler that can build the unit."""
    is_unmodelled: Callable[[str], bool]
    """Returns whether compilers may differ in a macro in a way that `compilers` does not state."""
    questioned: set[tuple[bytes, bytes]] = field(default_factory=set)
    """Questions to which they answer differently."""
    unkept: list[str] = field(default_factory=list)
    """The files that were read for this unit."""
    _included_at: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    """Where each file is included: files and offsets."""
    _shortened: dict[bytes, bytes] = field(default_factory=dict)
    _edges: dict[Node, list[Node]] = field(default_factory=dict)

    @cached_property
    def _files(self) -> dict[str, File]:
        """The files of the unit by name, without those of the compiler."""
        lib, unit = self.lib, self.unit
        own = builtin_headers.include_folder()
        main = lib.clang_getFile(unit, os.fsencode(self.main))
        found: dict[str, File] = {}
        names: dict[int | None, str] = {}
        first: list[tuple[int, Spot | None]] = [(main, None)] if main else []
        for handle, spot in (*first, *libclang.inclusions(lib, unit)):
            if handle not in names:
                names[handle] = name = libclang.file_name(lib, handle)
                if own is None or not name.startswith(own):
                    found[name], is_kept = directives.of_unit(lib, unit, handle, name)
                    if not is_kept and handle != main:
                        self.unkept.append(name)
            if spot is not None and spot.file:
                if spot.file not in names:
                    names[spot.file] = libclang.file_name(lib, spot.file)
                places = self._included_at.setdefault(names[handle], [])
                places.append((names[spot.file], spot.offset))
        return found

    @cached_property
    def _unmodelled(self) -> frozenset[bytes]:
        """The macros in the unit in which compilers may differ in a way that is not known."""
        own = (file for name, file in self._files.items() if not name.endswith(_OF_LIBRARY))
        names = set[str]().union(*(file.reserved for file in own))
        return frozenset(name.encode() for name in filter(self.is_unmodelled, names))

    @cached_property
    def _all_files(self) -> dict[str, File]:
        """The files of the unit, and those that conditions kept out of it."""
        all_files = dict(self._files)
        pending = list(all_files.values())
        names = set[str]().union(*(file.suffixes for file in pending))
        for file in pending:
            for included in file.includes:
                name = os.fsdecode(included)
                if os.path.normpath(name) in names or _is_builtin(name):
                    continue
                path = self._resolve(name, file.name)
                if path is None:
                    continue
                for directive in file.directives:
                    is_conditional = directive.name.startswith(b"include") and directive.around
                    if is_conditional and included in directive.text:
                        self._included_at.setdefault(path, []).append((file.name, directive.offset))
                        if path not in all_files:
                            all_files[path] = File(path, directives.content(path))
                            pending.append(all_files[path])
        return all_files

    @cached_property
    def _unkept(self) -> list[str]:
        return [name for name, file in self._all_files.items() if not directives.is_kept(file)]

    @cached_property
    def _included_by(self) -> dict[str, list[tuple[str, int]]]:
        """The files that each file includes, with offsets."""
        included_by: dict[str, list[tuple[str, int]]] = {}
        for name, places in self._included_at.items():
            for includer, offset in places:
                included_by.setdefault(includer, []).append((name, offset))
        return included_by

    def _resolve(self, name: str, includer: str) -> str | None:
        candidates = (os.path.join(folder, name) for folder in (os.path.dirname(includer), *self.folders))
        return next((path for path in candidates if files.is_file(path)), None)

    def questions(self) -> set[tuple[bytes, bytes]]:
        """Return all questions in the unit, with those that macros ask about their parameter."""
        own = self._files.values()
        asked = {question for file in own for question in file.asks}
        for macro, parameters, question, name in {each for file in own for each in file.asking_macros}:
            parameter, *others = re.findall(rb"\w+", parameters) or [b""]
            if name != parameter and name not in others:
                continue
            asked.discard((question, name))
            if others:
                asked.add((question, UNANSWERABLE))
            else:
                names = {each for file in own for each in file.calls(macro)}
                asked |= {(question, each) for each in names - {parameter}}
        return {(question, name) for question, name in asked if not name.endswith(b"_sanitizer")}

    def may_differ(self) -> bool:
        """Return whether a text of the unit has anything in which compilers differ."""
        if self._unmodelled:
            return True
        names = (*self.roots, *{question for question, _ in self.questioned})
        word = re.compile(rb"(?<!\w)(?:" + b"|".join(names) + rb")(?!\w)")
        texts = [file.text for file in self._files.values()]
        if not self.questioned and b"__GNUC__" not in self.roots:
            tests = [file.version_tests for file in self._files.values()]
            known = {test for each in tests if each is not None for test in each}
            remaining = b" ".join(map(self._without_constants, known))
            if None not in tests and not directives.VERSION.search(remaining):
                return False
        return bool(names) and any(word.search(text) for text in texts if any(name in text for name in names))

    def is_root(self, node: Node) -> bool:
        """Return whether compilers may differ in a word or question."""
        if node[0] == "call":
            return node[1:] in self.questioned
        if node[0] == "defined":
            is_certain = node[1] in _ALWAYS_DEFINED
            return node[1] in self._unmodelled or (node[1] in self.roots and not is_certain)
        word = node[1]
        is_value = isinstance(word, bytes) and word in self._unmodelled and directives.is_value(word)
        return node[0] == "word" and (word in self.roots or is_value)

    def roots_of(self, structs: Iterable[Iterable[Cursor]]) -> list[set[Node]]:
        """Return the words in which compilers differ and on which each struct depends.

        Each is given by the declarations that decide its layout.
        """
        own: list[Node] = []
        for number, declarations in enumerate(structs):
            node: Node = ("struct", number)
            self._edges[node] = [*self._pragmas]
            for declaration in declarations:
                key: Node = ("declaration", declaration.data[0])
                self._edges[node].append(key)
                if key not in self._edges:
                    self._edges[key] = list(self._nodes_of(declaration))
            own.append(node)
        self._explore(own)
        return self._reached_roots(own)

    def _explore(self, start: list[Node]) -> None:
        pending = [node for known in start for node in self._edges[known]]
        seen = set(start)
        while pending:
            node = pending.pop()
            if node in seen:
                continue
            seen.add(node)
            if node not in self._edges:
                self._edges[node] = [] if self.is_root(node) else list(dict.fromkeys(self._successors(node)))
            pending += self._edges[node]

    def _reached_roots(self, own: list[Node]) -> list[set[Node]]:
        """Return the roots that each node leads to: backwards from each root."""
        before: dict[Node, list[Node]] = {}
        for node, followers in self._edges.items():
            for follower in followers:
                before.setdefault(follower, []).append(node)
        reached: dict[Node, set[Node]] = {node: set() for node in own}
        for root in filter(self.is_root, list(before)):
            pending, seen = [root], {root}
            while pending:
                for node in before.get(pending.pop(), ()):
                    if node not in seen:
                        seen.add(node)
                        pending.append(node)
            for node in seen.intersection(reached):
                reached[node].add(root)
        return [reached[node] for node in own]

    def _successors(self, node: Node) -> Iterator[Node]:
        """Yield what a word, question or place depends on."""
        kind, *rest = node
        if kind in ("word", "defined"):
            (word,) = rest
            assert isinstance(word, bytes)
            for file in directives.definers(word, self._all_files, self._unkept):
                for directive in file.macros[word]:
                    if kind == "word":
                        yield from _words_of_macro(directive.text)
                    yield ("place", file.name, directive.around)
        elif kind == "call":
            yield from self._questions_of(*rest)
        elif kind == "place":
            name, around = rest
            assert isinstance(name, str)
            assert isinstance(around, tuple)
            for condition in around:
                yield from self._condition_nodes(condition)
            yield ("file", name)
        elif kind == "file":
            (name,) = rest
            assert isinstance(name, str)
            for includer, offset in self._included_at.get(name, ()):
                if includer in self._all_files:
                    yield self._place(self._all_files[includer], offset)

    def _condition_nodes(self, condition: bytes) -> Iterator[Node]:
        """Yield what the conditions of a group depend on that are not the same for all compilers."""
        for part in condition.split(directives.ELSE):
            yield from _words(self._without_constants(part))

    def _without_constants(self, condition: bytes) -> bytes:
        if b"__" not in condition:
            return condition
        if condition not in self._shortened:
            # Few tests tell versions between the first and the last from these.
            is_between = b"==" in condition or b"!=" in condition or (b"<" in condition and b">" in condition)
            some = self.compilers if is_between else self.compilers[:_ENDS]
            self._shortened[condition] = conditions.without_constants(condition, some, self._names)
        return self._shortened[condition]

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(name.decode() for name in (*self.roots, *_ALWAYS_DEFINED))

    def _questions_of(self, macro: object, name: object) -> Iterator[Node]:
        """Yield the questions that a macro asks about its parameter: `#define HAS(x) __has_attribute(x)`."""
        assert isinstance(macro, bytes)
        assert isinstance(name, bytes)
        for file in directives.definers(macro, self._all_files, self._unkept):
            for directive in file.macros[macro]:
                defined = re.match(rb"[ \t]*\w+\([ \t]*(\w+)[ \t]*\)(.*)", directive.text, re.DOTALL)
                for call in _WORD.finditer(defined[2]) if defined is not None else ():
                    if defined is not None and call["name"] == defined[1]:
                        yield ("call", call["macro"], name)

    def _place(self, file: File, offset: int) -> Node:
        return ("place", file.name, file.conditions_at(offset))

    @cached_property
    def _pragmas(self) -> list[Node]:
        """The pragmas that change layouts, wherever they are in the unit."""
        nodes: dict[Node, None] = {}
        for file in self._all_files.values():
            nodes.update((self._place(file, offset), None) for offset in file.pragmas)
            nodes.update((("word", word), None) for word in file.packing)
        return list(nodes)

    def _nodes_of(self, declaration: Cursor) -> Iterator[Node]:
        """Yield what the text of a declaration depends on."""
        lib = self.lib
        whole = lib.clang_getCursorExtent(declaration)
        start, end = Spot(lib, lib.clang_getRangeStart(whole)), Spot(lib, lib.clang_getRangeEnd(whole))
        file = self._files.get(libclang.file_name(lib, start.file)) if start.file else None
        if file is None:
            return
        stop = end.offset if end.file == start.file else len(file.text)
        stop = max(stop, file.text.find(b";", stop, stop + _TAIL))
        yield from self._text_nodes(file, start.offset, stop)
        yield from _words(_text_before(file, start.offset))
        for offset in (start.offset, stop):
            yield self._place(file, offset)
        for name, offset in self._included_by.get(file.name, ()):
            if start.offset <= offset < stop and name in self._all_files:
                other = self._all_files[name]
                yield from self._text_nodes(other, 0, len(other.text))
                yield ("file", name)

    def _text_nodes(self, file: File, start: int, end: int) -> Iterator[Node]:
        """Yield what a part of a text depends on."""
        yield from _words(directives.DIRECTIVE.sub(b" ", file.comment_free(start, end)))
        for directive in file.directives_between(start, end):
            if directive.name.startswith((b"if", b"elif")):
                yield from self._condition_nodes(directive.text)


def _is_builtin(name: str) -> bool:
    own = builtin_headers.include_folder()
    return own is not None and files.exists(os.path.join(own, name))


def _text_before(file: File, offset: int) -> bytes:
    """Return what is between the last declaration and an offset, without directives."""
    text = file.comment_free(max(0, offset - _LONGEST_BEFORE), offset)
    before = _BEFORE.search(text)
    return directives.DIRECTIVE.sub(b" ", text if before is None else before[0])


def _words(text: bytes) -> Iterator[Node]:
    """Yield the words of a text, and its macros with a word as argument."""
    for match in _WORD.finditer(text):
        if match["defined"] is not None:
            yield ("defined", match["defined"])
        elif match["macro"] is not None:
            yield ("call", match["macro"], match["name"])
            yield ("word", match["macro"])
            yield ("word", match["name"])
        else:
            yield ("word", match[0])


def _words_of_macro(text: bytes) -> Iterator[Node]:
    """Yield the words of a macro; questions about its only parameter are those of its calls."""
    defined = _PARAMETERS.match(text)
    if defined is None:
        yield from _words(text)
        return
    parameters = re.findall(rb"\w+", defined[1] or b"")
    for node in _words(text[defined.end() :]):
        if node[0] == "call" and node[2] in parameters:
            if len(parameters) > 1 and node[1] in _QUESTIONS:
                yield ("call", node[1], UNANSWERABLE)
        else:
            yield node
