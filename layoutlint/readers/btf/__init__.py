"""The BTF reader, for raw blobs and ELF files. Facts that BTF lacks are in layoutlint/readers/losses.py."""

from __future__ import annotations

import os
from functools import lru_cache
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
from layoutlint.readers.btf.select import names, structs
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
_LARGEST = 1 << 28
"""The most bytes of a blob; the kernel allows 2^20 types and 2^24 bytes of names
(include/uapi/linux/btf.h)."""

__all__ = ["read", "read_elf", "what_is", "what_is_in_elf"]


def read(path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    """Return the requested structs of a raw blob, such as /sys/kernel/btf/vmlinux.

    A module's BTF is read on top of `options.btf_base`, else of `vmlinux` in its folder. Raises ReadError.
    """
    data = _content(path)
    base_path = options.btf_base or _sibling_vmlinux(path)
    source = _blob_on_base(path, data, base_path)
    target, notes = choose_target(path, source, options.target)
    base = base_path if source.base is not None else None
    notes = (*notes, *_shared_types_note(base))
    is_kernel = _is_kernel(source.base or source)
    reading = _reading(path, source, wanted, target, notes, is_kernel=is_kernel, base=base)
    reading = _with_omissions(reading, source, None, wanted, options)
    release = version.blob_release(path) if is_kernel else None
    return config.with_release(reading, release, None)


def read_elf(image: Image, wanted: Wanted, options: ReadOptions) -> Reading:
    """Return the requested structs of an ELF file's .BTF.

    A module's BTF is read on top of its own .BTF.base, else of `options.btf_base`. Raises ReadError.
    """
    data, distilled = image.section(".BTF"), image.section(".BTF.base")
    if data is None:
        raise ReadError(image.path, "has no .BTF")
    base = None
    if distilled:
        source = _blob(image.path, data, _blob(image.path, distilled, what="BTF in .BTF.base"))
        notes = (*image.notes, _DISTILLED)
    else:
        source = _blob_on_base(image.path, data, options.btf_base)
        base = options.btf_base if source.base is not None else None
        notes = (*image.notes, *_shared_types_note(base))
    # Pahole derives BTF from DWARF in the same file; clang writes it for BPF.
    is_made = image.is_kernel or image.has_dwarf or image.target.name.startswith("unknown")
    is_gcc = not is_made and source.may_be_of_gcc
    reading = _reading(
        image.path, source, wanted, image.target, notes, image.build_id, image.is_kernel, base, is_gcc
    )
    return _with_omissions(reading, source, image, wanted, options)


def _with_omissions(
    reading: Reading, source: Blob, image: Image | None, wanted: Wanted, options: ReadOptions
) -> Reading:
    """Return a reading with what its BTF shows wrong, or does not show. Raises ReadError."""
    try:
        omissions, notes = languages.find(source, image, wanted, options)
    except Damaged as error:
        raise ReadError(reading.path, f"damaged BTF: {error.reason}") from error
    is_of_compiler = image is not None and not (image.is_kernel or image.has_dwarf)
    if is_of_compiler and wanted.embedded and options.finds_omissions and source.may_be_of_gcc:
        omissions += (Omission(_NO_LOCAL, wanted.names_embedded(reading.structs)),)
    return replace(reading, omissions=omissions, notes=(*reading.notes, *notes))


def what_is(path: str, name: str, options: ReadOptions) -> str | None:
    """Return what a raw blob declares by a name that no struct has; None if nothing. Raises ReadError."""
    source = _blob_on_base(path, _content(path), options.btf_base or _sibling_vmlinux(path))
    return _meaning(path, source, name, choose_target(path, source, options.target)[0])


def what_is_in_elf(image: Image, name: str, options: ReadOptions) -> str | None:
    """Return what an ELF file's .BTF declares by a name; None if nothing. Raises ReadError."""
    data = image.section(".BTF")
    if data is None or image.section(".BTF.base"):
        return None
    return _meaning(image.path, _blob_on_base(image.path, data, options.btf_base), name, image.target)


def _meaning(path: str, source: Blob, name: str, target: Target) -> str | None:
    try:
        return declared_names.what_is(source, name, target)
    except Damaged as error:
        raise ReadError(path, f"damaged BTF: {error.reason}") from error


def _reading(
    path: str, source: Blob, wanted: Wanted, target: Target, notes: tuple[str, ...],
    build_id: str | None = None, is_kernel: bool = False, base: str | None = None, is_gcc: bool = False,
) -> Reading:  # fmt: skip
    struct_names: frozenset[str] = frozenset()
    try:
        wanted_structs = structs(source, wanted, target, path, is_kernel, is_gcc)
        if wanted.names_only:
            struct_names = names(source)
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
