"""Clang's layout of a struct from its declaration: clang/lib/AST/RecordLayoutBuilder.cpp (Itanium), for C.

libclang states this layout. It is computed again to learn the value of `#pragma pack`, which libclang does
not state, and to prove that all that decides the layout is known.
"""

from __future__ import annotations

from layoutlint.model.record import Record, field
from layoutlint.readers.clang.record_facts import MemberFacts, RecordFacts, RecordLayout, round_up


class ClangRules(Record, frozen=True):
    """The rules of a target."""

    aligns_unnamed: bool = False
    """Whether unnamed bit-fields align structs (useZeroLengthBitfieldAlignment: ARM)."""


def layout(facts: RecordFacts, pack: int, rules: ClangRules) -> RecordLayout:
    """Return the layout; `pack` is the value of `#pragma pack` or `-fpack-struct=` in bytes, 0 for none."""
    builder = _ClangLayout(facts, pack * 8, rules, align=max(8, facts.clang_aligned * 8))
    for member in facts.members:
        if member.width is None:
            builder.place(member)
        else:
            builder.place_bits(member, member.width)
    return RecordLayout(round_up(builder.end, builder.align), builder.align // 8, tuple(builder.offsets))


class _ClangLayout(Record):
    """A layout in progress, all in bits."""

    facts: RecordFacts
    pack: int
    rules: ClangRules
    align: int
    end: int = 0
    unfilled: int = 0
    """The free bits before `end`, behind a bit-field."""
    unit: int = 0
    """The size of the storage unit of the last bit-field of an `ms_struct`; 0 behind another member."""
    offsets: list[int] = field(default_factory=list)

    def place(self, member: MemberFacts) -> None:
        """Place a member that is no bit-field."""
        self.unfilled = self.unit = 0
        align, size = member.clang_align * 8, member.clang_bit_size
        own = member.builtin_bits if self.facts.clang_is_ms else 0
        if not own & (own - 1):
            align = max(align, own)
        is_packed = self.facts.clang_is_packed or member.is_packed
        align = max(8 if is_packed else align, member.clang_aligned * 8)
        align = min(align, self.pack) if self.pack else align
        offset = 0 if self.facts.is_union else round_up(self.end, align)
        self.offsets.append(offset)
        self.end = max(self.end, offset + size)
        self.align = max(self.align, align)

    def place_bits(self, member: MemberFacts, width: int) -> None:
        """Place a bit-field."""
        is_ms, size = self.facts.clang_is_ms, member.clang_bit_size
        align = size if is_ms else member.clang_align * 8
        if is_ms and (self.unit != size or self.unfilled < width):
            align = 1 if not self.unit and not width else align
            self.unfilled = self.unit = 0
        offset = 0 if self.facts.is_union else self.end - self.unfilled
        align = self._bit_alignment(member, width, align)
        if is_ms:
            if not width or width > self.unfilled:
                offset, self.unfilled = round_up(offset, align), 0
        elif not width or (not self.pack and (offset & (align - 1)) + width > size):
            offset = round_up(offset, align)
        elif member.clang_aligned and (not self.pack or member.clang_aligned * 8 <= self.pack):
            offset = round_up(offset, member.clang_aligned * 8)
        self.offsets.append(offset)
        if not is_ms and not self.rules.aligns_unnamed and not member.is_named:
            align = 1
        self._extend(offset, width, size)
        self.align = max(self.align, align)

    def _bit_alignment(self, member: MemberFacts, width: int, align: int) -> int:
        is_packed = self.facts.clang_is_packed or member.is_packed
        unpacked = max(align, member.clang_aligned * 8)
        is_narrow = is_packed and width and not self.facts.clang_is_ms
        align = max(1 if is_narrow else align, member.clang_aligned * 8)
        if self.pack and width:
            align = min(unpacked if is_packed else align, self.pack)
        return 1 if self.facts.clang_is_ms and self.facts.is_union else align

    def _extend(self, offset: int, width: int, size: int) -> None:
        """Reserve the bits of a bit-field, and the rest of their byte or storage unit."""
        is_ms = self.facts.clang_is_ms
        if self.facts.is_union:
            self.end = max(self.end, (size if width else 8) if is_ms else round_up(width, 8))
        elif is_ms and width:
            if not self.unfilled:
                self.end = offset + size
                self.unfilled = size
            self.unfilled -= width
            self.unit = size
        else:
            self.end = round_up(offset + width, 8)
            self.unfilled = self.end - offset - width
            self.unit = 0
