"""The open files, each with the last good layouts of its structs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from layoutlint import files
from layoutlint.commands.language_server.positions import LineMap, split_lines
from layoutlint.geometry.layout import Layout, Place
from layoutlint.judgement.document import JudgedDocument, JudgedStruct
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Field, fields_in_braces

HEADERS, SOURCES = (".h",), (".c",)
RULE_FILE = "layoutlint.toml"
_CASES = ".cases.toml"
_UNTITLED = "untitled"
_LARGEST = 1 << 25
"""The most bytes of a file on disk that is compared with a text."""


class Kept(Record, frozen=True, dict=True):
    """The last good layout of a struct."""

    judged: JudgedStruct
    lines: list[str]
    """The text from which it was read."""
    stale: str = ""
    """Why the text has no newer layout; empty if this is that of the text."""

    @property
    def line(self) -> int:
        """The line of the struct's head in that text, from 0."""
        source = self.judged.struct.source
        return (source.line or 1) - 1 if source is not None else 0

    def layout(self) -> Layout:
        """Return the layout, which a struct that is laid out has."""
        return Layout(self.judged.struct)

    def fields(self) -> Iterator[tuple[str, Field, int]]:
        """Yield the path of each field in its braces, the field, and its line from 0."""
        struct = self.judged.struct
        file = struct.source.file if struct.source is not None else ""
        for path, member in fields_in_braces(struct.fields):
            source = member.source
            if source is not None and source.line is not None and source.file == file:
                yield path, member, source.line - 1

    def places(self) -> Iterator[tuple[Place, int]]:
        """Yield the place of each field in its braces, and the line of its declaration from 0."""
        layout = self.layout()
        for path, _, line in self.fields():
            place = layout.find(path)
            if place is not None:
                yield place, line


class OpenDocument:
    """A file that is open in the editor."""

    def __init__(self, uri: str, path: str, language: str, text: str, version: int | None) -> None:
        self.uri, self.path, self.language = uri, path, language
        self.name, self.real_path = os.path.basename(path), files.real_path(path)
        self.kept: dict[str, Kept] = {}
        self.result: JudgedDocument | None = None
        """The last result, also if it has errors."""
        self.paths: dict[str, str] = {}
        """The absolute paths of the files that findings name."""
        self.mistakes: tuple[str, ...] = ()
        """The mistakes of the rule files for it."""
        self.judged_text: str | None = None
        """The text by which other open files were judged last; None if that on disk counted."""
        self.due = 0.0
        """When its findings may be published, by the clock of the event loop."""
        self.seconds = 0.0
        """The time that a judgement is expected to take."""
        self.is_typed = False
        """Whether an edit made a judgement worthless, and nothing was published since."""
        self.failure = ""
        """Why the last attempt to judge it had no result at all."""
        self.update(text, version)

    def update(self, text: str, version: int | None) -> None:
        """Take a new text."""
        self.text, self.version, self.lines = text, version, split_lines(text)
        self._maps: dict[int, LineMap] = {}
        self._states_rule = _states_rule(self.lines)

    @property
    def is_on_disk(self) -> bool:
        """Whether there is a file with some content."""
        return files.is_file(self.path) and files.status_of(self.path).st_size > 0

    @property
    def is_rules(self) -> bool:
        """Whether it is a rule file."""
        if os.path.basename(self.path) == RULE_FILE:
            return True
        is_other = not self.path.endswith(".toml") or self.path.endswith(_CASES)
        return not is_other and self._states_rule

    @property
    def is_saved(self) -> bool:
        """Whether the file on disk has the same text."""
        try:
            return files.read_all(self.path, _LARGEST).decode(errors="replace") == self.text
        except OSError:
            return False

    @property
    def is_c(self) -> bool:
        """Whether it is C."""
        return self.path.endswith(HEADERS + SOURCES) or self.language == "c"

    def apply(self, lines: list[str], document: JudgedDocument) -> None:
        """Take the result for a text; structs without a layout keep the last good one."""
        before, self.kept = self.kept, {}
        for judged in document.structs:
            problem = judged.struct.problem
            if judged.is_laid_out or (problem is not None and judged.name not in before):
                self.kept[judged.name] = Kept(judged, lines)
            elif problem is not None:
                self.kept[judged.name] = replace(before[judged.name], stale=problem)
        if document.failures:
            for name, kept in before.items():
                self.kept.setdefault(name, replace(kept, stale=document.failures[0].text))
        self.result, self.failure = document, ""
        self.paths.update(document.paths)

    def fail(self, reason: str) -> None:
        """Note that a text could not be judged at all."""
        self.failure = reason
        self.kept = {name: replace(kept, stale=kept.stale or reason) for name, kept in self.kept.items()}

    def line_now(self, kept: Kept, line: int) -> int | None:
        """Return where a line of a kept struct is now, from 0; None if it was edited."""
        return self.map_from(kept.lines).line(line)

    def map_from(self, lines: list[str]) -> LineMap:
        """Return the map from an older text of the document to this one."""
        if id(lines) not in self._maps:
            self._maps[id(lines)] = LineMap(lines, self.lines)
        return self._maps[id(lines)]


def _states_rule(lines: list[str]) -> bool:
    """Return whether a text has a rule on a struct: other programs have rules in TOML as well."""
    is_in_rule = False
    for line in lines:
        text = line.strip()
        if text.startswith("["):
            is_in_rule = text.startswith("[[") and text.strip("[] \t") == "rule"
        elif is_in_rule and text.startswith("struct") and text[len("struct") :].lstrip().startswith("="):
            return True
    return False


def path_of(uri: str, folder: str) -> str | None:
    """Return the absolute path of a document; None for schemes that are no files.

    A new document without a file is in `folder`, with a name of its own.
    """
    parts = urlsplit(uri)
    path = unquote(parts.path, errors="surrogateescape")
    if parts.scheme == "file" and path.startswith("/") and "\0" not in path:
        return os.path.normpath(path)
    if parts.scheme == _UNTITLED:
        name = re.sub(r"[^\w.-]", "-", os.path.basename(path)) or _UNTITLED
        return os.path.join(folder, name if name.endswith(HEADERS + SOURCES) else f"{name}.c")
    return None


def uri_of(path: str) -> str:
    """Return the URI of a file."""
    from urllib.parse import quote

    return f"file://{quote(path, errors='surrogateescape')}"
