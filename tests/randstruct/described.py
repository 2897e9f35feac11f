"""Structs that GCC describes after its plugin moved members: in parameter lists, and what contains a moved struct.

    python -m tests.randstruct.described --plugin randomize_layout_plugin.so --cases 1000 --seed 1 [--performance]

compiles random structs with the plugin, built with the seed below, and compares what `show` computes from the debug
information with the constants of the compiled file, which are enumerators in it.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from elftools.elf.elffile import ELFFile

from tests.harness.command import run

SEED = "0123456789abcdef02468ace13579bdffedcba9876543210ffeeddccbbaa9988"
LINUX = "6.1.192"
"""The version of the plugin; later ones leave fewer last arrays in place, and none is here."""
RAND = "__attribute__((randomize_layout))"
LISTS = (
    "typedef int (*f{n})({struct} *p, enum {{ {truth} }} e); f{n} v{n};\n",
    "struct h{n} {{ int (*call)({struct} *p, enum {{ {truth} }} e); }} v{n};\n",
)


class Source:
    """Random structs as C text, the names of the marked ones, and the constants that tell their layouts."""

    def __init__(self, chance: random.Random, count: int) -> None:
        self._chance = chance
        self._known: list[str] = []
        self.marked: list[str] = []
        self._truth: list[str] = []
        self.text = "".join(self._struct(number) for number in range(count))
        self.text += f"enum truth {{ {', '.join(self._truth)} }} truth;\n"

    def _members(self, least: int, most: int) -> list[str]:
        types = ("char", "char", "char", "short", "int", "long")
        return [f"{self._chance.choice(types)} m{number}" for number in range(self._chance.randint(least, most))]

    def _inner(self, most: int) -> list[str]:
        dims = ("", "", "[2]")
        return [f"struct {self._chance.choice(self._known)} i{number}{self._chance.choice(dims)}"
                for number in range(self._chance.randint(1, most))]  # fmt: skip

    def _struct(self, number: int) -> str:
        form = self._chance.choice(("plain", "container", "container", "list")) if self._known else "plain"
        tag, is_marked = f"{form}{number}", form != "container" or self._chance.random() < 0.3
        members = self._members(1, 4) + self._inner(2) if form == "container" else self._members(3, 8)
        if form == "list" and self._chance.random() < 0.5:
            members += self._inner(1)
        self._chance.shuffle(members)
        if is_marked:
            self.marked.append(tag)
        space = self._chance.choice((" ", "\n", "\n "))
        struct = f"struct {tag} {{ {space.join(f'{one};' for one in members)} }} {RAND if is_marked else ''}"
        if form == "list":
            return self._chance.choice(LISTS).format(n=number, struct=struct, truth=", ".join(constants(tag, members)))
        self._known.append(tag)
        self._truth += constants(tag, members)
        return f"{struct};\nstruct {tag} v{number};\n"


def constants(tag: str, members: list[str]) -> list[str]:
    names = [member.split()[-1].partition("[")[0] for member in members]
    return [f"{tag}_size = sizeof(struct {tag})"] + [f"{tag}_{name} = __builtin_offsetof(struct {tag}, {name})" for name in names]


def truth(path: Path) -> dict[str, dict[str, int]]:
    """Of each struct its size, and the offsets of its members, in bytes."""
    found: dict[str, dict[str, int]] = {}
    with path.open("rb") as file:
        for unit in ELFFile(file).get_dwarf_info().iter_CUs():
            for entry in unit.iter_DIEs():
                if entry.tag == "DW_TAG_enumerator":
                    tag, _, what = entry.attributes["DW_AT_name"].value.decode().partition("_")
                    found.setdefault(tag, {})[what] = entry.attributes["DW_AT_const_value"].value
    return found


def layouts(path: Path, mode: str, marked: list[str], seed: str = SEED) -> dict[str, dict[str, int] | None]:
    """What `show` computes, as `truth` has it; None for a struct whose layout is unknown."""
    done = run("show", path.name, "--all", "--format", "json", "--randstruct", mode, "--seed", seed, "--kernel-version", LINUX,
               "--randomized", ",".join(marked), cwd=path.parent)  # fmt: skip
    structs = json.loads(done.stdout)["structs"]
    return {each["name"]: None if each["size"] is None else
            {"size": each["size"], **{field["path"]: field["offset"] for field in each["fields"]}} for each in structs}  # fmt: skip


def main() -> int:
    """Print how many layouts are right, unknown and wrong; returns 1 for wrong ones."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--performance", action="store_true")
    given = parser.parse_args()
    source = Source(random.Random(given.seed), given.cases)
    plugin = [f"-fplugin={Path(given.plugin).resolve()}"]
    plugin += ["-fplugin-arg-randomize_layout_plugin-performance-mode"] * given.performance
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "s.c").write_text(source.text)
        subprocess.run(["gcc", *plugin, "-g", "-w", "-c", "s.c"], cwd=folder, check=True)
        true = truth(Path(folder) / "s.o")
        ours = layouts(Path(folder) / "s.o", "gcc-performance" if given.performance else "gcc-full", source.marked)
    wrong = {tag: (ours.get(tag), layout) for tag, layout in true.items() if ours.get(tag) not in (layout, None)}
    unknown = [tag for tag in true if ours.get(tag) is None]
    print(f"{len(true) - len(wrong) - len(unknown)} right, {len(unknown)} unknown, {len(wrong)} wrong", *wrong.items(), sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
