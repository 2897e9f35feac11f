"""Which rule files and shipped packs a command is about."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from layoutlint.errors import did_you_mean

if TYPE_CHECKING:
    from layoutlint.intent.policy import Policy
    from layoutlint.judgement.rule import Pack

_DISCOVERED = "layoutlint.toml"


def packs_of(
    rule_paths: tuple[str, ...], pack_names: tuple[str, ...], policy: Policy | None = None
) -> tuple[Pack, ...]:
    """The packs of rule files, and shipped ones by name; raises UsageError and RuleFileError.

    With `policy` the rule files are those of its commit, and the nearest one of it where none is given.
    """
    from layoutlint.intent.toml import rule_file

    shipped = {pack.name: pack for pack in rule_file.shipped()} if pack_names else {}
    for name in pack_names:
        if name not in shipped:
            raise click.UsageError(f"no shipped pack is called {name!r}{did_you_mean(name, list(shipped))}")
    files = rule_file.load(rule_paths) if policy is None else policy.packs(rule_paths)
    return (*files, *(shipped[name] for name in dict.fromkeys(pack_names)))


def on_for_kernels(packs: tuple[Pack, ...]) -> tuple[Pack, ...]:
    """The shipped packs that are on for kernels beside some: none of their names.

    Beside guesses they say where objects start, and have no rules.
    """
    from dataclasses import replace

    from layoutlint.intent.toml import rule_file

    named = {pack.name for pack in packs}
    on = tuple(pack for pack in rule_file.shipped() if pack.kernel and pack.name not in named)
    if not any(pack.guesses for pack in packs):
        return on
    return tuple(
        replace(pack, rules=(), structs=tuple(replace(each, annotated=False) for each in pack.structs))
        for pack in on
    )


def discovered() -> tuple[str, ...]:
    """The rule file of the project one stands in: nearest upwards, not above the top of its repository."""
    folder = os.getcwd()
    while True:
        found = os.path.join(folder, _DISCOVERED)
        if os.path.isfile(found):
            return (os.path.relpath(found),)
        above = os.path.dirname(folder)
        if above == folder or os.path.exists(os.path.join(folder, ".git")):
            return ()
        folder = above
