"""The comments of C source, and the declarations that they belong to in a struct at some line."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from layoutlint.model.record import Record, replace
from layoutlint.readers import c_tokens

# Tokens that can contain braces and semicolons that are not code. A directive continues after a backslash.
_TOKEN = re.compile(
    rf"(?P<block>{c_tokens.BLOCK_COMMENT})|(?P<line>{c_tokens.LINE_COMMENT})"
    rf"|{c_tokens.STRING}|{c_tokens.LONE_QUOTE}"
    r"|^[ \t]*\#(?:[^\n\\/]|\\.|/(?![*/]))*"
    r"|(?P<mark>[{};])",
    re.DOTALL | re.MULTILINE,
)
_HEAD = re.compile(r"^[ \t]*(?:typedef[ \t]+)?(?:struct|union)\b", re.MULTILINE)
_LONE_RETURN = re.compile(r"\r(?!\n)")
"""An end of a line by itself, for clang and for editors."""
_STAR = re.compile(r"^[ \t]*\*(?!/)[ \t]?", re.MULTILINE)


class Comment(Record, frozen=True):
    """One comment without its delimiters and stars, with its line and its offset in the text."""

    text: str
    line: int
    at: int


class AttachedComment(Record, frozen=True):
    """A comment, with the lines and words of the declaration that it belongs to; None for the struct."""

    comment: Comment
    lines: range | None
    words: frozenset[str] = frozenset()
    is_first: bool = False
    """Whether it stands alone on its lines, before the first declaration of the struct."""


class _Code(Record, frozen=True):
    """Code between two marks: its start, its end, and the mark after it."""

    start: int
    end: int
    mark: str


class Text:
    """One C file, split once; structs are found by the lines at which they are declared."""

    def __init__(self, text: str) -> None:
        text = _LONE_RETURN.sub("\n", text)
        self._starts = [0, *(token.end() for token in re.finditer("\n", text))]
        self.comments: list[Comment] = []
        self._marks: list[tuple[int, str]] = []
        parts, position = [], 0
        for token in _TOKEN.finditer(text):
            parts.append(text[position : token.start()])
            position = token.end()
            if token["mark"]:
                self._marks.append((token.start(), token["mark"]))
                parts.append(" ")
            else:
                parts.append(c_tokens.spaces_for(token[0]))
            if token["block"] or token["line"]:
                content = token[0][2:] if token["line"] else _STAR.sub("", token[0][2:].removesuffix("*/"))
                self.comments.append(Comment(content.strip(), self._line(token.start()), token.start()))
        self._code = "".join((*parts, text[position:]))
        """The text without comments, strings, directives and marks; lines and offsets are unchanged."""
        self._closings = _closings(self._marks)
        self._words: dict[int, frozenset[str]] = {}
        self._leads: dict[int, int] = {}
        self._parts: dict[int, tuple[range, frozenset[str]] | None] = {}
        """Caches, by line and by mark: many comments can belong to one."""

    @property
    def code(self) -> str:
        """The text without comments, strings, directives, braces and semicolons."""
        return self._code

    def _line(self, position: int) -> int:
        """Return the line of an offset, counted from 1."""
        return bisect_right(self._starts, position)

    def words(self, line: int) -> frozenset[str]:
        """Return the words of the code on a line."""
        if line not in self._words:
            self._words[line] = _words(self._code_on(line))
        return self._words[line]

    def calls(self, line: int) -> bool:
        """Return whether the code on a line has a call: a macro there can declare fields of any name."""
        return "(" in self._code_on(line)

    def _code_on(self, line: int) -> str:
        if not 0 < line <= len(self._starts):
            return ""
        end = self._starts[line] if line < len(self._starts) else len(self._code)
        return self._code[self._starts[line - 1] : end]

    def comments_of_struct(self, line: int) -> tuple[range, list[AttachedComment]] | None:
        """Return the lines of the struct declared at a line, and the comments at it and in it.

        None if no struct starts there.
        """
        opening = self._opening_mark(line)
        if opening is None:
            return None
        closing = self._closings[opening]
        attached = [AttachedComment(comment, None) for comment in self._head_comments(line, opening)]
        attached += self._comments_in(opening, closing)
        attached += [AttachedComment(comment, None) for comment in self._comments_after(line, closing)]
        return self._lines(line, closing), attached

    def structs(self) -> Iterator[tuple[range, str]]:
        """Yield lines and name of each struct and union that has a name, in order."""
        for opening, closing in sorted(self._closings.items()):
            start = self._marks[opening - 1][0] + 1 if opening else 0
            code = self._code[start : self._marks[opening][0]].rstrip()
            heads = [head.end() for head in _HEAD.finditer(code)]
            words = code[heads[-1] :].split() if heads else []
            if words and words[-1].isidentifier() and not {*"()="} & {*"".join(words)}:
                yield self._lines(self._line(start + len(code) - 1), closing), words[-1]

    def _lines(self, line: int, closing: int) -> range:
        return range(line, self._line(self._marks[closing][0]) + 1)

    def _opening_mark(self, line: int) -> int | None:
        """Return the first mark from a line on, if it opens braces that are closed; else None."""
        if not 0 < line <= len(self._starts):
            return None
        opening = bisect_right(self._marks, (self._starts[line - 1] - 1, "~"))
        return opening if opening in self._closings else None

    def _comments_between(self, start: int, end: int) -> Iterator[Comment]:
        """Yield the comments after an offset and before another."""
        first = bisect_right(self.comments, start, key=lambda comment: comment.at)
        for index in range(first, len(self.comments)):
            if self.comments[index].at >= end:
                return
            yield self.comments[index]

    def _head_comments(self, line: int, opening: int) -> Iterator[Comment]:
        """Yield the comments right above a struct, each alone on its lines, and those before its brace."""
        previous = self._marks[opening - 1][0] if opening else -1
        code_above = self._code[previous + 1 : self._starts[line - 1]]
        last = previous + len(code_above.rstrip())
        for comment in self._comments_between(previous, self._marks[opening][0]):
            if comment.line >= line or (comment.at > last and self._is_alone(comment)):
                yield comment

    def _comments_after(self, line: int, closing: int) -> Iterator[Comment]:
        """Yield the comments behind a struct that is on one line.

        Behind a declarator, a comment is about the field or variable.
        """
        end = self._marks[closing][0]
        stop = self._starts[line] if line < len(self._starts) else len(self._code)
        has_declarator = bool(self._code[end + 1 : stop].strip("; \t\r\n"))
        is_type = self._code_on(line).lstrip().startswith("typedef") or not has_declarator
        for comment in self._comments_between(end, stop):
            if is_type and self._line(end) == line and not self._code[comment.at : stop].strip():
                yield comment

    def _is_alone(self, comment: Comment) -> bool:
        """Return whether neither code nor a mark precedes a comment on its line."""
        line = comment.line
        if line not in self._leads:
            start, code = self._starts[line - 1], self._code_on(line)
            index = bisect_right(self._marks, (start - 1, "~"))
            mark = self._marks[index][0] if index < len(self._marks) else len(self._code)
            self._leads[line] = min(mark, start + len(code) - len(code.lstrip()))
        return comment.at <= self._leads[line]

    def _comments_in(self, opening: int, closing: int) -> Iterator[AttachedComment]:
        """Yield the comments in a struct, each with the declaration around, before or after it."""
        for index in range(opening, closing):
            part = self._part(index)
            comments = list(self._comments_between(part.start - 1, part.end))
            first = self._code_start(part) if comments else 0
            for comment in comments:
                if first < comment.at or self._is_alone(comment):
                    is_first = index == opening and comment.at < first
                    for attached in self._attach(comment, index, closing):
                        yield replace(attached, is_first=is_first)
                elif index == opening:
                    yield AttachedComment(comment, None)  # after the struct's own brace
                else:
                    yield from self._attach(comment, index - 1, closing)

    def _part(self, index: int) -> _Code:
        end, mark = self._marks[index + 1]
        return _Code(self._marks[index][0] + 1, end, mark)

    def _code_start(self, part: _Code) -> int:
        """Return the start of the code of a part; its end if it has none."""
        code = self._code[part.start : part.end]
        return part.start + len(code) - len(code.lstrip())

    def _attach(self, comment: Comment, index: int, closing: int) -> Iterator[AttachedComment]:
        """Yield a comment with the declaration after a mark; if that opens a brace, with the one after the
        brace.
        """
        mark = self._closings.get(index + 1, index)
        if mark < closing:
            declaration = self._declaration(mark)
            if declaration is not None:
                yield AttachedComment(comment, *declaration)

    def _declaration(self, index: int) -> tuple[range, frozenset[str]] | None:
        """Return the lines and words of the code after a mark; None if there is none."""
        if index not in self._parts:
            part = self._part(index)
            first = self._code_start(part)
            lines = range(self._line(first), self._line(part.end) + 1)
            words = _words(self._code[first : part.end])
            self._parts[index] = None if first == part.end else (lines, words)
        return self._parts[index]


def _closings(marks: list[tuple[int, str]]) -> dict[int, int]:
    """Return the closing mark of each opening mark, by number, without marks that are never closed."""
    closings: dict[int, int] = {}
    open_marks: list[int] = []
    for index, (_, mark) in enumerate(marks):
        if mark == "{":
            open_marks.append(index)
        elif mark == "}" and open_marks:
            closings[open_marks.pop()] = index
    return closings


def _words(code: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", code))
