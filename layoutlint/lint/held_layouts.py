"""Layouts that a snapshot holds: structs whose size, offsets or alignment differ from it are findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from layoutlint.comparison.acceptance import Acceptance, without_wrappers
from layoutlint.comparison.edits import Edit, Edits
from layoutlint.comparison.layouts import LayoutChange, Presence, compare_layouts
from layoutlint.comparison.scope import spell_types_alike
from layoutlint.errors import UsageError
from layoutlint.geometry.layout import Layout, Place
from layoutlint.judgement.context import CannotTell, Context
from layoutlint.judgement.finding import Finding, Report
from layoutlint.judgement.rule import SNAPSHOT, Example, Key, Manual, Rule, Severity, Traits
from layoutlint.judgement.verdict import Outcome, Verdict, judge_once, unknown
from layoutlint.lint.options import Mode, Options
from layoutlint.lint.reading import Inputs, split_unnarrowed
from layoutlint.model.reading import Reading, Unread
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Source, Struct
from layoutlint.model.wanted import Wanted
from layoutlint.phrases import quantity
from layoutlint.reports import change_phrases as phrases

_Name = tuple[str, bool]
"""The name of a struct, and whether it is its tag."""
_MOST_MOVES = 6
"""The most moved fields that are shown."""
_MOST_EDITS = 20
"""The most edits that are shown, and the most fields with other types."""
_OTHER_READER = "it has the recorded layout; BTF and other inputs do not state all types alike"
_BREAKS = """\
struct ring {
    long head;
    int pad;        /* added since the snapshot */
    long tail;
};
"""
_KEEPS = """\
struct ring {
    long head;
    long tail;
};
"""


class HeldLayout(Record, frozen=True):
    """A struct has the layout of a snapshot. Runs with `--snapshot` judge this without a rule."""

    name: ClassVar[str] = SNAPSHOT
    traits: ClassVar[Traits] = Traits(in_baselines=False)
    summary: ClassVar[str] = "a struct has the layout that a snapshot recorded"
    keys: ClassVar[tuple[Key, ...]] = ()
    manual: ClassVar[Manual] = Manual(
        "`check --snapshot FILE` judges every struct that FILE was asked for, as rule `snapshot/STRUCT`:\n"
        "its size, its possible alignments, and the names, offsets and sizes of its fields, with those of\n"
        "embedded structs. Types of the same size are compared if it was written with `--types`. A struct\n"
        "that is gone is unknown; new structs are no findings. `--renames` accepts fields with another name\n"
        "and the same place, size and type. New members may lie in the bytes of reserved ones that match\n"
        "the `--may-use GLOB` with which it was written.",
        "Undo the edit, or write the snapshot again: `layoutlint snapshot INPUT --update FILE`. A baseline\n"
        "accepts no such finding.",
        "",
        Example(
            _BREAKS,
            Outcome.BROKEN,
            "differs from FILE: 16 -> 24 bytes; added `pad`, 4 bytes at 8 (FILE:3); `tail` 8 -> 16",
        ),
        Example(_KEEPS, Outcome.KEPT, "has the layout of FILE"),
    )

    def check(self, context: Context) -> Verdict:
        """Raise CannotTell: structs are compared with a snapshot, not judged on their own."""
        raise CannotTell(f"struct {context.layout.struct.name} is judged by its snapshot only")


class Held(Mode, frozen=True):
    """A run that holds the layouts of its inputs to a snapshot."""

    reading: Reading
    update: str
    """The command that writes it again."""
    accepts_renames: bool = False
    """Whether fields may have another name."""

    @property
    def needs_rules(self) -> bool:
        """Return False: the snapshot is enough."""
        return False

    def request(self, wanted: Wanted, options: Options) -> Wanted:
        """Return a request for the structs of the snapshot too. Raises UsageError for unknown orders."""
        return wanted_with_held(wanted, self, options)

    def narrow(self, inputs: Inputs, wanted: Wanted) -> Inputs:
        """Return inputs with the structs that rules want, and all that were read beside them."""
        return split_unnarrowed(inputs, wanted)

    def judge(self, inputs: Inputs, options: Options) -> tuple[list[Finding], list[Unread]]:
        """Return a finding for each struct of the snapshot, and the inputs for another machine."""
        readings = inputs.unnarrowed
        return judge(self, readings, options), list(other_targets(self, readings))

    def finish(self, report: Report, inputs: Inputs) -> Report:
        """Return a report whose inputs count the structs of the snapshot too."""
        return with_all_structs(report, inputs.unnarrowed)


def wanted_with_held(wanted: Wanted, held: Held, options: Options) -> Wanted:
    """Return a request that has the structs of a snapshot too. Raises UsageError for unknown orders."""
    if options.randomised is not None and options.randomised.seed is None:
        raise UsageError("--snapshot needs the seed of a build that randomises layouts: --seed FILE|HEX")
    names = frozenset(struct.name for struct in _held_structs(held, options)) | _unrecorded_names(held)
    return replace(
        wanted,
        names=wanted.names | names,
        kernel=wanted.kernel - names,
        unless=tuple((name, is_excluded) for name, is_excluded in wanted.unless if name not in names),
    )


def _held_structs(held: Held, options: Options) -> list[Struct]:
    chosen = held.reading.chosen
    structs = (struct for struct in held.reading.structs if chosen is None or chosen.has(struct))
    return [struct for struct in structs if options.selection.has(struct) and not struct.is_hidden]


def _unrecorded_names(held: Held) -> frozenset[str]:
    return frozenset() if held.reading.chosen is None else held.reading.chosen.unrecorded


def judge(held: Held, readings: tuple[Reading, ...], options: Options) -> list[Finding]:
    """Return a finding for each struct that a snapshot holds, kept ones included.

    Inputs for another machine than the snapshot are left out.
    """
    may_use = held.reading.may_use
    held = replace(held, reading=without_wrappers(held.reading, may_use))
    same_target = (reading for reading in readings if reading.target == held.reading.target)
    own = [without_wrappers(reading, may_use) for reading in same_target]
    if not own:
        return []
    recorded = _held_structs(held, options)
    current = _Current(own, recorded)
    findings = [current.with_place(finding) for finding in _findings(held, recorded, current, options)]
    return [*findings, *_unrecorded_findings(held, own, options)]


class _Current:
    """The structs of the inputs that have the names of recorded ones."""

    def __init__(self, readings: Iterable[Reading], recorded: Iterable[Struct]) -> None:
        self.readings = tuple(readings)
        self.by_name: dict[_Name, list[Struct]] = {_name(struct): [] for struct in recorded}
        self._paths: dict[int, str] = {}
        for reading in self.readings:
            for struct in reading.structs:
                if _name(struct) in self.by_name:
                    self.by_name[_name(struct)].append(struct)
                    self._paths[id(struct)] = reading.path

    def with_place(self, finding: Finding) -> Finding:
        """Return a finding with the files that have its struct."""
        if finding.struct is None:
            return finding
        first, *also = finding.struct.files or (self._paths[id(finding.struct)],)
        return replace(finding, input=first, also=tuple(also))


def _unrecorded_findings(held: Held, readings: Iterable[Reading], options: Options) -> Iterator[Finding]:
    """Yield a finding for each reliable struct that a snapshot chooses, and has no layout of.

    Such a record was lost, or the struct came later: nothing would hold it.
    """
    names, done = _unrecorded_names(held), set[_Name]()
    for reading in readings if names else ():
        for struct in reading.structs:
            is_chosen = not names.isdisjoint((struct.name, *struct.aliases))
            is_reliable = struct.bit_size is not None and struct.problem is None
            if is_chosen and is_reliable and _name(struct) not in done and options.selection.has(struct):
                done.add(_name(struct))
                message = f"{held.reading.path} chooses it, and has no layout of it"
                verdict = replace(unknown(message), advice=f"record it: `{held.update}`")
                first, *also = struct.files or (reading.path,)
                yield Finding(_rule(held, struct), struct, verdict, first, tuple(also))


def _name(struct: Struct) -> _Name:
    return struct.name, struct.is_tagged


def with_all_structs(report: Report, readings: tuple[Reading, ...]) -> Report:
    """Return a report whose inputs count the structs that a snapshot holds too."""
    pairs = zip(report.readings, readings, strict=True)
    return replace(report, readings=tuple(replace(one, structs=every.structs) for one, every in pairs))


def other_targets(held: Held, readings: Iterable[Reading]) -> Iterator[Unread]:
    """Yield the inputs that a snapshot cannot hold, because they are for another machine."""
    for reading in readings:
        if reading.target != held.reading.target:
            names = f"{reading.target.name}, and the snapshot {held.reading.path}"
            yield Unread(reading.path, f"is for {names} for {held.reading.target.name}")


def _findings(held: Held, recorded: list[Struct], current: _Current, options: Options) -> Iterator[Finding]:
    now = (struct for own in current.by_name.values() for struct in own)
    compared = compare_layouts(recorded, now, compares_types=held.reading.holds_types)
    reasons = {each.name: each.reason for each in compared.not_compared}
    changed: set[_Name] = set()
    are_types_alike = spell_types_alike((held.reading,), current.readings)
    acceptance = Acceptance(compared.changes, held.accepts_renames, held.reading.may_use)
    for change in compared.retyped:
        changed.add(_name(change.struct))
        verdict = _other_types(held, change) if are_types_alike else unknown(_OTHER_READER)
        yield Finding(_rule(held, change.struct), change.struct, verdict, "")
    for change in compared.changes:
        if change.old is None:
            if change.new is not None and _is_of_same_file(change.new, recorded):
                changed.add(_name(change.new))
                yield Finding(_rule(held, change.new), change.new, _second(held, change.new), "")
            continue
        changed.add(_name(change.old))
        if change.presence is Presence.BOTH and change.new is not None:
            if acceptance.accepts(change):
                verdict = _kept_difference(held, change)
            else:
                verdict = _difference(held, change, are_types_alike)
            yield Finding(_rule(held, change.old), change.new, verdict, "")
        elif not options.skips_missing:
            yield _missing_finding(held, change.old)
    for name, structs in current.by_name.items():
        if structs and name[0] in reasons:
            yield Finding(_rule(held, structs[0]), structs[0], unknown(reasons[name[0]]), "")
        elif structs and name not in changed:
            verdict = judge_once(True, f"has the layout of {held.reading.path}", (), "")
            yield Finding(_rule(held, structs[0]), structs[0], verdict, "")


def _is_of_same_file(struct: Struct, recorded: Iterable[Struct]) -> bool:
    """Return whether a definition that no snapshot has is one of a recorded struct, as far as files tell.

    A struct of this name in another file is a new one.
    """
    files = {_file_name(each) for each in recorded if _name(each) == _name(struct)}
    return None in files or _file_name(struct) in {*files, None}


def _file_name(struct: Struct) -> str | None:
    """Return the file of a definition without the folders, which differ between trees."""
    return None if struct.source is None else struct.source.file.rpartition("/")[2]


def _second(held: Held, struct: Struct) -> Verdict:
    """Return the verdict on a layout that some part of the code has, while another has the recorded one."""
    if struct.problem is not None:
        return unknown(f"the layout is unreliable: {struct.problem}")
    size = "" if struct.bit_size is None else f" of {quantity(struct.bit_size // 8, 'byte')}"
    message = f"has another definition{size}, which is not in {held.reading.path}"
    return judge_once(False, message, (), _advice(held))


def _rule(held: Held, struct: Struct) -> Rule:
    path = held.reading.path
    return Rule(
        f"{SNAPSHOT}/{struct.name}", struct.name, HeldLayout(), Severity.ERROR,
        f"{path} holds its layout, so that a change is seen and reviewed", Source(path), by=SNAPSHOT,
    )  # fmt: skip


def _missing_finding(held: Held, old: Struct) -> Finding:
    message = f"{old.aggregate} {old.name} of {held.reading.path} is in none of the inputs"
    return Finding(_rule(held, old), None, replace(unknown(message), advice=_advice(held)), "")


def _advice(held: Held) -> str:
    return f"undo the change, or accept it: `{held.update}`"


def _difference(held: Held, change: LayoutChange, are_types_alike: bool) -> Verdict:
    parts = [f"differs from {held.reading.path}: {phrases.sizes(change)}", *_edits(change.edits)]
    if change.root:
        parts.append(f"all because struct {change.root} changed")
    if change.retyped and are_types_alike:
        parts.append(f"retyped {', '.join(_types(change))}")
    return judge_once(False, "; ".join(parts), tuple(_evidence(change.edits)), _advice(held))


def _kept_difference(held: Held, change: LayoutChange) -> Verdict:
    message = f"differs from {held.reading.path} by accepted edits: {'; '.join(_edits(change.edits))}"
    return Verdict(Outcome.KEPT, message, tuple(_evidence(change.edits)), has_accepted_edits=True)


def _other_types(held: Held, change: LayoutChange) -> Verdict:
    """Return the verdict on a struct with the recorded layout, and other types."""
    message = f"differs from {held.reading.path}: retyped {', '.join(_types(change))}"
    layout = Layout(change.struct)
    places = (layout.find(each.path) for each in change.retyped[:_MOST_MOVES])
    return judge_once(False, message, tuple(filter(None, places)), _advice(held))


def _types(change: LayoutChange) -> Iterator[str]:
    yield from map(phrases.types, change.retyped[:_MOST_EDITS])
    if len(change.retyped) > _MOST_EDITS:
        yield f"and {quantity(len(change.retyped) - _MOST_EDITS, 'more field')}"


def _edits(edits: Edits) -> Iterator[str]:
    """Yield the edits, first the one that pushed fields, and the fields that they moved."""
    sizes = {edit.path: edit for edit in edits.edits}
    others = [each for each in edits.edits if each != edits.cause and not _is_of_elements(each, sizes)]
    every = [*filter(None, (edits.cause,)), *others]
    yield from map(phrases.edit, every[:_MOST_EDITS])
    if len(every) > _MOST_EDITS:
        yield quantity(len(every) - _MOST_EDITS, "more edit")
    moves = list(map(phrases.offsets, edits.moves))
    if moves:
        rest = len(moves) - _MOST_MOVES
        hidden = f" and {quantity(rest, 'more field')} moved" if rest > 0 else ""
        yield ", ".join(moves[:_MOST_MOVES]) + hidden


def _is_of_elements(edit: Edit, by_path: Mapping[str, Edit]) -> bool:
    """Return whether an edit of elements is said by the edit of their array, which has as many as before."""
    array = by_path.get(edit.path.removesuffix("[0]"))
    if array is None or array is edit or array.old is None or array.new is None:
        return False
    return array.old.field.dims == array.new.field.dims


def _evidence(edits: Edits) -> Iterator[Place]:
    """Yield the fields as they are now: the one whose edit pushed others first, then the moved ones."""
    own = (edit.new for edit in (*filter(None, (edits.cause,)), *edits.edits))
    places = (*own, *(move.new for move in edits.moves))
    shown = {place.path: place for place in reversed(places) if place is not None}
    yield from list(reversed(shown.values()))[: _MOST_MOVES + 1]
