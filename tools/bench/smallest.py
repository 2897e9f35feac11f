"""The smallest size of kernel structs against pahole's: `python -m tools.bench.smallest VMLINUX [COUNT]`.

VMLINUX has DWARF and BTF. COUNT structs (default 200) of 10 to 150 members are chosen at random, always the same ones.
Each is searched for the smallest size, then for the fewest moves, without rules, as `suggest --smallest` does; pahole
reorganises it from BTF, which makes it quick. BTF states no `aligned`: pahole's size is rounded up to the alignment
that DWARF states.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.randstruct import randomisation
from layoutlint.randstruct.c_abi import CannotLayOut, round_up
from layoutlint.readers import inputs
from layoutlint.suggestion.builds import arrange_declared
from layoutlint.suggestion.orders.arrangement import Arrangement
from layoutlint.suggestion.orders.problem import BuildTask, Solution, task_of_one
from layoutlint.suggestion.solving import find_order

_FEWEST, _MOST = 10, 150
_EFFORT = 4.0
"""The default of `suggest --effort`."""
_SIZE = re.compile(r"/\* size: (\d+)")


@dataclass(frozen=True, slots=True)
class Result:
    """One struct."""

    struct: Struct
    solution: Solution
    size: int
    """In bytes, in the suggested order."""
    pahole: int
    seconds: float
    """Of the processor."""


def chosen_names(path: str, count: int) -> list[str]:
    """Return the names of structs with one definition and enough members, from BTF."""
    readings, _ = inputs.read((path,), Wanted(patterns=("*",)), ReadOptions(reader="btf"))
    structs = [each for one in readings for each in one.structs if each.is_tagged and each.aggregate == "struct"]
    number = Counter(each.name for each in structs)
    fitting = (each for each in structs if each.bit_size and _FEWEST <= len(each.fields) <= _MOST)
    names = sorted(each.name for each in fitting if number[each.name] == 1)
    random.Random(17).shuffle(names)
    return names[:count]


def pahole_size(path: str, name: str, align: int) -> int | None:
    """Return the size in bytes that pahole gives a struct, rounded up to its alignment; None if it has none."""
    command = ["pahole", "-F", "btf", "-R", "-C", name, path]
    sizes = _SIZE.findall(subprocess.run(command, capture_output=True, text=True).stdout)
    return round_up(int(sizes[-1]), align) if sizes else None


def results(path: str, names: list[str], refused: Counter[str]) -> Iterator[Result]:
    """Yield a result for each struct; count the reasons of those without one."""
    options = ReadOptions(with_marks=True, reader="dwarf")
    readings, _ = inputs.read((path,), Wanted(frozenset(names)), options)
    structs = {each.name: each for one in readings for each in one.structs if each.bit_size}
    inner = randomisation.embedded_names(tuple(structs.values()))
    context, _ = inputs.read((path,), Wanted(inner), options)
    for name in names:
        if name not in structs:
            refused["DWARF has no definition"] += 1
            continue
        found = _arrangement(readings[0], context, structs[name])
        if isinstance(found, str):
            refused[found] += 1
        elif (size := pahole_size(path, name, found.align)) is None:
            refused["pahole prints no size"] += 1
        else:
            start = time.process_time()
            task = task_of_one(BuildTask(found, 0, ()), ("size", "moves", "holes"))
            solution = find_order(task, [[]], _EFFORT, explains=False)
            new = found.lay_out(solution.order)
            yield Result(found.struct, solution, (new.bit_size or 0) // 8, size, time.process_time() - start)


def _arrangement(reading: Reading, context: list[Reading], struct: Struct) -> Arrangement | str:
    """Return the units of a struct, or why its offsets cannot be explained."""
    try:
        declared = randomisation.declared_struct(reading, context, struct)
        found = next(arrange_declared(declared, struct, opens=True))
    except CannotLayOut as error:
        return str(error).replace(struct.name, "X")
    laid = found.lay_out(range(len(found.units)))
    differs = [field.bit_offset for field in laid.fields] != [field.bit_offset for field in struct.fields]
    return "its offsets are not those of the declared order" if differs else found


def main(path: str, count: int) -> int:
    """Print the figures; return 1 if a struct is larger than pahole's."""
    refused: Counter[str] = Counter()
    done = []
    for each in results(path, chosen_names(path, count), refused):
        done.append(each)
        reached = {one.aim: (one.value, one.bound) for one in each.solution.reached}
        print(
            f"{each.struct.name:40} {len(each.struct.fields):4} members {(each.struct.bit_size or 0) // 8:7} -> "
            f"{each.size:7}, pahole {each.pahole:7}; moves {reached['moves'][0]:3} (at least "
            f"{reached['moves'][1]:3}) in {each.seconds:5.1f} s"
        )
    larger = [each for each in done if each.size > each.pahole]
    print(f"\n{len(done)} structs of {_FEWEST} to {_MOST} members")
    print(f"smaller than now: {sum(each.size * 8 < (each.struct.bit_size or 0) for each in done)}")
    print(f"smaller than pahole's: {sum(each.size < each.pahole for each in done)}, larger: {len(larger)}")
    for aim in ("size", "moves"):
        proved = [one for each in done for one in each.solution.reached if one.aim == aim and one.value == one.bound]
        print(f"{aim} proved minimal: {len(proved)}")
    print(f"slowest: {max((each.seconds for each in done), default=0):.1f} s of the processor")
    for reason, number in refused.most_common():
        print(f"{number} without a result: {reason}")
    return int(bool(larger))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200))
