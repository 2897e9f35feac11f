"""Kind `group`: groups of fields marked with `__cacheline_group_begin` and `_end`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import permutations
from typing import ClassVar

from layoutlint.errors import did_you_mean
from layoutlint.geometry import groups
from layoutlint.geometry.groups import Group, Groups
from layoutlint.geometry.layout import Place
from layoutlint.geometry.placement import Placements, count_lines
from layoutlint.judgement.advice import first_few, line_numbers
from layoutlint.judgement.context import CannotTell, Context, NoSuchField, NotApplicable
from layoutlint.judgement.line_sharing import Pair, judge_apart, pairs_between
from layoutlint.judgement.parameters import need_at_least, need_fields
from layoutlint.judgement.rule import Example, Key, Manual, Traits
from layoutlint.judgement.verdict import Outcome, Verdict, format_place, judge
from layoutlint.kinds import group_sides
from layoutlint.model.paths import is_within
from layoutlint.model.record import Record
from layoutlint.phrases import placements_phrase

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


class MarkedGroup(Record, frozen=True):
    """Marked groups are complete, have the required members, and no read group shares a line with a written
    one.
    """

    name: ClassVar[str] = "group"
    traits: ClassVar[Traits] = Traits()
    summary: ClassVar[str] = (
        "marked groups have the right fields, and read groups share no line with written ones"
    )
    keys: ClassVar[tuple[Key, ...]] = (
        Key("group", "word", "judge this group; by default all groups of the struct"),
        Key("members", "paths", "the fields that are in `group`, and no others"),
        Key("max", "integer", "most bytes of each group, from its begin to its end"),
        Key("max_lines", "integer", "most lines that the fields of each group may touch"),
    )
    manual: ClassVar[Manual] = Manual(
        "A group lies between the members `__cacheline_group_begin__NAME[0]` and\n"
        "`__cacheline_group_end__NAME[0]`, which macros of Linux declare. These break the rule:\n"
        "\n"
        "- a begin without an end, an end without a begin or before it, and groups that overlap partly;\n"
        "- a field of `members` that is not wholly in the group, and a field in it that is not among\n"
        "  `members`;\n"
        "- more bytes than `max`, counted as by `CACHELINE_ASSERT_GROUP_SIZE`;\n"
        "- a field of a read group on a line with a field of a written group, unless a single side reads\n"
        "  the one and writes the other.\n"
        "\n"
        "Words in the name state the use: `read` or `readmostly`, `write` (also in `read_write`), and the\n"
        "sides `tx`, `rx`, `txrx` or `rxtx`. Other groups are not compared. A rule on a pattern of structs\n"
        "skips those without groups.\n"
        "\n"
        "Without `group`, accesses declared for the sides `tx` and `rx` are compared with the names of\n"
        "existing groups. A field that both sides read belongs in `read_txrx`, one that only `tx` writes in\n"
        "`write_tx`, one that both use and any writes in `write_txrx`. A field declared without access\n"
        "belongs in no group that names a side.",
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
        """Return broken for incomplete groups, wrong members or too many bytes, and violations where groups
        share lines.
        """
        groups_of_struct = _marked_groups(context)
        chosen = (
            groups_of_struct.complete
            if self.group is None
            else (_require_group(self.group, groups_of_struct, context),)
        )
        _refuse_unsized(chosen)
        faults = list(groups_of_struct.faults) if self.group is None else []
        faults += self._find_misplaced(context, groups_of_struct)
        strays = group_sides.find_strays(context, groups_of_struct) if self.group is None else ()
        faults += [fault for group in chosen for fault in self._find_too_large(group)]
        crowded = [self._judge_line_count(group, context.placements) for group in chosen]
        faults += [message for message, _ in crowded if message]
        sharing = _judge_sharing(chosen, groups_of_struct, context.placements)
        if not faults and not strays:
            return sharing
        is_fixed = bool(strays) or len(faults) > sum(bool(message) for message, _ in crowded)
        bases = [context.placements.bases] if is_fixed else [bases for _, bases in crowded]
        sentences = [*([first_few(faults, "fault")] if faults else ()), *group_sides.describe_strays(strays)]
        violated = context.placements.bases_in_any([*bases, sharing.bases])
        return _combine_verdicts(
            sentences, tuple(stray.place for stray in strays), sharing, context.placements, violated
        )

    def _find_misplaced(self, context: Context, groups_of_struct: Groups) -> Iterator[str]:
        """Describe members outside the group, and other fields inside it."""
        if self.group is None or not self.members:
            return
        group, members = groups_of_struct.find(self.group), context.places(self.members)
        inside = () if group is None else group.members
        for place in members:
            if place not in inside and not _part_of_any(place, inside) and not place.is_empty:
                other_group = groups_of_struct.find_around(place)
                where = f"in group {other_group}" if other_group else "in no group"
                yield f"{format_place(place)} is {where}, not in {group}"
        for place in inside:
            if not any(is_within(member.path, place.path) for member in members):
                yield f"{format_place(place)} is in group {group} and is not among its members"

    def _find_too_large(self, group: Group) -> Iterator[str]:
        if self.max is not None and group.size > self.max:
            yield f"group {group} has {group.size} bytes, {group.size - self.max} more than {self.max}"

    def _judge_line_count(self, group: Group, placements: Placements) -> tuple[str, tuple[int, ...]]:
        """Describe a group on too many lines, with the violating bases."""
        most = self.max_lines
        if most is None:
            return "", ()
        counts = {base: count_lines(group.members, base, placements.line_size) for base in placements.bases}
        bases = placements.violating_bases(lambda base: counts[base] > most)
        number = line_numbers(counts[base] for base in bases) if bases else ""
        often = f"{placements_phrase(len(bases), len(placements.bases))}, {most} allowed"
        return (f"group {group} touches {number} {often}" if bases else ""), bases


_MARKS = "`__cacheline_group_begin(NAME)` and `__cacheline_group_end(NAME)` mark one"


def _marked_groups(context: Context) -> Groups:
    """Return the groups of a struct. Raises NotApplicable without marks, CannotTell if their order
    is random.
    """
    struct = context.layout.struct
    marked = groups.find_groups(context.layout)
    if not marked.complete and not marked.faults:
        raise NotApplicable(f"{struct.aggregate} {struct.name} marks no groups of fields ({_MARKS})")
    if struct.randomised is not None and struct.randomised.is_own:
        raise CannotTell(
            f"the marks of groups are in a random order, as all of {struct.aggregate} {struct.name}"
        )
    return marked


def _require_group(name: str, marked: Groups, context: Context) -> Group:
    group = marked.find(name)
    if group is not None:
        return group
    struct = context.layout.struct
    near = did_you_mean(name, [candidate.name for candidate in marked.complete])
    fault = next((f"; {fault}" for fault in marked.faults if f"`{name}`" in fault), near)
    raise NoSuchField(f"{struct.aggregate} {struct.name} has no group `{name}`{fault}")


def _refuse_unsized(chosen: Iterable[Group]) -> None:
    for place in (place for group in chosen for place in group.members):
        if place.bit_size is None:
            raise CannotTell(f"the size of `{place.path}` is not known")


def _part_of_any(place: Place, places: Iterable[Place]) -> bool:
    return any(is_within(place.path, whole.path) for whole in places)


def _judge_sharing(chosen: tuple[Group, ...], marked: Groups, placements: Placements) -> Verdict:
    """Return the verdict that read groups share no line with written ones; one group of each pair
    is chosen.
    """
    pairs: list[Pair] = []
    names_of: dict[Place, list[str]] = {}
    for written, read in permutations(marked.complete, 2):
        if written.use and read.use and written.use.disturbs(read.use) and {written, read} & {*chosen}:
            pairs += pairs_between(read.members, written.members)
    for group in marked.complete:
        for place in group.members:
            names_of.setdefault(place, []).append(f"`{group.name}`")

    def say(place: Place) -> str:
        return f"{format_place(place)} ({', '.join(names_of[place])})"

    names = f"group{'s' if len(chosen) > 1 else ''} {', '.join(map(str, chosen))}"
    message = f"{names}: no read one shares a line with a written one in any placement"
    evidence = tuple(place for group in chosen for place in group.members)
    return judge_apart(pairs, placements, judge(placements, (), message, evidence, ""), say)


def _combine_verdicts(
    sentences: list[str],
    places: tuple[Place, ...],
    sharing: Verdict,
    placements: Placements,
    bases: tuple[int, ...],
) -> Verdict:
    """Return the verdict for faults at some places, combined with the verdict on shared lines."""
    advice = "move the fields between the marks of their group, or mark and name the group for what is in it"
    message = "; ".join([*sentences, *([sharing.message] if sharing.bases else ())])
    evidence = tuple(dict.fromkeys((*places, *(sharing.evidence if sharing.bases or not places else ()))))
    return judge(placements, bases, message, evidence, sharing.advice or advice)
