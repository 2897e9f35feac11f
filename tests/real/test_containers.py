"""Containers in whole kernels: against `show --all --expand`, and against what pahole writes out.

What remains apart from pahole 1.24, and how the tests know it:

| difference | where it is seen |
|---|---|
| a struct that only a typedef names is not listed by itself | pahole writes it as `typedef NAME` `struct {` inside others, and never as `struct NAME {` |
| `--contains` compares one type by its number: no array of it, no typedef or qualifier, no member of an unnamed type | what it lists is just the structs with a field of that very spelling |
| `--contains --recursive` goes down from each of these into its members, and not up to what holds it | it lists the same names, and `(null)` for members without a tag |
| `--contains` on DWARF ends with the first unit that has the struct | only BTF is compared |
| structs that are local to functions are in BTF, and in DWARF not at the top level | `show --reader dwarf` does not have them either |
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from layoutlint.geometry.containers import Container, Index
from layoutlint.model.reading import ReadOptions
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dispatch import read
from tests.harness.command import run
from tests.harness.effort import row
from tests.harness.tools import need

pytestmark = pytest.mark.real

SECONDS = 600
Way = tuple[str, str, int]
"""A container, the path to what it embeds, and the byte of the first."""

ASKED = [
    # struct, as its fields spell it, at least so many places and containers in `next`
    ("rw_semaphore", "struct rw_semaphore", 90, 55),
    ("spinlock", "spinlock_t", 1_200, 500),
    ("address_space", "struct address_space", 11, 11),
    ("list_head", "struct list_head", 4_000, 1_400),
    ("atomic_t", "atomic_t", 4_000, 1_100),
]
IDS = [asked[0] for asked in ASKED]
READERS = ["dwarf", "btf"]


@cache
def structs(path: Path, reader: str, embedded: str = "") -> tuple[Struct, ...]:
    """Every struct that a rule can name, and those that it cannot if they may embed a struct."""
    wanted = Wanted(frozenset(("spinlock_t",)), everything=True, embedded=tuple(embedded.split()))
    return read(str(path), wanted, ReadOptions(reader=reader, jobs=0)).structs


@cache
def index(path: Path, reader: str, embedded: str = "") -> Index:
    return Index(structs(path, reader, embedded))


def containers(path: Path, reader: str, name: str, is_direct: bool = False, embedded: str = "") -> list[Container]:
    (definition,) = index(path, reader, embedded).definitions(name)
    return index(path, reader, embedded).containers(name, definition, is_direct)


def ways(found: Iterable[Container]) -> Counter[Way]:
    return Counter((way.struct.name, way.path, way.offset) for way in found)


@cache
def show(path: Path, reader: str) -> tuple[tuple[str, str, str, int], ...]:
    """Every struct and every field at every depth: its name, the path, the element type unqualified, the byte."""
    done = run("show", path, "--all", "--expand", "--format", "json", "--reader", reader, seconds=SECONDS)
    assert done.returncode == 0, done.stderr[-2000:]
    return tuple(
        (struct["name"], member["path"], re.sub(r"^(?:(?:const|volatile) )+|(?: ?\[\d*\])+$", "", member["type"]), member["offset"])
        for struct in json.loads(done.stdout)["structs"]
        for member in struct["fields"]
    )


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(("name", "spelled", "least", "holders"), ASKED, ids=IDS)
def test_every_field_of_the_type_at_every_depth(next, reader, name, spelled, least, holders):
    found = ways(containers(next, reader, name))
    assert found == Counter(
        (struct, path, offset)
        for struct, path, type_, offset in show(next, reader)
        if type_ in (spelled, f"struct {name}")
    )
    assert found.total() >= least
    assert len({container for container, _, _ in found}) >= holders


ARRAYS_BY_TYPEDEF = {
    # what is embedded through a typedef of an array of it, which the spelling of a field does not show
    "__va_list_tag": "typedef __builtin_va_list va_list, an array of one on x86-64",
    "nodeElt_s": "typedef nodeElt huffNodeTable[2 * (HUF_SYMBOLVALUE_MAX + 1)]",
}


@pytest.mark.parametrize("reader", READERS)
def test_every_struct_of_the_kernel(next, reader):
    expected: dict[int, Counter[Way]] = defaultdict(Counter)
    of_type: dict[str, Counter[Way]] = defaultdict(Counter)
    for struct, path, type_, offset in show(next, reader):
        of_type[type_][struct, path, offset] += 1
    for type_, found in of_type.items():
        keyword, _, tag = type_.rpartition(" ")
        definitions = index(next, reader).definitions(tag) if keyword in ("", "struct", "union") else ()
        if len(definitions) == 1:
            expected[id(definitions[0])] += found
    different, total = set(), 0
    for name in {struct.name for struct in structs(next, reader)}:
        definitions = index(next, reader).definitions(name)
        if len(definitions) == 1:
            found = ways(index(next, reader).containers(name, definitions[0]))
            total += found.total()
            if found != expected[id(definitions[0])]:
                different.add(name)
    assert different == set(ARRAYS_BY_TYPEDEF)
    assert total >= 30_000


COMMANDS = [
    # struct, as the command is given it
    ("rw_semaphore", "rw_semaphore"),
    ("spinlock", "spinlock_t"),
    row("spinlock", "spinlock"),
    row("address_space", "address_space"),
    row("list_head", "list_head"),
    row("atomic_t", "atomic_t"),
]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(("name", "called"), COMMANDS)
def test_the_command_lists_the_same_without_reading_everything(next, reader, name, called):
    done = run("containers", next, called, "--format", "json", "--reader", reader, seconds=SECONDS)
    assert done.returncode == 0, done.stderr[-2000:]
    (found,) = json.loads(done.stdout)["structs"]
    output = Counter((way["name"], way["path"], way["offset"]) for way in found["containers"])
    assert output == ways(containers(next, reader, name, embedded=called))
    narrow = read(str(next), Wanted(with_containers=frozenset((called,))), ReadOptions(reader=reader, jobs=0)).structs
    assert {way.struct.name for way in containers(next, reader, name)} < {struct.name for struct in narrow}
    assert len(narrow) < len(structs(next, reader)) / 2


_OPEN = re.compile(r"(?:/\* typedef (?P<typedefs>[\w> -]+) \*/ )?(?:const |volatile )*(?:struct|union|enum)(?: (?P<tag>\w+))? \{$")
_ATTRIBUTE = re.compile(r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)")
_CLOSE = re.compile(r"\}\s*(?P<stars>\**)\s*(?P<name>\w*)[^;]*;\s*(?:/\*\s*(?P<offset>\d+)\s+\d+ \*/)?")


@dataclass(slots=True)
class _Block:
    """A struct that pahole writes out where it stands: what it is called, and the places in it."""

    names: frozenset[str]
    ways: list[tuple[frozenset[str], str, int]] = field(default_factory=list)
    """The names of a type in it, its path and its byte."""


def expand(lines: Iterable[str]) -> Iterator[tuple[str, frozenset[str], str, int]]:
    """Every embedded struct of `pahole --expand_types`: the outermost struct, names of its type, path and byte."""
    open_: list[_Block] = []
    for line in map(str.strip, lines):
        start = _OPEN.match(line)
        if start:
            typedefs = (start["typedefs"] or "").split(" -> ")
            open_.append(_Block(frozenset({start["tag"] or "", *typedefs} - {""})))
        elif line.startswith("}") and open_:
            block = open_.pop()
            end = _CLOSE.match(_ATTRIBUTE.sub("", line))
            if not open_:
                top = next(iter(block.names), "") or (end["name"] if end else "")
                yield from ((top, names, path, offset) for names, path, offset in block.ways)
            elif end and end["offset"] and not end["stars"]:
                prefix = f"{end['name']}." if end["name"] else ""
                open_[-1].ways += [(names, prefix + path, offset) for names, path, offset in block.ways]
                open_[-1].ways.append((block.names, end["name"], int(end["offset"])))


@cache
def pahole_structs(path: Path) -> tuple[tuple[str, frozenset[str], str, int], ...]:
    return tuple(expand(_pahole(path, "--expand_types")))


def _pahole(path: Path, *options: str) -> list[str]:
    need("pahole")
    words = ["pahole", "-F", "btf", *options, str(path)]
    return subprocess.run(words, capture_output=True, text=True, errors="replace", check=True).stdout.splitlines()


APART = [
    # struct, reader, containers that pahole does not write out by themselves, those that only pahole has
    ("rw_semaphore", "dwarf", {"mm_context_t": "has no tag"}, {"sg": "is local to a function"}),
    ("rw_semaphore", "btf", {"mm_context_t": "has no tag"}, {}),
    *(("spinlock", reader, {"seqlock_t": "has no tag", "socket_lock_t": "has no tag"}, {}) for reader in READERS),
    *(("address_space", reader, {}, {}) for reader in READERS),
]


@pytest.mark.parametrize(("name", "reader", "ours", "theirs"), APART)
def test_every_difference_from_pahole_is_explained(next, name, reader, ours, theirs):
    spelled = {row[0]: row[1] for row in ASKED}[name]
    here = set(ways(containers(next, reader, name)))
    there = {(top, path, offset) for top, names, path, offset in pahole_structs(next) if names & {name, spelled}}
    assert ({way[0] for way in here - there}, {way[0] for way in there - here}) == (set(ours), set(theirs))
    assert len(here & there) >= 11


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(("name", "spelled"), [row[:2] for row in ASKED], ids=IDS)
def test_every_place_that_pahole_writes_out(next, reader, name, spelled):
    ours = set(ways(containers(next, reader, name)))
    theirs = {(top, path, offset) for top, names, path, offset in pahole_structs(next) if names & {name, spelled}}
    ours_only, theirs_only = ours - theirs, theirs - ours
    tagged = {top for top, _, _, _ in pahole_structs(next)}
    known = {struct for struct, _, _, _ in show(next, reader)}
    assert {way for way in ours_only if way[0] in tagged} == set()
    assert {way for way in theirs_only if way[0] in known} == set()
    assert len(theirs) > 10 * len(ours_only)
    assert theirs_only == set() or reader == "dwarf"


@pytest.mark.parametrize(("name", "spelled"), [row[:2] for row in ASKED], ids=IDS)
def test_what_pahole_says_contains_it(next, name, spelled):
    listed = {line.strip() for line in _pahole(next, "--contains", spelled.removeprefix("struct "))}
    recursive = {line.strip() for line in _pahole(next, "--contains", spelled.removeprefix("struct "), "--recursive")}
    assert recursive - listed <= {"(null)"}
    direct = {way.struct.name for way in containers(next, "btf", name, is_direct=True)}
    assert listed <= direct
    just = {of.name for of in structs(next, "btf") if any(str(f.type) == spelled and f.name for f in of.fields)}
    tagged = {top for top, _, _, _ in pahole_structs(next)}
    assert listed == just & tagged
    assert listed
