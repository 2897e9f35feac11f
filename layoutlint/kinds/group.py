"""Kind `group`: the groups of fields that a struct marks with `__cacheline_group_begin` and `_end`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import ClassVar

from layoutlint.errors import did_you_mean
from layoutlint.geometry import groups
from layoutlint.geometry.groups import Group, Groups
from layoutlint.geometry.layout import Place
from layoutlint.geometry.placement import Placements, count_lines
from layoutlint.judgement.advice import first_few, line_numbers
from layoutlint.judgement.context import CannotTell, Context, NoSuchField, Unconcerned
from layoutlint.judgement.line_sharing import Pair, judge_apart, pairs_between
from layoutlint.judgement.parameters import need_at_least, need_fields
from layoutlint.judgement.rule import Example, Key, Manual, Traits
from layoutlint.judgement.verdict import Outcome, Verdict, format_place, judge
from layoutlint.kinds import group_sides
from layoutlint.model.paths import is_within

_MACROS = """\
#define __cacheline_group_begin(GROUP) unsigned char __cacheline_group_begin__##GROUP[0]
#define __cacheline_group_end(GROUP) unsigned char __cacheline_group_end__##GROUP[0]
"""
_BREAKS = f"""\
{_MACROS}
struct port {{
    __cacheline_group_begin(port_read_txrx);
    long mtu;
    __cacheline_group_end(port_read_txrx);
    __cacheline_group_begin(port_write_rx);
    long received;
    __cacheline_group_end(port_write_rx);
}};
"""
_KEEPS = f"""\
{_MACROS}
struct port {{
    __cacheline_group_begin(port_read_txrx);
    long mtu;
    __cacheline_group_end(port_read_txrx);
    __cacheline_group_begin(port_write_rx) __attribute__((aligned(64)));
    long received;
    __cacheline_group_end(port_write_rx);
}};
"""


@dataclass(frozen=True, slots=True)
class MarkedGroup:
    """Marked groups are whole, hold what they should, and no read one shares a line with a written one."""

    name: ClassVar[str] = "group"
    traits: ClassVar[Traits] = Traits()
    summary: ClassVar[str] = (
        "the groups marked in the struct hold what they should, read ones apart from written ones"
    )
    keys: ClassVar[tuple[Key, ...]] = (
        Key("group", "word", "judge this group; by default all groups of the struct"),
        Key("members", "paths", "the fields that are in `group`, and no others"),
        Key("max", "integer", "bytes of each group from its begin to its end, at most"),
        Key("max_lines", "integer", "lines that the fields of each group touch, at most"),
    )
    manual: ClassVar[Manual] = Manual(
        "A group is what is between the members `__cacheline_group_begin__NAME[0]` and\n"
        "`__cacheline_group_end__NAME[0]`, which macros of Linux declare; `_begin_aligned` and\n"
        "`_end_aligned` declare the same. Whatever the base, the rule is broken by\n"
        "\n"
        "- a begin without an end, an end without a begin or before it, and groups of which one ends\n"
        "  inside another;\n"
        "- a field of `members` that is not wholly in the group, and a field in it that is not among\n"
        "  `members`;\n"
        "- more bytes than `max`, counted as by `CACHELINE_ASSERT_GROUP_SIZE`.\n"
        "\n"
        "Fields without bytes, such as padding markers, never count. A rule on all structs of a pattern\n"
        "skips those without groups.\n"
        "\n"
        "A word in the name states the use: `read` or `readmostly` for read groups, `write` (also in\n"
        "`read_write`) for written ones, and `tx`, `rx`, `txrx` or `rxtx` for sides. Fields of read groups\n"
        "are compared with those of written groups, at every base, as in `separate`; not if a single side\n"
        "writes the one and reads the other, which is one processor at a time. Other groups are not\n"
        "compared.\n"
        "\n"
        "Without `group`, accesses declared for the sides `tx` and `rx` are compared with the names, if\n"
        "there is such a group: a field that both sides read belongs in `read_txrx`, one that only `tx`\n"
        "writes in `write_tx`, and one that any of two sides writes in `write_txrx`. A field declared\n"
        "without access belongs in no group that names a side.",
        "Move the field between the marks of its group. Start the written group on its own line\n"
        "(`__cacheline_group_begin_aligned`), or put fields of the slow path between the two.",
        "",
        Example(
            _BREAKS,
            Outcome.AT_RISK,
            "`mtu` at 0..7 (`port_read_txrx`) shares a line with `received` at 8..15 (`port_write_rx`) "
            "in 7 of 8 placements",
        ),
        Example(
            _KEEPS,
            Outcome.KEPT,
            "groups `port_read_txrx` at 0..7, `port_write_rx` at 64..71: "
            "no read one shares a line with a written one in any placement",
        ),
    )

    group: str | None = None
    members: tuple[str, ...] = ()
    max: int | None = None
    max_lines: int | None = None

    def __post_init__(self) -> None:
        if self.members:
            need_fields(self.members, "members")
        if self.members and self.group is None:
            raise ValueError("`members` needs `group`, the group that they are in")
        need_at_least("max", self.max, 0)
        need_at_least("max_lines", self.max_lines, 1)

    def check(self, context: Context) -> Verdict:
        """Broken by marks that make no groups, wrong members or too much; violated where lines are shared."""
        found = _marked(context)
        chosen = found.whole if self.group is None else (_the(self.group, found, context),)
        _refuse_unsized(chosen)
        faults = list(found.faults) if self.group is None else []
        faults += self._misplaced(context, found)
        strays = group_sides.strays(context, found) if self.group is None else ()
        faults += [fault for group in chosen for fault in self._too_large(group)]
        crowded = [self._crowded(group, context.placements) for group in chosen]
        faults += [message for message, _ in crowded if message]
        apart = _apart(chosen, found, context.placements)
        if not faults and not strays:
            return apart
        fixed = bool(strays) or len(faults) > sum(bool(message) for message, _ in crowded)
        bases = [context.placements.bases] if fixed else [bases for _, bases in crowded]
        said = [*([first_few(faults, "faults")] if faults else ()), *group_sides.told(strays)]
        violated = context.placements.in_any([*bases, apart.bases])
        return _with(said, tuple(stray.place for stray in strays), apart, context.placements, violated)

    def _misplaced(self, context: Context, found: Groups) -> Iterator[str]:
        """Members that are elsewhere, and fields that are among them and do not belong there."""
        if self.group is None or not self.members:
            return
        group, members = found.find(self.group), context.places(self.members)
        inside = () if group is None else group.members
        for place in members:
            if place not in inside and not _part_of_any(place, inside) and not place.is_empty:
                other = found.find_around(place)
                where = f"in group {other}" if other else "in no group"
                yield f"{format_place(place)} stands {where}, not in {group}"
        for place in inside:
            if place not in members and not any(is_within(member.path, place.path) for member in members):
                yield f"{format_place(place)} stands in group {group} and is not among its members"

    def _too_large(self, group: Group) -> Iterator[str]:
        if self.max is not None and group.size > self.max:
            yield f"group {group} has {group.size} bytes, {group.size - self.max} more than {self.max}"

    def _crowded(self, group: Group, placements: Placements) -> tuple[str, tuple[int, ...]]:
        """What is to be said of a group on too many lines, and at which bases."""
        most = self.max_lines
        if most is None:
            return "", ()
        counts = {base: count_lines(group.members, base, placements.line_size) for base in placements.bases}
        bases = placements.violating_bases(lambda base: counts[base] > most)
        number = line_numbers(counts[base] for base in bases) if bases else ""
        often = f"in {len(bases)} of {len(placements.bases)} placements, {most} allowed"
        return (f"group {group} touches {number} {often}" if bases else ""), bases


def _marked(context: Context) -> Groups:
    """The groups of a struct; raises Unconcerned where it marks none, CannotTell where they mean nothing."""
    struct = context.layout.struct
    found = groups.of(context.layout)
    if not found.whole and not found.faults:
        raise Unconcerned(f"{struct.aggregate} {struct.name} marks no groups of fields")
    if struct.randomised is not None and struct.randomised.is_own:
        raise CannotTell(
            f"the marks of groups are in a random order, as all of {struct.aggregate} {struct.name}"
        )
    return found


def _the(name: str, found: Groups, context: Context) -> Group:
    group = found.find(name)
    if group is not None:
        return group
    struct = context.layout.struct
    near = did_you_mean(name, [each.name for each in found.whole])
    fault = next((f"; {fault}" for fault in found.faults if f"`{name}`" in fault), near)
    raise NoSuchField(f"{struct.aggregate} {struct.name} has no group `{name}`{fault}")


def _refuse_unsized(chosen: Iterable[Group]) -> None:
    for place in (place for group in chosen for place in group.members):
        if place.bit_size is None:
            raise CannotTell(f"the size of `{place.path}` is not known")


def _part_of_any(place: Place, places: Iterable[Place]) -> bool:
    return any(is_within(place.path, whole.path) for whole in places)


def _apart(chosen: tuple[Group, ...], found: Groups, placements: Placements) -> Verdict:
    """Whether reading groups share no line with written ones; at least one of each pair is chosen."""
    pairs: list[Pair] = []
    names_of: dict[Place, list[str]] = {}
    for written, read in permutations(found.whole, 2):
        if written.use and read.use and written.use.disturbs(read.use) and {written, read} & {*chosen}:
            pairs += pairs_between(read.members, written.members)
    for group in found.whole:
        for place in group.members:
            names_of.setdefault(place, []).append(f"`{group.name}`")

    def say(place: Place) -> str:
        return f"{format_place(place)} ({', '.join(names_of[place])})"

    names = f"group{'s' if len(chosen) > 1 else ''} {', '.join(map(str, chosen))}"
    message = f"{names}: no read one shares a line with a written one in any placement"
    evidence = tuple(place for group in chosen for place in group.members)
    return judge_apart(pairs, placements, judge(placements, (), message, evidence, ""), say)


def _with(
    said: list[str],
    places: tuple[Place, ...],
    apart: Verdict,
    placements: Placements,
    bases: tuple[int, ...],
) -> Verdict:
    """The verdict of what is said, of some places if any, and of shared lines where there are some."""
    advice = "move the fields between the marks of their group, or mark and name the group for what is in it"
    message = "; ".join([*said, *([apart.message] if apart.bases else ())])
    evidence = tuple(dict.fromkeys((*places, *(apart.evidence if apart.bases or not places else ()))))
    return judge(placements, bases, message, evidence, apart.advice or advice)
