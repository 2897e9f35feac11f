"""The BTF reader, for raw blobs and ELF files. Facts that BTF lacks are in layoutlint/readers/losses.py."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.files import accesses
from layoutlint.model.reading import Omission, Reading, ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.target import TARGETS, UNAMES, Target, target_named
from layoutlint.model.wanted import Wanted
from layoutlint.readers.btf import blob
from layoutlint.readers.btf.blob import Blob, Damaged, Data, TypeEntry
from layoutlint.readers.btf.select import merge, names, structs
from layoutlint.readers.btf.types import BtfDecoder
from layoutlint.readers.elf import kernel_image, packed
from layoutlint.readers.linux import config, version

if TYPE_CHECKING:
    from layoutlint.readers.elf.elf_file import Image

_SPLIT = "is split BTF, as of a kernel module: give the BTF of its vmlinux with `--btf-base FILE`"
_NO_LOCAL = "BTF of a compiler has no structs local to functions, which can embed others"
_DISTILLED = "what vmlinux defines is in its .BTF.base by size only: such members cannot be looked into"
_KERNEL_STRUCTS = ("task_struct", "module", "super_block", "page")
_STRUCTS = frozenset((blob.STRUCT,))
_WRITES_BTF = b" -gbtf"
_PRODUCERS = (".debug_str", ".debug_info")
"""The sections that can hold DW_AT_producer, with the options of gcc."""
_LARGEST = 1 << 28
"""The most bytes of a blob; the kernel allows 2^20 types and 2^24 bytes of names
(include/uapi/linux/btf.h)."""

__all__ = ["blobs", "read", "read_elf", "what_is", "what_is_in_elf"]
_THINGS: Final = {
    blob.ENUM: "an enum",
    blob.ENUM64: "an enum",
    blob.FUNC: "a function",
    blob.VAR: "a variable",
    blob.INT: "a number type",
    blob.FLOAT: "a number type",
    blob.TYPEDEF: "a typedef",
}
_PARTS: Final = {
    blob.ENUM: "an enumerator",
    blob.ENUM64: "an enumerator",
    blob.STRUCT: "a field",
    blob.UNION: "a field",
}
_NAMED: Final = frozenset((blob.STRUCT, blob.UNION, blob.ENUM, blob.ENUM64, blob.TYPEDEF))
_NOT_C: Final = re.compile(r"::|[<>{}()&]")
"""What names of C do not have: of templates, namespaces, closures, tuples and references."""
_NOT_C_BYTES: Final = re.compile(_NOT_C.pattern.encode())
_RUST: Final = re.compile(r"_R[A-Z]|_ZN.*17h[0-9a-f]{16}E")
_CPP: Final = re.compile(r"_Z[A-Z0-9]")
_SUFFIXES: Final = {
    **dict.fromkeys(("cc", "cpp", "cxx", "C", "c++"), "C++"),
    **dict.fromkeys(("rs", "rcgu"), "Rust"),
}
_SHOWN_AS_C: Final = "BTF shows structs of other languages as those of C"
_LONG = ("long int", "long unsigned int", "long", "unsigned long")
_INTS = frozenset((blob.INT,))
_RUNNING = "/sys/kernel/btf/"


def choose_target(path: str, source: Blob, requested: str | None = None) -> tuple[Target, tuple[str, ...]]:
    """Return the target, the requested one if it fits, and notes on assumptions. Raises Damaged."""
    pointer, notes = _pointer_size(source.base or source)
    if requested is not None and _fits(target_named(requested), pointer, source.little_endian):
        return target_named(requested), notes
    if files.real_path(path).startswith(_RUNNING):
        running = _running_machine(pointer, source.little_endian)
        if running is not None:
            return running, notes
    name = f"unknown{pointer * 8}-{'le' if source.little_endian else 'be'}"
    target = target_named(name)
    assumption = f"raw BTF names no machine: assuming cache lines of {target.line_size} bytes (`--line-size`)"
    return target, (*notes, assumption)


@lru_cache(maxsize=2)
def _pointer_size(whole: Blob) -> tuple[int, tuple[str, ...]]:
    """Return the bytes of a `long`, which on Linux has the size of a pointer, and notes."""
    for record in whole.records_named(_INTS, _LONG):
        if record.value in (4, 8):
            return record.value, ()
    return 8, ("it has no `long`: assuming pointers of 8 bytes",)


def _fits(target: Target, pointer_size: int, little_endian: bool) -> bool:
    return (target.pointer_size, target.little_endian) == (pointer_size, little_endian)


def _running_machine(pointer_size: int, little_endian: bool) -> Target | None:
    """Return the running machine's row of TARGETS, if it agrees with the blob."""
    name = os.uname().machine
    rows = (target for target in TARGETS if target.name == UNAMES.get(name, name))
    return next((target for target in rows if _fits(target, pointer_size, little_endian)), None)


def read(path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    """Return the requested structs of a raw blob, such as /sys/kernel/btf/vmlinux.

    A module's BTF is read on top of `options.btf_base`, else of `vmlinux` in its folder. Raises ReadError.
    """
    base_path = options.btf_base or _sibling_vmlinux(path)
    sources = _blobs(path, _content(path), base_path)
    source = sources[0]
    target, notes = choose_target(path, source, options.target)
    base = base_path if source.base is not None else None
    notes = (*notes, *_shared_types_note(base))
    is_kernel = _is_kernel(source.base or source)
    may_be_of_gcc = partial(_raw_may_be_of_gcc, is_kernel)
    reading = _reading(
        path, sources, wanted, target, notes, may_be_of_gcc, is_kernel=is_kernel, base=base, is_raw=True
    )
    reading = _with_omissions(reading, sources, None, wanted, options)
    release = version.blob_release(path) if is_kernel else None
    return config.with_release(reading, release, None)


def read_elf(image: Image, wanted: Wanted, options: ReadOptions) -> Reading:
    """Return the requested structs of an ELF file's .BTF.

    A module's BTF is read on top of its own .BTF.base, else of `options.btf_base`. Raises ReadError.
    """
    sources = blobs(image, options.btf_base)
    if image.section(".BTF.base"):
        base, notes = None, (*image.notes, _DISTILLED)
    else:
        base = options.btf_base if sources[0].base is not None else None
        notes = (*image.notes, *_shared_types_note(base))
    may_be_of_gcc = partial(_may_be_of_gcc, image)
    reading = _reading(
        image.path, sources, wanted, image.target, notes, may_be_of_gcc, image.build_id, image.is_kernel, base
    )
    return _with_omissions(reading, sources, image, wanted, options)


def _find_language(
    sources: tuple[Blob, ...], image: Image | None, wanted: Wanted, options: ReadOptions
) -> tuple[tuple[Omission, ...], tuple[str, ...]]:
    """Return what may be structs of other languages, and instead of it notes if nothing is judged.

    `image` is the file with the blobs; None for a raw one. Linux leaves other languages out of its BTF
    (scripts/Makefile.btf), so there only names count. Raises Damaged.
    """
    omissions = [omission for source in sources for omission in _by_names(source)][:1]
    if image is not None and not image.is_kernel:
        omissions += _by_dwarf(image, wanted, options) if image.has_dwarf else _by_symbols(image)
    if options.finds_omissions:
        return tuple(omissions), ()
    return (), tuple(omission.reason for omission in omissions)


def _by_names(source: Blob) -> Iterator[Omission]:
    if not source.has_text(_NOT_C_BYTES):  # most blobs have a hundred thousand names
        return
    names = (source.text(name, type_id) for type_id, name in source.own_types(_NAMED) if name)
    name = next(filter(_NOT_C.search, names), None)
    if name is not None:
        yield Omission(f"{_SHOWN_AS_C}, and this may have some: C has no names like `{name}`")


def _by_dwarf(image: Image, wanted: Wanted, options: ReadOptions) -> Iterator[Omission]:
    """Yield the structs of units that are not in C, as the DWARF of the same file has them."""
    from layoutlint.readers import dwarf

    try:
        languages = dwarf.other_languages(image, options)
        found = dwarf.foreign_omissions(image, wanted, options) if languages else ()
    except ReadError:
        return  # its BTF may be whole
    if not options.finds_omissions and languages:
        yield Omission(f"{_SHOWN_AS_C}: its DWARF has units in {', '.join(languages)}")
    elif options.finds_omissions:
        yield from (replace(each, reason=f"{_SHOWN_AS_C}: {each.reason}") for each in found)


def _by_symbols(image: Image) -> Iterator[Omission]:
    from layoutlint.readers.elf import source_files, symbols

    for file in source_files.source_files(image) or ():
        words = file.name.split(".")[1:]
        if language := next((_SUFFIXES[word] for word in words if word in _SUFFIXES), None):
            yield Omission(f"{_SHOWN_AS_C}: its symbols name a source in {language}, {file.name}")
            return
    functions = (function.name for function in source_files.functions(image))
    variables = (symbol.name for symbol in symbols.read_symbols(image) or ())
    for name in itertools.chain(functions, variables):
        if language := "Rust" if _RUST.match(name) else "C++" if _CPP.match(name) else None:
            yield Omission(f"{_SHOWN_AS_C}: its symbols are of {language}, such as {name}")
            return


def _with_omissions(
    reading: Reading, sources: tuple[Blob, ...], image: Image | None, wanted: Wanted, options: ReadOptions
) -> Reading:
    """Return a reading with what its BTF shows wrong, or does not show. Raises ReadError."""
    try:
        omissions, notes = _find_language(sources, image, wanted, options)
    except Damaged as error:
        raise ReadError(reading.path, f"damaged BTF: {error.reason}") from error
    is_of_compiler = image is not None and not (image.is_kernel or image.has_dwarf)
    may_be_local = is_of_compiler and any(source.may_be_of_gcc for source in sources)
    if may_be_local and wanted.embedded and options.finds_omissions:
        omissions += (Omission(_NO_LOCAL, wanted.names_embedded(reading.structs)),)
    return replace(reading, omissions=omissions, notes=(*reading.notes, *notes))


def blobs(image: Image, base_path: str | None = None) -> tuple[Blob, ...]:
    """Return the blobs of an ELF file's .BTF: several if a linker joined those of gcc. Raises ReadError."""
    data, distilled = image.section(".BTF"), image.section(".BTF.base")
    if data is None:
        raise ReadError(image.path, "has no .BTF")
    if distilled:
        return (_blob(image.path, data, _blob(image.path, distilled, what="BTF in .BTF.base")),)
    return _blobs(image.path, data, base_path)


def _raw_may_be_of_gcc(is_kernel: bool, source: Blob) -> bool:
    return not is_kernel and source.may_be_of_gcc


def _may_be_of_gcc(image: Image, source: Blob) -> bool:
    """Return whether gcc may have written a .BTF, not pahole (from DWARF) or clang (for BPF)."""
    from layoutlint.readers.elf import compiler_marks

    if image.is_kernel:
        return False
    if image.machine == "EM_BPF":
        return any(name.startswith("GCC") for name in compiler_marks.compilers(image))
    if image.has_dwarf:
        return any(image.span(name).find(_WRITES_BTF) >= 0 for name in _PRODUCERS)
    return source.may_be_of_gcc


def what_is(path: str, name: str, options: ReadOptions) -> str | None:
    """Return what a raw blob declares by a name that no struct has; None if nothing. Raises ReadError."""
    sources = _blobs(path, _content(path), options.btf_base or _sibling_vmlinux(path))
    return _meaning(path, sources, name, choose_target(path, sources[0], options.target)[0])


def what_is_in_elf(image: Image, name: str, options: ReadOptions) -> str | None:
    """Return what an ELF file's .BTF declares by a name; None if nothing. Raises ReadError."""
    if not image.has_btf or image.section(".BTF.base"):
        return None
    return _meaning(image.path, blobs(image, options.btf_base), name, image.target)


def _what_is(source: Blob, name: str, target: Target) -> str | None:
    """Return what a blob, or its base, declares by a name; None if it does not. Raises Damaged."""
    for record in source.records_named(frozenset(_THINGS), (name,)):
        if record.kind != blob.TYPEDEF:
            return _THINGS[record.kind]
        return f"a typedef of `{BtfDecoder(source, target).spell(record.value)}`"
    parts = [_describe_part(record) for record in source.records_with_part(frozenset(_PARTS), name)]
    if parts:
        return next((part for part in parts if part not in _PARTS.values()), parts[0])
    return None if source.base is None else _what_is(source.base, name, target)


def _describe_part(record: TypeEntry) -> str:
    is_field = record.kind in (blob.STRUCT, blob.UNION)
    return _PARTS[record.kind] + (f" of {record.name}" if is_field and record.name else "")


def _meaning(path: str, sources: tuple[Blob, ...], name: str, target: Target) -> str | None:
    try:
        meanings = (_what_is(source, name, target) for source in sources)
        return next((meaning for meaning in meanings if meaning is not None), None)
    except Damaged as error:
        raise ReadError(path, f"damaged BTF: {error.reason}") from error


def _reading(
    path: str, sources: tuple[Blob, ...], wanted: Wanted, target: Target, notes: tuple[str, ...],
    may_be_of_gcc: Callable[[Blob], bool], build_id: str | None = None, is_kernel: bool = False,
    base: str | None = None, is_raw: bool = False,
) -> Reading:  # fmt: skip
    struct_names: frozenset[str] = frozenset()
    try:
        wanted_structs = merge(
            struct
            for source in sources
            for struct in structs(source, wanted, target, path, is_kernel, may_be_of_gcc(source), is_raw)
        )
        if wanted.names_only:
            struct_names = frozenset().union(*map(names, sources))
    except Damaged as error:
        raise ReadError(path, f"damaged BTF: {error.reason}") from error
    return Reading(
        path,
        "btf",
        target,
        wanted_structs,
        build_id,
        notes=notes,
        is_kernel=is_kernel,
        base=base,
        names=struct_names,
    )


def _blobs(path: str, data: Data, base_path: str | None) -> tuple[Blob, ...]:
    """Return the blobs of a section: one, or those of all objects where a linker joined the sections of gcc.

    Raises ReadError.
    """
    first = _blob_on_base(path, data, base_path)
    blobs, position = [first], first.size
    while any(rest := memoryview(data)[position:]):
        position += next(number for number, byte in enumerate(rest) if byte)  # padding between sections
        following = _blob(path, memoryview(data)[position:], what=f"BTF at {position:#x}")
        blobs.append(following)
        position += following.size
    return tuple(blobs)


def _blob_on_base(path: str, data: Data, base_path: str | None) -> Blob:
    """Return a blob, on top of its base if it is split. Raises ReadError."""
    source = _blob(path, data)
    if not source.is_split:
        return source
    if base_path is None:
        raise ReadError(path, _SPLIT)
    source = _blob(path, data, _base(base_path))
    if not source.fits_base():
        raise ReadError(path, f"its names do not match {base_path}, which is not its base")
    return source


def _blob(path: str, data: Data, base: Blob | None = None, what: str = "BTF") -> Blob:
    try:
        return Blob(data, base)
    except Damaged as error:
        raise ReadError(path, f"damaged {what}: {error.reason}") from error


def _base(path: str) -> Blob:
    """Return the base of modules, read once for all that build on it. Raises ReadError."""
    try:
        state = files.content_state(path)
    except OSError as error:
        raise ReadError(path, files.error_reason(error)) from error
    return _base_as_of(path, state)


@accesses.remember(2, is_lasting=True)
def _base_as_of(path: str, state: accesses.State) -> Blob:
    source = _blob(path, _elf_section(path) if _is_elf(path) else _content(path))
    if source.is_split:
        raise ReadError(path, "is split BTF itself, and so cannot be the base of a module's")
    return source


def _is_elf(path: str) -> bool:
    """Return whether a file is an ELF file, or a compressed one: a bootable kernel, for example."""
    try:
        start = files.read_start(path, kernel_image.HEAD)
    except OSError:  # `_content` reports it
        return False
    return start.startswith(b"\x7fELF") or packed.is_packed(start)


def _elf_section(path: str) -> bytes:
    from layoutlint.readers.elf import elf_file  # imports elftools, which raw blobs do not need

    with elf_file.open_elf(path) as image:
        section = image.section(".BTF")
        if section is None:
            raise ReadError(path, "has no .BTF, so it cannot be the base of a module's")
        return bytes(section)


def _content(path: str) -> bytes:
    """Return the content of a file. Raises ReadError, also for an empty file."""
    try:
        data = files.read_all(path, _LARGEST)
    except OSError as error:
        raise ReadError(path, files.error_reason(error)) from error
    if not data:
        raise ReadError(path, "the file is empty")
    return data


def _sibling_vmlinux(path: str) -> str | None:
    """Return `vmlinux` in the same folder, as in /sys/kernel/btf; None if there is none."""
    base = os.path.join(os.path.dirname(path), "vmlinux")
    return base if os.path.basename(path) != "vmlinux" and files.is_file(base) else None


def _shared_types_note(base: str | None) -> tuple[str, ...]:
    if base is None:
        return ()
    return (f"a module's BTF has what vmlinux has not; the types that they share come from {base}",)


@lru_cache(maxsize=2)
def _is_kernel(whole: Blob) -> bool:
    """Return whether this is Linux, by structs that every kernel and no program has."""
    present = {record.name for record in whole.records_named(_STRUCTS, _KERNEL_STRUCTS) if record.words}
    return present.issuperset(_KERNEL_STRUCTS)
