"""The rules of a rule file that a change of it makes new, or lets judge otherwise."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase

from layoutlint.errors import RuleFileError
from layoutlint.intent.toml import rule_file
from layoutlint.judgement.context import Access
from layoutlint.judgement.rule import Pack, Rule, StructIntent
from layoutlint.model.record import replace
from layoutlint.model.structs import Source
from layoutlint.revisions.change import Difference

_NOWHERE = Source("")


def changed_rules(pack: Pack, difference: Difference) -> frozenset[Rule]:
    """Return the rules of a pack that are new, or judge otherwise than in the parent of a difference."""
    path = os.path.abspath(pack.path)
    if pack.shipped or path not in difference.paths:
        return frozenset()
    old = None if path in difference.named else _old_pack(difference, path, pack.path)
    if old is None or _statements_on_all(old) != _statements_on_all(pack):
        return frozenset(pack.rules)
    old_rules = set(map(_essence, old.rules))
    structs = _changed_structs(old, pack)
    return frozenset(
        rule for rule in pack.rules if _essence(rule) not in old_rules or _is_about(rule, structs)
    )


def changed_overrides(pack: Pack, difference: Difference) -> frozenset[str]:
    """Return the ids of rules that a pack overrides otherwise than in the parent of a difference."""
    path = os.path.abspath(pack.path)
    if pack.shipped or path not in difference.paths:
        return frozenset()
    old = _old_pack(difference, path, pack.path)
    overrides = [(each.rule_id, each.severity) for each in (old.overrides if old is not None else ())]
    new = {(each.rule_id, each.severity) for each in pack.overrides}
    return frozenset(rule_id for rule_id, _ in new.symmetric_difference(overrides))


def _old_pack(difference: Difference, path: str, name: str) -> Pack | None:
    """Return the rule file as the parent has it; None without one that is valid."""
    content = difference.old_content(path)
    try:
        return None if content is None else rule_file.parse(content.decode(), name)
    except (UnicodeDecodeError, RuleFileError):
        return None


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
