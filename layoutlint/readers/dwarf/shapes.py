"""Numbers for types: types of equal numbers are equal, in whichever units they stand.

A kernel's units repeat one another's definitions thousands of times. The shape of a type is all that layouts
are decoded from, attribute for attribute, with references replaced by the numbers of what they refer to, and
the unit's own numbers of files and strings by those of the whole input. Only one of each shape is decoded.
"""

from __future__ import annotations

from array import array
from typing import Final

from layoutlint.readers.dwarf import interning
from layoutlint.readers.dwarf import recipe as recipes
from layoutlint.readers.dwarf.abbrev import Plan
from layoutlint.readers.dwarf.forms import DAMAGE, Damaged, sleb
from layoutlint.readers.dwarf.interning import Memo, Words
from layoutlint.readers.dwarf.lines import Files, Name
from layoutlint.readers.dwarf.recipe import Recipe
from layoutlint.readers.dwarf.sections import Sections
from layoutlint.readers.dwarf.unit import Unit
from layoutlint.readers.elf import Data

DEEPEST: Final = 100
"""Types that refer to one another further than this go in a circle."""
# Variables of C where this is compiled; names of another module would be objects.
_DEEPEST = DEEPEST
_DROP = recipes.DROP
_NUMBER = recipes.NUMBER
_SIGNED = recipes.SIGNED
_REFER = recipes.REFER
_FILE = recipes.FILE
_PLACE = recipes.PLACE
_INDEX = recipes.INDEX
_TEXT = recipes.TEXT
_ELSEWHERE = recipes.ELSEWHERE
_IS_TEXT = 1 << 62
"""Marks the words of texts; those of numbers that large do not matter."""
_IS_SHORT = 1 << 60
"""Marks the words of texts that are in the word itself."""
_SHORT = 7
_IS_NAME = 1 << 61
"""Marks the spellings that are a name, which need no number of their own."""
_IS_SPELLED = 1 << 63
"""Marks the first word of a spelling."""
_UNKNOWN = interning.UNKNOWN
_PLACES = 1 << 48
"""A place of .debug_str behind this is kept as text."""
_FILES = 1 << 12
"""A unit's own numbers of files behind this are looked up every time."""
_NUMBERS = 1 << 32
"""More than there are paths."""


class Shapes:
    """The shapes of one input."""

    def __init__(self) -> None:
        self._numbers = Words()
        self._texts: dict[bytes, int] = {}
        self._numbered: dict[str | None, int] = {}
        """Paths of files, with a number for each."""
        self._paths: dict[int, int] = {}
        """The number of the path, by that of the places where the names of a file and its folder stand."""
        self._seen: set[int] = set()
        self._main: Sections | None = None
        self._words = self._numbers.stack
        """Shapes in the making, one on top of another."""
        self._top = 0
        self._known = Memo()
        """The numbers of types, under twice their place; behind that those of how they are spelled."""
        self._has_crossed = False
        """Whether a reference went from one unit to another; then what other units know is kept as well."""
        self._home: Unit | None = None
        """The unit that was asked about last."""
        self._plans: list[Plan | None] = []
        """Its plans."""
        self._unit: Unit | None = None
        """The unit that `_table` and `_files` are about."""
        self._table: Files | None = None
        self._folder = 0
        """The text that is the compilation directory."""
        self._files = array("Q", bytes(8 * _FILES))
        """The numbers of paths, by the unit's own numbers of files; above those which unit that was."""
        self._turn = 0
        """The how manieth unit `_table` and `_files` are about."""

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
            self._plans = unit.table.plans
            self._home = unit
            if not self._has_crossed:
                self._known.begin(unit.key + 2 * unit.offset, unit.key + 2 * unit.end)
        self._top = 0
        return self._whole(unit, position, 0)

    def leave(self) -> None:
        """Lets go of what is known by the places of entries, some of which are in files that are closed."""
        self._known = Memo()
        self._has_crossed = False
        self._home = self._unit = self._table = None

    def _whole(self, unit: Unit, position: int, depth: int) -> int:
        key = unit.key + 2 * position
        number = self._known.recall(key)
        if number != _UNKNOWN:
            return number
        plan = self._enter(unit, position, depth)
        recipe = plan.cook() if plan.recipe is None else plan.recipe
        if recipe.is_function:
            number = self._spelled(unit, position, depth)
        else:
            start = self._top
            behind = self._attributes(unit, plan, unit.behind, depth + 1)
            if plan.has_children and recipe.has_parts:
                self._children(unit, behind, depth + 1)
            number = self._number(start)
        self._known.keep(key, number)
        return number

    def _spelled(self, unit: Unit, position: int, depth: int) -> int:
        """The number of how the type at a position is spelled; it ends with the first name."""
        key = unit.key + 2 * position + 1
        number = self._known.recall(key)
        if number != _UNKNOWN:
            return number
        plan = self._enter(unit, position, depth)
        recipe = plan.cook() if plan.recipe is None else plan.recipe
        behind = unit.behind
        if recipe.is_named:
            number = self._named(unit, plan, behind)
        else:
            start = self._top
            self._put(_IS_SPELLED | plan.tag)
            self._references(unit, plan, behind, depth + 1)
            if plan.has_children and recipe.has_parts:
                self._children(unit, unit.over(plan, behind), depth + 1)
            number = self._number(start)
        self._known.keep(key, number)
        return number

    def _enter(self, unit: Unit, position: int, depth: int) -> Plan:
        """The plan of the type at a position."""
        if depth > _DEEPEST:
            raise Damaged("types refer to one another in a circle", position)
        plan = unit.enter(position)
        if plan is None:
            raise Damaged("a type that is none", position)
        recipe = plan.cook() if plan.recipe is None else plan.recipe
        if not recipe.is_type:
            raise Damaged(f"an entry with tag {plan.tag:#x} where a type is expected", position)
        return plan

    def _attributes(self, unit: Unit, plan: Plan, position: int, depth: int) -> int:
        """Adds all that counts of an entry's attributes; the position behind them."""
        recipe = plan.cook() if plan.recipe is None else plan.recipe
        start = self._top
        if start + recipe.count >= len(self._words):
            self._grow(recipe.count)
        self._words[start] = recipe.head
        self._top = start + 1 + recipe.count
        for step in range(0, recipe.size, 4):
            action = recipe.steps[step]
            width = recipe.steps[step + 1]
            if action != _DROP:
                if width <= 0:
                    word = self._word(unit, recipe, step, position, recipe.is_whole, depth)
                elif action == _NUMBER or (action == _PLACE and width == 4 and self._main is unit.sections):
                    word = unit.number(position, width)
                elif action == _REFER and recipe.is_whole and recipe.steps[step + 3] == 0:
                    word = unit.number(position, width)
                    known = self._known.recall(unit.key + 2 * (unit.offset + word))
                    word = self._within(unit, word, position, depth) if known == _UNKNOWN else known
                else:
                    word = self._word(unit, recipe, step, position, recipe.is_whole, depth)
                self._words[start + 1 + recipe.steps[step + 2]] = word
            position = position + width if width >= 0 else unit.step(position, width)
        self._constants(recipe, start)
        if recipe.file_rank >= 0:
            self._words[start + 1 + recipe.file_rank] = self._path(unit, recipe.file)
        if position > unit.end:
            raise Damaged("an entry ends behind its unit", position)
        return position

    def _constants(self, recipe: Recipe, start: int) -> None:
        """Adds what stands in the abbreviation to the words from `start` on."""
        for index in range(recipe.constant_count):
            self._words[start + 1 + recipe.ranks[index]] = recipe.constants[index]

    def _references(self, unit: Unit, plan: Plan, position: int, depth: int) -> None:
        """Adds what an entry refers to, and nothing else of it."""
        recipe = plan.cook()
        for step in range(0, recipe.size, 4):
            width = recipe.steps[step + 1]
            if recipe.steps[step] == _REFER:
                self._put(self._word(unit, recipe, step, position, False, depth))
            position = position + width if width >= 0 else unit.step(position, width)

    def _named(self, unit: Unit, plan: Plan, position: int) -> int:
        """The number of a spelling that is a name, and what has it."""
        recipe = plan.cook()
        if recipe.name_step < 0:
            return _IS_NAME | plan.tag
        for step in range(0, recipe.name_step, 4):
            width = recipe.steps[step + 1]
            position = position + width if width >= 0 else unit.step(position, width)
        word = self._word(unit, recipe, recipe.name_step, position, False, 0)
        if word < _PLACES:
            return _IS_NAME | (word + 1) << 8 | plan.tag & 0xFF
        start = self._top
        self._put(_IS_SPELLED | plan.tag)
        self._put(word)
        return self._number(start)

    def _word(self, unit: Unit, recipe: Recipe, step: int, position: int, is_whole: bool, depth: int) -> int:
        """What an attribute comes to."""
        action = recipe.steps[step]
        width = recipe.steps[step + 1]
        if action == _TEXT:
            end = position + width if width >= 0 else unit.step(position, width)
            return self._inside(unit, position, end)
        if action == _SIGNED:
            return sleb(unit.data, position)[0] & 0xFFFFFFFFFFFFFFFF
        value = unit.value(position, width)
        if action == _REFER:
            return self._referred(unit, recipe.steps[step + 3], value, position, is_whole, depth)
        if action == _FILE:
            return self._path(unit, value)
        if action == _ELSEWHERE:
            return self._text(unit.index.supplement.sections.text(value).encode(errors="surrogateescape"))
        if action == _INDEX:
            return self._place(unit, unit.string_offset(value))
        return self._place(unit, value) if action == _PLACE else value

    def _referred(self, unit: Unit, form: int, value: int, position: int, is_whole: bool, depth: int) -> int:
        """The shape that a reference means: of the whole type, or of how it is spelled."""
        if form == 0:
            if is_whole:
                return self._within(unit, value, position, depth)
            if value > unit.size:
                raise Damaged("a reference leaves its unit", position)
            target = unit.offset + value
        else:
            self._cross()
            unit, target = unit.refer(form, value)
        if is_whole:
            return self._whole(unit, target, depth)
        return self._spelled(unit, target, depth)

    def _within(self, unit: Unit, value: int, position: int, depth: int) -> int:
        """The shape of the whole type that a reference inside a unit means."""
        if value > unit.size:
            raise Damaged("a reference leaves its unit", position)
        return self._whole(unit, unit.offset + value, depth)

    def _cross(self) -> None:
        if not self._has_crossed:
            self._has_crossed = True
            self._known.begin_all()

    def _children(self, unit: Unit, position: int, depth: int) -> None:
        """Adds the members, dimensions or parameters among the entries from a position on."""
        octets = unit.octets
        plans = self._plans if self._home is unit else unit.table.plans
        is_quick = unit.is_little and self._main is unit.sections
        while True:
            code = octets[position] if unit.first <= position < unit.end else 0
            plan = plans[code] if 0 < code < 128 and code < len(plans) else None
            if plan is None:
                plan = unit.enter(position)
                if plan is None:
                    return
                position = unit.behind
            else:
                position += 1
            recipe = plan.cook() if plan.recipe is None else plan.recipe
            if recipe.is_quick and is_quick and not plan.has_children:
                position = self._quick(unit, octets, recipe, position, depth)
                continue
            if recipe.is_part:
                behind = self._attributes(unit, plan, position, depth)
                if not plan.has_children:
                    position = behind
                    continue
            position = unit.past(plan, position)

    def _quick(self, unit: Unit, octets: Data, recipe: Recipe, position: int, depth: int) -> int:
        """Adds all that counts of a member, as `_attributes` and quicker; the position behind it."""
        start = self._top
        if start + recipe.count >= len(self._words):
            self._grow(recipe.count)
        self._words[start] = recipe.head
        self._top = start + 1 + recipe.count
        if recipe.has_text:
            behind = position
            while octets[behind] != 0:
                behind += 1
            self._words[start + 1] = self._inside(unit, position, behind + 1)
            position = behind + 1
        for step in range(0, recipe.quick_size, 4):
            place = position + recipe.quick[step]
            width = recipe.quick[step + 1]
            if width == 4:
                word = octets[place + 3]
                word = word << 8 | octets[place + 2]
                word = word << 8 | octets[place + 1]
                word = word << 8 | octets[place]
            else:
                word = octets[place] if width == 1 else unit.number(place, width)
            if recipe.quick[step + 3]:
                known = self._known.recall(unit.key + 2 * (unit.offset + word))
                word = self._within(unit, word, place, depth) if known == _UNKNOWN else known
            self._words[start + 1 + recipe.quick[step + 2]] = word
        position += recipe.rest
        if recipe.constant_count:
            self._constants(recipe, start)
        if position > unit.end:
            raise Damaged("an entry ends behind its unit", position)
        return position

    def _path(self, unit: Unit, number: int) -> int:
        """The number of the file that a unit's own number means."""
        if self._unit is not unit:
            self._table = unit.files
            folder = "" if self._table is None else self._table.comp_dir
            self._folder = self._text(folder.encode(errors="surrogateescape"))
            self._unit = unit
            self._turn += 1
        if number < _FILES and self._files[number] // _NUMBERS == self._turn:
            return self._files[number] % _NUMBERS
        place = self._file(unit, number)
        known = self._paths.get(place, -1)
        if known < 0:
            known = self._paths[place] = self._numbered.setdefault(unit.path(number), len(self._numbered))
        if number < _FILES:
            self._files[number] = self._turn * _NUMBERS + known
        return known

    def _file(self, unit: Unit, number: int) -> int:
        """The number of where a file's name and folder stand, which is cheaper to tell than the path."""
        start = self._top
        files = self._table
        if files is not None and files.find(number):
            sections = unit.sections if unit.skeleton is None else unit.skeleton.sections
            self._put(sections.number)
            self._put(self._folder)
            self._put_name(files, files.name)
            self._put_name(files, files.folder)
        return self._number(start)

    def _put_name(self, files: Files, name: Name) -> None:
        self._put(name.form)
        self._put(self._text(files.text(name)) if name.is_inside else name.value)

    def _place(self, unit: Unit, place: int) -> int:
        """A word for the string at a place of .debug_str; in the sections of the first unit, that place."""
        if self._main is None:
            self._main = unit.sections
        if self._main is unit.sections and place < _PLACES:
            return place
        return self._text(unit.sections.text(place).encode(errors="surrogateescape"))

    def _inside(self, unit: Unit, position: int, end: int) -> int:
        """A word for a text that stands in an entry; short ones are that word."""
        if end - position > _SHORT:
            return self._text(bytes(unit.data[position:end]))
        return _IS_TEXT | _IS_SHORT | unit.number(position, end - position)

    def _text(self, text: bytes) -> int:
        return _IS_TEXT | self._texts.setdefault(text, len(self._texts))

    def _number(self, start: int) -> int:
        """The number of what was added since `start`, which is taken away again."""
        end = self._top
        self._top = start
        return self._numbers.number(start, end)

    def _put(self, word: int) -> None:
        if self._top >= len(self._words):
            self._grow(1)
        self._words[self._top] = word
        self._top += 1

    def _grow(self, count: int) -> None:
        self._words = self._numbers.grow(count + 1)
