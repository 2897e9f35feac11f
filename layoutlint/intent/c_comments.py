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
      |\\["']  # begins nothing; a line of them would be searched for its end from each
      |^[ \t]*\#(?:[^\n\\/]|\\.|/(?![*/]))*
      |(?P<mark>[{};])""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
_HEAD = re.compile(r"^[ \t]*(?:typedef[ \t]+)?(?:struct|union)\b", re.MULTILINE)
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
        self._closings = _closings(self._marks)
        self._words: dict[int, frozenset[str]] = {}
        self._leads: dict[int, int] = {}
        self._parts: dict[int, tuple[range, frozenset[str]] | None] = {}
        """What is known so far, by line and by mark: many comments can stand at one."""

    def _line(self, position: int) -> int:
        """The line of a place, from 1 on."""
        return bisect_right(self._starts, position)

    def words(self, line: int) -> frozenset[str]:
        """The words of the code on a line."""
        if line not in self._words:
            self._words[line] = _words(self._on(line))
        return self._words[line]

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
        opening = self._opening(line)
        if opening is None:
            return None
        closing = self._closings[opening]
        found = [Attached(comment, None) for comment in self._at_head(line, opening)]
        found += self._within(opening, closing)
        return self._lines(line, closing), found

    def structs(self) -> Iterator[tuple[range, str]]:
        """The lines and the names of the structs and unions that have one, in order."""
        for opening, closing in sorted(self._closings.items()):
            start = self._marks[opening - 1][0] + 1 if opening else 0
            code = self._code[start : self._marks[opening][0]].rstrip()
            heads = [found.end() for found in _HEAD.finditer(code)]
            words = code[heads[-1] :].split() if heads else []
            if words and words[-1].isidentifier() and not {*"()="} & {*"".join(words)}:
                yield self._lines(self._line(start + len(code) - 1), closing), words[-1]

    def _lines(self, line: int, closing: int) -> range:
        return range(line, self._line(self._marks[closing][0]) + 1)

    def _opening(self, line: int) -> int | None:
        """The first mark from a line on, where that opens what is closed."""
        if not 0 < line <= len(self._starts):
            return None
        opening = bisect_right(self._marks, (self._starts[line - 1] - 1, "~"))
        return opening if opening in self._closings else None

    def _between(self, start: int, end: int) -> Iterator[Comment]:
        """The comments behind a place and before another."""
        first = bisect_right(self.comments, start, key=lambda comment: comment.at)
        for index in range(first, len(self.comments)):
            if self.comments[index].at >= end:
                return
            yield self.comments[index]

    def _at_head(self, line: int, opening: int) -> Iterator[Comment]:
        """The comments right above a struct, each alone on its lines, and those before its brace."""
        before = self._marks[opening - 1][0] if opening else -1
        above = self._code[before + 1 : self._starts[line - 1]]
        last = before + len(above.rstrip())
        for comment in self._between(before, self._marks[opening][0]):
            if comment.line >= line or (comment.at > last and self._is_alone(comment)):
                yield comment

    def _is_alone(self, comment: Comment) -> bool:
        """Whether neither code nor a mark stands before a comment on its line."""
        line = comment.line
        if line not in self._leads:
            start, code = self._starts[line - 1], self._on(line)
            index = bisect_right(self._marks, (start - 1, "~"))
            mark = self._marks[index][0] if index < len(self._marks) else len(self._code)
            self._leads[line] = min(mark, start + len(code) - len(code.lstrip()))
        return comment.at <= self._leads[line]

    def _within(self, opening: int, closing: int) -> Iterator[Attached]:
        """The comments in a struct, at the declaration that they stand in, or behind, or before."""
        for index in range(opening, closing):
            part = self._part(index)
            comments = list(self._between(part.start - 1, part.end))
            first = self._first(part) if comments else 0
            for comment in comments:
                if first < comment.at or self._is_alone(comment):
                    yield from self._attached(comment, index, closing)
                elif index == opening:
                    yield Attached(comment, None)  # behind the struct's own brace
                else:
                    yield from self._attached(comment, index - 1, closing)

    def _part(self, index: int) -> _Part:
        end, mark = self._marks[index + 1]
        return _Part(self._marks[index][0] + 1, end, mark)

    def _first(self, part: _Part) -> int:
        """Where the code of a part starts; its end where it has none."""
        code = self._code[part.start : part.end]
        return part.start + len(code) - len(code.lstrip())

    def _attached(self, comment: Comment, index: int, closing: int) -> Iterator[Attached]:
        """A comment at the declaration behind a mark; where that opens a brace, at what stands behind it."""
        behind = self._closings.get(index + 1, index)
        if behind < closing:
            declared = self._declared(behind)
            if declared is not None:
                yield Attached(comment, *declared)

    def _declared(self, index: int) -> tuple[range, frozenset[str]] | None:
        """The lines and the words of the code behind a mark; None where there is none."""
        if index not in self._parts:
            part = self._part(index)
            first = self._first(part)
            lines = range(self._line(first), self._line(part.end) + 1)
            words = _words(self._code[first : part.end])
            self._parts[index] = None if first == part.end else (lines, words)
        return self._parts[index]


def _closings(marks: list[tuple[int, str]]) -> dict[int, int]:
    """The number of the closing mark for that of each opening one; those never closed are left out."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for index, (_, mark) in enumerate(marks):
        if mark == "{":
            opened.append(index)
        elif mark == "}" and opened:
            found[opened.pop()] = index
    return found


def _words(code: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", code))
