"""The BTF reader, for raw blobs and ELF files. Facts that BTF lacks are in layoutlint/readers/losses.py."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.files import accesses
from layoutlint.model.reading import Omission, Reading, ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.target import Target
from layoutlint.model.wanted import Wanted
from layoutlint.readers.btf import blob, declared_names, languages
from layoutlint.readers.btf.blob import Blob, Damaged, Data
from layoutlint.readers.btf.select import merge, names, structs
from layoutlint.readers.btf.target import choose_target
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


def _with_omissions(
    reading: Reading, sources: tuple[Blob, ...], image: Image | None, wanted: Wanted, options: ReadOptions
) -> Reading:
    """Return a reading with what its BTF shows wrong, or does not show. Raises ReadError."""
    try:
        omissions, notes = languages.find(sources, image, wanted, options)
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


def _meaning(path: str, sources: tuple[Blob, ...], name: str, target: Target) -> str | None:
    try:
        meanings = (declared_names.what_is(source, name, target) for source in sources)
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
