"""Parsing of one translation unit by libclang, and the requested structs in it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.ctype import CType
from layoutlint.model.declared import StructDeclaration
from layoutlint.model.reading import InputText
from layoutlint.model.record import Record, field, replace
from layoutlint.model.structs import Aggregate, Field, Struct
from layoutlint.model.target import Target, target_named
from layoutlint.model.wanted import Wanted
from layoutlint.readers import scalars
from layoutlint.readers.clang import (
    compiler_macros,
    cplusplus,
    declarations,
    diagnostics,
    flags,
    libclang,
    lookups,
)
from layoutlint.readers.clang.annotation_tags import Annotations, mentions_annotations
from layoutlint.readers.clang.diagnostics import Diagnostic
from layoutlint.readers.clang.file_names import Places
from layoutlint.readers.clang.flags import Doubt
from layoutlint.readers.clang.libclang import Cursor, Type
from layoutlint.readers.clang.listing import Listing, Scope, TypedefsByStruct, identity_of
from layoutlint.readers.clang.lookups import Messages
from layoutlint.readers.clang.missing_headers import Remedies
from layoutlint.readers.clang.omissions import HiddenStruct, find_hidden, find_lost_members
from layoutlint.readers.clang.trust import Problems
from layoutlint.readers.clang.types import (
    ATOMIC,
    DEEPEST,
    RECORD,
    Types,
    unwrap,
)

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
    shuffled_by: str | None = None
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
    replaced: tuple[InputText, ...] = ()
    """The texts that libclang reads in place of those of files, by their real paths."""

    @property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """The paths and texts of the files that libclang does not read from disk."""
        main = () if self.text is None else ((self.main, self.text),)
        return (*main, *((given.path, given.text) for given in self.replaced))


class ParsedUnit(Record, frozen=True):
    """The result of a unit."""

    unit: Unit
    target: Target
    structs: tuple[Struct, ...]
    """Requested definitions, then requested names that are only declared (bit_size None)."""
    errors: tuple[str, ...]
    """`file:line:col: error: text`, in order; `warnings` are among them."""
    error_origins: tuple[tuple[str, int, str], ...]
    """For each error its file, the offset in `main` of the directive that leads there (-1: none), and its
    text."""
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

    def without_warnings(self, errors: Iterable[str]) -> list[str]:
        """Return those of its errors that stop a compiler."""
        return [error for error in errors if error not in self.warnings]


def read(
    unit: Unit, wanted: Wanted, looks_for_hidden: bool = False, printed: Messages | None = None
) -> ParsedUnit:
    """Parse a unit and return the requested structs; raises ReadError if libclang cannot parse it at all.

    `printed` collects what libclang prints, if answers of the file system are logged.
    """
    if unit.text is None:
        refuse_endless(unit)
    lib = libclang.library()
    with parse_unit(lib, unit, printed, libclang.PREFERRED_OPTIONS) as handle:
        if printed is not None:
            lookups.log_unit(lib, handle, unit, printed)
        renamed = {unit.main: unit.reported_main} if unit.reported_main is not None else {}
        places = Places(lib, unit.directory, unit.roots, renamed)
        remedies = Remedies(unit.main, unit.flags) if unit.has_given_flags else None
        errors = diagnostics.read_diagnostics(lib, handle, places, remedies)
        scope = Scope(lib, handle, unit, places)
        _refuse_cplusplus(unit, scope.main, errors)
        found_diagnostics = (
            *errors,
            *compiler_macros.find_doubtful_mentions(lib, handle, unit.main, unit.flags, unit.doubts, places),
        )
        is_annotated = wanted.annotated and mentions_annotations(lib, handle, scope.main)
        annotations = Annotations(lib, handle, places) if is_annotated else None
        listing = Listing(lib, wanted, annotations, scope)
        taker = _taker(lib, handle, unit, listing, places, found_diagnostics)
        types, problems, target = taker.types, taker.problems, taker.target
        structs = tuple(taker.structs())
        arrays = tuple(taker.arrays()) if wanted.arrays is not None else ()
        externs = frozenset(taker.externs)
        variables = tuple(taker.variables()) if wanted.arrays is not None else ()
        blamed = problems.error_origins() if found_diagnostics else ()
        declared = declarations.declarations_by_name(types, listing.typedefs) if unit.with_marks else None
        lost = () if annotations is None else tuple(annotations.possible_losses(found_diagnostics))
        names = frozenset(listing.names()) if wanted.names_only else frozenset[str]()
        file_scope = (*listing.records, *listing.typedefs, *listing.functions)
        hidden_structs = find_hidden(lib, handle, scope.main, places, wanted, file_scope)
        hidden_tuple = (
            (*hidden_structs, *find_lost_members(taker.damaged, wanted)) if looks_for_hidden else ()
        )
        warnings = frozenset(each.text for each in found_diagnostics if each.is_warning)
        found_diagnostics = tuple(error for error in found_diagnostics if scope.has(error.file))
    beforehand = () if unit.problem is None else (unit.problem,)
    cause = next((diagnostic.text for diagnostic in found_diagnostics if diagnostic.is_cause), None)
    messages = (
        diagnostic.text for diagnostic in found_diagnostics if not diagnostic.is_doubt or diagnostic.is_global
    )
    errors_in_order = (*beforehand, *messages)
    lost = (*beforehand, *_without_consequences(lost, errors_in_order, cause)) if wanted.annotated else lost
    return ParsedUnit(
        unit, target, structs, errors_in_order, blamed, declared, lost, names, hidden_tuple, cause,
        arrays, externs, variables, warnings,
    )  # fmt: skip


def structs_in(lib: Any, handle: int, unit: Unit, wanted: Wanted) -> tuple[Struct, ...]:
    """Return the requested structs of a parsed unit that have a reliable layout."""
    places = Places(lib, unit.directory, unit.roots, {})
    errors = diagnostics.read_diagnostics(lib, handle, places, None)
    scope = Scope(lib, handle, unit, places)
    is_annotated = mentions_annotations(lib, handle, scope.main)
    annotations = Annotations(lib, handle, places) if is_annotated else None
    taker = _taker(lib, handle, unit, Listing(lib, wanted, annotations, scope), places, errors)
    return tuple(struct for struct in taker.structs() if struct.bit_size is not None and not struct.problem)


def _taker(
    lib: Any, handle: int, unit: Unit, listing: Listing, places: Places, errors: tuple[Diagnostic, ...]
) -> _Taker:
    """Return what makes the structs of a unit, with its declarations listed."""
    libclang.visit(lib, lib.clang_getTranslationUnitCursor(handle), listing.take)
    types = Types(lib, handle, places, unit.with_marks, bool(errors))
    problems = Problems(lib, handle, places, types, errors, tuple(listing.variables), unit.shuffled_by)
    return _Taker(listing, types, problems, unit, _target(lib, handle, unit))


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
def parse_unit(lib: Any, unit: Unit, printed: Messages | None, parse_options: int) -> Iterator[int]:
    """Parse a unit, and yield its handle for the body of a `with`. Raises ReadError.

    `parse_options` are flags of CXTranslationUnit_Flags. `printed` collects what libclang prints.
    """
    index = lib.clang_createIndex(0, 0)
    handle = ctypes.c_void_p()
    texts = tuple((os.fsencode(path), text.encode(errors="surrogateescape")) for path, text in unit.texts)
    words = (*flags.driver_flags(unit.flags), f"-working-directory={unit.directory}")
    try:
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
    files_unsaved = (libclang.UnsavedFile(path, text, len(text)) for path, text in texts)
    unsaved = (libclang.UnsavedFile * len(texts))(*files_unsaved)
    status: int = lib.clang_parseTranslationUnit2FullArgv(
        index, os.fsencode(main), arguments, len(words_of_driver),
        unsaved, len(texts), parse_options, ctypes.byref(handle),
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
        return f"libclang does not take `{flag}`"
    return f"libclang cannot parse it ({_FAILURES.get(status, 'no reason given')})"


def _accepts(lib: Any, index: int, words: tuple[str, ...]) -> bool:
    """Return whether libclang parses an empty text with some flags."""
    handle = ctypes.c_void_p()
    status = _translate(lib, index, "layoutlint-empty.c", words, ((b"layoutlint-empty.c", b""),), handle)
    if handle.value is not None:
        lib.clang_disposeTranslationUnit(handle)
    return not status


def _target(lib: Any, handle: int, unit: Unit) -> Target:
    info = lib.clang_getTranslationUnitTargetInfo(handle)
    triple = libclang.text(lib, lib.clang_TargetInfo_getTriple(info))
    width = lib.clang_TargetInfo_getPointerWidth(info)
    lib.clang_TargetInfo_dispose(info)
    try:
        return target_named(flags.architecture(triple, width))
    except KeyError:
        raise ReadError(unit.origin, f"the target {triple} is not known here") from None


class _Taker(Record):
    """Makes Structs of the requested records."""

    listing: Listing
    types: Types
    problems: Problems
    unit: Unit
    target: Target
    damaged: list[Struct] = field(default_factory=list)
    """Definitions with errors in their own text."""
    externs: set[str] = field(default_factory=set)
    """The arrays that the text only declares."""

    def structs(self) -> Iterator[Struct]:
        """Yield definitions in the order of the text, then requested names that are only declared."""
        typedefs = self.listing.requested_typedefs()
        declared: dict[str, Struct] = {}
        defined: set[str] = set()
        for record in self.listing.records:
            names = self._name(record, typedefs)
            if names is None or not self.listing.is_in_scope(record):
                continue
            name, aliases = names
            if self.listing.lib.clang_isCursorDefinition(record):
                defined.add(name)
                yield from self._with_typedefs(self._definition(record, name, aliases), record, typedefs)
            elif name in self.listing.wanted.names or aliases:
                declared.setdefault(name, self._declaration(record, name, aliases))
        yield from (struct for name, struct in declared.items() if name not in defined)

    def arrays(self) -> Iterator[Struct]:
        """Yield the variables that are arrays of several elements, each as data of its own.

        Declarations with `extern` count only if the text has no other one.
        """
        lib, declared = self.listing.lib, dict[str, Struct]()
        for cursor in sorted(self.listing.variables, key=self._is_extern):
            element, dims = self.types.element(lib, lib.clang_getCursorType(cursor))
            if prod(length or 0 for length in dims) > 1:
                array = self._array(cursor, element)
                if array.name not in declared and self._is_extern(cursor):
                    self.externs.add(array.name)
                declared.setdefault(array.name, array)
        yield from declared.values()

    def variables(self) -> Iterator[Field]:
        """Yield all variables, without their members, as references to their types."""
        for cursor in self.listing.variables:
            variable = self.types.variable(cursor)
            yield replace(variable, members=())

    def _is_extern(self, variable: Cursor) -> bool:
        is_extern: bool = self.listing.lib.clang_Cursor_getStorageClass(variable) == libclang.EXTERN
        return is_extern

    def _array(self, cursor: Cursor, element: Type) -> Struct:
        lib, variable = self.listing.lib, self.types.variable(cursor)
        name, problem = variable.name or "", self.unit.problem
        atomic = _element(lib, lib.clang_getCursorType(cursor))
        if element.kind == RECORD:
            record = lib.clang_getTypeDeclaration(element)
            problem = problem or self.problems.problem_of(record)
            problem = problem or self._compiler_difference(record, variable.members)
        if atomic.kind == ATOMIC and self._is_disputed(atomic):
            problem = problem or f"gcc and clang lay out `{name}`, of an atomic type, differently"
        part = Field(None, CType(""), 0, variable.bit_size, aggregate="struct", members=(variable,))
        return Struct(
            name, "struct", variable.bit_size, variable.align, (part,), self.target, variable.source,
            self.unit.origin, problem=problem, label=f"variable {name}",
        )  # fmt: skip

    def _name(self, record: Cursor, typedefs_of: TypedefsByStruct) -> tuple[str, tuple[str, ...]] | None:
        """Return the name of a requested struct and its requested typedefs; None for others."""
        lib, wanted = self.listing.lib, self.listing.wanted
        typedefs = typedefs_of.get(identity_of(lib, record), ()) if typedefs_of else ()
        names = tuple(dict.fromkeys(libclang.spelling(lib, typedef) for typedef in typedefs))
        is_wanted = wanted.matches(libclang.spelling(lib, record)) or self.listing.may_be_annotated(record)
        if not names and not is_wanted:
            return None
        tag = self.types.tag(record)
        if not tag and not names:
            return None
        name = tag or names[0]
        return name, tuple(n for n in names if n in wanted.names and n != name)

    def _definition(self, record: Cursor, name: str, aliases: tuple[str, ...]) -> Struct:
        shape = self.types.shape(self.types.lib.clang_getCursorType(record))
        declared = self._declaration(record, name, aliases)
        annotations, fields = self.listing.annotations, self.types.members(record)
        error = self.problems.problem_of(record)
        if error is not None and self.problems.has_own_error(record):
            self.damaged.append(replace(declared, fields=fields))
        return replace(
            declared,
            is_tagged=bool(self.types.tag(record)),
            bit_size=shape.bit_size,
            align=shape.align,
            fields=fields,
            annotations=()
            if annotations is None
            else tuple(annotations.annotations_of(declared.source, fields)),
            problem=self.unit.problem or error or self._compiler_difference(record, fields),
            is_randomisable=not self.unit.with_marks and self.problems.is_marked(record),
        )

    def _compiler_difference(self, record: Cursor, fields: tuple[Field, ...]) -> str | None:
        """Return the difference between the layouts of gcc and clang for the same text and flags; None if
        there is none.
        """
        if self.target.name == "i386" and "-malign-double" in self.unit.flags:
            field = _long_double(fields)
            if field is not None:
                return f"under -malign-double gcc aligns `{field}`, a long double, to 4 and clang to 8"
        field = self._disputed_atomic(record, 0) if self.types.has_atomics else None
        return None if field is None else f"gcc and clang lay out `{field}`, an atomic type, differently"

    def _disputed_atomic(self, record: Cursor, depth: int) -> str | None:
        """Return a member of an atomic type to which gcc gives another size or alignment; None if there is
        none.
        """
        lib = self.types.lib
        for cursor in libclang.fields_of(lib, lib.clang_getCursorType(record)) if depth < DEEPEST else ():
            name, field_type = libclang.spelling(lib, cursor), _element(lib, lib.clang_getCursorType(cursor))
            if field_type.kind == ATOMIC and self._is_disputed(field_type):
                return name
            inner = (
                _element(lib, lib.clang_Type_getValueType(field_type))
                if field_type.kind == ATOMIC
                else field_type
            )
            if inner.kind == RECORD:
                nested = self._disputed_atomic(lib.clang_getTypeDeclaration(inner), depth + 1)
                if nested is not None:
                    return f"{name}.{nested}" if name else nested
        return None

    def _is_disputed(self, atomic: Type) -> bool:
        lib = self.types.lib
        value_type = lib.clang_Type_getValueType(atomic)
        by_clang, inner = (
            (lib.clang_Type_getSizeOf(ctype) * 8, lib.clang_Type_getAlignOf(ctype))
            for ctype in (atomic, value_type)
        )
        by_gcc = scalars.atomic(self.target, *inner, 0, is_rounded=False)
        return bool(by_gcc.possible) or by_clang != by_gcc[:2]

    def _with_typedefs(
        self, struct: Struct, record: Cursor, typedefs_of: TypedefsByStruct
    ) -> Iterator[Struct]:
        """Yield a definition, and the types of typedefs that give it their own alignment or size."""
        lib = self.types.lib
        typedefs = {
            libclang.spelling(lib, typedef): typedef
            for typedef in typedefs_of.get(identity_of(lib, record), ())
        }
        shapes = {
            name: self.types.shape(lib.clang_getCursorType(typedef)) for name, typedef in typedefs.items()
        }
        own = shapes.get(struct.name) if not struct.is_tagged else None
        align, size = (own.align, own.bit_size) if own is not None else (struct.align, struct.bit_size)
        differing = {
            name: (shapes[name].align, shapes[name].bit_size)
            for name in struct.aliases
            if (shapes[name].align, shapes[name].bit_size) != (align, size)
        }
        equal = tuple(name for name in struct.aliases if name not in differing)
        if equal or not differing or self.listing.wanted.matches(struct.name):
            yield replace(struct, align=align, bit_size=size, aliases=equal)
        for key in dict.fromkeys(differing.values()):
            first, *more = (name for name, other in differing.items() if other == key)
            yield replace(
                struct, name=first, align=key[0], bit_size=key[1], aliases=tuple(more), is_tagged=False,
                realigned_from=struct.name,
            )  # fmt: skip

    def _declaration(self, record: Cursor, name: str, aliases: tuple[str, ...]) -> Struct:
        aggregate: Aggregate = "union" if record.kind == libclang.UNION else "struct"
        source = self.types.places.source(record)
        return Struct(name, aggregate, None, None, (), self.target, source, self.unit.origin, aliases)


def _long_double(fields: tuple[Field, ...]) -> str | None:
    """Return the first field at any depth that is a `long double`, or an array or complex number of them."""
    for member in fields:
        type_spelling = (member.underlying_types or (member.type,))[-1]
        if "long double" in type_spelling.left and "*" not in type_spelling.left:
            return member.name or ""
        nested = _long_double(member.members)
        if nested is not None:
            return f"{member.name}.{nested}" if member.name else nested
    return None


def _element(lib: Any, ctype: Type) -> Type:
    """Return the type that typedefs refer to, of arrays their elements; typedefs inside an atomic type
    remain.
    """
    while ctype.kind not in (RECORD, ATOMIC):
        inner = unwrap(lib, ctype)
        if inner is None:  # `typeof` and the like, or nothing
            inner = lib.clang_getCanonicalType(ctype)
            if inner.kind == ctype.kind:
                return ctype
        ctype = inner
    return ctype
