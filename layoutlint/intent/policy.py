"""The policy of a base commit: rule files and suppressions that a change cannot edit to judge itself."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from layoutlint.errors import RuleFileError, UsageError
from layoutlint.intent import git
from layoutlint.intent.annotations.comments import named_annotations
from layoutlint.intent.annotations.rules import Suppression
from layoutlint.intent.annotations.syntax import AnnotationError, Ignore
from layoutlint.intent.annotations.syntax import parse as parse_annotation
from layoutlint.intent.base_flags import BaseFlags
from layoutlint.intent.c_comments import Text
from layoutlint.intent.toml import rule_file
from layoutlint.judgement.rule import Pack
from layoutlint.model.flag_files import FlagUse
from layoutlint.model.record import Record, field
from layoutlint.readers.clang.text_search import definitions_in

_RULES = "layoutlint.toml"
_INLINE = re.compile(r"(?:\"layoutlint:\s*|LAYOUTLINT(?:_STRUCT)?\s*\(\s*)(ignore\s*\[[^\]\"]*\][^\"\n]*)")
"""A suppression in an attribute or macro, on one line with its field."""

_LONGEST, _DEEPEST = 4096, 32
"""Limits of the search in the base commit: characters of a line, and depth of nested structs."""

_Base = tuple[str, frozenset[str] | None, Ignore]
"""A suppression in the base: struct, words of the field's declaration (None: whole struct), and rules."""


class Policy(Record):
    """The rule files and suppressions of a commit."""

    commit: git.Commit
    flag_files: BaseFlags
    folders: tuple[str, ...] = (".",)
    """Folders of the files that inputs name."""
    used: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    """Rule files that exist only in the working tree."""
    _parsed: dict[str, list[_Base]] = field(default_factory=dict)

    def move_to(self, folder: str) -> Policy:
        """Return the policy for a copy of the tree in another folder."""
        flag_files = self.flag_files.move_to(folder)
        return Policy(flag_files.commit, flag_files, self.folders, self.used, self.unused)

    def packs(self, paths: tuple[str, ...]) -> tuple[Pack, ...]:
        """Return the packs of rule files and folders of them, or of the nearest `layoutlint.toml`.

        Files outside of the working tree are read from disk. Raises UsageError, and RuleFileError with all
        mistakes.
        """
        texts: dict[str, str] = {}
        outside = []
        for path in paths or self._discover():
            inside = self.commit.path_in_tree(path)
            if inside is None:
                outside.append(path)
            else:
                texts.update(self._texts(path, inside))
        self.used += texts
        return (*rule_file.parse_all(texts.items()), *rule_file.load(outside))

    def text(self, path: str) -> str | None:
        """Return the text of a file in the commit; None if it lies outside of the working tree.

        Raises UsageError if the commit does not have the file.
        """
        inside = self.commit.path_in_tree(path)
        if inside is None:
            return None
        text = self._decode(path, inside)
        if text is None:
            raise UsageError(f"{path} is not in {self.commit.name}, whose policy is used")
        self.used.append(path)
        return text

    def nearest_rule_file(self) -> tuple[str, str] | None:
        """Return the path and text of the nearest `layoutlint.toml` of the commit; None if it has none."""
        for path in self._discover():
            inside = self.commit.path_in_tree(path)
            text = None if inside is None else self._decode(path, inside)
            if text is not None:
                return path, text
        return None

    def _discover(self) -> tuple[str, ...]:
        folder = os.path.realpath(os.getcwd())
        while self.commit.path_in_tree(folder) is not None:
            path = os.path.join(folder, _RULES)
            if self.commit.files(self.commit.path_in_tree(path) or _RULES):
                return (os.path.relpath(path),)
            folder = os.path.dirname(folder)
        return ()

    def _texts(self, path: str, inside: str) -> Iterator[tuple[str, str]]:
        """Yield the rule files of the commit at or below a path, with their texts."""
        files = self.commit.files(inside)
        if inside not in files:
            files = {name: mode for name, mode in files.items() if name.endswith(".toml")}
        names = [name for name in sorted(files) if name == inside or not name.endswith(rule_file.CASES)]
        new_files = self._new_files(path, set(names))
        self.unused += new_files
        if not names and not new_files:
            raise RuleFileError((f"{path}: is neither in {self.commit.name} nor in the working tree",))
        for name in names:
            shown = path if name == inside else os.path.join(path, os.path.relpath(name, inside or "."))
            yield shown, self._decode(shown, name) or ""

    def _new_files(self, path: str, base_files: set[str]) -> list[str]:
        """Return the rule files at or below a path that only the working tree has."""
        if not os.path.isdir(path):
            return (
                [path] if os.path.lexists(path) and self.commit.path_in_tree(path) not in base_files else []
            )
        files = (os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)
        rules = (file for file in files if file.endswith(".toml") and not file.endswith(rule_file.CASES))
        return sorted(file for file in rules if self.commit.path_in_tree(file) not in base_files)

    def _decode(self, path: str, inside: str) -> str | None:
        content = self.commit.content(inside)
        try:
            return None if content is None else content.decode()
        except UnicodeDecodeError as error:
            raise RuleFileError((f"{path}: not UTF-8 in {self.commit.name}",)) from error

    def has_suppression(self, suppression: Suppression) -> bool:
        """Return whether the commit has a suppression of the same rules on the same struct or field.

        One that ends there sooner does not count: the change has put off its end.
        """
        field_name = suppression.path.split(".")[-1].partition("[")[0]
        for struct, words, ignored in self._suppressions(suppression.source.file):
            is_same_place = (
                words is None if not suppression.path else words is not None and field_name in words
            )
            if (
                struct == suppression.struct
                and is_same_place
                and set(suppression.ignored.rules) <= set(ignored.rules)
                and not _ends_later(suppression.ignored, ignored)
            ):
                return True
        return False

    def _suppressions(self, file: str) -> list[_Base]:
        """Return the suppressions in the files of the commit that match a file name in an input."""
        if file not in self._parsed:
            places = dict.fromkeys(os.path.join(folder, file) for folder in self.folders)
            insides = dict.fromkeys(inside for place in places if (inside := self.commit.path_in_tree(place)))
            suppressions: list[_Base] = []
            for inside in insides:
                content = self.commit.content(inside)
                suppressions += [] if content is None else _suppressions(content)
            self._parsed[file] = suppressions
        return self._parsed[file]

    def sentences(
        self, dropped: tuple[Suppression, ...], flag_uses: dict[str, FlagUse] | None = None
    ) -> tuple[str, ...]:
        """Return the sentences of the report on the policy.

        `dropped` are suppressions that do not count, `flag_uses` what readings say of files with flags.
        """
        files = ", ".join(dict.fromkeys(self.used)) or "no rule file"
        sentences = [f"of {self.commit.name} ({self.commit.id[:12]}): {files}"]
        sentences += [
            f"not used, because {self.commit.name} does not have it: {path}" for path in self.unused
        ]
        missing = f"does not count, because {self.commit.name} does not have it"
        texts = (f"`ignore[{', '.join(one.ignored.rules)}]` at {one.source}" for one in dropped)
        sentences += (f"{text} {missing}" for text in dict.fromkeys(texts))
        return (*sentences, *self.flag_files.sentences(flag_uses or {}))


def _ends_later(ignored: Ignore, base: Ignore) -> bool:
    return base.until is not None and (ignored.until is None or ignored.until > base.until)


def _suppressions(content: bytes) -> Iterator[_Base]:
    """Yield the suppressions in a C text, in comments, attributes and macros."""
    raw = content.decode("utf-8", "replace")
    text, lines = Text(raw), raw.split("\n")
    for name, head in _heads(raw.encode("utf-8")):
        span, comments = text.comments_of_struct(head) or (range(head, head), [])
        for attached in comments:
            words = None if attached.lines is None else attached.words
            for member, annotation in named_annotations(attached.comment.text):
                own = None if member is None else frozenset({member.rpartition(".")[2]})
                yield from _parse_suppression(name, own or words, annotation)
        for number in span:
            line = lines[number - 1]
            for match in _INLINE.finditer(line) if len(line) <= _LONGEST else ():
                declaration = line[: match.start()]
                is_struct = number == span[-1] and "}" in declaration
                words = None if is_struct else frozenset(re.findall(r"\w+", declaration))
                yield from _parse_suppression(name, words, match[1])


def _heads(raw: bytes) -> Iterator[tuple[str, int]]:
    """Yield the structs of a text, each with its first line; skip deeply nested ones."""
    line, reached, depth = 1, 0, 0
    for name, offset in sorted(definitions_in(raw), key=lambda definition: definition[1]):
        line += raw.count(b"\n", reached, offset)
        depth += raw.count(b"{", reached, offset) - raw.count(b"}", reached, offset)
        reached = offset
        if depth <= _DEEPEST:
            yield name, line


def _parse_suppression(name: str, words: frozenset[str] | None, text: str) -> Iterator[_Base]:
    try:
        ignore = parse_annotation(text).ignored
    except AnnotationError:
        return
    if ignore is not None:
        yield name, words, ignore


def from_revision(revision: str, inputs: Iterable[str], sources: tuple[str, ...]) -> Policy:
    """Return the policy of a revision for some inputs; raises UsageError if there is no such commit."""
    folders = [".", *sources]
    for path in inputs:
        folders += [path] if os.path.isdir(path) else [os.path.dirname(path) or "."]
    commit = git.commit(revision)
    return Policy(commit, BaseFlags(commit), tuple(dict.fromkeys(folders)))
