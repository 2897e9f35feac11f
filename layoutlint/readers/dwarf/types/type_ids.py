"""Numbers for types: types with equal numbers are equal, in all units.

The units of a kernel repeat one another's definitions thousands of times. The shape of a type is everything
from which layouts are decoded, attribute by attribute; references are replaced by the numbers of their types,
and the unit's own numbers of files and strings by those of the whole input. Only one type of each shape is
decoded.
"""

from __future__ import annotations

from layoutlint.readers.dwarf.format import type_recipe, word_tables
from layoutlint.readers.dwarf.format.abbreviations import Plan
from layoutlint.readers.dwarf.format.forms import DAMAGE, DwarfError, read_sleb
from layoutlint.readers.dwarf.format.type_recipe import Recipe
from layoutlint.readers.dwarf.format.unit import Unit
from layoutlint.readers.dwarf.format.word_tables import Memo, Words
from layoutlint.readers.dwarf.types import spelling, string_ids
from layoutlint.readers.dwarf.types.file_ids import Paths
from layoutlint.readers.dwarf.types.spelling import is_function
from layoutlint.readers.dwarf.types.string_ids import Texts
from layoutlint.readers.elf.elf_file import Data

# Variables of C if this is compiled; names of another module would be objects.
_DEEPEST = spelling.DEEPEST
_FUNCTION, _DERIVED = spelling.FUNCTION, type_recipe.DERIVED
_DROP, _SIGNED, _REFER, _FILE = type_recipe.DROP, type_recipe.SIGNED, type_recipe.REFER, type_recipe.FILE
_PLACE, _INDEX, _TEXT = type_recipe.PLACE, type_recipe.INDEX, type_recipe.TEXT
_ELSEWHERE = type_recipe.ELSEWHERE
_IS_NAME = 1 << 53
"""Marks spellings that are a name, which need no separate number."""
_IS_SPELLED = 1 << 63
"""Marks the first word of a spelling."""
_IS_MEMBER = 1 << 63
"""Marks the first of the two words of a member whose location and name fit into it."""
_HAS_TEXT = 1 << 61
"""Marks a name that is a text."""
_FAR = 1 << 28
"""Members from this byte on take more than two words."""
_HALF = (1 << 32) - 1
_TEXTS = (string_ids.IS_TEXT | string_ids.IS_SHORT) >> 32
"""The upper half of the words of texts that fit into the lower half."""
_START = 1 << 12
_MORE = 3  # bytes that are read after an attribute of one byte
_IS_POINTER = 1 << 62
"""Marks the numbers of pointers: their size, and the number of their pointee's spelling."""
_CALLS = 1 << 63
"""Marks pointers to functions."""
_SPELLING_BITS = 54
_SPELLINGS = 1 << 54
_SIZES = 1 << 8
_UNKNOWN = word_tables.UNKNOWN
_NAMED = 1 << 44
"""Words of names below this fit into the number of a spelling."""


class Shapes:
    """The shapes of one input."""

    def __init__(self) -> None:
        self._numbers = Words()
        self._texts = Texts()
        self._paths = Paths()
        self._seen = bytearray(_START)
        """For each sequence of words, whether the shape with its number was seen."""
        self._seen_elsewhere: set[int] = set()
        """The seen shapes whose numbers are no sequences: pointers and names."""
        self._words = self._numbers.stack
        """Unfinished shapes, one on top of another."""
        self._top = 0
        self._memo = Memo()
        """The numbers of types, by twice their position; one more for the numbers of their spellings."""
        self._has_crossed = False
        """Whether a reference went from one unit to another; then the numbers of all units are kept."""
        self._home: Unit | None = None
        self._plans: list[Plan | None] = []
        """The unit of the last call, and its plans."""
        self._spelled_last: Plan
        """The plan of the type that was spelled last, or of the type inside its qualifiers."""
        self._is_quick = False
        """Whether attributes at fixed offsets can be used as they are."""

    def new_among(self, unit: Unit, positions: list[int]) -> list[int]:
        """Return the positions of types with a new shape, and of damaged ones."""
        new: list[int] = []
        for position in positions:
            try:
                if self._see(self.shape(unit, position)):
                    new.append(position)
            except DAMAGE:
                new.append(position)
        return new

    def _see(self, number: int) -> bool:
        """Return whether a shape is seen for the first time."""
        if number >= _IS_NAME:
            is_new = number not in self._seen_elsewhere
            self._seen_elsewhere.add(number)
            return is_new
        while number >= len(self._seen):
            self._seen += bytes(len(self._seen))
        if self._seen[number]:
            return False
        self._seen[number] = 1
        return True

    def shape(self, unit: Unit, position: int) -> int:
        """Return the number of the shape of the type at a position. Raises DwarfError, IndexError."""
        if self._home is not unit:
            self._home, self._plans = unit, unit.table.plans
            self._is_quick = self._texts.is_main(unit.sections) and unit.is_little
            if not self._has_crossed:
                self._memo.begin(unit.key + 2 * unit.offset, unit.key + 2 * unit.end)
        self._top = 0
        return self._type_number(unit, position, 0)

    def forget_places(self) -> None:
        """Forget everything that is known by positions, because some files are closed."""
        self._memo = Memo()
        self._has_crossed, self._home = False, None
        self._paths.forget_places()

    def _type_number(self, unit: Unit, position: int, depth: int) -> int:
        key = unit.key + 2 * position
        number = self._memo.recall(key)
        return self._add_type(unit, position, key, depth) if number == _UNKNOWN else number

    def _add_type(self, unit: Unit, position: int, key: int, depth: int) -> int:
        """Return the number of a new type, and keep it under `key`."""
        plan = self._enter(unit, position, depth)
        recipe = plan.make_recipe() if plan.recipe is None else plan.recipe
        if recipe.is_function:
            number = self._spelling_number(unit, position, depth)
        else:
            start = self._top
            end = self._add_attributes(unit, recipe, unit.next_position, depth + 1)
            if plan.has_children and recipe.has_parts:
                self._add_children(unit, end, depth + 1)
            number = (
                self._pointer_number(unit, recipe, position, start)
                if recipe.is_pointer
                else self._pop_number(start)
            )
        self._memo.keep(key, number)
        return number

    def _pointer_number(self, unit: Unit, recipe: Recipe, position: int, start: int) -> int:
        """Return the number of the pointer at a position, and remove its words from `start` on."""
        pointee_number = size = _SPELLINGS
        if recipe.is_sized:
            pointee_number, size = self._words[start + 1], self._words[start + 2]
        pointee = self._spelled_last
        mark = (
            _CALLS
            if pointee.tag == _FUNCTION or (pointee.role == _DERIVED and is_function(unit, position))
            else 0
        )
        if pointee_number >= _SPELLINGS or size >= _SIZES:
            self._put(mark)
            return self._pop_number(start)
        self._top = start
        return mark | _IS_POINTER | size << _SPELLING_BITS | pointee_number

    def _spelling_number(self, unit: Unit, position: int, depth: int) -> int:
        """Return the number of the spelling of the type at a position; it ends with the first name."""
        plan = self._enter(unit, position, depth)
        recipe = plan.make_recipe() if plan.recipe is None else plan.recipe
        attributes_start, self._spelled_last = unit.next_position, plan
        if recipe.spelled_at >= 0 and self._is_quick and self._home is unit:
            place = _read_u32(unit.octets, attributes_start + recipe.spelled_at)
            return _IS_NAME | (place + 1) << 8 | plan.tag & 0xFF
        key = unit.key + 2 * position + 1
        number = self._memo.recall(key)
        if number != _UNKNOWN:
            return number
        if recipe.is_named:
            number = self._name_number(unit, recipe, plan.tag, attributes_start)
        else:
            start = self._top
            self._put(_IS_SPELLED | plan.tag)
            self._add_references(unit, recipe, attributes_start, depth + 1)
            if plan.has_children and recipe.has_parts:
                self._add_children(unit, unit.skip_attributes(plan, attributes_start), depth + 1)
            number = self._pop_number(start)
            if recipe.has_parts or not recipe.is_whole:
                self._spelled_last = plan
        self._memo.keep(key, number)
        return number

    def _enter(self, unit: Unit, position: int, depth: int) -> Plan:
        """Return the plan of the type at a position, and set `unit.next_position` after its code."""
        if depth > _DEEPEST:
            raise DwarfError("types refer to one another in a circle", position)
        plan = None
        if self._home is unit and unit.first <= position < unit.end:
            code, unit.next_position = unit.octets[position], position + 1
            plan = self._plans[code] if 0 < code < 128 and code < len(self._plans) else None
        if plan is None:
            plan = unit.enter(position)
        if plan is None:
            raise DwarfError("a type that is none", position)
        recipe = plan.make_recipe() if plan.recipe is None else plan.recipe
        if not recipe.is_type:
            raise DwarfError(f"an entry with tag {plan.tag:#x} where a type is expected", position)
        return plan

    def _add_attributes(self, unit: Unit, recipe: Recipe, position: int, depth: int) -> int:
        """Add the words of an entry's attributes; return the position after these."""
        start = self._top
        if start + recipe.count >= len(self._words):
            self._grow(recipe.count)
        if self._is_quick and recipe.fixed_size >= 0 and self._home is unit:
            end = self._add_fixed(unit, recipe, position, depth)
            if end >= 0:
                return end
        self._words[start] = recipe.head
        self._top = start + 1 + recipe.count
        for step in range(0, recipe.size, 4):
            width = recipe.steps[step + 1]
            if recipe.steps[step] != _DROP:
                word = self._attribute_word(unit, recipe, step, position, recipe.is_whole, depth)
                self._words[start + 1 + recipe.steps[step + 2]] = word
            position = position + width if width >= 0 else unit.skip(position, width)
        self._add_constants(unit, recipe, start)
        if position > unit.end:
            raise DwarfError("an entry ends behind its unit", position)
        return position

    def _add_fixed(self, unit: Unit, recipe: Recipe, position: int, depth: int) -> int:
        """Add the words of attributes at fixed offsets, as `_add_attributes` does; -1 if that takes more."""
        start = self._top
        if recipe.has_text:
            self._words[start + 1] = self._texts.short_word(unit, position)
            if self._words[start + 1] == 0:
                return -1
            position = unit.next_position
        if position + recipe.fixed_size > unit.end or position + recipe.fixed_size + _MORE > unit.size:
            return -1
        self._words[start] = recipe.head
        self._top = start + 1 + recipe.count
        for step in range(0, len(recipe.fixed), 4):
            place = position + recipe.fixed[step]
            word = _read_u32(unit.octets, place) & recipe.fixed[step + 1]
            action = recipe.fixed[step + 3]
            if action == _REFER:
                number = (
                    self._memo.recall(unit.key + 2 * (unit.offset + word)) if recipe.is_whole else _UNKNOWN
                )
                if number == _UNKNOWN:
                    number = self._target_number(unit, 0, word, place, recipe.is_whole, depth)
                word = number
            elif action == _FILE:
                word = self._paths.path_number(unit, word)
            self._words[start + 1 + recipe.fixed[step + 2]] = word
        if recipe.constant_count or recipe.file_rank >= 0:
            self._add_constants(unit, recipe, start)
        return position + recipe.fixed_size

    def _add_constants(self, unit: Unit, recipe: Recipe, start: int) -> None:
        """Add the constants of the abbreviation to the words from `start` on."""
        for index in range(recipe.constant_count):
            self._words[start + 1 + recipe.ranks[index]] = recipe.constants[index]
        if recipe.file_rank >= 0:
            self._words[start + 1 + recipe.file_rank] = self._paths.path_number(unit, recipe.file)

    def _add_references(self, unit: Unit, recipe: Recipe, position: int, depth: int) -> None:
        """Add the references of an entry, and nothing else of it."""
        for step in range(0, recipe.size, 4):
            width = recipe.steps[step + 1]
            if recipe.steps[step] == _REFER:
                self._put(self._attribute_word(unit, recipe, step, position, False, depth))
            position = position + width if width >= 0 else unit.skip(position, width)

    def _name_number(self, unit: Unit, recipe: Recipe, tag: int, position: int) -> int:
        """Return the number of a spelling that is a tag and a name."""
        if recipe.name_step < 0:
            return _IS_NAME | tag
        for step in range(0, recipe.name_step, 4):
            width = recipe.steps[step + 1]
            position = position + width if width >= 0 else unit.skip(position, width)
        word = self._attribute_word(unit, recipe, recipe.name_step, position, False, 0)
        if word < _NAMED:
            return _IS_NAME | (word + 1) << 8 | tag & 0xFF
        start = self._top
        self._put(_IS_SPELLED | tag)
        self._put(word)
        return self._pop_number(start)

    def _attribute_word(
        self, unit: Unit, recipe: Recipe, step: int, position: int, is_whole: bool, depth: int
    ) -> int:
        """Return the word of an attribute."""
        action = recipe.steps[step]
        width = recipe.steps[step + 1]
        if action == _TEXT:
            end = position + width if width >= 0 else unit.skip(position, width)
            return self._texts.inline_word(unit, position, end)
        if action == _SIGNED:
            return read_sleb(unit.data, position)[0] & 0xFFFFFFFFFFFFFFFF
        value = unit.value(position, width)
        if action == _REFER:
            return self._target_number(unit, recipe.steps[step + 3], value, position, is_whole, depth)
        if action == _FILE:
            return self._paths.path_number(unit, value)
        if action == _ELSEWHERE:
            return self._texts.text_word(
                unit.string(recipe.steps[step + 3], value).encode(errors="surrogateescape")
            )
        if action == _INDEX:
            return self._texts.string_word(unit, unit.string_offset(value))
        return self._texts.string_word(unit, value) if action == _PLACE else value

    def _target_number(
        self, unit: Unit, form: int, value: int, position: int, is_whole: bool, depth: int
    ) -> int:
        """Return the number of the type to which a reference points: of its shape, or of its spelling."""
        if form == 0:
            if value > unit.size:
                raise DwarfError("a reference leaves its unit", position)
            target = unit.offset + value
        else:
            if not self._has_crossed:
                self._has_crossed = True
                self._memo.begin_all()
            unit, target = unit.refer(form, value)
        return (
            self._type_number(unit, target, depth) if is_whole else self._spelling_number(unit, target, depth)
        )

    def _add_children(self, unit: Unit, position: int, depth: int) -> None:
        """Add the members, dimensions or parameters among the entries from a position on."""
        plans = self._plans if self._home is unit else unit.table.plans
        is_quick = self._is_quick and self._home is unit
        while True:
            code = unit.octets[position] if unit.first <= position < unit.end else 0
            plan = plans[code] if 0 < code < 128 and code < len(plans) else None
            if plan is None:
                plan = unit.enter(position)
                if plan is None:
                    return
                position = unit.next_position
            else:
                position += 1
            recipe = plan.make_recipe() if plan.recipe is None else plan.recipe
            if recipe.is_run and is_quick and code < 128 and not plan.has_children:
                end = self._add_run(unit, recipe, position, depth)
                if end > position:
                    position = end
                    continue
            if recipe.is_part:
                start = self._top
                end = self._add_attributes(unit, recipe, position, depth)
                if recipe.is_short:
                    self._use_two_words(recipe, start)
                if not plan.has_children:
                    position = end
                    continue
            position = unit.skip_entry(plan, position)

    def _add_run(self, unit: Unit, recipe: Recipe, position: int, depth: int) -> int:
        """Add consecutive members of one abbreviation, as `_add_attributes` and `_use_two_words` would.

        The first one's attributes start at `position`. Returns the position after the last member that was
        added.
        """
        code, done = unit.octets[position - 1], position
        last = min(unit.end, unit.size - _MORE) - recipe.fixed_size
        key = unit.key + 2 * unit.offset
        while True:
            word = _IS_MEMBER | recipe.mark
            if recipe.has_text:
                name = self._texts.short_word(unit, position)
                if name >> 32 != _TEXTS:
                    return done
                word |= _HAS_TEXT | name & _HALF
                position = unit.next_position
            if position > last:
                return done
            if not recipe.has_text:
                word |= _read_u32(unit.octets, position + recipe.name_at)
            if recipe.is_located:
                value = _read_u32(unit.octets, position + recipe.location_at) & recipe.location_bits
                if value >= _FAR:
                    return done
                word |= value << 32
            value = _read_u32(unit.octets, position + recipe.type_at)
            number = self._memo.recall(key + 2 * value)
            if number == _UNKNOWN:
                number = self._target_number(unit, 0, value, position, True, depth)
            if self._top + 2 > len(self._words):
                self._grow(2)
            self._words[self._top] = word
            self._words[self._top + 1] = number
            self._top += 2
            done = position + recipe.fixed_size
            if done >= unit.end or unit.octets[done] != code:
                return done
            position = done + 1

    def _use_two_words(self, recipe: Recipe, start: int) -> None:
        """Replace the words of a member from `start` on by two, if its name and location fit into one."""
        name = self._words[start + 1]
        place = self._words[start + 3] if recipe.is_located else 0
        text = 0
        if name >> 32 == _TEXTS:
            text = _HAS_TEXT
            name &= _HALF
        if name <= _HALF and place < _FAR:
            self._words[start] = _IS_MEMBER | recipe.mark | text | place << 32 | name
            self._words[start + 1] = self._words[start + 2]
            self._top = start + 2

    def _pop_number(self, start: int) -> int:
        """Return the number of the words from `start` on, and remove them."""
        end, self._top = self._top, start
        return self._numbers.number(start, end)

    def _put(self, word: int) -> None:
        if self._top >= len(self._words):
            self._grow(1)
        self._words[self._top] = word
        self._top += 1

    def _grow(self, count: int) -> None:
        self._words = self._numbers.grow(count + 1)


def _read_u32(octets: Data, position: int) -> int:
    """Return a little-endian number of four bytes; C inlines it into calls of this module only."""
    value = octets[position + 3]
    value = value << 8 | octets[position + 2]
    value = value << 8 | octets[position + 1]
    return value << 8 | octets[position]
