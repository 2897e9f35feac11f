"""Which variables and sections are near one another: every answer is computed once more, byte by byte or page by page."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from layoutlint.model.ctype import CType
from layoutlint.model.structs import Field
from layoutlint.readers import variables
from layoutlint.readers.elf.headers import Section
from layoutlint.readers.elf.symbols import Symbol
from layoutlint.readers.linux.system_map import SystemMap
from tests.harness.build import X86_64

ALLOCATED, WRITABLE, CODE, THREAD = 2, 1, 4, 1 << 10


def section(name: str, address: int, size: int, flags: int = ALLOCATED | WRITABLE, align: int = 8) -> Section:
    return Section(name, 1, flags, 0, size, 0, 0, address, align, 0)


def image_of(sections: list[Section], is_relocatable: bool = False) -> Any:
    return SimpleNamespace(headers=sections, is_relocatable=is_relocatable, target=X86_64, path="x")


@pytest.mark.parametrize("is_linked", [False, True])
def test_neighbours(is_linked):
    """A variable is near if a byte of it is less than so many bytes away from a chosen one."""
    chance = random.Random(7)
    for near in (0, 1, 4, 16):
        for _ in range(20):
            symbols = [
                Symbol(f"s{n}", chance.randrange(100), chance.choice((0, 1, 4, 8)), chance.choice((1, 2)), chance.random() < 0.8)
                for n in range(12)
            ]  # fmt: skip
            chosen = [each for each in symbols if chance.random() < 0.2]

            def is_near(one: Symbol, near: int = near, chosen: list[Symbol] = chosen) -> bool:
                around = [each for each in chosen if is_linked or each.section == one.section]
                return any(one.address < each.end + near and each.address - near < one.end for each in around)

            expected = {each for each in symbols if each in chosen or (each.has_type and each.size and is_near(each))}
            assert variables._neighbourhood(symbols, chosen, near, is_linked) == expected


def test_sections_that_share_pages():
    chance = random.Random(8)
    for _ in range(60):
        sections, at = [section("", 0, 0, 0)], 4096 * chance.randrange(3)
        for number in range(chance.randrange(1, 7)):
            at += chance.choice((0, 0, 1, 8, 4095, 4096, 4097, 9000))
            size = chance.choice((0, 1, 8, 4095, 4096, 4097))
            sections.append(section(f".s{number}", at, size, chance.choice((ALLOCATED | WRITABLE, ALLOCATED, ALLOCATED | CODE, ALLOCATED | WRITABLE | THREAD, 0))))
            at += size
        data = [n for n, each in enumerate(sections) if each.size and each.flags in (ALLOCATED | WRITABLE, ALLOCATED)]
        assert variables._adjacent_sections(image_of(sections, is_relocatable=True)) == [[n] for n in data]
        groups: list[list[int]] = []
        pages: set[int] = set()
        for number in data:
            own = {address // 4096 for address in range(sections[number].address, sections[number].address + sections[number].size)}
            groups = [*groups[:-1], [*groups[-1], number]] if groups and own & pages else [*groups, [number]]
            pages |= own
        assert variables._adjacent_sections(image_of(sections)) == groups


def test_symbols_without_sizes():
    """A symbol of System.map ends where the next one or its section does."""
    chance = random.Random(9)
    for _ in range(60):
        sections = [section("", 0, 0, 0), section(".data", 100, 40), section(".text", 140, 20, ALLOCATED | CODE), section(".bss", 160, 30)]
        names = [f"{chance.choice(('v', '__start_v', 'v_end', '_edata', '__stop_v', 'begin'))}{n}" for n in range(9)]
        entries = tuple((chance.randrange(95, 200), name) for name in names)
        for is_least in (False, True):
            found = variables._mapped_symbols(image_of(sections), SystemMap("m", entries), is_least)
            expected = []
            for address, name in entries:
                number = next((n for n in (1, 3) if sections[n].address <= address < sections[n].address + sections[n].size), None)
                if number is not None:
                    last = sections[number].address + sections[number].size
                    end = min(last, *(other for other, _ in entries if other > address), last)
                    expected.append((name, address, 1 if is_least else end - address, number))
            assert [(each.name, each.address, each.size, each.section) for each in found] == expected


def test_arrays_and_areas():
    """Arrays of several elements, and data of sections: with their places in objects and in linked files."""
    sections = [section("", 0, 0, 0), section(".data", 4096, 64), section(".rodata", 4160, 32, ALLOCATED, 16), section(".far", 9000, 8, align=0)]
    symbols = [Symbol("one", 4096, 4, 1, True), Symbol("many", 4104, 24, 1, True), Symbol("single", 4160, 4, 2, True), Symbol("grid", 4168, 24, 2, True), Symbol("open", 9000, 8, 3, True)]
    dims: dict[str, tuple[int | None, ...]] = {"one": (), "many": (3,), "single": (1,), "grid": (2, 3), "open": (None,)}
    fields = {each: Field(each.name, CType("int"), 8 * each.address, 8 * each.size, dims=dims[each.name]) for each in symbols}
    arrays = [(each.name, each.bit_size, each.align, each.fields[0].members[0].bit_offset, each.address) for each in variables._arrays(image_of(sections), fields)]
    assert arrays == [("many", 192, 8, 0, 4104), ("grid", 192, 16, 0, 4168)]
    arrays = [(each.name, each.bit_size, each.address, each.fields[0].members[0].bit_offset) for each in variables._arrays(image_of(sections, True), fields)]
    assert arrays == [("many", 8 * 4128, None, 8 * 4104), ("grid", 8 * 4192, None, 8 * 4168)]
    areas = list(variables._areas(image_of(sections), symbols, fields, {1, 2}))
    assert [(each.name, each.bit_size, each.align, each.address) for each in areas] == [(".data, .rodata", 768, 8, 4096)]
    places = [(part.type.left, part.bit_offset, [(member.name, member.bit_offset) for member in part.members]) for part in areas[0].fields]
    assert places == [(".data", 0, [("one", 0), ("many", 64)]), (".rodata", 512, [("single", 0), ("grid", 64)])]
    (area,) = variables._areas(image_of(sections), symbols, fields, {3})
    assert (area.name, area.align, area.address, area.bit_size) == (".far", 1, 9000, 64)
