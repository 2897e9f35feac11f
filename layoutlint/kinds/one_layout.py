"""Kind `one-layout`: a name has one layout in all units of an input."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import zip_longest
from typing import ClassVar

from layoutlint.geometry.layout import Layout, Place
from layoutlint.judgement.context import CannotTell, Context, NotApplicable, UnreliableLayout
from layoutlint.judgement.namesakes import Namesakes, distinct_layouts, members_of, unit_of
from layoutlint.judgement.rule import Example, Key, Manual, Traits
from layoutlint.judgement.verdict import Outcome, Verdict, judge_once, unknown
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct
from layoutlint.phrases import quantity

_MOST_SHOWN = 4
"""The most layouts that a message names."""
_UNKNOWN_FILES = (
    "have other members, and the input states no files: they can be different structs; "
    "check a file with DWARF, or the sources"
)
_BREAKS = """\
struct ring {
    long head;
#ifdef DEBUG
    long pushed;        /* a.c is compiled with -DDEBUG, b.c is not */
#endif
    long tail;
};
"""
_KEEPS = """\
struct ring {
    long head;
    long pushed;
    long tail;
};
"""


class OneLayout(Record, frozen=True):
    """All units that include the definition of a struct give it the same layout."""

    name: ClassVar[str] = "one-layout"
    traits: ClassVar[Traits] = Traits(fields="named", needs_size=False, compares_definitions=True)
    summary: ClassVar[str] = "all definitions of one name have the same layout, in all units of an input"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("except", "words", "files whose definitions are not compared, as patterns: `drivers/*.h`"),
        Key("sources", "boolean", "whether C sources share their structs, as headers do; by default false"),
    )
    manual: ClassVar[Manual] = Manual(
        "A layout is the size, the alignment as far as the input tells it, and the names, offsets and sizes\n"
        "of all members, at every depth. Other types of the same size are no difference. There is one\n"
        "finding for each name, which names a unit for each layout and the first difference.\n"
        "\n"
        "Structs of headers are compared by name, whichever header defines them. A struct that is defined\n"
        "in a C source (`.c`) is compared with the same source in other units only: another source can use\n"
        "its name for another struct. Structs that are local to functions do not count. BTF states no\n"
        "files: if members have other names or types, the outcome is unknown.\n"
        "\n"
        "Units are those of one input: a program, an archive, a `compile_commands.json`, a folder of C\n"
        "sources. Those for several machines (`-m32`) are compared for each machine alone. Several inputs\n"
        "are not compared; `check --staged` without INPUT compares no units.\n"
        "\n"
        '`check --one-layout` is this rule for every struct, `struct = "*"`, without a rule file.',
        "Find what differs between the units: a macro, a `#pragma pack` or an option of the compiler that\n"
        "only one of them has, an old copy of a header. Include the same header with the same settings, or\n"
        "rename one of the structs. If both layouts are meant, except the file.",
        "",
        Example(
            _BREAKS,
            Outcome.BROKEN,
            "2 layouts: 24 bytes in a.c, 16 bytes in b.c; `pushed` is only in a.c",
        ),
        Example(_KEEPS, Outcome.KEPT, "one layout"),
    )

    except_: tuple[str, ...] = ()
    sources: bool = False

    def check(self, context: Context) -> Verdict:
        """Return broken for the first definition of a name with several layouts; the others are skipped."""
        of = context.namesakes or Namesakes(context.layout.struct, (context.layout.struct,))
        if of.own.problem is not None:
            raise UnreliableLayout(f"the layout of {of.own.name} is unreliable: {of.own.problem}")
        known = (each for each in of.every if each.bit_size is not None and each.problem is None)
        compared = [each for each in known if not self._is_excepted(each)]
        same = [each for each in compared if self._scope(each) == self._scope(of.own)]
        first = same or ([] if compared else of.every)
        if not first or first[0] is not of.own:
            return replace(unknown("it is judged with the first definition"), is_not_applicable=True)
        if not same:
            raise NotApplicable(f"every definition of {of.own.name} is in a file that the rule excepts")
        layouts = tuple(distinct_layouts(same))
        if len(layouts) < 2:
            return judge_once(True, "one layout", (), "")
        if of.own.source is None and len({members_of(each.fields) for each in layouts}) == len(layouts):
            raise CannotTell(f"{len(layouts)} definitions of {of.own.name} {_UNKNOWN_FILES}")
        message, path = _describe(layouts, of.own)
        place = context.layout.find(path) if path else None
        return judge_once(False, message, () if place is None else (place,), "compile it alike in all units")

    def _is_excepted(self, struct: Struct) -> bool:
        file = "" if struct.source is None else f"/{struct.source.file}"
        patterns = (each.removeprefix("./").removeprefix("/") for each in self.except_)
        return any(fnmatchcase(file, f"*/{pattern}") for pattern in patterns)

    def _scope(self, struct: Struct) -> object:
        """Return what definitions share that are compared."""
        if struct.source is None:
            return struct.target.name
        is_own = struct.source.file.endswith(".c") and not self.sources
        file = struct.source.file if is_own else ""
        return struct.target.name, struct.is_tagged, struct.realigned_from, file


def _describe(layouts: tuple[Struct, ...], own: Struct) -> tuple[str, str]:
    """Return the layouts and how the first two differ, and the member that does; "" for none."""
    units = _units(layouts)
    places = (f" ({each.source})" * (each.source != own.source) for each in layouts)
    sizes = (quantity((each.bit_size or 0) // 8, "byte") for each in layouts)
    shown = [f"{size} in {unit}{at}" for size, unit, at in zip(sizes, units, places, strict=True)]
    more = f" and {len(layouts) - _MOST_SHOWN} more" * (len(layouts) > _MOST_SHOWN)
    path, difference = _main_difference(layouts[0], layouts[1], units[:2])
    message = f"{len(layouts)} layouts: {', '.join(shown[:_MOST_SHOWN])}{more}; {difference}"
    return message, path.partition(".")[0]


def _units(structs: tuple[Struct, ...]) -> list[str]:
    """Return a unit of each struct; the files of an archive or folder if units have the same name."""
    units = [unit_of(struct) for struct in structs]
    if len(set(units)) < len(units):
        units = [struct.files[0] if struct.files else unit_of(struct) for struct in structs]
    return units


def _main_difference(first: Struct, second: Struct, names: list[str]) -> tuple[str, str]:
    """Return the first member in which two layouts differ, and a sentence; "" if none differs."""
    if names[0] == names[1]:
        names = ["the first", "the second"]
    found = list(_differences(first, second, names))
    if found:
        place, sentence = next((each for each in found if not each[0].field.type.is_untagged), found[0])
        return place.path, sentence
    if first.bit_size != second.bit_size:
        return "", "all members are at the same places"
    aligns = [" or ".join(map(str, Layout(struct).alignments)) for struct in (first, second)]
    return "", f"the alignment is {aligns[0]} in {names[0]}, {aligns[1]} in {names[1]}"


def _differences(first: Struct, second: Struct, names: list[str]) -> Iterator[tuple[Place, str]]:
    """Yield the members in which two layouts differ, in order, up to one that only one of them has."""
    sides = [list(Layout(struct).walk_fields()) for struct in (first, second)]
    paths = [{place.path: place for place in side} for side in sides]
    for pair in zip_longest(*sides):
        for side, place in enumerate(pair):
            if place is not None and place.path not in paths[1 - side]:
                yield place, f"`{place.path}` is only in {names[side]}"
                return
        one = next(place for place in pair if place is not None)
        old, new = (side[one.path] for side in paths)
        if old.bit_offset != new.bit_offset or old.bit_size != new.bit_size:
            has_other_type = bool(old.field.members) and old.element_bits != new.element_bits
            why = f", because {old.field.type.left} differs" * has_other_type
            yield old, f"`{old.path}` is at {old.extent} in {names[0]}, at {new.extent} in {names[1]}{why}"
