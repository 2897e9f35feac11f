"""Flags that a change chooses: if a base commit decides, C text is read with those that the commit has.

Where a change has others, the text is read with these too. A struct that differs then, or that only these
find, is reported as not read: which flags a build really has, the base alone cannot say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from layoutlint.errors import ReadError
from layoutlint.model.flag_files import ON_DISK, FlagUse
from layoutlint.model.reading import Reading, ReadOptions, Unread
from layoutlint.model.record import replace
from layoutlint.model.structs import Struct
from layoutlint.phrases import first_few

_REMEDY = "give the flags on the command line (`-- FLAGS`), or merge them first"


def read(read_with: Callable[[ReadOptions], Reading], options: ReadOptions) -> Reading:
    """Return the reading with the flags that count, and what a change's own flags would alter.

    `read_with` reads with the given options. Raises ReadError as it does.
    """
    reading = read_with(options)
    uses = options.flag_files.uses
    reading = replace(reading, flag_uses=tuple(sorted(uses.items(), key=lambda use: use[0])))
    changed = [path for path, use in sorted(uses.items()) if use is not FlagUse.UNTRACKED]
    if not changed:
        return reading
    try:
        own = read_with(replace(options, flag_files=ON_DISK))
    except ReadError as error:
        return replace(reading, unread=(*reading.unread, _unread(reading, changed, f"its own: {error}")))
    altered = sorted(_altered_names(reading, own))
    if not altered:
        return reading
    unread = _unread(reading, changed, f"struct {first_few(altered)}")
    return replace(reading, unread=(*reading.unread, unread))


def _unread(reading: Reading, changed: list[str], what: str) -> Unread:
    files = f"{changed[0]}{f' and {len(changed) - 1} more' if changed[1:] else ''}"
    return Unread(reading.path, f"the change chose flags ({files}), which alter {what}; {_REMEDY}")


def _altered_names(reading: Reading, own: Reading) -> set[str]:
    """Return the structs that two readings of the same text have otherwise."""
    definitions, others = _definitions(reading.structs), _definitions(own.structs)
    names = {struct.name for struct in definitions ^ others}
    gaps = {omission.reason for omission in own.omissions} - {each.reason for each in reading.omissions}
    return names if not gaps else names | {f"that only they reach ({first_few(sorted(gaps))})"}


def _definitions(structs: Iterable[Struct]) -> set[Struct]:
    return {replace(struct, origin="", files=()) for struct in structs}
