"""Annotations in the comments of C files, attached to the structs of an input."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from layoutlint import files
from layoutlint.intent.annotations.syntax import AnnotationError, parse, without_reason
from layoutlint.intent.c_comments import AttachedComment, Text
from layoutlint.judgement.rule import ACCESSES
from layoutlint.kinds import KINDS
from layoutlint.model.paths import is_within
from layoutlint.model.reading import InputText, Reading, Unread
from layoutlint.model.record import Record, field, replace
from layoutlint.model.structs import (
    ANNOTATION,
    ANNOTATION_NAME,
    MISSPELT_ANNOTATION_NAMES,
    Annotation,
    Field,
    Source,
    Stray,
    Struct,
    fields_in_braces,
    has_annotation_marks,
)

_LARGEST = 1 << 24
"""Bytes of a C file; the largest of Linux, a generated header of registers, has 22 million characters."""
_SUFFIXES = (".c", ".h")
# Up to the next annotation, an empty line, or a parameter of kernel-doc.
_ANNOTATION = re.compile(rf"{ANNOTATION}((?:(?!{ANNOTATION}|\n\s*(?:\n|@)).)*)", re.DOTALL)
_PARAMETER = re.compile(r"^[ \t]*@([\w.]+)[ \t]*:", re.MULTILINE)
"""A member that kernel-doc describes, up to an empty line (Documentation/doc-guide/kernel-doc.rst)."""
_EMPTY_LINE = re.compile(r"\n\s*\n")
_KIND_WORDS = "|".join(KINDS).replace("-", "[-_]")
_ACCESS_WORDS = "|".join(ACCESSES).replace("-", "[-_]")
# Prose goes on with other words.
_WITHOUT_COLON = re.compile(
    rf"^[ \t]*((?:{ANNOTATION_NAME}\s+(?::\s*)?|(?:{'|'.join(MISSPELT_ANNOTATION_NAMES)})\s*(?::\s*)?)"
    rf"(?:(?:{_KIND_WORDS})\s*\(|(?:{_ACCESS_WORDS})\b(?!\s+\w)|ignore\s*\[)[^\n]*)",
    re.MULTILINE,
)


class Sources(Record):
    """C files below some folders, each read once, and C texts that are not on disk."""

    folders: tuple[str, ...]
    given: tuple[InputText, ...] = ()
    replaced: tuple[InputText, ...] = ()
    """The texts that count in place of those of files, by their real paths."""
    are_here: bool = False
    """Whether an absolute name is that of a file of this machine: the input is C text, not compiled."""
    _texts: dict[str, tuple[str, Text] | None] = field(default_factory=dict)

    def find(self, file: str) -> tuple[str, Text] | None:
        """Return the path and text of a file that an input names; None if missing, or without annotations."""
        if file not in self._texts:
            path, content = self._read(file)
            is_annotated = has_annotation_marks(content)
            self._texts[file] = (path, Text(content.decode("utf-8", "replace"))) if is_annotated else None
        return self._texts[file]

    def _read(self, file: str) -> tuple[str, bytes]:
        """Return the path and content of a file that an input names; an empty content if it is missing."""
        for given in self.given:
            if given.path == file:
                return file, given.text.encode(errors="surrogateescape")
        path = self.find_path(file)
        if path is None:
            return "", b""
        real_path = files.real_path(path) if self.replaced else path
        for given in self.replaced:
            if files.real_path(given.path) == real_path:
                return path, given.text.encode(errors="surrogateescape")
        return path, _bytes(path)

    def find_path(self, file: str) -> str | None:
        """Return the path of a file that an input names; None if it is missing."""
        if not os.path.isabs(file):
            tails = [file]
        elif self.are_here:
            return file if files.is_file(file) else None
        else:  # the folder of the compilation can be elsewhere on this machine
            steps = file.strip("/").split("/")
            tails = ["/".join(steps[number:]) for number in range(len(steps))]
            if files.is_file(file) and not self.folders:
                return file
        places = [os.path.join(folder, tail) for tail in tails for folder in self.folders]
        if not os.path.isabs(file):
            places += filter(None, (_below_named(folder, file) for folder in self.folders))
        return next((place for place in places if files.is_file(place)), None)

    def annotated_files(self) -> Iterator[str]:
        """Yield the files with annotations, relative to their folder, sorted in each."""
        for top in self.folders:
            for folder, subfolders, names in files.walk(top):
                subfolders.sort()
                for name in sorted(names):
                    path = os.path.join(folder, name)
                    if name.endswith(_SUFFIXES) and ANNOTATION.encode() in _bytes(path):
                        yield os.path.relpath(path, top)


def _below_named(folder: str, file: str) -> str | None:
    """Return where a file is that an input names together with its folder: `src/a.c` for `lib/src`.

    None if no beginning of its path is the end of the folder's.
    """
    steps, ends = os.path.normpath(file).split(os.sep), os.path.abspath(folder).split(os.sep)
    for count in range(len(steps) - 1, 0, -1):
        if steps[:count] == ends[-count:]:
            return os.path.join(folder, *steps[count:])
    return None


def annotations_in(comment: str) -> Iterator[str]:
    """Yield the text after each `layoutlint:` in a comment."""
    yield from (match[1].strip() for match in _ANNOTATION.finditer(comment))


def _bytes(path: str) -> bytes:
    """Return the first bytes of a file; b"" if it cannot be read."""
    try:
        return files.read_start(path, _LARGEST)
    except OSError:
        return b""


def with_comments(reading: Reading, sources: Sources, is_compiled: bool) -> Reading:
    """Return a reading whose structs also have the annotations in their comments.

    `is_compiled`: the input was compiled earlier, so that the sources can be of another version.
    """
    located = [_locate(struct, sources) for struct in reading.structs]
    stale = _stale_files(list(filter(None, located))) if is_compiled else {}
    structs, notes = [], list(reading.notes)
    for struct, commented in zip(reading.structs, located, strict=True):
        own = commented.annotations if commented is not None and commented.path not in stale else ()
        if commented is not None and own and is_compiled and _is_newer(commented.path, reading.path):
            notes.append(f"{commented.path} is newer than {reading.path}: its comments may have come later")
        notes += commented.doubts if commented is not None and own else ()
        structs.append(replace(struct, annotations=(*struct.annotations, *own)))
    stale_unread = (Unread(path, f"does not match {reading.path}: {why}") for path, why in stale.items())
    notes = list(dict.fromkeys(notes))
    current = [commented for commented in filter(None, located) if commented.path not in stale]
    strays = tuple(_strays(current, sources, is_compiled, bool(reading.unread)))
    unread = (*reading.unread, *stale_unread, *_unattached_files(reading, current, sources))
    return replace(reading, structs=tuple(structs), unread=unread, notes=tuple(notes), strays=strays)


def _is_newer(source: str, binary: str) -> bool:
    try:
        return files.status_of(source).st_mtime > files.status_of(binary).st_mtime
    except OSError:
        return False


class _CommentedStruct(Record, frozen=True):
    """A struct in its source file, with the annotations in its comments."""

    struct: Struct
    path: str
    file: str
    """The name of the file in the input."""
    lines: range
    """From the struct's head to its closing brace; only the head if no struct starts there."""
    is_declared: bool
    """Whether the line of the head contains the name of the struct."""
    annotations: tuple[Annotation, ...]
    strays: tuple[Stray, ...]
    """The annotations of kernel-doc for fields that it lacks."""
    doubts: tuple[str, ...]
    """What people may have meant otherwise, as sentences."""
    contradiction: str | None
    """How the text differs from the input, which makes it another version; None if it does not."""


def _locate(struct: Struct, sources: Sources) -> _CommentedStruct | None:
    file_text = None if struct.source is None else sources.find(struct.source.file)
    if file_text is None or struct.source is None or struct.source.line is None:
        return None
    path, text = file_text
    file, head = struct.source.file, struct.source.line
    declared = [
        (name, member, member.source.line)
        for name, member in fields_in_braces(struct.fields)
        if member.source is not None and member.source.file == file and member.source.line is not None
    ]
    lines, attached = text.comments_of_struct(head) or (range(head, head + 1), [])
    found = list(_annotations(attached, struct, file, declared))
    annotations = tuple(each for each in found if isinstance(each, Annotation))
    strays = tuple(each for each in found if isinstance(each, Stray))
    is_declared = not struct.is_tagged or struct.name in text.words(head)
    contradiction = (
        _contradiction(text, struct, declared) if is_declared else _missing_declaration(head, struct)
    )
    doubts = tuple(_doubts(attached, annotations, struct))
    return _CommentedStruct(
        struct, path, file, lines, is_declared, annotations, strays, doubts, contradiction
    )


def _doubts(
    comments: list[AttachedComment], annotations: tuple[Annotation, ...], struct: Struct
) -> Iterator[str]:
    """Yield the annotations of a first field that name others: they can be meant for the struct."""
    lines = {attached.comment.line for attached in comments if attached.is_first}
    for each in annotations:
        if each.path and each.source is not None and each.source.line in lines and _names_others(each):
            text = f"`{without_reason(each.text)}` is about `{each.path}` below it"
            yield f"{each.source}: {text}; for {struct.aggregate} {struct.name}, write it above the struct"


def _names_others(annotation: Annotation) -> bool:
    """Return whether a rule of a field names fields, and not that one."""
    try:
        words = parse(annotation.text).words
    except AnnotationError:
        return False
    arguments = [part for term in words for part in term.arguments if "=" not in part]
    return bool(arguments) and not any(annotation.path in part.split() for part in arguments)


_DeclaredFields = list[tuple[str, Field, int]]
"""Paths, fields, and the lines that declare them."""


def _annotations(
    comments: list[AttachedComment], struct: Struct, file: str, declared: _DeclaredFields
) -> Iterator[Annotation | Stray]:
    """Yield the annotations that comments attach to a struct and its fields, and those at no field."""
    by_name: dict[str | None, list[tuple[int, str, int]]] = {}
    for number, (path, member, line) in enumerate(declared):
        by_name.setdefault(member.name, []).append((number, path, line))
    for attached in comments:
        source, lines = Source(file, attached.comment.line), attached.lines
        paths = [""] if lines is None else []
        candidates = (candidate for word in attached.words for candidate in by_name.get(word, ()))
        paths += [
            path
            for _, path, _ in sorted(candidate for candidate in candidates if candidate[2] in (lines or ()))
        ]
        for name, text in named_annotations(attached.comment.text):
            if name is not None and lines is None and not _has_field(struct.fields, name):
                yield Stray(without_reason(text), source, struct.name, name)
                continue
            chosen = paths if name is None else [name] if lines is None else _paths_of(name, paths, declared)
            yield from (Annotation(path, text, source) for path in chosen)


def named_annotations(comment: str) -> Iterator[tuple[str | None, str]]:
    """Yield each annotation with the member that kernel-doc describes there (`@head:`), None for none."""
    slip = _WITHOUT_COLON.search(comment)
    for match in (slip,) if slip else _ANNOTATION.finditer(comment):
        section = _EMPTY_LINE.split(comment[: match.start()])[-1]
        names = _PARAMETER.findall(section)
        yield (names[-1] if names else None), match[1].strip()


def _has_field(fields: tuple[Field, ...], path: str) -> bool:
    """Return whether members have a field at a dotted path, as kernel-doc writes it."""
    name, _, rest = path.partition(".")
    for member in fields:
        if member.name is None and _has_field(member.members, path):
            return True
        if member.name == name and (not rest or _has_field(member.members, rest)):
            return True
    return False


def _paths_of(name: str, paths: list[str], declared: _DeclaredFields) -> list[str]:
    """Return the fields that kernel-doc calls `name` at a declaration of the fields `paths`.

    A name that the declaration does not have is no field (`@note:`).
    """
    own = [path for path, _, _ in declared if any(is_within(path, outer) for outer in paths)]
    return [path for path in own if f".{path}".endswith(f".{name}")] or paths


def _strays(
    located: list[_CommentedStruct], sources: Sources, is_compiled: bool, is_partial: bool
) -> Iterator[Stray]:
    """Yield the annotations that are attached to no struct and no field.

    A compiled input has only the structs that its code uses; annotations outside of them are skipped. An
    error (`is_partial`: in the text, outside of its structs) can have removed the field of an annotation.
    """
    files: dict[str, list[_CommentedStruct]] = {}
    for commented in located:
        files.setdefault(commented.file, []).append(commented)
    for file, structs in files.items():
        own_strays = [stray for commented in structs for stray in commented.strays]
        attached = {annotation.source for commented in structs for annotation in commented.annotations}
        attached |= {stray.source for stray in own_strays}
        file_text = sources.find(file)
        damaged = [commented for commented in structs if commented.struct.problem is not None]
        moot = {line for commented in damaged for line in commented.lines}
        if not damaged:
            yield from own_strays
        only_inside = is_compiled or is_partial or bool(damaged)
        ordered = sorted(structs, key=lambda commented: -len(commented.lines))
        inner = {line: commented.struct.name for commented in ordered for line in commented.lines}
        for comment in () if file_text is None else file_text[1].comments:
            source = Source(file, comment.line)
            if source in attached or comment.line in moot:
                continue
            if comment.line in inner or not only_inside:
                for match in _ANNOTATION.finditer(comment.text):
                    yield Stray(without_reason(match[1].strip()), source, inner.get(comment.line))


def _unattached_files(
    reading: Reading, located: list[_CommentedStruct], sources: Sources
) -> Iterator[Unread]:
    """Yield the files whose annotations are attached to nothing, because of an error in the text."""
    files: dict[str, list[_CommentedStruct]] = {}
    for commented in () if reading.unread else located:
        files.setdefault(commented.file, []).append(commented)
    for file, in_file in files.items():
        problem = next(filter(None, (commented.struct.problem for commented in in_file)), None)
        has_any = any(commented.annotations or commented.struct.annotations for commented in in_file)
        if problem is not None and not has_any and sources.find(file) is not None:
            yield Unread(file, f"its annotations are attached to no field, with errors: {problem}")


def _contradiction(text: Text, struct: Struct, declared: _DeclaredFields) -> str | None:
    """Return the first line that lacks its field and has no macro call; None if all lines match."""
    for path, member, line in declared:
        if member.name not in text.words(line) and not text.calls(line):
            return f"line {line} does not declare `{path}` of {struct.aggregate} {struct.name}"
    return None


def _missing_declaration(line: int, struct: Struct) -> str:
    return f"line {line} does not declare {struct.aggregate} {struct.name}"


def _stale_files(located: list[_CommentedStruct]) -> dict[str, str]:
    """Return the files of another version than the input, each with the difference.

    A file is stale if its annotations are at other fields, or if it lacks most of its structs (macros can
    declare a few).
    """
    files: dict[str, list[_CommentedStruct]] = {}
    for commented in located:
        files.setdefault(commented.path, []).append(commented)
    stale = {}
    for path, in_file in files.items():
        contradicted = [
            commented
            for commented in in_file
            if commented.contradiction and (commented.annotations or not commented.is_declared)
        ]
        if any(commented.annotations for commented in contradicted) or 2 * len(contradicted) > len(in_file):
            stale[path] = contradicted[0].contradiction or ""
    return stale
