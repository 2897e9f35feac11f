"""Annotations in comments: those of the structs that an input declares in files which are at hand."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from layoutlint import files
from layoutlint.intent.c_comments import Attached, Text
from layoutlint.model.reading import Reading, Unread
from layoutlint.model.structs import ANNOTATION, Annotation, Field, Source, Stray, Struct, written

_LARGEST = 1 << 24
"""Bytes of a C file; the largest of Linux, a generated header of registers, has 22 million characters."""
_SUFFIXES = (".c", ".h")
# Up to the next one, an empty line, or what kernel-doc says of a parameter.
_SAID = re.compile(rf"{ANNOTATION}((?:(?!{ANNOTATION}|\n\s*(?:\n|@)).)*)", re.DOTALL)


@dataclass(slots=True)
class Sources:
    """C files below some folders, each read once."""

    folders: tuple[str, ...]
    _known: dict[str, tuple[str, Text] | None] = field(default_factory=dict)

    def of(self, file: str) -> tuple[str, Text] | None:
        """Where a file is that an input names, and its text; None when it is not at hand, or says nothing."""
        if file not in self._known:
            path = self._found(file)
            text = None if path is None else _read(path)
            self._known[file] = None if path is None or text is None else (path, text)
        return self._known[file]

    def _found(self, file: str) -> str | None:
        if not os.path.isabs(file):
            tails = [file]
        else:  # the folder that it was compiled in is another one here
            steps = file.strip("/").split("/")
            tails = ["/".join(steps[number:]) for number in range(len(steps))]
            if os.path.isfile(file) and not self.folders:
                return file
        places = (os.path.join(folder, tail) for tail in tails for folder in self.folders)
        return next((place for place in places if os.path.isfile(place)), None)

    def mentioning(self) -> Iterator[str]:
        """The files that have annotations, relative to their folders, sorted in each."""
        for top in self.folders:
            for folder, below, names in os.walk(top):
                below.sort()
                for name in sorted(names):
                    path = os.path.join(folder, name)
                    if name.endswith(_SUFFIXES) and ANNOTATION.encode() in _bytes(path):
                        yield os.path.relpath(path, top)


def annotations_in(comment: str) -> Iterator[str]:
    """Yield what stands behind each `layoutlint:` in the text of a comment."""
    yield from (found[1].strip() for found in _SAID.finditer(comment))


def _bytes(path: str) -> bytes:
    """The first part of a file; nothing of what cannot be read."""
    try:
        return files.start(path, _LARGEST)
    except OSError:
        return b""


def _read(path: str) -> Text | None:
    content = _bytes(path)
    if ANNOTATION.encode() not in content:
        return None
    return Text(content.decode("utf-8", "replace"))


def with_comments(reading: Reading, sources: Sources, is_compiled: bool) -> Reading:
    """An input whose structs have the annotations that comments make at them, besides their own.

    `is_compiled` says that it was made of the sources earlier, and so may be of other ones.
    """
    found = {id(struct): _found(struct, sources) for struct in reading.structs}
    stale = _stale([one for one in found.values() if one is not None]) if is_compiled else {}
    structs, notes = [], list(reading.notes)
    for struct in reading.structs:
        one = found[id(struct)]
        own = one.annotations if one is not None and one.path not in stale else ()
        if one is not None and own and is_compiled and _is_newer(one.path, reading.path):
            notes.append(f"{one.path} is newer than {reading.path}: its comments may have come later")
        structs.append(replace(struct, annotations=(*struct.annotations, *own)))
    told = (Unread(path, f"is not what {reading.path} was made of: {why}") for path, why in stale.items())
    notes = list(dict.fromkeys(notes))
    there = [one for one in found.values() if one is not None and one.path not in stale]
    strays = tuple(_strays(there, sources, is_compiled))
    unread = (*reading.unread, *told)
    return replace(reading, structs=tuple(structs), unread=unread, notes=tuple(notes), strays=strays)


def _is_newer(source: str, binary: str) -> bool:
    try:
        return os.stat(source).st_mtime > os.stat(binary).st_mtime
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class _Found:
    """A struct in the text that declares it, with what comments say of it and of its fields."""

    struct: Struct
    path: str
    file: str
    """As the input names it."""
    lines: range
    """From its head to its closing brace; only the head where no struct is seen to start there."""
    is_there: bool
    """Whether that line has its name."""
    annotations: tuple[Annotation, ...]
    contradiction: str | None
    """What shows that the text is of another version; None when nothing does."""


def _found(struct: Struct, sources: Sources) -> _Found | None:
    at = None if struct.source is None else sources.of(struct.source.file)
    if at is None or struct.source is None or struct.source.line is None:
        return None
    path, text = at
    file, head = struct.source.file, struct.source.line
    declared = [
        (name, member, member.source.line)
        for name, member in written(struct.fields)
        if member.source is not None and member.source.file == file and member.source.line is not None
    ]
    lines, attached = text.inside(head) or (range(head, head + 1), [])
    said = tuple(_said(attached, file, declared))
    is_there = not struct.is_tagged or struct.name in text.words(head)
    wrong = _contradiction(text, struct, declared) if is_there else _undeclared(head, struct)
    return _Found(struct, path, file, lines, is_there, said, wrong)


_Declared = list[tuple[str, Field, int]]
"""Paths, fields, and the lines that declare them."""


def _said(comments: list[Attached], file: str, declared: _Declared) -> Iterator[Annotation]:
    """What comments say of a struct and of its fields."""
    by_name: dict[str | None, list[tuple[int, str, int]]] = {}
    for number, (path, member, line) in enumerate(declared):
        by_name.setdefault(member.name, []).append((number, path, line))
    for attached in comments:
        source, lines = Source(file, attached.comment.line), attached.lines
        paths = [""] if lines is None else []
        named = (one for word in attached.words for one in by_name.get(word, ()))
        paths += [path for _, path, _ in sorted(one for one in named if one[2] in (lines or ()))]
        for text in annotations_in(attached.comment.text):
            yield from (Annotation(path, text, source) for path in paths)


def _strays(there: list[_Found], sources: Sources, is_compiled: bool) -> Iterator[Stray]:
    """The annotations in some files that stand at nothing.

    A compiled input has the structs that its code uses; what stands elsewhere can be about others.
    """
    files: dict[str, list[_Found]] = {}
    for one in there:
        files.setdefault(one.file, []).append(one)
    for file, structs in files.items():
        taken = {annotation.source for one in structs for annotation in one.annotations}
        at = sources.of(file)
        ordered = sorted(structs, key=lambda one: -len(one.lines))
        inner = {line: one.struct.name for one in ordered for line in one.lines}
        for comment in () if at is None else at[1].comments:
            source = Source(file, comment.line)
            if source not in taken and (comment.line in inner or not is_compiled):
                for found in _SAID.finditer(comment.text):
                    yield Stray(found[1].strip(), source, inner.get(comment.line))


def _contradiction(text: Text, struct: Struct, declared: _Declared) -> str | None:
    """A line that does not have the field that it declares, and no macro that could."""
    for path, member, line in declared:
        if member.name not in text.words(line) and not text.calls(line):
            return f"line {line} does not declare `{path}` of {struct.aggregate} {struct.name}"
    return None


def _undeclared(line: int, struct: Struct) -> str:
    return f"line {line} does not declare {struct.aggregate} {struct.name}"


def _stale(found: list[_Found]) -> dict[str, str]:
    """The files that are of another version than the input, and what shows it.

    One whose annotations are at other fields is, and one that lacks most of the structs that it declares: a
    macro can declare some.
    """
    files: dict[str, list[_Found]] = {}
    for one in found:
        files.setdefault(one.path, []).append(one)
    stale = {}
    for path, structs in files.items():
        wrong = [one for one in structs if one.contradiction and (one.annotations or not one.is_there)]
        if any(one.annotations for one in wrong) or 2 * len(wrong) > len(structs):
            stale[path] = wrong[0].contradiction or ""
    return stale
