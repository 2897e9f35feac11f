"""DWARF 2 to 5 of ELF files: the wanted structs, without building objects for the entries on the way."""

from __future__ import annotations

from collections import Counter

from layoutlint.errors import ReadError
from layoutlint.model import Reading, ReadOptions, Unread, Wanted
from layoutlint.readers.dwarf.index import Index
from layoutlint.readers.dwarf.select import DAMAGE, Selection, reason
from layoutlint.readers.dwarf.unit import Unit
from layoutlint.readers.elf import Image

_MOST_UNREAD = 50
_PROGRESS_EVERY = 32

__all__ = ["read_elf"]


def read_elf(image: Image, wanted: Wanted, options: ReadOptions) -> Reading:
    """The wanted structs of a file with DWARF.

    Units in other languages than C are skipped and counted in the notes; a damaged unit is an Unread and the
    rest is read. Raises ReadError when there is nothing that can be read.
    """
    index = Index(image)
    if not index.units:
        raise ReadError(image.path, _nothing(image, index))
    selection = Selection(wanted, index, image.target)
    unread = [*index.damaged, *_elsewhere(image)]
    skipped: Counter[str] = Counter()
    for number, unit in enumerate(index.units):
        if number % _PROGRESS_EVERY == 0:
            options.progress("reading DWARF", number, len(index.units))
        unread += _take(unit, selection, skipped)
        unit.forget()
    options.progress("reading DWARF", len(index.units), len(index.units))
    return Reading(
        image.path,
        "dwarf",
        image.target,
        selection.structs(),
        image.build_id,
        _unread(image.path, unread),
        (*image.notes, *(_skipped(*counted) for counted in sorted(skipped.items())), *selection.notes()),
        is_kernel=image.is_kernel,
    )


def _take(unit: Unit, selection: Selection, skipped: Counter[str]) -> list[str]:
    """Reads one unit; what of it could not be read."""
    try:
        if unit.language is not None:
            skipped[unit.language] += 1
            return []
        if unit.split_file is not None:
            what = f"its types stand in {unit.split_file} (split DWARF), which is not read"
            return [f"{unit.section}+{unit.offset:#x}: {what}"]
        return [f"{unit.section}+{position:#x}: {why}" for position, why in selection.take(unit)]
    except DAMAGE as error:
        position = getattr(error, "position", None)
        return [f"{unit.section}+{unit.offset if position is None else position:#x}: {reason(error)}"]


def _nothing(image: Image, index: Index) -> str:
    if index.damaged:
        return index.damaged[0]
    if image.section(".debug_info.dwo") is not None:
        return "holds split DWARF (.debug_info.dwo), which is not read; compile with `-gno-split-dwarf`"
    return "its .debug_info is empty"


def _elsewhere(image: Image) -> list[str]:
    """Supplementary files, as `dwz` makes them."""
    for name in (".gnu_debugaltlink", ".debug_sup"):
        link = image.section(name)
        if link:
            content = bytes(link) if name == ".gnu_debugaltlink" else bytes(link)[3:]
            path = content.split(b"\0")[0].decode(errors="replace")
            return [f"part of its types stands in the supplementary file {path} (dwz), which is not read"]
    return []


def _skipped(language: str, count: int) -> str:
    return f"skipped {count} unit{'s' if count > 1 else ''} in {language}"


def _unread(path: str, reasons: list[str]) -> tuple[Unread, ...]:
    """Each reason once, the first few in full."""
    distinct = list(dict.fromkeys(reasons))
    shown = [Unread(path, why) for why in distinct[:_MOST_UNREAD]]
    if len(distinct) > _MOST_UNREAD:
        shown.append(Unread(path, f"and {len(distinct) - _MOST_UNREAD} more places"))
    return tuple(shown)
