"""Random C structs with everything that moves an alignment, as text, with the paths of their fields."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

PRELUDE = """\
typedef int (*fn_t)(void *, int);
enum colour { RED, GREEN, BLUE };
enum __attribute__((packed)) tiny { ONE, TWO };
enum huge { HUGE = 1LL << 40 };
struct opaque;
struct empty { };
"""
_SCALARS = (
    "char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned int", "long",
    "unsigned long", "long long", "unsigned long long", "_Bool", "float", "double", "long double", "enum colour",
    "enum tiny", "enum huge", "void *", "const char *", "struct opaque *", "fn_t", "volatile int", "const long",
    "_Complex float", "_Complex double", "_Complex long double",
)  # fmt: skip
_COMMON = ("char", "short", "int", "long", "void *", "int", "long")
_BITS = (
    ("unsigned int", 32), ("int", 32), ("unsigned char", 8), ("char", 8), ("short", 16), ("unsigned short", 16),
    ("long long", 64), ("unsigned long long", 64), ("_Bool", 1), ("enum colour", 32), ("enum tiny", 8),
)  # fmt: skip
_ATOMIC = ("char", "short", "int", "long", "long long", "void *", "double", "_Bool", "float", "enum colour")
_IN_VECTORS = (("char", 1), ("short", 2), ("int", 4), ("long long", 8), ("float", 4), ("double", 8))
_ALIGNS = (1, 2, 4, 8, 16, 32, 64, 128)
_MOST_FIELDS = 60
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Words:
    """What one compiler offers for one machine."""

    long_bits: int
    more: tuple[str, ...] = ()
    """Scalars beside those of every compiler."""
    vectors: bool = True
    is_clang: bool = False
    bit_int: int = 0
    """The widest `_BitInt`; 0 for none."""
    bool_vectors: bool = False
    """Whether vectors of `_Bool` are laid out as in libclang: clang 15 and 16 give those of up to 4 elements no size."""


@dataclass(frozen=True, slots=True)
class Held:
    """Where a struct stands in another: the path of the first, and the dimensions of the arrays on the way."""

    path: str
    """With `[0]` at arrays, as `offsetof` takes it."""
    inner: str
    """The C type."""
    dims: tuple[tuple[str, int | None], ...] = ()
    """Of each array dimension the path of an element and the number of elements, outermost first; None for `[]`."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A field that rules can name."""

    path: str
    bits: int = 0
    """Of a bit-field; 0 for other fields."""

    @property
    def is_bits(self) -> bool:
        """Whether it is a bit-field, of which C tells no address."""
        return self.bits > 0


@dataclass(slots=True)
class Record:
    """A struct or union type, by the name that rules give it and that of C."""

    name: str
    c_name: str
    text: str
    with_: str = ""
    """The name of the record whose text defines it, where that is another one."""
    spots: list[Spot] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    is_open: bool = False
    is_tagged: bool = True
    of: str = ""
    """The C name of the struct that this is another typedef of."""


@dataclass(slots=True)
class Unit:
    """One file: records in order, and types that they use; `lines` of text stand in front of all."""

    records: list[Record]
    types: list[tuple[str, str]]
    """(name, definition) of types that are no structs."""

    def text(self, without: frozenset[str] = frozenset()) -> tuple[str, dict[int, str]]:
        """The C text without some names, and the name that each line belongs to."""
        lines, owner = PRELUDE.splitlines(), dict[int, str]()
        for name, text in (*self.types, *((one.name, one.text) for one in self.records)):
            if name not in without:
                for line in text.splitlines():
                    lines.append(line)
                    owner[len(lines)] = name
        return "\n".join(lines) + "\n", owner

    def dependents(self, names: set[str]) -> frozenset[str]:
        """Some names, and everything whose text uses one of them."""
        gone = set(names)
        for name, text in self._texts():
            if not gone.isdisjoint(_WORD.findall(text)):
                gone.add(name)
        return frozenset(gone)

    def closure(self, name: str) -> list[str]:
        """The definitions that a name needs, in order."""
        texts = dict(self._texts())
        wanted, waiting = set[str](), [name]
        while waiting:
            found = waiting.pop()
            if found in texts and found not in wanted:
                wanted.add(found)
                waiting += _WORD.findall(texts[found])
        return [text for known, text in self._texts() if known in wanted and " " in text]

    def _texts(self) -> list[tuple[str, str]]:
        """Each name with its definition, or with the name of the record that defines it."""
        return [*self.types, *((one.name, one.text or one.with_) for one in self.records)]


class Maker:
    """Makes one unit."""

    def __init__(self, seed: int, words: Words) -> None:
        self.chance = random.Random(seed)
        self.words = words
        self.plain = [one for one in (*_SCALARS, *words.more) if "_Complex" not in one]
        """Without complex numbers, of which pahole makes no BTF, in most units."""
        if self.chance.random() < 0.3:
            self.plain = [*_SCALARS, *words.more]
        self.unit = Unit([], [])
        self.scalars: list[str] = []
        """Names of typedefs of scalars, vectors, arrays, pointers with alignments of their own."""
        self.whole: list[str] = []
        """Those whose size is a multiple of the alignment, as far as is known: elements of arrays."""
        self.bits: list[tuple[str, int]] = []
        self._number = 0

    def make(self, count: int) -> Unit:
        """A unit with about `count` records."""
        for _ in range(max(4, count // 12)):
            self._type()
        while len(self.unit.records) < count:
            self._record()
        return self.unit

    # Types that are no structs

    def _type(self) -> None:
        chance, n = self.chance, len(self.unit.types)
        kind = chance.choice(
            ("scalar", "scalar", "bits", "vector", "vector", "array", "pointer", "again", "atomic")
        )
        name = f"u{n}"
        align = f"__attribute__((aligned({chance.choice(_ALIGNS[:7])})))"
        if kind == "scalar":
            text = f"typedef {chance.choice(self.plain)} {name} {align};"
            self.scalars.append(name)
        elif kind == "bits":
            of, width = chance.choice(_BITS[:8])
            text = f"typedef {of} {name} {align};"
            self.bits.append((name, width))
        elif kind == "vector" and self.words.vectors:
            text = self._vector(name, align)
        elif kind == "array":
            text = f"typedef {chance.choice(self.plain)} {name}[{chance.randint(1, 5)}] {chance.choice(('', align))};"
            self.scalars.append(name)
        elif kind == "again" and self.scalars:
            text = f"typedef {chance.choice(self.scalars)} {name} {chance.choice(('', '', align))};"
            self.scalars.append(name)
        elif kind == "atomic":
            text = f"typedef _Atomic({chance.choice(_ATOMIC)}) {name} {chance.choice(('', '', align))};"
            self.scalars.append(name)
        else:
            text = f"typedef void *{name} {align};"
            self.scalars.append(name)
        self.unit.types.append((name, text))

    def _vector(self, name: str, align: str) -> str:
        chance = self.chance
        of, size = chance.choice(_IN_VECTORS)
        align = align if chance.random() < 0.3 else ""
        self.scalars.append(name)
        if self.words.is_clang and chance.random() < 0.4:
            if chance.random() < 0.2 and self.words.bool_vectors:
                return f"typedef _Bool {name} __attribute__((ext_vector_type({chance.choice((3, 8, 16, 40))}))) {align};"
            return f"typedef {of} {name} __attribute__((ext_vector_type({chance.choice((2, 3, 3, 4, 5, 8))}))) {align};"
        return (
            f"typedef {of} {name} __attribute__((vector_size({size * chance.choice((1, 2, 4, 8))}))) {align};"
        )

    # Structs

    def _record(self) -> None:
        chance = self.chance
        name = f"s{self._number}"
        self._number += 1
        if self.unit.records and chance.random() < 0.08:
            self._again(f"t{self._number}")
            return
        body = self._body()
        is_union = chance.random() < 0.12
        text = body.braces(0, chance.randint(1, 7), is_union, "")
        is_open = body.is_open
        if not is_union and not is_open and chance.random() < 0.05:
            text = text[:-1] + f" {chance.choice(('int', 'char', 'long'))} tail[]; }}"
            is_open = len(body.spots) > 0 or len(body.held) > 0
            if not is_open:
                return
        word = "union" if is_union else "struct"
        before, behind = self._attributes()
        style = chance.choice(("tag", "tag", "tag", "tag", "typedef", "both"))
        align = f" __attribute__((aligned({chance.choice(_ALIGNS)})))" if chance.random() < 0.5 else ""
        if style == "tag":
            c_name, message = f"{word} {name}", f"{word} {before} {name} {text} {behind};"
        elif style == "typedef":
            c_name, message = name, f"typedef {word} {before} {text} {behind} {name}{align};"
        else:
            c_name, message = (
                f"{word} {name}",
                f"typedef {word} {before} {name} {text} {behind} {name}_t{align};",
            )
        self._add(
            Record(
                name, c_name, self._pragma(message), "", body.spots, body.held, is_open, style != "typedef"
            )
        )
        if style == "both":
            self._add(
                Record(f"{name}_t", f"{name}_t", "", name, body.spots, body.held, is_open, False, c_name)
            )

    def _body(self) -> _Body:
        return _Body(self, self.chance)

    def _add(self, record: Record) -> None:
        self.unit.records.append(record)

    def _again(self, name: str) -> None:
        """A typedef of a struct with an alignment of its own, perhaps."""
        chance = self.chance
        old = chance.choice(self.unit.records[-20:])
        qualifier = chance.choice(("", "", "", "const ", "volatile "))
        align = f"__attribute__((aligned({chance.choice(_ALIGNS)})))" if chance.random() < 0.8 else ""
        text = f"typedef {qualifier}{old.c_name} {name} {align};"
        of = old.of or old.c_name
        self._add(Record(name, name, text, "", old.spots, old.held, old.is_open, False, of))

    def _attributes(self) -> tuple[str, str]:
        """What stands before the tag, and behind the braces."""
        chance, message = self.chance, list[str]()
        if chance.random() < 0.25:
            message.append("packed")
        if chance.random() < 0.2:
            message.append(f"aligned({chance.choice(_ALIGNS)})")
        if self.words.long_bits and chance.random() < 0.06:
            message.append("ms_struct")
        text = f"__attribute__(({', '.join(message)}))" if message else ""
        return (text, "") if chance.random() < 0.5 else ("", text)

    def _pragma(self, text: str) -> str:
        roll = self.chance.random()
        if roll > 0.12:
            return text
        value = self.chance.choice((1, 2, 4, 8, 16))
        if roll > 0.04:
            return f"#pragma pack(push, {value})\n{text}\n#pragma pack(pop)"
        return f"#pragma pack({value})\n{text}\n#pragma pack()"


class _Body:
    """The members of one struct, at all depths."""

    def __init__(self, maker: Maker, chance: random.Random) -> None:
        self.maker, self.chance = maker, chance
        self.spots: list[Spot] = []
        self.held: list[Held] = []
        self.is_open = False
        self._count = 0

    def braces(self, depth: int, number: int, is_union: bool, prefix: str) -> str:
        members: list[str] = []
        for _ in range(number):
            if self._count >= _MOST_FIELDS:
                break
            members.append(self._member(depth, prefix))
        return "{ " + " ".join(members) + " }"

    def _name(self) -> str:
        self._count += 1
        return f"m{self._count}"

    def _member(self, depth: int, prefix: str) -> str:
        roll = self.chance.random()
        if roll < 0.35:
            return self._scalar(prefix)
        if roll < 0.5:
            return self._named_type(prefix)
        if roll < 0.68:
            return self._bit_field(prefix)
        if roll < 0.75:
            return self._atomic(prefix)
        if roll < 0.9 and self.maker.unit.records:
            return self._embed(prefix)
        if roll < 0.97 and depth < 2:
            return self._nest(depth, prefix)
        return (
            f"{self.chance.choice(_COMMON)} {self._name()}{self._suffix()};"
            if prefix
            else self._scalar(prefix)
        )

    def _suffix(self) -> str:
        """Attributes of a member."""
        chance = self.chance
        message = []
        if chance.random() < 0.08:
            message.append("packed")
        if chance.random() < 0.1:
            message.append(f"aligned({chance.choice(_ALIGNS[:7])})")
        return f" __attribute__(({', '.join(message)}))" if message else ""

    def _dims(self) -> str:
        chance = self.chance
        if chance.random() < 0.8:
            return ""
        return "".join(f"[{chance.randint(1, 5)}]" for _ in range(chance.choice((1, 1, 1, 2))))

    def _plain(self, of: str, prefix: str) -> str:
        name = self._name()
        self.spots.append(Spot(prefix + name))
        before = f"_Alignas({self.chance.choice((16, 32, 64))}) " if self.chance.random() < 0.02 else ""
        return f"{before}{of} {name}{self._dims()}{self._suffix()};"

    def _scalar(self, prefix: str) -> str:
        chance, words = self.chance, self.maker.words
        if words.bit_int and chance.random() < 0.06:
            return self._plain(
                f"{chance.choice(('', 'unsigned '))}_BitInt({chance.randint(2, words.bit_int)})", prefix
            )
        pool = _COMMON if chance.random() < 0.5 else self.maker.plain
        return self._plain(chance.choice(pool), prefix)

    def _named_type(self, prefix: str) -> str:
        name = self.chance.choice(self.maker.scalars) if self.maker.scalars else "int"
        return self._plain(self.chance.choice(("", "", "", "const ", "volatile ")) + name, prefix)

    def _bit_field(self, prefix: str) -> str:
        chance, long = self.chance, self.maker.words.long_bits
        pool = (*_BITS, ("long", long), ("unsigned long", long), *self.maker.bits)
        of, width = chance.choice(pool)
        if chance.random() < 0.15:
            return f"{of} : {chance.choice((0, 0, chance.randint(1, width)))};"
        name = self._name()
        bits = width if chance.random() < 0.15 else chance.randint(1, width)
        self.spots.append(Spot(prefix + name, bits))
        return f"{of} {name} : {bits}{self._suffix() if chance.random() < 0.6 else ''};"

    def _atomic(self, prefix: str) -> str:
        chance = self.chance
        closed = [one for one in self.maker.unit.records[-8:] if not one.is_open]
        if closed and chance.random() < 0.4:
            old = chance.choice(closed)
            self.held.append(Held(f"{prefix}m{self._count + 1}", old.of or old.c_name))
            name = self._name()
            self.spots.append(Spot(prefix + name))
            return f"_Atomic({old.c_name}) {name}{self._suffix()};"
        if chance.random() < 0.3:
            number = self._name()
            self.spots.append(Spot(prefix + number))
            return f"_Atomic struct {{ char x[{chance.randint(1, 9)}]; }} {number}{self._dims()};"
        return self._plain(f"_Atomic({chance.choice(_ATOMIC)})", prefix)

    def _embed(self, prefix: str) -> str:
        chance = self.chance
        old = chance.choice(self.maker.unit.records[-12:])
        if old.is_open:
            return self._scalar(prefix)
        name, dims = self._name(), self._dims()
        self.spots.append(Spot(prefix + name))
        counts = [int(one) for one in dims.replace("]", "").split("[")[1:]]
        firsts = [(f"{prefix}{name}{'[0]' * (at + 1)}", count) for at, count in enumerate(counts)]
        of = old.of or old.c_name
        self.held.append(Held(f"{prefix}{name}{'[0]' * len(counts)}", of, tuple(firsts)))
        if not dims:
            for spot in chance.sample(old.spots, min(2, len(old.spots))):
                self.spots.append(Spot(f"{prefix}{name}.{spot.path}", spot.bits))
        return f"{chance.choice(('', '', '', 'const '))}{old.c_name} {name}{dims}{self._suffix()};"

    def _nest(self, depth: int, prefix: str) -> str:
        chance = self.chance
        word = chance.choice(("struct", "struct", "union"))
        is_named = chance.random() < 0.5
        name = self._name() if is_named else ""
        inner = f"{prefix}{name}." if is_named else prefix
        before, _ = self.maker._attributes() if chance.random() < 0.5 else ("", "")
        braces = self.braces(depth + 1, chance.randint(1, 4), word == "union", inner)
        if is_named:
            self.spots.append(Spot(prefix + name))
        suffix = self._suffix() if is_named else ""
        return f"{word} {before} {braces} {name}{suffix};"
