"""Reads the keys of a rule file on the placement of structs (docs/placements.md)."""

from __future__ import annotations

import re

from layoutlint.intent.toml.converters import Misfit, boolean, integer, text
from layoutlint.intent.toml.table import Table
from layoutlint.model.storage import ALIGNED, ANY, EMBEDDED, TAKE_ALIGNMENT, WORDS, Storage
from layoutlint.model.structs import Source
from layoutlint.phrases import name_hint

STORAGE_KEYS = ("placement", "stride", "constructor", "red_zone", "array")
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


def _placement(value: object) -> tuple[str, int | None]:
    """Return a storage word, and its alignment in bytes if one is stated: `slab:64`."""
    spelling = text(value)
    word, colon, number = spelling.partition(":")
    if word not in WORDS:
        raise Misfit(f"cannot be `{spelling}`{name_hint(word, WORDS)}")
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
