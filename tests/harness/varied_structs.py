"""Structs in memory that a seed makes, with all that readers can hand on: for golden texts of whole results.

Python's generator gives the same numbers in all versions, which the structs of hypothesis do not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from layoutlint.model.ctype import CType
from layoutlint.model.structs import Field, Source, Struct, Unstated
from layoutlint.model.target import TARGETS, target_named

SCALARS = (("char", 1), ("short", 2), ("int", 4), ("float", 4), ("long", 8), ("double", 8), ("void *", 8), ("spinlock_t", 4))
LOCK = "struct mutex"
UNSTATED = (Unstated.NOTHING, Unstated.NOTHING, Unstated.ALIGNED, Unstated.PACKED, Unstated.ALIGNED | Unstated.PACKED)
USUAL = ("x86_64", "x86_64", "aarch64")


@dataclass
class _Draft:
    """Members one behind the other, in bits."""

    chance: Random
    is_union: bool = False
    depth: int = 2
    first: int = 0
    """The number of the first name: names are used once in a struct."""
    fields: list[Field] = field(default_factory=list)
    position: int = 0
    size: int = 0

    def put(self, name: str | None, ctype: CType, size: int | None, align: int, **more: object) -> None:
        """Add a member; packed ones follow at once, and some leave a larger hole."""
        step = self.chance.choice((1, align, align, align, 32)) * 8
        at = 0 if self.is_union else -(-self.position // step) * step
        source = None if name is None else Source("varied.h", self.first + len(self.fields) + 2)
        self.fields.append(Field(name, ctype, at, size, align=align, source=source, **more))  # type: ignore[arg-type]
        self.position = at + (size or 0)
        self.size = max(self.size, self.position)

    def name(self) -> str:
        return f"m{self.first + len(self.fields)}"

    def scalar(self) -> None:
        spelling, size = self.chance.choice(SCALARS)
        is_function = spelling == "void *" and self.chance.random() < 0.5
        self.put(self.name(), CType(spelling), size * 8, size, is_function_pointer=is_function)

    def bits(self) -> None:
        at = 0 if self.is_union else self.position + self.chance.choice((0, 0, 3))
        width = self.chance.choice((1, 5, 8, 13, 32))
        self.fields.append(Field(self.name(), CType("unsigned int"), at, width, is_bitfield=True, align=4))
        self.position = at + width
        self.size = max(self.size, self.position)

    def array(self) -> None:
        dims = self.chance.choice(((3,), (1,), (5,), (2, 3), (40,)))
        spelling, size = self.chance.choice(SCALARS)
        total = size * 8
        for count in dims:
            total *= count
        right = "".join(f"[{count}]" for count in dims)
        self.put(self.name(), CType(spelling, right), total, size, dims=dims, is_flattened=self.chance.random() < 0.2)

    def nest(self) -> None:
        kind = self.chance.choice(("struct", "struct", "union"))
        inner = draft(self.chance, kind == "union", self.depth - 1, (self.first + len(self.fields) + 1) * 10)
        unit = self.chance.choice((32, 64, 64, 512))
        padded = -(-inner.size // unit) * unit
        name = self.name() if self.chance.random() < 0.7 else None
        dims = self.chance.choice(((), (), (2,), (3,), (2, 2))) if name is not None and padded else ()
        spelling = self.chance.choice((f"{kind} {{...}}", LOCK, f"{kind} inner{self.first}"))
        total = padded
        for count in dims:
            total *= count
        ctype = CType(spelling if name is not None else f"{kind} {{...}}", "".join(f"[{count}]" for count in dims))
        self.put(name, ctype, total, unit // 8, dims=dims, members=tuple(inner.fields), aggregate=kind)

    def nothing(self) -> None:
        how = self.chance.randrange(4)
        if how == 0:
            self.put(self.name(), CType("struct nothing"), 0, 1, aggregate="struct")
        elif how == 1:
            self.put(self.name(), CType("char", "[0]"), 0, 1, dims=(0,))
        elif how == 2:
            self.put(self.name(), CType("struct hidden"), None, 1)
        else:
            edge = self.chance.choice(("begin", "begin", "end"))
            self.put(f"__cacheline_group_{edge}__{self.chance.choice('rw')}", CType("__u8", "[0]"), 0, 1, dims=(0,))

    def unknown(self) -> None:
        """Add a variable that DWARF does not describe."""
        self.put(self.name(), CType("??"), self.chance.choice((8, 40, 200)) * 8, 8)


def draft(chance: Random, is_union: bool, depth: int, first: int) -> _Draft:
    """Return the members of a struct or union."""
    made = _Draft(chance, is_union, depth, first)
    steps = [made.scalar, made.scalar, made.scalar, made.bits, made.array, made.nothing]
    for _ in range(chance.randint(1, 6)):
        chance.choice(steps + [made.nest] * 2 * (depth > 0))()
    return made


def struct_of_seed(seed: int) -> Struct:
    """Return a struct or union of a seed, whose size and alignment are as readers give them, or not stated."""
    chance = Random(seed)
    made = draft(chance, chance.random() < 0.15, 2, 0)
    fields, size = made.fields, made.size
    if not made.is_union and chance.random() < 0.25:
        at = -(-size // 64) * 64
        size = at
        fields.append(Field("tail", CType("long", "[]"), at, 0, dims=(None,), align=8, flexible_bits=chance.choice((64, None))))
    align = chance.choice((1, 4, 8, 8, 16, 64, 128, None))
    padded = -(-size // ((align or 8) * 8)) * (align or 8) * 8
    target = target_named(chance.choice(USUAL)) if chance.random() < 0.8 else chance.choice(TARGETS)
    unstated = chance.choice(UNSTATED) if align is None or chance.random() < 0.3 else Unstated.NOTHING
    return Struct(f"varied{seed}", "union" if made.is_union else "struct", padded, align, tuple(fields), target, Source("varied.h", 1),
                  "varied.c", unstated=unstated)  # fmt: skip


def data_of_seed(seed: int) -> Struct:
    """Return the variables of some data as a struct of sections: of a file at addresses, or of an object file."""
    chance = Random(seed)
    sections: list[Field] = []
    position = names = 0
    for section in (".data", ".data..read_mostly", ".bss")[: chance.randint(1, 3)]:
        made = _Draft(chance, depth=1, first=names)
        made.scalar()
        for _ in range(chance.randint(0, 6)):
            chance.choice((made.scalar, made.array, made.nest, made.unknown))()
        names += len(made.fields)
        size = -(-made.size // 8) * 8
        named = tuple(each for each in made.fields if each.name is not None)
        sections.append(Field(None, CType(section), position, size, aggregate="struct", members=named, align=64))
        position += -(-size // 512) * 512
    address = chance.choice((None, 4096))
    return Struct("data", "struct", position, chance.choice((8, 64)), tuple(sections), target_named("x86_64"), Source("varied.c", 1),
                  "varied.o", address=address)  # fmt: skip
