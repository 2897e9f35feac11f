"""Comments in C text, and what they stand at inside of a struct that is declared at some line."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

# Whatever can hold braces and semicolons that are none. A directive goes on behind a backslash.
_TOKEN = re.compile(
    r"""(?P<block>/\*.*?(?:\*/|\Z))
      |(?P<line>//(?:[^\n\\]|\\.)*)
      |"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'
      |^[ \t]*\#(?:[^\n\\/]|\\.|/(?![*/]))*
      |(?P<mark>[{};])""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
_STAR = re.compile(r"^[ \t]*\*(?!/)[ \t]?", re.MULTILINE)
_NOT_NEWLINE = re.compile(r"[^\n]")


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment without its marks and stars; it starts at a line and at a place in the text."""

    text: str
    line: int
    at: int


@dataclass(frozen=True, slots=True)
class Attached:
    """A comment, and the lines and the words of the declaration that it stands at; None for the struct."""

    comment: Comment
    lines: range | None
    words: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Part:
    """Code between two marks: where it starts and ends, and the mark behind it."""

    start: int
    end: int
    mark: str


class Text:
    """One C file, cut once; structs are found in it by the lines at which they are declared."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self.comments: list[Comment] = []
        self._marks: list[tuple[int, str]] = []
        parts, position = [], 0
        for found in _TOKEN.finditer(text):
            parts.append(text[position : found.start()])
            position = found.end()
            if found["mark"]:
                self._marks.append((found.start(), found["mark"]))
                parts.append(" ")
            else:
                parts.append(_NOT_NEWLINE.sub(" ", found[0]))
            if found["block"] or found["line"]:
                bare = found[0][2:] if found["line"] else _STAR.sub("", found[0][2:].removesuffix("*/"))
                self.comments.append(Comment(bare.strip(), self._line(found.start()), found.start()))
        self._code = "".join((*parts, text[position:]))
        """The text without comments, strings, directives and marks, its lines and places as they were."""

    def _line(self, position: int) -> int:
        """The line of a place, from 1 on."""
        return bisect_right(self._starts, position)

    def words(self, line: int) -> frozenset[str]:
        """The words of the code on a line."""
        return _words(self._on(line))

    def calls(self, line: int) -> bool:
        """Whether something is called on a line: a macro there can declare fields of any name."""
        return "(" in self._on(line)

    def _on(self, line: int) -> str:
        if not 0 < line <= len(self._starts):
            return ""
        end = self._starts[line] if line < len(self._starts) else len(self._code)
        return self._code[self._starts[line - 1] : end]

    def inside(self, line: int) -> tuple[range, list[Attached]] | None:
        """The lines of the struct that is declared at a line, and the comments at it and in it.

        None when no struct starts there.
        """
        if not 0 < line <= len(self._starts):
            return None
        opening = bisect_right(self._marks, (self._starts[line - 1] - 1, "~"))
        if opening >= len(self._marks) or self._marks[opening][1] != "{":
            return None
        closing = self._closing(opening)
        if closing is None:
            return None
        lines = range(line, self._line(self._marks[closing][0]) + 1)
        found = [Attached(comment, None) for comment in self._at_head(line, opening)]
        found += self._within(opening, closing)
        return lines, found

    def _closing(self, opening: int) -> int | None:
        """The mark that closes what another opens."""
        depth = 0
        for index in range(opening, len(self._marks)):
            depth += {"{": 1, "}": -1, ";": 0}[self._marks[index][1]]
            if not depth:
                return index
        return None

    def _between(self, start: int, end: int) -> Iterator[Comment]:
        first = bisect_right(self.comments, start, key=lambda comment: comment.at)
        for comment in self.comments[max(0, first - 1) :]:
            if comment.at >= end:
                return
            if comment.at > start:
                yield comment

    def _at_head(self, line: int, opening: int) -> Iterator[Comment]:
        """The comments right above a struct, each alone on its lines, and those before its brace."""
        before = self._marks[opening - 1][0] if opening else -1
        for comment in self._between(before, self._marks[opening][0]):
            above = self._code[comment.at : self._starts[line - 1]]
            if comment.line >= line or (not above.strip() and self._is_alone(comment)):
                yield comment

    def _is_alone(self, comment: Comment) -> bool:
        """Whether neither code nor a mark stands before a comment on its line."""
        start = self._starts[comment.line - 1]
        index = bisect_right(self._marks, (start - 1, "~"))
        is_marked = index < len(self._marks) and self._marks[index][0] < comment.at
        return not is_marked and not self._code[start : comment.at].strip()

    def _within(self, opening: int, closing: int) -> Iterator[Attached]:
        parts = [self._part(index) for index in range(opening, closing)]
        for number, part in enumerate(parts):
            for comment in self._between(part.start - 1, part.end):
                before = self._code[part.start : comment.at].strip()
                if before or self._is_alone(comment):
                    yield from self._attached(comment, parts, number)
                elif number == 0:
                    yield Attached(comment, None)  # behind the struct's own brace
                else:
                    yield from self._attached(comment, parts, number - 1)

    def _part(self, index: int) -> _Part:
        end, mark = self._marks[index + 1]
        return _Part(self._marks[index][0] + 1, end, mark)

    def _attached(self, comment: Comment, parts: list[_Part], number: int) -> Iterator[Attached]:
        """A comment at a declaration; at one that opens a brace, it is about what is declared behind that."""
        if parts[number].mark == "{":
            depth = 1
            while depth and number + 1 < len(parts):
                number += 1
                depth += {"{": 1, "}": -1, ";": 0}[parts[number].mark]
            number += 1
        if number >= len(parts):
            return
        code = self._code[parts[number].start : parts[number].end]
        if code.strip():
            start = parts[number].start + len(code) - len(code.lstrip())
            lines = range(self._line(start), self._line(parts[number].end) + 1)
            yield Attached(comment, lines, _words(code))


def _words(code: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", code))
