"""Compare every struct of many modules with pahole, by hand: for a whole distribution it takes an hour.

    python -m tests.real.against_pahole FOLDER [--every N] [--limit N] [--jobs N]

Modules with DWARF, such as those of a linux-image-...-dbg package. Each is listed by `pahole -F dwarf` and shown by
`show --all --expand --format json`; what both list is compared in size, offsets and bits of every field. Prints what
differs, by module and struct, and the sums; the exit status is 1 where something differs or pahole alone has it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.harness.command import run
from tests.oracles import pahole
from tests.real.test_pahole import SECONDS, Count, Shown, shape_of


@dataclass(slots=True)
class Result:
    """One module: what was compared, and what only pahole has."""

    path: Path
    count: Count = field(default_factory=Count)
    alone: list[str] = field(default_factory=list)
    error: str = ""


def compare(path: Path) -> Result:
    """One module; the command's own words where it cannot be read."""
    result = Result(path)
    done = run("show", path, "--all", "--expand", "--format", "json", seconds=SECONDS)
    if done.returncode:
        result.error = done.stderr.strip()
    if not done.stdout:
        return result
    ours: dict[str, list[Shown]] = defaultdict(list)
    for struct in json.loads(done.stdout)["structs"]:
        made = shape_of(struct)
        for name in {struct["name"], *struct["aliases"]}:
            ours[name].append(made)
    for shape in pahole.list_output(path, "-F", "dwarf"):
        if shape.name in ours:
            result.count.add(shape, ours[shape.name])
        else:
            result.alone.append(shape.name)
    return result


def describe(result: Result) -> Iterator[str]:
    """What is worth saying of one module."""
    if result.error:
        yield f"{result.path}: {result.error}"
    for name, differences in result.count.different.items():
        yield f"{result.path}: {name}: {'; '.join(differences[:4])}"
    for name in result.alone:
        yield f"{result.path}: {name}: pahole alone"


def main(words: list[str]) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.real.against_pahole", description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every Nth module (default: all)")
    parser.add_argument("--limit", type=int, metavar="N", help="at most so many modules")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    asked = parser.parse_args(words)
    paths = sorted(asked.folder.rglob("*.ko"))[:: asked.every][: asked.limit]
    total, wrong = Count(), 0
    with ThreadPoolExecutor(asked.jobs) as executor:
        for number, result in enumerate(executor.map(compare, paths), 1):
            total.structs += result.count.structs
            total.fields += result.count.fields
            total.bitfields += result.count.bitfields
            for line in describe(result):
                wrong += 1
                print(line, flush=True)
            if sys.stderr.isatty():
                print(f"{number} of {len(paths)}", end="\r", file=sys.stderr)
    print(
        f"{len(paths)} modules, {total.structs:,} structs, {total.fields:,} fields, {total.bitfields:,} of them "
        f"bit-fields: {wrong} differences"
    )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
