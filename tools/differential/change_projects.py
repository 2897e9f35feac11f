"""Random C projects whose change breaks a rule: their texts, their repositories, and what gcc's objects show.

A project is a small tree around one struct with a rule: a header, a unit that uses it, other files with ordinary C, a rule
file and a compile_commands.json; or the same as a configured kernel tree. The distance between two fields of the struct decides
whether the rule is broken.
"""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile

from tests.harness.repository import git

_RECORDS = ("DW_TAG_structure_type", "DW_TAG_union_type")
LINE, SMALLEST = 64, 8
"""Bytes of a line, and the alignment that allocators give."""


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link, with its target."""

    target: str


Files = dict[str, "str | bytes | Link | None"]
"""Contents by path; None removes a file."""
_WORDS = (
    "ring", "queue", "pool", "slot", "conn", "cache", "frame", "stat", "node", "lock", "page", "flow", "task", "bank", "desc", "peer",
    "route", "timer", "batch", "shard", "epoch", "table", "entry", "probe",
)  # fmt: skip
_FIELDS = ("head", "tail", "count", "owner", "state", "used", "free", "next", "last", "seen", "depth", "total", "drops", "ticks")
KINDS = ("separate", "distance-min", "distance-max", "offset", "size")
APART = ("separate", "distance-min")
"""Rules that a smaller distance breaks."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule on two fields, with bytes between them that keep and break it."""

    kind: str
    keys: str
    good: int
    bad: int


def _rule(chance: random.Random, kinds: tuple[str, ...], a: str, b: str, before: int, behind: int) -> Rule:
    """Return a rule on `a`, which begins behind so many bytes, and `b`, with more bytes behind."""
    kind = chance.choice(kinds)
    small, large = 8 * chance.randint(1, 5), 8 * chance.randint(8, 16)
    good, bad = (large, small) if kind in APART or chance.random() < 0.5 else (small, large)
    both = f'fields = ["{a}", "{b}"]'
    if kind == "separate":
        return Rule(kind, f'kind = "separate"\nfields = [["{a}"], ["{b}"]]', good, bad)
    if kind == "distance-min":
        return Rule(kind, f'kind = "distance"\n{both}\nmin = {8 + large}', good, bad)
    if kind == "distance-max":
        return Rule(kind, f'kind = "distance"\n{both}\nmax = {8 + small}', small, large)
    if kind == "size":
        return Rule(kind, f'kind = "size"\nmax = {before + 16 + small + behind}', small, large)
    return Rule(kind, f'kind = "offset"\nfields = ["{b}"]\nat = {before + 8 + good}', good, bad)


class Project:
    """The names and texts of one project, drawn from a seed."""

    def __init__(self, chance: random.Random, is_kernel: bool, kinds: tuple[str, ...] = KINDS, is_pattern: bool = False, is_harmless: bool = False) -> None:
        self.chance, self.is_kernel, self.is_pattern, self.is_harmless = chance, is_kernel, is_pattern, is_harmless
        self._number = 0
        words, names = chance.sample(_WORDS, 8), chance.sample(_FIELDS, 6)
        self.suffix = words[1]
        self.tag, self.other_tag = f"{words[0]}_{words[1]}", f"{words[2]}_{words[3]}"
        self.a, self.b, self.pad = names[:3]
        self.lead = [f"{chance.choice(('long', 'unsigned long', 'void *', 'char *'))} {name};" for name in names[3 : chance.randint(3, 5)]]
        self.tail = [f"long {name};" for name in names[5 : chance.randint(5, 6)]]
        self.folder = "include/linux" if is_kernel else chance.choice(("include", "inc", "src", "lib/include"))
        self.sources = "kernel" if is_kernel else chance.choice(("src", "lib", "core"))
        self.header, self.unit = f"{self.folder}/{words[4]}.h", f"{self.sources}/{words[5]}.c"
        self.junk_header, self.other = f"{self.folder}/{words[6]}_defs.h", f"{self.sources}/{words[7]}.c"
        self.rule = _rule(chance, kinds, self.a, self.b, 8 * len(self.lead), 8 * len(self.tail))
        self.defines: tuple[str, ...] = ()
        self.database = chance.choice(("compile_commands.json", "build/compile_commands.json"))
        self.is_database_tracked = chance.random() < 0.5
        self.compiler = chance.choice((("gcc",), ("gcc",), ("cc",), ("gcc-12",), ("/usr/bin/gcc",), ("ccache", "gcc")))
        self.id = f"{words[0]}-rule"
        self.rule_file = "layoutlint.toml"
        self.inner = ""
        """The type between the fields of the rule, if another header has it."""
        self.has_companion = False
        """Whether another struct in the project has the rule too, and keeps it."""

    # Names

    def name(self, word: str = "x") -> str:
        """Return a new name."""
        self._number += 1
        return f"{word}{self._number}_{self.chance.choice(_WORDS)}"

    @property
    def good(self) -> int:
        """The bytes between the fields that keep the rule."""
        return self.rule.good

    @property
    def bad(self) -> int:
        """The bytes between the fields that break it; of a harmless change, those that keep it."""
        return self.rule.good if self.is_harmless else self.rule.bad

    def include(self, path: str) -> str:
        """Return the line that includes a header of the project's folder of headers."""
        below = path.removeprefix("include/" if self.is_kernel else f"{self.folder}/")
        return f"#include <{below}>\n" if self.is_kernel or self.chance.random() < 0.3 else f'#include "{below}"\n'

    def path_beside(self, name: str) -> str:
        """Return the path of another file in the folder of headers."""
        return f"{self.folder}/{name}"

    # Texts

    def gap(self, count: int) -> str:
        """Return a member of so many bytes, or of the type `inner`."""
        if self.inner:
            return f"struct {self.inner} {self.pad};"
        return self.chance.choice((f"char {self.pad}[{count}];", f"long {self.pad}[{count // 8}];", f"unsigned char {self.pad}[{count}];"))

    def members(self, between: str) -> str:
        """Return the members of the struct, with some text between the fields of the rule."""
        indent = self.chance.choice(("\t", "    "))
        return "".join(f"{indent}{line}\n" for line in (*self.lead, f"long {self.a};", *between.splitlines(), f"long {self.b};", *self.tail))

    def struct(self, count: int, name: str | None = None) -> str:
        """Return the definition of the struct, with so many bytes between its fields."""
        brace = self.chance.choice((" ", " ", "\n"))
        return f"struct {name or self.tag}{brace}{{\n{self.members(self.gap(count))}}};\n"

    def junk(self) -> str:
        """Return some ordinary C."""
        return "".join(self._piece() for _ in range(self.chance.randint(1, 4)))

    def _piece(self) -> str:
        name, other = self.name(), self.name()
        return self.chance.choice((
            f"enum {name} {{ {name.upper()}_A, {name.upper()}_B = 7 }};\n", f"typedef unsigned int {name}_t;\n", f"#define {name.upper()} (1 << 4)\n",
            f"struct {name} {{ int {other}; struct {name} *next; }};\n", f"static inline int {name}(int n) {{ return n ? n * 3 : 1; }}\n",
            f"/* What {name} counts: see {other}. */\n", f"// {name}: not {other}\n", f"extern int {name}(const char *text, ...);\n",
            f"#ifdef CONFIG_{name.upper()}\nextern long {name};\n#else\n#define {name} 0L\n#endif\n", f"union {name} {{ int i; float f; }};\n",
            f"#define {name}(x) do {{ (void)(x); }} while (0)\n", f'static const char {name}[] __attribute__((unused)) = "a {{ b";\n',
            f"struct {name};\nstruct {other};\nextern struct {name} *{name}_of(struct {other} *o);\n", f"typedef int (*{name}_fn)(struct {other} *);\n",
        ))  # fmt: skip

    def header_text(self, definition: str, before: str = "") -> str:
        """Return the header with a definition in it."""
        guard = "H_" + self.name().upper()
        opening, closing = self.chance.choice((("#pragma once\n", ""), (f"#ifndef {guard}\n#define {guard}\n", "#endif\n")))
        return f"{opening}{before}{self.junk()}{definition}{self.junk()}{closing}"

    def unit_text(self, types: tuple[str, ...] = (), before: str = "", after: str = "", includes: str | None = None) -> str:
        """Return a unit that includes the header and uses types: objects of gcc have those that are used."""
        uses = "".join(
            f"{name} {self.name('v')};\nint {self.name('f')}({name} *p) {{ return p != 0; }}\n" for name in types or (f"struct {self.tag}",)
        )
        return f"{before}{self.include(self.header) if includes is None else includes}{self.junk()}{after}{uses}{self.junk()}"

    # Files

    def files(self, definition: str, more: Files | None = None, before: str = "", units: tuple[str, ...] = (), **unit: object) -> Files:
        """Return the whole project, with a definition in the header, and more files."""
        inner, self.inner = self.inner, ""
        companion = self.struct(self.good, f"{self.other_tag}_{self.suffix}" if self.is_pattern else None) if self.has_companion else ""
        found: Files = {
            self.rule_file: self.rules(), self.header: self.header_text(definition, before), self.unit: self.unit_text(**unit),  # type: ignore[arg-type]
            self.junk_header: self.header_text(companion), self.other: self.include(self.junk_header) + f"int {self.name('g')};\n" + self.junk(),
            "README": f"struct {self.tag} holds the {self.a}\n", **(more or {}),
        }  # fmt: skip
        self.inner = inner
        if self.is_kernel:
            found |= {
                "Makefile": "VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 2\n", "include/linux/kconfig.h": "#include <generated/autoconf.h>\n",
                "include/linux/compiler_types.h": "", "kernel/Makefile": f"obj-y += {Path(self.unit).stem}.o\n", "arch/x86/include/asm/types.h": "",
                "include/generated/autoconf.h": "#define CONFIG_X86_64 1\n", ".config": "CONFIG_X86_64=y\n", "arch/x86/include/generated/z.h": "",
            }  # fmt: skip
        elif self.is_database_tracked:
            found[self.database] = self.database_text((self.unit, self.other, *units), ".")
        return found

    def rules(self, more: str = "") -> str:
        """Return the rule file."""
        name = f"*_{self.suffix}" if self.is_pattern else self.tag
        return f'[pack]\nname = "p"\n\n[[rule]]\nid = "{self.id}"\nstruct = "{name}"\n{self.rule.keys}\nwhy = "other processors write it"\n{more}'

    def database_text(self, units: tuple[str, ...], directory: str, flags: tuple[str, ...] | None = None) -> str:
        """Return the compilation database of some units."""
        words = self.defines if flags is None else flags
        top = directory if directory != "." else "." if "/" not in self.database else ".."
        commands = [(unit, [*self.compiler, *self.flags, *words, "-c", unit]) for unit in units]
        if self._number % 3:
            return json.dumps([{"directory": top, "file": unit, "arguments": command} for unit, command in commands], indent=1)
        return json.dumps([{"directory": top, "command": shlex.join(command), "file": unit} for unit, command in commands], indent=1)

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of the build that every unit has."""
        if self.is_kernel:
            return ("-Iinclude", "-Iarch/x86/include", "-include", "include/linux/kconfig.h", "-D__KERNEL__", "-std=gnu11", "-w")
        return (f"-I{self.folder}", "-w")


def write(folder: Path, files: Files) -> None:
    """Write files below a folder, where links and files take each other's place."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink() or path.is_file():
            path.unlink()
        elif path.is_dir():
            shutil.rmtree(path)
        if isinstance(text, Link):
            path.symlink_to(text.target)
        elif isinstance(text, bytes):
            path.write_bytes(text)
        elif text is not None:
            path.write_text(text, newline="")


def commit(folder: Path, subject: str) -> None:
    """Commit all files of a folder."""
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", subject)


@dataclass(frozen=True, slots=True)
class Seen:
    """A struct in an object of gcc."""

    name: str
    size: int
    align: int
    """As attributes state it; 1 without."""
    offsets: dict[str, int] = field(hash=False)


def seen_structs(folder: Path, units: tuple[str, ...], flags: tuple[str, ...]) -> list[Seen]:
    """Compile units with gcc, and return the structs in the debug information, those of typedefs by these names.

    Raises CalledProcessError if a unit does not compile.
    """
    found = []
    for number, unit in enumerate(units):
        made = folder / ".git" / f"{number}.o"
        subprocess.run(["gcc", "-g", "-O0", *flags, "-c", unit, "-o", str(made)], cwd=folder, check=True, capture_output=True)
        with made.open("rb") as file:
            for unit_ in ELFFile(file).get_dwarf_info().iter_CUs():
                found += [each for die in unit_.iter_DIEs() for each in _structs_of(die)]
    return found


def _structs_of(die: DIE) -> Iterator[Seen]:
    record = die
    if die.tag == "DW_TAG_typedef" and "DW_AT_type" in die.attributes:
        record = die.get_DIE_from_attribute("DW_AT_type")
    if record.tag not in _RECORDS or "DW_AT_byte_size" not in record.attributes or "DW_AT_name" not in die.attributes:
        return
    members = list(_members(record, 0))
    aligned = [each.attributes["DW_AT_alignment"].value for each in (record, *(member for member, _ in members)) if "DW_AT_alignment" in each.attributes]
    offsets = {_text(member): offset for member, offset in members}
    yield Seen(_text(die), record.attributes["DW_AT_byte_size"].value, max(aligned, default=1), offsets)


def _members(record: DIE, start: int) -> Iterator[tuple[DIE, int]]:
    """Yield the members of a struct or union with their offsets, those of structs without a name too."""
    for member in record.iter_children():
        if member.tag != "DW_TAG_member":
            continue
        place = member.attributes.get("DW_AT_data_member_location")
        offset = start + (place.value if place is not None else 0)
        if "DW_AT_name" in member.attributes:
            yield member, offset
        else:
            yield from _members(member.get_DIE_from_attribute("DW_AT_type"), offset)


def _text(die: DIE) -> str:
    return os.fsdecode(die.attributes["DW_AT_name"].value)


def breaks(project: Project, struct: Seen, fields: tuple[str, str]) -> bool:
    """Return whether a struct breaks the rule in some placement, by its offsets alone."""
    if not set(fields) <= struct.offsets.keys():
        return False
    a, b = (struct.offsets[name] for name in fields)
    kind, keys = project.rule.kind, dict(line.split(" = ") for line in project.rule.keys.splitlines())
    if kind == "separate":
        lines = [[{(base + at + byte) // LINE for byte in range(8)} for at in (a, b)] for base in range(0, LINE, max(struct.align, SMALLEST))]
        return any(first & second for first, second in lines)
    if kind == "offset":
        return b != int(keys["at"])
    if kind == "size":
        return struct.size > int(keys["max"])
    return b - a < int(keys["min"]) if kind == "distance-min" else b - a > int(keys["max"])


def is_ruled(project: Project, name: str) -> bool:
    """Return whether the rule is about a struct of this name."""
    return fnmatchcase(name, f"*_{project.suffix}") if project.is_pattern else name == project.tag
