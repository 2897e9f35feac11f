"""The least sizes of structs against all orders of their members, or a lower bound, as gcc lays them out."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterable, Sequence
from itertools import permutations
from pathlib import Path

import pytest

from layoutlint.commands.suggest import packing
from layoutlint.commands.suggest.packing import Packing
from layoutlint.lint.struct_listing import list_structs
from layoutlint.model.reading import ReadOptions
from layoutlint.model.structs import Struct
from tests.harness.tools import need

SHAPES = (
    "char {}", "char {}[3]", "char {}[13]", "short {}", "int {}", "int {}[3]", "long {}", "long double {}", "void *{}",
    "struct {{ char a; long b; short c; }} {}", "struct {{ }} {}", "int {} : 3", "unsigned {} : 20", "long {} : 40",
    "_Bool {} : 1", "char {}[4] __attribute__((aligned(16)))", "short {} __attribute__((aligned(8)))",
    "char {} __attribute__((aligned(64)))",
)  # fmt: skip
PLAIN = SHAPES[:8]
"""Types whose size is a multiple of their alignment: falling alignment is then the smallest order."""
TABLE = {
    "dense": (("int {}", "int {}", "long {}"), 16, 0),
    "one_move": (("char {}", "long {}", "char {}"), 16, 1),
    "two_moves": (("char {}", "long {}", "int {}", "long {}", "short {}"), 24, 2),
    "bits_fill": (("char {}", "int {} : 20", "long {}", "_Bool {} : 1"), 16, 1),
    "flexible": (("char {}", "int {}", "char {}", "long {}[]"), 8, 1),
    "flexible_short": (("char {}", "int {}", "char {}", "char {}[]"), 8, 1),
    "aligned": (("char {} __attribute__((aligned(64)))", "char {}", "char {} __attribute__((aligned(64)))"), 128, 0),
    "false_saving": (
        ("char {}", "long {}", "char {} __attribute__((aligned(64)))", "long {}", "char {} __attribute__((aligned(64)))"), 128, 1,
    ),
    "marked": (("char {}", "long {}", "char {}", "struct {{ }} {} __attribute__((aligned(64)))", "char {}"), 128, 0),
}  # fmt: skip
"""Members, the least size in bytes, and the fewest moves that reach it."""


def members_of(shapes: Sequence[str]) -> list[str]:
    """The members of a struct with a name each."""
    return [shape.format(f"m{at}") for at, shape in enumerate(shapes)]


def text_of(name: str, members: Iterable[str]) -> str:
    """A struct, with a variable that brings it into the debug information."""
    return f"struct {name} {{ {'; '.join(members)}; }} *of_{name};\n"


def read(folder: Path, text: str, *, at: str = "structs") -> dict[str, Struct]:
    """The structs of a C file that gcc compiled."""
    (folder / f"{at}.c").write_text(text)
    subprocess.run([need("gcc", "-c"), "-g", "-c", f"{at}.c", "-o", f"{at}.o"], cwd=folder, check=True)
    return {each.name: each for each in list_structs(str(folder / f"{at}.o"), (), ReadOptions()).structs}


def pack(struct: Struct) -> Packing:
    """The smallest order of a struct."""
    units = packing.units_of(struct, 64)
    return packing.pack(units, packing.align_of(struct, units))


def members_in_order(struct: Struct, found: Packing, members: Sequence[str]) -> list[str]:
    """The declarations of a struct in the order found."""
    units = packing.units_of(struct, 64)
    return [members[at] for number in found.order for at in units[number].fields]


def sizes(folder: Path, structs: Sequence[Sequence[str]]) -> list[int]:
    """What gcc says `sizeof` is of structs with some members."""
    names = range(len(structs))
    lines = [f"struct s{name} {{ {'; '.join(members)}; }};" for name, members in zip(names, structs, strict=True)]
    sums = ", ".join(f"sizeof(struct s{name})" for name in names)
    lines.append(f"#include <stdio.h>\nunsigned long all[] = {{ {sums} }};")
    lines.append(f"int main(void) {{ for (int i = 0; i < {len(structs)}; i++) printf(\"%lu\\n\", all[i]); return 0; }}")
    (folder / "sizes.c").write_text("\n".join(lines))
    subprocess.run([need("gcc", "-O0"), "-w", "sizes.c", "-o", "sizes"], cwd=folder, check=True)
    return [int(line) for line in subprocess.run([folder / "sizes"], capture_output=True, text=True, check=True).stdout.split()]


def draw(number: int, shapes: Sequence[str], count: int) -> tuple[str, ...]:
    """Some members, the same for each number."""
    chance = random.Random(number)
    return tuple(chance.choice(shapes) for _ in range(count))


@pytest.mark.parametrize("name", TABLE)
def test_the_least_size_and_the_fewest_moves(name, tmp_path):
    shapes, least, moves = TABLE[name]
    members = members_of(shapes)
    struct = read(tmp_path, text_of("one", members))["one"]
    found = pack(struct)
    assert (found.size, found.bound, found.moves, found.is_fewest) == (least, least, moves, True)
    assert sizes(tmp_path, [members_in_order(struct, found, members)]) == [least]


def test_no_order_of_few_members_is_smaller_or_moves_fewer(tmp_path):
    drawn = {f"r{number}": members_of(draw(number, SHAPES, 5)) for number in range(30)}
    structs = read(tmp_path, "".join(text_of(name, members) for name, members in drawn.items()))
    wrong = []
    for name, members in drawn.items():
        found = pack(structs[name])
        runs = [list(unit.fields) for unit in packing.units_of(structs[name], 64)]
        orders = list(permutations(range(len(runs))))
        every = sizes(tmp_path, [[members[at] for number in order for at in runs[number]] for order in orders])
        ours = dict(zip(orders, every, strict=True))[found.order]
        least = min(every)
        fewest = min(packing.count_moves(order) for order, size in zip(orders, every, strict=True) if size == least)
        is_right = (ours, found.size, found.bound) == (least, least, least)
        if not is_right or found.moves < fewest or (found.is_fewest and found.moves > fewest):
            wrong.append((members, found, ours, least, fewest))
    assert not wrong


def test_falling_alignment_reaches_the_bound(tmp_path):
    drawn = {f"r{number}": members_of(draw(number, PLAIN, 40)) for number in range(20)}
    structs = read(tmp_path, "".join(text_of(name, members) for name, members in drawn.items()))
    found = {name: pack(structs[name]) for name in drawn}
    compiled = sizes(tmp_path, [members_in_order(structs[name], found[name], drawn[name]) for name in drawn])
    assert compiled == [found[name].size for name in drawn]
    assert [each.size for each in found.values()] == [each.bound for each in found.values()]
    sums = [sum(field.bit_size // 8 for field in structs[name].fields) for name in drawn]
    assert all(0 <= each.size - least < 16 for each, least in zip(found.values(), sums, strict=True))


def test_an_order_of_many_odd_members_is_reached_and_the_bound_holds(tmp_path):
    drawn = {f"r{number}": members_of(draw(number, SHAPES, 30)) for number in range(20)}
    structs = read(tmp_path, "".join(text_of(name, members) for name, members in drawn.items()))
    found = {name: pack(structs[name]) for name in drawn}
    compiled = sizes(tmp_path, [members_in_order(structs[name], found[name], drawn[name]) for name in drawn])
    assert compiled == [found[name].size for name in drawn]
    assert all(each.bound <= each.size for each in found.values())
    declared = [structs[name].bit_size // 8 for name in drawn]
    assert all(size <= before for size, before in zip(compiled, declared, strict=True))


def test_what_pahole_lists_has_the_same_least_size_or_pahole_is_wrong(tmp_path):
    drawn = {f"r{number}": members_of(draw(number, SHAPES, 5)) for number in range(40)}
    drawn["false_saving"] = members_of(TABLE["false_saving"][0])
    structs = read(tmp_path, "".join(text_of(name, members) for name, members in drawn.items()))
    command = [need("pahole"), "--packable", str(tmp_path / "structs.o")]
    rows = [line.split("\t") for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()]
    listed = {name: int(least) for name, _, least, _ in rows if name in drawn}
    assert len(listed) > 10
    differing = [name for name, least in listed.items() if pack(structs[name]).size != least]
    for name in differing:
        runs = [unit.fields for unit in packing.units_of(structs[name], 64)]
        orders = ([drawn[name][at] for run in order for at in run] for order in permutations(runs))
        assert min(sizes(tmp_path, list(orders))) == pack(structs[name]).size


@pytest.mark.parametrize(
    "text",
    [
        "struct __attribute__((packed)) one { char a; long b; } *of;",
        "struct one { char a; int : 7; long b; int c; int : 30; int : 30; } *of;",
    ],
)
def test_a_layout_that_members_do_not_explain_is_refused(text, tmp_path):
    struct = read(tmp_path, text)["one"]
    with pytest.raises(packing.CannotLayOut):
        packing.units_of(struct, 64)


@pytest.mark.parametrize(
    ("order", "moves"), [((), 0), ((0, 1, 2), 0), ((2, 0, 1), 1), ((2, 1, 0), 2), ((1, 0, 3, 2), 2), ((0, 3, 1, 2), 1)]
)
def test_moves_are_what_is_outside_of_a_longest_ascending_part(order, moves):
    assert packing.count_moves(order) == moves
