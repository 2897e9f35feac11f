"""Random changes of a project: a run with the cache reports what a run without it reports."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.harness.caches import run
from tests.harness.effort import draws
from tests.harness.tools import fault

HEADERS = {
    "ring.h": '#include "types.h"\n#include <lock.h>\nstruct ring { word head; struct lock lock; char pad[PAD]; word tail; };\n',
    "pool.h": '#include "ring.h"\n#if __has_include(<extra.h>)\n#include <extra.h>\n#endif\nstruct pool { struct ring ring; int used; };\n',
    "a/types.h": "#ifndef PAD\n#define PAD 8\n#endif\ntypedef long word;\n",
    "b/lock.h": '#include "detail.h"\nstruct lock { int owner; char flags[WIDTH]; };\n',
    "b/detail.h": "#pragma once\n#define WIDTH 4\n",
    "c/unused.h": "struct unused { int x; };\n",
}
RULE = '[[rule]]\nid = "{id}"\nstruct = "{struct}"\nkind = "{kind}"\n{keys}\nwhy = "a test"\n'
RULES = [
    {"id": "apart", "struct": "ring", "kind": "separate", "keys": 'fields = [["head"], ["tail"]]'},
    {"id": "small", "struct": "*", "kind": "size", "keys": "max = 64"},
    {"id": "used", "struct": "pool", "kind": "offset", "keys": 'fields = ["used"]\nat = 40'},
    {"id": "line", "struct": "ring", "kind": "line-start", "keys": 'fields = ["lock"]', "around": True},
]
WORDS = ["char", "short", "int", "long"]


@dataclass
class Project:
    """A project that changes, and the command line by which it is checked."""

    folder: Path
    chance: random.Random
    flags: list[str] = field(default_factory=lambda: ["-Ia", "-Ib", "-Ic"])
    options: list[str] = field(default_factory=list)
    packs: list[str] = field(default_factory=lambda: ["--no-packs"])  # parsing them takes half of a run
    inputs: list[str] = field(default_factory=lambda: ["pool.h"])
    programs: list[bytes] = field(default_factory=list)

    def begin(self) -> None:
        """Write the files of the beginning."""
        for name, text in HEADERS.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text)
        self.write_rules()
        for pad in (8, 40) if fault("gcc") is None else ():
            source = f'#define PAD {pad}\n#include "pool.h"\nstruct pool pool;\n'
            command = ["gcc", "-g", "-c", "-xc", "-", "-o", "pool.o", *self.flags]
            subprocess.run(command, cwd=self.folder, input=source, text=True, check=True)
            self.programs.append((self.folder / "pool.o").read_bytes())

    def header(self) -> Path:
        """Any of the headers."""
        return self.chance.choice(self.headers())

    def headers(self) -> list[Path]:
        """All headers, without links that lead nowhere."""
        return sorted(path for path in self.folder.rglob("*.h") if path.is_file())

    def write_rules(self) -> None:
        """Some of the rules, in another order."""
        chosen = self.chance.sample(RULES, self.chance.randint(1, len(RULES)))
        (self.folder / "layoutlint.toml").write_text("".join(RULE.format(**rule) for rule in chosen))

    def change_byte(self) -> None:
        path = self.header()
        text = path.read_text()
        digits = [at for at, letter in enumerate(text) if letter.isdigit()]
        if digits:
            at = self.chance.choice(digits)
            path.write_text(text[:at] + str(self.chance.randint(1, 9)) + text[at + 1 :])

    def change_byte_and_keep_time(self) -> None:
        before = {path: path.stat() for path in self.headers()}
        self.change_byte()
        for path, status in before.items():
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def change_type(self) -> None:
        path = self.folder / "a/types.h"
        path.write_text(f"#ifndef PAD\n#define PAD 8\n#endif\ntypedef {self.chance.choice(WORDS)} word;\n")

    def change_time(self) -> None:
        path = self.header()
        os.utime(path, (self.chance.randint(1, 1 << 30),) * 2)

    def replace_by_same(self) -> None:
        path = self.header()
        new = self.folder / "new"
        new.write_text(path.read_text())
        new.rename(path)

    def replace_by_link(self) -> None:
        path = self.header()
        other = self.header().resolve()
        if other != path.resolve():
            path.unlink()
            path.symlink_to(other)

    def add_header(self) -> None:
        name = self.chance.choice(["types.h", "lock.h", "extra.h", "detail.h"])
        path = self.folder / self.chance.choice(["a", "b", "c", "."]) / name
        if not path.exists():
            path.write_text(self.chance.choice([
                "typedef int word;\n#define PAD 5\n", "struct lock { long owner; };\n#define WIDTH 2\n", "struct extra { int x; };\n",
            ]))  # fmt: skip

    def remove_header(self) -> None:
        path = self.header()
        if str(path.relative_to(self.folder)) not in HEADERS or self.chance.random() < 0.2:
            path.unlink()

    def restore(self) -> None:
        name = self.chance.choice(sorted(HEADERS))
        path = self.folder / name
        path.unlink(missing_ok=True)
        path.write_text(HEADERS[name])

    def change_flags(self) -> None:
        flags = self.chance.sample(["-Ia", "-Ib", "-Ic", "-Imissing"], self.chance.randint(2, 4))
        self.flags = [*flags, *self.chance.sample(["-DPAD=16", "-DWIDTH=1", "-m32", "-include", "-fpack-struct"], 1)]
        if self.flags[-1] == "-include":
            self.flags.append("c/unused.h")

    def change_option(self) -> None:
        self.options = self.chance.choice([[], ["--line-size", "32"], ["--min-align", "16"], ["--unused"], ["--fail-on", "broken"]])

    def change_packs(self) -> None:
        self.packs = [] if self.chance.random() < 0.25 else ["--no-packs"]

    def change_requested_struct(self) -> None:
        self.options = self.chance.choice([[], ["--struct", "ring"], ["--struct", "p*"], ["--struct", "none"]])

    def change_inputs(self) -> None:
        choices = [["pool.h"], ["ring.h", "pool.h"], ["."], ["compile_commands.json"]]
        self.inputs = self.chance.choice([*choices, *([["pool.o"], ["pool.o", "ring.h"]] if self.programs else [])])

    def change_program(self) -> None:
        if self.programs:
            (self.folder / "pool.o").write_bytes(self.chance.choice(self.programs))

    def change_database(self) -> None:
        command = {"file": self.chance.choice(["pool.h", "ring.h"]), "directory": ".", "arguments": ["cc", *self.flags]}
        (self.folder / "compile_commands.json").write_text(json.dumps([command]))


CHANGES = [
    name for name in vars(Project) if name.startswith(("change_", "replace_", "add_", "remove_", "restore", "write_rules"))
]


def compare(folder: Path, count: int, seed: int) -> Counter[str]:
    """Make random changes, and compare both reports after each; return how often the cache had an answer."""
    project = Project(folder / "project", random.Random(seed))
    project.folder.mkdir()
    cache = folder / ".hidden"  # left out by the search for missing headers around the project
    cache.mkdir()
    project.begin()
    project.change_database()
    used: Counter[str] = Counter()
    for number in range(count):
        change = project.chance.choice(CHANGES)
        getattr(project, change)()
        words = ["check", *project.inputs, "--format", "json", *project.options, *project.packs]
        plain = run(project.folder, cache / "xdg", *words, "--no-cache", "--", *project.flags, trusts=False)
        for attempt in range(2 if project.chance.random() < 0.3 else 1):
            cached = run(project.folder, cache / "xdg", *words, "--", *project.flags)
            where = f"change {number} (seed {seed}): {change}, {words} -- {project.flags}"
            assert (cached.status, cached.stdout, cached.stderr) == (plain.status, plain.stdout, plain.stderr), where
            used["again" if attempt else "changed"] += cached.recalled
            used["judged anew"] += not cached.recalled and cached.read < plain.read
            used[str(plain.status)] += 1
    return used


def test_eight_changes(tmp_path):
    used = compare(tmp_path, 8, 0)
    assert used["again"] > 0, used


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(1, 1 + draws(1, 20)))
def test_many_changes(seed, tmp_path):
    used = compare(tmp_path, draws(25, 50), seed)
    assert used["again"] + used["changed"] > 5, used
