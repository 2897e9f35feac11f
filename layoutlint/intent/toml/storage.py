"""Reads the keys of a rule file on the placement of structs (docs/placements.md)."""

from __future__ import annotations

import re

from layoutlint.intent.toml.converters import Misfit, boolean, integer, text
from layoutlint.intent.toml.table import Table
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
from layoutlint.phrases import name_hint

STORAGE_KEYS = ("placement", "stride", "constructor", "red_zone", "array")
_FUNCTION = re.compile(r"[A-Za-z_]\w{0,99}")
_MOST_ARGUMENTS = 100
_OTHER_ALIGNMENT = re.compile(r"([a-z]++(?:-[a-z]++)*+)[ (=_-]+(\d+)\)?")
_ALIGNMENT = re.compile(r"[0-9]{1,9}")


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
