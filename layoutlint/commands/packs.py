"""Finding the rule files and shipped packs of a command."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from layoutlint import files
from layoutlint.errors import did_you_mean

if TYPE_CHECKING:
    from layoutlint.intent.policy import Policy
    from layoutlint.judgement.rule import Pack

_DISCOVERED = "layoutlint.toml"


def load_packs(
    rule_paths: tuple[str, ...], pack_names: tuple[str, ...], policy: Policy | None = None
) -> tuple[Pack, ...]:
    """Return the packs of rule files, and shipped packs by name; raises UsageError and RuleFileError.

    With `policy`, the rule files are read from its commit; without paths, the nearest rule file there.
    """
    from layoutlint.intent.toml import rule_file, shipped_rules

    shipped = {pack.name: pack for pack in shipped_rules.shipped_packs()} if pack_names else {}
    for name in pack_names:
        if name not in shipped:
            known = f" (the packs are {', '.join(shipped)})"
            is_file = os.path.exists(name)
            hint = f" (rule file: `--rules {name}`)" if is_file else did_you_mean(name, shipped) or known
            raise click.UsageError(f"no shipped pack is called {name!r}{hint}")
    files = rule_file.load(rule_paths) if policy is None else policy.packs(rule_paths)
    return (*files, *(shipped[name] for name in dict.fromkeys(pack_names)))


def stated_compile_commands(policy: Policy | None) -> tuple[str | None, str]:
    """Return the compilation database that the nearest layoutlint.toml names, and where it does.

    With `policy`, that of its commit. None if it names none, or is no TOML, which its rules are reported for.
    """
    paths = () if policy is not None else discover_rule_file()
    if policy is None and not paths:
        return None, ""
    from layoutlint.errors import RuleFileError
    from layoutlint.intent.toml import document, rule_file

    try:
        file = policy.nearest_rule_file() if policy else (paths[0], document.read_text(paths[0]))
        database = None if file is None else rule_file.compile_commands(*file)
    except RuleFileError:
        return None, ""
    return (database, f"{file[0]}: compile_commands") if file is not None else (None, "")


def discover_rule_file() -> tuple[str, ...]:
    """Return the nearest layoutlint.toml from the current folder up to the top of the repository; or ()."""
    folder = os.getcwd()
    while True:
        path = os.path.join(folder, _DISCOVERED)
        if files.is_file(path):
            return (os.path.relpath(path),)
        parent = os.path.dirname(folder)
        if parent == folder or files.exists(os.path.join(folder, ".git")):
            return ()
        folder = parent
