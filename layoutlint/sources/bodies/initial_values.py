"""What each value of an initialiser is for, also where inner braces are left out (C11 6.7.9)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.libclang import Cursor, Type
from layoutlint.sources.bodies import syntax
from layoutlint.sources.bodies.facts import Facts
from layoutlint.sources.bodies.trees import Node, skip_layers

_STRING = 109
"""CXCursor_StringLiteral."""
_ENDLESS = 1 << 40
"""The length of an array that its values decide."""
_MOST_LEVELS = 64


class Placement(NamedTuple):
    """A value that is not a list, and what it is for."""

    value: Node
    type: Type
    field: Cursor | None
    """The innermost member that it is for, or for a part of; None for the elements of an array."""
    braces: Node
    """The innermost list that it is in."""


class Run(NamedTuple):
    """Members of the searched struct, one behind the other, that values without designators are for.

    Of a member without a name it is the first or the last one in it; empty if nothing in it has a name.
    """

    first: str
    """The member of the designator before the values; the first one without a designator."""
    last: str
    node: Node
    """The first of the values."""


class _Level:
    """An array or a struct, some of whose parts have values."""

    def __init__(self, parts: list[Cursor] | None, element: Type | None, count: int, is_own: bool) -> None:
        self.parts, self.element, self.count, self.is_own = parts, element, count, is_own
        self.index = -1
        self.named = 0
        """The member of the last designator."""
        self.run: tuple[int, int, Node] | None = None
        """As in `Run`, with positions."""


class InitialValues:
    """The placements of the values in initialisers, and the runs of values in the searched struct."""

    def __init__(self, lib: Any, facts: Facts, subject: str) -> None:
        self._lib, self._facts, self._subject = lib, facts, subject
        self._parts: dict[int, list[Cursor]] = {}
        self.runs: list[Run] = []

    def placements(self, braces: Node) -> Iterator[Placement]:
        """Yield the values in braces; adds to `runs`."""
        yield from self._list(braces, self._type(braces), None)

    def take_runs(self) -> list[Run]:
        """Return the runs so far, and forget them."""
        runs, self.runs = self.runs, []
        return runs

    def _list(
        self, braces: Node, type_: Type, field: Cursor | None, is_own: bool = False
    ) -> Iterator[Placement]:
        """Yield the values in the braces for an object of a type, which is a member or in one.

        `is_own` says whether its members are those of the searched struct.
        """
        top = self._level(type_, is_own)
        if top is None:
            for child in braces.children:
                yield Placement(child, type_, field, braces)
            return
        levels = [top]
        for child in braces.children:
            is_designated = self._is_designated(child)
            fresh = self._designate(levels, child) if is_designated else self._advance(levels)
            value = child.children[-1] if is_designated else child
            if fresh is None:
                yield from self._excess(value, braces)
                continue
            self._enter(levels, value, fresh)
            target, own = self._target(levels[-1])
            parts = (part for each in levels[::-1] if (part := self._part(each)) is not None)
            inner = own or next(parts, field)
            for level in fresh:
                self._extend(level, value)
            if value.kind == syntax.INIT_LIST:
                yield from self._list(value, target, inner, levels[-1].is_own and self._is_nameless(own))
            else:
                yield Placement(value, target, inner, braces)
        self._close(levels)

    def _excess(self, value: Node, braces: Node) -> Iterator[Placement]:
        """Yield a value for which the object has no place."""
        if value.kind != syntax.INIT_LIST:
            yield Placement(value, self._type(value), None, braces)

    # -- levels

    def _level(self, type_: Type, is_own: bool = False) -> _Level | None:
        """Return a level for an array, a struct or a union; None for another type."""
        type_ = self._lib.clang_getCanonicalType(type_)
        if type_.kind in syntax.ARRAYS:
            count = self._lib.clang_getNumElements(type_) if type_.kind == syntax.CONSTANT_ARRAY else _ENDLESS
            return _Level(None, self._lib.clang_getElementType(type_), count, False)
        if type_.kind != syntax.RECORD:
            return None
        parts = self._parts_of(type_)
        is_union = self._lib.clang_getTypeDeclaration(type_).kind == libclang.UNION
        is_own = is_own or self._facts.struct(type_).partition("@")[0] == self._subject
        return _Level(parts, None, min(len(parts), 1) if is_union else len(parts), is_own)

    def _parts_of(self, record: Type) -> list[Cursor]:
        """Return the members of a struct that can have values: unnamed bit-fields cannot."""
        key = int(self._lib.clang_getTypeDeclaration(record).data[0] or 0)
        if key not in self._parts:
            self._parts[key] = [
                part
                for part in libclang.fields_of(self._lib, record)
                if not self._lib.clang_Cursor_isBitField(part) or self._is_named(part)
            ]
        return self._parts[key]

    def _is_named(self, part: Cursor) -> bool:
        name = libclang.spelling(self._lib, part)
        return bool(name) and "(" not in name and " " not in name

    def _part(self, level: _Level) -> Cursor | None:
        has_part = level.parts is not None and 0 <= level.index < len(level.parts)
        return level.parts[level.index] if has_part and level.parts is not None else None

    def _target(self, level: _Level) -> tuple[Type, Cursor | None]:
        """Return the type of a level's present part, and the member if it is one."""
        part = self._part(level)
        if part is not None:
            return self._lib.clang_getCursorType(part), part
        assert level.element is not None
        return level.element, None

    # -- steps

    def _advance(self, levels: list[_Level]) -> list[_Level] | None:
        """Go to the next part; return the levels whose part is another one, None behind the last part."""
        for depth in range(len(levels) - 1, -1, -1):
            if levels[depth].index + 1 < levels[depth].count:
                levels[depth].index += 1
                self._close(levels[depth + 1 :])
                del levels[depth + 1 :]
                return [levels[depth]]
        return None

    def _designate(self, levels: list[_Level], value: Node) -> list[_Level] | None:
        """Go to the part that designators name; return no levels, or None if they name none."""
        self._close(levels[1:])
        del levels[1:]
        steps = value.children[:-1]
        while steps:
            level, step, steps = levels[-1], steps[0], steps[1:]
            if level.parts is None:
                level.index = self._facts.constant(step) or 0
                if steps and steps[0].kind != syntax.MEMBER_NAME and not self._is_array(level):
                    steps = steps[1:]  # the end of a range
            else:
                places = self._find_part(level.parts, step.reference.data[0])
                if places is None:
                    return None
                for place in places[:-1]:  # through members without a name
                    self._end_run(level)
                    level.index = level.named = place
                    inner = self._sub_level(level)
                    if inner is None:
                        return None
                    levels.append(inner)
                    level = inner
                self._end_run(level)
                level.index = level.named = places[-1]
            if steps:
                inner = self._sub_level(level)
                if inner is None:
                    return None
                levels.append(inner)
        return []

    def _find_part(self, parts: list[Cursor], wanted: int) -> list[int] | None:
        """Return the positions that lead to a member, through members without a name; None for others."""
        for at, part in enumerate(parts):
            if part.data[0] == wanted:
                return [at]
            if self._is_nameless(part):
                inner = self._parts_of(self._lib.clang_getCanonicalType(self._lib.clang_getCursorType(part)))
                if (places := self._find_part(inner, wanted)) is not None:
                    return [at, *places]
        return None

    def _is_nameless(self, part: Cursor | None) -> bool:
        """Return whether a member is a struct or union without a name: its members are named without it."""
        if part is None or self._is_named(part):
            return False
        type_ = self._lib.clang_getCanonicalType(self._lib.clang_getCursorType(part))
        return bool(type_.kind == syntax.RECORD)

    def _is_array(self, level: _Level) -> bool:
        kind = self._lib.clang_getCanonicalType(self._target(level)[0]).kind
        return kind in syntax.ARRAYS

    def _sub_level(self, level: _Level) -> _Level | None:
        type_, part = self._target(level)
        return self._level(type_, level.is_own and self._is_nameless(part))

    def _enter(self, levels: list[_Level], value: Node, fresh: list[_Level]) -> None:
        """Go into parts whose braces are left out, up to the one that a value is for as a whole."""
        while value.kind != syntax.INIT_LIST and len(levels) < _MOST_LEVELS:
            target = self._target(levels[-1])[0]
            inner = self._sub_level(levels[-1])
            if inner is None or not inner.count or self._is_whole(value, target):
                return
            inner.index = 0
            levels.append(inner)
            fresh.append(inner)

    def _is_whole(self, value: Node, target: Type) -> bool:
        """Return whether a value is an object of a type, or a text for an array."""
        target = self._lib.clang_getCanonicalType(target)
        inner = value
        inner = skip_layers(inner, syntax.VALUE_LAYERS)
        if target.kind in syntax.ARRAYS:
            return inner.kind == _STRING and not self._is_aggregate(self._lib.clang_getElementType(target))
        own = self._type(value)
        if own.kind != syntax.RECORD:
            return False
        declarations = [self._lib.clang_getTypeDeclaration(each) for each in (own, target)]
        return bool(declarations[0].data[0] == declarations[1].data[0])

    def _is_aggregate(self, type_: Type) -> bool:
        kind = self._lib.clang_getCanonicalType(type_).kind
        return kind in syntax.ARRAYS or kind == syntax.RECORD

    def _is_designated(self, value: Node) -> bool:
        is_layer = value.kind == syntax.UNEXPOSED and len(value.children) > 1
        return is_layer and self._type(value).kind == syntax.VOID

    def _type(self, node: Node) -> Type:
        type_: Type = self._lib.clang_getCanonicalType(self._lib.clang_getCursorType(node.cursor))
        return type_

    # -- runs

    def _extend(self, level: _Level, value: Node) -> None:
        """Note a value without a designator for a member of the searched struct."""
        if not level.is_own:
            return
        node = value if level.run is None else level.run[2]
        if not self._facts.is_zero(value):
            level.run = level.named, level.index, node

    def _end_run(self, level: _Level) -> None:
        if level.run is not None and level.parts:
            first, last, node = level.run
            name = self._name_at_end(level.parts[first], 0)
            self.runs.append(Run(name, self._name_at_end(level.parts[last], -1), node))
            level.run = None

    def _close(self, levels: list[_Level]) -> None:
        for level in levels:
            self._end_run(level)

    def _name_at_end(self, part: Cursor, end: int) -> str:
        """Return the name of a member; of one without a name, that of the first or the last one in it."""
        if not self._is_nameless(part):
            return libclang.spelling(self._lib, part) if self._is_named(part) else ""
        inner = self._parts_of(self._lib.clang_getCanonicalType(self._lib.clang_getCursorType(part)))
        return self._name_at_end(inner[end], end) if inner else ""
