"""Resolution of names in expressions: the struct that a pointer refers to, by the declarations before it."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from itertools import islice

from layoutlint.model.record import Record
from layoutlint.sources.allocations import struct_definitions
from layoutlint.sources.allocations.expressions import Tokens, spell, strip_parentheses

# Each pattern matches in one way only and has a bounded length, so that no text takes exponential time.
_QUALIFIERS = r"(?:(?:static|const|volatile|register|extern|__\w+)\s+){0,9}"
_STARS = r"((?:\*\s*(?:(?:const|__\w+)\s+)?){0,9})"
_TYPED = re.compile(rf"\s*{_QUALIFIERS}(?:(struct|union)\s+)?(\w++)\s*+{_QUALIFIERS}{_STARS}")
_FIRST = re.compile(rf"\s*{_QUALIFIERS}(?:(struct|union)\s+)?(\w+)\s+{_STARS}\w")
_LATER = re.compile(rf"\s*(?:const\s+)?{_STARS}")
_AFTER_NAME = re.compile(r"\s*(?:(\[)|[;,=)]|__)")
_AT_TOP = re.compile(
    rf"^{_QUALIFIERS}(struct|union)\s+(\w+)\s+{_STARS}(\w++)\s*+(?:__\w++\s*+)*+(\[)?[^;=(){{}}]{{0,999}}+[;=]",
    re.MULTILINE,
)
_KEYWORDS = frozenset(
    (
        *(
            "return",
            "sizeof",
            "else",
            "goto",
            "case",
            "do",
            "typeof",
            "__typeof__",
            "enum",
            "break",
            "continue",
        ),
        *("default", "if", "while", "for", "switch", "struct", "union"),
    )
)
_NUMBERS = re.compile(
    r"void|char|short|int|long|signed|unsigned|float|double|bool|_Bool|s?size_t|wchar_t|gfp_t|dma_addr_t|phys_addr_t"
    r"|resource_size_t|loff_t|off_t|pid_t|uid_t|gid_t|u?(?:char|short|int|long)|u_(?:char|short|int|long)"
    r"|(?:__)?[us](?:8|16|32|64)|__[lb]e(?:16|32|64)|u?int(?:8|16|32|64)_t|u?intptr_t"
)
_WORD = re.compile(r"\w+")
_FUNCTION_END = re.compile(r"\n\}")
_END = re.compile(r"[{;]")
_FAR = 1 << 16
"""The number of characters before a call in which its function is searched."""


class TypeName(Record, frozen=True):
    """A type by its name."""

    name: str
    is_typedef: bool = False


class Unclear(Record, frozen=True):
    """The reason why the text does not show the type of an expression."""

    reason: str


Meaning = TypeName | Unclear | None
"""None for what is no struct: a number, a pointer."""
_Typed = tuple[TypeName, int]
"""The type of a variable, and the number of dereferences from the variable to it."""


class DeclaredNames:
    """The names of one source, as its blanked text declares them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._uses: dict[int, dict[str, list[int]]] = {}
        """By the start of a function: the offsets of each word in it."""
        self._local: dict[tuple[int, str], list[tuple[int, _Typed]]] = {}
        """By the start of a function and a name: offset and type of the first declarations, of two types."""
        self._top: dict[str, set[_Typed]] | None = None
        self._fields: dict[str, struct_definitions.Fields] | None = None

    def meaning(self, operand: Tokens, at: int) -> Meaning:
        """Return the type of an operand of `sizeof` at an offset of the text."""
        operand = strip_parentheses(tuple(word for word in operand if word not in ("const", "volatile")))
        first, rest = operand[:1], strip_parentheses(operand[1:])
        if first in (("struct",), ("union",)):
            if len(rest) == 1:
                return TypeName(rest[0])
            return None if rest[-1:] == ("*",) else Unclear(f"`{spell(operand)}` is no struct alone")
        if first == ("*",) and len(rest) == 1 and rest[0].isidentifier():
            return self._resolve_variable(rest[0], 1, at)
        if operand[1:] == ("[", "0", "]") and operand[0].isidentifier():
            return self._resolve_variable(operand[0], 1, at)
        if len(operand) == 1 and operand[0].isidentifier():
            return None if _NUMBERS.fullmatch(operand[0]) else self._resolve_variable(operand[0], 0, at)
        if operand[-1:] == ("*",) or (operand and _NUMBERS.fullmatch(operand[0])):
            return None
        resolved = self._resolve_chain(rest if first == ("*",) else operand, at)
        if resolved is None:
            return Unclear(f"what `{spell(operand)}` is, a declaration elsewhere tells")
        return resolved[0] if resolved[1] == (first == ("*",)) else None

    def _resolve_chain(self, chain: Tokens, at: int) -> _Typed | None:
        """Return the type of `a->b.c`, by the structs that the text defines; None if they do not show it."""
        names, signs = chain[::2], chain[1::2]
        if not all(name.isidentifier() for name in names) or not set(signs) <= {"->", "."}:
            return None
        if self._fields is None:
            self._fields = struct_definitions.fields_by_tag(self._text)
        types = (
            self._function_types(names[0], at) or self._file_scope().get(names[0], set()) if names else set()
        )
        for sign, name in zip(signs, names[1:], strict=False):
            if len(types) != 1:
                return None
            ((kind, depth),) = types
            if kind.is_typedef or depth != (sign == "->"):
                return None
            members = self._fields.get(kind.name, {}).get(name, set())
            types = {(TypeName(tag), stars) for tag, stars in members}
        return types.pop() if len(types) == 1 and len(names) == len(signs) + 1 else None

    def _resolve_variable(self, name: str, stars: int, at: int) -> Meaning:
        """Return the type of a variable after some dereferences; an undeclared name stands for itself."""
        types = self._function_types(name, at) or self._file_scope().get(name, set())
        if not types and stars:
            return Unclear(f"what `*{name}` is, no declaration before it tells")
        if not types:
            return TypeName(name, is_typedef=True)
        if len(types) > 1:
            return Unclear(f"`{name}` has several declarations before it")
        ((kind, depth),) = types
        return None if depth != stars or _NUMBERS.fullmatch(kind.name) else kind

    def _function_types(self, name: str, at: int) -> set[_Typed]:
        """Return the types that the function around an offset declares before it.

        A brace in the first column ends a function.
        """
        text = self._text
        far = max(0, at // _FAR - 1) * _FAR  # equal for calls near one another
        number = bisect_right(self._ends, at - 2)
        start = max(self._ends[number - 1], far) if number else far
        if (start, name) not in self._local:
            uses = self._words(start).get(name, [])
            first: dict[_Typed, int] = {}
            for use in uses:
                if (typed := _declared_type(text, use, use + len(name))) is not None:
                    first.setdefault(typed, use)
            self._local[start, name] = [(use, typed) for typed, use in islice(first.items(), 2)]
        return {typed for place, typed in self._local[start, name] if place < at}

    @cached_property
    def _ends(self) -> list[int]:
        """The offsets of the line breaks before braces in the first column."""
        return [match.start() for match in _FUNCTION_END.finditer(self._text)]

    def _words(self, start: int) -> dict[str, list[int]]:
        """Return the offsets of words in the function that begins at an offset."""
        if start not in self._uses:
            far = start + 3 * _FAR
            end = self._text.find("\n}", start + 1, far)
            uses: dict[str, list[int]] = {}
            for word in _WORD.finditer(self._text, start, far if end < 0 else end):
                uses.setdefault(word[0], []).append(word.start())
            self._uses[start] = uses
        return self._uses[start]

    def _file_scope(self) -> dict[str, set[_Typed]]:
        """Return the variables that are declared in the first column, outside of functions."""
        if self._top is None:
            self._top = {}
            for declaration in _AT_TOP.finditer(self._text):
                typed = TypeName(declaration[2]), declaration[3].count("*") + (1 if declaration[5] else 0)
                self._top.setdefault(declaration[4], set()).add(typed)
        return self._top


def _declared_type(text: str, start: int, end: int) -> _Typed | None:
    """Return the type that a name is declared with at an offset; None if it is only used there."""
    suffix = _AFTER_NAME.match(text, end)
    if suffix is None or text[start - 1 : start] in (".", ">"):
        return None
    typed = _declaration(text, start)
    return (typed[0], typed[1] + (1 if suffix[1] else 0)) if typed is not None else None


def _is_head(text: str, statement: int, at: int) -> bool:
    """Return whether an offset is in the head of a function: from the first column on, before a brace."""
    first, end = _WORD.search(text, statement, at), _END.search(text, at, at + _FAR // 16)
    starts = first is not None and text[first.start() - 1 : first.start()] in ("", "\n")
    return starts and end is not None and end[0] == "{"


def _declaration(text: str, at: int) -> _Typed | None:
    """Return type and stars before a name, if it is declared there; in the head of a function all are."""
    far = max(0, at - _FAR // 16)
    statement = max(text.rfind(sign, far, at) for sign in ";{}") + 1
    near = max(statement, text.rfind("(", statement, at) + 1, text.rfind(",", statement, at) + 1)
    own_type = _TYPED.fullmatch(text, near, at)
    if own_type is not None and own_type[2] not in _KEYWORDS:
        is_complete = own_type[1] or near == statement or _is_head(text, statement, at)
        is_declared = is_complete and (own_type[3] or text[at - 1].isspace())
        return (TypeName(own_type[2], own_type[1] is None), own_type[3].count("*")) if is_declared else None
    stars_only = _LATER.fullmatch(text, near, at)
    first_type = _FIRST.match(text, statement, at)
    if stars_only is None or first_type is None or text[near - 1] != "," or first_type[2] in _KEYWORDS:
        return None
    statement_text = text[statement:at]
    if statement_text.count("(") != statement_text.count(")"):
        return None
    return TypeName(first_type[2], first_type[1] is None), stars_only[1].count("*")
