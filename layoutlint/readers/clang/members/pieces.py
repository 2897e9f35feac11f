"""The pieces of a struct's body as C text: declarations, comments between them, and directives.

Nothing is expanded: a macro that makes members is one declaration. A struct is refused if the branches of a
condition have different braces.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

from layoutlint.model.record import Record, field
from layoutlint.readers import c_tokens

_TOKEN = re.compile(
    rf"(?P<comment>{c_tokens.BLOCK_COMMENT}|{c_tokens.LINE_COMMENT})"
    rf"|(?P<string>{c_tokens.STRING})"
    r"|(?P<word>[^\W\d][\w$]*+|\.?\d[\w.]*+)"
    r"|(?P<splice>\\[ \t]*\r?\n)"
    r"|(?P<line>\n)"
    r"|(?P<mark>[^\s\w])",
    re.DOTALL,
)
_DIRECTIVE = re.compile(
    rf"\#[ \t]*(?P<word>\w*+)"
    rf"(?:[^\n\\/\"']++|{c_tokens.BLOCK_COMMENT}|{c_tokens.LINE_COMMENT}"
    rf"|{c_tokens.STRING}|\\[ \t]*\r?\n|[^\n])*+",
    re.DOTALL,
)
_LONE_RETURN = re.compile(r"\r(?!\n)")
_OPENERS, _CLOSERS = frozenset("{(["), frozenset("})]")
CONDITIONS = frozenset(("if", "ifdef", "ifndef"))
"""Directives that `#endif` closes."""
BRANCH_ENDS = frozenset(("else", "elif", "elifdef", "elifndef", "endif"))
KEYWORDS = frozenset(
    (
        "struct", "union", "enum", "unsigned", "signed", "char", "short", "int", "long", "float", "double",
        "void", "_Bool", "bool", "_Complex", "const", "volatile", "restrict", "register", "_Atomic",
        "_Alignas", "alignas", "typeof", "typeof_unqual",
    )
)  # fmt: skip
"""Words of C that begin a declaration."""
PAIRED = {
    "randomized_struct_fields_start": "randomized_struct_fields_end",
    "__cacheline_group_begin": "__cacheline_group_end",
    "__cacheline_group_begin_aligned": "__cacheline_group_end_aligned",
}
"""Macros that open a group of members, and those that close it (Linux, compiler_types.h and cache.h)."""
_DEEPEST = 64
"""The most conditions around each other."""
_MARKERS = frozenset((*PAIRED, *PAIRED.values()))


class CannotMove(Exception):
    """The text forbids a move of members, or all of a struct; `line` is that of the file, if it is known."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason, line)
        self.reason = reason
        self.line = line

    def __str__(self) -> str:
        return self.reason if self.line is None else f"line {self.line}: {self.reason}"


class Token(Record, frozen=True):
    """A word, a string or a mark of code."""

    text: str
    start: int
    end: int

    @property
    def is_word(self) -> bool:
        """Whether it is a name or a keyword."""
        return self.text[0] == "_" or self.text[0].isalpha()


class Piece(Record, frozen=True):
    """A declaration, a comment or a directive in a body, with its offsets in the text."""

    kind: Literal["code", "comment", "directive"]
    start: int
    end: int
    tokens: tuple[Token, ...] = ()
    """The code of a declaration, without comments and directives."""
    word: str = ""
    """The name of a directive; for a declaration the first directive within it that is no condition."""


class BodyText(Record, frozen=True):
    """The text between the braces of a struct: `start` is after the opening one, `end` at the closing one."""

    start: int
    end: int
    pieces: tuple[Piece, ...]


class TextLines:
    """The lines of a text, which end as libclang has it: `\\n` or `\\r\\n`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def number(self, offset: int) -> int:
        """Return the line of an offset, counted from 1."""
        return bisect_right(self._starts, offset)

    def start(self, line: int) -> int:
        """Return the offset of a line; the end of the text for lines behind it."""
        return self._starts[line - 1] if line <= len(self._starts) else len(self.text)

    def __len__(self) -> int:
        return len(self._starts)


class _Condition(Record):
    """An `#if` whose `#endif` was not reached yet."""

    start: int
    pieces: int
    """The number of pieces before it."""
    before: tuple[int, bool]
    """The depth of brackets, and whether a declaration was begun, where it starts."""
    after: tuple[int, bool] | None = None
    """The same at the end of its first branch."""
    has_else: bool = False


class _Scanner(Record):
    """Splits a body into pieces, from its opening brace to the brace that closes it."""

    lines: TextLines
    pieces: list[Piece] = field(default_factory=list)
    conditions: list[_Condition] = field(default_factory=list)
    tokens: list[Token] = field(default_factory=list)
    """The code of the declaration that is being read."""
    first: int | None = None
    """The offset of that declaration."""
    level: int = 0
    """The number of conditions around that declaration."""
    depth: int = 0
    is_open: bool = False
    """Whether the declaration waits for its semicolon."""
    word: str = ""

    def scan(self, start: int) -> BodyText:
        text, position = self.lines.text, start
        is_line_start = False
        while (token := _TOKEN.search(text, position)) is not None:
            position = token.end()
            if token["line"]:
                is_line_start = True
            elif token["comment"]:
                self._comment(token.start(), token.end())
            elif token["mark"] == "#" and is_line_start:
                position = self._directive(token.start())
            elif token["splice"]:
                raise self._refusal("a line of the struct is continued by a backslash", token.start())
            else:
                is_line_start = False
                if token[0] == "}" and not self.depth:
                    self._close(token.start())
                    return BodyText(start, token.start(), tuple(self.pieces))
                self._code(Token(token[0], token.start(), token.end()))
        raise self._refusal("the struct has no closing brace", start)

    def _refusal(self, reason: str, offset: int) -> CannotMove:
        return CannotMove(reason, self.lines.number(offset))

    def _comment(self, start: int, end: int) -> None:
        if self.first is None:
            self.pieces.append(Piece("comment", start, end))

    def _code(self, token: Token) -> None:
        if self.first is None:
            self.first, self.level = token.start, len(self.conditions)
        self.tokens.append(token)
        self.is_open = True
        if token.text in _OPENERS:
            self.depth += 1
        elif token.text in _CLOSERS:
            if not self.depth:
                raise self._refusal(f"`{token.text}` closes nothing", token.start)
            self.depth -= 1
        elif token.text == ";" and not self.depth:
            self.is_open = False
            self._finish(token.end)

    def _finish(self, end: int) -> None:
        """End the declaration that is read, unless a condition that began in it is open."""
        if self.first is None or self.is_open or self.depth or len(self.conditions) > self.level:
            return
        tokens = tuple(self.tokens)
        cuts = [0, *_macro_lines(self.lines, tokens), len(tokens)]
        for first, last in pairwise(cuts):
            part = tokens[first:last]
            start = self.first if not first else part[0].start
            self.pieces.append(
                Piece("code", start, end if last == len(tokens) else part[-1].end, part, self.word)
            )
        self.first, self.tokens, self.word = None, [], ""

    def _finish_macros(self) -> None:
        """End a declaration that is only macros on lines of their own, which need no semicolon."""
        if (
            self.first is not None
            and self.is_open
            and not self.depth
            and _are_macros(self.lines, self.tokens)
        ):
            self.is_open = False
            self._finish(self.tokens[-1].end)

    def _close(self, end: int) -> None:
        self._finish_macros()
        if self.conditions:
            reason = "the closing brace of the struct is in a condition that begins in it"
            raise self._refusal(reason, self.conditions[-1].start)
        if self.first is not None:
            raise self._refusal("a declaration has no semicolon", self.first)

    def _directive(self, start: int) -> int:
        """Take a directive, and return its end."""
        match = _DIRECTIVE.match(self.lines.text, start)
        assert match is not None
        word, end = match["word"], match.end() - match[0].endswith("\r")
        self._finish_macros()
        if word in CONDITIONS:
            self._begin_condition(start)
        elif word in BRANCH_ENDS:
            self._end_branch(word, start)
        elif self.first is not None:
            self.word = self.word or word
        if self.first is None:
            self.pieces.append(Piece("directive", start, end, (), word))
        elif word == "endif":
            self._finish(end)
        return match.end()

    def _begin_condition(self, start: int) -> None:
        state = self.depth, self.is_open
        if len(self.conditions) >= _DEEPEST:
            raise self._refusal(f"conditions are nested more than {_DEEPEST} deep", start)
        self.conditions.append(_Condition(start, len(self.pieces), state))

    def _end_branch(self, word: str, start: int) -> None:
        if not self.conditions:
            raise self._refusal(f"`#{word}` ends a branch that begins before the struct's brace", start)
        condition, state = self.conditions[-1], (self.depth, self.is_open)
        if condition.after is None:
            condition.after = state
        is_whole = condition.has_else or word != "endif" or state == condition.before
        if condition.after != state or not is_whole:
            raise self._refusal("the branches of this condition have different braces", condition.start)
        if word == "endif":
            self.conditions.pop()
            if self.is_open and not condition.before[1]:
                self._begin_with(condition)
        else:
            condition.has_else = condition.has_else or word == "else"
            self.depth, self.is_open = condition.before

    def _begin_with(self, condition: _Condition) -> None:
        """Let a condition, whose branches begin one declaration, be a part of it."""
        inside = [token for piece in self.pieces[condition.pieces :] for token in piece.tokens]
        del self.pieces[condition.pieces :]
        self.tokens[:0] = inside
        self.first, self.level = condition.start, len(self.conditions)


def scan(lines: TextLines, start: int) -> BodyText:
    """Return the body whose opening brace ends at an offset; raises CannotMove if it cannot be split."""
    body = _Scanner(lines).scan(start)
    lone = _LONE_RETURN.search(lines.text, 0, body.end)
    if lone is not None:
        raise CannotMove("a carriage return without a line feed ends a line", lines.number(lone.start()))
    return body


def code_from(text: str, start: int, most: int) -> Iterator[Token]:
    """Yield the words, strings and marks of code between two offsets; ends at a directive or a backslash."""
    for token in _TOKEN.finditer(text, start, most):
        if token["splice"] or token["mark"] == "#":
            return
        if not token["line"] and not token["comment"]:
            yield Token(token[0], token.start(), token.end())


def _skip_macro(tokens: tuple[Token, ...] | list[Token], at: int) -> int:
    """Return the index behind a macro with or without arguments; 0 if there is none."""
    if at >= len(tokens) or not _may_be_macro(tokens[at].text):
        return 0
    at += 1
    if at == len(tokens) or tokens[at].text != "(":
        return at
    depth = 0
    for index in range(at, len(tokens)):
        depth += (tokens[index].text in _OPENERS) - (tokens[index].text in _CLOSERS)
        if not depth:
            return index + 1
    return 0


def _may_be_macro(word: str) -> bool:
    """Return whether a word that begins a line can be a macro of its own, not a part of a declaration."""
    is_attribute = word.startswith("__") and not word.isupper()
    is_name = word[0] == "_" or word[0].isalpha()
    return word in _MARKERS or (is_name and word not in KEYWORDS and not is_attribute)


def _macro_lines(lines: TextLines, tokens: tuple[Token, ...]) -> list[int]:
    """Return where the code behind each macro begins that is on lines of its own before a declaration."""
    starts: list[int] = []
    at = 0
    while (behind := _skip_macro(tokens, at)) and behind < len(tokens):
        is_next_line = lines.number(tokens[behind].start) > lines.number(tokens[behind - 1].start)
        if not is_next_line or not _begins_declaration(tokens, behind):
            break
        starts.append(behind)
        at = behind
    return starts


def _begins_declaration(tokens: tuple[Token, ...], at: int) -> bool:
    """Return whether a declaration can begin at a token: a type, then a name."""
    first, following = tokens[at], tokens[at + 1] if at + 1 < len(tokens) else None
    if not first.is_word or following is None:
        return following is None and _may_be_macro(first.text)
    return first.text in KEYWORDS or following.is_word or following.text in ("*", "(")


def _are_macros(lines: TextLines, tokens: list[Token]) -> bool:
    """Return whether some code is only macros, each on lines of its own."""
    at = 0
    while at < len(tokens):
        behind = _skip_macro(tokens, at)
        if not behind:
            return False
        if behind < len(tokens) and lines.number(tokens[behind].start) == lines.number(
            tokens[behind - 1].start
        ):
            return False
        at = behind
    return bool(tokens)
