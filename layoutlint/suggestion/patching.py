"""A suggested order as a change of the text, read again by all builds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutlint import files
from layoutlint.model.aligner import LINUX, PLAIN, Aligner
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct
from layoutlint.readers.clang import members
from layoutlint.sources import order_uses
from layoutlint.sources.bodies.problems import new_problems
from layoutlint.suggestion.builds import ArrangedSubject, Subject, unit_of
from layoutlint.suggestion.orders.result import Alternative, Patch, Refusal, Suggestion
from layoutlint.suggestion.text import read_text, shown_path


def with_patch(arranged: Sequence[ArrangedSubject], result: Suggestion) -> Suggestion:
    """Return a suggestion with the change of the text, which was read again with the new offsets."""
    if result.new is None or result.status == "refused":
        return result
    if result.status == "infeasible":
        return replace(result, no_patch="no order keeps all rules")
    if result.status == "unknown":
        return replace(result, no_patch=result.reason)
    for subject in (each.subject for each in arranged):
        if subject.input_struct.judged.reading.reader != "clang":
            place = "" if subject.build is None else f" (build {subject.build.name})"
            reason = f"{subject.path} is not C text{place}: give the header or source that defines the struct"
            return replace(result, no_patch=reason)
    try:
        patch = _patch(arranged, result)
    except members.CannotMove as error:
        place = f"line {error.line}: " if error.line is not None else ""
        return replace(result, no_patch=f"{place}{error.reason}")
    refusals = () if result.is_forced or not patch.diff else _refusals(arranged, patch)
    if refusals:
        return replace(result, status="refused", refusals=(*result.refusals, *refusals))
    return replace(result, patch=patch)


def _refusals(arranged: Sequence[ArrangedSubject], patch: Patch) -> tuple[Refusal, ...]:
    """Return the errors that the changed text makes in the input, if it is a header, and in its users."""
    refusals = dict[Refusal, None]()
    for each in arranged:
        options = replace(each.subject.options.read, cache=False)
        path = each.subject.path
        header = (path,) if path.endswith(".h") and files.is_file(path) else ()
        for problem in new_problems((*each.around.users, *header), patch.file, patch.text, options):
            reason = f"the order makes an error: {problem.text}"
            refusals[Refusal("compile-error", reason, problem.file, problem.line)] = None
    return tuple(refusals)


class _OrderInText(Record, frozen=True):
    """An order of the members of one build, in the file that defines the struct."""

    arranged: ArrangedSubject
    order: tuple[int, ...]
    """Numbers of the struct's fields."""
    new: Struct
    addition: Alternative | None = None
    """What is added, besides the order; its padding is not in `order`."""

    @property
    def subject(self) -> Subject:
        """The struct as it was read."""
        return self.arranged.subject

    def texts(self, file: str, old: str) -> Iterator[str]:
        """Yield the changed text, in each way to write an alignment. Raises CannotMove."""
        arrangement = self.arranged.arrangement
        struct = arrangement.struct
        text = members.reorder_members(old, struct, self.order)
        if self.addition is None:
            yield text
            return
        if text != old:
            path, options = unit_of(self.subject)
            read = members.verify(path, struct, file, text, options)
            struct = arrangement.flatten(read)
        yield from _texts_with(self.addition, self.subject, struct, text)

    def fault(self, file: str, old: str, text: str) -> str:
        """Return why a changed text is not this order as its build reads it; empty if it is."""
        if text == old:
            # A bit-field without a name can be what moves: the order of the fields does not show it.
            is_declared = list(self.order) == sorted(self.order)
            is_same = is_declared and _offsets(self.arranged.arrangement.struct) == _offsets(self.new)
            return "" if is_same else "the text does not show the order"
        path, options = unit_of(self.subject)
        try:
            read = members.verify(path, self.subject.input_struct.struct, file, text, options)
        except members.CannotMove as error:
            return error.reason
        is_same = _offsets(self.arranged.arrangement.flatten(read)) == _offsets(self.new)
        return "" if is_same else "the changed text has other offsets than the suggested order"


def _texts_with(one: Alternative, subject: Subject, struct: Struct, text: str) -> Iterator[str]:
    """Yield a text with an addition to a struct that it defines. Raises CannotMove."""
    numbers = {name: number for number, name in enumerate(order_uses.member_names(struct))}
    if one.padding is not None:
        declaration = f"char {one.padding}[{one.padding_bytes}];"
        yield members.add_member(text, struct, numbers[one.before_padding], declaration)
        return
    fields = [numbers[name] for name in one.aligned]
    for aligner in dict.fromkeys((_aligner(subject), PLAIN)):
        for line in (one.line, 0):  # the macro, then the number: the macro depends on the configuration
            if fields and not aligner.is_attribute:
                code = aligner.of_member(one.line, line)
                yield members.add_before(text, struct, fields, code)
            yield members.add_attribute(text, struct, fields, aligner.of_declarator(one.line, line))


def _aligner(subject: Subject) -> Aligner:
    """Return what aligns declarations in the file that defines a struct."""
    read = subject.options.read
    is_kernel = read.kernel_tree is not None or bool(members.kernel_roots(subject.path, read))
    return LINUX if is_kernel else subject.input_struct.judged.aligner


def _patch(arranged: Sequence[ArrangedSubject], result: Suggestion) -> Patch:
    """Return the change of the file, which all builds read with their promised offsets. Raises CannotMove."""
    parts, one = [each.result for each in result.builds] or [result], result.chosen
    orders = [
        _OrderInText(
            each,
            tuple(each.names.index(name) for name in part.order if not (one and name == one.padding)),
            part.new,
            one,
        )
        for each, part in zip(arranged, parts, strict=True)
        if part.new is not None
    ]
    first, *others = (each.subject for each in arranged)
    file, old = read_text(first.input_struct, first.options)
    for subject in others:
        other, text = read_text(subject.input_struct, subject.options)
        if files.real_path(other) != files.real_path(file) or text != old:
            here, there = (each.input_struct.struct for each in (first, subject))
            names = dict.fromkeys((shown_path(here, file), shown_path(there, other)))
            raise members.CannotMove(f"the builds read different files: {' and '.join(names)}")
    text = _agreed_text(orders, file, old)
    moved = {move.member for move in result.moves}
    notes = dict.fromkeys(
        note
        for each in arranged
        for member in members.split_members(old, each.arrangement.struct)
        if any(each.names[number] in moved for number in member.fields)
        for note in member.notes
    )
    diff = members.unified_diff(old, text, shown_path(first.input_struct.struct, file))
    return Patch(file, old, text, diff, tuple(notes))


def _agreed_text(orders: Sequence[_OrderInText], file: str, old: str) -> str:
    """Return a changed text that each build reads as its order. Raises CannotMove.

    Where members stand behind `#if`, builds can see different texts for the same order: the first one that
    fits all is taken, those of the builds with most members first.
    """
    faults: list[str] = []
    tried: set[str] = set()
    for each in sorted(orders, key=lambda one: -len(one.order)):
        for text in each.texts(file, old):
            if text in tried:
                continue
            tried.add(text)
            fault = next((fault for one in orders if (fault := one.fault(file, old, text))), "")
            if not fault:
                return text
            faults.append(fault)
    raise members.CannotMove(faults[0])


def _offsets(struct: Struct) -> tuple[object, ...]:
    return struct.bit_size, tuple((f.name, f.bit_offset, f.bit_size) for f in struct.fields)
