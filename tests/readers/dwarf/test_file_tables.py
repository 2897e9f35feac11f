"""Files of line tables, made by `struct` in all versions and forms, and read again; and each table cut off."""

from __future__ import annotations

import struct

import pytest
from elftools.dwarf.enums import ENUM_DW_FORM

from layoutlint.readers.dwarf.format import file_table
from layoutlint.readers.dwarf.format.file_table import Files, Strings, tidy
from layoutlint.readers.dwarf.format.forms import DwarfError
from layoutlint.readers.elf.span import Span
from tests.readers.dwarf.dwarf_file import uleb

FOLDERS, NAMES = ["/comp", "include", "/usr/include", "include/deep"], [("a.c", 0), ("a.h", 1), ("stdio.h", 2), ("b.h", 3), ("/abs.h", 1), ("lost.h", 9), ("../up.h", 0)]
PATHS = ["a.c", "include/a.h", "/usr/include/stdio.h", "include/deep/b.h", "/abs.h", "lost.h", "/up.h"]
PADDING = b"\xee" * 5


def wrap(version: int, wide: bool, mark: str, body: bytes, opcodes: int = 13) -> bytes:
    """A table with its header before the folders."""
    word = "Q" if wide else "I"
    head = struct.pack(f"{mark}H", version) + (b"\x08\0" if version >= 5 else b"") + struct.pack(f"{mark}{word}", 99)
    head += bytes(5 if version >= 4 else 4) + bytes([opcodes]) + b"\1" * (opcodes - 1)
    content = head + body
    return (struct.pack(f"{mark}IQ", 0xFFFFFFFF, len(content)) if wide else struct.pack(f"{mark}I", len(content))) + content


def old_table(version: int, wide: bool, mark: str) -> bytes:
    folders = b"".join(name.encode() + b"\0" for name in FOLDERS[1:])
    files = b"".join(name.encode() + b"\0" + uleb(folder) + uleb(300) + uleb(0) for name, folder in NAMES)
    return wrap(version, wide, mark, folders + b"\0" + files + b"\0")


class Made:
    """Strings that tables of DWARF 5 refer to."""

    def __init__(self, wide: bool, mark: str) -> None:
        self.wide, self.mark = wide, mark
        self.line, self.plain = b"\0", b"\0\0"

    def value(self, form: str, value: object) -> bytes:
        if form in ("line_strp", "strp"):
            place = len(self.line if form == "line_strp" else self.plain)
            text = str(value).encode() + b"\0"
            self.line, self.plain = (self.line + text, self.plain) if form == "line_strp" else (self.line, self.plain + text)
            return struct.pack(f"{self.mark}{'Q' if self.wide else 'I'}", place)
        if form == "string":
            return str(value).encode() + b"\0"
        if form == "udata":
            return uleb(int(value))
        if form == "block":
            return b"\2xy"
        return {"data1": lambda: struct.pack("B", value), "data2": lambda: struct.pack(f"{self.mark}H", value), "data16": lambda: bytes(16)}[form]()

    def table(self, parts: list[tuple[int, str]], rows: list[dict[int, object]]) -> bytes:
        out = bytes([len(parts)]) + b"".join(uleb(content) + uleb(ENUM_DW_FORM[f"DW_FORM_{form}"]) for content, form in parts) + uleb(len(rows))
        return out + b"".join(self.value(form, row.get(content, 7)) for row in rows for content, form in parts)

    def strings(self) -> Strings:
        return Strings(Span(self.line, 0, len(self.line)), Span(self.plain, 0, len(self.plain)), 8 if self.wide else 4, "little" if self.mark == "<" else "big")


PATH, FOLDER, TIME, SIZE, MD5 = 1, 2, 3, 4, 5
SHAPES = [
    # the parts of a file's entry
    [(PATH, "line_strp"), (FOLDER, "udata")], [(PATH, "strp"), (FOLDER, "data1"), (MD5, "data16")], [(FOLDER, "data2"), (PATH, "string")], [(MD5, "data16"), (TIME, "udata"), (SIZE, "block"), (PATH, "line_strp"), (FOLDER, "data1")],
    [(0x2001, "string"), (PATH, "string"), (FOLDER, "udata")],
]  # fmt: skip


def rows() -> tuple[list[dict[int, object]], list[dict[int, object]]]:
    return [{PATH: name} for name in FOLDERS], [{PATH: name, FOLDER: folder} for name, folder in NAMES]


@pytest.mark.parametrize("mark", "<>")
@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("version", [2, 3, 4])
def test_old_tables(version, wide, mark):
    """The folder of the compilation is number 0, and files count from 1; a file cut off anywhere is damaged, and nothing else."""
    table = old_table(version, wide, mark)
    strings = Made(wide, mark).strings()
    files = Files(PADDING + table + PADDING, len(PADDING), "/comp", strings)
    assert [files.path(number) for number in range(-1, 9)] == [None, None, *PATHS, None]
    assert files.find(5)
    assert (files.text(files.name), files.name.directory, files.text(files.folder)) == (b"/abs.h", 1, b"include")
    assert files.find(6)
    assert (files.name.directory, files.folder.form, files.text(files.folder)) == (9, 0, b"")
    for cut in range(len(PADDING), len(PADDING) + len(table)):
        with pytest.raises((DwarfError, IndexError)):
            Files((PADDING + table)[:cut], len(PADDING), "/comp", strings)


@pytest.mark.parametrize("mark", "<>")
@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("parts", SHAPES, ids=range(len(SHAPES)))
@pytest.mark.parametrize("comp_dir", ["/comp", ""])
def test_new_tables(parts, wide, mark, comp_dir):
    """Files and folders count from 0; the first folder is that of the compilation."""
    made = Made(wide, mark)
    folders, names = rows()
    table = wrap(5, wide, mark, made.table([(PATH, "line_strp")], folders) + made.table(parts, names), 10)
    files = Files(PADDING + table + PADDING, len(PADDING), comp_dir, made.strings())
    assert [files.path(number) for number in range(-1, 8)] == [None, *PATHS, None]
    assert files.comp_dir == "/comp"
    whole = PADDING + table
    for cut in range(len(PADDING), len(whole)):
        with pytest.raises((DwarfError, IndexError)):
            Files(whole[:cut], len(PADDING), comp_dir, made.strings())


def test_a_table_without_folders_and_files():
    made = Made(False, "<")
    table = wrap(5, False, "<", made.table([], []) + made.table([], []))
    files = Files(table, 0, "", made.strings())
    assert (files.comp_dir, files.path(0), files.path(1)) == ("", None, None)


def test_names_in_forms_that_are_no_text():
    made = Made(False, "<")
    for form, reason in (("data2", "a file name of form 0x5"), ("udata", "a file name of form 0xf"), ("line_strp", "a file name is missing: ")):
        table = wrap(5, False, "<", made.table([(PATH, "string")], [{PATH: "/comp"}]) + made.table([(PATH, form)], [{PATH: 7}]))
        strings = Strings(Span(b"", 0, 0), Span(b"", 0, 0), 4, "little")
        with pytest.raises(DwarfError, match=reason):
            Files(table, 0, "", strings).path(0)


def with_length(length: int) -> bytes:
    return struct.pack("<I", length) + old_table(4, False, "<")[4:]


WHOLE = len(old_table(4, False, "<")) - 4
BAD = [
    # a table, why it is none
    (with_length(WHOLE + 1), r"the line table at 0x0 is outside .debug_line"), (old_table(1, False, "<"), "the line table at 0x0 has version 1"), (old_table(6, False, "<"), "the line table at 0x0 has version 6"),
    (bytes(4), "the line table at 0x0 has version 0"), (b"", r"the line table at 0x0 is outside .debug_line"), (bytes(3), r"the line table at 0x0 is outside .debug_line"), (b"\xff" * 4 + bytes(7), r"the line table at 0x0 is outside .debug_line"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "reason"), BAD, ids=range(len(BAD)))
def test_tables_that_are_none(table, reason):
    with pytest.raises(DwarfError, match=reason):
        Files(table, 0, "/comp", Made(False, "<").strings())
    assert Files(with_length(WHOLE), 0, "/comp", Made(False, "<").strings()).path(1) == "a.c"


@pytest.mark.parametrize(("most", "is_read"), [(7, True), (6, False)])
def test_too_many_files(most, is_read, monkeypatch):
    monkeypatch.setattr(file_table, "_MOST", most)
    made = Made(False, "<")
    folders, names = rows()
    table = wrap(5, False, "<", made.table([(PATH, "string")], folders) + made.table([(PATH, "string")], names))
    if is_read:
        assert Files(table, 0, "", made.strings()).path(0) == "a.c"
    else:
        with pytest.raises(DwarfError, match="a line table claims 7 files"):
            Files(table, 0, "", made.strings())


@pytest.mark.parametrize(("count", "is_read"), [(3, True), (4, False), (1 << 40, False)])
def test_more_files_than_bytes(count, is_read):
    """Entries of a part without bytes count, too."""
    made = Made(False, "<")
    folders = made.table([(PATH, "string")], [{PATH: "/comp"}])
    body = folders + bytes([1]) + uleb(PATH) + uleb(ENUM_DW_FORM["DW_FORM_string"]) + uleb(count) + b"\0" * 3
    table = wrap(5, False, "<", body)
    if is_read:
        assert [Files(table, 0, "", made.strings()).path(number) for number in range(4)] == ["/comp", "/comp", "/comp", None]
    else:
        with pytest.raises(DwarfError, match=f"a line table claims {count} files"):
            Files(table, 0, "", made.strings())


TIDY = [
    ("/comp", ("a.c",), "a.c"), ("/comp", ("", "a.c"), "a.c"), ("/comp/", ("./x/../a.c",), "a.c"), ("/comp", ("/comp/a.c",), "a.c"), ("/comp", ("/company/a.c",), "/company/a.c"), ("/comp", ("../a.c",), "/a.c"),
    ("", ("a.c",), "a.c"), ("", ("/x/./a.c",), "/x/a.c"), ("/comp", ("in", "/abs.h"), "/abs.h"), ("/comp", (".",), "/comp"), ("rel", ("a.c",), "a.c"), (".", ("a.c",), "a.c"),
]  # fmt: skip


@pytest.mark.parametrize(("comp_dir", "parts", "path"), TIDY)
def test_paths_as_reports_show_them(comp_dir, parts, path):
    assert tidy(comp_dir, *parts) == path
