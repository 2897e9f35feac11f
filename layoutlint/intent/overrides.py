"""Overrides: rule files turn off rules of other packs, or change their severity."""

from __future__ import annotations

from collections.abc import Iterable

from layoutlint.errors import RuleFileError, did_you_mean
from layoutlint.intent.toml import rule_file, shipped_rules
from layoutlint.judgement.rule import Override, Pack, Rule, Severity
from layoutlint.model.record import replace

Packs = tuple[Pack, ...]


def apply_overrides(packs: Packs, kernel_packs: Packs) -> tuple[Packs, Packs]:
    """Return packs that are used together, with the overrides that they state about each other's rules.

    Raises RuleFileError for an id that two rules have, and for an override that cannot be applied.
    """
    rule_file.refuse_same_ids((*packs, *kernel_packs))
    overrides = read_overrides((*packs, *kernel_packs))
    if not overrides:
        return packs, kernel_packs
    return _override_packs(packs, overrides), _override_packs(kernel_packs, overrides)


def read_overrides(packs: Packs) -> dict[str, Override]:
    """Return the overrides of packs by the id of the rule; raises RuleFileError with all mistakes."""
    overrides: dict[str, Override] = {}
    mistakes = []
    rules = _known_rules(packs) if any(pack.overrides for pack in packs) else {}
    for override in (override for pack in packs for override in pack.overrides):
        first = overrides.setdefault(override.rule_id, override)
        reason = _obstacle(override, first, rules)
        mistakes += [f"{override.source}: {reason}"] if reason else []
    if mistakes:
        raise RuleFileError(tuple(mistakes))
    return overrides


def _known_rules(packs: Iterable[Pack]) -> dict[str, Rule]:
    """Return all rules that an override can name: a run need not use the pack that has it."""
    return {rule.id: rule for pack in (*shipped_rules.shipped_packs(), *packs) for rule in pack.rules}


def _obstacle(override: Override, first: Override, rules: dict[str, Rule]) -> str:
    """Return why an override cannot be applied; empty if it can."""
    rule = rules.get(override.rule_id)
    if rule is None:
        return f"no rule is called `{override.rule_id}`{did_you_mean(override.rule_id, rules)}"
    if first is not override:
        return f"`{override.rule_id}` is overridden at {first.source} already"
    if rule.guess and override.severity not in (None, Severity.NOTE):
        return f"`{override.rule_id}` guesses, and can only be a note"
    return ""


def _override_packs(packs: Packs, overrides: dict[str, Override]) -> Packs:
    return tuple(
        _override_pack(pack, overrides) if any(rule.id in overrides for rule in pack.rules) else pack
        for pack in packs
    )


def _override_pack(pack: Pack, overrides: dict[str, Override]) -> Pack:
    rules = []
    for rule in pack.rules:
        override = overrides.get(rule.id)
        if override is None:
            rules.append(rule)
        elif override.severity is not None:
            rules.append(replace(rule, severity=override.severity))
    changes = (_sentence(rule, overrides[rule.id]) for rule in pack.rules if rule.id in overrides)
    return replace(pack, rules=tuple(rules), overridden=tuple(changes))


def _sentence(rule: Rule, override: Override) -> str:
    change = "off" if override.severity is None else f"{override.severity.value}, not {rule.severity.value}"
    return f"{rule.id}: {change} ({override.source}: {override.why})"
