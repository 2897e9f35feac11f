"""Random structs with more of what gcc and clang lay out differently: attributes in several places, and pragmas."""

from __future__ import annotations

from tools.differential.structs import Maker, Record, Spot, Words, _Body

_ALIGNS = (1, 2, 4, 8, 16, 32, 64)
_MODES = (("QI", 8), ("HI", 16), ("SI", 32), ("DI", 64), ("byte", 8), ("word", 0), ("pointer", 0))
_ENUMERATORS = (
    "{0}A = 1", "{0}A, {0}B = 200", "{0}A = -1, {0}B = 127", "{0}A = 40000", "{0}A = -1, {0}B = 40000",
    "{0}A = 0x7fffffff", "{0}A = 0xffffffffu", "{0}A = -1, {0}B = 0xffffffffu", "{0}A = 1LL << 40", "{0}A = -1LL << 40",
)  # fmt: skip
_WIDE_ENUMERATORS = 7
"""From here on, values may need more than an int."""
_BITS = (
    ("unsigned int", 32), ("int", 32), ("unsigned char", 8), ("char", 8), ("short", 16), ("unsigned short", 16),
    ("long long", 64), ("unsigned long long", 64), ("_Bool", 1), ("enum colour", 2), ("enum tiny", 1), ("long", 32),
)  # fmt: skip
_FLOATS = ("_Float32", "_Float64", "_Float32x", "_Float64x", "_Float128")
_FLEXIBLE = ("int", "char", "long long", "short")
_MAX_ALIGN = """\
typedef struct {{
  long long m1 __attribute__((__aligned__(__alignof__(long long))));
  long double m2 __attribute__((__aligned__(__alignof__(long double))));
#ifdef __i386__
  __float128 m3 __attribute__((__aligned__(__alignof__(__float128))));
#endif
}} {0};"""
"""As stddef.h of gcc has it."""


class WideMaker(Maker):
    """Makes one unit; `is_x86` adds the attributes that only x86 has.

    `measured` is the share of members whose numbers are measured of other types.
    """

    def __init__(self, seed: int, words: Words, is_x86: bool, measured: float) -> None:
        super().__init__(seed, words)
        self.is_x86 = is_x86
        self.floats = _FLOATS if words.long_bits == 64 or is_x86 else _FLOATS[:3]
        self._open_body = _WideBody(self, self.chance)
        self.measured = measured

    # Types that are no structs

    def _type(self) -> None:
        roll = self.chance.random()
        if roll < 0.5:
            super()._type()
            return
        name = f"u{len(self.unit.types)}"
        makers = (self._enum, self._enum, self._mode, self._bits, self._bits, self._several, self._lists)
        make = self._float if roll < 0.507 else self.chance.choice(makers)
        self.unit.types.append((name, make(name)))

    def _enum(self, name: str) -> str:
        chance = self.chance
        at = chance.randrange(len(_ENUMERATORS))
        packed = " __attribute__((packed))" if chance.random() < 0.3 else ""
        mode = (
            f" __attribute__((mode({chance.choice(('QI', 'HI', 'SI', 'DI'))})))"
            if chance.random() < 0.12
            else ""
        )
        behind = chance.choice((packed, "")) or mode
        self.scalars.append(name)
        self.bits.append((name, 64 if at > _WIDE_ENUMERATORS else 8))
        align = f" {self._list((chance.choice(_ALIGNS),))}" if chance.random() < 0.15 else ""
        return f"typedef enum{packed if not behind else ''} {{ {_ENUMERATORS[at].format(name)} }}{behind} {name}{align};"

    def _float(self, name: str) -> str:
        self.scalars.append(name)
        return f"typedef {self.chance.choice(self.floats)} {name};"

    def _mode(self, name: str) -> str:
        mode, width = self.chance.choice(_MODES)
        self.scalars.append(name)
        if width:
            self.bits.append((name, width))
        sign = self.chance.choice(("int", "unsigned int"))
        return f"typedef {sign} {name} __attribute__((mode({mode})));"

    def _bits(self, name: str) -> str:
        of, width = self.chance.choice(_BITS)
        self.bits.append((name, width))
        return f"typedef {of} {name} {self._list((self.chance.choice(_ALIGNS),))};"

    def _several(self, name: str) -> str:
        """Several alignments of one typedef."""
        chance = self.chance
        aligns = [chance.choice(_ALIGNS) for _ in range(2)]
        text = self._list(aligns) if chance.random() < 0.5 else " ".join(self._list((one,)) for one in aligns)
        self.scalars.append(name)
        return f"typedef {chance.choice(self.plain)} {name} {text};"

    def _lists(self, name: str) -> str:
        """An alignment before the name, or the largest one."""
        self.scalars.append(name)
        bare = self.chance.random() < 0.5
        of = self.chance.choice(self.plain)
        return (
            f"typedef {of} {name} __attribute__((aligned));"
            if bare
            else f"typedef {self._list((8,))} {of} {name};"
        )

    def _list(self, aligns: tuple[int, ...] | list[int]) -> str:
        return f"__attribute__(({', '.join(f'aligned({one})' for one in aligns)}))"

    # Structs

    def _record(self) -> None:
        chance = self.chance
        if chance.random() < 0.01:
            name = f"s{self._number}"
            self._number += 1
            text = _MAX_ALIGN.format(name)
            self._add(Record(name, name, text, "", [Spot("m1"), Spot("m2")], [], False, False))
            return
        before = len(self.unit.records)
        super()._record()
        if len(self.unit.records) > before and self.unit.records[before].text:
            record = self.unit.records[before]
            record.text += self._open_body.closing
            self._open_body.closing = ""
            self._wrap(record)

    def _body(self) -> _Body:
        self._open_body = _WideBody(self, self.chance)
        return self._open_body

    def _wrap(self, record: Record) -> None:
        """Declarations and pragmas before it."""
        chance, roll = self.chance, self.chance.random()
        word, _, tag = record.c_name.partition(" ")
        if (
            roll < 0.03
            and tag
            and f" {record.c_name} " not in f" {record.text.split('{')[0]} ".replace("typedef", "")
        ):
            words = chance.choice((f"aligned({chance.choice(_ALIGNS)})", "packed", "aligned"))
            record.text = f"{word} __attribute__(({words})) {tag};\n{record.text}"
        elif roll < 0.045:
            record.text = (
                f"#pragma ms_struct {chance.choice(('on', 'off'))}\n{record.text}\n#pragma ms_struct reset"
            )
        elif roll < 0.05:
            order = chance.choice(("big-endian", "little-endian"))
            record.text = (
                f"#pragma scalar_storage_order {order}\n{record.text}\n#pragma scalar_storage_order default"
            )
        elif roll < 0.07:
            record.text = self._nested_pragmas(record.text)

    def _nested_pragmas(self, text: str) -> str:
        chance = self.chance
        outer, inner = chance.choice(_ALIGNS[:5]), chance.choice(_ALIGNS[:5])
        return chance.choice((
            f"#pragma pack(push, {outer})\n#pragma pack(push, {inner})\n#pragma pack(pop)\n{text}\n#pragma pack(pop)",
            f"#pragma pack(push, {outer})\n#pragma pack({inner})\n{text}\n#pragma pack(pop)",
            f"#pragma pack(push, a, {outer})\n#pragma pack(push, {inner})\n{text}\n#pragma pack(pop, a)",
            f"#pragma pack({outer})\n#pragma pack(push)\n#pragma pack({inner})\n#pragma pack(pop)\n{text}\n#pragma pack()",
        ))  # fmt: skip

    def _attributes(self) -> tuple[str, str]:
        chance = self.chance
        before, behind = super()._attributes()
        if chance.random() < 0.05:
            before = f"{before} {self._list((chance.choice(_ALIGNS),))}"
        if chance.random() < 0.04:
            behind = f"{behind} {self._list((chance.choice(_ALIGNS),))}"
        if chance.random() < 0.015:
            behind = f"{behind} __attribute__((aligned))"
        if self.is_x86 and chance.random() < 0.02:
            before = f"{before} __attribute__((gcc_struct))"
        if chance.random() < 0.004:
            order = chance.choice(("big", "little"))
            before = f'{before} __attribute__((scalar_storage_order("{order}-endian")))'
        return before, behind


class _WideBody(_Body):
    """The members of one struct."""

    maker: WideMaker

    def braces(self, depth: int, number: int, is_union: bool, prefix: str) -> str:
        text = super().braces(depth, number, is_union, prefix)
        if self.chance.random() < 0.012:
            return self._pragma_inside(text)
        return text

    def _pragma_inside(self, text: str) -> str:
        """Pragmas between members: the braces count when they close."""
        value = self.chance.choice((1, 2, 4, 8))
        first, brace, rest = text.partition("; ")
        if not brace or "{" in first[1:]:
            return text
        opened, closed = self.chance.choice((
            (f"#pragma pack(push, {value})", ""), (f"#pragma pack({value})", ""),
            (f"#pragma pack(push, {value})", "#pragma pack(pop)"), (f"#pragma pack({value})", "#pragma pack()"),
        ))  # fmt: skip
        end = rest[:-1] + (f"\n{closed}\n}}" if closed else "}")
        self.closing += "" if closed else "\n#pragma pack(pop)" if "push" in opened else "\n#pragma pack()"
        return f"{first};\n{opened}\n{end}"

    closing = ""
    """Pragmas behind the struct that end those inside of it."""

    def _suffix(self) -> str:
        roll = self.chance.random()
        if roll < 0.012:
            return " __attribute__((aligned))"
        if roll < 0.024:
            return "".join(f" __attribute__((aligned({self.chance.choice(_ALIGNS)})))" for _ in range(2))
        if roll < 0.03:
            of = self.chance.choice(("double", "long long", "long double", "int"))
            return f" __attribute__((aligned(__alignof__({of}))))"
        return super()._suffix()

    def _member(self, depth: int, prefix: str) -> str:
        roll = self.chance.random()
        if roll < 0.02:
            return f"struct {{ }} {self._name()};"
        if roll < 0.03:
            return f"{self.chance.choice(_FLEXIBLE)} {self._name()}[0];"
        if roll < 0.06 and self.maker.bits:
            of, width = self.chance.choice(self.maker.bits)
            name = self._name()
            bits = self.chance.randint(1, width)
            self.spots.append(Spot(prefix + name, bits))
            return f"{of} {name} : {bits}{self._suffix()};"
        if roll < 0.08:
            of = self.chance.choice(("double", "long long", "long double", "int", "char"))
            name = self._name()
            self.spots.append(Spot(prefix + name))
            return f"_Alignas({of}) {self.chance.choice(('char', 'int', 'long long'))} {name};"
        if roll < 0.08 + self.maker.measured and self.maker.unit.records:
            return self._measuring(prefix)
        return super()._member(depth, prefix)

    def _measuring(self, prefix: str) -> str:
        """A member with a number that the compiler measures of another type."""
        other, name = self.chance.choice(self.maker.unit.records).c_name, self._name()
        operator = self.chance.choice(("sizeof", "_Alignof", "__alignof__"))
        texts = (
            f"char {name}[{operator}({other}) % 61 + 1];", f"short {name}[2][1 + {operator}({other}) % 29];",
            f"char {name}[sizeof((({other} *)0)[0]) % 61 + 1];", f"_Alignas({other}) char {name};",
            f"int {name} __attribute__((aligned({operator}({other}) & 4 ? 4 : 8)));",
        )  # fmt: skip
        self.spots.append(Spot(prefix + name))
        return self.chance.choice(texts)

    def _nest(self, depth: int, prefix: str) -> str:
        text = super()._nest(depth, prefix)
        if text.endswith(" ;") and self.chance.random() < 0.15:  # without a name: attributes behind the brace
            text = f"{text[:-2]} __attribute__(({self.chance.choice(('packed', 'aligned(8)', 'aligned(16), packed'))}));"
        return text
