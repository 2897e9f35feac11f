"""The uses of a struct in single files, and what other files must tell about them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from layoutlint import files
from layoutlint.model.record import Record, field
from layoutlint.readers.allocations.struct_definitions import struct_typedefs
from layoutlint.readers.order_uses import (
    addresses,
    casts,
    containers,
    definition,
    initialisers,
    memory,
    offsets,
    overlays,
)
from layoutlint.readers.order_uses.casts import Cast
from layoutlint.readers.order_uses.code import Code, Macro, macros, statements
from layoutlint.readers.order_uses.containers import Container
from layoutlint.readers.order_uses.definition import Marks
from layoutlint.readers.order_uses.facts import OrderUse
from layoutlint.readers.order_uses.initialisers import ByMacro, Initialiser, Judge
from layoutlint.readers.order_uses.memory import Unresolved
from layoutlint.readers.order_uses.overlays import Leading, Overlay
from layoutlint.readers.order_uses.subject import Subject

LARGEST = 1 << 25
"""The most bytes of a file that is searched; larger ones are generated tables of registers."""
_MOST_TEXT = 1 << 22
"""The most bytes of a file that names the struct; reading it takes longer."""
_IOCTL = re.compile(
    r"(\w*_IO(?:R|W|WR|RW|C)\w*+|\w*IOCTL\w*+|IO(?:R|W|WR))\s*+\([^;{}]{0,200}?,\s*(?:sizeof\s*\(\s*)?$"
)
"""The call before a type that is its last argument."""
_CO_RE = re.compile(
    r"BPF_CORE_READ\w*\s*\(|bpf_core_(?:read|field|type)\w*\s*\(|#[ \t]*include[ \t]*[<\"]vmlinux\.h\b"
)
_CO_RE_HINTS = ("BPF_CORE_READ", "bpf_core_", "vmlinux.h")
_BRACE_MACRO = re.compile(r"define[ \t]+\w++(?:\([^()\n]{0,400}+\))?+[ \t\r\n\\(]*+\{")
_FIRST_MEMBER = re.compile(
    rb"struct\s+(\w++)\s*+\{\s*+(?:/\*.{0,400}?\*/\s*+)?(?:struct\s+)?(\w++)\s+(?!\*)\w", re.DOTALL
)
_DEFINED = re.compile(rb"define[ \t]+(\w++)")
_NEAR = 200
_LARGEST_HEADER = 1 << 19
"""The most bytes of a header in which first members of structs are searched."""

MacroValue = tuple[OrderUse | ByMacro, ...] | None
"""The uses in a macro that makes a value in braces; None for another macro."""


class FileUses(Record):
    """What one file says about the order of a struct's members."""

    path: str
    unread: str = ""
    """Why it could not be searched."""
    mentions: bool = False
    is_other: bool = False
    """Whether it is about another struct of the same name, which it defines."""
    defines: bool = False
    marks: tuple[Marks, ...] = ()
    uses: tuple[OrderUse, ...] = ()
    casts: tuple[Cast, ...] = ()
    overlays: tuple[Overlay, ...] = ()
    unresolved: tuple[Unresolved, ...] = ()
    by_macro: tuple[ByMacro, ...] = ()
    macros: dict[str, MacroValue] = field(default_factory=dict)
    aliases: frozenset[str] = frozenset()
    typedefs: dict[str, str] = field(default_factory=dict)
    """The tags of the structs that typedefs name, empty for a struct without one."""
    containers: tuple[Container, ...] = ()
    first_members: dict[str, str] = field(default_factory=dict)
    """The types of the first members of structs, by tag, as far as asked for."""
    bodies: dict[str, tuple[Leading, ...]] = field(default_factory=dict)
    """The first members of structs, by tag or typedef, as far as asked for."""


class Question(NamedTuple):
    """What the second pass over all files looks for."""

    macros: frozenset[str]
    containers: Mapping[str, Sequence[Container]]
    with_first_members: bool
    cast_files: frozenset[str]
    """The files with casts, in which first members are searched beside headers."""
    types: Mapping[str, str]
    """Patterns of the types whose containers are searched as well, by name."""
    overlays: frozenset[str]
    """Tags and typedefs of structs whose first members are asked for."""


def read(path: str) -> bytes:
    """Return the bytes of a file; raises OSError."""
    return files.read_all(path, LARGEST)


def search_file(path: str, subject: Subject) -> FileUses:
    """Return what a file that names the struct says about it."""
    try:
        data = read(path)
    except OSError as error:
        return FileUses(path, unread=files.error_reason(error))
    if not any(name.encode("utf-8", "surrogateescape") in data for name in subject.names):
        return FileUses(path)
    text = data.decode("latin-1")
    if not _names(text, subject):
        return FileUses(path)
    if "\0" in text:
        return FileUses(path, unread="has bytes of value 0, and so is no C text", mentions=True)
    if len(data) > _MOST_TEXT:
        return FileUses(path, unread=f"has more than {_MOST_TEXT >> 20} MB of text", mentions=True)
    return _search_text(path, text, subject)


def _names(text: str, subject: Subject) -> bool:
    """Return whether a text names the struct: its type, its definition, or its tag alone, in macros."""
    if re.search(subject.type_pattern, text) is not None or definition.may_define(text, subject):
        return True
    names = "|".join(map(re.escape, subject.names))
    return re.search(rf"[(,]\s*(?:{names})\s*[,)]", text) is not None


def _search_text(path: str, raw: str, subject: Subject) -> FileUses:
    code = statements(path, raw)
    uses = FileUses(path, mentions=True)
    uses.typedefs = struct_typedefs(raw)
    uses.aliases = _aliases(uses.typedefs, subject) | _macro_types(raw, subject)
    definitions = list(definition.definitions(code, subject))
    is_own = bool(definitions) and _is_source(path, subject)
    if definitions and not is_own and path.endswith(".c"):
        uses.is_other = True
        return uses
    judge = Judge(subject, code)
    parts: list[object] = []
    if is_own or (definitions and subject.struct.source is None):
        uses.defines = True
        uses.marks = tuple(definition.marks(code, subject, each) for each in definitions)
        for each in definitions:
            parts += definition.uses(code, raw, subject, each)
    for value in initialisers.find(code, subject.type_pattern):
        parts += judge.uses(value)
    parts += offsets.find(code, subject)
    sized = list(memory.find(code, subject))
    lines = frozenset(use.line or 0 for use in sized if isinstance(use, OrderUse))
    parts += (*sized, *addresses.find(code, subject, lines), *addresses.find_assembly(code, raw, subject))
    parts += casts.find(code, subject)
    parts += overlays.find(code, subject)
    uses.containers = tuple(containers.find(code, raw, subject.type_pattern, ""))
    macro_code, macro_list = _macros(path, raw, code, subject)
    parts += _macro_uses(macro_code, macro_list, code, subject)
    uses.macros = _macro_values(macro_code, macro_list, subject)
    parts += _mentions(raw, code, macro_code, subject)
    _sort(uses, parts)
    return uses


def _macros(path: str, raw: str, code: Code, subject: Subject) -> tuple[Code, tuple[Macro, ...]]:
    """Return the macros of a file if some name the struct or make values in braces."""
    if "define" not in raw:
        return Code(path, ""), ()
    everywhere = sum(1 for _ in re.finditer(subject.type_pattern, raw))
    if (
        everywhere == len(code.types(subject.type_pattern))
        and "OFFSET" not in raw
        and _BRACE_MACRO.search(raw) is None
    ):
        return Code(path, ""), ()
    return macros(path, raw)


def _sort(uses: FileUses, parts: list[object]) -> None:
    """Put the results of the searches where they belong."""
    uses.uses += tuple(part for part in parts if isinstance(part, OrderUse))
    uses.casts += tuple(part for part in parts if isinstance(part, Cast))
    uses.overlays += tuple(part for part in parts if isinstance(part, Overlay))
    uses.unresolved += tuple(part for part in parts if isinstance(part, Unresolved))
    uses.by_macro += tuple(part for part in parts if isinstance(part, ByMacro))


def _aliases(typedefs: dict[str, str], subject: Subject) -> frozenset[str]:
    if subject.tag is None:
        return frozenset()
    return frozenset(name for name, tag in typedefs.items() if tag == subject.tag and name != subject.tag)


def _macro_types(raw: str, subject: Subject) -> frozenset[str]:
    """Return the macros that stand for the type: `#define RING struct ring`."""
    if "define" not in raw:
        return frozenset()
    pattern = rf"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(?:const[ \t]+)?{subject.type_pattern}[ \t]*$"
    return frozenset(match[1] for match in re.finditer(pattern, raw, re.MULTILINE)) - set(subject.names)


def _is_source(path: str, subject: Subject) -> bool:
    """Return whether a file is the one that the struct comes from, by the end of its path."""
    source = subject.struct.source
    if source is None:
        return True
    file = source.file.removeprefix("./")
    while file.startswith("../"):
        file = file[3:]
    return f"/{path}".endswith(f"/{file}") or f"/{file}".endswith(f"/{path}")


def _macro_uses(code: Code, macros: tuple[Macro, ...], calls: Code, subject: Subject) -> Iterator[object]:
    """Yield the uses in the bodies of macros."""
    if not macros or re.search(subject.type_pattern, code.text) is None:
        return
    judge = Judge(subject, code)
    for value in initialisers.find(code, subject.type_pattern):
        yield from judge.uses(value)
    yield from offsets.find(code, subject, macros, calls)
    yield from memory.find(code, subject)


def _macro_values(
    code: Code, macros: tuple[Macro, ...], subject: Subject, names: frozenset[str] | None = None
) -> dict[str, MacroValue]:
    """Return the uses in macros that make a value in braces, and None for others, if they are requested."""
    values: dict[str, MacroValue] = {}
    judge = Judge(subject, code)
    for macro in macros:
        body = code.text[macro.start : macro.end]
        start = macro.start + len(body) - len(body.lstrip(" \t\r\n("))
        is_braces = code.text[start : start + 1] == "{"
        if not is_braces and (names is None or macro.name not in names):
            continue
        if is_braces:
            values[macro.name] = (*(values.get(macro.name) or ()), *judge.uses(Initialiser(start, 0)))
        elif body.lstrip().startswith(".") or initialisers.is_compound(body):
            values.setdefault(macro.name, ())
        else:
            other = re.match(r"\s*([A-Za-z_]\w*)\s*(?:\([^;{}]*\))?\s*$", body)
            chain = (ByMacro(other[1], code.line(start), False),) if other is not None else None
            values.setdefault(macro.name, chain)
    return values


def _mentions(raw: str, code: Code, macro_code: Code, subject: Subject) -> Iterator[OrderUse]:
    """Yield the uses of the whole struct: ioctl numbers, programs for BPF."""
    for part in (code, macro_code) if "_IO" in raw or "IOCTL" in raw else ():
        for start, end in part.types(subject.type_pattern):
            call = _IOCTL.search(part.text, max(0, start - _NEAR), start)
            if call is not None and part.text[end : end + 8].lstrip()[:1] == ")":
                text = f"`{call[1]}` passes the struct between kernel and programs"
                yield OrderUse("ioctl", code.path, part.line(start), text)
    if not any(hint in raw for hint in _CO_RE_HINTS):
        return
    core = _CO_RE.search(raw)
    if core is not None:
        line = code.line(core.start())
        text = "programs for BPF find the members by name when they are loaded (CO-RE)"
        yield OrderUse("bpf-co-re", code.path, line, text, is_note=True)


def answer(path: str, subject: Subject, question: Question) -> FileUses:
    """Return what a file says about macros, containers and other structs on which uses depend."""
    uses = FileUses(path)
    try:
        data = read(path)
    except OSError:
        return uses  # the first pass reported it
    has_first = path.endswith(".h") and len(data) <= _LARGEST_HEADER
    if question.with_first_members and (has_first or path in question.cast_files):
        uses.first_members = {
            match[1].decode("latin-1"): match[2].decode("latin-1") for match in _FIRST_MEMBER.finditer(data)
        }
    has_macros = bool(question.macros) and any(
        match[1].decode("latin-1") in question.macros for match in _DEFINED.finditer(data)
    )
    has_values = containers.may_initialise(data, question.containers)
    names = [name for name in question.types if name.encode() in data]
    if names:
        text = data.decode("latin-1")
        names = [name for name in names if containers.may_embed(text, question.types[name])]
    has_bodies = any(name.encode() in data for name in question.overlays)
    if not (has_macros or has_values or names or has_bodies) or len(data) > _MOST_TEXT:
        return uses
    raw = data.decode("latin-1")
    code = statements(path, raw)
    parts: list[object] = []
    if has_macros:
        macro_code, macro_list = macros(path, raw)
        wanted = tuple(macro for macro in macro_list if macro.name in question.macros)
        uses.macros = _macro_values(macro_code, wanted, subject, question.macros)
    if has_values:
        parts += containers.find_uses(code, question.containers, Judge(subject, code))
    if has_bodies:
        uses.bodies = overlays.bodies(code, question.overlays)
    for name in names:
        uses.containers += tuple(containers.find(code, raw, question.types[name], name))
    _sort(uses, parts)
    return uses
