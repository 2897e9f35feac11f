"""What of an entry makes its shape: the attributes that a layout is read from, in one order for everybody."""

from __future__ import annotations

from array import array
from functools import lru_cache
from typing import Final

from layoutlint.readers.dwarf.format import forms
from layoutlint.readers.dwarf.format.constants import at, tag

Pair = tuple[int, int, int]
"""An attribute, its form, and how many bytes it takes or a SKIP code."""

DROP, NUMBER, SIGNED, REFER, FILE, PLACE, INDEX, TEXT, ELSEWHERE = range(9)
"""What to do with an attribute: nothing; take its value, unsigned or signed; the shape that it refers to;
the path that it counts; the string that stands at its place, or has its number;
its bytes; the string that it means in any other way."""
_SIMPLE: Final = frozenset((DROP, NUMBER, REFER, FILE, PLACE))
"""What takes no more than the four bytes of an attribute."""

_ALL: Final = (1 << 64) - 1
_NAME: Final = at("name")
_TYPE: Final = at("type")
_FILE: Final = at("decl_file")
_LINE: Final = at("decl_line")
_SIGNATURE: Final = at("signature")
_SIZE: Final = at("byte_size")
_IS_LOCATED: Final = 1 << 62
_LOCATION: Final = at("data_member_location")
_LENGTHS: Final = (at("count"), at("upper_bound"))
USED: Final = (
    _NAME,
    _TYPE,
    _SIGNATURE,
    _FILE,
    _LINE,
    *(at(name) for name in ("declaration", "byte_size", "alignment", "encoding")),
    *(at(name) for name in ("bit_size", "bit_offset", "data_bit_offset", "data_member_location")),
    *(at(name) for name in ("count", "upper_bound", "lower_bound", "prototyped", "GNU_vector")),
)
"""Whatever types and members are decoded from; nothing else tells two shapes apart."""
_NARROW: Final = 4
"""Bytes of places and references in 32-bit DWARF."""
_WORD: Final = (1 << 32) - 1
_COMPUTED: Final = len(USED)
"""The bit of `head` that says that a length is a reference to what computes it."""
_STATED: Final = _COMPUTED + 1
"""The bit that says that the abbreviation has a name or reference, where none can be."""
_ELSEWHERE_ONLY: Final = (_NAME, _TYPE, _SIGNATURE)
_SHORT: Final = ([_NAME, _TYPE], [_NAME, _TYPE, _LOCATION])
"""What counts of members that fit into two words."""

TRANSPARENT: Final = (
    tag("shared_type"),
    tag("immutable_type"),
    *(tag(f"TI_{name}_type") for name in ("far", "near", "ioport", "restrict", "onchip")),
    tag("LLVM_ptrauth_type"),
)
"""Qualifiers that change neither layouts nor spellings: where an object lies, or how it is reached."""
_MEMBER: Final = tag("member")
_POINTER: Final = tag("pointer_type")
_WHOLE: Final = frozenset(
    tag(name)
    for name in (
        *("member", "structure_type", "union_type", "typedef", "array_type"),
        *("const_type", "volatile_type", "restrict_type", "atomic_type"),
    )
) | frozenset(TRANSPARENT)
_SPELLED: Final = frozenset(
    tag(name) for name in ("pointer_type", "subroutine_type", "formal_parameter", "unspecified_parameters")
)
_TYPES: Final = (_WHOLE - {_MEMBER}) | {
    tag(f"{name}_type") for name in ("pointer", "subroutine", "base", "enumeration", "unspecified")
}
_FUNCTION: Final = tag("subroutine_type")
_PARTS: Final = frozenset(
    tag(name) for name in ("member", "subrange_type", "formal_parameter", "unspecified_parameters")
)
_AGGREGATES: Final = frozenset((tag("structure_type"), tag("union_type")))
_DIVIDED: Final = _AGGREGATES | {tag("array_type"), _FUNCTION}
_NAMED: Final = _AGGREGATES | {
    tag(name) for name in ("enumeration_type", "base_type", "typedef", "unspecified_type")
}
_PLACED: Final = _AGGREGATES
"""Where these are declared tells them apart. Members stand where their struct does."""


_ACTIONS: Final = {forms.STRING: TEXT, forms.STRP: PLACE, **dict.fromkeys(forms.STRX, INDEX)}
"""What to do with a name of a form."""


NO_TYPE, LEAF, MADE, STRUCT = range(4)
"""What an entry is as a type: none; one that holds nothing; made of another; a struct or union."""


def role(entry_tag: int) -> int:
    """NO_TYPE, LEAF, MADE or STRUCT."""
    if entry_tag in _AGGREGATES:
        return STRUCT
    if entry_tag not in _TYPES:
        return NO_TYPE
    return MADE if entry_tag in _WHOLE else LEAF


def of(entry_tag: int, pairs: list[Pair], constants: dict[int, int]) -> Recipe:
    """The recipe of an abbreviation; many differ only in constants that do not count, and share one."""
    counted = [(number, value) for number, value in constants.items() if _counts(entry_tag, number)]
    return _shared(entry_tag, tuple(pairs), tuple(counted))


@lru_cache(1 << 12)
def _shared(entry_tag: int, pairs: tuple[Pair, ...], counted: tuple[tuple[int, int], ...]) -> Recipe:
    return Recipe(entry_tag, pairs, dict(counted))


class Recipe:
    """How the shape of an abbreviation's entries is made. Equal attributes come to equal words."""

    def __init__(self, entry_tag: int, pairs: tuple[Pair, ...], constants: dict[int, int]) -> None:
        last = {number: index for index, (number, _, _) in enumerate(pairs)}
        takes = {number: _action(entry_tag, number, form) for number, form, _ in pairs}
        self.is_whole = entry_tag in _WHOLE
        """Whether all of the type that it refers to matters, not only how that is spelled."""
        self.is_type = entry_tag in _TYPES
        self.is_part = entry_tag in _PARTS
        """Whether it is told with what it is a child of."""
        self.has_parts = entry_tag in _DIVIDED
        self.is_function = entry_tag == _FUNCTION
        self.is_named = entry_tag in _NAMED and (_NAME in takes or _SIGNATURE not in takes)
        """Whether its spelling is its name."""
        constants = {number: value for number, value in constants.items() if number not in takes}
        takes |= dict.fromkeys(constants, NUMBER)
        used = [number for number in USED if takes.get(number, DROP)]
        rank = {number: index for index, number in enumerate(used)}
        self.head = entry_tag << 32 | sum(1 << USED.index(number) for number in used)
        """The first word: what it is, and which attributes follow."""
        if any(form in forms.REFERENCES for number, form, _ in pairs if number in _LENGTHS):
            self.head |= 1 << _COMPUTED
        is_stated = not constants.keys().isdisjoint(_ELSEWHERE_ONLY)
        if is_stated:
            self.head |= 1 << _STATED
        self.count = len(used)
        steps: list[int] = []
        for index, (number, form, width) in enumerate(pairs):
            inside = 0 if form in forms.REF_UNIT else form
            action = takes[number] if last[number] == index else DROP  # of what comes twice the last counts
            _add_step(steps, action, width, rank.get(number, -1), inside)
        self.steps = array("q", steps)
        """Four numbers for each attribute, or run of dropped ones: what to do with it; bytes or SKIP code;
        where its word comes behind the first, -1 for none; a reference's form, 0 for one inside the unit."""
        self.size = len(steps)
        stated = [number for number in constants if number in rank and number != _FILE]
        self.constants = array("Q", [constants[number] & _ALL for number in stated])
        """Words whose value stands in the abbreviation."""
        self.ranks = array("q", [rank[number] for number in stated])
        """Where these come behind the first."""
        self.constant_count = len(stated)
        self.file_rank = rank.get(_FILE, -1) if _FILE in constants else -1
        """Where the word of the file comes, when its number stands in the abbreviation."""
        self.file = constants.get(_FILE, 0) & _ALL
        self.is_short = entry_tag == _MEMBER and used in _SHORT and not is_stated
        """Whether nothing but a name, a type and a place counts, which fit into two words."""
        self.is_located = self.is_short and len(used) > 2
        """Whether the place is stated."""
        self.mark = _IS_LOCATED if self.is_located else 0
        """What the first of these words says of that."""
        self.is_pointer = entry_tag == _POINTER and _TYPE in last
        """Whether it is a pointer to anything but `void`."""
        self.is_sized = self.is_pointer and used == [_TYPE, _SIZE] and not is_stated
        """Whether nothing but a type and a size counts of it, which fit into a number."""
        self.has_text = steps[:3] == [TEXT, forms.SKIP_STRING, 0] and used[:1] == [_NAME]
        """Whether the entry starts with the text of its name."""
        self._find_fixed(_fixed(steps[4:] if self.has_text else steps))
        self.name_step = _step_of_name(steps) if used[:1] == [_NAME] else -1
        """Where the step of the name starts; its word is the first."""
        self.spelled_at = _place_of_name(steps, self.name_step) if self.is_named else -1
        """Where the place of the name stands that is its spelling, -1 where that takes more to tell."""

    def _find_fixed(self, fixed: list[int] | None) -> None:
        """Where attributes stand at fixed places behind a text, as `_fixed` gives them."""
        self.fixed = array("q", fixed or ())
        """Four numbers for each attribute that counts: its place behind that text; the bits of four bytes
        there that are its own; where its word comes behind the first; what to do with it."""
        self.fixed_size = -1 if fixed is None else sum(self.steps[5 if self.has_text else 1 :: 4])
        """Bytes of all attributes behind that text where they all stand at fixed places, else -1."""
        places = {rank: (place, bits) for place, bits, rank, _ in zip(*[iter(self.fixed)] * 4, strict=True)}
        self.name_at, _ = places.get(0, (-1, 0))
        self.type_at, _ = places.get(1, (-1, 0))
        self.location_at, self.location_bits = places.get(2, (-1, 0))
        """Where name, type and place of a short member stand behind that text, and the bits of the place."""
        is_once = 4 * (self.count - self.has_text) == len(self.fixed) == 4 * len(places)
        is_narrow = all(bits == _WORD for rank, (_, bits) in places.items() if rank < 2)
        self.is_run = self.is_short and is_once and is_narrow
        """Whether members that follow one another are told in a run: nothing is said twice, or elsewhere, and
        name and type take four bytes."""


def _add_step(steps: list[int], action: int, width: int, rank: int, form: int) -> None:
    last = len(steps) - 4
    if action == DROP and steps and steps[last] == DROP and min(width, steps[last + 1]) >= 0:
        steps[last + 1] += width
    else:
        steps += (action, width, rank, form)


def _fixed(steps: list[int]) -> list[int] | None:
    """What `Recipe.fixed` says of such steps, None where they do not all stand at fixed places."""
    found: list[int] = []
    place = 0
    for action, width, rank, form in zip(*[iter(steps)] * 4, strict=True):
        if width < 0 or action not in _SIMPLE or (action == REFER and form):
            return None
        if action != DROP:
            if width > _NARROW:
                return None
            found += (place, (1 << 8 * width) - 1, rank, action)
        place += width
    return found


def _step_of_name(steps: list[int]) -> int:
    """Where the step starts whose word is the first; -1 where the abbreviation has that word."""
    found = [start for start in range(0, len(steps), 4) if steps[start] != DROP and steps[start + 2] == 0]
    return found[0] if found else -1


def _place_of_name(steps: list[int], name_step: int) -> int:
    """Where in an entry the place of its name stands, in four bytes; -1 where that takes more to tell."""
    if name_step < 0 or steps[name_step : name_step + 2] != [PLACE, _NARROW]:
        return -1
    before = steps[1:name_step:4]
    return sum(before) if min(before, default=0) >= 0 else -1


def _counts(entry_tag: int, number: int) -> bool:
    """Whether an attribute says something about the layout of this kind of entry."""
    if number in (_TYPE, _SIGNATURE):
        return entry_tag in _WHOLE or entry_tag in _SPELLED
    if number in (_FILE, _LINE):
        return entry_tag in _PLACED
    return number in USED


def _action(entry_tag: int, number: int, form: int) -> int:
    if not _counts(entry_tag, number):
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
