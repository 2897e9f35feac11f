"""What comments in structs claim about cache lines, as rules: a claim that does not hold is out of date."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.geometry.layout import Layout, Place
from layoutlint.intent.c_comments import Attached, Comment, Text
from layoutlint.intent.group_marks import intents_about
from layoutlint.judgement.rule import Kind, Pack, Rule, Severity, StructIntent
from layoutlint.kinds.offset import Offset
from layoutlint.kinds.separate import Separate
from layoutlint.model.reading import Reading, Unread
from layoutlint.model.structs import Source, Struct
from layoutlint.readers.clang.kernel import tree

_SUFFIXES = (".h", ".c")
_LARGEST = 1 << 20
"""Bytes of a file; larger ones are tables that programs wrote."""
_LONGEST = 200
"""Letters of a comment that says what stands below it; a longer one tells a story."""

# As pahole prints them: the boundary of a line, and how far in front of the next field it lies.
_BOUNDARY = re.compile(r"-+ cacheline (\d+) boundary \((\d+) bytes\)(?: was (\d+) bytes ago)?")
_NUMBERED = re.compile(r"(?:\w+ ){0,3}?cache ?-?line (\d{1,3})\b(?! ?bytes)", re.IGNORECASE)
_ORDINAL = re.compile(r"(?:the |start of )?(\d{1,3})(?:st|nd|rd|th) cache ?-?line\b", re.IGNORECASE)
_READ = re.compile(r"\W*(?:\w+ ){0,2}(?:read[- ]?mostly|mostly[- ]read|read[- ]only)\b", re.IGNORECASE)
_WRITTEN = re.compile(
    r"\W*(?:\w+ ){0,2}(?:write[- ]?mostly|mostly[- ]written|read[- ]?write|(?:often|frequently) written)\b",
    re.IGNORECASE,
)
_MENTION = re.compile(
    rb"/[*/]\W{0,40}(?:\w+ ){0,3}"
    rb"(?:cache ?-?line|\d+(?:st|nd|rd|th) cache|read|write|mostly|often|frequently)",
    re.IGNORECASE,
)
"""What stands where a claim does; the rest of a file is looked at only then."""


@dataclass(frozen=True, slots=True)
class _Texts:
    """The C files below some folders in which comments seem to claim something, and the structs there."""

    texts: dict[str, Text]
    """By their path from the folder."""
    structs: dict[str, str]
    """The file of each struct."""

    def spoken(self, reading: Reading, packs: Iterable[Pack]) -> tuple[Pack, ...]:
        """The rules that comments in the structs of an input come to, as a pack that knows what others do."""
        rules: list[Rule] = []
        known: list[StructIntent] = []
        for struct in reading.structs:
            own = tuple(self._rules(struct))
            rules += own
            known += intents_about(struct, packs) if own else ()
        intents = tuple(dict.fromkeys(known))
        return (Pack("comments", reading.path, tuple(dict.fromkeys(rules)), intents),) if rules else ()

    def stale(self, reading: Reading) -> Iterator[Unread]:
        """The files that are of another version than an input, whose comments are then left out."""
        told: set[str] = set()
        for struct in reading.structs:
            source = struct.source
            text = self._text(source.file) if source else None
            why = _contradiction(struct, text) if text and struct.name in self.structs else None
            if source and why and source.file not in told:
                told.add(source.file)
                yield Unread(source.file, f"is not what {reading.path} was made of: {why}")

    def _rules(self, struct: Struct) -> Iterator[Rule]:
        source = struct.source
        if source is None or struct.bit_size is None or struct.problem is not None:
            return
        text = self._text(source.file)
        if text is not None and _contradiction(struct, text) is None:
            alone = _alone(struct, text)
            yield from _positions(struct, source.file, alone)
            yield from _sections(struct, source.file, alone)

    def _text(self, file: str) -> Text | None:
        """The text of a file as an input names it: by the longest end of its path that is known."""
        steps = file.split("/")
        tails = ("/".join(steps[number:]) for number in range(len(steps)))
        return next((self.texts[tail] for tail in tails if tail in self.texts), None)


@dataclass(frozen=True, slots=True)
class Claims:
    """What is claimed in the text of each input: two trees have files of one path and different content."""

    own: dict[str, _Texts]
    """By the paths of inputs that are C text, what is below folders of sources among it."""
    sources: _Texts
    """Of the other inputs."""

    @property
    def structs(self) -> dict[str, str]:
        """Those that comments claim something of in any text, and the file of each."""
        found = dict(self.sources.structs)
        for texts in self.own.values():
            found |= {name: found.get(name, file) for name, file in texts.structs.items()}
        return found

    def spoken(self, reading: Reading, packs: Iterable[Pack]) -> tuple[Pack, ...]:
        """The rules that comments in the structs of an input come to, as a pack that knows what others do."""
        return self._of(reading).spoken(reading, packs)

    def stale(self, reading: Reading) -> Iterator[Unread]:
        """The files that are of another version than an input, whose comments are then left out."""
        return self._of(reading).stale(reading)

    def _of(self, reading: Reading) -> _Texts:
        return self.own.get(reading.path, self.sources)


def gather(inputs: Iterable[str], sources: Iterable[str]) -> Claims:
    """What is claimed in the inputs at some paths that are C text, and below folders of sources.

    Raises ReadError for a file that cannot be read.
    """
    shared = [top for path in sources for top in tree.text_below(path)]
    found = {path: tree.text_below(path) for path in inputs}
    own = {path: _gathered([*tops, *shared]) for path, tops in found.items() if tops}
    return Claims(own, _gathered(shared))


def _gathered(tops: Iterable[tuple[str, Iterable[str]]]) -> _Texts:
    texts: dict[str, Text] = {}
    structs: dict[str, str] = {}
    for top, folders in tops:
        for path in _files(folders):
            try:
                content = files.start(path, _LARGEST)
            except OSError as error:
                raise ReadError(path, files.why(error)) from error
            if _MENTION.search(content):
                text = Text(content.decode("utf-8", "replace"))
                names = list(_heads(text))
                if names:
                    short = os.path.relpath(path, top)
                    texts.setdefault(short, text)
                    structs |= {name: structs.get(name, short) for name in names}
    return _Texts(texts, structs)


def _files(folders: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for start in folders:
        if os.path.isfile(start):
            yield start
        for folder, below, names in os.walk(start):
            below.sort()
            paths = (os.path.join(folder, name) for name in sorted(names) if name.endswith(_SUFFIXES))
            fresh = [path for path in paths if path not in seen and os.path.isfile(path)]
            seen.update(fresh)
            yield from fresh


def _heads(text: Text) -> Iterator[str]:
    """The structs of a text whose comments claim something: to each claim, the nearest struct around it."""
    claims = {comment.line for comment in text.comments if _claims(comment) and not text.words(comment.line)}
    heads = list(text.structs())[::-1] if claims else []
    around: list[tuple[int, str]] = []
    """The structs that are open, by their last line."""
    for line in sorted(claims):
        while heads and heads[-1][0].start <= line:
            lines, name = heads.pop()
            around.append((lines.stop - 1, name))
        while around and around[-1][0] < line:
            around.pop()
        if around:
            yield around[-1][1]


def _claims(comment: Comment) -> bool:
    said = comment.text
    patterns = (_BOUNDARY, _NUMBERED, _ORDINAL, _READ, _WRITTEN)
    return len(said) <= _LONGEST and any(pattern.match(said) for pattern in patterns)


def _stands_alone(each: Attached, text: Text) -> bool:
    return each.lines is not None and not text.words(each.comment.line)


def _alone(struct: Struct, text: Text) -> list[Attached]:
    """The comments in a struct that stand alone on their lines, in order."""
    inside = text.inside(struct.source.line or 0) if struct.source else None
    found = [] if inside is None else [each for each in inside[1] if _stands_alone(each, text)]
    return [each for _, each in sorted({each.comment.line: each for each in found}.items())]


def _contradiction(struct: Struct, text: Text) -> str | None:
    """A line of the text that does not declare what the input says it does; None when there is none."""
    source = struct.source
    if source is None or source.line is None or struct.bit_size is None:
        return None
    if text.inside(source.line) is None:
        return f"line {source.line} does not declare {struct.aggregate} {struct.name}"
    for place in Layout(struct).places:
        at = place.field.source
        if at is None or at.file != source.file or at.line is None or text.calls(at.line):
            continue
        if place.field.name not in text.words(at.line):
            return f"line {at.line} does not declare `{place.path}` of {struct.aggregate} {struct.name}"
    return None


@dataclass(frozen=True, slots=True)
class _At:
    """A comment that stands alone, and the first field of the declaration below it."""

    each: Attached
    place: Place


def _positions(struct: Struct, file: str, alone: list[Attached]) -> Iterator[Rule]:
    """Rules on where the fields below comments stand."""
    layout = Layout(struct)
    found = [
        _At(each, place) for each in alone if _claims(each.comment) and (place := _below(layout, file, each))
    ]
    first = _first(found, struct.target.line_size)
    for at in found:
        kind = _position(at, first)
        if kind is not None:
            yield _rule(struct, kind, file, at.each, at.place.path)


def _below(layout: Layout, file: str, each: Attached) -> Place | None:
    """The first field of the declaration that a comment stands at; None when this build has none."""
    for place in layout.places:
        source = place.field.source
        if source is not None and source.file == file and source.line in (each.lines or ()):
            return place
    return None


def _first(found: list[_At], line_size: int) -> int:
    """Whether the comments of a struct number its lines from 0 or from 1: where more of them can be right."""
    numbered = [(at, int(n[1])) for at in found if (n := _NUMBERED.match(at.each.comment.text))]
    if any(number == 0 for _, number in numbered):
        return 0
    reach = {
        id(at): {(base + at.place.offset) // line_size for base in (0, line_size - 1)} for at, _ in numbered
    }
    return max((0, 1), key=lambda first: sum(number - first in reach[id(at)] for at, number in numbered))


def _position(at: _At, first: int) -> Kind | None:
    """What a comment says of the field below it, as a rule about that."""
    said, fields = at.each.comment.text, (at.place.path,)
    if boundary := _BOUNDARY.match(said):
        return Offset(fields, at=int(boundary[2]) + int(boundary[3] or 0))
    if (ordinal := _ORDINAL.match(said)) and int(ordinal[1]) > 0:
        return Offset(fields, line=int(ordinal[1]) - 1)
    numbered = _NUMBERED.match(said)
    return Offset(fields, line=max(0, int(numbered[1]) - first)) if numbered else None


def _sections(struct: Struct, file: str, alone: list[Attached]) -> Iterator[Rule]:
    """A rule that parts what comments call read mostly from what others call written.

    Each is about the fields below it as far as the next comment that stands alone.
    """
    known = [(each, _side(each)) for each in alone]
    heads = [next((each for each, side in known if side is wanted), None) for wanted in (True, False)]
    read, written = heads
    if read is None or written is None:
        return
    fields: dict[bool, list[str]] = {True: [], False: []}
    for place in Layout(struct).places:
        source = place.field.source
        if source is not None and source.file == file and source.line is not None and not place.is_empty:
            above = [side for each, side in known if each.comment.line < source.line]
            if above and above[-1] is not None:
                fields[above[-1]].append(place.path)
    if fields[True] and fields[False]:
        kind = Separate((tuple(fields[True]), tuple(fields[False])))
        yield _rule(struct, kind, file, read, "sections", written)


def _side(each: Attached) -> bool | None:
    """Whether a comment calls the fields below it read (True) or written; None when it says neither."""
    said = each.comment.text
    if len(said) > _LONGEST or not (_READ.match(said) or _WRITTEN.match(said)):
        return None
    return not _WRITTEN.match(said)


def _rule(
    struct: Struct, kind: Kind, file: str, each: Attached, what: str, other: Attached | None = None
) -> Rule:
    source = Source(file, each.comment.line)
    said = [" ".join(one.comment.text.split()) for one in (each, other) if one is not None]
    return Rule(
        id=f"comment/{struct.name}/{what}",
        struct=struct.name,
        kind=kind,
        severity=Severity.WARNING,
        why=f"comment{'s say' if len(said) > 1 else ' says'} {' and '.join(f'`{text}`' for text in said)}",
        source=source,
        tolerate=1.0,  # what holds at some bases is not out of date
        pack="comments",
        by="comment",
    )
