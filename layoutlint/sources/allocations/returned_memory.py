"""The functions of a parsed unit that return the memory of an allocator, as their bodies show.

Only the plainest form counts: each `return` gives back a null pointer, or one result of an allocator, which
nothing can change before. Loops, jumps, assembly and statements in expressions are not followed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from layoutlint.model.record import Record
from layoutlint.model.storage import Allocator
from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.libclang import Cursor
from layoutlint.readers.clang.parse import Unit
from layoutlint.sources.allocations.user_space import PREFIXES
from layoutlint.sources.bodies import syntax, trees
from layoutlint.sources.bodies.facts import Facts, Names
from layoutlint.sources.bodies.trees import Node, skip_layers

_DEEPEST = 4
"""The most functions between a call and the allocator."""
KNOWN = {
    f"{prefix}{name}": (size_at, count_at, word)
    for prefix, word in PREFIXES
    for name, size_at, count_at in (("malloc", 0, None), ("calloc", 1, 0), ("realloc", 1, None))
}
"""The allocators: the position of the size, that of the count, and the word of a placement."""
_WORD = re.compile(rb"[A-Za-z_]\w*+")
_ATTRIBUTE = re.compile(
    rb"(?:__)?(?:malloc|alloc_size|noinline|always_inline|nonnull|returns_nonnull|warn_unused_result|cold|hot"
    rb"|unused|used|nothrow)(?:__)?(?:\s*\([\d\s,]*\))?"
)
"""Attributes that leave a function as it is; `weak` and `alias` put others in its place."""
_OTHER = re.compile(rb"alias|ifunc|weak")
_CLASS_NONE = 1
"""CX_SC_None."""
_NULL_STATEMENT = 230
_STATEMENTS = frozenset(
    (syntax.COMPOUND, syntax.IF, syntax.RETURN, syntax.DECLARATION, _NULL_STATEMENT)
)
_EXPRESSIONS = frozenset((
    *range(syntax.FIRST_LITERAL, syntax.LAST_LITERAL + 1), syntax.UNEXPOSED, syntax.DECL_REF, syntax.MEMBER,
    syntax.CALL, syntax.PAREN, syntax.UNARY, syntax.SUBSCRIPT, syntax.BINARY, syntax.COMPOUND_ASSIGNMENT,
    syntax.CONDITIONAL, syntax.CAST, syntax.SIZEOF, syntax.VARIABLE, syntax.PARAMETER,
))  # fmt: skip
_ADD, _GREATER = 6, 12
_READING = (syntax.DEREFERENCE, syntax.NOT)


class Wrapper(Record, frozen=True):
    """A function that returns the memory of an allocator."""

    name: str
    """As its definition is written: a macro can give it another name."""
    symbol: str
    file: str
    size_at: int
    count_at: int | None
    word: str

    @property
    def allocator(self) -> Allocator:
        """The function as a rule file would declare it."""
        return Allocator(self.name, self.size_at, self.count_at, word=self.word)


class Result(Record, frozen=True):
    """What a function returns: memory for the size, and perhaps the count, of these parameters."""

    size_at: int
    count_at: int | None
    word: str
    depth: int = 0
    """How many functions are before the allocator."""


class Bodies:
    """The functions that a unit defines."""

    def __init__(self, lib: Any, handle: int, of: Unit) -> None:
        self._lib, self._file = lib, os.path.abspath(os.path.join(of.directory, of.main))
        main = lib.clang_getFile(handle, os.fsencode(of.main))
        self._contents = partial(libclang.contents, lib, handle)
        top = lib.clang_getTranslationUnitCursor(handle)
        every = trees.definitions(top, lambda file: file == main)
        self._own = [each for each in every if each.cursor.kind == syntax.FUNCTION]
        self._by_identity = {each.cursor.data[0]: each for each in self._own}
        self._results: dict[int, Result | None] = {}

    def wrappers(self) -> Iterator[Wrapper]:
        """Yield those that other units can call."""
        for each in self._own:
            result = self._result(each.cursor, 1)
            is_static = self._lib.clang_Cursor_getStorageClass(each.cursor) == syntax.STATIC
            place = libclang.Spot(self._lib, self._lib.clang_getCursorLocation(each.cursor))
            if result is None or is_static or place.file is None:
                continue
            word = _WORD.match(self._contents(place.file), place.offset)
            if word is not None:
                name = word[0].decode()
                yield Wrapper(name, each.name, self._file, result.size_at, result.count_at, result.word)

    def _result(self, function: Cursor, depth: int) -> Result | None:
        """Return what a function returns; None if it is not the memory of an allocator, or not certainly."""
        key = function.data[0]
        if key in self._results:
            return self._results[key]
        if depth > _DEEPEST or not all(map(_ATTRIBUTE.fullmatch, self._attributes(function))):
            return None
        result = _Body(self._lib, trees.tree(function)).result(partial(self._callee, depth=depth))
        if result is not None and result.depth > _DEEPEST:
            result = None
        if depth == 1:  # else the depth can be why there is none
            self._results[key] = result
        return result

    def _callee(self, node: Node, depth: int) -> Result | None:
        """Return what the function that a call names returns."""
        declaration = node.reference
        definition = self._lib.clang_getCursorDefinition(declaration)
        if definition.data[0] in self._by_identity:
            return self._result(self._by_identity[definition.data[0]].cursor, depth + 1)
        name = libclang.spelling(self._lib, declaration)
        symbol = libclang.text(self._lib, self._lib.clang_Cursor_getMangling(declaration))
        is_other = symbol != name or any(map(_OTHER.search, self._attributes(declaration)))
        if name not in KNOWN or is_other or self._lib.clang_isCursorDefinition(definition):
            return None
        return Result(*KNOWN[name])

    def _attributes(self, function: Cursor) -> list[bytes]:
        """Return the texts of the attributes of a declaration."""
        found: list[bytes] = []

        def take(child: Cursor, _: Cursor) -> int:
            if child.kind >= syntax.FIRST_ATTRIBUTE:
                extent = self._lib.clang_getCursorExtent(child)
                start = libclang.Spot(self._lib, self._lib.clang_getRangeStart(extent))
                end = libclang.Spot(self._lib, self._lib.clang_getRangeEnd(extent)).offset
                text = b"" if start.file is None else self._contents(start.file)[start.offset : end]
                found.append(text.strip())
            return libclang.CONTINUE

        libclang.visit(self._lib, function, take)
        return found


class _Body:
    """The body of a function: its nodes in the order of the text, each with the index of its parent."""

    def __init__(self, lib: Any, root: Node) -> None:
        self._lib = lib
        self._nodes: list[tuple[Node, int]] = []
        waiting = [(child, -1) for child in reversed(root.children)]
        while waiting:
            node, parent = waiting.pop()
            waiting += [(child, len(self._nodes)) for child in reversed(node.children)]
            self._nodes.append((node, parent))
        self._parameters = [node.identity for node in root.children if node.kind == syntax.PARAMETER]
        self._given: dict[int, bool] = {}
        """Whether parameters have the caller's value at the call, by identity."""

    def result(self, callee: Callable[[Node], Result | None]) -> Result | None:
        """Return what it returns; None for any other form than the plainest."""
        if not all(node.kind in _STATEMENTS or node.kind in _EXPRESSIONS for node, _ in self._nodes):
            return None
        sizes = (node for node, _ in self._nodes if node.kind == syntax.SIZEOF)
        if any(self._constant(node) is None for node in sizes):
            return None  # of an array of variable length, whose length can change a variable
        returned = [self._pointer(node.children[0]) if node.children else None
                    for node, _ in self._nodes if node.kind == syntax.RETURN]  # fmt: skip
        if None in returned:
            return None
        values = [node for node in returned if node is not None and node.kind != syntax.INTEGER]
        call: Node | None = values[0] if len(values) == 1 else None
        if values and values[0].kind == syntax.DECL_REF:
            identities = {node.referenced_identity for node in values if node.kind == syntax.DECL_REF}
            is_one = len(identities) == 1 and all(node.kind == syntax.DECL_REF for node in values)
            call = self._only_value(identities.pop()) if is_one else None
        return None if call is None or call.kind != syntax.CALL else self._result_of(call, callee)

    def _pointer(self, node: Node) -> Node | None:
        """Return a pointer without parentheses and conversions of pointers; None if it was an integer."""
        while node.kind in syntax.LAYERS and len(node.children) == 1 and node.type_kind == syntax.POINTER:
            node = node.children[0]
        is_null = node.kind == syntax.INTEGER and self._constant(node) == 0
        return node if is_null or node.type_kind == syntax.POINTER else None

    def _constant(self, node: Node) -> int | None:
        return Facts(self._lib, Names.of_unit(lambda cursor: ("", 0))).constant(node)

    def _only_value(self, identity: int) -> Node | None:
        """Return the value of a local variable that gets one, once; None for others."""
        declared = [n for n, _ in self._nodes if n.kind == syntax.VARIABLE and n.identity == identity]
        if len(declared) != 1 or declared[0].type_kind != syntax.POINTER:
            return None
        cursor = declared[0].cursor
        if self._lib.clang_Cursor_getStorageClass(cursor) != _CLASS_NONE or len(declared[0].children) > 1:
            return None
        values = [*declared[0].children]
        for at in self._references(identity):
            use, parent = self._use(at)
            if use == "changed":
                return None
            values += [self._nodes[parent][0].children[1]] if use == "assigned" else []
        is_plain = len(values) == 1 and not self._lib.clang_Cursor_hasAttrs(cursor)
        return self._pointer(values[0]) if is_plain else None

    def _references(self, identity: int) -> list[int]:
        """Return the indices of the nodes that name a variable."""
        return [
            at
            for at, (node, _) in enumerate(self._nodes)
            if node.kind == syntax.DECL_REF and node.referenced_identity == identity
        ]

    def _use(self, at: int) -> tuple[str, int]:
        """Return how a name is used, `read`, `assigned` or `changed` otherwise, and the index of where."""
        node, above = self._nodes[at]
        while self._nodes[above][0].kind in syntax.VALUE_LAYERS:
            if len(self._nodes[above][0].children) != 1:
                return "changed", above
            node, above = self._nodes[above]
        parent = self._nodes[above][0]
        is_first = parent.children[0] is node
        if parent.kind == syntax.UNARY:
            return ("read" if parent.unary_operator in _READING else "changed"), above
        if parent.kind == syntax.BINARY and parent.binary_operator == syntax.ASSIGN and is_first:
            return "assigned", above
        return ("changed" if parent.kind == syntax.COMPOUND_ASSIGNMENT and is_first else "read"), above

    def _result_of(self, call: Node, callee: Callable[[Node], Result | None]) -> Result | None:
        """Return what the result of a call is, in terms of the parameters."""
        function = _function_name(call.children[0])
        made = None if function is None else callee(function)
        given = call.children[1:]
        if made is None or max(made.size_at, made.count_at or 0) >= len(given):
            return None
        size_at, count_at = self._parameter(given[made.size_at], call, _DEEPEST), None
        if made.count_at is not None and self._constant(given[made.count_at]) != 1:
            count_at = self._parameter(given[made.count_at], call, _DEEPEST)
            if count_at is None:
                return None
        return None if size_at is None else Result(size_at, count_at, made.word, made.depth + 1)

    def _parameter(self, node: Node, call: Node, depth: int) -> int | None:
        """Return the position of the parameter that an argument is, unchanged; None for others."""
        node = skip_layers(node, syntax.VALUE_LAYERS)
        if not depth:
            return None
        is_sum = node.kind == syntax.BINARY and node.binary_operator == _ADD
        if is_sum and self._constant(node.children[1]) == 0:
            return self._parameter(node.children[0], call, depth - 1)
        if node.kind == syntax.CONDITIONAL:  # `size > 0 ? size : 8`: no struct has the size 0
            test = skip_layers(node.children[0], syntax.VALUE_LAYERS)
            is_test = test.kind == syntax.BINARY and test.binary_operator == _GREATER
            if not is_test or self._constant(test.children[1]) != 0:
                return None
            tested = self._parameter(test.children[0], call, depth - 1)
            return tested if tested == self._parameter(node.children[1], call, depth - 1) else None
        is_name = node.kind == syntax.DECL_REF and node.type_kind in syntax.INTEGER_TYPES
        identity = node.referenced_identity
        if not is_name or identity not in self._parameters:
            return None
        if identity not in self._given:
            self._given[identity] = self._is_given(identity, call)
        return self._parameters.index(identity) if self._given[identity] else None

    def _is_given(self, identity: int, call: Node) -> bool:
        """Return whether a parameter has the caller's value at a call: statements after it can change it."""
        after = next(at for at, (each, _) in enumerate(self._nodes) if each is call)
        for at in self._references(identity):
            use, parent = self._use(at)
            above = self._nodes[parent][1]
            is_statement = above >= 0 and self._nodes[above][0].kind == syntax.COMPOUND
            if use == "changed" or (use == "assigned" and (at < after or not is_statement)):
                return False
        return True


def _function_name(node: Node) -> Node | None:
    """Return the name of the function that is called; None for a pointer."""
    node = skip_layers(node, syntax.VALUE_LAYERS)
    is_function = node.kind == syntax.DECL_REF and node.referenced_kind == syntax.FUNCTION
    return node if is_function else None
