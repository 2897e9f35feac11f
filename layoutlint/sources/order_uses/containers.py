"""Structs in C text that embed another by value: the members, and what initialisers set in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain

from layoutlint.model.record import Record
from layoutlint.sources.allocations.declarations import TypeName
from layoutlint.sources.order_uses import initialisers
from layoutlint.sources.order_uses.code import Code
from layoutlint.sources.order_uses.facts import OrderUse, UnresolvedUse
from layoutlint.sources.order_uses.initialisers import ByMacro, Initialiser, Judge, Value

_EMBEDS = re.compile(
    r"\s++((?:__\w++\s+)?\w++\s*+(?:\[[^\]\n]{0,200}+\]\s*+){0,9}+[^;{}()*=]{0,200}+)(?:;|__\w++\s*+\()"
)
_DECLARATOR = re.compile(r"\s*+(?:__\w++\s++){0,9}(\w++)\s*+((?:\[[^\]]{0,400}+\]\s*+){0,9})")
_VALUE = rb"\s[^;{}=]{0,200}+=\s*+[{A-Z_]"
_VALUE_OF_BODY = re.compile(rb"\}[^;{}()=,]{1,200}+=\s*+[{A-Z_]")
_VALUE_OF_TAG = re.compile(rb"(?:struct|union)\s++(\w++)" + _VALUE)
_COMPOUND = re.compile(
    rb"\(\s*+(?:const\s++)?(?:(?:struct|union)\s++)?(\w++)\s*+(?:\[[^\]\n]{0,200}+\]\s*+)?\)\s*+\{"
)
_AGGREGATE = re.compile(r"\b(?:struct|union)\b[^;{}=]{0,100}+$")
_ARRAY_TYPEDEF = re.compile(
    rb"\btypedef\s++(?:const\s++)?(?:(?:struct|union)\s++)?(\w++)\s++(\w++)\s*+((?:\[[^\]\n]{0,200}+\]\s*+)++);"
)
_NEAR = 100
_STEP = re.compile(r"\[[^\]]{0,400}+\]|\.?(\w+)")
_FIXED = re.compile(r"\b(?:__packed|packed|PACKED)\b")
_DEEPEST = 8
_LONGEST_ATTRIBUTES = 400
"""The most characters behind a body in which its attributes are searched."""


class TextContainer(Record, frozen=True):
    """A struct that embeds the searched one by value."""

    name: str
    """Its tag, or a typedef."""
    is_typedef: bool
    member: str
    dims: int
    members: tuple[str, ...]
    """The names of its members in order, empty for one without a name; none if the configuration decides
    which there are, or if the member is inside one without a name."""
    inner: str
    """The struct that the member is: the searched one, or another container."""
    file: str
    line: int
    end: int
    """The offset behind the brace that closes its body."""
    is_packed: bool

    @property
    def place(self) -> tuple[object, ...]:
        """The identity of the struct: its names, and its place."""
        return self.name, self.is_typedef, self.member, self.dims, self.inner, self.file, self.line, self.end


def may_embed(text: str, type_pattern: str) -> bool:
    """Return whether a text seems to declare something of a type by value."""
    types = re.finditer(type_pattern, text)
    return any(_EMBEDS.match(text, match.end()) is not None for match in types)


def find(code: Code, type_pattern: str, inner: str) -> Iterator[TextContainer]:
    """Yield the structs that embed a type by value, each member once for each name of the struct."""
    declared = [
        (start, declarator)
        for start, end in code.types(type_pattern)
        if (match := _EMBEDS.match(code.text, end)) is not None
        for part in match[1].split(",")
        if (declarator := _DECLARATOR.match(part)) is not None
    ]
    for at, declarator in declared:
        yield from _containers_at(code, at, (declarator[1], declarator[2].count("[")), inner)


def _containers_at(
    code: Code, at: int, declared: tuple[str, int], inner: str
) -> Iterator[TextContainer]:
    """Yield the structs around a declaration, the innermost first.

    Those without a name are called by their place.
    """
    names, braces = code.struct_names, list(_aggregate_braces(code, at))
    is_packed = False
    for brace in braces:
        end = code.closings[brace]
        is_packed = is_packed or _FIXED.search(code.text, end, _end_of_attributes(code, end)) is not None
        members = _members(code, brace, declared[0])
        column = brace - code.text.rfind("\n", 0, brace)
        own = names.get(brace) or [TypeName(f"at {code.path}:{code.line(brace)}:{column}")]
        for each in own:
            yield TextContainer(
                each.name, each.is_typedef, *declared, members, inner, code.path, code.line(at), end + 1,
                is_packed,
            )  # fmt: skip
        inner = own[0].name
        following = _DECLARATOR.match(code.text, end + 1)
        declared = ("", 0) if following is None else (following[1], following[2].count("["))


def _end_of_attributes(code: Code, end: int) -> int:
    """Return the end of the declaration whose body ends at an offset, as far as attributes are read."""
    semicolon = code.text.find(";", end, end + _LONGEST_ATTRIBUTES)
    return semicolon if semicolon >= 0 else end + _LONGEST_ATTRIBUTES


def _aggregate_braces(code: Code, at: int) -> Iterator[int]:
    """Yield the braces of the structs around an offset, the innermost first."""
    brace: int | None = at
    for _ in range(_DEEPEST):
        brace = code.brace_around(brace or 0)
        if brace is None:
            return
        if brace not in code.struct_names and not _AGGREGATE.search(code.text, max(0, brace - _NEAR), brace):
            return
        yield brace


def _members(code: Code, brace: int, member: str) -> tuple[str, ...]:
    """Return the names of the members in a body; none if directives are between them, or one is not there."""
    if code.has_directive(brace, code.closings[brace]):
        return ()
    return code.member_names(brace) if member in code.member_places(brace) else ()


def may_initialise(data: bytes, containers: Mapping[str, Sequence[TextContainer]]) -> bool:
    """Return whether a text seems to have initialisers of containers."""
    if not containers:
        return False
    if next(_array_typedefs(data, containers), None) is not None:
        return True
    names = _initialised_names(data, containers)
    return _VALUE_OF_BODY.search(data) is not None or next(names, None) is not None


def _array_typedefs(
    data: bytes, containers: Mapping[str, Sequence[TextContainer]]
) -> Iterator[tuple[str, str, int]]:
    """Yield the typedefs of arrays of containers in a text: name, container, dimensions."""
    for match in _ARRAY_TYPEDEF.finditer(data) if b"typedef" in data else ():
        name = match[1].decode("latin-1")
        if name in containers:
            yield match[2].decode("latin-1"), name, match[3].count(b"[")


def _initialised_names(data: bytes, containers: Mapping[str, Sequence[TextContainer]]) -> Iterator[str]:
    """Yield the containers that a text seems to initialise, maybe several times."""
    typedefs = frozenset(name for name, own in containers.items() if own[0].is_typedef)
    matches = chain(_VALUE_OF_TAG.finditer(data), _COMPOUND.finditer(data))
    if typedefs:
        matches = chain(matches, _value_of_typedef(typedefs).finditer(data))
    names = (match[1].decode("latin-1") for match in matches)
    return (name for name in names if name in containers)


@cache
def _value_of_typedef(names: frozenset[str]) -> re.Pattern[bytes]:
    words = b"|".join(re.escape(name.encode("latin-1", "replace")) for name in sorted(names))
    return re.compile(rb"\b(" + words + rb")\b" + _VALUE)


def find_uses(
    code: Code, containers: Mapping[str, Sequence[TextContainer]], judge: Judge
) -> Iterator[OrderUse | ByMacro | UnresolvedUse]:
    """Yield the uses in initialisers of containers."""
    values = _Values(code, containers, judge)
    for name in sorted(set(_initialised_names(code.text.encode("latin-1"), containers))):
        keyword = "" if containers[name][0].is_typedef else r"(?:struct|union)\s+"
        for value in initialisers.find(code, rf"\b{keyword}{re.escape(name)}\b"):
            yield from values.uses(name, value)
    for alias, name, dims in _array_typedefs(code.text.encode("latin-1"), containers):
        for value in initialisers.find(code, rf"\b{re.escape(alias)}\b"):
            yield from values.uses(name, value._replace(dims=value.dims + dims))
    bodies = {each.end: each for own in containers.values() for each in own if each.file == code.path}
    for end, each in bodies.items():
        for value in initialisers.variables(code, end):
            yield from values.uses(each.name, value)


class _Values:
    """The values that initialisers of containers in a text give to the searched struct."""

    def __init__(self, code: Code, containers: Mapping[str, Sequence[TextContainer]], judge: Judge) -> None:
        self._code = code
        self._containers = containers
        self._judge = judge

    def uses(self, name: str, value: Initialiser) -> Iterator[OrderUse | ByMacro | UnresolvedUse]:
        """Yield the uses in an initialiser of a container, or of an array of it."""
        pending = [(name, value)]
        while pending:
            name, value = pending.pop()
            if value.macro:
                yield UnresolvedUse(self._code.line(value.at), f"how `{value.macro}` initialises `{name}`")
                continue
            if (line := initialisers.included_line(self._code, value)) is not None:
                yield UnresolvedUse(line, f"what a file that an initialiser of `{name}` includes sets")
                continue
            bare: list[Value] = []
            for start, end, dims in initialisers.array_values(self._code, value):
                if self._code.text[start] != "{":
                    bare.append(initialisers.element_at(self._code, start, end))
                elif not dims:
                    for run in initialisers.runs(self._code, start):
                        yield from self._find_uses(name, run, pending)
            if bare:  # values for the parts of elements, whose braces are left out
                yield from self._find_uses(name, sorted(bare), pending)

    def _find_uses(
        self, name: str, run: Sequence[Value], pending: list[tuple[str, Initialiser]]
    ) -> Iterator[OrderUse | ByMacro | UnresolvedUse]:
        """Yield the uses in values that follow one another; add the values for containers among them."""
        containers = self._containers[name]
        members, first = containers[0].members, run[0].member
        if first and not any(container.member == first for container in containers):
            anonymous = self._anonymous_struct(name, first, _DEEPEST)
            if anonymous is not None:
                yield from self._find_uses(anonymous, run, pending)
                return
        start = members.index(first) if first and first in members else 0
        is_known = bool(members) and (not first or first in members)
        for number, element in enumerate(run):
            rest = run[number:]
            if not is_known and not element.member:
                yield self._unresolved_value(element, f"which member of `{name}` a value is for")
                return
            place = start + number
            member = element.member or (members[place] if place < len(members) else None)
            inner = next((container for container in containers if container.member == member), None)
            if element.path:
                yield from self._path_uses(name, inner, rest, pending)
                return
            if inner is None:
                continue
            value = initialisers.value_at(self._code, element, inner.dims)
            if value is not None:
                yield from self._value_uses(name, inner, value, pending)
            elif (gives_parts := self._judge.gives_parts(element)) is not False:
                yield from self._elided_uses(inner, rest, gives_parts)
                return

    def _value_uses(
        self, name: str, inner: TextContainer, value: Initialiser, pending: list[tuple[str, Initialiser]]
    ) -> Iterator[OrderUse | ByMacro | UnresolvedUse]:
        """Yield the uses in the value of a member; add it if the member is a container itself."""
        if inner.inner not in self._containers:
            yield from self._judge.uses(value)
        elif inner.inner != name:
            pending.append((inner.inner, value))

    def _path_uses(
        self,
        name: str,
        inner: TextContainer | None,
        rest: Sequence[Value],
        pending: list[tuple[str, Initialiser]],
    ) -> Iterator[OrderUse | ByMacro | UnresolvedUse]:
        """Yield the uses in a value for something in a member, and in those that follow it."""
        element = rest[0]
        if inner is None:
            if len(rest) > 1:
                yield self._unresolved_value(rest[1], f"which member of `{name}` a value is for")
            return
        steps = list(_STEP.finditer(element.path))
        dims = inner.dims
        while steps and not steps[0][1] and dims:
            steps, dims = steps[1:], dims - 1
        if not steps:
            value = initialisers.value_at(self._code, element, dims)
            if value is not None:
                yield from self._value_uses(name, inner, value, pending)
        elif inner.inner in self._containers and inner.inner != name and steps[0][1]:
            inside = element._replace(member=steps[0][1], path=element.path[steps[0].end() :])
            yield from self._find_uses(inner.inner, [inside, *rest[1:]], pending)
        else:
            yield from self._judge.find_in_elided_braces(rest[1:])

    def _anonymous_struct(self, name: str, member: str, depth: int) -> str | None:
        """Return the struct without a name, at any depth in a container, that has a member; None without."""
        for each in self._containers[name] if depth else ():
            if each.member or each.inner not in self._containers:
                continue
            inner = self._containers[each.inner]
            if any(one.member == member or member in one.members for one in inner):
                return each.inner
            if (deeper := self._anonymous_struct(each.inner, member, depth - 1)) is not None:
                return deeper
        return None

    def _elided_uses(
        self, inner: TextContainer, rest: Sequence[Value], gives_parts: bool | None
    ) -> Iterator[OrderUse | UnresolvedUse]:
        """Yield the use of values for the parts of an embedded struct."""
        if len(rest) <= self._scalars_before(inner, _DEEPEST):
            return
        if gives_parts:
            yield from self._judge.find_in_elided_braces(rest)
        elif len(rest) > 1 or not rest[0].member:
            text = f"whether a value is for all of `{inner.member}` of `{inner.name}`"
            yield self._unresolved_value(rest[0], text)

    def _unresolved_value(self, value: Value, text: str) -> UnresolvedUse:
        return UnresolvedUse(self._code.line(value.start), text)

    def _scalars_before(self, member: TextContainer, depth: int) -> int:
        """Return the least number of values for scalars before the searched struct in an embedded one."""
        if member.inner not in self._containers or not depth:
            return 0
        return min(
            (each.members.index(each.member) if each.members else 0) + self._scalars_before(each, depth - 1)
            for each in self._containers[member.inner]
        )
