"""The keys of `when`: the circumstances in which a rule holds (docs/rules.md)."""

from __future__ import annotations

import re

from layoutlint.intent.toml.table import Misfit, Table, kernel_option, listed, text
from layoutlint.judgement.condition import Versions, When, in_full
from layoutlint.model.reading import Version
from layoutlint.model.target import TARGETS, meant
from layoutlint.model.wanted import Wanted

WHEN_KEYS = ("config", "arch", "kernel")
_BOUND = re.compile(r"(>=|<)\s*v?(\d{1,4}\.\d{1,4}(?:\.\d{1,4})?)")


def when_of(rule: Table) -> When:
    """What a rule's table says; conditions that nothing can meet are mistakes, which are noted."""
    when = rule.table("when", "`when`")
    when.only(WHEN_KEYS)
    config = when.get("config", listed(kernel_option, "kernel options")) or ()
    for option in config:
        if f"!{option}" in config:
            when.wrong(f"`config` cannot hold: `{option}` is wanted on and off", "config")
    arch = when.get("arch", listed(_arch, "targets"))
    return When(config, arch or (), when.get("kernel", _versions))


def _arch(value: object) -> str:
    found = text(value)
    names = [target.name for target in TARGETS]
    if not any(Wanted(patterns=(found,)).matches(name) for name in names):
        raise Misfit(f"cannot be `{found}`{meant(found, names)}")
    return found


def _versions(value: object) -> Versions:
    """`>=6.8`, `<6.12`, or both with a comma between them."""
    found = text(value)
    ends: dict[str, Version] = {}
    for bound in found.split(","):
        match = _BOUND.fullmatch(bound.strip())
        if match is None or match[1] in ends:
            raise Misfit(f"cannot be `{found}`: write `>=6.8`, `<6.12` or `>=6.8, <6.12`")
        ends[match[1]] = tuple(map(int, match[2].split(".")))
    versions = Versions(ends.get(">=", ()), ends.get("<"))
    if versions.below is not None and in_full(versions.below) <= in_full(versions.first):
        raise Misfit(f"cannot hold: no version is in `{found}`")
    return versions
