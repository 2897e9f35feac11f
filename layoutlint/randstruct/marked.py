"""Names of structs that are marked for randomisation, for inputs without attributes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from layoutlint import files
from layoutlint.errors import UsageError, did_you_mean
from layoutlint.model.declared import Inner
from layoutlint.model.record import Record
from layoutlint.model.structs import Field, Struct

_NAME = re.compile(r"(!)?([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*)*)")
_LARGEST = 1 << 20
"""Maximum number of characters in a file of names; Linux marks 70 structs."""


class Marks(Record, frozen=True):
    """The struct types that names match."""

    randomised: frozenset[str | Inner] = frozenset()
    """Types with `randomize_layout`."""
    unrandomised: frozenset[str | Inner] = frozenset()
    """Types with `no_randomize_layout`."""


class MarkedName(Record, frozen=True):
    """One name as given, and its origin."""

    place: str
    struct: str
    path: tuple[str, ...]
    """The path of a member, which stands for the unnamed struct that contains it."""
    is_kept: bool
    """Whether the struct is marked as not randomised (`!NAME`)."""
    is_optional: bool = False
    """Whether an input may lack the member."""


class MarkedNames(Record, frozen=True):
    """All given names."""

    names: tuple[MarkedName, ...]

    @property
    def structs(self) -> frozenset[str]:
        """The named structs."""
        return frozenset(name.struct for name in self.names)

    def describe_unused(self, structs: Iterable[Struct]) -> tuple[str, ...]:
        """Describe the names that match no definition, each with its origin."""
        names = {
            name
            for struct in structs
            if struct.aggregate == "struct"
            for name in (struct.name, *struct.aliases)
        }
        return tuple(
            f"{name.place}: struct {name.struct} is in none of the inputs{did_you_mean(name.struct, names)}"
            for name in self.names
            if name.struct not in names
        )

    def marks(self, find: Callable[[str], Iterable[Struct]]) -> Marks:
        """Return the marks of the definitions that `find` finds.

        Raises UsageError for a missing member.
        """
        randomised: set[str | Inner] = set()
        unrandomised: set[str | Inner] = set()
        for name in self.names:
            (unrandomised if name.is_kept else randomised).update(_find_types(name, list(find(name.struct))))
        return Marks(frozenset(randomised), frozenset(unrandomised))


def _find_types(name: MarkedName, structs: list[Struct]) -> Iterator[str | Inner]:
    if not name.path:
        yield from {name.struct, *(struct.name for struct in structs)}
        return
    defined = [struct for struct in structs if struct.bit_size is not None]
    places = [(struct.name, _find_positions(struct.fields, name.path, ())) for struct in defined]
    matches = [(struct, positions) for struct, positions in places if positions is not None]
    if places and not matches and not name.is_optional:
        path = ".".join(name.path)
        reason = f"struct {name.struct} has no struct without a name that holds `{path}`"
        raise UsageError(reason, name.place)
    yield from matches


def _find_positions(
    fields: Iterable[Field], path: tuple[str, ...], outer: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Return the positions of the unnamed struct that a member's path means: the member's own type, or its
    container.
    """
    for position, field in enumerate(fields):
        positions = (*outer, position)
        if field.name is None:
            result = _find_positions(field.members, path, positions)
        elif field.name != path[0] or (len(path) > 1 and not field.type.is_untagged):
            continue
        elif len(path) > 1:
            result = _find_positions(field.members, path[1:], positions)
        else:
            result = positions if field.type.is_untagged else outer
        if result:
            return result
    return None


def read_names(texts: Iterable[str], option: str = "--randomized") -> MarkedNames:
    """Read names, separated by commas, or files with one or more names per line; `#` starts a comment.

    Raises UsageError, with file and line, for an invalid or repeated name.
    """
    names = tuple(name for text in texts for name in _read_text(text, option))
    first: dict[tuple[str, tuple[str, ...]], MarkedName] = {}
    for name in names:
        other = first.setdefault((name.struct, name.path), name)
        if other is not name:
            spelled = ".".join((name.struct, *name.path))
            how = "twice" if other.is_kept == name.is_kept else "both with and without `!`"
            raise UsageError(f"`{spelled}` is given {how} ({other.place})", name.place)
    return MarkedNames(names)


def _read_text(text: str, option: str) -> Iterator[MarkedName]:
    if not files.exists(text) or files.is_folder(text):
        for word in filter(None, (part.strip() for part in text.split(","))):
            yield _parse_name(word, option)
        return
    try:
        content = files.read_start(text, _LARGEST + 1, through_pipe=True).decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(files.error_reason(error), text) from error
    if len(content) > _LARGEST:
        raise UsageError(f"has more than {_LARGEST} characters: it is not a file of names", text)
    for number, line in enumerate(content.split("\n"), 1):
        for word in line.partition("#")[0].replace(",", " ").split():
            yield _parse_name(word, f"{text}:{number}")


def _parse_name(word: str, place: str) -> MarkedName:
    match = _NAME.fullmatch(word)
    if match is None:
        raise UsageError(f"{word!r} is not the name of a struct (`NAME`, `!NAME` or `NAME.MEMBER`)", place)
    return MarkedName(place, match[2], tuple(match[3].split(".")[1:]), bool(match[1]))
