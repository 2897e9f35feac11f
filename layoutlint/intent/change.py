"""The change of a commit: the files that differ from its parents, and the rules that do."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase

from layoutlint import files
from layoutlint.errors import RuleFileError, UsageError
from layoutlint.intent import git
from layoutlint.intent.toml import rule_file
from layoutlint.judgement.context import Access
from layoutlint.judgement.rule import Pack, Rule, StructIntent
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Source

_FROM, _TO = "PRE_COMMIT_FROM_REF", "PRE_COMMIT_TO_REF"
"""pre-commit's names for the commits of `--from-ref` and `--to-ref`, also in a push."""
_NOWHERE = Source("")


class Difference(Record, frozen=True):
    """The changes of a commit, compared with one of its parents."""

    parent: git.Commit | None
    """None for the first commit of a repository."""
    paths: frozenset[str]
    """Absolute paths of the files that are added, changed or deleted."""
    named: frozenset[str] = frozenset()
    """Those that count as changed only because the command line names them."""

    def old_content(self, path: str) -> bytes | None:
        """Return a file of the parent by its absolute path; None if it is missing there, or no plain file."""
        inside = None if self.parent is None else self.parent.path_in_tree(path)
        if self.parent is None or inside is None:
            return None
        try:
            return self.parent.content(inside)
        except UsageError:  # a link, a submodule, or too large for C
            return None

    def changed_rules(self, pack: Pack) -> frozenset[Rule]:
        """Return the rules of a pack that are new, or judge otherwise than in the parent."""
        path = os.path.abspath(pack.path)
        if pack.shipped or path not in self.paths:
            return frozenset()
        old = None if path in self.named else self._old_pack(path, pack.path)
        if old is None or _statements_on_all(old) != _statements_on_all(pack):
            return frozenset(pack.rules)
        old_rules = set(map(_essence, old.rules))
        structs = _changed_structs(old, pack)
        return frozenset(
            rule for rule in pack.rules if _essence(rule) not in old_rules or _is_about(rule, structs)
        )

    def changed_overrides(self, pack: Pack) -> frozenset[str]:
        """Return the ids of rules that a pack overrides otherwise than in the parent."""
        path = os.path.abspath(pack.path)
        if pack.shipped or path not in self.paths:
            return frozenset()
        old = self._old_pack(path, pack.path)
        overrides = [(each.rule_id, each.severity) for each in (old.overrides if old is not None else ())]
        new = {(each.rule_id, each.severity) for each in pack.overrides}
        return frozenset(rule_id for rule_id, _ in new.symmetric_difference(overrides))

    def _old_pack(self, path: str, name: str) -> Pack | None:
        """Return the rule file as the parent has it; None without one that is valid."""
        content = self.old_content(path)
        try:
            return None if content is None else rule_file.parse(content.decode(), name)
        except (UnicodeDecodeError, RuleFileError):
            return None


class Change(Record, frozen=True):
    """A commit that is to be judged: a staged one, or those that pre-commit compares."""

    top: str
    """The real path of the top of the working tree."""
    differences: tuple[Difference, ...]
    """One for each parent: a merge can only break what differs from both."""
    tracked: frozenset[str]
    """Absolute paths of the files after the change, and of others that the command line names."""

    @property
    def paths(self) -> frozenset[str]:
        """Absolute paths of the files that differ from some parent."""
        return frozenset[str]().union(*(difference.paths for difference in self.differences))

    @property
    def missing_paths(self) -> frozenset[str]:
        """Absolute paths that the command line names, of no file before or after the change."""
        return frozenset[str]().union(*(each.named for each in self.differences)) - self.tracked

    @property
    def has_others(self) -> bool:
        """Whether the command line names files that are unchanged, as `--all-files` of pre-commit does."""
        return any(difference.named for difference in self.differences)

    @property
    def parents(self) -> tuple[git.Commit, ...]:
        """The commits with which it is compared; none for the first commit of a repository."""
        parents = (difference.parent for difference in self.differences)
        return tuple(parent for parent in parents if parent is not None)

    def with_paths(self, paths: Iterable[str]) -> Change:
        """Return the change with more files that count as changed, whatever git says of them."""
        more = frozenset(paths) - self.paths
        differences = (replace(each, paths=each.paths | more, named=more) for each in self.differences)
        tracked = self.tracked.union(filter(files.is_file, more))
        return replace(self, differences=tuple(differences), tracked=tracked)


def staged_change() -> Change:
    """Return the staged change, or that between the commits that pre-commit compares. Raises UsageError."""
    top = git.top_folder("--staged")
    tracked = _absolute(top, git.tracked_paths(top))
    compared = git.fork_point(top, os.environ.get(_FROM, ""), os.environ.get(_TO, ""))
    if compared is not None:
        old, new = compared
        return Change(top, (Difference(old, _absolute(top, git.changed_paths(old, new))),), tracked)
    parents = git.parents(top)
    differences = tuple(Difference(parent, _absolute(top, git.staged_paths(parent))) for parent in parents)
    return Change(top, differences or (Difference(None, tracked),), tracked)


def change_since(revision: str) -> Change:
    """Return what the index changes since a revision: since the last commit that it shares with HEAD.

    Raises UsageError.
    """
    base = git.commit(revision, "--since")
    forked = git.fork_point(base.top, base.id, "HEAD")
    parent = replace(base if forked is None else forked[0], name=revision)
    tracked = _absolute(base.top, git.tracked_paths(base.top))
    return Change(base.top, (Difference(parent, _absolute(base.top, git.staged_paths(parent))),), tracked)


def is_under_pre_commit() -> bool:
    """Return whether pre-commit runs this command: it has made the working tree like the index."""
    return "PRE_COMMIT" in os.environ


def _absolute(top: str, paths: Iterable[str]) -> frozenset[str]:
    return frozenset(os.path.join(top, path) for path in paths)


def _essence(rule: Rule) -> Rule:
    """Return a rule without its place and its reasons, which decide no verdict."""
    return replace(rule, source=_NOWHERE, why="", evidence=(), evidence_files=())


def _changed_structs(old: Pack, new: Pack) -> frozenset[str]:
    """Return the names and patterns of structs about which two packs state something else."""
    statements = [{_statement(intent) for intent in pack.structs} for pack in (old, new)]
    return frozenset(intent.struct for intent in statements[0] ^ statements[1])


def _statements_on_all(pack: Pack) -> tuple[bool, bool, frozenset[Access]]:
    """Return what a rule file states on all its rules."""
    return pack.kernel, pack.guesses, frozenset(replace(access, source=None) for access in pack.variables)


def _statement(intent: StructIntent) -> StructIntent:
    accesses = tuple(replace(access, source=None) for access in intent.accesses)
    placement = intent.placement and replace(intent.placement, source=_NOWHERE)
    return replace(intent, source=_NOWHERE, accesses=accesses, placement=placement)


def _is_about(rule: Rule, structs: Iterable[str]) -> bool:
    """Return whether a rule can judge one of some structs; each of both can be a pattern."""
    return any(fnmatchcase(name, rule.struct) or fnmatchcase(rule.struct, name) for name in structs)
