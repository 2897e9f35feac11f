"""Declarations that share a line, each put on a line of its own so that they can move apart."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Field, Struct
from layoutlint.readers.clang.members.items import Cluster, located_clusters
from layoutlint.readers.clang.members.pieces import BodyText, Piece, TextLines

_TYPES = frozenset(("struct", "union"))
_TAB = "\t"


class SeparateText(Record, frozen=True):
    """A file's text in which declarations of a struct's members have lines of their own."""

    text: str
    struct: Struct
    """The struct with the lines of its fields in `text`."""
    line_starts: tuple[int, ...]
    """For each line of `text` the offset in the old text at which it begins."""
    old_lines: TextLines

    def old_line(self, line: int) -> int:
        """Return the line of the old text that a line comes from."""
        return self.old_lines.number(self.line_starts[line - 1])


class _Edit(Record, frozen=True):
    """White space between two declarations, and the line break that replaces it."""

    start: int
    end: int
    new: str


def separate_lines(
    lines: TextLines, body: BodyText, struct: Struct, kept: Collection[int] = ()
) -> SeparateText:
    """Return a text without declarations on shared lines, as far as each shows which fields it declares.

    Lines with comments or directives stay: a comment can be about each of their declarations. So do lines
    whose first field is in `kept`. Raises CannotMove.
    """
    clusters = located_clusters(lines, body, struct)
    edits: list[_Edit] = []
    places: dict[int, int] = {}
    for cluster in clusters:
        owners = {} if set(cluster.fields[:1]) & set(kept) else _owners(cluster, struct)
        if owners:
            edits += _edits(lines, body, cluster, clusters)
            places |= owners
    return _apply(lines, struct, edits, places)


def _owners(cluster: Cluster, struct: Struct) -> dict[int, int]:
    """Return the offset of the declaration of each field on some shared lines.

    Empty if no line is shared, or if something else than declarations of fields is on it.
    """
    code = cluster.code
    is_shared = len(code) > 1 or (cluster.is_at_brace and bool(code))
    if not is_shared or len(code) != len(cluster.pieces) or any(piece.word for piece in code):
        return {}
    words = [_outer_words(piece) for piece in code]
    owners: dict[int, int] = {}
    for number in cluster.fields:
        field = struct.fields[number]
        declaring = [at for at in range(len(code)) if _declares(field, code[at], words[at])]
        if len(declaring) != 1:
            return {}
        owners[number] = declaring[0]
    is_whole = list(owners.values()) == sorted(owners.values()) and len(set(owners.values())) == len(code)
    return {number: code[at].start for number, at in owners.items()} if is_whole else {}


def _outer_words(piece: Piece) -> set[str]:
    """Return the words of a declaration that are in no braces."""
    words, depth = set(), 0
    for token in piece.tokens:
        depth += (token.text == "{") - (token.text == "}")
        if not depth:
            words.add(token.text)
    return words


def _declares(field: Field, piece: Piece, words: set[str]) -> bool:
    """Return whether a declaration is that of a field; one without a name ends behind its braces."""
    if field.name is not None:
        return field.name in words
    texts = [token.text for token in piece.tokens]
    return texts[-2:] == ["}", ";"] and texts[0] in _TYPES


def _edits(
    lines: TextLines, body: BodyText, cluster: Cluster, clusters: Sequence[Cluster]
) -> Iterator[_Edit]:
    """Yield the line breaks between some declarations, and between them and a brace on their line."""
    text, code = lines.text, cluster.code
    ending = "\r\n" if "\r\n" in text[body.start : lines.start(lines.number(body.end) + 1)] else "\n"
    outer = _indentation(lines, body.start - 1)
    opening = lines.number(body.start)
    inside = (each for each in (cluster, *clusters) if each.code and each.first_line > opening)
    like = next(inside, None)
    inner = f"{outer}{'    ' if outer.startswith(' ') else _TAB}"
    inner = inner if like is None else _indentation(lines, like.code[0].start)
    if cluster.first_line == opening:
        yield _Edit(body.start, code[0].start, f"{ending}{inner}")
    for piece, following in pairwise(code):
        yield _Edit(piece.end, following.start, f"{ending}{inner}")
    if cluster.last_line == lines.number(body.end):
        yield _Edit(code[-1].end, body.end, f"{ending}{outer}")


def _indentation(lines: TextLines, offset: int) -> str:
    line = lines.text[lines.start(lines.number(offset)) : offset]
    return line[: len(line) - len(line.lstrip())]


def _apply(lines: TextLines, struct: Struct, edits: Sequence[_Edit], places: dict[int, int]) -> SeparateText:
    """Return the changed text; `places` are the offsets of the declarations of fields that get new lines."""
    old = lines.text
    parts: list[str] = []
    ends, shifts = [0], [0]
    position = 0
    for edit in edits:
        parts += (old[position : edit.start], edit.new)
        position = edit.end
        ends.append(edit.end)
        shifts.append(shifts[-1] + len(edit.new) - (edit.end - edit.start))
    text = "".join((*parts, old[position:]))
    new_lines = TextLines(text)

    def new_line(offset: int) -> int:
        return new_lines.number(offset + shifts[bisect_right(ends, offset) - 1])

    def move(number: int, field: Field) -> Field:
        source, own = field.source, struct.source
        if source is None or own is None or source.file != own.file or source.line is None:
            return field
        place = places.get(number, lines.start(source.line))
        return replace(field, source=replace(source, line=new_line(place)))

    fields = tuple(move(number, field) for number, field in enumerate(struct.fields))
    starts = [lines.start(line) for line in range(1, len(lines) + 1)]
    origins = {new_line(start): start for start in reversed(starts)}
    origins |= {new_line(edit.end): edit.end for edit in edits}
    known = 0
    line_starts = []
    for line in range(1, len(new_lines) + 1):
        known = origins.get(line, known)
        line_starts.append(known)
    return SeparateText(text, replace(struct, fields=fields), tuple(line_starts), lines)
