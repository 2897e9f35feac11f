"""A suggested order as a change of the text, read again by all builds."""

from __future__ import annotations

from collections.abc import Sequence

from layoutlint import files
from layoutlint.lint.reordering.builds import ArrangedSubject, Subject
from layoutlint.lint.reordering.text import read_text, shown_path
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct
from layoutlint.readers.clang import members
from layoutlint.suggestion.result import Patch, Suggestion


def with_patch(arranged: Sequence[ArrangedSubject], result: Suggestion) -> Suggestion:
    """Return a suggestion with the change of the text, which was read again with the new offsets."""
    if result.new is None or result.status == "refused":
        return result
    if result.status == "infeasible":
        return replace(result, no_patch="no order keeps all rules")
    if result.status == "unknown":
        return replace(result, no_patch=result.reason)
    for subject in (each.subject for each in arranged):
        if subject.found.judged.reading.reader != "clang":
            place = "" if subject.build is None else f" (build {subject.build.name})"
            reason = f"{subject.path} is no C text{place}: give the header or source that defines the struct"
            return replace(result, no_patch=reason)
    try:
        return replace(result, patch=_patch(arranged, result))
    except members.CannotMove as error:
        place = f"line {error.line}: " if error.line is not None else ""
        return replace(result, no_patch=f"{place}{error.reason}")


class _OrderInText(Record, frozen=True):
    """An order of the members of one build, in the file that defines the struct."""

    subject: Subject
    order: tuple[int, ...]
    """Numbers of the struct's fields."""
    new: Struct

    def text(self, old: str) -> str:
        """Return the changed text. Raises CannotMove."""
        return members.reorder_members(old, self.subject.found.struct, self.order)

    def fault(self, file: str, old: str, text: str) -> str:
        """Return why a changed text is not this order as its build reads it; empty if it is."""
        if text == old:
            return "" if list(self.order) == sorted(self.order) else "the text does not show the order"
        found, options = self.subject.found, self.subject.options
        try:
            read = members.verify(self.subject.path, found.struct, file, text, options.read)
        except members.CannotMove as error:
            return error.reason
        is_same = _offsets(read) == _offsets(self.new)
        return "" if is_same else "the changed text has other offsets than the suggested order"


def _patch(arranged: Sequence[ArrangedSubject], result: Suggestion) -> Patch:
    """Return the change of the file, which all builds read with their promised offsets. Raises CannotMove."""
    parts = [each.result for each in result.builds] or [result]
    orders = [
        _OrderInText(each.subject, tuple(map(each.names.index, part.order)), part.new)
        for each, part in zip(arranged, parts, strict=True)
        if part.new is not None
    ]
    first, *others = (each.subject for each in arranged)
    file, old = read_text(first.found, first.options)
    for subject in others:
        other, text = read_text(subject.found, subject.options)
        if files.real_path(other) != files.real_path(file) or text != old:
            names = shown_path(first.found.struct, file), shown_path(subject.found.struct, other)
            raise members.CannotMove(f"the builds read different files: {' and '.join(dict.fromkeys(names))}")
    text = _agreed_text(orders, file, old)
    moved = {move.member for move in result.moves}
    notes = dict.fromkeys(
        note
        for each in arranged
        for member in members.split_members(old, each.subject.found.struct)
        if any(each.names[number] in moved for number in member.fields)
        for note in member.notes
    )
    diff = members.unified_diff(old, text, shown_path(first.found.struct, file))
    return Patch(file, old, text, diff, tuple(notes))


def _agreed_text(orders: Sequence[_OrderInText], file: str, old: str) -> str:
    """Return a changed text that each build reads as its order. Raises CannotMove.

    Where members stand behind `#if`, builds can see different texts for the same order: the first one that
    fits all is taken, those of the builds with most members first.
    """
    faults: list[str] = []
    tried: set[str] = set()
    for each in sorted(orders, key=lambda one: -len(one.order)):
        text = each.text(old)
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
