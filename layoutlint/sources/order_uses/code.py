"""The text of a C file as the searches read it: statements, and bodies of macros."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property

from layoutlint.model.record import Record
from layoutlint.readers.c_tokens import blank_comments, blank_out, spaces_for
from layoutlint.readers.clang import text_search
from layoutlint.sources.allocations.declarations import DeclaredNames, TypeName, Unclear
from layoutlint.sources.c_text import MACRO

_CONTINUED = re.compile(r"\\(?=[ \t]*\r?\n)")
_BRACKET = re.compile(r"[()\[\]{}]")
_PAIRS = {")": "(", "]": "[", "}": "{"}
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w*)", re.MULTILINE)
_LONGEST_NAME = 200
"""The most characters of a declaration in which its name is searched, from its end."""
_MOST_POPPED = 8
"""The most brackets that one closing bracket closes: those that another branch of `#if` left open."""
_STOPS = re.compile(r"[(\[{,;)\]}]")
_PARTS = re.compile(r"[(\[{,;]")
_NAME = re.compile(
    r"\(\s*\*+\s*(?:const\s+)?(\w+)|(?<!\w)(\w+)\s*+(?:\[[^\]]*+\]\s*+)*+(?::\s*+\w++\s*+)?(?:__\w++(?:\s*+\([^()]*+\))?\s*+)*+$"
)
_CALL = re.compile(r"\b(\w++)\s*+\(")
_MEMBER = re.compile(r"(?:->|\.)\s*+(\w++)\s*+(\[)?")
_TYPEOF = re.compile(r"\b(?:__)?typeof(?:_unqual)?(?:__)?\s*+\(")
_INITIALISED = re.compile(r"\s*+(?:\)|[^;{}()]{0,200}?=)\s*+[\w{]")
_OPERAND = re.compile(r"\s*+\(*+\s*+(\*?)\s*+\(*+\s*+([A-Za-z_]\w*+)\s*+(\[[^\]]*+\])?\s*+\)*+\s*+")


class Macro(Record, frozen=True):
    """The definition of a macro."""

    name: str
    parameters: tuple[str, ...]
    start: int
    """The offset of its body."""
    end: int


class Code:
    """A text without comments, strings and directives, with every character at its offset."""

    def __init__(self, path: str, text: str, raw: str = "") -> None:
        self.path = path
        self.text = text
        self._raw = raw
        self._types: dict[str, tuple[tuple[int, int], ...]] = {}
        self._members: dict[int, dict[str, int]] = {}
        self._member_names: dict[int, tuple[str, ...]] = {}
        self._arrays: dict[str, float] = {}

    def types(self, pattern: str) -> tuple[tuple[int, int], ...]:
        """Return where a type is named: begin and end of each place."""
        if pattern not in self._types:
            self._types[pattern] = tuple(match.span() for match in re.finditer(pattern, self.text))
        return self._types[pattern]

    def typeof_operands(self, pattern: str) -> Iterator[tuple[int, int, int | None]]:
        """Yield where `typeof(...)` names a type, or an array of it: begin, end and dimensions.

        The dimensions are None if the text does not show which type it is.
        """
        for match in _TYPEOF.finditer(self.text) if "typeof" in self.text else ():
            end = self.closings.get(match.end() - 1)
            if end is None or _INITIALISED.match(self.text, end + 1) is None:
                continue
            dims = self._typeof_dims(" ".join(self.text[match.end() : end].split()), pattern, match.start())
            if dims is None or dims >= 0:
                yield match.start(), end + 1, dims

    def _typeof_dims(self, operand: str, pattern: str, at: int) -> int | None:
        """Return the dimensions of an operand of a type; -1 for another type, None if the text shows none."""
        words = operand.strip("( )")
        if re.match(rf"(?:const |volatile )*(?:{pattern})$", words):
            return 0
        if re.match(rf"\*\s*+\(*+\s*+(?:const )?(?:{pattern})\s*\*+\s*\)", operand):
            return 0
        if re.match(r"(?:unsigned|signed|int|long|char|short|void|float|double|_Bool|bool)\b", words):
            return -1
        name = _OPERAND.fullmatch(operand)
        if name is None:
            return None
        if name[1] or name[3]:
            return 0 if self._is_named(self.pointed_type(name[2], at), pattern) else -1
        own, pointed = self.own_type(name[2], at), self.pointed_type(name[2], at)
        if self._is_named(own, pattern):
            return 0
        return 1 if self._is_named(pointed, pattern) and self._first_array(name[2]) <= at else -1

    def _first_array(self, name: str) -> float:
        """Return where the first declaration of an array with a name ends; infinity if there is none."""
        if name not in self._arrays:
            declared = re.search(rf"\b{name}\s*+\[[^][]*+\]\s*+[;,=]", self.text)
            self._arrays[name] = math.inf if declared is None else declared.end()
        return self._arrays[name]

    def _is_named(self, meaning: object, pattern: str) -> bool:
        if not isinstance(meaning, TypeName):
            return False
        words = ("",) if meaning.is_typedef else ("struct ", "union ")
        return any(re.fullmatch(pattern, f"{word}{meaning.name}") for word in words)

    @cached_property
    def struct_names(self) -> dict[int, list[TypeName]]:
        """The tag and the typedefs of each struct and union with a body, by the offset of the brace."""
        names: dict[int, list[TypeName]] = {}
        for name, at in sorted(set(text_search.definitions_in(self.text.encode("latin-1")))):
            if (brace := self.text.find("{", at)) >= 0:
                is_tag = re.search(rf"\b{name}\b", self.text[at:brace]) is not None
                names.setdefault(brace, []).append(TypeName(name, not is_tag))
        return names

    def brace_around(self, at: int) -> int | None:
        """Return the offset of the innermost brace around an offset."""
        places, around = self._braces_around
        place = bisect_left(places, at)
        return around[place - 1] if place else None

    @cached_property
    def _braces_around(self) -> tuple[list[int], list[int | None]]:
        """The offsets of the braces that have a partner, and the innermost open brace behind each of them."""
        braces = [(at, end) for at, end in self.closings.items() if self.text[at] == "{"]
        ends = {end: at for at, end in braces}
        places = sorted((*ends, *ends.values()))
        stack: list[int] = []
        around: list[int | None] = []
        for place in places:
            if place in ends:
                stack.pop()
            else:
                stack.append(place)
            around.append(stack[-1] if stack else None)
        return places, around

    def has_directive(self, start: int, end: int, word: str = "") -> bool:
        """Return whether a directive, or one that begins with a word, is on a line between two offsets."""
        first, last = self.line(start), self.line(end)
        lines = self._directives
        places = range(bisect_right(lines, (first, "~")), bisect_right(lines, (last, "~")))
        return any(lines[place][1].startswith(word) for place in places)

    @cached_property
    def _directives(self) -> list[tuple[int, str]]:
        """The line of each directive, and its word."""
        lines: list[tuple[int, str]] = []
        at, line = 0, 1
        for match in _DIRECTIVE.finditer(self._raw):
            line += self._raw.count("\n", at, match.start(1))
            at = match.start(1)
            lines.append((line, match[1]))
        return lines

    def declared_name(self, start: int, end: int) -> str:
        """Return the name that a declaration in a range gives to a member; empty for a member without one."""
        while end > start and self.text[end - 1].isspace():
            end -= 1
        match = _NAME.search(self.text[max(start, end - _LONGEST_NAME) : end])
        return (match[1] or match[2]) if match is not None else ""

    def member_names(self, brace: int) -> tuple[str, ...]:
        """Return the names of the members in a body in order, empty for one without a name."""
        if brace not in self._member_names:
            names = (self.declared_name(start, end) for start, end in self.parts(brace))
            self._member_names[brace] = tuple(names)
        return self._member_names[brace]

    def member_places(self, brace: int) -> dict[str, int]:
        """Return the position of each name among the members in a body."""
        if brace not in self._members:
            self._members[brace] = {name: at for at, name in enumerate(self.member_names(brace))}
        return self._members[brace]

    def line(self, at: int) -> int:
        """Return the number of the line at an offset, from 1."""
        return bisect_right(self._line_starts, at)

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    @cached_property
    def calls(self) -> dict[str, list[int]]:
        """The offsets of the parentheses behind each name."""
        calls: dict[str, list[int]] = {}
        for match in _CALL.finditer(self.text):
            calls.setdefault(match[1], []).append(match.end() - 1)
        return calls

    @cached_property
    def used_members(self) -> dict[str, bool]:
        """The names of the members that expressions use, and whether one of these indexes the member."""
        used: dict[str, bool] = {}
        for match in _MEMBER.finditer(self.text):
            used[match[1]] = used.get(match[1], False) or match[2] is not None
        return used

    @cached_property
    def names(self) -> DeclaredNames:
        """The declarations of variables."""
        return DeclaredNames(self.text)

    @cached_property
    def closings(self) -> dict[int, int]:
        """The offset of the bracket that closes the one at each offset, if one does.

        A brace in the first column closes everything: branches of `#if` can open more than they close.
        """
        text, closing, stack = self.text, dict[int, int](), list[int]()
        for bracket in _BRACKET.finditer(text):
            at, sign = bracket.start(), bracket[0]
            opening = _PAIRS.get(sign)
            if opening is None:
                stack.append(at)
                continue
            near = stack[-_MOST_POPPED:]
            while near and text[near[-1]] != opening:
                near.pop()
            if near:
                closing[near[-1]] = at
                del stack[stack.index(near[-1], max(0, len(stack) - _MOST_POPPED)) :]
            if sign == "}" and (at == 0 or text[at - 1] == "\n"):
                stack.clear()
        return closing

    def parts(self, opening: int) -> Iterator[tuple[int, int]]:
        """Yield where the parts between commas begin and end, within the brackets that open at an offset.

        Yields nothing if nothing closes them. A semicolon also separates.
        """
        end = self.closings.get(opening)
        if end is None:
            return
        start = at = opening + 1
        while (sign := _PARTS.search(self.text, at, end)) is not None:
            at = sign.end()
            if sign[0] in ",;":
                yield start, sign.start()
                start = at
            else:
                at = self.closings.get(sign.start(), sign.start()) + 1
        if start > opening + 1 or self.text[start:end].strip():
            yield start, end

    def next_comma(self, at: int) -> int | None:
        """Return the offset of the comma that ends an expression; None if something else ends it."""
        while (sign := _STOPS.search(self.text, at)) is not None:
            if sign[0] in "([{" and (end := self.closings.get(sign.start())) is not None:
                at = end + 1
            else:
                return sign.start() if sign[0] == "," else None
        return None

    def pointed_type(self, name: str, at: int) -> TypeName | Unclear | None:
        """Return the struct that a pointer variable points to at an offset; None for another type."""
        return self.names.meaning(("*", name), at)

    def own_type(self, name: str, at: int) -> TypeName | Unclear | None:
        """Return the struct that a variable is at an offset; None for another type."""
        meaning = self.names.meaning((name,), at)
        is_undeclared = isinstance(meaning, TypeName) and meaning.is_typedef and meaning.name == name
        return Unclear(f"`{name}` is declared elsewhere") if is_undeclared else meaning


def statements(path: str, text: str) -> Code:
    """Return a C file without its directives."""
    return Code(path, blank_out(text), text)


def macros(path: str, text: str) -> tuple[Code, tuple[Macro, ...]]:
    """Return the bodies of the macros of a C file as a text, each after a semicolon, and the macros."""
    if "define" not in text:
        return Code(path, ""), ()
    blanked = blank_comments(text)
    parts: list[str] = []
    macros: list[Macro] = []
    at = 0
    for macro in MACRO.finditer(blanked):
        head = spaces_for(blanked[at : macro.start(3)])
        parts += (
            head[: macro.start() - at],
            ";",
            head[macro.start() - at + 1 :],
            _CONTINUED.sub(" ", macro[3]),
        )
        at = macro.end()
        parameters = tuple(word.strip() for word in (macro[2] or "").split(","))
        macros.append(Macro(macro[1], parameters, macro.start(3), macro.end()))
    parts.append(spaces_for(blanked[at:]))
    return Code(path, "".join(parts)), tuple(macros)
