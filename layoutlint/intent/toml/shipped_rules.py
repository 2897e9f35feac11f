"""The packs that come with layoutlint."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from importlib import import_module

from layoutlint import files
from layoutlint.errors import UsageError, did_you_mean
from layoutlint.files import accesses
from layoutlint.intent.toml import rule_file
from layoutlint.judgement.rule import Pack
from layoutlint.model.record import replace

_SHIPPED = "rules/"
_MOST_BYTES = 1 << 20
"""The most bytes of a rule file."""


@accesses.remember(1, is_lasting=True)
def shipped_packs() -> tuple[Pack, ...]:
    """Return the packs that come with layoutlint, sorted by path."""
    texts = ((f"{_SHIPPED}{name}", text) for name, text in _shipped_texts())
    return rule_file.parse_all(texts, shipped=True)


def uses_shipped_names(packs: Iterable[Pack]) -> bool:
    """Return whether packs may name a shipped rule or pack, from the texts: parsing all takes longer than a
    small header.
    """
    names = {f'"{name}"' for pack in packs for name in (pack.name, *(rule.id for rule in pack.rules))}
    overridden = any(pack.overrides for pack in packs)
    return overridden or any(name in text for _, text in _shipped_texts() for name in names)


def _shipped_texts() -> Iterator[tuple[str, str]]:
    """Yield the shipped rule files, sorted: their paths below the folder, and their texts."""
    top = _shipped_folder()
    paths = (os.path.join(folder, name) for folder, _, names in files.walk(top) for name in names)
    rules = (file for file in paths if file.endswith(".toml") and not file.endswith(rule_file.CASES))
    for path in sorted(rules):
        name = os.path.relpath(path, top).replace(os.sep, "/")
        yield name, files.read_all(path, _MOST_BYTES).decode()


def _shipped_folder() -> str:
    # Not importlib.resources, which takes longer to import than the rules to read.
    return str(import_module("layoutlint.rulepacks").__path__[0])


def file_of(pack: Pack) -> str:
    """Return the path of a pack's file on disk; `path` of a shipped pack is relative to the project."""
    return os.path.join(_shipped_folder(), pack.path.removeprefix(_SHIPPED)) if pack.shipped else pack.path


def shipped_pack(name: str) -> Pack:
    """Return the shipped pack with a name; raises UsageError, with the nearest name, if there is none."""
    packs = {pack.name: pack for pack in shipped_packs()}
    if name not in packs:
        raise UsageError(f"no shipped pack is called `{name}`{did_you_mean(name, packs)}")
    return packs[name]


def kernel_packs_beside(packs: tuple[Pack, ...]) -> tuple[Pack, ...]:
    """Return the shipped packs for kernels that are on beside `packs`: those with other names.

    Beside packs that guess, they declare placements and have no rules.
    """
    names = {pack.name for pack in packs}
    kernel_packs = tuple(pack for pack in shipped_packs() if pack.kernel and pack.name not in names)
    if not any(pack.guesses for pack in packs):
        return kernel_packs
    return tuple(
        replace(pack, rules=(), structs=tuple(replace(intent, annotated=False) for intent in pack.structs))
        for pack in kernel_packs
    )
