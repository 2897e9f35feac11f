"""Phrases on comparisons, shared by the formats for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from layoutlint.comparison.allocations import Allocators, SlabChange, room_changes
from layoutlint.comparison.comparison import Comparison, hole_bits, line_count
from layoutlint.comparison.edits import Edit, EditKind, Move
from layoutlint.comparison.idle_rules import IdleRule
from layoutlint.comparison.layouts import LayoutChange, Presence
from layoutlint.comparison.likely_sharing import LikelyPair, LikelySharing
from layoutlint.comparison.spelled_types import Retyping
from layoutlint.comparison.standings import Status
from layoutlint.comparison.straddles import StraddleChange, straddle_changes, straddle_count
from layoutlint.comparison.verdicts import PairChange, RuleChange
from layoutlint.errors import EXIT_FINDINGS, EXIT_UNKNOWN
from layoutlint.geometry.allocators import class_name
from layoutlint.geometry.layout import Layout, Place
from layoutlint.judgement.finding import Finding
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.structs import Struct
from layoutlint.phrases import first_few, quantity
from layoutlint.reports.allocation_phrases import cpus, slab_size
from layoutlint.reports.finding_phrases import share

_FAILURES = {
    "worse": "rules got worse",
    "size": "structs grew",
    "lines": "structs touch more lines",
    "holes": "holes grew",
    "share": "fields that rules keep apart share more lines",
    "moved": "fields moved, changed their size or name or are gone, or structs have another size",
    "types": "fields have other types",
}
_IGNORED = "what got worse fails nothing: notes, suppressed findings, or not in --fail-on"


def rule_change(change: RuleChange) -> str:
    """Return `worse: RULE (KIND) on struct s: kept -> at-risk in 2 of 8 placements`."""
    return f"{change.status.value}: {rule_states(change)}"


def rule_states(change: RuleChange) -> str:
    """Return `RULE (KIND) on struct s: kept -> at-risk in 2 of 8 placements`."""
    rule = change.rule
    suppressed = " (suppressed)" if change.finding.suppressed is not None else ""
    states = f"{state(change.old)} -> {state(change.new)}{', for fewer fields' * change.is_eased}"
    note = "" if change.counts or suppressed else " (a note)"
    return f"{rule.id} ({rule.kind.name}) on {change.struct}: {states}{suppressed}{note}"


def state(finding: Finding | None) -> str:
    """Return the outcome of a rule: `at-risk in 2 of 8 placements`."""
    if finding is None:
        return "not judged"
    word = finding.verdict.outcome.value
    shares = share(finding.verdict) if finding.verdict.outcome is Outcome.AT_RISK else ""
    return f"{word} {shares}".rstrip()


def pair_change(pair: PairChange) -> str:
    """Return in how many placements two fields share a line, before and now."""
    old = f"{len(pair.old)} of {pair.old_total} -> " if pair.old_total else ""
    new = f"{len(pair.new)} of {pair.new_total}"
    other = f"`{pair.second}`{' of the next object' if pair.is_across else ''}"
    return f"`{pair.first}` and {other} share a line in {old}{new} placements"


def likely_heading(likely: LikelySharing) -> str:
    """Return what the list of likely false sharing is, or that it is empty."""
    if not likely.pairs:
        return "no two fields that share a line more often now are likely to disturb each other"
    return "fields that share a line more often now, the likeliest false sharing first (guesses from sources)"


def likely_pair(each: LikelyPair) -> str:
    """Return which fields came to share a line, with the score and the reasons."""
    name = f"{each.struct.aggregate} {each.struct.name}"
    return f"{name}: {pair_change(each.change)}; {'; '.join(each.reasons)} (score {each.score:.2f})"


def heading(change: LayoutChange) -> str:
    """Return the name of a struct, with its size before and now."""
    return f"{change.struct.aggregate} {change.name}: {sizes(change)}"


def sizes(change: LayoutChange) -> str:
    """Return the size of a struct before and now, or that it was added, removed or renamed."""
    if change.presence is Presence.ADDED:
        return f"added, {_size(change.new)}"
    if change.presence is Presence.REMOVED:
        return f"removed, was {_size(change.old)}"
    if change.presence is Presence.RENAMED and change.old is not None:
        return f"renamed, was {change.old.name}"
    return ", ".join(_figures(change)) or "fields moved"


def _size(struct: Struct | None) -> str:
    if struct is None or struct.bit_size is None:
        return "of unknown size"
    return f"{quantity(struct.bit_size // 8, 'byte')}, {quantity(line_count(struct), 'line')}"


def _figures(change: LayoutChange) -> Iterator[str]:
    """Yield the figures of a struct that changed."""
    if change.old is None or change.new is None:
        return
    layouts = Layout(change.old), Layout(change.new)
    sizes = layouts[0].size, layouts[1].size
    yield f"{sizes[0]} -> {sizes[1]} bytes" if sizes[0] != sizes[1] else f"{sizes[0]} bytes as before"
    lines = line_count(change.old), line_count(change.new)
    if lines[0] != lines[1]:
        yield f"{lines[0]} -> {lines[1]} lines"
    holes = [hole_bits(layout) for layout in layouts]
    if holes[0] != holes[1]:
        unit = (1, "bits") if any(bits % 8 for bits in holes) else (8, "bytes")
        yield f"{holes[0] // unit[0]} -> {holes[1] // unit[0]} {unit[1]} of holes"
    straddles = straddle_count(change.old), straddle_count(change.new)
    if straddles[0] != straddles[1]:
        yield f"fields across two lines {straddles[0]} -> {straddles[1]}"
    if change.is_realigned:
        aligns = ["/".join(map(str, layout.alignments)) for layout in layouts]
        yield f"alignment {aligns[0]} -> {aligns[1]}"


def allocations(change: LayoutChange, allocators: Allocators) -> Iterator[str]:
    """Yield what objects take of kmalloc or a slab cache, before and now; nothing if the size is the same."""
    for room in room_changes(change, allocators):
        if room.new.word == "kmalloc" and room.old.block is not None and room.new.block is not None:
            classes = [class_name(block) for block in (room.old.block, room.new.block)]
            moved = classes[0] if classes[0] == classes[1] else f"{classes[0]} -> {classes[1]}"
            condition = "if " if room.is_assumed else ""
            yield f"{condition}allocated by kmalloc: {moved}, {quantity(room.new.slack or 0, 'byte')} left"
        elif room.slabs:
            yield f"in slabs: {'; '.join(map(_slab_change, room.slabs))}"


def _slab_change(slab: SlabChange) -> str:
    """Return the objects and pages of a slab: `with up to 31 CPUs 25 -> 24 objects per 4 KiB`."""
    old, new = slab.old, slab.new
    objects = f"{old.objects} -> {new.objects}" if old.objects != new.objects else str(new.objects)
    order = f", order {old.order} -> {new.order}" if old.order != new.order else ""
    room = "" if slab.room is None else f", {quantity(slab.room, 'byte')} left"
    where = f"{cpus(slab.fewest_cpus, slab.most_cpus)} {objects} objects per {slab_size(new)}"
    return f"{where}{order}{room}"


def edit(edit: Edit) -> str:
    """Return what happened to a field: ``added `x`, 8 bytes at 40 (f.h:12)``."""
    inner = f", because struct {edit.struct} changed" if edit.struct else ""
    place = edit.place
    where = f" ({edit.source})" if edit.source is not None else ""
    if edit.old is None or edit.new is None:
        return f"{edit.kind.value} `{edit.path}`, {_extent(place)}{where}"
    if edit.kind is EditKind.RENAMED:
        return f"renamed `{edit.old.path}` -> `{edit.path}`, {_extent(place)}{where}"
    if edit.kind is EditKind.RESIZED:
        return f"resized `{edit.path}`: {_resize(edit.old, edit.new)}{inner}{where}"
    if edit.kind is EditKind.REALIGNED:
        aligns = edit.old.field.align, edit.new.field.align
        return f"realigned `{edit.path}`: {aligns[0]} -> {aligns[1]}{where}"
    if edit.kind is EditKind.CHANGED:
        types = "" if inner else f": {edit.old.field.type} -> {edit.new.field.type}"
        return f"changed `{edit.path}`{inner}{types}{where}"
    if edit.is_still:
        return f"reordered `{edit.path}`, at {_start(edit.new)} as before{where}"
    return f"reordered `{edit.path}`: {_start(edit.old)} -> {_start(edit.new)}{where}"


def retypings(change: LayoutChange) -> Iterator[str]:
    """Yield the fields with another type of the same size: ``retyped `x`: int -> float (f.h:12)``.

    A field whose edit states the types is left out.
    """
    stated = {each.path for each in change.edits.edits if each.kind is EditKind.CHANGED and not each.struct}
    for each in change.retyped:
        if each.path not in stated:
            yield f"retyped {types(each)}{f' ({each.source})' if each.source is not None else ''}"


def types(each: Retyping) -> str:
    """Return the types of a field before and now: ```x`: int -> float``."""
    return f"`{each.path}`: {each.old} -> {each.new}"


def retyped_alone(comparison: Comparison) -> tuple[LayoutChange, ...]:
    """Return the structs whose types changed, and whose layout did not, or only with an embedded struct."""
    rooted = (change for change in comparison.layouts.changes if change.root and change.retyped)
    return tuple(sorted((*comparison.layouts.retyped, *rooted), key=lambda change: change.name))


def retyped_struct(change: LayoutChange, most: int | None = None) -> str:
    """Return the fields of a struct that have other types, at most so many."""
    shown = "; ".join(map(types, change.retyped[:most]))
    left = len(change.retyped) - len(change.retyped[:most])
    more = f"; and {left:,} more" if left else ""
    return f"{change.struct.aggregate} {change.name}: retyped {shown}{more}"


def _resize(old: Place, new: Place) -> str:
    """Return the sizes of a field before and now, in bits for a bit-field."""
    if old.field.is_bitfield or new.field.is_bitfield:
        return f"{old.bit_size} -> {new.bit_size} bits"
    return f"{size(old)} -> {size(new)} bytes"


def _start(place: Place) -> str:
    """Return where a field starts: the byte, or the bits of a bit-field."""
    return place.extent if place.field.is_bitfield else str(place.offset)


def size(place: Place) -> str:
    """Return the bytes of a field; `??` if they are not known."""
    return "??" if place.size is None else str(place.size)


def _extent(place: Place) -> str:
    if place.field.is_bitfield:
        return f"{quantity(place.bit_size or 0, 'bit')} at {place.offset}"
    amount = "?? bytes" if place.size is None else quantity(place.size, "byte")
    return f"{amount} at {place.offset}"


def line_moves(change: LayoutChange) -> list[Move]:
    """Return the fields that are on another line of an object at the start of a line."""
    line = change.struct.target.line_size
    return [move for move in change.edits.moves if move.old.offset // line != move.new.offset // line]


def unexplained_moves(change: LayoutChange) -> Iterator[str]:
    """Yield the fields that moved within their lines, unless an edit explains it.

    An edit of a field that did not move itself does not: others moved across it.
    """
    line = change.struct.target.line_size
    for each in change.edits.moves:
        is_stated = each.cause is not None and not each.cause.is_still
        if not is_stated and each.old.offset // line == each.new.offset // line:
            yield f"moved {offsets(each)}"


def offsets(move: Move) -> str:
    """Return where a field was and is: its byte, or the bits of a bit-field that moved inside its byte."""
    if move.old.offset == move.new.offset:
        return f"`{move.new.path}` {move.old.extent} -> {move.new.extent}"
    return f"`{move.new.path}` {move.old.offset} -> {move.new.offset}"


def move(move: Move, line: int) -> str:
    """Return where a field was and is, and what pushed it."""
    lines = f"line {move.old.offset // line} -> {move.new.offset // line}"
    is_own = move.cause is not None and move.cause.path == move.new.path
    pushed = f", pushed by `{move.cause.path}`" if move.cause is not None and not is_own else ""
    return f"{offsets(move)}, {lines}{pushed}"


def straddles(change: LayoutChange) -> Iterator[str]:
    """Yield the fields that began or ceased to lie on two lines of an object that starts on one."""
    for each in straddle_changes(change):
        if each.begins and each.new is not None:
            first, last = each.lines[1][0], each.lines[1][-1]
            yield f"now across two lines: `{each.path}` at {each.new.extent}, lines {first} and {last}"
        elif each.old is not None:
            yield f"no longer across two lines: `{each.path}`, {_place_now(each)}"


def _place_now(each: StraddleChange) -> str:
    return "removed" if each.new is None else f"at {each.new.extent} now"


def idle_rules(rules: Iterable[IdleRule]) -> Iterator[str]:
    """Yield the structs of rules that compare nothing, by reason."""
    by_reason: dict[str, dict[str, None]] = {}
    for rule in rules:
        name = f"{rule.rule} on {rule.struct}" if rule.is_excluded else rule.struct
        by_reason.setdefault(rule.reason, {})[name] = None
    for reason, names in by_reason.items():
        yield f"{', '.join(names)}: {reason}"


def containers(names: Iterable[str]) -> str:
    """Return the structs that a change moves with it; empty for none."""
    listed = tuple(names)
    return f"changes {quantity(len(listed), 'struct')} with it: {first_few(listed, 6)}" if listed else ""


def tally(comparison: Comparison) -> str:
    """Return the numbers of rules and structs by what became of them."""
    statuses = [change.status for change in comparison.rules]
    presences = [change.presence for change in comparison.layouts.changes]
    total = quantity(comparison.layouts.compared, "struct")
    words = [
        f"{quantity(statuses.count(Status.WORSE), 'rule')} worse, {statuses.count(Status.BETTER)} better",
        f"{presences.count(Presence.BOTH):,} of {total} changed",
    ]
    rest = (Presence.ADDED, Presence.REMOVED, Presence.RENAMED)
    words += [f"{presences.count(each):,} {each.value}" for each in rest if each in presences]
    if comparison.layouts.retyped:
        words.append(f"{len(comparison.layouts.retyped):,} retyped")
    return ", ".join((*words, *_variable_figures(comparison)))


def sameness(comparison: Comparison) -> str:
    """Return what was compared, and that it is the same."""
    facts = "sizes, offsets and types" if comparison.layouts.compares_types else "sizes and offsets"
    compared: list[str] = []
    if comparison.layouts.compared:
        compared.append(f"{quantity(comparison.layouts.compared, 'struct')} ({facts} at every depth)")
    if comparison.rules:
        compared.append(quantity(len(comparison.rules), "rule"))
    if comparison.variables is not None:
        compared.append(quantity(comparison.variables.pair_count, "variable"))
    return f"nothing differs: compared {', '.join(compared)}"


def _variable_figures(comparison: Comparison) -> list[str]:
    """Return how many variables share lines with others; empty if none were compared."""
    if comparison.variables is None or not comparison.variables.tables:
        return []
    regrouped = sum(table.regrouped for table in comparison.variables.tables)
    total = quantity(comparison.variables.pair_count, "variable")
    return [f"{regrouped:,} of {total} share lines with others"]


def exit_meaning(comparison: Comparison) -> str:
    """Return why the exit status is what it is."""
    if comparison.exit_status == EXIT_FINDINGS:
        return ", ".join(_FAILURES[name] for name in comparison.failures)
    is_any_worse = Status.WORSE in {each.status for each in comparison.rules}
    if comparison.exit_status == EXIT_UNKNOWN:
        known = _IGNORED if is_any_worse else "nothing is known to be worse"
        return f"not all could be compared; {known}"
    return _IGNORED if is_any_worse else "nothing got worse"
