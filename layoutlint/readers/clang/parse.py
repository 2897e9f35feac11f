"""Parsing of one translation unit by libclang, and the requested structs in it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.declared import StructDeclaration
from layoutlint.model.reading import InputText, TreeCopy
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Field, Source, Struct
from layoutlint.model.target import Target, target_named
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import (
    builtin_headers,
    compiler_macros,
    compiler_variants,
    copied_flags,
    cplusplus,
    cross_target,
    declarations,
    diagnostics,
    flags,
    gcc_texts,
    libclang,
    lookups,
    macro_variants,
)
from layoutlint.readers.clang.annotation_tags import Annotations, mentions_annotations
from layoutlint.readers.clang.attributes import Alignments
from layoutlint.readers.clang.build_compiler import Compiler
from layoutlint.readers.clang.compiler_answer import CompilerAnswer
from layoutlint.readers.clang.compiler_variants import Dependent
from layoutlint.readers.clang.definitions import StructReader
from layoutlint.readers.clang.diagnostics import Diagnostic, ErrorOrigin
from layoutlint.readers.clang.file_names import Places
from layoutlint.readers.clang.flags import Doubt
from layoutlint.readers.clang.gcc_layouts import GccLayouts
from layoutlint.readers.clang.gcc_texts import BlankedAttribute
from layoutlint.readers.clang.listing import Listing, Scope
from layoutlint.readers.clang.lookups import Messages
from layoutlint.readers.clang.missing_headers import Remedies
from layoutlint.readers.clang.omissions import (
    HiddenStruct,
    find_hidden,
    find_local_containers,
    find_lost_members,
)
from layoutlint.readers.clang.preamble import Preamble
from layoutlint.readers.clang.struct_texts import StructTexts
from layoutlint.readers.clang.trust import Problems
from layoutlint.readers.clang.types import (
    Types,
)

_CHECKED = "/layoutlint-sizes.c"
_LARGEST = 1 << 27
"""The most bytes of a C file; the largest of Linux, a generated header of registers, has 22 million."""


class Unit(Record, frozen=True):
    """One translation unit to parse."""

    main: str
    """Absolute path of the C file."""
    flags: tuple[str, ...]
    directory: str
    """The folder in which the compiler would run."""
    roots: tuple[str, ...]
    """The folders to which reported paths are relative."""
    origin: str
    """Its name in reports."""
    text: str | None = None
    """The content of `main` if that is not on disk."""
    problem: str | None = None
    """Why all its layouts are unreliable, known beforehand."""
    doubts: tuple[Doubt, ...] = ()
    """Macros with unknown definitions: a struct whose text mentions one is unreliable."""
    shuffling_option: str | None = None
    """The option that shuffles the fields of marked structs in the build; None if there is none."""
    with_marks: bool = False
    """Whether to look for attributes that decide randomised layouts."""
    subject: str | None = None
    """The real path of the header that it is read for; None if that is `main`."""
    only: frozenset[str] = frozenset()
    """If there is a subject, the real paths of the files whose structs and errors count."""
    has_given_flags: bool = False
    """Whether people can add flags to mend a missing header: not for a kernel tree, which has its own."""
    reported_main: str | None = None
    """The name of `main` in reports; None for its path from one of the `roots`."""
    header: str | None = None
    """The header whose inclusion is all of `text`; None if there is no such header."""
    compiler: Compiler | None = None
    """The compiler of the build; None if it is not known."""
    replaced: tuple[InputText, ...] = ()
    """The texts that libclang reads in place of those of files, by their real paths."""
    blanked: tuple[BlankedAttribute, ...] = ()
    """The attributes that are left out of these texts."""

    @property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """The paths and texts of the files that libclang does not read from disk."""
        main = () if self.text is None else ((self.main, self.text),)
        return (*main, *((given.path, given.text) for given in self.replaced))

    @property
    def is_gcc(self) -> bool:
        """Whether GCC builds it."""
        return self.compiler is not None and self.compiler.is_gcc

    @property
    def target_compiler(self) -> str | None:
        """The compiler whose name states the target; None if flags or this machine do."""
        triple = None if self.compiler is None else self.compiler.triple
        is_stated = triple is not None and cross_target.stated_triple(self.flags) == triple
        return self.compiler.name if self.compiler is not None and is_stated else None


class ParsedUnit(Record, frozen=True):
    """The result of a unit."""

    unit: Unit
    target: Target
    structs: tuple[Struct, ...]
    """Requested definitions, then requested names that are only declared (bit_size None)."""
    errors: tuple[str, ...]
    """`file:line:col: error: text`, in order; `warnings` are among them."""
    error_origins: tuple[ErrorOrigin, ...]
    """The origin of each error."""
    declared: frozenset[StructDeclaration] | None = None
    possible_losses: tuple[str, ...] = ()
    """The errors that can hide structs with annotations, if such structs were requested."""
    names: frozenset[str] = frozenset()
    """The names of its structs, and of typedefs that refer to one, if only names were requested."""
    hidden: tuple[HiddenStruct, ...] = ()
    """Requested structs in its text that were not parsed, if these were searched for."""
    cause: str | None = None
    """The first of its errors that probably causes those after it; None if none does."""
    arrays: tuple[Struct, ...] = ()
    """Its variables outside of functions that are arrays, if requested."""
    externs: frozenset[str] = frozenset()
    """The arrays that another unit defines."""
    variables: tuple[Field, ...] = ()
    """All its variables outside of functions, without their members, if arrays were requested."""
    warnings: frozenset[str] = frozenset()
    """Those of its errors that do not stop a compiler."""
    doubtful_macros: frozenset[str] = frozenset()
    """The macros in its text of which it is not known whether the compiler defines them."""
    dependent: tuple[Dependent, ...] = ()
    """Its structs that compilers may lay out differently."""
    searched: tuple[str, ...] = ()
    """Files whose directives were read, which later units may include."""

    def place_of(self, error: str) -> Source | None:
        """Return the place of one of its errors; None for an error of the command line."""
        origin = next((each for each in self.error_origins if each.text == error and each.line), None)
        return None if origin is None else Source(origin.file, origin.line)

    def without_warnings(self, errors: Iterable[str]) -> list[str]:
        """Return those of its errors that stop a compiler."""
        return [error for error in errors if error not in self.warnings]


def read(
    unit: Unit,
    wanted: Wanted,
    looks_for_hidden: bool = False,
    printed: Messages | None = None,
    copy: TreeCopy | None = None,
) -> ParsedUnit:
    """Parse a unit and return the requested structs; raises ReadError if libclang cannot parse it at all.

    `printed` collects what libclang prints, if answers of the file system are logged. `copy` is that of a
    revision in which the unit is read, which must include nothing of the working tree.
    """
    if unit.text is None:
        refuse_endless(unit)
    lib = libclang.library()

    def read_variant(variant: Unit, is_searched: bool = False) -> ParsedUnit:
        passes = gcc_texts.MOST_PASSES
        while True:
            with parse_unit(lib, variant, printed, libclang.PREFERRED_OPTIONS) as handle:
                if copy is not None:
                    _refuse_working_tree(lib, handle, unit, copy)
                blanked = _as_gcc(lib, handle, variant) if passes else None
                if blanked is None:
                    return read_handle(
                        lib, handle, variant, requested, looks_for_hidden, printed, is_searched=is_searched
                    )
                if printed is not None:
                    lookups.log_unit(lib, handle, variant, printed)
            variant, passes = blanked, passes - 1

    def read_settled(variant: Unit) -> ParsedUnit:
        """Read a unit without doubts about features of processors that make no difference."""
        parsed = read_variant(variant, is_searched=variant is unit)
        if not macro_variants.are_features(parsed.doubtful_macros):
            return parsed
        return macro_variants.settle(parsed, read_variant)

    requested = wanted
    parsed = read_settled(unit)
    if not parsed.dependent:
        return parsed
    # Another compiler may not see the annotations by which a struct is requested.
    names = (each.struct.name for each in parsed.dependent)
    requested = replace(wanted, names=wanted.names.union(names))
    return compiler_variants.settle(parsed, read_settled)


def _as_gcc(lib: Any, handle: int, unit: Unit) -> Unit | None:
    """Return a unit of gcc with pragmas as gcc has them, without the alignments that only libclang rejects;
    None if it is that already.
    """
    if not unit.is_gcc:
        return None
    translated = gcc_texts.translate_pragmas(lib, handle, unit)
    if translated is not None or not lib.clang_getNumDiagnostics(handle):
        return translated
    texts = StructTexts(lib, handle)
    return gcc_texts.blank_rejected(lib, handle, unit, texts.attributes)


def read_handle(
    lib: Any,
    handle: int,
    unit: Unit,
    wanted: Wanted,
    looks_for_hidden: bool,
    printed: Messages | None,
    preamble: Preamble | None = None,
    is_searched: bool = True,
) -> ParsedUnit:
    """Return the requested structs of a unit that is parsed; raises ReadError for C++.

    `preamble` has what was read before, if libclang lists only the declarations after it. With `is_searched`,
    structs that compilers may lay out differently are looked for.
    """
    if printed is not None:
        lookups.log_unit(lib, handle, unit, printed)
    renamed = {unit.main: unit.reported_main} if unit.reported_main is not None else {}
    places = Places(lib, unit.directory, unit.roots, renamed)
    remedies = Remedies(unit.main, unit.flags, unit.compiler) if unit.has_given_flags else None
    errors = diagnostics.read_diagnostics(lib, handle, places, remedies, unit.is_gcc)
    scope = Scope(lib, handle, unit, places)
    _refuse_cplusplus(unit, scope.main, errors)
    compiled = lib, handle, unit.main, unit.flags, unit.doubts
    doubts = tuple(compiler_macros.find_doubtful_mentions(*compiled, places))
    has_global = any(each.is_global for each in doubts)
    doubtful_macros = compiler_macros.find_doubtful_macros(*compiled) if has_global else frozenset[str]()
    found_diagnostics = (*errors, *doubts)
    is_annotated = wanted.annotated and _has_annotations(lib, handle, scope.main, preamble)
    annotations = Annotations(lib, handle, places) if is_annotated else None
    listing = Listing(lib, wanted, annotations, scope)
    taker = _list_definitions(lib, handle, unit, listing, places, found_diagnostics)
    types, problems, target = taker.types, taker.problems, taker.target
    structs = taker.structs(None if preamble is None else preamble.structs_before(listing))
    arrays = tuple(taker.arrays()) if wanted.arrays is not None else ()
    externs = frozenset(taker.externs)
    variables = tuple(taker.variables()) if wanted.arrays is not None else ()
    blamed = problems.error_origins() if found_diagnostics else ()
    declared = declarations.declarations_by_name(types, listing.typedefs) if unit.with_marks else None
    lost = () if annotations is None else tuple(_losses(unit, annotations, scope.main, found_diagnostics))
    names = frozenset(listing.names()) if wanted.names_only else frozenset[str]()
    hidden_tuple = tuple(_hidden_structs(handle, taker, structs, scope.main)) if looks_for_hidden else ()
    warnings = frozenset(each.text for each in found_diagnostics if each.is_warning)
    found_diagnostics = tuple(error for error in found_diagnostics if scope.has(error.file))
    beforehand = () if unit.problem is None else (unit.problem,)
    cause = next((diagnostic.text for diagnostic in found_diagnostics if diagnostic.is_cause), None)
    messages = (
        diagnostic.text for diagnostic in found_diagnostics if not diagnostic.is_doubt or diagnostic.is_global
    )
    errors_in_order = (*beforehand, *messages)
    lost = (*beforehand, *_without_consequences(lost, errors_in_order, cause)) if wanted.annotated else lost
    requested = taker.requested if is_searched else []
    dependent, searched = compiler_variants.find_dependent(lib, handle, unit, problems, requested)
    return ParsedUnit(
        unit, target, structs, errors_in_order, blamed, declared, lost, names, hidden_tuple, cause,
        arrays, externs, variables, warnings, doubtful_macros,
        dependent, searched,
    )  # fmt: skip


def _refuse_working_tree(lib: Any, handle: int, unit: Unit, copy: TreeCopy) -> None:
    """Raise ReadError for a unit of a revision that includes files which the working tree has otherwise.

    Files that git does not track lead there: generated headers, and sources that include others.
    """
    for file in libclang.included_files(lib, handle):
        path = copied_flags.replaced_path(copy, libclang.file_name(lib, file))
        if path is not None and files.read_all(path, _LARGEST) != libclang.contents(lib, handle, file):
            name = os.path.relpath(path, copy.folder)
            reason = f"a file that git does not track includes {name} of the working tree"
            raise ReadError(unit.origin, f"{reason}, not that of the revision")


def _losses(
    unit: Unit, annotations: Annotations, main: int, found: tuple[Diagnostic, ...]
) -> Iterator[str]:
    """Yield what can hide annotations: errors, and what annotates nothing for the compiler."""
    yield from annotations.possible_losses(found)
    if unit.is_gcc and unit.compiler is not None:
        why = f"annotates nothing for {unit.compiler.name} (`#if` leaves it out)"
        remedy = "write annotations as comments, or with layoutlint.h of `layoutlint init --header`"
        yield from (f"{each} {why}: {remedy}" for each in annotations.unseen(main))


def _hidden_structs(
    handle: int, taker: StructReader, structs: tuple[Struct, ...], main: int
) -> Iterator[HiddenStruct]:
    """Yield what a unit hides: structs that are excluded or local, and those that may embed others."""
    listing, places = taker.listing, taker.types.places
    lib, wanted = listing.lib, listing.wanted
    file_scope = (*listing.records, *listing.typedefs, *listing.functions)
    yield from find_hidden(lib, handle, main, places, wanted, file_scope)
    yield from find_lost_members(taker.damaged, wanted)
    if wanted.embedded:
        held = taker.embedded_by_name(wanted.names_embedded(structs), structs)
        yield from find_local_containers(lib, handle, places, held, listing.functions)


def _has_annotations(lib: Any, handle: int, main: int, preamble: Preamble | None) -> bool:
    return mentions_annotations(lib, handle, main) if preamble is None else preamble.is_annotated


def structs_in(
    lib: Any, handle: int, unit: Unit, names: frozenset[str], is_annotated: bool
) -> tuple[Struct, ...]:
    """Return the structs of a parsed unit by their names, if they have a reliable layout."""
    places, errors = _places_and_errors(lib, handle, unit)
    scope = Scope(lib, handle, unit, places)
    annotations = Annotations(lib, handle, places) if is_annotated else None
    listing = Listing(lib, Wanted(names), annotations, scope)
    listing.visit_named(lib.clang_getTranslationUnitCursor(handle))
    structs = _definitions_of(lib, handle, unit, listing, places, errors).structs()
    return tuple(struct for struct in structs if struct.bit_size is not None and not struct.problem)


def structs_named(lib: Any, handle: int, unit: Unit, names: frozenset[str]) -> tuple[Struct, ...]:
    """Return the structs that the typedefs of a parsed unit name, if they have a reliable layout."""
    places, errors = _places_and_errors(lib, handle, unit)
    listing = Listing(lib, Wanted(names), None, Scope(lib, handle, unit, places))
    listing.visit_named_by_typedefs(lib.clang_getTranslationUnitCursor(handle))
    structs = _definitions_of(lib, handle, unit, listing, places, errors).structs()
    return tuple(struct for struct in structs if struct.bit_size is not None and not struct.problem)


def definitions_in(lib: Any, handle: int, unit: Unit, wanted: Wanted) -> StructReader:
    """Return what makes the requested structs of a parsed unit."""
    places, errors = _places_and_errors(lib, handle, unit)
    scope = Scope(lib, handle, unit, places)
    is_annotated = mentions_annotations(lib, handle, scope.main)
    annotations = Annotations(lib, handle, places) if is_annotated else None
    return _list_definitions(lib, handle, unit, Listing(lib, wanted, annotations, scope), places, errors)


def _places_and_errors(lib: Any, handle: int, unit: Unit) -> tuple[Places, tuple[Diagnostic, ...]]:
    renamed = {unit.main: unit.reported_main} if unit.reported_main is not None else {}
    places = Places(lib, unit.directory, unit.roots, renamed)
    return places, diagnostics.read_diagnostics(lib, handle, places, None, unit.is_gcc)


def _list_definitions(
    lib: Any, handle: int, unit: Unit, listing: Listing, places: Places, errors: tuple[Diagnostic, ...]
) -> StructReader:
    """Return what makes the structs of a unit, with its declarations listed."""
    listing.visit(lib.clang_getTranslationUnitCursor(handle))
    return _definitions_of(lib, handle, unit, listing, places, errors)


def _definitions_of(
    lib: Any, handle: int, unit: Unit, listing: Listing, places: Places, errors: tuple[Diagnostic, ...]
) -> StructReader:
    """Return what makes the structs of listed declarations."""
    # It parses the unit again, which only those need who lay it out anew.
    alignments = Alignments(lib, lambda text: _parse_extended(lib, unit, text)) if unit.with_marks else None
    target = _target(lib, handle, unit)
    gcc = None
    if unit.is_gcc and unit.compiler is not None:
        gcc = GccLayouts(lib, handle, target, unit.flags, unit.compiler, unit.blanked)
    types = Types(lib, handle, places, unit.with_marks, bool(errors), alignments, gcc)
    problems = Problems(lib, handle, places, types, errors, tuple(listing.variables), unit.shuffling_option)
    return StructReader(listing, types, problems, unit, target)


def _without_consequences(
    losses: tuple[str, ...], errors: tuple[str, ...], cause: str | None
) -> tuple[str, ...]:
    """Return errors with those after their cause replaced by it."""
    if cause is None or cause not in errors:
        return losses
    earlier = errors[: errors.index(cause)]
    return tuple(dict.fromkeys(loss if loss in earlier else cause for loss in losses))


def refuse_endless(unit: Unit) -> None:
    """Raise ReadError for a pipe, on which libclang would wait, and for a file too large for memory."""
    try:
        files.open_file(unit.main, _LARGEST).close()
    except OSError as error:
        raise ReadError(unit.origin, files.error_reason(error)) from error


def _refuse_cplusplus(unit: Unit, main: int, errors: tuple[Diagnostic, ...]) -> None:
    """Raise ReadError if the text of the unit itself is C++."""
    construct = next((e.construct for e in errors if e.construct is not None and e.file == main), None)
    if construct is not None and main:
        what = "a C++ header" if (unit.subject or unit.main).endswith(".h") else "C++"
        raise ReadError(unit.origin, f"is {what} (it has `{construct}`); {cplusplus.REASON}")


@contextmanager
def parse_unit(
    lib: Any, unit: Unit, printed: Messages | None, parse_options: int, lists_preambles: bool = False
) -> Iterator[int]:
    """Parse a unit, and yield its handle for the body of a `with`. Raises ReadError.

    `parse_options` are flags of CXTranslationUnit_Flags. `printed` collects what libclang prints.
    `lists_preambles` as in `libclang.create_index`.
    """
    index = libclang.create_index(lib, parse_options, lists_preambles)
    handle, texts = ctypes.c_void_p(), _encoded_texts(unit)
    answer = None if unit.compiler is None else unit.compiler.answer
    definitions = () if answer is None else answer.definition_flags
    words = (*flags.driver_flags(unit.flags), f"-working-directory={unit.directory}")
    try:
        if answer is not None:
            _refuse_other_types(lib, index, unit, answer, words)
        words = (*definitions, *words)
        if printed is None:
            failed = _translate(lib, index, unit.main, words, texts, handle, parse_options)
        else:
            with printed.capture():
                all_words = (*lookups.FLAGS, *words)
                failed = _translate(lib, index, unit.main, all_words, texts, handle, parse_options)
        if failed or handle.value is None:
            raise ReadError(unit.origin, _failure_reason(lib, index, failed, words))
        yield handle.value
    finally:
        if handle.value is not None:
            libclang.dispose(lib, handle.value)
        lib.clang_disposeIndex(index)


def _parse_extended(lib: Any, unit: Unit, text: str) -> AbstractContextManager[int]:
    """Parse a unit with a text behind it. Raises ReadError."""
    own = unit.text
    if own is None:
        given = next((each.text for each in unit.replaced if each.path == unit.main), None)
        own = files.read_all(unit.main, _LARGEST).decode(errors="surrogateescape") if given is None else given
    return parse_unit(lib, replace(unit, text=own + text), None, libclang.PREFERRED_OPTIONS)


def reparse(lib: Any, handle: int, unit: Unit, printed: Messages | None = None) -> None:
    """Parse a unit again with other texts. Raises ReadError; the handle is then of no use."""
    libclang.forget(handle)
    texts = _encoded_texts(unit)
    with nullcontext() if printed is None else printed.capture():
        status = lib.clang_reparseTranslationUnit(handle, len(texts), _unsaved_files(texts), 0)
    if status:
        raise ReadError(unit.origin, f"libclang cannot parse it again ({_FAILURES.get(status)})")


def _encoded_texts(unit: Unit) -> tuple[tuple[bytes, bytes], ...]:
    texts = (*unit.texts, *(builtin_headers.texts_for_gcc() if _answers_as_gcc(unit) else ()))
    return tuple((os.fsencode(path), text.encode(errors="surrogateescape")) for path, text in texts)


def _answers_as_gcc(unit: Unit) -> bool:
    """Return whether the compiler's own headers have to be spared from GCC's answers to questions."""
    answers = any(word.startswith(("-U__has_", "-D__has_")) for word in unit.flags)
    return answers and "-nostdinc" not in unit.flags


def prepare(unit: Unit) -> None:
    """Read what the processes need that parse such units, once for them all."""
    if _answers_as_gcc(unit):
        builtin_headers.texts_for_gcc()


def _unsaved_files(texts: tuple[tuple[bytes, bytes], ...]) -> ctypes.Array[libclang.UnsavedFile]:
    files_unsaved = (libclang.UnsavedFile(path, text, len(text)) for path, text in texts)
    return (libclang.UnsavedFile * len(texts))(*files_unsaved)


def _translate(
    lib: Any,
    index: int,
    main: str,
    words: tuple[str, ...],
    texts: tuple[tuple[bytes, bytes], ...],
    handle: ctypes.c_void_p,
    parse_options: int = libclang.PREFERRED_OPTIONS,
) -> int:
    """Parse a file with some flags, and texts in place of files; return 0, or a key of `_FAILURES`."""
    words_of_driver = (libclang.driver(lib), *diagnostics.FLAGS, *words)
    arguments = (ctypes.c_char_p * len(words_of_driver))(*map(os.fsencode, words_of_driver))
    status: int = lib.clang_parseTranslationUnit2FullArgv(
        index, os.fsencode(main), arguments, len(words_of_driver),
        _unsaved_files(texts), len(texts), parse_options, ctypes.byref(handle),
    )  # fmt: skip
    return status


_FAILURES = {1: "it failed", 2: "it crashed", 3: "invalid arguments", 4: "a broken syntax tree"}
"""enum CXErrorCode."""
_CRASHED = 2


def _failure_reason(lib: Any, index: int, status: int, words: tuple[str, ...]) -> str:
    """Return why libclang gave no result for a text, with the flag that it rejects if that is the cause."""
    flag = (
        None if status == _CRASHED else flags.first_rejected(words, lambda some: _accepts(lib, index, some))
    )
    if flag is not None:
        newest = "; the newest C that it reads is `-std=gnu23`" if flag.startswith("-std=") else ""
        return f"libclang does not take `{flag}`{newest}"
    return f"libclang cannot parse it ({_FAILURES.get(status, 'no reason given')})"


def _accepts(lib: Any, index: int, words: tuple[str, ...]) -> bool:
    """Return whether libclang parses an empty text with some flags."""
    handle = ctypes.c_void_p()
    status = _translate(lib, index, "layoutlint-empty.c", words, ((b"layoutlint-empty.c", b""),), handle)
    if handle.value is not None:
        lib.clang_disposeTranslationUnit(handle)
    return not status


def _refuse_other_types(
    lib: Any, index: int, unit: Unit, answer: CompilerAnswer, words: tuple[str, ...]
) -> None:
    """Raise ReadError if libclang gives a type another size than the compiler that was asked."""
    sizes = answer.sizes()
    checks = "".join(f'_Static_assert(sizeof({kind}) == {size}, "{name}");\n' for kind, name, size in sizes)
    handle = ctypes.c_void_p()
    texts = ((_CHECKED.encode(), checks.encode()),)
    words = tuple(flags.without_headers_in_front(words))
    if _translate(lib, index, _CHECKED, words, texts, handle) or handle.value is None:
        return  # the unit itself fails as well
    try:
        found = "\n".join(libclang.error_messages(lib, handle.value))
    finally:
        lib.clang_disposeTranslationUnit(handle)
    for kind, name, size in sizes:
        if name in found:
            compiler = "" if unit.compiler is None else unit.compiler.name
            reason = f"`{kind}` has {size} bytes for {compiler}, and not for libclang with these flags"
            raise ReadError(unit.origin, reason)


def _target(lib: Any, handle: int, unit: Unit) -> Target:
    info = lib.clang_getTranslationUnitTargetInfo(handle)
    triple = libclang.text(lib, lib.clang_TargetInfo_getTriple(info))
    width = lib.clang_TargetInfo_getPointerWidth(info)
    lib.clang_TargetInfo_dispose(info)
    try:
        return target_named(flags.architecture(triple, width))
    except KeyError:
        raise ReadError(unit.origin, f"the target {triple} is not known here") from None
