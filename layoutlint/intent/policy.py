"""The policy of a base commit: rule files and suppressions that a change cannot edit to judge itself."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from layoutlint.errors import RuleFileError, UsageError
from layoutlint.intent import git
from layoutlint.intent.annotations.comments import annotations_in
from layoutlint.intent.annotations.grammar import Malformed
from layoutlint.intent.annotations.grammar import parse as parse_annotation
from layoutlint.intent.annotations.rules import Suppression
from layoutlint.intent.c_comments import Text
from layoutlint.intent.toml import rule_file
from layoutlint.judgement.rule import Pack
from layoutlint.readers.clang.text_search import definitions_in

_RULES = "layoutlint.toml"
_INLINE = re.compile(r"(?:\"layoutlint:\s*|LAYOUTLINT(?:_STRUCT)?\s*\(\s*)(ignore\s*\[[^\]\"]*\][^\"\n]*)")
"""A suppression in an attribute or macro, on one line with its field."""

_LONGEST, _DEEPEST = 4096, 32
"""Characters of a line, and structs inside one another, in which suppressions of the base are looked for."""

_Base = tuple[str, frozenset[str] | None, tuple[str, ...]]
"""A suppression of the base: struct, words of the field's declaration (None for the struct), rules."""


@dataclass(slots=True)
class Policy:
    """Rule files and suppressions as a commit has them."""

    commit: git.Commit
    folders: tuple[str, ...] = (".",)
    """Where the files stand that inputs name."""
    used: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    """Rule files that only the working tree has."""
    _known: dict[str, list[_Base]] = field(default_factory=dict)

    def packs(self, paths: tuple[str, ...]) -> tuple[Pack, ...]:
        """Return the packs of rule files and folders of them, or of the nearest `layoutlint.toml`.

        Those outside of the working tree are no part of a change and read as they are. Raises UsageError, and
        RuleFileError with all mistakes.
        """
        texts: dict[str, str] = {}
        outside = []
        for path in paths or self._discovered():
            inside = self.commit.inside(path)
            if inside is None:
                outside.append(path)
            else:
                texts.update(self._texts(path, inside))
        self.used += texts
        return (*rule_file.parse_all(texts.items()), *rule_file.load(outside))

    def text(self, path: str) -> str | None:
        """Return the text of a file as the commit has it; None where it lies outside of the working tree.

        Raises UsageError where the commit has none.
        """
        inside = self.commit.inside(path)
        if inside is None:
            return None
        text = self._decoded(path, inside)
        if text is None:
            raise UsageError(f"{path} is not in {self.commit.name}, whose policy is used")
        self.used.append(path)
        return text

    def _discovered(self) -> tuple[str, ...]:
        folder = os.path.realpath(os.getcwd())
        while self.commit.inside(folder) is not None:
            path = os.path.join(folder, _RULES)
            if self.commit.files(self.commit.inside(path) or _RULES):
                return (os.path.relpath(path),)
            folder = os.path.dirname(folder)
        return ()

    def _texts(self, path: str, inside: str) -> Iterator[tuple[str, str]]:
        """Yield the rule files of the commit at or below a path, with their texts."""
        files = self.commit.files(inside)
        if inside not in files:
            files = {name: mode for name, mode in files.items() if name.endswith(".toml")}
        found = [name for name in sorted(files) if name == inside or not name.endswith(rule_file.CASES)]
        new = self._new(path, set(found))
        self.unused += new
        if not found and not new:
            raise RuleFileError((f"{path}: is neither in {self.commit.name} nor in the working tree",))
        for name in found:
            shown = path if name == inside else os.path.join(path, os.path.relpath(name, inside or "."))
            yield shown, self._decoded(shown, name) or ""

    def _new(self, path: str, known: set[str]) -> list[str]:
        """Return the rule files at or below a path that only the working tree has."""
        if not os.path.isdir(path):
            return [path] if os.path.lexists(path) and self.commit.inside(path) not in known else []
        every = (os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)
        rules = (file for file in every if file.endswith(".toml") and not file.endswith(rule_file.CASES))
        return sorted(file for file in rules if self.commit.inside(file) not in known)

    def _decoded(self, path: str, inside: str) -> str | None:
        content = self.commit.content(inside)
        try:
            return None if content is None else content.decode()
        except UnicodeDecodeError as error:
            raise RuleFileError((f"{path}: not UTF-8 in {self.commit.name}",)) from error

    def counts(self, one: Suppression) -> bool:
        """Return whether the commit has a suppression at that struct or field too, of those rules."""
        steps = one.path.split(".")[-1].partition("[")[0]
        for struct, words, rules in self._suppressions(one.source.file):
            is_there = words is None if not one.path else words is not None and steps in words
            if struct == one.struct and is_there and set(one.ignored.rules) <= set(rules):
                return True
        return False

    def _suppressions(self, file: str) -> list[_Base]:
        """Return those in the files of the commit that an input can mean by a name."""
        if file not in self._known:
            places = dict.fromkeys(os.path.join(folder, file) for folder in self.folders)
            insides = dict.fromkeys(inside for place in places if (inside := self.commit.inside(place)))
            found: list[_Base] = []
            for inside in insides:
                content = self.commit.content(inside)
                found += [] if content is None else _suppressions(content)
            self._known[file] = found
        return self._known[file]

    def sentences(self, dropped: tuple[Suppression, ...]) -> tuple[str, ...]:
        """Return what the report says of the policy; `dropped` are suppressions that do not count."""
        files = ", ".join(dict.fromkeys(self.used)) or "no rule file"
        said = [f"of {self.commit.name} ({self.commit.id[:12]}): {files}"]
        said += [f"not used, because {self.commit.name} does not have it: {path}" for path in self.unused]
        missing = f"does not count, because {self.commit.name} does not have it"
        texts = (f"`ignore[{', '.join(one.ignored.rules)}]` at {one.source}" for one in dropped)
        return (*said, *(f"{text} {missing}" for text in dict.fromkeys(texts)))


def _suppressions(content: bytes) -> Iterator[_Base]:
    """Yield the suppressions in a C text, in comments, attributes and macros."""
    raw = content.decode("utf-8", "replace")
    text, lines = Text(raw), raw.split("\n")
    for name, head in _heads(raw.encode("utf-8")):
        span, attached = text.inside(head) or (range(head, head), [])
        for each in attached:
            words = None if each.lines is None else each.words
            for said in annotations_in(each.comment.text):
                yield from _ignored(name, words, said)
        for number in span:
            line = lines[number - 1]
            for found in _INLINE.finditer(line) if len(line) <= _LONGEST else ():
                before = line[: found.start()]
                is_struct = number == span[-1] and "}" in before
                words = None if is_struct else frozenset(re.findall(r"\w+", before))
                yield from _ignored(name, words, found[1])


def _heads(raw: bytes) -> Iterator[tuple[str, int]]:
    """Yield the structs of a text, each with the line at which it starts; not those in too many others."""
    line, reached, depth = 1, 0, 0
    for name, offset in sorted(definitions_in(raw), key=lambda found: found[1]):
        line += raw.count(b"\n", reached, offset)
        depth += raw.count(b"{", reached, offset) - raw.count(b"}", reached, offset)
        reached = offset
        if depth <= _DEEPEST:
            yield name, line


def _ignored(name: str, words: frozenset[str] | None, said: str) -> Iterator[_Base]:
    try:
        ignored = parse_annotation(said).ignored
    except Malformed:
        return
    if ignored is not None:
        yield name, words, ignored.rules


def of_revision(revision: str, inputs: Iterable[str], sources: tuple[str, ...]) -> Policy:
    """Return the policy of a revision for some inputs; raises UsageError where there is no such commit."""
    folders = [".", *sources]
    for path in inputs:
        folders += [path] if os.path.isdir(path) else [os.path.dirname(path) or "."]
    return Policy(git.commit(revision), tuple(dict.fromkeys(folders)))
