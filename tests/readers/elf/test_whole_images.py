"""All that an open file states of itself, for files of many machines, kinds and sections, and for damaged ones."""

from __future__ import annotations

import struct
import zlib

import pytest

from layoutlint.errors import ReadError
from layoutlint.files import accesses
from layoutlint.readers.elf import compiler_marks, elf_file, kernel_image, packed
from layoutlint.readers.elf.span import Span
from tests.harness.whole import inline
from tests.readers.dwarf.dwarf_file import elf

MACHINES = (2, 3, 4, 8, 15, 18, 20, 21, 22, 40, 41, 42, 43, 50, 62, 76, 83, 88, 89, 92, 93, 94, 105, 113, 141, 142, 164, 167, 174, 183, 188, 189, 191, 195, 224, 243, 244, 247, 251, 252, 258, 0x9026, 0, 140, 9999)
KINDS = {1: "object", 2: "program", 3: "library", 5: "another"}
NAMES = (".debug_info", ".debug_abbrev", ".BTF", ".data", ".debug_info.dwo", ".debug_types", ".zdebug_info", ".modinfo", "__ksymtab_x", "___ksymtab+x", "__bug_table")


def state_all(image: elf_file.Image) -> str:
    """What an image states, in one line."""
    words = [f"{image.bits} {'little' if image.little_endian else 'big'}", f"entry {image.entry:#x}", "relocatable" if image.is_relocatable else "linked"]
    words += [inline(image.target), *image.notes, f"id {image.build_id}"]
    words += [name for name in ("has_wide_bytes", "has_dwarf", "has_btf", "is_kernel") if getattr(image, name)]
    words.append(f"debug information {image.debug_information}, dwarf {image.has('dwarf')}, btf {image.has('btf')}")
    words += [f"lacks {name}" for name in NAMES if image.lacks_relocations(name)]
    return "; ".join(words)


@pytest.fixture
def describe(tmp_path):
    """A description of a file, or why it cannot be read."""

    def describe_file(content: bytes) -> str:
        (tmp_path / "file").write_bytes(content)
        try:
            with elf_file.open_elf(str(tmp_path / "file")) as image:
                return state_all(image)
        except ReadError as error:
            return error.reason

    return describe_file


END = "; id None; has_dwarf; debug information dwarf, dwarf True, btf False"


def test_machines(describe, golden_row):
    lines = []
    for machine in MACHINES:
        for bits, little in ((64, True), (64, False), (32, True), (32, False)):
            description = describe(elf({".debug_info": b"x"}, machine, bits, little, 2))
            lines.append(f"{machine} {bits} {little}: {description.partition('; ')[2].removeprefix('entry 0x0; linked; ').removesuffix(END)}")
    golden_row("\n".join(lines))


def with_header(content: bytes, name: str, **values: int) -> bytes:
    """A file of 64 bits in which a section's header has other values."""
    made = bytearray(content)
    places = {"name": (0, "I"), "type": (4, "I"), "flags": (8, "Q"), "address": (16, "Q"), "offset": (24, "Q"), "size": (32, "Q"), "link": (40, "I"), "info": (44, "I"), "entry_size": (56, "Q")}
    (table,) = struct.unpack_from("<Q", made, 40)
    count, names = struct.unpack_from("<HH", made, 60)
    (strings,) = struct.unpack_from("<Q", made, table + 64 * names + 24)
    for number in range(count):
        (at,) = struct.unpack_from("<I", made, table + 64 * number)
        if made[strings + at :].partition(b"\0")[0] == name.encode():
            for key, value in values.items():
                offset, letter = places[key]
                struct.pack_into(f"<{letter}", made, table + 64 * number + offset, value)
    return bytes(made)


SECTIONS: dict[str, bytes] = {
    **{f"{name} of {KINDS[kind]}, {size} bytes": elf({name: bytes(size)}, kind=kind) for name in NAMES for kind in KINDS for size in (0, 3)},
    **{f"{name} without contents": with_header(elf({name: b"abc"}), name, type=8) for name in NAMES},
    "core": elf({}, kind=4),
    "dwarf and btf": elf({".debug_info": b"x", ".BTF": b"x"}, kind=3),
    "two of a name": elf({".debug_info": b"x", ".group": b"y"}),
}


def test_sections(describe, golden_row):
    verdicts: dict[str, list[str]] = {}
    for name, content in SECTIONS.items():
        verdicts.setdefault(describe(content), []).append(name)
    golden_row("\n".join(f"{verdict}:\n  {chr(10).join(names).replace(chr(10), chr(10) + '  ')}" for verdict, names in verdicts.items()))


def note(name: bytes, content: bytes, kind: int = 3, order: str = "<") -> bytes:
    return struct.pack(f"{order}III", len(name), len(content), kind) + name + bytes(-len(name) % 4) + content + bytes(-len(content) % 4)


GNU = b"GNU\0"
NOTES = [
    # notes, the build id
    (b"", None), (note(GNU, b"\xab\xcd"), "abcd"), (note(GNU, b"\xab"), "ab"), (note(GNU, b"")[:12] + GNU, ""), (note(GNU, b"\xab", 1), None), (note(b"Xen\0", b"\xab"), None),
    (note(b"Xen\0", b"\1\2\3\4\5") + note(GNU, b"\xab\xcd\xef"), "abcdef"), (note(b"stapsdt\0", b"\1") + note(GNU, b"\xab"), "ab"), (note(b"GNUX\0", b"\1") + note(GNU, b"\xab"), "ab"),
    (note(GNU, b"\xab\xcd\xef\x01\x02")[:-3], "abcdef0102"), (note(GNU, b"\xab\xcd\xef\x01\x02")[:-4], None), (note(GNU, b"\xab")[:11], None), (note(GNU, b"\xab")[:12], None), (note(b"GNU", b"\xab"), None),
    (note(GNU, b"\1", 1) + note(GNU, b"\2") + note(GNU, b"\3"), "02"), (b"\xff" * 40, None),
]  # fmt: skip


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize(("notes", "build_id"), NOTES)
def test_build_ids(notes, build_id, order):
    if order == ">":
        notes = b"".join(struct.pack(">I", *struct.unpack("<I", notes[at : at + 4])) if is_number else notes[at : at + 4] for at, is_number in words_of(notes))
    assert elf_file.gnu_build_id(notes, order) == build_id


def words_of(notes: bytes) -> list[tuple[int, bool]]:
    """The positions of words, and whether each is a number of a header."""
    words, at = [], 0
    while at < len(notes):
        is_header = at + 12 <= len(notes)
        words += [(place, is_header) for place in range(at, min(at + 12, len(notes)), 4)]
        name, content = struct.unpack_from("<II", notes, at) if is_header else (0, 0)
        end = min(at + 12 + (name + 3 & ~3) + (content + 3 & ~3), len(notes)) if is_header else len(notes)
        words += [(place, False) for place in range(at + 12, end, 4)]
        at = max(end, at + 12)
    return words


TEXT = bytes(range(200)) * 3
PACKED = zlib.compress(TEXT)


def compress_text(method: int = 1, size: int = len(TEXT), bits: int = 64, order: str = "<") -> bytes:
    return (struct.pack(f"{order}IIQQ", method, 0, size, 1) if bits == 64 else struct.pack(f"{order}III", method, size, 1)) + PACKED


PLAIN = elf({".debug_info": b"plain", ".zdebug_line": b"ZLIB" + len(TEXT).to_bytes(8, "big") + PACKED}, kind=3)
CONTENTS: dict[str, tuple[bytes, str]] = {
    # a file and one of its sections
    "plain": (PLAIN, ".debug_info"), "missing": (PLAIN, ".debug_str"), "old compression": (PLAIN, ".debug_line"), "its own name": (PLAIN, ".zdebug_line"),
    "compressed": (with_header(elf({".debug_info": compress_text()}, kind=3), ".debug_info", flags=0x800), ".debug_info"),
    "compressed, with other flags": (with_header(elf({".debug_info": compress_text()}, kind=3), ".debug_info", flags=0x802), ".debug_info"),
    "another flag": (with_header(elf({".debug_info": b"abc"}, kind=3), ".debug_info", flags=0x400), ".debug_info"),
    "another method": (with_header(elf({".debug_info": compress_text(9)}, kind=3), ".debug_info", flags=0x800), ".debug_info"),
    "a larger size": (with_header(elf({".debug_info": compress_text(size=len(TEXT) + 1)}, kind=3), ".debug_info", flags=0x800), ".debug_info"),
    "an incredible size": (with_header(elf({".debug_info": compress_text(size=1 << 40)}, kind=3), ".debug_info", flags=0x800), ".debug_info"),
    "a header of 23 bytes": (with_header(elf({".debug_info": compress_text()[:23]}, kind=3), ".debug_info", flags=0x800), ".debug_info"),
    "old compression of 11 bytes": (elf({".zdebug_info": b"ZLIB" + bytes(7)}, kind=3), ".debug_info"), "old compression of 12 bytes": (elf({".zdebug_info": b"ZLIB" + bytes(8)}, kind=3), ".debug_info"),
    "old compression without its mark": (elf({".zdebug_info": b"zLIB" + bytes(99)}, kind=3), ".debug_info"),
    "behind the end": (with_header(PLAIN, ".debug_info", offset=len(PLAIN) - 4), ".debug_info"), "up to the end": (with_header(PLAIN, ".debug_info", offset=len(PLAIN) - 5), ".debug_info"),
    "without contents": (with_header(PLAIN, ".debug_info", type=8), ".debug_info"), "empty": (elf({".debug_info": b""}, kind=3), ".debug_info"), "empty in an object": (elf({".debug_info": b""}), ".debug_info"),
    "in an object": (elf({".debug_info": b"plain"}), ".debug_info"),
}


@pytest.mark.parametrize("case", CONTENTS)
def test_contents(case, tmp_path, golden_row):
    content, name = CONTENTS[case]
    (tmp_path / "file").write_bytes(content)
    lines = []
    with elf_file.open_elf(str(tmp_path / "file")) as image:
        for ask in (lambda: [bytes(each) for each in image.sections(name)], lambda: None if image.section(name) is None else bytes(image.section(name)),
                    lambda: [bytes(each.octets) for each in image.spans(name)], lambda: bytes(image.span(name).octets)):  # fmt: skip
            try:
                lines.append(f"{ask()!r}"[:300])
            except ReadError as error:
                lines.append(error.reason)
    golden_row("\n".join(lines))


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("more", [0, 1])
def test_sections_that_overlap(count, more, tmp_path):
    """Together they may have as many bytes as the file, and one alone is none of several."""
    names = ["." + "n" * number for number in range(1, count + 1)]
    content = elf(dict.fromkeys(names, b"")) + bytes(7)
    size = (len(content) + more) // count if count > 1 else len(content)
    sizes = [size] * (count - 1) + [len(content) + more - size * (count - 1)] if count > 1 else [size]
    for name, each in zip(names, sizes, strict=True):
        content = with_header(content, name, type=7, offset=0, size=each)
    (tmp_path / "file").write_bytes(content)
    with elf_file.open_elf(str(tmp_path / "file")) as image:
        if more and count > 1:
            with pytest.raises(ReadError, match=f"its {count} notes are larger than the file"):
                image.build_id  # noqa: B018
        else:
            assert image.build_id is None


@pytest.mark.parametrize(("largest", "is_guarded"), [(999, True), (1000, False), (1001, False)])
def test_which_files_are_mapped(largest, is_guarded, tmp_path, monkeypatch):
    """Small ones are copied, so that nobody can shorten them."""
    content = elf({".debug_info": b"x"})
    content += bytes(1000 - len(content))
    (tmp_path / "file").write_bytes(content)
    guarded = []
    monkeypatch.setattr(elf_file, "_LARGEST_COPY", largest)
    monkeypatch.setattr(elf_file, "guard", lambda path, size: guarded.append((path, size)))
    with accesses.log_answers() as log, elf_file.open_elf(str(tmp_path / "file")) as image:
        assert bytes(image.content) == content
        (tmp_path / "file").open("r+b").close()
    assert guarded == ([(str(tmp_path / "file"), 1000)] if is_guarded else [])
    assert [digest is None for _, digest in log.contents.values()] == [is_guarded]


MARKED = b"GNU C17 -fplugin=./randomize_layout_plugin.so"
FAST = MARKED + b" -fplugin-arg-randomize_layout_plugin-performance-mode"
SEED = b"0123456789abcdef" * 4
VERMAGIC = b"6.1 SMP RANDSTRUCT_PLUGIN_" + SEED
MARKS: dict[str, dict[str, bytes]] = {
    "none": {".debug_str": b"GNU C17\0"}, "full": {".debug_str": MARKED}, "fast": {".debug_str": FAST}, "split": {".debug_str.dwo": MARKED}, "both": {".debug_str": MARKED, ".debug_str.dwo": FAST},
    "inline": {".debug_abbrev": b"\x25\x08", ".debug_info": MARKED}, "not inline": {".debug_abbrev": b"\x25\x0e", ".debug_info": MARKED}, "inline in split": {".debug_abbrev.dwo": b"\x25\x08", ".debug_info.dwo": FAST},
    "module": {".modinfo": VERMAGIC}, "module by clang": {".modinfo": b"RANDSTRUCT_" + SEED, ".comment": b"clang version 16"}, "module with marks": {".modinfo": VERMAGIC, ".debug_str": FAST},
    "vmlinux": {".rodata": b"RANDSTRUCT_ " + VERMAGIC}, "vmlinux with marks": {".rodata": VERMAGIC, ".debug_str": MARKED}, "short": {".modinfo": VERMAGIC[:-1]}, "upper case": {".modinfo": VERMAGIC.upper()},
    "another before": {".modinfo": b"RANDSTRUCT_x" + VERMAGIC}, "longer": {".modinfo": VERMAGIC + b"f"},
}  # fmt: skip


def brief(mark) -> str:
    return str(mark and (mark.by, mark.mode, mark.seed and mark.seed == SEED.decode()))


@pytest.mark.parametrize("case", MARKS)
def test_marks_of_shuffled_structs(case, tmp_path, golden_row):
    (tmp_path / "file").write_bytes(elf(MARKS[case], kind=2))
    units = compiler_marks.mode_evidence("gcc-performance")
    with elf_file.open_elf(str(tmp_path / "file")) as image:
        lines = [f"{searches} {own is not None} {are_read}: {brief(compiler_marks.image_evidence(image, image, searches, own, are_read))}"
                 for searches in (True, False) for own in (None, units) for are_read in (True, False)]  # fmt: skip
        golden_row("\n".join(lines))


def test_the_first_mark_counts():
    full, fast = compiler_marks.text_evidence(MARKED), compiler_marks.text_evidence(Span(b"x" + FAST, 1, len(FAST) + 1))
    assert (full.mode, fast.mode) == ("gcc-full", "gcc-performance")
    assert [compiler_marks.merge(*marks) for marks in ((), (None,), (None, full), (full, fast, None), (fast, full))] == [None, None, full, fast, fast]
    assert compiler_marks.text_evidence(Span(MARKED, 0, len(MARKED) - 1)) is None


class File:
    """A file of zeros of any size, which is read at one place."""

    def seek(self, place: int) -> None:
        self.place = place

    def read(self, length: int) -> bytes:
        return f"{length} from {self.place}".encode()


def boot(version: int = 0x20F, sectors: int = 4, offset: int = 0x100, length: int = 16, size: int = kernel_image.HEAD) -> bytes:
    head = bytearray(size)
    head[0x1F1], head[0x202:0x206] = sectors, b"HdrS"
    struct.pack_into("<H", head, 0x206, version)
    if size >= 0x250:
        struct.pack_into("<II", head, 0x248, offset, length)
    return bytes(head)


PAYLOADS = [
    # a header, the size of the file, what is read of it
    (boot(), 5000, "16 from 2816"), (boot(sectors=0), 5000, "16 from 2816"), (boot(sectors=1), 5000, "16 from 1280"), (boot(offset=0, length=5000 - 2560), 5000, "2440 from 2560"),
    (boot(offset=0, length=5001 - 2560), 5000, "damaged or truncated kernel image: its payload has 2,441 bytes from byte 2,560, the file has 5,000"),
    (boot(length=15), 5000, "damaged or truncated kernel image: its payload has 15 bytes from byte 2,816, the file has 5,000"), (boot(0x208), 5000, "16 from 2816"),
    (boot(0x207), 5000, "is a kernel image of the boot protocol 0x207, too old to be read; "), (boot(size=0x24F), 5000, "damaged or truncated kernel image: it ends within its header"),
]  # fmt: skip


@pytest.mark.parametrize(("head", "size", "result"), PAYLOADS)
def test_payloads_of_bootable_kernels(head, size, result):
    try:
        found = kernel_image.payload("x", File(), head, size).decode()
    except ReadError as error:
        found = error.reason
    assert found == result.replace("too old to be read; ", f"too old to be read; {kernel_image.HINT}")


HEADS = [
    # the start of a file, whether it is a bzImage, why another image is refused
    (boot(), True, None), (boot()[:0x205], False, None), (b"MZ\0\0zimg", False, "is a kernel image that EFI starts"), (b"MZ\0zimg", False, None), (b"ZM\0\0zimg", False, None),
    (bytes(0x38) + b"ARM\x64", False, "is a kernel image for arm64"), (bytes(0x39) + b"ARM\x64", False, None), (bytes(0x37) + b"ARM\x64", False, None), (b"", False, None),
]  # fmt: skip


@pytest.mark.parametrize(("head", "is_x86", "refusal"), HEADS)
def test_starts_of_kernel_images(head, is_x86, refusal):
    assert kernel_image.is_x86(head) is is_x86
    assert packed.is_packed(head) is is_x86
    found = kernel_image.refusal(head)
    assert found is None if refusal is None else found == f"{refusal}, without an ELF file; {kernel_image.HINT}"


