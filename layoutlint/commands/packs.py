"""Finding the rule files and shipped packs of a command."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from layoutlint.commands import rule_files
from layoutlint.errors import did_you_mean

if TYPE_CHECKING:
    from layoutlint.intent.policy import Policy
    from layoutlint.judgement.rule import Pack


def load_packs(
    rule_paths: tuple[str, ...], pack_names: tuple[str, ...], policy: Policy | None = None
) -> tuple[Pack, ...]:
    """Return the packs of rule files, and shipped packs by name; raises UsageError and RuleFileError.

    With `policy`, the rule files are read from its commit.
    """
    from layoutlint.intent.toml import rule_file

    named = _packs_by_name(pack_names)
    return (*(rule_file.load(rule_paths) if policy is None else policy.packs(rule_paths)), *named)


def load_packs_of_inputs(
    rule_paths: tuple[str, ...], pack_names: tuple[str, ...], policy: Policy | None = None
) -> tuple[Pack, ...]:
    """Return the same packs or, without `rule_paths`, those of the files that belong to the command's inputs.

    Each applies to the inputs that its file belongs to.
    """
    if rule_paths:
        return load_packs(rule_paths, pack_names, policy)
    named = _packs_by_name(pack_names)
    found = rule_files.of_command(policy)
    if not found:
        return named
    from layoutlint.intent.toml import rule_file
    from layoutlint.model.record import replace

    paths = tuple(each.path for each in found)
    packs = rule_file.load(paths) if policy is None else policy.packs_of_inputs(paths)
    own = {each.path: each for each in found}
    return (
        *(replace(each, scopes=own[each.path].scopes, excluded=own[each.path].excluded) for each in packs),
        *named,
    )


def _packs_by_name(names: tuple[str, ...]) -> tuple[Pack, ...]:
    """Return shipped packs by name, each once; raises UsageError."""
    if not names:
        return ()
    from layoutlint.intent.toml import shipped_rules

    shipped = {pack.name: pack for pack in shipped_rules.shipped_packs()}
    for name in names:
        if name not in shipped:
            known = f" (the packs are {', '.join(shipped)})"
            is_file = os.path.exists(name)
            hint = f" (rule file: `--rules {name}`)" if is_file else did_you_mean(name, shipped) or known
            raise click.UsageError(f"no shipped pack is called {name!r}{hint}")
    return tuple(shipped[name] for name in dict.fromkeys(names))
