"""Reads the tables and keys of a rule file that are not the parameters of a kind.

Conditions (`when`), surroundings (`around`), placements, and functions (docs/rules.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from layoutlint.geometry.field_types import TYPE
from layoutlint.intent.toml import converters
from layoutlint.intent.toml.converters import Misfit, boolean, integer, kernel_option, list_of, text
from layoutlint.intent.toml.table import Table
from layoutlint.judgement.condition import Versions, When, full_version
from layoutlint.judgement.context import SELECTOR
from layoutlint.judgement.rule import Kind
from layoutlint.kinds import all_kinds
from layoutlint.model.reading import Version
from layoutlint.model.storage import (
    ALIGNED,
    ANY,
    EMBEDDED,
    TAKE_ALIGNMENT,
    WORDS,
    Allocator,
    Storage,
)
from layoutlint.model.structs import Source
from layoutlint.model.target import TARGETS, target_hint
from layoutlint.model.uses import Effect, FunctionEffect
from layoutlint.model.wanted import Wanted
from layoutlint.phrases import name_hint

STORAGE_KEYS = ("placement", "stride", "constructor", "red_zone", "array")
_FUNCTION = re.compile(r"[A-Za-z_]\w{0,99}")
_MOST_ARGUMENTS = 100
_OTHER_ALIGNMENT = re.compile(r"([a-z]++(?:-[a-z]++)*+)[ (=_-]+(\d+)\)?")
_ALIGNMENT = re.compile(r"[0-9]{1,9}")
_NAME = re.compile(r"[A-Za-z_*?][\w*?]*")
_EFFECTS: dict[str, Effect | None] = {
    "read": Effect.READ, "write": Effect.WRITE, "atomic": Effect.ATOMIC, "lock": Effect.LOCK, "setup": None,
    "thread": None,
}  # fmt: skip
_GREATEST_ARGUMENT = 127
_GREATEST_WEIGHT = 1_000.0
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


def read_storage(struct: Table, path: str) -> Storage | None:
    """Return the storage that a struct's table states; None for none, or for a mistake (which is noted).

    `path` is the rule file.
    """
    word, align = struct.get("placement", _placement) or (None, None)
    stride, array = struct.get("stride", _positive), struct.get("array", _array)
    if stride is not None and word != "slab":
        struct.report("`stride` is only for `slab`: the distance between objects of a cache", "stride")
    elif stride is not None and align is not None and stride % align:
        struct.report(
            f"`stride` {stride} contradicts `slab:{align}`: it is not a multiple of {align}", "stride"
        )
    constructor = struct.get("constructor", boolean)
    if constructor is not None and word != "slab":
        struct.report("`constructor` is only for `slab`: whether the cache has one", "constructor")
    if constructor and stride is not None:
        struct.report("`constructor` has no effect with `stride`, which includes everything", "constructor")
    red_zone = struct.get("red_zone", boolean)
    if red_zone is not None and word != "slab":
        struct.report("`red_zone` is only for `slab`: whether each object has one before it", "red_zone")
    elif red_zone and stride is None:
        struct.report("`red_zone` needs `stride`: debugging also adds bytes after each object", "red_zone")
    if array is not None and word == EMBEDDED:
        struct.report(
            "`array` cannot be combined with `embedded`: the containers determine the arrays", "array"
        )
    if word is None and array is None:
        return None
    line = struct.notes.document.line((*struct.path, "array" if word is None else "placement"))
    return Storage(word, Source(path, line), align, stride, array, bool(constructor), bool(red_zone))


ALLOCATOR_KEYS = ("size", "count", "align", "type", "placement")


def read_allocator(table: Table, name: str) -> Allocator | None:
    """Return the function of an `[allocators.NAME]` table; None for a mistake (which is noted)."""
    table.allow_only(ALLOCATOR_KEYS)
    mistakes = len(table.notes.mistakes)
    if not _FUNCTION.fullmatch(name):
        table.report(f"the name of a function cannot be `{name}`")
    positions = {key: table.get(key, _argument) for key in ("size", "count", "align", "type")}
    if positions["type"] is not None and (positions["size"] is not None or positions["align"] is not None):
        table.report("`type` goes without `size` and `align`: the argument names the type", "type")
    word, align = table.get("placement", _placement) or ("malloc", None)
    if positions["align"] is not None and "placement" in table.data:
        table.report("`placement` has no effect with `align`, the argument that decides", "placement")
    if word == EMBEDDED:
        table.report("`placement` cannot be `embedded`: a call allocates objects of their own", "placement")
    if len(table.notes.mistakes) > mistakes:
        return None
    size, count, align_at, type_at = (positions[key] for key in ("size", "count", "align", "type"))
    return Allocator(name, size or 0, count, align_at, type_at, word, align)


def _argument(value: object) -> int:
    """Return the index of an argument, which users count from 1."""
    number = _positive(value)
    if number > _MOST_ARGUMENTS:
        raise Misfit(f"must be at most {_MOST_ARGUMENTS}, not {number}: the number of an argument")
    return number - 1


def _placement(value: object) -> tuple[str, int | None]:
    """Return a storage word, and its alignment in bytes if one is stated: `slab:64`."""
    spelling = text(value)
    word, colon, number = spelling.partition(":")
    if word not in WORDS:
        aligned = _OTHER_ALIGNMENT.fullmatch(spelling)
        hint = f" (known: {', '.join(WORDS)})" if "cache" in word else name_hint(word, WORDS)
        if aligned is not None and aligned[1] in TAKE_ALIGNMENT:
            hint = f" (write `{aligned[1]}:{aligned[2]}`)"
        raise Misfit(f"cannot be `{spelling}`{hint}")
    if colon and word not in TAKE_ALIGNMENT:
        raise Misfit(f"cannot be `{spelling}`: an alignment can only follow {', '.join(TAKE_ALIGNMENT)}")
    if not colon:
        if word == ALIGNED:
            raise Misfit("`aligned` needs an alignment in bytes: `aligned:16`")
        return word, None
    align = int(number) if _ALIGNMENT.fullmatch(number) else 0
    if align < 1 or align & (align - 1):
        raise Misfit(f"cannot be `{spelling}`: {number or 'nothing'} is not a power of two")
    return word, align


def _positive(value: object) -> int:
    number = integer(value)
    if number < 1:
        raise Misfit(f"must be at least 1, not {number}")
    return number


def _array(value: object) -> int:
    """Return a number of elements; ANY for `true`."""
    if value is True:
        return ANY
    if isinstance(value, bool) or not isinstance(value, int):
        raise Misfit("must be a number of elements, or true for any number")
    return _positive(value)



def read_functions(top: Table) -> Iterator[FunctionEffect]:
    """Yield the functions of `[functions.NAME]`; mistakes are noted."""
    tables = top.table("functions", "[functions]")
    for name in tables.data:
        table = tables.table(name, f"[functions.{name}]")
        table.allow_only(("effect", "arguments"))
        effect = table.require("effect", converters.choice(_EFFECTS))
        arguments = table.get("arguments", converters.list_of(_argument_index, "numbers"))
        if not _NAME.fullmatch(name):
            table.report(f"the name of a function cannot be `{name}`")
        elif effect is not None:
            positions = (0,) if arguments is None else arguments
            yield FunctionEffect(name, _EFFECTS[effect], positions, effect == "thread")


def read_entries(top: Table) -> Iterator[tuple[str, float]]:
    """Yield the functions of `[entries]` with their weights; mistakes are noted."""
    table = top.table("entries", "[entries]")
    for name in table.data:
        weight = table.get(name, _weight)
        if not _NAME.fullmatch(name):
            table.report(f"the name of a function cannot be `{name}`", name)
        elif weight is not None:
            yield name, weight


def _argument_index(value: object) -> int:
    """Return the index of an argument, which users count from 1."""
    number = converters.integer(value)
    if not 1 <= number <= _GREATEST_ARGUMENT:
        raise Misfit(f"must be from 1 to {_GREATEST_ARGUMENT}, not {number}: the number of an argument")
    return number - 1


def _weight(value: object) -> float:
    number = converters.number(value)
    if not 0 <= number <= _GREATEST_WEIGHT:
        raise Misfit(f"must be from 0 to {_GREATEST_WEIGHT:g}, not {number:g}")
    return float(number)



def read_around(table: Table, kind: Kind | None, accesses: tuple[str, ...]) -> bool:
    """Return whether a rule is about the surroundings of its struct; note mistakes in `around` and selectors.

    `accesses` are the accesses that can be declared.
    """
    around = table.get("around", boolean) or False
    if kind is None:
        return around
    if around and not kind.traits.in_containers:
        kinds = ", ".join(other.name for other in all_kinds() if other.traits.in_containers)
        table.report(f"`around` is for the kinds {kinds}, not for {kind.name}", "around")
    for key in kind.keys:
        for selector in _selectors(table.data.get(key.name)) if key.type in ("paths", "groups") else ():
            if selector.startswith(TYPE):
                if around:
                    reason = "`around` does not support field types"
                    table.report(f"`{key.name}` cannot have `{selector}`: {reason}", key.name)
            elif not any(fnmatchcase(access, selector[1:]) for access in accesses):
                hint = name_hint(selector[1:], accesses)
                table.report(f"`{key.name}` cannot have `{selector}`{hint}", key.name)
            elif around and not (kind.traits.in_containers and kind.traits.arranges == "apart"):
                reason = f"with `around`, it selects fields beside the struct, only for {_separating_kinds()}"
                table.report(f"`{key.name}` cannot have `{selector}`: {reason}", key.name)
    return around


def _separating_kinds() -> str:
    """Return the names of the kinds that separate fields, including siblings of an embedded struct."""
    return ", ".join(kind.name for kind in all_kinds() if kind.traits.arranges == "apart")


def _selectors(value: object) -> Iterator[str]:
    """Yield every selector in the value of a key that names fields."""
    if isinstance(value, str) and value.startswith(SELECTOR):
        yield value
    elif isinstance(value, list):
        for element in value:
            yield from _selectors(element)



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
