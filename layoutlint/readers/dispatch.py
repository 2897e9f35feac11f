"""The choice of a reader for an input, and reading it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.reading import InputText, Reading, ReadOptions, Unread
from layoutlint.model.record import replace
from layoutlint.model.wanted import Wanted
from layoutlint.readers import foreign_formats
from layoutlint.readers.archives import formats
from layoutlint.readers.elf import kernel_image, packed

if TYPE_CHECKING:
    from layoutlint.readers.elf.elf_file import Image

_COMPILED = (".o", ".ko", ".so")
_BTF_MAGIC = (b"\x9f\xeb", b"\xeb\x9f")
SNIFFED = 4096
"""The first bytes of an input, which decide about its reader."""
_PERF_HINT = (
    "is a profile of perf, not an input: give the program that it is about (vmlinux). "
    "`perf report -s type,typeoff --stdio -i FILE` prints offsets in structs, and "
    "`layoutlint show PROGRAM STRUCT --at OFFSET` the fields there"
)

_ARCHIVE_HINT = "is an archive of objects; name one of them here (`ARCHIVE:MEMBER`), or the linked program"
_UTF16_HINT = "is text in UTF-16; write it in UTF-8 (`iconv -f UTF-16 -t UTF-8`)"
_PATCH_HINT = (
    "is a patch: `layoutlint diff --patch FILE TREE` shows what it changes in a source tree, "
    "and `layoutlint check` reads the patched files"
)
_OTHERS = {
    b"PERFILE2": _PERF_HINT,
    b"2ELIFREP": _PERF_HINT,
    b"!<arch>\n": _ARCHIVE_HINT,
    formats.THIN_START: formats.THIN,
    b"\xff\xfe": _UTF16_HINT,
    b"\xfe\xff": _UTF16_HINT,
    **dict.fromkeys((b"diff --git ", b"--- ", b"Index: "), _PATCH_HINT),
    b"%PDF-": "is a PDF document; layoutlint reads C and compiled files",
    b"\x89PNG": "is a picture; layoutlint reads C and compiled files",
}
"""Files that are given by mistake, by their first bytes (perf.data-file-format.txt of Linux, ar(5))."""


def sniff(path: str) -> str:
    """Return the reader that an input needs by its content: `elf`, `btf`, `snapshot` or `clang`.

    Raises ReadError for a file that no reader supports.
    """
    try:
        if files.is_folder(path):
            return "clang"
        if files.exists(path) and not files.is_file(path):
            raise ReadError(path, "is a pipe or a device; readers need a file that they can read twice")
        head = files.read_start(path, SNIFFED)
    except OSError as error:
        is_pattern = isinstance(error, FileNotFoundError) and any(sign in path for sign in "*?[")
        hint = " (the shell expands a pattern that is not in quotes)" if is_pattern else ""
        raise ReadError(path, f"{files.error_reason(error)}{hint}") from error
    return reader_of(path, head)


def may_be_kernel(path: str, kernel_tree: str | None) -> bool:
    """Return whether an input may be a kernel: all but C files and compilation databases outside of kernel
    trees that are read without the flags of one.
    """
    if kernel_tree is not None or not path.endswith((".c", ".h", ".json")) or not files.is_file(path):
        return True
    from layoutlint.readers.clang.kernel import tree

    try:
        return sniff(path) != "clang" or tree.enclosing_tree(path) is not None
    except ReadError:
        return True


def reader_of(path: str, head: bytes) -> str:
    """Return the reader for content that starts like this; raises ReadError if no reader supports it."""
    if not head:
        raise ReadError(path, "the file is empty")
    if head.startswith(b"\x7fELF") or packed.is_packed(head):
        return "elf"
    if head.startswith(_BTF_MAGIC):
        return "btf"
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        from layoutlint.readers.snapshot import record

        if record.is_snapshot(head):
            return "snapshot"
        output = record.other_output(head)
        if output is not None:
            raise ReadError(path, f"is an output of layoutlint ({output}), not an input")
    reason = _refusal(path, head)
    if reason is not None:
        raise ReadError(path, reason)
    return "clang"


def _refusal(path: str, head: bytes) -> str | None:
    """Return why a file that starts like this is no input, and what to give instead; None for text."""
    if path.endswith(".toml"):
        return f"is a rule file, not an input: `--rules {path}`"
    if (image := kernel_image.refusal(head)) is not None:
        return image
    for start, reason in _OTHERS.items():
        if head.startswith(start):
            return reason
    if (compiled := foreign_formats.refusal(head)) is not None:
        return compiled
    if b"\0" in head:
        return f"neither ELF, BTF nor C text (it starts with the bytes {head[:4].hex(' ')})"
    if path.endswith(_COMPILED):
        text = head.decode(errors="replace")[:20]
        return f"is text, and no ELF file as its name says (it starts with {text!r})"
    return None


def read(path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    """Return the requested structs of one input.

    Raises ReadError if nothing of it can be read; smaller failures are in the Reading.
    """
    text = next((given for given in options.texts if given.path == path), None)
    if text is not None:
        return _read_text(text, wanted, options)
    if path.startswith("build-id:") and not files.exists(path):
        from layoutlint.readers.downloads import debuginfod

        path = debuginfod.input_file(path, options)
    reader = sniff(path)
    if reader == "clang":
        from layoutlint.readers import clang

        everything = replace(wanted.with_everything(), with_containers=wanted.with_containers)
        return clang.read(path, everything, options)
    if reader == "snapshot":
        from layoutlint.readers import snapshot

        if options.flag_files.is_chosen(path):
            raise ReadError(path, "is a snapshot that the change itself wrote, which states no code")
        return snapshot.read(path, wanted, options)
    return _read_blob(path, wanted, options) if reader == "btf" else _read_elf(path, wanted, options)


def _read_text(given: InputText, wanted: Wanted, options: ReadOptions) -> Reading:
    """Read a text that is not on disk: C or a snapshot."""
    from layoutlint.readers.snapshot import record

    data = given.text.encode(errors="surrogateescape")
    if record.is_snapshot(data[:SNIFFED]):
        from layoutlint.readers import snapshot
        from layoutlint.readers.snapshot.decode import decode

        return snapshot.select(decode(data, given.path), wanted, options)
    from layoutlint.readers.clang import text_inputs

    return text_inputs.read_unsaved(given, wanted.with_everything(), options)


def attempt(path: str, wanted: Wanted, options: ReadOptions) -> Reading | Unread:
    """Return what `read` returns, or an Unread with the reason of its failure."""
    try:
        return read(path, wanted, options)
    except ReadError as error:
        return Unread.of_error(error)


def _read_blob(path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    """Read raw BTF; with `--reader dwarf` the debug file of the running kernel in place of its BTF."""
    from layoutlint.readers.linux import running

    if options.reader != "dwarf":
        from layoutlint.readers import btf

        reading = btf.read(path, wanted, options)
        return replace(reading, notes=(*reading.notes, *running.notes(path, options)))
    if not running.is_running(path):
        raise ReadError(path, "is raw BTF, which has no DWARF")
    debug = running.find(options)
    if debug.path is None:
        raise ReadError(path, f"is BTF, and {debug.reason}")
    reading = _read_elf(debug.path, wanted, options)
    if reading.is_kernel and reading.kernel is None:  # a file with only debug information has no banner
        from layoutlint.readers.linux import config, version

        reading = config.with_release(reading, version.blob_release(path), None)
    note = f"the running kernel's debug information was read from {debug.path}"
    return replace(reading, path=path, notes=(note, *reading.notes))


def _read_elf(path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    from layoutlint.readers.elf import elf_file

    with elf_file.open_elf(path) as image:
        reader = options.reader or image.debug_information
        if reader and image.has(reader):
            reading = _with_build(_read_image(image, reader, wanted, options), image, image, options)
            return _with_variables(reading, (image,), wanted, options)
        from layoutlint.readers.elf import debug_files, source_files

        if not options.reader and source_files.is_empty_object(image):
            note = "has neither code nor data, nor debug information"
            return Reading(path, "dwarf", image.target, (), notes=(note,))
        try:
            debug_image = debug_files.debug_file(image, reader, options)
        except ReadError:
            requested = wanted.narrow(image.is_kernel)
            if not wanted.symbols_suffice and (
                not requested.near
                or requested.names
                or requested.patterns
                or requested.everything
                or requested.with_containers
            ):
                raise
            # Symbols have addresses even without debug information.
            symbols_only = Reading(
                path, "symbols", image.target, (), image.build_id, is_kernel=image.is_kernel
            )
            reading = _with_build(symbols_only, image, image, options)
            return _with_variables(reading, (image,), wanted, options)
        reading = _read_image(debug_image, reader or debug_image.debug_information, wanted, options)
        reading = replace(
            _with_build(reading, debug_image, image, options),
            path=path,
            build_id=image.build_id or reading.build_id,
            notes=(f"its debug information was read from {debug_image.path}", *reading.notes),
        )
        return _with_variables(reading, (debug_image, image), wanted, options)


def _with_variables(
    reading: Reading, images: tuple[Image, ...], wanted: Wanted, options: ReadOptions
) -> Reading:
    """Return a reading with the requested variables, from the first file with a symbol table."""
    wants_data = wanted.near or wanted.counted or wanted.wants_arrays(reading)
    alignments = wanted.misplaced(reading) if wanted.misplaced else frozenset()
    if not wants_data and not alignments:
        return reading
    from layoutlint.readers import variables

    if alignments:
        reading = variables.add_misplaced(reading, images[0], alignments, options)
    for image in images if wants_data else ():
        reading = variables.add(reading, image, wanted, options)
        if reading.data is not None or reading.arrays or reading.variables:
            break
    return reading


def _read_image(image: Image, reader: str | None, wanted: Wanted, options: ReadOptions) -> Reading:
    if not (options.cache and options.trusts_build_ids):
        return _read_debug_information(image, reader, wanted, options)
    from layoutlint.readers.cache import build_ids  # few runs trust them

    read = partial(_read_debug_information, image, reader, wanted, options)
    return build_ids.recall_or_read(image, reader, wanted, options, read)


def _read_debug_information(
    image: Image, reader_name: str | None, wanted: Wanted, options: ReadOptions
) -> Reading:
    if reader_name == "btf":
        from layoutlint.readers import btf

        reading = btf.read_elf(image, wanted, options)
    else:
        from layoutlint.readers import dwarf

        reading = dwarf.read_elf(image, wanted, options)
    if image.machine != "EM_BPF":
        return reading
    from layoutlint.readers.btf import core_relocations  # for BPF programs

    return core_relocations.mark(reading, image)


def _with_build(reading: Reading, image: Image, built: Image, options: ReadOptions) -> Reading:
    """Return a reading of `image` with the build facts of that and of `built`, the file with the code."""
    from layoutlint.readers.elf import compiler_marks

    searches_code = reading.is_kernel and (options.with_marks or reading.reader == "btf")
    searches_dwarf = reading.reader == "dwarf"
    evidence = compiler_marks.image_evidence(image, built, searches_code, reading.shuffled, searches_dwarf)
    reading = replace(reading, shuffled=evidence, compilers=compiler_marks.compilers(built))
    if not reading.is_kernel:
        from layoutlint.readers.elf import program_allocator

        allocators = map(program_allocator.find_allocator, (built, image))
        return replace(reading, allocator=next(filter(None, allocators), None))
    from layoutlint.readers.linux import config, version

    return config.with_release(reading, version.image_release(built), built)
