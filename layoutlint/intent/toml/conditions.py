"""Reads `when`: the conditions under which a rule applies (docs/rules.md)."""

from __future__ import annotations

import re

from layoutlint.intent.toml.converters import Misfit, kernel_option, list_of, text
from layoutlint.intent.toml.table import Table
from layoutlint.judgement.condition import Versions, When, full_version
from layoutlint.model.reading import Version
from layoutlint.model.target import TARGETS, target_hint
from layoutlint.model.wanted import Wanted

WHEN_KEYS = ("config", "arch", "kernel")
_OTHER_WORDS = {
    word: f" (it is called `{name}` here)"
    for name, words in (
        ("kernel", "version kernel_version linux"),
        ("arch", "machine cpu target architecture"),
        ("config", "option options kconfig"),
    )
    for word in words.split()
}
_BOUND = re.compile(r"(>=|<)\s*v?(\d{1,4}\.\d{1,4}(?:\.\d{1,4})?)")


def read_when(rule: Table) -> When:
    """Return the conditions in a table; conditions that can never hold are noted as mistakes."""
    when = rule.table("when", "`when`", 'when = { arch = ["x86_64"] }')
    when.allow_only(WHEN_KEYS, lambda key: _OTHER_WORDS.get(key, ""))
    config = when.get("config", list_of(kernel_option, "kernel options", drops="CONFIG_")) or ()
    for option in config:
        if f"!{option}" in config:
            when.report(f"`config` cannot hold: `{option}` is wanted on and off", "config")
    arch = when.get("arch", list_of(_arch, "targets"))
    if when.data.get("kernel") is False:
        if config:
            when.report("`config` needs a Linux kernel, and `kernel = false` leaves kernels out", "config")
        return When((), arch or (), outside_linux=True)
    return When(config, arch or (), when.get("kernel", _versions))


def _arch(value: object) -> str:
    pattern = text(value)
    names = [target.name for target in TARGETS]
    if not any(Wanted(patterns=(pattern,)).matches(name) for name in names):
        raise Misfit(f"cannot be `{pattern}`{target_hint(pattern, names)}")
    return pattern


def _versions(value: object) -> Versions:
    """Return a range of versions: `>=6.8`, `<6.12`, or both, separated by a comma."""
    if value is True:
        raise Misfit("must be a range of versions (`>=6.8`), or false for programs other than Linux")
    spelling = text(value)
    bounds: dict[str, Version] = {}
    for bound in spelling.split(","):
        match = _BOUND.fullmatch(bound.strip())
        if match is None or match[1] in bounds:
            raise Misfit(f"cannot be `{spelling}`: write `>=6.8`, `<6.12` or `>=6.8, <6.12`")
        bounds[match[1]] = tuple(map(int, match[2].split(".")))
    versions = Versions(bounds.get(">=", ()), bounds.get("<"))
    if versions.below is not None and full_version(versions.below) <= full_version(versions.first):
        raise Misfit(f"cannot hold: no version is in `{spelling}`")
    return versions
