"""Numbers for types: types of equal numbers are equal, in whichever units they stand.

A kernel's units repeat one another's definitions thousands of times. The shape of a type is all that layouts
are decoded from, attribute for attribute, with references replaced by the numbers of what they refer to, and
the unit's own numbers of files and strings by those of the whole input. Only one of each shape is decoded.
"""

from __future__ import annotations

from layoutlint.readers.dwarf.format import type_recipe, word_tables
from layoutlint.readers.dwarf.format.abbreviations import Plan
from layoutlint.readers.dwarf.format.forms import DAMAGE, Damaged, sleb
from layoutlint.readers.dwarf.format.type_recipe import Recipe
from layoutlint.readers.dwarf.format.unit import Unit
from layoutlint.readers.dwarf.format.word_tables import Memo, Words
from layoutlint.readers.dwarf.types import spelling, string_ids
from layoutlint.readers.dwarf.types.file_ids import Paths
from layoutlint.readers.dwarf.types.spelling import is_function
from layoutlint.readers.dwarf.types.string_ids import Texts
from layoutlint.readers.elf.elf_file import Data

# Variables of C where this is compiled; names of another module would be objects.
_DEEPEST = spelling.DEEPEST
_FUNCTION, _MADE = spelling.FUNCTION, type_recipe.MADE
_DROP, _SIGNED, _REFER, _FILE = type_recipe.DROP, type_recipe.SIGNED, type_recipe.REFER, type_recipe.FILE
_PLACE, _INDEX, _TEXT = type_recipe.PLACE, type_recipe.INDEX, type_recipe.TEXT
_ELSEWHERE = type_recipe.ELSEWHERE
_IS_NAME = 1 << 53
"""Marks the spellings that are a name, which need no number of their own."""
_IS_SPELLED = 1 << 63
"""Marks the first word of a spelling."""
_IS_MEMBER = 1 << 63
"""Marks the first of the two words of a member whose place and name fit into it."""
_HAS_TEXT = 1 << 61
"""Says that the name is a text."""
_FAR = 1 << 28
"""Members from this byte on take more than two words."""
_HALF = (1 << 32) - 1
_TEXTS = (string_ids.IS_TEXT | string_ids.IS_SHORT) >> 32
"""The upper half of the words of texts that are in the lower one."""
_MORE = 3  # bytes that are read behind an attribute of one byte
_IS_POINTER = 1 << 62
"""Marks the numbers of pointers: their size, and the number of how what they point to is spelled."""
_CALLS = 1 << 63
"""Marks those of pointers to functions."""
_SPELLING_BITS = 54
_SPELLINGS = 1 << 54
_SIZES = 1 << 8
_UNKNOWN = word_tables.UNKNOWN
_NAMED = 1 << 44
"""The place of a name that is a spelling's number lies before this."""


class Shapes:
    """The shapes of one input."""

    def __init__(self) -> None:
        self._numbers = Words()
        self._texts = Texts()
        self._paths = Paths()
        self._seen: set[int] = set()
        self._words = self._numbers.stack
        """Shapes in the making, one on top of another."""
        self._top = 0
        self._known = Memo()
        """The numbers of types, under twice their place; behind that those of how they are spelled."""
        self._has_crossed = False
        """Whether a reference went from one unit to another; then what other units know is kept as well."""
        self._home: Unit | None = None
        self._plans: list[Plan | None] = []
        """The unit that was asked about last, and its plans."""
        self._spelled_last: Plan
        """The plan of the type that was spelled last; perhaps of what a qualified one is made of."""
        self._is_quick = False
        """Whether attributes at fixed places can be taken as they stand there."""

    def new_among(self, unit: Unit, positions: list[int]) -> list[int]:
        """Those where types stand of a shape that was not asked about before, and those that are damaged."""
        new: list[int] = []
        for position in positions:
            try:
                number = self.of(unit, position)
                if number not in self._seen:
                    self._seen.add(number)
                    new.append(position)
            except DAMAGE:
                new.append(position)
        return new

    def of(self, unit: Unit, position: int) -> int:
        """The number of all that is known of the type at a position. Raises Damaged, IndexError."""
        if self._home is not unit:
            self._home, self._plans = unit, unit.table.plans
            self._is_quick = self._texts.is_main(unit.sections) and unit.is_little
            if not self._has_crossed:
                self._known.begin(unit.key + 2 * unit.offset, unit.key + 2 * unit.end)
        self._top = 0
        return self._whole(unit, position, 0)

    def leave(self) -> None:
        """Lets go of what is known by the places of entries, some of which are in files that are closed."""
        self._known = Memo()
        self._has_crossed, self._home = False, None
        self._paths.leave()

    def _whole(self, unit: Unit, position: int, depth: int) -> int:
        key = unit.key + 2 * position
        number = self._known.recall(key)
        return self._made(unit, position, key, depth) if number == _UNKNOWN else number

    def _made(self, unit: Unit, position: int, key: int, depth: int) -> int:
        """The number of a type that was not met before, which is kept under a key."""
        plan = self._enter(unit, position, depth)
        recipe = plan.cook() if plan.recipe is None else plan.recipe
        if recipe.is_function:
            number = self._spelled(unit, position, depth)
        else:
            start = self._top
            behind = self._attributes(unit, recipe, unit.behind, depth + 1)
            if plan.has_children and recipe.has_parts:
                self._children(unit, behind, depth + 1)
            number = (
                self._pointer(unit, recipe, position, start) if recipe.is_pointer else self._number(start)
            )
        self._known.keep(key, number)
        return number

    def _pointer(self, unit: Unit, recipe: Recipe, position: int, start: int) -> int:
        """The number of the pointer at a position that was added at `start`, which is taken away again."""
        spelled = size = _SPELLINGS
        if recipe.is_sized:
            spelled, size = self._words[start + 1], self._words[start + 2]
        to = self._spelled_last
        mark = _CALLS if to.tag == _FUNCTION or (to.role == _MADE and is_function(unit, position)) else 0
        if spelled >= _SPELLINGS or size >= _SIZES:
            self._put(mark)
            return self._number(start)
        self._top = start
        return mark | _IS_POINTER | size << _SPELLING_BITS | spelled

    def _spelled(self, unit: Unit, position: int, depth: int) -> int:
        """The number of how the type at a position is spelled; it ends with the first name."""
        plan = self._enter(unit, position, depth)
        recipe = plan.cook() if plan.recipe is None else plan.recipe
        behind, self._spelled_last = unit.behind, plan
        if recipe.spelled_at >= 0 and self._is_quick and self._home is unit:
            place = _four(unit.octets, behind + recipe.spelled_at)
            return _IS_NAME | (place + 1) << 8 | plan.tag & 0xFF
        key = unit.key + 2 * position + 1
        number = self._known.recall(key)
        if number != _UNKNOWN:
            return number
        if recipe.is_named:
            number = self._named(unit, recipe, plan.tag, behind)
        else:
            start = self._top
            self._put(_IS_SPELLED | plan.tag)
            self._references(unit, recipe, behind, depth + 1)
            if plan.has_children and recipe.has_parts:
                self._children(unit, unit.over(plan, behind), depth + 1)
            number = self._number(start)
            if recipe.has_parts or not recipe.is_whole:
                self._spelled_last = plan
        self._known.keep(key, number)
        return number

    def _enter(self, unit: Unit, position: int, depth: int) -> Plan:
        """The plan of the type at a position, behind whose code `unit.behind` stands then."""
        if depth > _DEEPEST:
            raise Damaged("types refer to one another in a circle", position)
        plan = None
        if self._home is unit and unit.first <= position < unit.end:
            code, unit.behind = unit.octets[position], position + 1
            plan = self._plans[code] if 0 < code < 128 and code < len(self._plans) else None
        if plan is None:
            plan = unit.enter(position)
        if plan is None:
            raise Damaged("a type that is none", position)
        recipe = plan.cook() if plan.recipe is None else plan.recipe
        if not recipe.is_type:
            raise Damaged(f"an entry with tag {plan.tag:#x} where a type is expected", position)
        return plan

    def _attributes(self, unit: Unit, recipe: Recipe, position: int, depth: int) -> int:
        """Adds all that counts of an entry's attributes; the position behind them."""
        start = self._top
        if start + recipe.count >= len(self._words):
            self._grow(recipe.count)
        if self._is_quick and recipe.fixed_size >= 0 and self._home is unit:
            behind = self._fixed(unit, recipe, position, depth)
            if behind >= 0:
                return behind
        self._words[start] = recipe.head
        self._top = start + 1 + recipe.count
        for step in range(0, recipe.size, 4):
            width = recipe.steps[step + 1]
            if recipe.steps[step] != _DROP:
                word = self._word(unit, recipe, step, position, recipe.is_whole, depth)
                self._words[start + 1 + recipe.steps[step + 2]] = word
            position = position + width if width >= 0 else unit.step(position, width)
        self._constants(unit, recipe, start)
        if position > unit.end:
            raise Damaged("an entry ends behind its unit", position)
        return position

    def _fixed(self, unit: Unit, recipe: Recipe, position: int, depth: int) -> int:
        """As `_attributes`, where they stand at fixed places; -1 where that takes more."""
        start = self._top
        if recipe.has_text:
            self._words[start + 1] = self._texts.brief(unit, position)
            if self._words[start + 1] == 0:
                return -1
            position = unit.behind
        if position + recipe.fixed_size > unit.end or position + recipe.fixed_size + _MORE > unit.size:
            return -1
        self._words[start] = recipe.head
        self._top = start + 1 + recipe.count
        for step in range(0, len(recipe.fixed), 4):
            place = position + recipe.fixed[step]
            word = _four(unit.octets, place) & recipe.fixed[step + 1]
            action = recipe.fixed[step + 3]
            if action == _REFER:
                known = (
                    self._known.recall(unit.key + 2 * (unit.offset + word)) if recipe.is_whole else _UNKNOWN
                )
                if known == _UNKNOWN:
                    known = self._referred(unit, 0, word, place, recipe.is_whole, depth)
                word = known
            elif action == _FILE:
                word = self._paths.of(unit, word)
            self._words[start + 1 + recipe.fixed[step + 2]] = word
        if recipe.constant_count or recipe.file_rank >= 0:
            self._constants(unit, recipe, start)
        return position + recipe.fixed_size

    def _constants(self, unit: Unit, recipe: Recipe, start: int) -> None:
        """Adds what stands in the abbreviation to the words from `start` on."""
        for index in range(recipe.constant_count):
            self._words[start + 1 + recipe.ranks[index]] = recipe.constants[index]
        if recipe.file_rank >= 0:
            self._words[start + 1 + recipe.file_rank] = self._paths.of(unit, recipe.file)

    def _references(self, unit: Unit, recipe: Recipe, position: int, depth: int) -> None:
        """Adds what an entry refers to, and nothing else of it."""
        for step in range(0, recipe.size, 4):
            width = recipe.steps[step + 1]
            if recipe.steps[step] == _REFER:
                self._put(self._word(unit, recipe, step, position, False, depth))
            position = position + width if width >= 0 else unit.step(position, width)

    def _named(self, unit: Unit, recipe: Recipe, tag: int, position: int) -> int:
        """The number of a spelling that is a name, and what has it."""
        if recipe.name_step < 0:
            return _IS_NAME | tag
        for step in range(0, recipe.name_step, 4):
            width = recipe.steps[step + 1]
            position = position + width if width >= 0 else unit.step(position, width)
        word = self._word(unit, recipe, recipe.name_step, position, False, 0)
        if word < _NAMED:
            return _IS_NAME | (word + 1) << 8 | tag & 0xFF
        start = self._top
        self._put(_IS_SPELLED | tag)
        self._put(word)
        return self._number(start)

    def _word(self, unit: Unit, recipe: Recipe, step: int, position: int, is_whole: bool, depth: int) -> int:
        """What an attribute comes to."""
        action = recipe.steps[step]
        width = recipe.steps[step + 1]
        if action == _TEXT:
            end = position + width if width >= 0 else unit.step(position, width)
            return self._texts.inside(unit, position, end)
        if action == _SIGNED:
            return sleb(unit.data, position)[0] & 0xFFFFFFFFFFFFFFFF
        value = unit.value(position, width)
        if action == _REFER:
            return self._referred(unit, recipe.steps[step + 3], value, position, is_whole, depth)
        if action == _FILE:
            return self._paths.of(unit, value)
        if action == _ELSEWHERE:
            return self._texts.of(unit.string(recipe.steps[step + 3], value).encode(errors="surrogateescape"))
        if action == _INDEX:
            return self._texts.at(unit, unit.string_offset(value))
        return self._texts.at(unit, value) if action == _PLACE else value

    def _referred(self, unit: Unit, form: int, value: int, position: int, is_whole: bool, depth: int) -> int:
        """The shape that a reference means: of the whole type, or of how it is spelled."""
        if form == 0:
            if value > unit.size:
                raise Damaged("a reference leaves its unit", position)
            target = unit.offset + value
        else:
            if not self._has_crossed:
                self._has_crossed = True
                self._known.begin_all()
            unit, target = unit.refer(form, value)
        return self._whole(unit, target, depth) if is_whole else self._spelled(unit, target, depth)

    def _children(self, unit: Unit, position: int, depth: int) -> None:
        """Adds the members, dimensions or parameters among the entries from a position on."""
        plans = self._plans if self._home is unit else unit.table.plans
        is_quick = self._is_quick and self._home is unit
        while True:
            code = unit.octets[position] if unit.first <= position < unit.end else 0
            plan = plans[code] if 0 < code < 128 and code < len(plans) else None
            if plan is None:
                plan = unit.enter(position)
                if plan is None:
                    return
                position = unit.behind
            else:
                position += 1
            recipe = plan.cook() if plan.recipe is None else plan.recipe
            if recipe.is_run and is_quick and code < 128 and not plan.has_children:
                behind = self._run(unit, recipe, position, depth)
                if behind > position:
                    position = behind
                    continue
            if recipe.is_part:
                start = self._top
                behind = self._attributes(unit, recipe, position, depth)
                if recipe.is_short:
                    self._shorten(recipe, start)
                if not plan.has_children:
                    position = behind
                    continue
            position = unit.past(plan, position)

    def _run(self, unit: Unit, recipe: Recipe, position: int, depth: int) -> int:
        """Adds members of one abbreviation that follow one another, as `_attributes` and `_shorten` would.

        The first one's attributes start at `position`. Gives the position behind the last one that was added.
        """
        code, done = unit.octets[position - 1], position
        last = min(unit.end, unit.size - _MORE) - recipe.fixed_size
        key = unit.key + 2 * unit.offset
        while True:
            word = _IS_MEMBER | recipe.mark
            if recipe.has_text:
                name = self._texts.brief(unit, position)
                if name >> 32 != _TEXTS:
                    return done
                word |= _HAS_TEXT | name & _HALF
                position = unit.behind
            if position > last:
                return done
            if not recipe.has_text:
                word |= _four(unit.octets, position + recipe.name_at)
            if recipe.is_located:
                value = _four(unit.octets, position + recipe.location_at) & recipe.location_bits
                if value >= _FAR:
                    return done
                word |= value << 32
            value = _four(unit.octets, position + recipe.type_at)
            number = self._known.recall(key + 2 * value)
            if number == _UNKNOWN:
                number = self._referred(unit, 0, value, position, True, depth)
            if self._top + 2 > len(self._words):
                self._grow(2)
            self._words[self._top] = word
            self._words[self._top + 1] = number
            self._top += 2
            done = position + recipe.fixed_size
            if done >= unit.end or unit.octets[done] != code:
                return done
            position = done + 1

    def _shorten(self, recipe: Recipe, start: int) -> None:
        """Puts a member that was added at `start` into two words, where its name and place fit into one."""
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

    def _number(self, start: int) -> int:
        """The number of what was added since `start`, which is taken away again."""
        end, self._top = self._top, start
        return self._numbers.number(start, end)

    def _put(self, word: int) -> None:
        if self._top >= len(self._words):
            self._grow(1)
        self._words[self._top] = word
        self._top += 1

    def _grow(self, count: int) -> None:
        self._words = self._numbers.grow(count + 1)


def _four(octets: Data, position: int) -> int:
    """A number of four bytes, the lowest first; C puts it in place of its calls in this module only."""
    value = octets[position + 3]
    value = value << 8 | octets[position + 2]
    value = value << 8 | octets[position + 1]
    return value << 8 | octets[position]
