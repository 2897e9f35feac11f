"""Rules made of the claims about cache lines in C comments; a broken one is a comment out of date."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from math import nextafter

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.geometry.layout import Layout, Place
from layoutlint.intent.c_comments import AttachedComment, Comment, Text
from layoutlint.intent.group_marks import intents_about
from layoutlint.judgement.rule import Kind, Pack, Rule, Severity, StructIntent
from layoutlint.kinds.offset import Offset
from layoutlint.kinds.separate import Separate
from layoutlint.model.reading import Reading, Unread
from layoutlint.model.record import Record
from layoutlint.model.structs import Source, Struct
from layoutlint.readers.clang.kernel import tree

_SUFFIXES = (".h", ".c")
_LARGEST = 1 << 20
"""Bytes of a file that is read; larger ones are generated tables."""
_LONGEST = 200
"""Characters of a comment that can be a claim; longer ones are prose."""
_BELOW_ALL = nextafter(1.0, 0.0)
"""The tolerance of claims: one that holds at some bases is not out of date, one that holds at none is."""

# As pahole prints it: the boundary of a line, and its distance to the next field.
_BOUNDARY = re.compile(r"-+ cacheline (\d+) boundary \((\d+) bytes\)(?: was (\d+) bytes ago)?")
_NUMBERED = re.compile(r"(?:\w+ ){0,3}?cache ?-?line (\d{1,3})\b(?! ?bytes)", re.IGNORECASE)
_ORDINAL = re.compile(r"(?:the |start of )?(\d{1,3})(?:st|nd|rd|th) cache ?-?line\b", re.IGNORECASE)
_READ_SECTION = re.compile(
    r"\W*(?:\w+ ){0,2}(?:read[- ]?mostly|mostly[- ]read|read[- ]only)\b", re.IGNORECASE
)
_WRITTEN_SECTION = re.compile(
    r"\W*(?:\w+ ){0,2}(?:write[- ]?mostly|mostly[- ]written|read[- ]?write|(?:often|frequently) written)\b",
    re.IGNORECASE,
)
_MENTION = re.compile(
    rb"/[*/]\W{0,40}(?:\w+ ){0,3}"
    rb"(?:cache ?-?line|\d+(?:st|nd|rd|th) cache|read|write|mostly|often|frequently)",
    re.IGNORECASE,
)
"""The start of a possible claim; files without one are not parsed."""


class _Texts(Record, frozen=True):
    """The C files below some folders whose comments make claims, and the structs in them."""

    texts: dict[str, Text]
    """By path, relative to the folder."""
    structs: dict[str, str]
    """The file of each struct, by the name of the struct."""

    def packs_for(self, reading: Reading, packs: Iterable[Pack]) -> tuple[Pack, ...]:
        """Return the claims about the structs of an input as a pack, with the intent of `packs` on them."""
        rules: list[Rule] = []
        intents: list[StructIntent] = []
        for struct in reading.structs:
            own_rules = tuple(self._rules(struct))
            rules += own_rules
            intents += intents_about(struct, packs) if own_rules else ()
        pack = Pack("comments", reading.path, tuple(dict.fromkeys(rules)), tuple(dict.fromkeys(intents)))
        return (pack,) if rules else ()

    def stale_files(self, reading: Reading) -> Iterator[Unread]:
        """Yield the files of another version than an input; their comments are not used."""
        reported: set[str] = set()
        for struct in reading.structs:
            source = struct.source
            text = self._text(source.file) if source else None
            contradiction = _contradiction(struct, text) if text and struct.name in self.structs else None
            if source and contradiction and source.file not in reported:
                reported.add(source.file)
                yield Unread(source.file, f"does not match {reading.path}: {contradiction}")

    def _rules(self, struct: Struct) -> Iterator[Rule]:
        source = struct.source
        if source is None or struct.bit_size is None or struct.problem is not None:
            return
        text = self._text(source.file)
        if text is not None and _contradiction(struct, text) is None:
            comments = _standalone_comments(struct, text)
            yield from _position_rules(struct, source.file, comments)
            yield from _section_rules(struct, source.file, comments)

    def _text(self, file: str) -> Text | None:
        """Return the text of a file that an input names, matched by the longest end of its path."""
        steps = file.split("/")
        tails = ("/".join(steps[number:]) for number in range(len(steps)))
        return next((self.texts[tail] for tail in tails if tail in self.texts), None)


class Claims(Record, frozen=True):
    """The claims in the C text of each input; files of one path differ between source trees."""

    own: dict[str, _Texts]
    """By the path of an input that is C text; the source folders are part of each."""
    sources: _Texts
    """The claims in the source folders, for all other inputs."""

    @property
    def structs(self) -> dict[str, str]:
        """The structs with claims in any text, and the file of each."""
        file_of = dict(self.sources.structs)
        for texts in self.own.values():
            file_of |= {name: file_of.get(name, file) for name, file in texts.structs.items()}
        return file_of

    def packs_for(self, reading: Reading, packs: Iterable[Pack]) -> tuple[Pack, ...]:
        """Return the claims about the structs of an input as a pack, with the intent of `packs` on them."""
        return self._texts_of(reading).packs_for(reading, packs)

    def stale_files(self, reading: Reading) -> Iterator[Unread]:
        """Yield the files of another version than an input; their comments are not used."""
        return self._texts_of(reading).stale_files(reading)

    def _texts_of(self, reading: Reading) -> _Texts:
        return self.own.get(reading.path, self.sources)


def read(inputs: Iterable[str], sources: Iterable[str]) -> Claims:
    """Read the claims in the inputs that are C text, and in the source folders.

    Raises ReadError for a file that cannot be read.
    """
    shared = [top for path in sources for top in tree.source_folders(path)]
    tops_of = {path: tree.source_folders(path) for path in inputs}
    own = {path: _read_texts([*tops, *shared]) for path, tops in tops_of.items() if tops}
    return Claims(own, _read_texts(shared))


def _read_texts(tops: Iterable[tuple[str, Iterable[str]]]) -> _Texts:
    texts: dict[str, Text] = {}
    structs: dict[str, str] = {}
    for top, folders in tops:
        for path in _files(folders):
            try:
                content = files.read_start(path, _LARGEST)
            except OSError as error:
                raise ReadError(path, files.error_reason(error)) from error
            if _MENTION.search(content):
                text = Text(content.decode("utf-8", "replace"))
                names = list(_claiming_structs(text))
                if names:
                    short = os.path.relpath(path, top)
                    texts.setdefault(short, text)
                    structs |= {name: structs.get(name, short) for name in names}
    return _Texts(texts, structs)


def _files(folders: Iterable[str]) -> Iterator[str]:
    visited: set[str] = set()
    for start in folders:
        if files.is_file(start):
            yield start
        for folder, subfolders, names in files.walk(start):
            subfolders.sort()
            paths = (os.path.join(folder, name) for name in sorted(names) if name.endswith(_SUFFIXES))
            fresh = [path for path in paths if path not in visited and files.is_file(path)]
            visited.update(fresh)
            yield from fresh


def _claiming_structs(text: Text) -> Iterator[str]:
    """Yield, for each claim in a text, the innermost struct around it."""
    claims = {
        comment.line for comment in text.comments if _is_claim(comment) and not text.words(comment.line)
    }
    heads = list(text.structs())[::-1] if claims else []
    open_structs: list[tuple[int, str]] = []
    """The structs around the current line, each with its last line."""
    for line in sorted(claims):
        while heads and heads[-1][0].start <= line:
            lines, name = heads.pop()
            open_structs.append((lines.stop - 1, name))
        while open_structs and open_structs[-1][0] < line:
            open_structs.pop()
        if open_structs:
            yield open_structs[-1][1]


def _is_claim(comment: Comment) -> bool:
    text = comment.text
    patterns = (_BOUNDARY, _NUMBERED, _ORDINAL, _READ_SECTION, _WRITTEN_SECTION)
    return len(text) <= _LONGEST and any(pattern.match(text) for pattern in patterns)


def _is_standalone(attached: AttachedComment, text: Text) -> bool:
    return attached.lines is not None and not text.words(attached.comment.line)


def _standalone_comments(struct: Struct, text: Text) -> list[AttachedComment]:
    """Return the comments in a struct that have a line of their own, by line."""
    inside = text.comments_of_struct(struct.source.line or 0) if struct.source else None
    comments = [] if inside is None else [one for one in inside[1] if _is_standalone(one, text)]
    by_line = {attached.comment.line: attached for attached in comments}
    return [by_line[line] for line in sorted(by_line)]


def _contradiction(struct: Struct, text: Text) -> str | None:
    """Return the first line that lacks a declaration which the input places there; None if all match."""
    source = struct.source
    if source is None or source.line is None or struct.bit_size is None:
        return None
    if text.comments_of_struct(source.line) is None:
        return f"line {source.line} does not declare {struct.aggregate} {struct.name}"
    for place in Layout(struct).places:
        declared = place.field.source
        if (
            declared is None
            or declared.file != source.file
            or declared.line is None
            or text.calls(declared.line)
        ):
            continue
        if place.field.name not in text.words(declared.line):
            return f"line {declared.line} does not declare `{place.path}` of {struct.aggregate} {struct.name}"
    return None


class _PlacedComment(Record, frozen=True):
    """A comment on a line of its own, and the first field declared below it."""

    attached: AttachedComment
    place: Place


def _position_rules(struct: Struct, file: str, comments: list[AttachedComment]) -> Iterator[Rule]:
    """Yield rules on the positions of the fields below comments."""
    layout = Layout(struct)
    placed = [
        _PlacedComment(attached, place)
        for attached in comments
        if _is_claim(attached.comment) and (place := _first_field(layout, file, attached))
    ]
    first_number = _first_number(placed, struct.target.line_size)
    for comment in placed:
        kind = _position_kind(comment, first_number)
        if kind is not None:
            yield _rule(struct, kind, file, comment.attached, comment.place.path)


def _first_field(layout: Layout, file: str, attached: AttachedComment) -> Place | None:
    """Return the first field declared below a comment; None if this build has none."""
    for place in layout.places:
        source = place.field.source
        if source is not None and source.file == file and source.line in (attached.lines or ()):
            return place
    return None


def _first_number(placed: list[_PlacedComment], line_size: int) -> int:
    """Return 0 or 1, the number of a struct's first line that makes more of its comments true."""
    numbers = [
        ({(base + comment.place.offset) // line_size for base in (0, line_size - 1)}, int(match[1]))
        for comment in placed
        if (match := _NUMBERED.match(comment.attached.comment.text))
    ]
    if any(number == 0 for _, number in numbers):
        return 0
    return max((0, 1), key=lambda first: sum(number - first in lines for lines, number in numbers))


def _position_kind(placed: _PlacedComment, first_number: int) -> Kind | None:
    """Return the position that a comment claims for the field below it; None if it claims none."""
    text, fields = placed.attached.comment.text, (placed.place.path,)
    if boundary := _BOUNDARY.match(text):
        return Offset(fields, at=int(boundary[2]) + int(boundary[3] or 0))
    if (ordinal := _ORDINAL.match(text)) and int(ordinal[1]) > 0:
        return Offset(fields, line=int(ordinal[1]) - 1)
    numbered = _NUMBERED.match(text)
    return Offset(fields, line=max(0, int(numbered[1]) - first_number)) if numbered else None


def _section_rules(struct: Struct, file: str, comments: list[AttachedComment]) -> Iterator[Rule]:
    """Yield a rule that separates the fields called read-mostly from those called written.

    A comment applies to the fields below it, up to the next comment on a line of its own.
    """
    sections = [(attached, _is_read_section(attached)) for attached in comments]
    heads = [
        next((attached for attached, side in sections if side is wanted), None) for wanted in (True, False)
    ]
    read, written = heads
    if read is None or written is None:
        return
    fields: dict[bool, list[str]] = {True: [], False: []}
    for place in Layout(struct).places:
        source = place.field.source
        if source is not None and source.file == file and source.line is not None and not place.is_empty:
            above = [side for attached, side in sections if attached.comment.line < source.line]
            if above and above[-1] is not None:
                fields[above[-1]].append(place.path)
    if fields[True] and fields[False]:
        kind = Separate((tuple(fields[True]), tuple(fields[False])))
        yield _rule(struct, kind, file, read, "sections", written)


def _is_read_section(attached: AttachedComment) -> bool | None:
    """Return True if a comment calls the fields below it read, False for written, None for neither."""
    text = attached.comment.text
    if len(text) > _LONGEST or not (_READ_SECTION.match(text) or _WRITTEN_SECTION.match(text)):
        return None
    return not _WRITTEN_SECTION.match(text)


def _rule(
    struct: Struct,
    kind: Kind,
    file: str,
    attached: AttachedComment,
    about: str,
    other: AttachedComment | None = None,
) -> Rule:
    source = Source(file, attached.comment.line)
    texts = [" ".join(item.comment.text.split()) for item in (attached, other) if item is not None]
    return Rule(
        id=f"comment/{struct.name}/{about}",
        struct=struct.name,
        kind=kind,
        severity=Severity.WARNING,
        why=f"comment{'s say' if len(texts) > 1 else ' says'} {' and '.join(f'`{text}`' for text in texts)}",
        source=source,
        tolerate=_BELOW_ALL,
        pack="comments",
        by="comment",
    )
