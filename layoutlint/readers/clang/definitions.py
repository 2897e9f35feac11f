"""The definitions of requested structs in a parsed unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

from layoutlint.model.ctype import CType
from layoutlint.model.record import Record, field, replace
from layoutlint.model.structs import Aggregate, Field, Struct, hidden_name
from layoutlint.model.target import Target
from layoutlint.readers import scalars
from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.libclang import Cursor, Type
from layoutlint.readers.clang.listing import Listing, TypedefsByStruct, identity_of
from layoutlint.readers.clang.omissions import embedded_words
from layoutlint.readers.clang.trust import Problems
from layoutlint.readers.clang.type_kinds import ATOMIC, RECORD, unwrap
from layoutlint.readers.clang.types import DEEPEST, Types

if TYPE_CHECKING:
    from layoutlint.readers.clang.parse import Unit


class Collected(Record, frozen=True):
    """The requested structs of a part of a unit."""

    definitions: tuple[Struct, ...]
    """The definitions in the order of the text."""
    declared: dict[str, Struct]
    """Names that are declared, also if they are defined as well."""
    defined: frozenset[str]

    def append(self, later: Collected) -> Collected:
        """Return these definitions and those of a part of the text that follows."""
        declared = dict(self.declared)
        for name, struct in later.declared.items():
            declared.setdefault(name, struct)
        return Collected(self.definitions + later.definitions, declared, self.defined | later.defined)

    @property
    def structs(self) -> tuple[Struct, ...]:
        """The definitions, then the names that are only declared."""
        declared = (struct for name, struct in self.declared.items() if name not in self.defined)
        return (*self.definitions, *declared)


class StructReader(Record, dict=True):
    """Makes Structs of the requested records of a parsed unit."""

    listing: Listing
    types: Types
    problems: Problems
    unit: Unit
    target: Target
    damaged: list[Struct] = field(default_factory=list)
    """Definitions with errors in their own text."""
    requested: list[tuple[Cursor, Struct]] = field(default_factory=list)
    """The definitions, and arrays, with the cursors of their structs."""
    externs: set[str] = field(default_factory=set)
    """The arrays that the text only declares."""

    def structs(self, earlier: Collected | None = None) -> tuple[Struct, ...]:
        """Return definitions in the order of the text, then requested names that are only declared.

        `earlier` has those before the listed ones.
        """
        own = self.collect()
        return (own if earlier is None else earlier.append(own)).structs

    def collect(self) -> Collected:
        """Return the definitions and declarations of the requested records."""
        typedefs = self.listing.requested_typedefs()
        definitions: list[Struct] = []
        declared: dict[str, Struct] = {}
        defined: set[str] = set()
        for record in self.listing.records:
            names = self._name(record, typedefs)
            if names is None:
                definitions += self._hidden(record)
                continue
            if not self.listing.is_in_scope(record):
                continue
            name, aliases = names
            if self.listing.lib.clang_isCursorDefinition(record):
                defined.add(name)
                definition = self._definition(record, name, aliases)
                shown = list(self._with_typedefs(definition, record, typedefs))
                self.requested += ((record, struct) for struct in shown)
                definitions += shown
            elif name in self.listing.wanted.names or aliases:
                declared.setdefault(name, self._declaration(record, name, aliases))
        return Collected(tuple(definitions), declared, frozenset(defined))

    def _hidden(self, record: Cursor) -> Iterator[Struct]:
        """Yield the definition of a struct without a name, if it is requested as a container."""
        lib, wanted = self.listing.lib, self.listing.wanted
        if not wanted.embedded or self.types.tag(record) or not lib.clang_isCursorDefinition(record):
            return
        if self.listing.is_in_scope(record) and identity_of(lib, record) not in self._named_by_typedefs:
            definition = self._definition(record, hidden_name(None, self.types.places.source(record)), ())
            self.requested.append((record, definition))
            yield definition

    @cached_property
    def _named_by_typedefs(self) -> set[int | None]:
        """The identities of the structs to which typedefs refer, also those that are not requested."""
        lib = self.listing.lib
        types = (lib.clang_getCursorType(typedef) for typedef in self.listing.typedefs)
        records = (lib.clang_getCanonicalType(ctype) for ctype in types)
        return {lib.clang_getTypeDeclaration(ctype).data[0] for ctype in records if ctype.kind == RECORD}

    def embedded_by_name(
        self, embedded: frozenset[str], structs: Iterable[Struct]
    ) -> dict[str, set[str]]:
        """Return which `embedded` structs the types of a unit are or contain, by tags and typedefs."""
        words = {s.name: embedded_words(s.fields) for s in structs if not s.is_hidden}
        for typedef in self.listing.typedefs:
            element = _element(self.listing.lib, self.listing.lib.clang_getCursorType(typedef))
            if element.kind == RECORD:
                tag = self.types.tag(self.listing.lib.clang_getTypeDeclaration(element))
                words.setdefault(libclang.spelling(self.listing.lib, typedef), set()).add(tag)
        held = {name: {name} for name in embedded}
        is_new = True
        while is_new:
            is_new = False
            for name, inner in words.items():
                found = set[str]().union(*(held.get(word, ()) for word in inner))
                if found - held.get(name, set()):
                    held[name] = held.get(name, set()) | found
                    is_new = True
        return held

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
                self.requested.append((cursor, array))
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
        if self.types.gcc is not None:
            problem = problem or self.types.gcc.type_of(lib.clang_getCursorType(cursor)).problem
        elif atomic.kind == ATOMIC and self._is_disputed(atomic):
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
        if self.types.gcc is not None:
            return self.types.gcc.record(record).problem
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
