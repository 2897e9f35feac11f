"""The policy of a base commit: rule files that a change cannot edit to judge itself."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import lru_cache

from layoutlint.errors import RuleFileError, UsageError
from layoutlint.intent.annotations.rules import Suppression
from layoutlint.intent.toml import document, rule_file
from layoutlint.judgement.rule import Pack
from layoutlint.model.flag_files import FlagUse
from layoutlint.model.record import Record, field, replace
from layoutlint.revisions import git
from layoutlint.revisions.base_flags import BaseFlags
from layoutlint.revisions.base_paths import path_in_base

_RULES = "layoutlint.toml"


class Policy(Record):
    """The rule files of a commit."""

    commit: git.Commit
    flag_files: BaseFlags
    used: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    """Rule files that exist only in the working tree."""
    new: list[str] = field(default_factory=list)
    """Those that belong to the inputs, of which only rules that the commit lacks count, as sentences."""

    def move_to(self, folder: str) -> Policy:
        """Return the policy for a copy of the tree in another folder."""
        flag_files = self.flag_files.move_to(folder)
        return Policy(flag_files.commit, flag_files, self.used, self.unused, self.new)

    def packs(self, paths: tuple[str, ...]) -> tuple[Pack, ...]:
        """Return the packs of rule files and folders of them.

        Files outside of the working tree are read from disk. Raises UsageError, and RuleFileError with all
        mistakes.
        """
        texts, outside = self._find(paths)
        self.used += texts
        return (*rule_file.parse_all(texts.items()), *rule_file.load(outside))

    def packs_of_inputs(self, paths: tuple[str, ...]) -> tuple[Pack, ...]:
        """Return the packs of the rule files that belong to the inputs, by their paths.

        Of a file that the commit lacks, only rules count whose id no other file has. Raises as `packs`.
        """
        new = tuple(path for path in paths if not self.has_file(path))
        known = self.packs(tuple(path for path in paths if path not in new))
        ids = frozenset(rule.id for pack in known for rule in pack.rules)
        return (*known, *(self._new_rules(pack, ids) for pack in rule_file.load(new)))

    def _new_rules(self, pack: Pack, ids: frozenset[str]) -> Pack:
        """Return a rule file of the change with its new rules, and its statements about their structs.

        It has the path for its name, so that it replaces no shipped pack, and turns off none by guesses.
        """
        lack = f"{self.commit.name} does not have it"
        self.new.append(f"only new rules count, because {lack}: {pack.path}")
        taken = (f"{rule.id} of {pack.path}" for rule in pack.rules if rule.id in ids)
        self.new += [f"not used, because {self.commit.name} has a rule of this id: {rule}" for rule in taken]
        rules = () if pack.guesses else tuple(rule for rule in pack.rules if rule.id not in ids)
        structs = tuple(replace(intent, header=None) for intent in pack.structs)
        return Pack(pack.path, pack.path, rules, structs, pack.variables)

    def has_file(self, path: str) -> bool:
        """Return whether the commit has a file, or whether one outside of the working tree is there."""
        inside = path_in_base(self.commit, path)
        return os.path.isfile(path) if inside is None else _has_file(self.commit, inside)

    def identify(self, path: str) -> str:
        """Return the path of a file in the commit, or the real path of one outside of the working tree."""
        inside = path_in_base(self.commit, path)
        return os.path.realpath(path) if inside is None else inside

    def texts(self, paths: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """Yield rule files with their texts. Raises UsageError and RuleFileError."""
        texts, outside = self._find(paths)
        yield from texts.items()
        for path in rule_file.list_files(outside):
            yield path, document.read_text(path)

    def _find(self, paths: tuple[str, ...]) -> tuple[dict[str, str], list[str]]:
        """Return the texts of rule files of the commit, and the paths outside of the working tree."""
        texts: dict[str, str] = {}
        outside = []
        for path in paths:
            inside = path_in_base(self.commit, path)
            if inside is None:
                outside.append(path)
            else:
                texts.update(self._texts(path, inside))
        return texts, outside

    def text(self, path: str) -> str | None:
        """Return the text of a file in the commit; None if it lies outside of the working tree.

        Raises UsageError if the commit does not have the file.
        """
        inside = path_in_base(self.commit, path)
        if inside is None:
            return None
        text = self._decode(path, inside)
        if text is None:
            raise UsageError(f"{path} is not in {self.commit.name}, whose policy is used")
        self.used.append(path)
        return text

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
                [path] if os.path.lexists(path) and path_in_base(self.commit, path) not in base_files else []
            )
        files = (os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)
        rules = (file for file in files if file.endswith(".toml") and not file.endswith(rule_file.CASES))
        return sorted(file for file in rules if path_in_base(self.commit, file) not in base_files)

    def _decode(self, path: str, inside: str) -> str | None:
        content = self.commit.content(inside)
        try:
            return None if content is None else content.decode()
        except UnicodeDecodeError as error:
            raise RuleFileError((f"{path}: not UTF-8 in {self.commit.name}",)) from error

    def sentences(
        self, dropped: Mapping[Suppression, str], flag_uses: dict[str, FlagUse] | None = None
    ) -> tuple[str, ...]:
        """Return the sentences of the report on the policy.

        `dropped` are suppressions that do not count, with the reason if it is not that the commit lacks them.
        """
        files = ", ".join(dict.fromkeys(self.used)) or "no rule file"
        sentences = [f"of {self.commit.name} ({self.commit.id[:12]}): {files}"]
        sentences += [
            f"not used, because {self.commit.name} does not have it: {path}" for path in self.unused
        ]
        sentences += dict.fromkeys(self.new)
        lack = f"{self.commit.name} does not have it"
        texts = (
            f"`ignore[{', '.join(one.ignored.rules)}]` at {one.source} does not count, because {why or lack}"
            for one, why in dropped.items()
        )
        return (*sentences, *dict.fromkeys(texts), *self.flag_files.sentences(flag_uses or {}))


@lru_cache(maxsize=4096)
def _has_file(commit: git.Commit, path: str) -> bool:
    """Return whether a commit has a file; each question starts git."""
    return path in commit.files(path)


def from_revision(revision: str) -> Policy:
    """Return the policy of a revision.

    Raises UsageError if there is no such commit, or if the working folder is another one there.
    """
    commit = git.commit(revision)
    _refuse_linked_folder(commit)
    return Policy(commit, BaseFlags(commit))


def _refuse_linked_folder(commit: git.Commit) -> None:
    """Raise UsageError if the shell came to the working folder by a link that the commit does not have."""
    named, here = os.environ.get("PWD", ""), os.getcwd()
    if not os.path.isabs(named) or os.path.realpath(named) != os.path.realpath(here):
        return
    is_same = path_in_base(commit, os.path.join(named, _RULES)) == path_in_base(
        commit, os.path.join(here, _RULES)
    )
    if not is_same:
        raise UsageError(
            f"{named} leads to {here}, but not in {commit.name}: start at the top of the checkout"
        )
