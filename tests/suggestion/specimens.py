"""Random structs whose members can be put into another order, with random rules, as text."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

PRELUDE = """\
struct empty { };
struct pair { int x; char y; };
struct wide { long x; int y[3]; char z; };
struct tight { char x; int y; short z; } __attribute__((packed));
struct bits { unsigned int x : 3; unsigned int : 7; unsigned char y : 2; int z; };
struct lined { int x; char y; } __attribute__((aligned(16)));
union either { char x[6]; int y; };
struct open { int x; char y[]; };
"""
_TYPES = ("char", "short", "int", "long", "long long", "void *", "double", "unsigned char", "_Bool", "int", "long", "long double")
_WIDE = "__int128"
"""Only targets of 64 bits have it."""
_NAMED = {
    "struct pair": ("x", "y"), "struct wide": ("x", "y", "z"), "struct tight": ("x", "y", "z"),
    "struct bits": ("z",), "struct lined": ("x", "y"), "union either": ("x", "y"),
}  # fmt: skip
_BITS = (
    ("unsigned int", 32), ("int", 32), ("unsigned char", 8), ("short", 16), ("long long", 64), ("_Bool", 1),
)  # fmt: skip
_ALIGNED = "__attribute__((aligned({})))"
_PLACEMENTS = ("slab", "slab:32", "kmalloc", "line", "malloc", "aligned:16", "aligned:64", "static", "percpu")


@dataclass(frozen=True, slots=True)
class Declaration:
    """One declaration of a struct's body; its name stands in the text as `@`."""

    shape: str
    name: str
    """Of the member; of the first one inside if it has no name itself; empty for an unnamed bit-field."""
    paths: tuple[str, ...] = ()
    """The paths that rules can give, its own first."""
    bits: int | None = None
    """Of a bit-field."""
    is_last: bool = False
    """Whether it ends in a flexible array."""
    inner: tuple[tuple[Declaration, ...], ...] = ()
    """The units of a struct without a name whose members can stand in any order; `shape` ends its text."""

    @property
    def text(self) -> str:
        """The C text."""
        return self.shape.replace("@", self.name)


Unit = tuple[Declaration, ...]
"""One declaration, or a run of bit-fields."""


@dataclass(frozen=True, slots=True)
class Group:
    """A struct without a name: its units stand in any order in it."""

    nodes: tuple[int | Group, ...]
    """Numbers of units, and groups."""
    end: str
    """Its text behind the members."""

    @property
    def units(self) -> tuple[int, ...]:
        return tuple(
            unit for node in self.nodes for unit in (node.units if isinstance(node, Group) else (node,))
        )

    def in_order(self, order: Sequence[int]) -> list[int | Group]:
        """The nodes as an order of all units has them."""
        return sorted(
            self.nodes, key=lambda node: order.index(node.units[0] if isinstance(node, Group) else node)
        )


@dataclass(frozen=True, slots=True)
class Specimen:
    """A struct with its rules."""

    name: str
    units: tuple[Unit, ...]
    before: str
    behind: str
    rules: str
    """The rule file."""
    line: int | None
    """The bytes of `--line-size`."""
    bits: int
    """The compiler's `-m`: 64 or 32."""
    is_smallest: bool
    opened: Group | None = None
    """The units with the structs without a name around them; None if there is no such struct."""
    compiler: str = "gcc"

    @property
    def top(self) -> Group:
        """All units, with the structs without a name around them."""
        return self.opened or Group(tuple(range(len(self.units))), "")

    def text(self, order: Sequence[int] | None = None, name: str | None = None) -> str:
        """The definition, with the units in an order, a declaration on each line."""
        chosen = range(len(self.units)) if order is None else order
        members = "".join(
            f"\t{one.text}\n" if isinstance(one, Declaration) else one for one in self.pieces(chosen)
        )
        return f"{self.before}struct {name or self.name} {{\n{members}}}{self.behind}\n"

    def pieces(self, order: Sequence[int]) -> Iterator[Declaration | str]:
        """Yield the declarations in an order of the units, and the braces between them."""
        inside = set(order)
        yield from self._pieces(
            self.top if len(inside) == len(self.units) else Group(tuple(sorted(inside)), ""), order
        )

    def _pieces(self, group: Group, order: Sequence[int]) -> Iterator[Declaration | str]:
        for node in group.in_order(order):
            if isinstance(node, Group):
                yield "\tstruct {\n"
                yield from self._pieces(node, order)
                yield f"\t{node.end}\n"
            else:
                yield from self.units[node]

    @property
    def is_open(self) -> bool:
        """Whether the last unit has to stay the last."""
        last = self.units[-1][-1]
        return last.is_last or "[0]" in last.shape

    @property
    def has_unnamed(self) -> bool:
        """Whether it has bit-fields without a name, of which compiled code shows nothing."""
        return any(not one.name for unit in self.units for one in unit)


def make_specimen(seed: int, fewest: int, most: int, opens: bool = True, is_portable: bool = False) -> Specimen:
    """Return a struct with `fewest` to `most` declarations; it `opens` structs without a name if it can.

    If it `is_portable`, it has only types that targets of 32 bits have, too.
    """
    chance = random.Random(seed)
    roll, bits = chance.random(), chance.choice((64, 64, 32))
    is_packed = roll < 0.18 or 0.28 < roll < 0.32
    maker = _Maker(chance, opens and not is_packed, (*_TYPES, _WIDE) if bits == 64 and not is_portable else _TYPES)
    units, top = _random_units(maker, chance.randint(fewest, most))
    opened = top if any(isinstance(node, Group) for node in top.nodes) else None
    before = behind = ""
    if roll < 0.1:
        before, behind = f"#pragma pack(push, {chance.choice((1, 2, 4))})\n", ";\n#pragma pack(pop)"
    elif roll < 0.18:
        behind = " __attribute__((packed));"
    elif roll < 0.28:
        behind = f" {_ALIGNED.format(chance.choice((8, 16, 32, 64)))};"
    elif roll < 0.32:
        behind = f" __attribute__((packed, aligned({chance.choice((2, 4, 8))})));"
    paths = [one.paths for unit in units for one in unit if one.paths]
    name = f"s{seed}"
    rules = "" if len(paths) < 2 else _Rules(chance, name, paths).text()
    line, is_smallest = chance.choice((None, 16, 16, 32, 64)), chance.random() < 0.3
    if is_smallest and chance.random() < 0.3:
        rules = ""
    # Under a pragma, gcc places some bit-fields otherwise, and layouts are those of clang (docs/inputs.md).
    compiler = "clang" if before else chance.choice(("gcc", "clang"))
    return Specimen(name, units, before, behind or ";", rules, line, bits, is_smallest, opened, compiler)


def _random_units(maker: _Maker, count: int) -> tuple[tuple[Unit, ...], Group]:
    """Return declarations of which one besides a flexible array has a name, as C demands."""
    while True:
        every = [
            one for number in range(count) for one in maker.declaration(f"m{number}", number == count - 1)
        ]
        units: list[Unit] = []
        declared = list(_units(every[:count]))
        if _parts_groups(declared):
            continue
        top = Group(tuple(_nodes(declared, units)), "")
        if len(units) > 1 and any(one.name and not one.is_last for unit in units for one in unit):
            return tuple(units), top


def _nodes(declared: Iterable[Unit], units: list[Unit]) -> Iterator[int | Group]:
    """Yield what stands side by side; adds its units, also those in structs without a name."""
    for unit in declared:
        if unit[0].inner:
            yield Group(tuple(_nodes(unit[0].inner, units)), unit[0].shape)
        else:
            units.append(unit)
            yield len(units) - 1


def _units(declarations: Sequence[Declaration]) -> Iterator[Unit]:
    """Yield what stays together: bit-fields in a row; one without a name stays behind what is before it."""
    run: list[Declaration] = []
    for one in declarations:
        is_run = run and one.bits is not None and run[-1].bits is not None
        if any(each.name or each.inner for each in run) and not is_run and not _is_unnamed(one):
            yield tuple(run)
            run = []
        run.append(one)
    if run:
        yield tuple(run)


def _is_unnamed(one: Declaration) -> bool:
    return not (one.name or one.inner)


def _parts_groups(declared: Iterable[Unit]) -> bool:
    """Return whether a bit-field without a name is in one unit with a struct without a name."""
    return any(
        (len(unit) > 1 and any(one.inner for one in unit)) or any(_parts_groups(one.inner) for one in unit)
        for unit in declared
    )


class _Maker:
    def __init__(self, chance: random.Random, opens: bool, types: tuple[str, ...]) -> None:
        self.chance, self.opens, self.types = chance, opens, types

    def declaration(self, name: str, is_last: bool, depth: int = 0) -> list[Declaration]:
        """Return one declaration, or some bit-fields in a row."""
        chance = self.chance
        roll = chance.random()
        if is_last and name != "m0" and roll < 0.2:
            return [self._open(name)]
        if roll < 0.4:
            return [Declaration(f"{chance.choice(self.types)} @{self._suffix()};", name, (name,))]
        if roll < 0.55:
            size = chance.choice((1, 2, 3, 5, 12, 24))
            of = chance.choice(self.types[:3] if size > 5 else self.types)
            return [Declaration(f"{of} @[{size}]{self._suffix()};", name, (name, f"{name}[{size - 1}]"))]
        if roll < 0.7:
            of = chance.choice(tuple(_NAMED))
            inner = tuple(f"{name}.{each}" for each in _NAMED[of])
            dims = "[2]" if chance.random() < 0.2 else ""
            return [Declaration(f"{of} @{dims}{self._suffix()};", name, (name, *inner))]
        if roll < 0.8:
            return [self._anonymous(name, depth)]
        if roll < 0.96:
            return [self._bit_field(f"{name}{letter}") for letter in "abc"[: chance.randint(1, 3)]]
        return [
            Declaration(chance.choice(("struct empty @;", "int @[0];")[: 1 if depth else 2]), name, (name,))
        ]

    def _suffix(self) -> str:
        roll = self.chance.random()
        if roll < 0.06:
            return " __attribute__((packed))"
        return f" {_ALIGNED.format(self.chance.choice((2, 4, 8, 16, 32)))}" if roll < 0.14 else ""

    def _anonymous(self, name: str, depth: int) -> Declaration:
        if self.opens and depth < 2 and self.chance.random() < 0.7:
            return self._nameless(name, depth + 1)
        word, packed = self.chance.choice(("struct", "union")), self.chance.choice(("", " __attribute__((packed))"))
        packed = packed or (" __attribute__((packed))" if self.opens and word == "struct" else "")
        shape = f"{word} {{ {self.chance.choice(self.types)} @; {self.chance.choice(self.types)} @_; }}{packed};"
        return Declaration(shape, name, (name, f"{name}_"))

    def _nameless(self, name: str, depth: int) -> Declaration:
        """Return a struct without a name and with members that have names, which can be reordered."""
        end = (
            f"}}{f' {_ALIGNED.format(self.chance.choice((8, 16)))}' if self.chance.random() < 0.15 else ''};"
        )
        while True:
            count = self.chance.choice((2, 2, 3))
            inner = [
                one for at in range(count) for one in self.declaration(f"{name}{'xyz'[at]}", False, depth)
            ]
            inner = inner[: 3 if depth == 1 else 2]
            if len(inner) > 1 and all(one.name or one.inner for one in inner) and "packed" not in str(inner):
                return Declaration(end, "", (), inner=tuple(_units(inner)))

    def _bit_field(self, name: str) -> Declaration:
        chance = self.chance
        of, width = chance.choice(_BITS)
        if chance.random() < 0.15:
            return Declaration(f"{of} : {chance.choice((0, chance.randint(1, width)))};", "", (), 0)
        size = width if chance.random() < 0.15 else chance.randint(1, width)
        suffix = self._suffix() if chance.random() < 0.4 else ""
        return Declaration(f"{of} @ : {size}{suffix};", name, (name,), size)

    def _open(self, name: str) -> Declaration:
        roll = self.chance.random()
        if roll < 0.2:
            return Declaration("struct open @;", name, (name,), None, True)
        dims = "[0]" if roll < 0.35 else "[]"
        return Declaration(f"{self.chance.choice(self.types)} @{dims};", name, (name,), None, True)


class _Rules:
    """Makes the rules on a struct."""

    def __init__(self, chance: random.Random, struct: str, paths: list[tuple[str, ...]]) -> None:
        self.chance, self.struct, self.paths = chance, struct, paths
        self._accesses: dict[str, str] = {}

    def text(self) -> str:
        """Return a rule file with one to three rules."""
        kinds = list(_KINDS)
        rules = []
        for number in range(self.chance.choice((1, 1, 1, 2, 2, 3))):
            kind = self.chance.choice(kinds)
            keys = {"id": f'"{self.struct}-{number}"', "struct": f'"{self.struct}"', "kind": f'"{kind}"', "why": '"x"'}
            keys |= _KINDS[kind](self)
            if kind in ("separate", "isolated", "access") and self.chance.random() < 0.1:
                keys["line_pairs"] = "true"
            if self.chance.random() < 0.15:
                keys["tolerate"] = self.chance.choice(("0.13", "0.25", "0.5"))
            rules.append("[[rule]]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items()))
        return self._table() + "\n".join(rules)

    def _table(self) -> str:
        chance, lines = self.chance, [f"[struct.{self.struct}]"]
        if chance.random() < 0.4:
            lines.append(f'placement = "{chance.choice(_PLACEMENTS)}"')
        if chance.random() < 0.25:
            lines.append(f"array = {chance.choice(('true', '2', '3', '8'))}")
        lines += [f"[struct.{self.struct}.fields]", *self._accesses.values()]
        return "\n".join(lines) + "\n\n"

    def _path(self) -> str:
        paths = self.chance.choice(self.paths)
        return paths[0] if self.chance.random() < 0.7 else self.chance.choice(paths)

    def _some(self, fewest: int, most: int) -> list[str]:
        """Return paths of different members."""
        members = self.chance.sample(self.paths, min(len(self.paths), self.chance.randint(fewest, most)))
        return [paths[0] if self.chance.random() < 0.7 else self.chance.choice(paths) for paths in members]

    def _fields(self, fewest: int, most: int) -> dict[str, str]:
        return {"fields": _list(self._some(fewest, most))}

    def _with_neighbours(self, keys: dict[str, str]) -> dict[str, str]:
        if self.chance.random() < 0.15:
            keys["neighbours"] = self.chance.choice(("true", "false"))
        return keys

    def separate(self) -> dict[str, str]:
        some = self._some(2, 4)
        cut = self.chance.randint(1, len(some) - 1)
        return self._with_neighbours({"fields": f"[{_list(some[:cut])}, {_list(some[cut:])}]"})

    def access(self) -> dict[str, str]:
        words = ("hot-read", "hot-write", "read-mostly", "cold")
        for number, path in enumerate(self._some(2, 4)):
            word = words[number] if number < 2 else self.chance.choice(words)
            self._accesses.setdefault(path, f'"{path}" = {{ access = "{word}" }}')
        return self._with_neighbours({})

    def guards(self) -> dict[str, str]:
        lock, *data = self._some(2, 3)
        contended = self.chance.choice(("true", "false"))
        return self._with_neighbours({"lock": f'"{lock}"', "data": _list(data), "contended": contended})

    def isolation(self) -> dict[str, str]:
        fields, *others = self._some(1, 3)
        keys = {"fields": _list([fields])} | ({"except": _list(others)} if others else {})
        return self._with_neighbours(keys)

    def closeness(self) -> dict[str, str]:
        return self._fields(2, 3)

    def no_straddle(self) -> dict[str, str]:
        return self._fields(1, 2)

    def adjacent(self) -> dict[str, str]:
        keys = self._fields(2, 3)
        if self.chance.random() < 0.3:
            keys["max_gap"] = str(self.chance.choice((0, 1, 4)))
        return keys

    def distance(self) -> dict[str, str]:
        low = self.chance.choice((0, 4, 8, 16, 20))
        bounds = ({"min": str(low)}, {"max": str(low + 4)}, {"min": str(low), "max": str(low + 16)})
        return self._fields(2, 3) | self.chance.choice(bounds)

    def order(self) -> dict[str, str]:
        return self._fields(2, 4)

    def offset(self) -> dict[str, str]:
        key, value = self.chance.choice((("at", self.chance.choice((0, 4, 8, 16, 24))), ("line", self.chance.randint(0, 2))))
        path = self._path()
        if key == "at" and value in _FIRST_BITS:
            return {"at": f'{{ "{path}" = "{value}:{_FIRST_BITS[value]}" }}'}
        return {"fields": _list([path]), key: str(value)}

    def line_start(self) -> dict[str, str]:
        return self._fields(1, 2)

    def lines(self) -> dict[str, str]:
        keys = self._fields(1, 3)
        if self.chance.random() < 0.5:
            keys["max"] = str(self.chance.randint(1, 3))
        return keys

    def holes(self) -> dict[str, str]:
        return {"max": str(self.chance.choice((0, 0, 1, 3, 8)))}

    def size(self) -> dict[str, str]:
        choices = (
            {"max": str(self.chance.choice((16, 24, 32, 48, 64)))}, {"multiple_of": "16"},
            {"max_lines": str(self.chance.randint(1, 4))},
        )  # fmt: skip
        return self.chance.choice(choices)

    def allocation(self) -> dict[str, str]:
        return self.chance.choice(({"max_class": str(self.chance.choice((32, 64, 96)))}, {"min_per_slab": "64"}))


_FIRST_BITS = {0: 0, 4: 3, 8: 0}
"""The bits of some bytes at which fields must begin."""
_KINDS = {
    "separate": _Rules.separate, "access": _Rules.access, "guards": _Rules.guards, "isolated": _Rules.isolation,
    "together": _Rules.closeness, "no-straddle": _Rules.no_straddle, "adjacent": _Rules.adjacent,
    "distance": _Rules.distance, "order": _Rules.order, "offset": _Rules.offset, "line-start": _Rules.line_start,
    "lines": _Rules.lines, "holes": _Rules.holes, "size": _Rules.size, "allocation": _Rules.allocation,
}  # fmt: skip


def _list(paths: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{path}"' for path in paths) + "]"
