"""gcc's layout of a struct from its declaration: gcc/stor-layout.cc, gcc/config and gcc/c/c-decl.cc ."""

from __future__ import annotations

from layoutlint.model.record import Record, field
from layoutlint.readers.clang.record_facts import (
    MemberFacts,
    Mode,
    RecordFacts,
    RecordLayout,
    TypeFacts,
    round_up,
)

NARROWED = (Mode.INTEGER, Mode.DOUBLE)
"""What i386 aligns to a word in structs."""
_BYTE = 8


class GccRules(Record, frozen=True):
    """The rules of a target and its flags."""

    biggest_align: int
    """BIGGEST_ALIGNMENT in bytes."""
    most_mode_bits: int = 64
    """The bits of the largest integer that a bit-field becomes (MAX_FIXED_MODE_SIZE)."""
    aligns_unnamed: bool = False
    """Whether unnamed bit-fields align structs (TARGET_ALIGN_ANON_BITFIELD: AAPCS)."""
    narrows_fields: bool = False
    """Whether wide integers and `double` are aligned to 4 bytes in structs (x86_field_alignment)."""
    packs_all: bool = False
    """Whether `-fpack-struct` is given without a number."""
    initial_pack: int = 0
    """The number of `-fpack-struct=`, in bytes; 0 for none."""


def layout(facts: RecordFacts, pack: int, rules: GccRules) -> tuple[RecordLayout, bool]:
    """Return the layout, and whether an `aligned` decides its alignment.

    `pack` is the value of `#pragma pack` at the closing brace, in bytes; 0 for none.
    """
    own = facts.aligned[-1] * 8 if facts.aligned else _BYTE
    offset_align = max(own, rules.biggest_align * 8)
    builder = _GccLayout(facts, pack * 8, rules, record_align=own, offset_align=offset_align)
    last = max((number for number, _ in enumerate(facts.members)), default=-1)
    for number, member in enumerate(facts.members):
        if facts.is_union:
            builder.place_in_union(member)
        else:
            builder.place(member, number == last)
    size = round_up(builder.offset + builder.position, _BYTE)
    align = max(own, builder.record_align)
    is_user = builder.is_user_aligned or bool(facts.aligned)
    return RecordLayout(round_up(size, align), align // 8, tuple(builder.offsets)), is_user


class _GccLayout(Record):
    """A layout in progress (record_layout_info), all in bits."""

    facts: RecordFacts
    pack: int
    rules: GccRules
    record_align: int
    offset_align: int
    """The alignment of `offset`."""
    offset: int = 0
    position: int = 0
    """Counts from `offset`. gcc rounds it up by itself, so that a larger alignment leads elsewhere."""
    remaining: int = 0
    """The bits that are left in the storage unit of a run of bit-fields (MS layout)."""
    previous: MemberFacts | None = None
    """The bit-field before, in a run (MS layout)."""
    is_user_aligned: bool = False
    offsets: list[int] = field(default_factory=list)

    def place_in_union(self, member: MemberFacts) -> None:
        """Place a member of a union (place_union_field)."""
        self._aligned_for(member, 0)
        self.offsets.append(0)
        size = member.type.bit_size if member.width is None else member.width
        self.position = max(self.position, round_up(size, _BYTE))

    def place(self, member: MemberFacts, is_last: bool) -> None:
        """Place a member of a struct (place_field)."""
        known = (self.offset + self.position) & -(self.offset + self.position)
        desired, is_bits = self._aligned_for(member, known)
        known = known or max(self.rules.biggest_align * 8, self.record_align)
        if known < desired and (not self.facts.is_ms or self.previous is None):
            self._align(desired)
        is_packed = self._is_packed(member)
        if is_bits and not self.facts.is_ms and not is_packed and not self.pack and member.width:
            align = self._field_align(member.type, member.type.align * 8)
            self.is_user_aligned |= member.type.is_user_aligned
            begin = (self.offset + self.position) % align
            if _excess_unit_span(begin, member.width, align, member.type.bit_size):
                self.position = round_up(self.position, align)
        if self.facts.is_ms:
            self._begin_ms(member, desired if known < desired else 0)
        self._normalise()
        self.offsets.append(self.offset + self.position)
        if self.previous is None and member.width is not None:
            self.previous = member
        self.position += member.type.bit_size if member.width is None else member.width
        if self.facts.is_ms and member.width and is_last:
            self.position += self.remaining
        self._normalise()

    def _align(self, align: int) -> None:
        """Move to an alignment of at least a byte."""
        if align < self.offset_align:
            self.position = round_up(self.position, align)
        else:
            self.offset = round_up(self.offset + round_up(self.position, _BYTE), align)
            self.position = 0

    def _normalise(self) -> None:
        """Count from the last multiple of `offset_align` (normalize_rli)."""
        self.offset += self.position // self.offset_align * self.offset_align
        self.position %= self.offset_align

    def _begin_ms(self, member: MemberFacts, lacking: int) -> None:
        """Move to where a member begins in MS layout; `lacking` is the alignment that it has not, or 0."""
        before, size, width = self.previous, member.type.bit_size, member.width
        if before is not None:
            if width and before.width and size == before.type.bit_size:
                lacking = self._continue_run(member, width, lacking)
            else:
                before = self._end_run(before, width)
            if lacking:
                self._align(lacking)
            self._normalise()
        is_new = width is None or (before.type.bit_size != size if before is not None else width != 0)
        if is_new:
            self.remaining = 0 if width is None else max(0, size - width)
            align = _BYTE if self._is_packed(member) else member.type.align * 8
            self.position = round_up(self.position, min(align, self.pack) if self.pack else align)
            self.previous = None

    def _continue_run(self, member: MemberFacts, width: int, lacking: int) -> int:
        """Take bits of the storage unit, or begin another of the same type; return the lacking alignment."""
        if self.remaining >= width:
            self.remaining -= width
            return 0
        self.position += self.remaining
        self.previous = member
        self.remaining = max(0, member.type.bit_size - width)
        return lacking

    def _end_run(self, before: MemberFacts, width: int | None) -> MemberFacts | None:
        """Use up the storage unit before a member of another type; return the bit-field, if it counts."""
        if not width:
            self.previous = None
        if not before.width:
            return None
        self.position += self.remaining
        return before

    def _aligned_for(self, member: MemberFacts, known: int) -> tuple[int, bool]:
        """Return the alignment that a member needs, and whether it still is a bit-field; raise that of the
        record (update_alignment_for_field).
        """
        desired, is_bits, is_user = self._declared_align(member, known)
        is_bit_field = member.width is not None and member.type.bit_size > 0
        if self.facts.is_ms:
            self._align_for_ms(member, is_bit_field, desired)
        elif not is_bit_field:
            self.record_align = max(self.record_align, desired)
        elif member.is_named or self.rules.aligns_unnamed:
            align = self._field_align(member.type, member.type.align * 8)
            if not member.width:
                align = min(align, self.rules.initial_pack * 8) if self.rules.initial_pack else align
            elif self.pack:
                align = min(align, self.pack)
            elif self._is_packed(member):
                align = _BYTE
            self.record_align = max(self.record_align, desired, align)
            is_user |= member.type.is_user_aligned
        self.is_user_aligned |= is_user
        return desired, is_bits

    def _align_for_ms(self, member: MemberFacts, is_bit_field: bool, desired: int) -> None:
        """Raise the alignment of the record for a member in MS layout."""
        is_packed = self._is_packed(member)
        counts = not is_packed if member.width else bool(self.previous and self.previous.width)
        if not is_bit_field or counts:
            align = desired if is_packed and not is_bit_field else max(member.type.align * 8, desired)
            self.record_align = max(self.record_align, min(align, self.pack) if self.pack else align)

    def _declared_align(self, member: MemberFacts, known: int) -> tuple[int, bool, bool]:
        """Return the alignment of a member by itself, whether it still is a bit-field, and whether an
        `aligned` decides it (layout_decl).
        """
        ctype, is_packed = member.type, self._is_packed(member)
        align, is_user = max(1, member.aligned * 8), member.aligned > 0
        was_user, is_zero, is_bits = is_user, False, member.width is not None
        if is_bits and not member.width and not self.facts.is_ms:
            is_zero, is_packed = True, False
        takes_type = (not is_bits or is_zero) and not (is_packed and is_user)
        if takes_type and ctype.align * 8 > align:
            align, is_user = ctype.align * 8, ctype.is_user_aligned
        if is_bits and self._becomes_integer(member, known):
            align, is_bits = max(member.width or 0, align), False
        if is_packed and not was_user:
            align = min(align, _BYTE)
        if not is_packed and not is_user and self.rules.narrows_fields and ctype.mode in NARROWED:
            align = min(align, 32)
        most = self.rules.initial_pack * 8 if is_zero else self.pack
        return (min(align, most) if most else align), is_bits, is_user

    def _becomes_integer(self, member: MemberFacts, known: int) -> bool:
        """Return whether a bit-field becomes an integer: it is as wide as one and stands where one can."""
        width = member.width or 0
        is_possible = member.type.mode is Mode.INTEGER
        if not is_possible or width not in (8, 16, 32, 64, 128) or width > self.rules.most_mode_bits:
            return False
        align = min(width, self.rules.biggest_align * 8)
        return not (align > _BYTE and self._is_packed(member)) and (not known or known >= align)

    def _field_align(self, ctype: TypeFacts, align: int) -> int:
        return min(align, 32) if _is_narrowed(ctype, self.rules) else align

    def _is_packed(self, member: MemberFacts) -> bool:
        """Return whether a member is packed, by itself or by its struct (finish_struct)."""
        can_be = member.width is not None or member.type.align > 1
        return can_be and (member.is_packed or self.facts.is_packed or self.rules.packs_all)


def _excess_unit_span(offset: int, width: int, align: int, bit_size: int) -> bool:
    """Return whether a bit-field spans more units of the alignment of its type than the type does."""
    return (offset + width + align - 1) // align > bit_size // align


def field_alignment(ctype: TypeFacts, rules: GccRules) -> int:
    """Return the alignment of a type in a struct, in bytes (ADJUST_FIELD_ALIGN); `aligned` has precedence."""
    return min(ctype.align, 4) if _is_narrowed(ctype, rules) else ctype.align


def _is_narrowed(ctype: TypeFacts, rules: GccRules) -> bool:
    return rules.narrows_fields and ctype.mode in NARROWED and not ctype.is_user_aligned
