"""A change of a struct as a sentence, in words that compile where they are to stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from layoutlint import files
from layoutlint.lint.changed_layout import Change, Changeable, Path, words
from layoutlint.model.aligner import Aligner
from layoutlint.model.record import Record

_LARGEST = 1 << 24
"""The most bytes of a file that defines a struct."""


class RepairWords(Record, frozen=True, dict=True):
    """Words for changes of one struct."""

    own: Changeable
    aligner: Aligner
    reader: str

    def describe(self, change: Change) -> str:
        """Return what to write and to move, and the size of the struct then.

        Uses of the order in sources were not searched: a change with moves says so.
        """
        steps = [*self._aligns(change), *self._moves(change), *self._pads(change)]
        old, new = ((one.bit_size or 0) // 8 for one in (self.own.struct, self.own.apply(change)))
        size = f"still {old:,} bytes" if new == old else f"{new:,} bytes, now {old:,}"
        uses = "; `suggest` checks uses of the order" if change.moves else ""
        return f"{', then '.join(steps)} ({size}{uses})"

    def _aligns(self, change: Change) -> Iterator[str]:
        line = self.own.struct.target.line_size
        if change.of_struct:
            struct, code = self.own.struct, self.aligner.of_declarator(change.of_struct, line)
            yield f"write `{code}` behind the closing brace of {struct.aggregate} {struct.name}"
        for size in sorted({size for _, size in change.aligned}):
            own = [at for at, each in change.aligned if each == size]
            alone = [path for path in own if not self._shares_declaration(path)]
            joined = [path for path in own if self._shares_declaration(path)]
            if alone:
                code = self.aligner.of_member(size, line)
                yield f"write `{code}` {self.aligner.where} {words(map(self.own.name, alone))}"
            if joined:
                code = self.aligner.of_declarator(size, line)
                yield f"write `{code}` behind {words(map(self.own.name, joined))}"

    def _moves(self, change: Change) -> Iterator[str]:
        for member, behind in change.moves:
            where = f"behind {self.own.words(behind)}" if behind >= 0 else "to the start"
            yield f"move {self.own.words(member)} {where}"

    def _pads(self, change: Change) -> Iterator[str]:
        names = {field.name for field in self.own.apply(change).fields}
        pads = sorted(name for name in names - {field.name for field in self.own.struct.fields} if name)
        for name, (member, size) in zip(pads, change.padding, strict=True):
            yield f"add `char {name}[{size}];` behind {self.own.words(member)}"

    def _shares_declaration(self, path: Path) -> bool:
        """Return whether a member is declared with others, or may be: inside a type without a tag."""
        return not self.aligner.is_attribute and (len(path) > 1 or path[0] in self._joined)

    @cached_property
    def _joined(self) -> frozenset[int]:
        """The members that are declared with others (`long a, b;`), where C11 aligns all or none."""
        declared = self._declared_in_text() if self.reader == "clang" else None
        lists = self._on_one_line() if declared is None else declared
        return frozenset(at for own in lists if len(own) > 1 for at in own)

    def _declared_in_text(self) -> list[Sequence[int]] | None:
        """Return the members of each declaration; None if the text is not understood."""
        source = self.own.struct.source
        if source is None:
            return None
        from layoutlint.readers.clang import members  # compiled inputs have no text

        try:
            text = files.read_all(source.file, _LARGEST).decode("utf-8", "surrogateescape")
            return [each.fields for each in members.split_members(text, self.own.struct)]
        except (OSError, members.CannotMove):
            return None

    def _on_one_line(self) -> list[Sequence[int]]:
        """Return the members of each line, if lines are known, else all as one."""
        lines: dict[object, list[int]] = {}
        for at, field in enumerate(self.own.struct.fields):
            lines.setdefault(field.source, []).append(at)
        return list(lines.values())
