"""What a name in an expression means: the struct that a pointer points to, by the declarations before it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from layoutlint.readers.allocations import struct_fields
from layoutlint.readers.allocations.expressions import Tokens, bare, spelled

# A piece of text that matches in one way only, and of bounded length: else a strange one takes forever.
_QUALIFIERS = r"(?:(?:static|const|volatile|register|extern|__\w+)\s+){0,9}"
_STARS = r"((?:\*\s*(?:(?:const|__\w+)\s+)?){0,9})"
_TYPED = re.compile(rf"\s*{_QUALIFIERS}(?:(struct|union)\s+)?(\w+)\s*{_QUALIFIERS}{_STARS}")
_FIRST = re.compile(rf"\s*{_QUALIFIERS}(?:(struct|union)\s+)?(\w+)\s+{_STARS}\w")
_LATER = re.compile(rf"\s*(?:const\s+)?{_STARS}")
_BEHIND = re.compile(r"\s*(?:(\[)|[;,=)]|__)")
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
_END = re.compile(r"[{;]")
_FAR = 1 << 16
"""Characters before a call among which its function is looked for."""


@dataclass(frozen=True, slots=True)
class Named:
    """A type by its name."""

    name: str
    is_typedef: bool = False


@dataclass(frozen=True, slots=True)
class Unclear:
    """Why an expression has no type that the text tells."""

    reason: str


Meaning = Named | Unclear | None
"""None for what is no struct: a number, a pointer."""
_Typed = tuple[Named, int]
"""What a variable is made of, and how many dereferences lead to it."""


class Names:
    """The names of one source, as its blanked text declares them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._uses: dict[int, dict[str, list[int]]] = {}
        """By where a function begins: where in it each word stands."""
        self._local: dict[tuple[int, str], list[tuple[int, _Typed]]] = {}
        """By where a function begins and the name: where it is declared, and as what."""
        self._top: dict[str, set[_Typed]] | None = None
        self._fields: dict[str, struct_fields.Fields] | None = None

    def meaning(self, operand: Tokens, at: int) -> Meaning:
        """The type of what stands in `sizeof` at a place of the text."""
        operand = bare(tuple(word for word in operand if word not in ("const", "volatile")))
        first, rest = operand[:1], bare(operand[1:])
        if first in (("struct",), ("union",)):
            if len(rest) == 1:
                return Named(rest[0])
            return None if rest[-1:] == ("*",) else Unclear(f"`{spelled(operand)}` is no struct alone")
        if first == ("*",) and len(rest) == 1 and rest[0].isidentifier():
            return self._declared(rest[0], 1, at)
        if len(operand) == 4 and operand[1:] == ("[", "0", "]") and operand[0].isidentifier():
            return self._declared(operand[0], 1, at)
        if len(operand) == 1 and operand[0].isidentifier():
            return None if _NUMBERS.fullmatch(operand[0]) else self._declared(operand[0], 0, at)
        if operand[-1:] == ("*",) or (operand and _NUMBERS.fullmatch(operand[0])):
            return None
        found = self._reached(rest if first == ("*",) else operand, at)
        if found is None:
            return Unclear(f"what `{spelled(operand)}` is, a declaration elsewhere tells")
        return found[0] if found[1] == (first == ("*",)) else None

    def _reached(self, chain: Tokens, at: int) -> _Typed | None:
        """What `a->b.c` is, by the structs that the text defines; None where they do not tell."""
        names, signs = chain[::2], chain[1::2]
        if not all(name.isidentifier() for name in names) or not set(signs) <= {"->", "."}:
            return None
        if self._fields is None:
            self._fields = struct_fields.of(self._text)
        known = self._in_function(names[0], at) or self._at_top().get(names[0], set()) if names else set()
        for sign, name in zip(signs, names[1:], strict=False):
            if len(known) != 1:
                return None
            ((kind, depth),) = known
            if kind.is_typedef or depth != (sign == "->"):
                return None
            found = self._fields.get(kind.name, {}).get(name, set())
            known = {(Named(tag), stars) for tag, stars in found}
        return known.pop() if len(known) == 1 and len(names) == len(signs) + 1 else None

    def _declared(self, name: str, stars: int, at: int) -> Meaning:
        """What a variable is, after so many dereferences; a name that nothing declares stands for itself."""
        found = self._in_function(name, at) or self._at_top().get(name, set())
        if not found and stars:
            return Unclear(f"what `*{name}` is, no declaration before it tells")
        if not found:
            return Named(name, is_typedef=True)
        if len(found) > 1:
            return Unclear(f"`{name}` has several declarations before it")
        ((kind, depth),) = found
        return None if depth != stars or _NUMBERS.fullmatch(kind.name) else kind

    def _in_function(self, name: str, at: int) -> set[_Typed]:
        """What the function around a place declares before it; a brace in the first column ends one."""
        text = self._text
        far = max(0, at // _FAR - 1) * _FAR  # the same for calls that stand near one another
        start = max(text.rfind("\n}", far, at), far)
        if (start, name) not in self._local:
            uses = self._words(start).get(name, [])
            declared = ((use, _declared_at(text, use, use + len(name))) for use in uses)
            self._local[start, name] = [(use, typed) for use, typed in declared if typed is not None]
        return {typed for place, typed in self._local[start, name] if place < at}

    def _words(self, start: int) -> dict[str, list[int]]:
        """Where words stand in the function that begins at a place."""
        if start not in self._uses:
            far = start + 3 * _FAR
            end = self._text.find("\n}", start + 1, far)
            uses: dict[str, list[int]] = {}
            for word in _WORD.finditer(self._text, start, far if end < 0 else end):
                uses.setdefault(word[0], []).append(word.start())
            self._uses[start] = uses
        return self._uses[start]

    def _at_top(self) -> dict[str, set[_Typed]]:
        """The variables that are declared in the first column, outside of functions."""
        if self._top is None:
            self._top = {}
            for found in _AT_TOP.finditer(self._text):
                typed = Named(found[2]), found[3].count("*") + (1 if found[5] else 0)
                self._top.setdefault(found[4], set()).add(typed)
        return self._top


def _declared_at(text: str, start: int, end: int) -> _Typed | None:
    """What a name that stands somewhere is declared as there; None where it is used."""
    behind = _BEHIND.match(text, end)
    if behind is None or text[start - 1 : start] in (".", ">"):
        return None
    typed = _declaration(text, start)
    return (typed[0], typed[1] + (1 if behind[1] else 0)) if typed is not None else None


def _is_head(text: str, statement: int, at: int) -> bool:
    """Whether a place is in the head of a function: from the first column on, before a brace."""
    first, end = _WORD.search(text, statement, at), _END.search(text, at, at + _FAR // 16)
    starts = first is not None and text[first.start() - 1 : first.start()] in ("", "\n")
    return starts and end is not None and end[0] == "{"


def _declaration(text: str, at: int) -> _Typed | None:
    """The type and the stars before a name, if it is declared there; in the head of a function all are."""
    far = max(0, at - _FAR // 16)
    statement = max(text.rfind(sign, far, at) for sign in ";{}") + 1
    near = max(statement, text.rfind("(", statement, at) + 1, text.rfind(",", statement, at) + 1)
    typed = _TYPED.fullmatch(text, near, at)
    if typed is not None and typed[2] not in _KEYWORDS:
        is_telling = typed[1] or near == statement or _is_head(text, statement, at)
        is_declared = is_telling and (typed[3] or text[at - 1].isspace())
        return (Named(typed[2], typed[1] is None), typed[3].count("*")) if is_declared else None
    later = _LATER.fullmatch(text, near, at)
    first = _FIRST.match(text, statement, at)
    if later is None or first is None or text[near - 1] != "," or first[2] in _KEYWORDS:
        return None
    before = text[statement:at]
    if before.count("(") != before.count(")"):
        return None
    return Named(first[2], first[1] is None), later[1].count("*")
