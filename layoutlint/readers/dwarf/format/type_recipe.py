"""Recipes: which attributes of an entry make up its shape.

A layout is decoded from these, in one fixed order.
"""

from __future__ import annotations

from array import array
from functools import lru_cache
from typing import Final

from layoutlint.readers.dwarf.format import forms
from layoutlint.readers.dwarf.format.constants import attribute, tag

Pair = tuple[int, int, int]
"""An attribute, its form, and its bytes or a SKIP code."""

DROP, NUMBER, SIGNED, REFER, FILE, PLACE, INDEX, TEXT, ELSEWHERE = range(9)
"""What to do with an attribute: drop it; use its value, unsigned or signed; use the shape it refers to;
the number of the path of its file; the string at its position in .debug_str, or with its index; its bytes;
the string that it refers to in any other way."""
_SIMPLE: Final = frozenset((DROP, NUMBER, REFER, FILE, PLACE))
"""Actions that need no more than the four bytes of an attribute."""

_ALL: Final = (1 << 64) - 1
_NAME: Final = attribute("name")
_TYPE: Final = attribute("type")
_FILE: Final = attribute("decl_file")
_LINE: Final = attribute("decl_line")
_SIGNATURE: Final = attribute("signature")
_SIZE: Final = attribute("byte_size")
_IS_LOCATED: Final = 1 << 62
_LOCATION: Final = attribute("data_member_location")
_LENGTHS: Final = (attribute("count"), attribute("upper_bound"))
USED: Final = (
    _NAME,
    _TYPE,
    _SIGNATURE,
    _FILE,
    _LINE,
    *(attribute(name) for name in ("declaration", "byte_size", "alignment", "encoding")),
    *(attribute(name) for name in ("bit_size", "bit_offset", "data_bit_offset", "data_member_location")),
    *(attribute(name) for name in ("count", "upper_bound", "lower_bound", "prototyped", "GNU_vector")),
)
"""All attributes from which types and members are decoded; nothing else distinguishes two shapes."""
_NARROW: Final = 4
"""Bytes of string positions and references in 32-bit DWARF."""
_WORD: Final = (1 << 32) - 1
_COMPUTED: Final = len(USED)
"""The bit of `head` for a length that refers to the entry which computes it."""
_STATED: Final = _COMPUTED + 1
"""The bit of `head` for an abbreviation with a constant name or reference, where none can be."""
_ELSEWHERE_ONLY: Final = (_NAME, _TYPE, _SIGNATURE)
_SHORT: Final = ([_NAME, _TYPE], [_NAME, _TYPE, _LOCATION])
"""The attributes of members that fit into two words."""

TRANSPARENT: Final = (
    tag("shared_type"),
    tag("immutable_type"),
    *(tag(f"TI_{name}_type") for name in ("far", "near", "ioport", "restrict", "onchip")),
    tag("LLVM_ptrauth_type"),
)
"""Qualifiers that change neither layouts nor spellings, only where an object is or how it is reached."""
_MEMBER: Final = tag("member")
_POINTER: Final = tag("pointer_type")
_WHOLE: Final = frozenset(
    tag(name)
    for name in (
        *("member", "structure_type", "class_type", "union_type", "typedef", "array_type"),
        *("const_type", "volatile_type", "restrict_type", "atomic_type"),
    )
) | frozenset(TRANSPARENT)
_SPELLED: Final = frozenset(
    tag(name) for name in ("pointer_type", "subroutine_type", "formal_parameter", "unspecified_parameters")
)
_TYPES: Final = (_WHOLE - {_MEMBER}) | {
    tag(f"{name}_type")
    for name in (
        *("pointer", "subroutine", "base", "enumeration", "unspecified"),
        *("reference", "rvalue_reference", "ptr_to_member"),
    )
}
_FUNCTION: Final = tag("subroutine_type")
_PARTS: Final = frozenset(
    tag(name) for name in ("member", "subrange_type", "formal_parameter", "unspecified_parameters")
)
_AGGREGATES: Final = frozenset((tag("structure_type"), tag("class_type"), tag("union_type")))
_DIVIDED: Final = _AGGREGATES | {tag("array_type"), _FUNCTION}
_NAMED: Final = _AGGREGATES | {
    tag(name) for name in ("enumeration_type", "base_type", "typedef", "unspecified_type")
}
_PLACED: Final = _AGGREGATES
"""Types that their declaration's place distinguishes. Members are declared inside their struct."""


_ACTIONS: Final = {forms.STRING: TEXT, forms.STRP: PLACE, **dict.fromkeys(forms.STRX, INDEX)}
"""Actions for the forms of a name."""


NO_TYPE, LEAF, DERIVED, STRUCT = range(4)
"""The role of an entry as a type: none; a type without inner type; one derived from another; a struct or
union."""


def role(entry_tag: int) -> int:
    """Return NO_TYPE, LEAF, DERIVED or STRUCT."""
    if entry_tag in _AGGREGATES:
        return STRUCT
    if entry_tag not in _TYPES:
        return NO_TYPE
    return DERIVED if entry_tag in _WHOLE else LEAF


def find_recipe(entry_tag: int, pairs: list[Pair], constants: dict[int, int]) -> Recipe:
    """Return the recipe of an abbreviation.

    Many differ only in constants that do not matter, and share one.
    """
    relevant = [(number, value) for number, value in constants.items() if _is_relevant(entry_tag, number)]
    return _recipe(entry_tag, tuple(pairs), tuple(relevant))


@lru_cache(1 << 12)
def _recipe(entry_tag: int, pairs: tuple[Pair, ...], constants: tuple[tuple[int, int], ...]) -> Recipe:
    return Recipe(entry_tag, pairs, dict(constants))


class Recipe:
    """How to compute the shape of an abbreviation's entries. Equal attributes give equal words."""

    def __init__(self, entry_tag: int, pairs: tuple[Pair, ...], constants: dict[int, int]) -> None:
        last = {number: index for index, (number, _, _) in enumerate(pairs)}
        actions = {number: _action(entry_tag, number, form) for number, form, _ in pairs}
        self.is_whole = entry_tag in _WHOLE
        """Whether all of the type that it refers to matters, not only its spelling."""
        self.is_type = entry_tag in _TYPES
        self.is_part = entry_tag in _PARTS
        """Whether its shape is a part of its parent's."""
        self.has_parts = entry_tag in _DIVIDED
        self.is_function = entry_tag == _FUNCTION
        self.is_named = entry_tag in _NAMED and (_NAME in actions or _SIGNATURE not in actions)
        """Whether its spelling is its name."""
        constants = {number: value for number, value in constants.items() if number not in actions}
        actions |= dict.fromkeys(constants, NUMBER)
        used = [number for number in USED if actions.get(number, DROP)]
        rank = {number: index for index, number in enumerate(used)}
        self.head = entry_tag << 32 | sum(1 << USED.index(number) for number in used)
        """The first word: the tag, and which attributes follow."""
        if any(form in forms.REFERENCES for number, form, _ in pairs if number in _LENGTHS):
            self.head |= 1 << _COMPUTED
        is_stated = not constants.keys().isdisjoint(_ELSEWHERE_ONLY)
        if is_stated:
            self.head |= 1 << _STATED
        self.count = len(used)
        steps: list[int] = []
        for index, (number, form, width) in enumerate(pairs):
            reference_form = 0 if form in forms.REF_UNIT else form
            action = actions[number] if last[number] == index else DROP  # the last of duplicates counts
            _add_step(steps, action, width, rank.get(number, -1), reference_form)
        self.steps = array("q", steps)
        """Four numbers for each attribute, or run of dropped ones: the action; bytes or SKIP code; the
        index of its word after the first, -1 for none; the form of a reference, 0 for one inside the unit."""
        self.size = len(steps)
        constant_numbers = [number for number in constants if number in rank and number != _FILE]
        self.constants = array("Q", [constants[number] & _ALL for number in constant_numbers])
        """Words with their value in the abbreviation."""
        self.ranks = array("q", [rank[number] for number in constant_numbers])
        """The indexes of these words after the first."""
        self.constant_count = len(constant_numbers)
        self.file_rank = rank.get(_FILE, -1) if _FILE in constants else -1
        """The index of the file's word, if its number is in the abbreviation."""
        self.file = constants.get(_FILE, 0) & _ALL
        self.is_short = entry_tag == _MEMBER and used in _SHORT and not is_stated
        """Whether only a name, a type and a location matter, which fit into two words."""
        self.is_located = self.is_short and len(used) > 2
        """Whether the location is stated."""
        self.mark = _IS_LOCATED if self.is_located else 0
        """The bit for that in the first of these words."""
        self.is_pointer = entry_tag == _POINTER and _TYPE in last
        """Whether it is a pointer to anything but `void`."""
        self.is_sized = self.is_pointer and used == [_TYPE, _SIZE] and not is_stated
        """Whether only a type and a size matter, which fit into a number."""
        self.has_text = steps[:3] == [TEXT, forms.SKIP_STRING, 0] and used[:1] == [_NAME]
        """Whether the entry starts with the text of its name."""
        self._find_fixed(_fixed_steps(steps[4:] if self.has_text else steps))
        self.name_step = _step_of_name(steps) if used[:1] == [_NAME] else -1
        """The index of the name's step; its word is the first."""
        self.spelled_at = _place_of_name(steps, self.name_step) if self.is_named else -1
        """The offset of the position of the name that is its spelling; -1 if finding it takes more."""

    def _find_fixed(self, fixed: list[int] | None) -> None:
        """Find the attributes at fixed offsets after a text, as returned by `_fixed_steps`."""
        self.fixed = array("q", fixed or ())
        """Four numbers for each attribute that matters: its offset after that text; a mask for its bits
        among four bytes; the index of its word after the first; the action."""
        self.fixed_size = -1 if fixed is None else sum(self.steps[5 if self.has_text else 1 :: 4])
        """Bytes of all attributes after that text if all their offsets are fixed, else -1."""
        places = {rank: (place, bits) for place, bits, rank, _ in zip(*[iter(self.fixed)] * 4, strict=True)}
        self.name_at, _ = places.get(0, (-1, 0))
        self.type_at, _ = places.get(1, (-1, 0))
        self.location_at, self.location_bits = places.get(2, (-1, 0))
        """Offsets of name, type and location of a short member after that text, and a mask for the
        location."""
        is_once = 4 * (self.count - self.has_text) == len(self.fixed) == 4 * len(places)
        is_narrow = all(bits == _WORD for rank, (_, bits) in places.items() if rank < 2)
        self.is_run = self.is_short and is_once and is_narrow
        """Whether consecutive members can be read as a run: no attribute comes twice or from elsewhere,
        and name and type take four bytes."""


def _add_step(steps: list[int], action: int, width: int, rank: int, form: int) -> None:
    last = len(steps) - 4
    if action == DROP and steps and steps[last] == DROP and min(width, steps[last + 1]) >= 0:
        steps[last + 1] += width
    else:
        steps += (action, width, rank, form)


def _fixed_steps(steps: list[int]) -> list[int] | None:
    """Return `Recipe.fixed` for these steps, None if not all have fixed offsets."""
    fixed: list[int] = []
    place = 0
    for action, width, rank, form in zip(*[iter(steps)] * 4, strict=True):
        if width < 0 or action not in _SIMPLE or (action == REFER and form):
            return None
        if action != DROP:
            if width > _NARROW:
                return None
            fixed += (place, (1 << 8 * width) - 1, rank, action)
        place += width
    return fixed


def _step_of_name(steps: list[int]) -> int:
    """Return the index of the step whose word is the first; -1 if that word is in the abbreviation."""
    steps_of_name = [
        start for start in range(0, len(steps), 4) if steps[start] != DROP and steps[start + 2] == 0
    ]
    return steps_of_name[0] if steps_of_name else -1


def _place_of_name(steps: list[int], name_step: int) -> int:
    """Return the offset of a four-byte name position in an entry; -1 if finding it takes more."""
    if name_step < 0 or steps[name_step : name_step + 2] != [PLACE, _NARROW]:
        return -1
    widths = steps[1:name_step:4]
    return sum(widths) if min(widths, default=0) >= 0 else -1


def _is_relevant(entry_tag: int, number: int) -> bool:
    """Return whether an attribute matters to the layout of this kind of entry."""
    if number in (_TYPE, _SIGNATURE):
        return entry_tag in _WHOLE or entry_tag in _SPELLED
    if number in (_FILE, _LINE):
        return entry_tag in _PLACED
    return number in USED


def _action(entry_tag: int, number: int, form: int) -> int:
    if not _is_relevant(entry_tag, number):
        return DROP
    if number in (_TYPE, _SIGNATURE):
        return REFER
    if number == _NAME:
        return _ACTIONS.get(form, ELSEWHERE)
    if number == _FILE and form != forms.STRING and form not in forms.BLOCKS:
        return FILE
    if form in forms.REFERENCES:
        return DROP if number in _LENGTHS else NUMBER
    if form == forms.SDATA:
        return SIGNED
    return NUMBER if form in forms.NUMBERS else TEXT
