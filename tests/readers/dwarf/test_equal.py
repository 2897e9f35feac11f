"""Two units that define a struct: it is found once where all is equal, however that is told, and else twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from elftools.dwarf.enums import ENUM_DW_AT, ENUM_DW_FORM, ENUM_DW_TAG

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dispatch import read
from tests.harness import command, interpreted
from tests.readers.dwarf.dwarf_file import elf, number, uleb

INT = ("int", "base_type", {"name:string": "int", "byte_size:data1": 4, "encoding:data1": 5})
CHAR = ("char", "base_type", {"name:string": "char", "byte_size:data1": 1, "encoding:data1": 6})
VOID = ("void", "pointer_type", {"byte_size:data1": 8})
FUNCTION = ("function", "subroutine_type", {"prototyped:flag_present": None})
POINTER = ("pointer", "pointer_type", {"byte_size:data1": 8, "type:ref4": "pointee"})
LINE_STRING = ord("a")
"""Where in .debug_line_str the first string stands: the number that the text of a short name is."""
FAR = 1 << 28
"""From here on a member takes more words."""


class Units:
    """Units of DWARF 5 that share one table of abbreviations."""

    def __init__(self, little: bool = True) -> None:
        self.order = "little" if little else "big"
        self.info = self.abbreviations = self.line_strings = b""
        self.strings = b"\0"
        self._codes: dict[tuple[object, ...], int] = {}

    def add(self, *entries: tuple) -> Units:
        """A unit of entries: what references call them, tag, attributes by name and form, and either children or
        the code of the abbreviation."""
        places: dict[str, int] = {}
        for _ in range(2):  # references may point forwards
            body = b"".join(self._entry(entry, 12, places) for entry in (("unit", "compile_unit", {}, entries),))
        head = b"".join(n.to_bytes(width, self.order) for n, width in ((5, 2), (1, 1), (8, 1), (0, 4)))
        self.info += (len(head + body)).to_bytes(4, self.order) + head + body
        return self

    def write(self, folder: Path) -> Path:
        """The ELF file."""
        path = folder / "units.o"
        sections = {
            ".debug_info": self.info,
            ".debug_abbrev": self.abbreviations + b"\0",
            ".debug_str": self.strings,
        }
        path.write_bytes(elf({**sections, ".debug_line_str": self.line_strings}, little=self.order == "little"))
        return path

    def _entry(self, entry: tuple, position: int, places: dict[str, int]) -> bytes:
        label, tag, attributes, *rest = entry
        children, code = (rest[0], None) if rest and isinstance(rest[0], tuple) else ((), rest[0] if rest else None)
        places[label] = position
        out = uleb(self._code((tag, bool(children), tuple(attributes), code)))
        for attribute, value in attributes.items():
            form = attribute.partition(":")[2].partition("=")[0]
            out += self._value(form, places.get(value, 0) if form.startswith("ref") else value)
        for child in children:
            out += self._entry(child, position + len(out), places)
        return out + b"\0" if children else out

    def _code(self, abbreviation: tuple) -> int:
        tag, has_children, attributes, code = abbreviation
        if abbreviation not in self._codes:
            code = self._codes[abbreviation] = code or 2 + len(self._codes)
            self.abbreviations += uleb(code) + uleb(number(ENUM_DW_TAG, "DW_TAG_", tag)) + bytes((has_children,))
            for attribute in attributes:
                name, _, form = attribute.partition(":")
                form, _, constant = form.partition("=")
                self.abbreviations += uleb(number(ENUM_DW_AT, "DW_AT_", name))
                self.abbreviations += uleb(number(ENUM_DW_FORM, "DW_FORM_", form)) + bytes((int(constant),) if constant else ())
            self.abbreviations += b"\0\0"
        return self._codes[abbreviation]

    def _value(self, form: str, value) -> bytes:
        if form in ("flag_present", "implicit_const"):
            return b""
        if form == "string":
            return value.encode() + b"\0"
        if form == "strp":
            if f"\0{value}\0".encode() not in self.strings:
                self.strings += value.encode() + b"\0"
            return (self.strings.index(f"\0{value}\0".encode()) + 1).to_bytes(4, self.order)
        if form == "line_strp":
            self.line_strings += bytes(max(0, LINE_STRING - len(self.line_strings))) + value.encode() + b"\0"
            return (len(self.line_strings) - len(value) - 1).to_bytes(4, self.order)
        if form in ("udata", "sdata", "ref_udata"):
            return bytes(
                (
                    value & 127 | 128,
                    value >> 7 & 127 | 128,
                    value >> 14 & 127 | 128,
                    value >> 21 & 127 | 128,
                    value >> 28,
                )
            )
        width = int(form[-1]) if form[-1].isdigit() else 4
        return value.to_bytes(width, self.order)


def member(name: str, target: str, at: int, forms: str = "strp ref4 data4", more: str = "", code: int | None = None) -> tuple:
    by_name, by_type, by_place = forms.split()
    place = f"{by_place}={at}" if by_place == "implicit_const" else by_place
    attributes = {f"name:{by_name}": name, **({more: 1} if more else {}), f"type:{by_type}": target}
    return ("", "member", {**attributes, f"data_member_location:{place}": at}, *((code,) if code else ()))


def holder(*members: tuple, size: int = 1 << 30) -> tuple:
    return ("s", "structure_type", {"name:strp": "s", "byte_size:data4": size}, members)


def inner(*members: tuple, size: int = 8) -> tuple:
    return ("inner", "structure_type", {"name:strp": "inner", "byte_size:data1": size}, members)


def pointee(tag: str, name: str, target: str = "int") -> tuple:
    return ("pointee", tag, {"name:strp": name, **({"type:ref4": target} if tag == "typedef" else {})})


def array(length: int, form: str = "data1") -> tuple:
    return (
        "array",
        "array_type",
        {"type:ref4": "int"},
        (("", "subrange_type", {f"upper_bound:{form}": length}),),
    )


def count_definitions(units: Units, folder: Path) -> int:
    """How many definitions of `struct s` there are."""
    reading = read(str(units.write(folder)), Wanted(frozenset(("s",))), ReadOptions(jobs=1))
    assert reading.unread == ()
    return len(reading.structs)


USUAL = "strp ref4 data4"
FORMS = [
    *(f"{name} ref4 data4" for name in ("string", "line_strp")),
    *(f"strp {form} data4" for form in ("ref1", "ref2", "ref8", "ref_udata")),
    *(f"string ref4 {form}" for form in ("data1", "data2", "data8", "udata", "sdata", "implicit_const")),
]


@pytest.mark.parametrize("little", [True, False], ids=["little", "big"])
@pytest.mark.parametrize("forms", FORMS)
def test_equal_in_other_forms(forms, little, tmp_path):
    units = Units(little)
    for each, more in ((USUAL, ""), (forms, ""), (forms, "decl_line:data1")):
        members = [member(name, "int", 4 * at, each, more) for at, name in enumerate(("a", "bcd", "efgh", "ijklmn"))]
        units.add(INT, holder(*members))
    assert count_definitions(units, tmp_path) == 1


DIFFERENT = {
    **{
        f"names of {length} characters, {form}, at {at:#x}": [
            (CHAR, holder(member(name[:length], "char", at, f"{form} ref4 data4")))
            for name in ("abcdefgh", "abcdefgh"[: length - 1] + "~~")
        ]
        for form in ("strp", "string")
        for length in range(1, 9)
        for at in (0, FAR - 1, FAR)
    },
    **{
        f"a longer name by one than {length}": [
            (CHAR, holder(member("abcdefgh"[:count], "char", 0, "string ref4 data4"))) for count in (length, length + 1)
        ]
        for length in range(1, 8)
    },
    **{
        f"a place one behind {at:#x}": [
            (CHAR, holder(member("a", "char", place, f"{form} ref4 data4"))) for place in (at, at + 1)
        ]
        for at in (0, FAR - 2, FAR - 1, FAR)
        for form in ("strp", "string")
    },
    "no place": [
        (CHAR, ("s", "union_type", {"name:strp": "s", "byte_size:data4": 1}, (one,)))
        for one in (
            ("", "member", {"name:strp": "a", "type:ref4": "char"}),
            ("", "member", {"name:strp": "b", "type:ref4": "char"}),
        )
    ],
    "a name elsewhere": [
        (CHAR, holder(member(name, "char", 0, f"{form} ref4 data4"))) for form, name in (("string", "a"), ("line_strp", "z"))
    ],
    "codes of two bytes": [
        (
            INT,
            CHAR,
            holder(
                member("a", "int", 0, USUAL, "decl_line:data4", 130),
                member("b", "int", 4, USUAL, "", 1),
                member("c", last, 8, USUAL, "", 1),
            ),
        )
        for last in ("int", "char")
    ],
    "the size": [(INT, holder(member("a", "int", 0), size=size)) for size in (8, 16)],
    "the length of an array": [(INT, array(length), holder(member("a", "array", 0))) for length in (1, 2)],
    "a pointer's size": [
        (
            INT,
            pointee("typedef", "t"),
            ("p", "pointer_type", {"byte_size:data1": size, "type:ref4": "pointee"}),
            holder(member("a", "p", 0)),
        )
        for size in (4, 8)
    ],
    "a pointee's name": [(INT, pointee("typedef", name), POINTER, holder(member("a", "pointer", 0))) for name in ("t", "u")],
    "a pointee's tag": [
        (pointee(tag, "t"), POINTER, holder(member("a", "pointer", 0))) for tag in ("structure_type", "union_type")
    ],
    "whether a pointer's typedef is a function": [
        (INT, FUNCTION, pointee("typedef", "t", target), POINTER, holder(member("a", "pointer", 0)))
        for target in ("int", "function")
    ],
    "what a nested struct has": [(INT, inner(member("a", "int", at)), holder(member("b", "inner", 0))) for at in (0, 4)],
    "the bits of a bit-field": [
        (
            INT,
            holder(
                (
                    "",
                    "member",
                    {"name:strp": "a", "type:ref4": "int", "bit_size:data1": 3, "data_bit_offset:data1": at},
                )
            ),
        )
        for at in (1, 2)
    ],
}


@pytest.mark.parametrize("little", [True, False], ids=["little", "big"])
@pytest.mark.parametrize("difference", DIFFERENT)
def test_different(difference, little, tmp_path):
    one, other = DIFFERENT[difference]
    units = Units(little).add(*one).add(*other).add(*one).add(*other)
    assert count_definitions(units, tmp_path) == 2


@pytest.mark.exhaustive
def test_compiled_and_interpreted_alike(tmp_path):
    units = Units()
    for pair in DIFFERENT.values():
        units.add(*pair[0]).add(*pair[1])
    path = units.write(tmp_path)
    compiled, plain = (run("show", path, "s", "--format", "json") for run in (command.run, interpreted.run))
    assert (compiled.returncode, compiled.stdout) == (plain.returncode, plain.stdout)
    assert compiled.stderr == plain.stderr
