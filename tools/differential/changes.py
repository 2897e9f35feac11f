"""Random structs in two versions: what `diff` and snapshots say of the change is what gcc says of every path.

A program that is compiled from both versions prints the bits of every path, at every depth, and which types differ. A
case is one struct. Its versions are read as headers, and as objects of `gcc -g`.
"""

from __future__ import annotations

import copy
import json
import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.harness.command import run

_SIZED = (
    ("char", "signed char", "unsigned char", "_Bool"),
    ("short", "unsigned short", "char@[2]"),
    ("int", "unsigned int", "float", "short@[2]", "const int", "volatile int"),
    ("long", "unsigned long", "double", "void *", "char *", "const char *", "int (*@)(int)", "int (*@)(long)", "long long", "int@[2]"),
)
"""Types of one size; `@` is where the name stands."""
_SAME = (("long", "word_t"), ("unsigned int", "u32_t"), ("int (*@)(int)", "call_t"))
"""Types, and typedefs of the same."""
PRELUDE = "typedef long word_t; typedef unsigned int u32_t; typedef int (*call_t)(int);\n"
_DEEPEST = 3


@dataclass(slots=True)
class Type:
    """A struct or union type; `tag` is empty without a name, and a typedef names it if `is_typedef`."""

    tag: str
    is_union: bool
    members: list[Member]
    is_typedef: bool = False
    is_packed: bool = False


@dataclass(slots=True)
class Member:
    """A member. It is a field of the unnamed type `of` without a name; of `bits` alone an unnamed bit-field."""

    name: str
    of: Type | None = None
    type: str = ""
    bits: int | None = None
    dims: tuple[int, ...] = ()


@dataclass(slots=True)
class Path_:
    """A field as C and as reports name it, with what both versions say of it."""

    c: str
    shown: str
    parent: str
    member: Member


@dataclass(slots=True)
class Root:
    """A struct that is chosen, and the named types inside."""

    name: str
    type: Type
    types: list[Type]


class Maker:
    """Makes structs, and edits them."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self._number = 0

    def root(self, number: int) -> Root:
        """A struct with others inside."""
        types: list[Type] = []
        whole = Type(f"r{number}", False, [], is_packed=self.chance.random() < 0.2)
        self._fill(whole, types, 0)
        return Root(whole.tag, whole, types)

    def _name(self) -> str:
        self._number += 1
        return f"m{self._number}"

    def _fill(self, into: Type, types: list[Type], depth: int) -> None:
        into.members = [self._member(types, depth) for _ in range(self.chance.randint(2, 5))]

    def _member(self, types: list[Type], depth: int) -> Member:
        chance = self.chance
        kind = chance.choices(("scalar", "bits", "struct", "again"), (4, 2, 4 if depth < _DEEPEST else 0, 1))[0]
        dims = tuple(chance.choice(((2,), (3,), (2, 3), (4,)))) if chance.random() < 0.2 else ()
        if kind == "again" and types:
            return Member(self._name(), chance.choice(types), dims=dims)
        if kind == "struct":
            inner = Type("", chance.random() < 0.2, [], is_packed=chance.random() < 0.25)
            self._fill(inner, types, depth + 1)
            style = chance.choice(("tag", "tag", "tag", "typedef", "inline", "anonymous"))
            if style in ("tag", "typedef"):
                self._number += 1
                inner.tag, inner.is_typedef = f"t{self._number}", style == "typedef"
                types.append(inner)
            return Member("" if style == "anonymous" else self._name(), inner, dims=() if style == "anonymous" else dims)
        if kind == "bits":
            base, width = chance.choice((("unsigned int", 31), ("int", 31), ("unsigned char", 7), ("unsigned long", 40)))
            return Member(self._name() if chance.random() < 0.8 else "", type=base, bits=chance.randint(1, width))
        return Member(self._name(), type=chance.choice(chance.choice(_SIZED)), dims=dims)

    # Edits

    def edit(self, root: Root) -> Root:
        """Another version: mostly with one edit at any depth, sometimes with two, or none."""
        new = copy.deepcopy(root)
        for _ in range(self.chance.choice((0, 1, 1, 1, 1, 1, 2))):
            for _ in range(20):
                if self._edit(self.chance.choice(list(types_of(new.type)))):
                    break
        return new

    def _edit(self, type_: Type) -> bool:
        """Whether an edit could be made."""
        at = self.chance.randrange(len(type_.members))
        return self.chance.choice(_EDITS)(self, type_, at)

    def _swap(self, type_: Type, at: int) -> bool:
        members = type_.members
        members[at - 1], members[at] = members[at], members[at - 1]
        return len(members) > 1

    def _insert(self, type_: Type, at: int) -> bool:
        type_.members.insert(at, Member(self._name(), type=self.chance.choice(self.chance.choice(_SIZED))))
        return True

    def _insert_unnamed(self, type_: Type, at: int) -> bool:
        type_.members.insert(at, Member("", type="unsigned int", bits=self.chance.randint(1, 8)))
        return True

    def _remove(self, type_: Type, at: int) -> bool:
        can = len(type_.members) > 1
        if can:
            del type_.members[at]
        return can

    def _rename(self, type_: Type, at: int) -> bool:
        member = type_.members[at]
        member.name = member.name and self._name()
        return bool(member.name)

    def _retype_one(self, type_: Type, at: int) -> bool:
        member = type_.members[at]
        if member.of is None and member.bits is None:
            return self._retype(member, _SIZED)
        other = {"int": "unsigned int", "unsigned int": "int"}.get(member.type)
        member.type = other if other and member.name else member.type
        return bool(other and member.name)

    def _respell(self, type_: Type, at: int) -> bool:
        member = type_.members[at]
        return member.of is None and member.bits is None and self._retype(member, _SAME)

    def _narrow(self, type_: Type, at: int) -> bool:
        member = type_.members[at]
        can = member.bits is not None and member.bits > 1
        member.bits = (member.bits or 0) - 1 if can else member.bits
        return can

    def _turn(self, type_: Type, at: int) -> bool:
        member = type_.members[at]
        member.dims = member.dims[::-1]
        return len(member.dims) > 1

    def _wrap(self, type_: Type, at: int) -> bool:
        inner = type_.members[at : at + 2]
        can = all(each.name for each in inner)
        if can:
            type_.members[at : at + 2] = [Member("", Type("", False, inner))]
        return can

    def _pack(self, type_: Type, at: int) -> bool:
        type_.is_packed = not type_.is_packed
        return True

    def _shuffle(self, type_: Type, at: int) -> bool:
        if type_.is_union:
            self.chance.shuffle(type_.members)
        return type_.is_union

    def _make_bits(self, type_: Type, at: int) -> bool:
        """A bit-field as wide as its type, or none any more."""
        member = type_.members[at]
        can = member.type == "unsigned int" and not member.dims and bool(member.name) and member.bits in (None, 32)
        if can:
            member.bits = 32 if member.bits is None else None
        return can

    def _retype(self, member: Member, groups: tuple[tuple[str, ...], ...]) -> bool:
        group = next((group for group in groups if member.type in group), ())
        others = [each for each in group if each != member.type and not (member.dims and "[" in each)]
        if others:
            member.type = self.chance.choice(others)
        return bool(others)


_EDITS = (
    Maker._swap, Maker._swap, Maker._insert, Maker._insert_unnamed, Maker._remove, Maker._rename, Maker._retype_one,
    Maker._retype_one, Maker._retype_one, Maker._respell, Maker._narrow, Maker._turn, Maker._wrap, Maker._pack, Maker._shuffle,
    Maker._make_bits,
)  # fmt: skip


def types_of(type_: Type) -> Iterator[Type]:
    yield type_
    for member in type_.members:
        if member.of is not None:
            yield from types_of(member.of)


class Text:
    """The C text of a version, with a prefix to all names of types."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.lines: list[str] = []
        self._done: set[str] = set()

    def add(self, root: Root) -> str:
        """Add a struct and what it needs; returns its name."""
        self._define(root.type)
        return f"struct {self.prefix}{root.name}"

    def _define(self, type_: Type) -> str:
        """Add the definition of a named type, and return how C calls it."""
        name = self.prefix + type_.tag
        word = "union" if type_.is_union else "struct"
        if type_.tag not in self._done:
            body = self._body(type_)
            self._done.add(type_.tag)
            text = f"typedef {word} {body} {name};" if type_.is_typedef else f"{word} {name} {body};"
            self.lines.append(text)
        return name if type_.is_typedef else f"{word} {name}"

    def _body(self, type_: Type) -> str:
        rows = " ".join(self._declare(member) for member in type_.members)
        return f"{{ {rows} }}{' __attribute__((packed))' if type_.is_packed else ''}"

    def _declare(self, member: Member) -> str:
        dims = "".join(f"[{length}]" for length in member.dims)
        if member.of is not None:
            inner = self._define(member.of) if member.of.tag else f"{'union' if member.of.is_union else 'struct'} {self._body(member.of)}"
            return f"{inner} {member.name}{dims};"
        if member.bits is not None:
            return f"{member.type} {member.name} : {member.bits};"
        before, at, behind = member.type.partition("@")
        return f"{before} {member.name}{dims}{behind};" if at else f"{member.type} {member.name}{dims};"


def paths(type_: Type, c: str = "", shown: str = "") -> Iterator[Path_]:
    """Every field that C can name, with the first elements of arrays."""
    for member in type_.members:
        if member.name:
            path = Path_(c + member.name, shown + member.name, shown, member)
            yield path
        if member.of is not None:
            first = "[0]" * len(member.dims)
            inner = (f"{c}{member.name}{first}.", f"{shown}{member.name}.") if member.name else (c, shown)
            yield from paths(member.of, *inner)


@dataclass(slots=True)
class Truth:
    """What gcc says of one struct in one version."""

    size: int
    align: int
    bits: dict[str, tuple[int, int, int]]
    """By path as shown: the first bit, the number of bits, and for arrays of structs the bytes of an element."""


@dataclass(slots=True)
class Case:
    """A struct in both versions, and the truth."""

    old: Root
    new: Root
    truths: list[Truth] = field(default_factory=list)
    retyped: set[str] = field(default_factory=set)

    @property
    def is_moved(self) -> bool:
        """Whether a size or an offset differs at some depth."""
        old, new = self.truths
        return (old.size, old.bits) != (new.size, new.bits)

    @property
    def is_realigned(self) -> bool:
        """Whether only headers show a difference."""
        return self.truths[0].align != self.truths[1].align

    @property
    def kind(self) -> str:
        """What differs, in words."""
        facts = (self.is_moved, "layout"), (self.is_realigned, "alignment"), (bool(self.retyped), "types")
        return " and ".join(word for differs, word in facts if differs) or "nothing"

    def moves(self) -> dict[str, tuple[int, int]]:
        """The fields at another place in the struct that declares them, with their bits from the start of the root."""
        both = [{each.shown: each for each in paths(root.type)} for root in (self.old, self.new)]
        places = [truth.bits for truth in self.truths]
        found = {}
        for path, each in both[1].items():
            if path not in both[0] or places[0][path][0] == places[1][path][0]:
                continue
            around = each.parent.removesuffix(".")
            starts = [side[around][0] if around else 0 for side in places]
            if (places[0][path][0] - starts[0]) != (places[1][path][0] - starts[1]):
                found[path] = places[0][path][0], places[1][path][0]
        return found


def cases(seed: int, count: int) -> list[Case]:
    """Structs in two versions, without what gcc says."""
    maker = Maker(seed)
    olds = [maker.root(number) for number in range(count)]
    return [Case(old, maker.edit(old)) for old in olds]


def find_truth(made: list[Case], folder: Path) -> None:
    """Compile and run a program that prints every path of both versions."""
    texts = Text("o_"), Text("n_")
    prints: list[str] = []
    for number, case in enumerate(made):
        names = [text.add(root) for text, root in zip(texts, (case.old, case.new), strict=True)]
        both = [{each.shown: each for each in paths(root.type)} for root in (case.old, case.new)]
        for side, name in enumerate(names):
            prints.append(f'printf("S %d %d %zu %zu\\n", {number}, {side}, sizeof({name}), _Alignof({name}));')
            prints += [_print_place(number, side, name, each) for each in both[side].values()]
        for path in both[0].keys() & both[1].keys():
            prints.append(_print_types(number, names, both[0][path], both[1][path]))
    lines = "\n".join((*texts[0].lines, *texts[1].lines))
    functions = "".join(f"static void f{n}(void) {{ {text} }}\n" for n, text in enumerate(prints))
    calls = " ".join(f"f{n}();" for n in range(len(prints)))
    source = f"#include <stdio.h>\n#include <string.h>\n{PRELUDE}{lines}\n{functions}int main(void) {{ {calls} return 0; }}\n"
    (folder / "truth.c").write_text(source)
    subprocess.run(["gcc", "-w", "-Wno-packed-bitfield-compat", "-O0", "truth.c", "-o", "truth"], cwd=folder, check=True)
    printed = subprocess.run([folder / "truth"], capture_output=True, text=True, check=True).stdout
    for line in printed.splitlines():
        word, number, *rest = line.split()
        case = made[int(number)]
        if word == "S":
            case.truths.append(Truth(int(rest[1]), int(rest[2]), {}))
        elif word == "P":
            case.truths[int(rest[0])].bits[rest[1]] = (int(rest[2]), int(rest[3]), int(rest[4]))
        else:
            case.retyped.add(rest[0])
    for case in made:
        places = [truth.bits for truth in case.truths]
        case.retyped = {path for path in case.retyped if places[0][path][1] == places[1][path][1]}


def _print_place(number: int, side: int, name: str, path: Path_) -> str:
    if path.member.bits is not None:
        return (
            f"{name} v; unsigned char b[sizeof v]; int first = -1, count = 0; memset(&v, 0, sizeof v); v.{path.c} = -1; "
            "memcpy(b, &v, sizeof v); for (int i = 0; i < (int)sizeof b * 8; i++) if (b[i / 8] >> i % 8 & 1) "
            "{ if (first < 0) first = i; count++; } "
            f'printf("P %d %d {path.shown} %d %d 0\\n", {number}, {side}, first, count);'
        )
    whole = f"(({name} *)0)->{path.c}"
    element = f"sizeof({whole}{'[0]' * len(path.member.dims)})" if path.member.of is not None and path.member.dims else "0ul"
    return (
        f'printf("P %d %d {path.shown} %zu %zu %lu\\n", {number}, {side}, '
        f"__builtin_offsetof({name}, {path.c}) * 8, sizeof({whole}) * 8, {element});"
    )


def _print_types(number: int, names: list[str], old: Path_, new: Path_) -> str:
    """Of bit-fields and structs, C compares no types: their declarations do."""
    if None in (old.member.of, new.member.of) and old.member.bits is None and new.member.bits is None and not (old.member.of or new.member.of):
        pointers = [f"__typeof__(&(({name} *)0)->{each.c})" for name, each in zip(names, (old, new), strict=True)]
        return f'if (!__builtin_types_compatible_p({pointers[0]}, {pointers[1]})) printf("T %d {old.shown}\\n", {number});'
    declared = [
        (each.member.type, each.member.bits is None, each.member.dims, each.member.of and (each.member.of.tag, each.member.of.is_union))
        for each in (old, new)
    ]
    return f'printf("T %d {old.shown}\\n", {number});' if declared[0] != declared[1] else ""


# What layoutlint says


def mistakes(made: list[Case], folder: Path, inputs: tuple[str, ...] = ("s.h", "s.o")) -> Iterator[str]:
    """What `diff`, `snapshot` and `check --snapshot` say of structs with the truth, where it is something else."""
    for side in ("old", "new"):
        text = Text()
        for case in made:
            text.add(case.old if side == "old" else case.new)
        (folder / side).mkdir()
        body = PRELUDE + "\n".join(text.lines) + "\n"
        (folder / side / "s.h").write_text(body)
        uses = "".join(f"struct {case.old.name} v_{case.old.name};\n" for case in made)
        (folder / side / "s.c").write_text(body + uses)
        subprocess.run(["gcc", "-w", "-Wno-packed-bitfield-compat", "-g", "-c", "s.c", "-o", "s.o"], cwd=folder / side, check=True)
    for name in inputs:
        yield from (f"{name}: {each}" for each in _mistakes_of_diff(made, folder, name))
        for types in (False, True):
            yield from (f"{name}: {each}" for each in _mistakes_of_snapshot(made, folder, name, types))


def _mistakes_of_diff(made: list[Case], folder: Path, name: str) -> Iterator[str]:
    shows_align = name == "s.h"
    words = ("diff", f"old/{name}", f"new/{name}", "--fail-on", "size", "--format", "json")
    done = run(*words, "--struct", "r*", cwd=folder)
    chosen = json.loads(done.stdout)
    grew = any(case.truths[0].size < case.truths[1].size for case in made)
    if (done.returncode, chosen["compared"]) != (int(grew), len(made)):
        yield f"diff: exit {done.returncode}, {chosen['compared']} compared"
    whole = {each["name"]: each for each in json.loads(run(*words, cwd=folder).stdout)["structs"]}
    listed = {each["name"]: each for each in chosen["structs"]}
    for case in made:
        entry = listed.get(case.old.name)
        yield from (f"diff of {case.old.name}: {each}" for each in _mistakes_of_entry(case, entry, shows_align))
        tags = {type_.tag for type_ in types_of(case.new.type)} - {""}
        if (case.is_moved and case.old.name not in whole) or (case.retyped and not (tags & whole.keys())):
            yield f"whole diff: {case.old.name} is passed over"
        if not (case.is_moved or case.is_realigned or case.retyped) and case.old.name in whole:
            yield f"whole diff: {case.old.name} is listed"


def _mistakes_of_entry(case: Case, entry: dict[str, Any] | None, shows_align: bool) -> Iterator[str]:
    differs = case.is_moved or (case.is_realigned and shows_align)
    may_differ = differs or case.is_realigned
    if entry is None:
        if differs or case.retyped:
            yield "nothing is said"
        return
    if not (may_differ or case.retyped):
        yield "it is listed, and nothing differs"
        return
    if not may_differ and entry["status"] != "retyped":
        yield f"its status is {entry['status']}, and only types differ"
    if (differs and entry["status"] != "same") or entry["size"] != [truth.size for truth in case.truths]:
        yield f"status {entry['status']}, sizes {entry['size']}"
    if {each["path"] for each in entry["retyped"]} != case.retyped:
        yield f"retyped {sorted(each['path'] for each in entry['retyped'])}, not {sorted(case.retyped)}"
    moved = {each["path"]: (each["old"], each["new"]) for each in entry["moved"]}
    bits = {each["path"]: (each["old_bit"], each["new_bit"]) for each in entry["moved"]}
    for path, (old, new) in case.moves().items():
        if moved.get(path) != (old // 8, new // 8):
            yield f"{path} moved from bit {old} to {new}, not {moved.get(path)}"
    for path in moved:
        at = [truth.bits[path][0] for truth in case.truths]
        if moved[path] != (at[0] // 8, at[1] // 8) or any(bit not in (None, place) for bit, place in zip(bits[path], at, strict=True)):
            yield f"{path} moved {moved[path]}, {bits[path]}, and is at {at}"
    if differs and not (entry["edits"] or entry["moved"] or entry["retyped"] or len(set(entry["size"])) > 1 or case.is_realigned):
        yield "an empty entry"


def _mistakes_of_snapshot(made: list[Case], folder: Path, name: str, types: bool) -> Iterator[str]:
    snapshot = f"{name}{'.types' * types}.json"
    done = run("snapshot", f"old/{name}", "--struct", "r*", *(("--types",) * types), "--output", snapshot, cwd=folder)
    if done.returncode:
        yield f"snapshot: exit {done.returncode}: {done.stderr}"
        return
    words = ("check", f"new/{name}", "--snapshot", snapshot, "--no-packs", "--format", "json")
    done = run(*words, cwd=folder)
    report = json.loads(done.stdout)
    found = {each["struct"]: each["outcome"] for each in (*report["findings"], *report["kept"])}
    outcomes = [_outcomes(case, types, name == "s.h") for case in made]
    for case, expected in zip(made, outcomes, strict=True):
        if found.get(case.old.name) not in expected:
            yield f"{snapshot}: {case.old.name} is {found.get(case.old.name)}, not {' or '.join(expected)}"
    if done.returncode != int("broken" in found.values()):
        yield f"{snapshot}: exit {done.returncode}"


def _outcomes(case: Case, types: bool, shows_align: bool) -> tuple[str, ...]:
    if case.is_moved or (types and case.retyped) or (case.is_realigned and shows_align):
        return ("broken",)
    return ("kept", "broken") if case.is_realigned else ("kept",)
