"""ELF files: target, build id, and the contents of sections, for the readers of DWARF and BTF."""

from __future__ import annotations

import mmap
import os
import struct
from array import array
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Final

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.record import replace
from layoutlint.model.target import TARGETS, Target, target_named
from layoutlint.readers.elf import headers, kernel_image, packed
from layoutlint.readers.elf.headers import Section
from layoutlint.readers.elf.span import Span
from layoutlint.workers.guard import CHANGED, guard

if TYPE_CHECKING:
    from layoutlint.files.stored_files import StoredFile
    from layoutlint.readers.elf.relocation import RelocationTables

Data = bytes | bytearray | memoryview

_DAMAGE = (struct.error, ValueError, OverflowError, IndexError)
"""Exceptions that damaged headers and sections raise."""

_LARGEST_COPY = 1 << 20
"""Largest file, in bytes, that is read instead of mapped; reading one of this size takes no longer."""

_SHF_COMPRESSED = 0x800
_FREE_CONTENT_SIZE = 1 << 28
_LARGEST_RATIO = 100
"""Limits for all decompressed sections of a file together: this many bytes, or this many times the file.

Debug information shrinks to a third or a tenth. Data that shrinks to a hundredth holds nothing."""

# e_machine (elf.h) of machines in TARGETS, and of others whose objects can be read.
_NAMES: Final = {
    2: "EM_SPARC", 3: "EM_386", 4: "EM_68K", 8: "EM_MIPS", 15: "EM_PARISC", 18: "EM_SPARC32PLUS",
    20: "EM_PPC", 21: "EM_PPC64", 22: "EM_S390", 40: "EM_ARM", 41: "EM_ALPHA", 42: "EM_SH",
    43: "EM_SPARCV9", 50: "EM_IA_64", 62: "EM_X86_64", 76: "EM_CRIS", 83: "EM_AVR", 88: "EM_M32R",
    89: "EM_MN10300", 92: "EM_OPENRISC", 93: "EM_ARC_COMPACT", 94: "EM_XTENSA", 105: "EM_MSP430",
    113: "EM_ALTERA_NIOS2", 164: "EM_QDSP6", 167: "EM_NDS32", 174: "EM_METAG", 183: "EM_AARCH64",
    188: "EM_TILEPRO", 189: "EM_MICROBLAZE", 191: "EM_TILEGX", 195: "EM_ARC_COMPACT2", 224: "EM_AMDGPU",
    243: "EM_RISCV", 244: "EM_LANAI", 247: "EM_BPF", 251: "EM_VE", 252: "EM_CSKY", 258: "EM_LOONGARCH",
    0x9026: "EM_ALPHA",
}  # fmt: skip

_WIDE_BYTES: Final = {141: "EM_TI_C2000", 142: "EM_TI_C5500"}
"""Machines with bytes of 16 bits; their pointers have half as many bytes as elsewhere."""

_MSP430: Final = "EM_MSP430"
"""Its pointers have 2 bytes, also where DWARF states 4 for addresses (clang 19). Those of gcc's `-mlarge`
state their size."""

# Machine, class, little-endian -> name of the TARGETS row.
_MACHINES: dict[tuple[str, int, bool], str] = {
    ("EM_X86_64", 64, True): "x86_64",
    ("EM_X86_64", 32, True): "x32",
    ("EM_386", 32, True): "i386",
    ("EM_AARCH64", 64, True): "aarch64",
    ("EM_AARCH64", 64, False): "aarch64_be",
    ("EM_ARM", 32, True): "arm",
    ("EM_ARM", 32, False): "armeb",
    ("EM_PPC64", 64, True): "powerpc64le",
    ("EM_PPC64", 64, False): "powerpc64",
    ("EM_PPC", 32, False): "powerpc",
    ("EM_S390", 64, False): "s390x",
    ("EM_RISCV", 64, True): "riscv64",
    ("EM_RISCV", 32, True): "riscv32",
    ("EM_MIPS", 64, False): "mips64",
    ("EM_MIPS", 64, True): "mips64el",
    ("EM_MIPS", 32, False): "mips",
    ("EM_MIPS", 32, True): "mipsel",
    ("EM_LOONGARCH", 64, True): "loongarch64",
    ("EM_SPARCV9", 64, False): "sparc64",
}

# Sections that only macros and linker scripts of Linux create: modinfo, exported symbols, BUG(),
# alternatives, static keys, per-CPU data.
_KERNEL_SECTIONS = frozenset((
    ".modinfo", ".gnu.linkonce.this_module", "__ksymtab", "__ksymtab_gpl", "__ksymtab_strings", "__kcrctab",
    "__bug_table", ".altinstructions", "__jump_table", ".data..percpu", ".data..read_mostly",
    ".orc_unwind_ip", ".static_call_sites", "__tracepoints", ".export_symbol",
))  # fmt: skip
_KERNEL_PREFIX = "___ksymtab"


class Image:
    """An open ELF file; valid only inside `opened`."""

    def __init__(self, path: str, mapped: mmap.mmap) -> None:
        self.path = path
        self.notes: tuple[str, ...] = ()
        """Assumptions about the machine, for the user."""
        self._mapping = mapped
        self._view = memoryview(mapped).toreadonly()
        self._cache: dict[str, tuple[memoryview, ...]] = {}
        self._decompressed_size = 0
        self._symbols: dict[int, array[int]] = {}
        self._others = ExitStack()
        parsed = headers.parse(mapped)
        if parsed.is_core:
            raise ReadError(path, "is a core dump, which has no types: give the program that it is of")
        self._headers = parsed.sections
        self.little_endian: bool = parsed.little_endian
        self.bits: int = parsed.bits
        self.machine = _machine(parsed.machine)
        """The name of its machine in elf.h."""
        self.has_wide_bytes: bool = parsed.machine in _WIDE_BYTES
        """Whether sizes and offsets count bytes of 16 bits."""
        self.target = self._target()
        self.is_relocatable: bool = parsed.is_relocatable
        self.entry: int = parsed.entry
        """Address at which a program starts; 0 for a file that is no program."""

    @cached_property
    def build_id(self) -> str | None:
        """The GNU build id in hexadecimal; None without one, as in object files."""
        notes = [header for header in self._headers if header.type == headers.NOTE]
        self._refuse_overlap("notes", notes)
        order = "<" if self.little_endian else ">"
        build_ids = (gnu_build_id(bytes(self._raw(header)), order) for header in notes)
        return next((build_id for build_id in build_ids if build_id is not None), None)

    @cached_property
    def identity(self) -> str | None:
        """The build id, with a digest of names, types and sizes of all sections: a stripped file has others.

        None without a build id.
        """
        from hashlib import sha256  # loads OpenSSL, for runs that trust build ids

        if not self.build_id:
            return None
        sections = [(header.name, header.type, header.flags, header.size) for header in self._headers]
        return f"{self.build_id} {sha256(repr(sections).encode()).hexdigest()[:16]}"

    @property
    def content(self) -> memoryview:
        """The whole file."""
        return self._view

    @property
    def headers(self) -> tuple[Section, ...]:
        """The section headers."""
        return self._headers

    def raw(self, header: Section) -> memoryview:
        """Return the bytes of a section as the file has them. Raises ReadError if the file ends inside it."""
        return self._raw(header)

    def holds_content(self, header: Section) -> bool:
        """Return whether the file has the contents of a section; `.bss` has contents only in memory."""
        return header.type != headers.NOBITS

    @property
    def has_dwarf(self) -> bool:
        """Whether a .debug_info (or .zdebug_info, .debug_info.dwo, .debug_types) has contents."""
        names = (".debug_info", ".zdebug_info", ".debug_info.dwo", ".debug_types")
        return any(self._holds(name) for name in names)

    @property
    def has_btf(self) -> bool:
        """Whether a .BTF has contents."""
        return self._holds(".BTF")

    def has(self, reader: str) -> bool:
        """Return whether there is debug information for a reader, `dwarf` or `btf`."""
        return self.has_dwarf if reader == "dwarf" else self.has_btf

    @property
    def debug_information(self) -> str | None:
        """`dwarf`, which states more, else `btf`; None without both."""
        return next((reader for reader in ("dwarf", "btf") if self.has(reader)), None)

    @property
    def is_kernel(self) -> bool:
        """Whether this is Linux: an image, a module or one of its objects, by its section names."""
        return any(
            header.name in _KERNEL_SECTIONS or header.name.startswith(_KERNEL_PREFIX)
            for header in self._headers
        )

    def lacks_relocations(self, name: str) -> bool:
        """Return whether an object file has a section of this name that no table relocates.

        Sections of split DWARF need no relocation.
        """
        if not self.is_relocatable or name.endswith(".dwo"):
            return False
        return any(
            _is_named(header, name) and header.size and not self._relocation_tables.has(index)
            for index, header in enumerate(self._headers)
        )

    def section(self, name: str) -> memoryview | None:
        """Return the contents of the first section of this name, None without one.

        They are decompressed, and in an object file relocated; otherwise mapped, not copied. They are read-
        only. Raises ReadError if the file ends inside the section or it cannot be decompressed.
        """
        return next(iter(self.sections(name)), None)

    def sections(self, name: str) -> tuple[memoryview, ...]:
        """Return the contents of all sections of this name; COMDAT groups of object files have several.

        `.debug_x` also matches `.zdebug_x`. Raises ReadError as `section` does.
        """
        if name not in self._cache:
            with self._reports_damage(name):
                matches = [
                    (index, header)
                    for index, header in enumerate(self._headers)
                    if _is_named(header, name) and header.type != headers.NOBITS
                ]
                self._refuse_overlap(f"sections {name}", [header for _, header in matches])
                self._cache[name] = tuple(self._read_content(*section) for section in matches)
        return self._cache[name]

    def span(self, name: str) -> Span:
        """Return the first section of this name as a searchable span; an empty span without one.

        Raises ReadError as `section` does.
        """
        return next(self.spans(name), Span(b"", 0, 0))

    def spans(self, name: str) -> Iterator[Span]:
        """Yield all sections of this name as searchable spans. Raises ReadError as `section` does."""
        matches = (
            candidate
            for candidate in self._headers
            if _is_named(candidate, name) and candidate.type != headers.NOBITS
        )
        for header, content in zip(matches, self.sections(name), strict=True):
            if not isinstance(content.obj, mmap.mmap):
                yield Span(b"", 0, 0)  # only an empty section is in no mapping
            elif content.obj is not self._mapping:
                yield Span(content.obj, 0, len(content))
            else:
                yield Span(self._mapping, header.offset, header.offset + header.size)

    def open_related(self, path: str) -> Image:
        """Open another file that stays open as long as this one. Raises ReadError as `opened` does."""
        return self._others.enter_context(open_elf(path))

    def close(self) -> None:
        """Release the mapping, unless something still uses a part of it, and close related files."""
        self._others.close()
        self._cache.clear()
        try:
            self._view.release()
        except BufferError:
            return  # the last view of the mapping releases it

    def _target(self) -> Target:
        name = _MACHINES.get((self.machine, self.bits, self.little_endian))
        if name is not None:
            return target_named(name)
        generic = f"unknown{self.bits}-{'le' if self.little_endian else 'be'}"
        target = next(row for row in TARGETS if row.name == generic)
        lines = f"assuming cache lines of {target.line_size} bytes"
        self.notes = (f"machine {self.machine} is not known: {lines}",)
        if self.has_wide_bytes:
            self.notes += ("sizes and offsets count the bytes of this machine, which have 16 bits",)
        if self.has_wide_bytes or self.machine == _MSP430:
            target = replace(target, pointer_size=target.pointer_size // 2)
        return target

    def _holds(self, name: str) -> bool:
        return any(
            header.name == name and header.size and header.type != headers.NOBITS for header in self._headers
        )

    def _raw(self, header: Section) -> memoryview:
        end = header.offset + header.size
        if end > len(self._view):
            length = len(self._view)
            reason = f"section {header.name} ends at {end:#x}, the file at {length:#x}"
            raise ReadError(self.path, f"truncated: {reason}")
        return self._view[header.offset : end]

    def _read_content(self, index: int, header: Section) -> memoryview:
        data = self._raw(header)
        if header.flags & _SHF_COMPRESSED:
            data = self._decompress(header.name, data, *self._compression(data))
        elif header.name.startswith(".zdebug"):
            # "ZLIB" and the size, big-endian: written by binutils before SHF_COMPRESSED existed.
            if len(data) < 12 or bytes(data[:4]) != b"ZLIB":
                raise ReadError(self.path, f"section {header.name} does not start with ZLIB and its size")
            from layoutlint.readers.elf import compression

            size = int.from_bytes(data[4:12], "big")
            data = self._decompress(header.name, data, compression.ZLIB, size, 12)
        if not self.is_relocatable:
            return data
        return self._relocate(index, data)

    def _compression(self, data: memoryview) -> tuple[int, int, int]:
        """Return the method, the size, and the length of the header (Elf32_Chdr, Elf64_Chdr)."""
        order = "<" if self.little_endian else ">"
        if self.bits == 64:
            method, _, size, _ = struct.unpack_from(order + "IIQQ", data)
            return method, size, 24
        method, size, _ = struct.unpack_from(order + "III", data)
        return method, size, 12

    def _decompress(self, name: str, data: memoryview, method: int, size: int, header: int) -> memoryview:
        self._decompressed_size += size
        if self._decompressed_size > max(_FREE_CONTENT_SIZE, _LARGEST_RATIO * len(self._view)):
            reason = f"section {name} claims {size} bytes, too many for a file of {len(self._view)}"
            raise ReadError(self.path, f"{reason}; `objcopy --decompress-debug-sections` shows what it holds")
        from layoutlint.readers.elf import compression  # few files compress their sections

        try:
            return compression.decompress(method, data[header:], size)
        except ValueError as error:
            raise ReadError(self.path, f"section {name} {error}") from error

    @cached_property
    def _relocation_tables(self) -> RelocationTables:
        from layoutlint.readers.elf import relocation  # for object files and modules

        return relocation.RelocationTables(self._headers, self.bits)

    def _relocate(self, index: int, data: memoryview) -> memoryview:
        from layoutlint.readers.elf import compression, relocation  # for object files and modules

        tables = self._relocation_tables.tables(index)
        if not tables:
            return data
        self._refuse_overlap("relocation tables", tables)
        relocated = compression.room(len(data))
        relocated[:] = data
        for table in tables:
            has_addends = table.type == headers.RELA
            shape = relocation.TableFormat(self.machine, self.bits, self.little_endian, has_addends)
            relocation.apply(relocated, self._raw(table), self._symbol_values(table.link), shape)
        return memoryview(relocated).toreadonly()

    def _refuse_overlap(self, plural: str, sections: list[Section]) -> None:
        """Raise ReadError if sections overlap: a small file could name the same bytes thousands of times."""
        if sum(section.size for section in sections) > len(self._view) and len(sections) > 1:
            raise ReadError(self.path, f"its {len(sections)} {plural} are larger than the file")

    def _symbol_values(self, index: int) -> array[int]:
        """Return the values of the symbols in a table; all sections share them."""
        if index not in self._symbols:
            from layoutlint.readers.elf import relocation

            table = self._raw(self._headers[index])
            values = relocation.symbol_values(table, self.bits, self.little_endian)
            self._symbols[index] = values if index else array("Q", (0,))
        return self._symbols[index]

    @contextmanager
    def _reports_damage(self, name: str) -> Iterator[None]:
        try:
            yield
        except _DAMAGE as error:
            raise ReadError(self.path, f"section {name} cannot be read: {error}") from error


@contextmanager
def open_elf(path: str) -> Iterator[Image]:
    """Open an ELF file for reading. Raises ReadError for other files and for damaged headers."""
    state = _state(path)
    image = _read_image(path)
    try:
        yield image
    except ReadError as error:
        _refuse_changed(path, state, error)
        raise
    finally:
        image.close()
    _refuse_changed(path, state)


_State = tuple[int, int, int, int]


def _state(path: str) -> _State | None:
    """Return the file's identity, and values that change when somebody writes to it; None without a file."""
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        return None
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns


def _refuse_changed(path: str, earlier: _State | None, error: ReadError | None = None) -> None:
    """Raise ReadError if the file was written to. A file that was replaced is still read as it was."""
    current = _state(path)
    if current is not None and earlier is not None and current[:2] == earlier[:2] and current != earlier:
        raise ReadError(path, CHANGED) from error


def _read_image(path: str) -> Image:
    try:
        if (stored := files.stored_file(path)) is not None:
            return Image(path, _map_stored(path, stored))
        with files.open_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                raise ReadError(path, "the file is empty")
            mapped = _map_file(path, file.fileno(), size)
            if packed.is_packed(mapped[: kernel_image.HEAD]):
                mapped.close()
                mapped = packed.unpack(path, file, size)
            elif size <= _LARGEST_COPY:
                files.log_digest(path, mapped)
        return Image(path, mapped)
    except _DAMAGE as error:
        raise ReadError(path, f"damaged or truncated ELF file: {error}") from error
    except OSError as error:
        raise ReadError(path, files.error_reason(error)) from error


def _map_stored(path: str, stored: StoredFile) -> mmap.mmap:
    """Return the content of a member of an archive, unpacked."""
    mapped = stored.map_content()
    if not packed.is_packed(mapped[: kernel_image.HEAD]):
        return mapped
    mapped.close()
    with stored.open_content() as file:
        return packed.unpack(path, file, stored.size)


def _map_file(path: str, file: int, size: int) -> mmap.mmap:
    """Return the content of a file.

    A small one is copied: a mapping crashes its reader when the file shrinks.
    """
    if size > _LARGEST_COPY:
        guard(path, size)
        return mmap.mmap(file, 0, access=mmap.ACCESS_READ)
    mapping = mmap.mmap(-1, size)
    filled = 0
    with memoryview(mapping) as view:
        while filled < size:
            with view[filled:] as unfilled:
                count = os.readv(file, [unfilled])
            if not count:
                raise ReadError(path, CHANGED)
            filled += count
    os.lseek(file, 0, os.SEEK_SET)
    return mapping


def _machine(number: int) -> str:
    if number not in _NAMES:
        from elftools.elf.enums import ENUM_E_MACHINE  # hundreds of names, for a message only

        names = {value: name for name, value in ENUM_E_MACHINE.items()}
        return str(names.get(number, f"number {number}"))
    return _NAMES[number]


def _is_named(header: Section, name: str) -> bool:
    return header.name == name or (name.startswith(".debug") and header.name == ".z" + name[1:])


def gnu_build_id(notes: bytes, order: str) -> str | None:
    """Return the first NT_GNU_BUILD_ID; names and contents are padded to 4 bytes (gABI, Note Section)."""
    position = 0
    while position + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from(order + "III", notes, position)
        content = position + 12 + (name_size + 3 & ~3)
        is_complete = content + size <= len(notes)
        if kind == 3 and is_complete and notes[position + 12 : position + 12 + name_size] == b"GNU\0":
            return notes[content : content + size].hex()
        position = content + (size + 3 & ~3)
    return None
