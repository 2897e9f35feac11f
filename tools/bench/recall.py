"""How well `infer` finds what upstream found: `python -m tools.bench.recall 6.12=SOURCE:BUILD[:FOLDER,...]`.

SOURCE is a kernel source tree, BUILD its configured build folder or header package. FOLDER is what is read, `fs+` the
files of fs without those of folders below. Functions and layouts come from
there, no rules are used. The changes of fixtures/sharing/upstream.toml were in view when the weights were chosen;
those of blind.toml were gathered later. A struct whose field order was already mended gets the order from before, as
they have it. For each change the rank of the written field among the notes of its struct is
printed, the rank of the victim given the written field, and the probability with which a random order of the notes
has one of the written fields among the first three. If the order was already mended, the last column has what
`diff --uses` says of a patch that undoes the fix: the rank of the pair, that given the written field, and the pairs.
A change whose struct the sources do not use, or whose kernel was not read, is listed as not tried and not counted.
"""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Any

from layoutlint.commands.diff.likely_sharing import likely_pairs
from layoutlint.comparison.layouts import compare_layouts
from layoutlint.inference.analysis import Analysis, analyse
from layoutlint.inference.infer import infer
from layoutlint.inference.ranking import parts
from layoutlint.lint.options import Options
from layoutlint.model.reading import ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.structs import Field, Struct
from layoutlint.readers.clang.kernel import built_sources, tree
from layoutlint.sources import bodies

SHARING = Path(__file__).parents[2] / "fixtures" / "sharing"
HALVES = ("upstream", "blind")
FOLDERS = ("mm", "fs", "kernel", "net/core", "net/ipv4", "block")
FIRST = 3


class Untried(Exception):
    """A change that the sources at hand do not show, with the reason."""


@dataclass(frozen=True, slots=True)
class Row:
    """The result for one change; ranks are None where there is no such note."""

    name: str
    note: int | None
    given: int | None
    notes: int
    chance: float
    undone: str

    def __str__(self) -> str:
        note, given = self.note or "none", self.given or "none"
        return f"| `{self.name}` | {note} | {self.notes} | {self.chance:.2f} | {given} | {self.undone} |"


def read(source: str, build: str, folders: str = ",".join(FOLDERS)) -> Analysis:
    """The functions of a kernel."""
    paths = tuple(path for folder in folders.split(",") for path in inputs(source, build, folder))
    options = ReadOptions(flags=(f"O={build}",), cache=True, jobs=2, progress=show_progress)
    return analyse(bodies.read(paths, options), ())


def inputs(source: str, build: str, folder: str) -> list[str]:
    """A folder, or the built files of it alone."""
    if not folder.endswith("+"):
        return [f"{source}/{folder}"]
    configured = tree.find(source, build)
    if configured is None:
        raise SystemExit(f"{source} is no kernel")
    own = f"{source}/{folder.removesuffix('+')}"
    return [file for file in built_sources.sources(configured, own) if str(Path(file).parent) == own]


def show_progress(_: str, done: int, total: int) -> None:
    if done % 100 == 0:
        print(f"{done} of {total} units", file=sys.stderr)


def rebuilt(struct: Struct, order: list[str], align: int | None) -> Struct:
    """The struct with its fields in another order, by the rules of the C ABI, without `aligned`."""
    if not order:
        return replace(struct, align=align or struct.align)
    fields = {field.name: field for field in struct.fields if field.name is not None}
    rest = [field for name, field in fields.items() if name not in order and not name.startswith("_pad")]
    missing = [name for name in order if name != "*" and name not in fields]
    if missing:
        raise Untried(f"struct {struct.name} has no field {missing[0]}")
    chosen: list[Field] = []
    for name in order:
        chosen += rest if name == "*" else [fields[name]]
    placed, end = [], 0
    for field in chosen:
        bits = 8 * min(field.align or 8, 8)
        end = -(-end // bits) * bits
        placed.append(replace(field, bit_offset=end))
        end += field.bit_size or 0
    return replace(struct, fields=tuple(placed), bit_size=-(-end // 64) * 64, align=align or 8)


def judge(name: str, change: dict[str, Any], found: Analysis) -> Row:
    """The ranks for one change."""
    wanted = change.get("struct", name)
    fields = {*change["writers"], *change["readers"]}
    some = [each for each in found.bodies.structs if each.name == wanted and {part.path for part in parts(each.fields)} & fields]
    if len(some) != 1:
        how = "no function uses it" if not some else f"{len(some)} files define it"
        raise Untried(f"struct {wanted}: {how}")
    (struct,) = some
    before = rebuilt(struct, change.get("order", []), change.get("align"))
    result = infer(found, [before], (), wanted, sys.maxsize)
    written = [note for note in result.notes if note.writer.part.path in change["writers"]]
    ranks = [
        note.rank_in_struct for note in written if {pair.reader.part.path for pair in note.pairs} & set(change["readers"])
    ]
    given = []
    for note in written:
        victims = [pair.reader.part.path for pair in result.pairs if pair.writer.part.path == note.writer.part.path]
        given += [rank for rank, victim in enumerate(victims, 1) if victim in change["readers"]][:1]
    total = len(result.notes)
    others = total - len(written)
    chance = 1 - comb(others, FIRST) / comb(total, FIRST) if total >= FIRST else float(bool(written))
    undone = undo(struct, before, change, found) if change.get("order") else ""
    return Row(name, min(ranks, default=None), min(given, default=None), total, chance, undone)


def undo(mended: Struct, before: Struct, change: dict[str, Any], found: Analysis) -> str:
    """The rank of the pair in the comparison of the mended order with the one from before."""
    changes = compare_layouts([mended], [before]).changes
    pairs = likely_pairs(changes, found, {}, Options())
    ranks = [
        (rank, pair.rank_of_writer)
        for rank, pair in enumerate(pairs, 1)
        if pair.change.first in change["writers"] and pair.change.second in change["readers"]
    ]
    return f"{ranks[0][0]}, {min(given for _, given in ranks)}, {len(pairs)}" if ranks else f"none, {len(pairs)}"


def main() -> None:
    halves = {half: tomllib.loads((SHARING / f"{half}.toml").read_text()) for half in HALVES}
    rows: dict[str, list[Row]] = {half: [] for half in HALVES}
    untried = {half: set(changes) for half, changes in halves.items()}
    print("| change | rank of the note | notes of the struct | chance | rank of the victim, given the writer | undone |\n|---|---:|---:|---:|---:|---|")
    for word in sys.argv[1:]:
        kernel, _, places = word.partition("=")
        found = read(*places.split(":"))
        for half, changes in halves.items():
            for name, change in changes.items():
                if change["kernel"] == kernel:
                    untried[half].discard(name)
                    try:
                        rows[half].append(judge(name, change, found))
                    except Untried as reason:
                        untried[half].add(name)
                        print(f"{half} {name} cannot be tried: {reason}", file=sys.stderr, flush=True)
                    else:
                        print(rows[half][-1], flush=True)
    for half in HALVES:
        missing = f"; not tried: {', '.join(sorted(untried[half]))}" if untried[half] else ""
        print(f"\n{half}: {summary(rows[half])}{missing}")


def summary(rows: list[Row]) -> str:
    """How many of some changes were found, beside chance."""
    hits = sum(row.note is not None and row.note <= FIRST for row in rows)
    victims = sum(row.given is not None and row.given <= FIRST for row in rows)
    chance = sum(row.chance for row in rows)
    return f"{hits} of {len(rows)} notes among the first three; by chance {chance:.1f}; {victims} victims given the writer"


if __name__ == "__main__":
    main()
