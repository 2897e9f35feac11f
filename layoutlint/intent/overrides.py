"""Overrides: rule files turn off rules of other packs, or change their severity."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint.errors import RuleFileError, did_you_mean
from layoutlint.intent.toml import rule_file, shipped_rules
from layoutlint.judgement.rule import Override, Pack, Rule, Severity
from layoutlint.model.record import replace

Packs = tuple[Pack, ...]
Scopes = tuple[str, ...] | None
"""The inputs to which a pack applies, or folders of them; None for all."""


def apply_overrides(packs: Packs, kernel_packs: Packs) -> tuple[Packs, Packs]:
    """Return packs that are used together, with the overrides that they state about each other's rules.

    A pack with an override of a file that applies to other inputs is there twice, once for each part. Raises
    RuleFileError for an id that two rules have, and for an override that cannot be applied.
    """
    rule_file.refuse_same_ids((*packs, *kernel_packs))
    overrides = read_overrides((*packs, *kernel_packs))
    for scopes, own in overrides.items():
        packs, kernel_packs = _override_packs(packs, own, scopes), _override_packs(kernel_packs, own, scopes)
    return packs, kernel_packs


def read_overrides(packs: Packs) -> dict[Scopes, dict[str, Override]]:
    """Return the overrides of packs by the inputs that they count for, and by the id of the rule.

    Raises RuleFileError with all mistakes.
    """
    overrides: dict[Scopes, dict[str, Override]] = {}
    mistakes = []
    for pack, override in ((each, override) for each in packs for override in each.overrides):
        rules = _known_rules(pack, packs)
        first = next(_same_overrides(override, pack, packs))
        reason = _obstacle(override, first, rules)
        mistakes += [f"{override.source}: {reason}"] if reason else []
        overrides.setdefault(pack.scopes, {})[override.rule_id] = override
    if mistakes:
        raise RuleFileError(tuple(mistakes))
    return overrides


def _same_overrides(override: Override, pack: Pack, packs: Packs) -> Iterator[Override]:
    """Yield the overrides of the same rule, of packs that apply to inputs of the same one, in their order."""
    for other in packs:
        if other is pack or other.shares_inputs(pack):
            yield from (each for each in other.overrides if each.rule_id == override.rule_id)


def _known_rules(pack: Pack, packs: Packs) -> dict[str, Rule]:
    """Return all rules that an override of a pack can name: shipped ones, and those of files with its inputs.

    Those of a folder beside it are none of them, also in a run that judges both.
    """
    own = (each for each in packs if each is pack or each.shares_inputs(pack))
    return {rule.id: rule for each in (*shipped_rules.shipped_packs(), *own) for rule in each.rules}


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


def _override_packs(packs: Packs, overrides: dict[str, Override], scopes: Scopes) -> Packs:
    return tuple(
        part
        for pack in packs
        for part in (
            pack.override(_override_pack(pack, overrides), scopes)
            if any(rule.id in overrides for rule in pack.rules)
            else (pack,)
        )
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
    return replace(pack, rules=tuple(rules), overridden=(*pack.overridden, *changes))


def _sentence(rule: Rule, override: Override) -> str:
    change = "off" if override.severity is None else f"{override.severity.value}, not {rule.severity.value}"
    return f"{rule.id}: {change} ({override.source}: {override.why})"
