"""The uses of a struct in single files, and what other files must tell about them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from layoutlint import files
from layoutlint.model.record import Record, field
from layoutlint.sources.allocations.struct_definitions import blank_attributes, struct_typedefs
from layoutlint.sources.order_uses import (
    assembly,
    casts,
    containers,
    definition,
    expansion,
    initialisers,
    memory,
    offsets,
    overlays,
    sizes,
)
from layoutlint.sources.order_uses.casts import Cast
from layoutlint.sources.order_uses.code import Code, Macro, macros, statements
from layoutlint.sources.order_uses.containers import TextContainer
from layoutlint.sources.order_uses.definition import Marks
from layoutlint.sources.order_uses.expansion import MacroText, Table
from layoutlint.sources.order_uses.facts import OrderUse, UnresolvedUse
from layoutlint.sources.order_uses.initialisers import ByMacro, Judge
from layoutlint.sources.order_uses.overlays import ByUnion, Leading, Overlay
from layoutlint.sources.order_uses.subject import Subject

LARGEST = 1 << 25
"""The most bytes of a file that is searched; larger ones are generated tables of registers."""
_MOST_TEXT = 1 << 22
"""The most bytes of a file that names the struct; reading it takes longer."""
_IOCTL = re.compile(
    r"(?<!\w)((?>\w*?_IO[RWC])\w*+|(?>\w*?IOCTL)\w*+|IO(?:R|W|WR))\s*+\([^;{}]{0,200}?,\s*(?:sizeof\s*\(\s*)?$"
)
"""The call before a type that is its last argument."""
_CO_RE = re.compile(
    r"BPF_CORE_READ\w{0,64}+\s*+\(|bpf_core_(?:read|field|type)\w{0,64}+\s*+\("
    r"|#[ \t]*include[ \t]*[<\"]vmlinux\.h\b"
)
_CO_RE_HINTS = ("BPF_CORE_READ", "bpf_core_", "vmlinux.h")
_PASTED_TAG = re.compile(r"\bstruct\s+(\w+(?:\s*##\s*\w+)+)")
_MOST_VARIANTS = 3
"""The most definitions of a macro that are tried, of which the configuration chooses."""
_FIRST_MEMBER = re.compile(
    rb"struct\s+(\w++)\s*+\{\s*+(?:/\*.{0,400}?\*/\s*+)?(?:struct\s+)?(\w++)\s+(?!\*)\w", re.DOTALL
)
_DEFINED = re.compile(rb"define[ \t]+(\w++)")
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:if|el|endif)", re.MULTILINE)
_NEAR = 200
_LARGEST_HEADER = 1 << 19
"""The most bytes of a header in which first members of structs are searched."""
_DECLARATOR = re.compile(r"\s*((?:\*\s*(?:const\s+)?)*)(\w+)\s*((?:\[[^\]]*\]\s*)*)")
_BACKWARDS = re.compile(r"typedef(?<=\btypedef)\b([^;{}()]{1,400});")
"""A typedef that can stand behind its type; `re` searches for a literal at the beginning quickly."""
_BEFORE = 200
_TYPEOF = re.compile(
    r"typedef(?<=\btypedef)\s+((?:__)?typeof\w*\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))([^;{}()]{1,200});"
)


class FileUses(Record):
    """The uses in one file that depend on the order of a struct's members."""

    path: str
    unread: str = ""
    """Why it could not be searched."""
    mentions: bool = False
    is_other: bool = False
    """Whether it is about another struct of the same name, which it defines."""
    defines: bool = False
    marks: tuple[Marks, ...] = ()
    uses: tuple[OrderUse, ...] = ()
    by_text: tuple[UnresolvedUse, ...] = ()
    """Uses of addresses that the text seems to show; where functions are parsed, their flows show them."""
    by_union: tuple[ByUnion, ...] = ()
    """Uses that count if another member of a union is used than the one with the struct."""
    casts: tuple[Cast, ...] = ()
    overlays: tuple[Overlay, ...] = ()
    unresolved: tuple[UnresolvedUse, ...] = ()
    by_macro: tuple[ByMacro, ...] = ()
    macros: dict[str, tuple[MacroText, ...]] = field(default_factory=dict)
    """The macros that make more than an expression, and those that were asked for."""
    arrays: frozenset[tuple[str, int]] = frozenset()
    """The typedefs of arrays of the struct, with their dimensions."""
    aliases: frozenset[str] = frozenset()
    typedefs: dict[str, str] = field(default_factory=dict)
    """The tags of the structs that typedefs name, empty for a struct without one."""
    containers: tuple[TextContainer, ...] = ()
    first_members: dict[str, str] = field(default_factory=dict)
    """The types of the first members of structs, by tag, as far as asked for."""
    bodies: dict[str, tuple[Leading, ...]] = field(default_factory=dict)
    """The first members of structs, by tag or typedef, as far as asked for."""


class SecondPass(NamedTuple):
    """The names that the second pass over all files searches."""

    macros: frozenset[str]
    containers: Mapping[str, Sequence[TextContainer]]
    with_first_members: bool
    cast_files: frozenset[str]
    """The files with casts, in which first members are searched beside headers."""
    types: Mapping[str, str]
    """Patterns of the types whose containers are searched as well, by name."""
    table: Table
    """The macros that are expanded."""
    overlays: frozenset[str]
    """Tags and typedefs of structs whose first members are asked for."""


def read(path: str) -> bytes:
    """Return the bytes of a file; raises OSError."""
    return files.read_all(path, LARGEST)


class Expansions(NamedTuple):
    """The macros that searches expand in all files."""

    table: Table
    callers: frozenset[str]
    """The macros and typedefs that lead to the struct: files that name one of them are searched."""


def condition_lines(path: str) -> tuple[int, ...]:
    """Return the lines of a file on which a condition of the preprocessor begins, changes or ends."""
    try:
        text = read(path).decode("latin-1")
    except OSError:
        return ()
    return tuple(text.count("\n", 0, match.start()) + 1 for match in _CONDITION.finditer(text))


def search_file(path: str, subject: Subject, expansions: Expansions, only_names: bool = False) -> FileUses:
    """Return the uses in a file that names the struct, or something that leads to it.

    `only_names` are the typedefs and macros that lead to it, without uses.
    """
    try:
        data = read(path)
    except OSError as error:
        return FileUses(path, unread=files.error_reason(error))
    names = (*subject.names, *expansions.callers)
    is_named = any(name.encode("utf-8", "surrogateescape") in data for name in names)
    if not is_named and b"##" not in data:
        return FileUses(path)
    text = data.decode("latin-1")
    if not is_named or not (_names(text, subject) or any(name in text for name in expansions.callers)):
        return FileUses(path, macros=_pasting_macros(text, subject))
    if "\0" in text:
        return FileUses(path, unread="has bytes of value 0, so it is not C text", mentions=True)
    if len(data) > _MOST_TEXT:
        return FileUses(path, unread=f"has more than {_MOST_TEXT >> 20} MB of text", mentions=True)
    return _search_text(path, text, subject, expansions, only_names)


def _pasting_macros(text: str, subject: Subject) -> dict[str, tuple[MacroText, ...]]:
    """Return the macros that can make the struct's tag out of parts: `struct n##_queue`."""
    if "##" not in text or subject.tag is None or _PASTED_TAG.search(text) is None:
        return {}
    return {
        name: texts
        for name, texts in expansion.read_definitions(text).items()
        if any(can_paste(each, subject) for each in texts)
    }


def can_paste(macro: MacroText, subject: Subject) -> bool:
    """Return whether a macro can make the struct's tag out of parts."""
    tag = subject.tag or ""
    parameters = set(macro.parameters or ())
    for match in _PASTED_TAG.finditer(macro.body):
        words = match[1].replace("#", " ").split()
        pattern = "".join(r"\w*" if word in parameters else re.escape(word) for word in words)
        if re.fullmatch(pattern, tag):
            return True
    return False


def _names(text: str, subject: Subject) -> bool:
    """Return whether a text names the struct: its type, its definition, or its tag alone, in macros."""
    if re.search(subject.type_pattern, text) is not None or definition.may_define(text, subject):
        return True
    names = "|".join(map(re.escape, subject.names))
    return re.search(rf"[(,]\s*(?:{names})\s*[,)]|\b[A-Z]\w*\s+(?:{names})\b", text) is not None


def _declarators(text: str, subject: Subject) -> list[tuple[str, str, int]]:
    """Return the stars, the name and the dimensions of each typedef of the type itself."""
    text = blank_attributes(text)
    types = "|".join((subject.type_pattern, *(rf"\b{name}\b" for name, _ in subject.arrays)))
    pattern = rf"typedef(?<=\btypedef)\s+(?:const\s+)?({types})(?:\s+const)?([^;{{}}()]{{1,400}});"
    inner = dict(subject.arrays)
    tag = re.escape(subject.tag or "")
    body = rf"typedef(?<=\btypedef)\s+struct\s+{tag}\s*\{{[^{{}}]*\}}([^;{{}}()]{{1,400}});"
    before = re.compile(rf"(?:{types})\s+\Z")
    heads = [
        (match[1], 0)
        for match in _BACKWARDS.finditer(text)
        if before.search(text[max(0, match.start() - _BEFORE) : match.start()])
    ]
    heads += [(match[2], inner.get(match[1], 0)) for match in re.finditer(pattern, text)]
    heads += [(match[1], 0) for match in re.finditer(body, text)] if subject.tag else []
    return [
        (" ".join(declarator[1].split()), declarator[2], declarator[3].count("[") + dims)
        for names, dims in heads
        for part in names.split(",")
        if (declarator := _DECLARATOR.fullmatch(part.rstrip())) is not None
    ]


def _pointer_typedefs(text: str, subject: Subject) -> dict[str, tuple[MacroText, ...]]:
    """Return the typedefs of pointers, and those by `typeof`, as macros that stand for their types."""
    if "typedef" not in text:
        return {}
    spelled = f"{subject.struct.aggregate} {subject.tag}" if subject.tag else next(iter(subject.aliases))
    made: dict[str, tuple[MacroText, ...]] = {
        name: (MacroText(None, f"{spelled} {stars}"),)
        for stars, name, dims in _declarators(text, subject)
        if stars and not dims
    }
    for match in _TYPEOF.finditer(text):
        for part in match[2].split(","):
            declarator = _DECLARATOR.fullmatch(part.rstrip())
            if declarator is not None and not declarator[3]:
                made[declarator[2]] = (MacroText(None, f"{match[1]} {declarator[1]}"),)
    return made


def _type_typedefs(text: str, subject: Subject) -> frozenset[str]:
    """Return the typedefs of the type itself, also of other typedefs of it."""
    if "typedef" not in text:
        return frozenset()
    declarators = _declarators(text, subject)
    return frozenset(name for stars, name, dims in declarators if not stars and not dims) - set(subject.names)


def _array_typedefs(text: str, subject: Subject) -> frozenset[tuple[str, int]]:
    """Return the typedefs of arrays, with their dimensions."""
    if "typedef" not in text:
        return frozenset()
    return frozenset((name, dims) for stars, name, dims in _declarators(text, subject) if dims and not stars)


def _search_text(
    path: str, raw: str, subject: Subject, expansions: Expansions, only_names: bool
) -> FileUses:
    code = statements(path, raw)
    uses = FileUses(path, mentions=True)
    uses.typedefs = struct_typedefs(raw)
    uses.aliases = _aliases(uses.typedefs, subject) | _macro_types(raw, subject)
    definitions = list(definition.definitions(code, subject))
    is_own = bool(definitions) and _is_source(path, subject)
    if definitions and not is_own and path.endswith(".c"):
        uses.is_other = True
        copies = (each for each in definitions if definition.is_copy(code, subject, each))
        text = "the file declares the struct once more, with the same members"
        uses.uses = tuple(OrderUse("struct-cast", path, code.line(each.start), text) for each in copies)
        return uses
    own = expansion.read_definitions(raw)
    words = frozenset((*subject.names, *subject.member_at, *expansions.callers))
    uses.macros = expansion.with_structure(own, words)
    uses.macros.update(_pointer_typedefs(code.text, subject))
    uses.aliases |= _type_typedefs(code.text, subject)
    uses.arrays = _array_typedefs(code.text, subject)
    if only_names:
        return uses
    parts: list[object] = []
    if is_own or (definitions and subject.struct.source is None):
        uses.defines = True
        uses.marks = tuple(definition.marks(code, subject, each) for each in definitions)
        packed = definition.packed_ranges(raw)
        for own_definition in definitions:
            is_packed = bisect_right(packed, own_definition.start) % 2 == 1
            parts += definition.uses(code, raw, subject, own_definition, is_packed)
    parts += offsets.find(code, subject)
    parts += assembly.find(code, raw, subject)
    macro_code, macro_list = _macros(path, raw, code, subject)
    parts += _macro_uses(macro_code, macro_list, code, subject)
    parts += _mentions(raw, code, macro_code, subject)
    table = {**expansions.table, **own, **uses.macros}
    codes = _expand_macros(code, raw, table, parts)
    for each in dict.fromkeys((code, *codes)):
        taken = list(casts.find(each, subject))
        uses.by_text += tuple(use for use in taken if isinstance(use, UnresolvedUse))
        parts += memory.find(each, subject)
        parts += (use for use in taken if not isinstance(use, UnresolvedUse))
        parts += overlays.find(each, subject)
        parts += sizes.find(each, subject)
    for each in codes:
        parts += _initialiser_uses(each, subject)
        uses.containers += tuple(containers.find(each, subject.type_pattern, ""))
    _sort(uses, parts)
    return uses


def _expand_macros(code: Code, raw: str, table: Table, parts: list[object]) -> list[Code]:
    """Return the texts of a file with its macros expanded: one for each definition that they can have."""
    if not table:
        return [code]
    texts: dict[str, None] = {}
    try:
        for variant in range(min(_MOST_VARIANTS, expansion.variants(code.text, table))):
            texts[expansion.expand(code.text, table, variant)] = None
    except expansion.TooLarge:
        parts.append(
            UnresolvedUse(1, "what the macros of this file make, which is too much text or too deep")
        )
        return [code]
    return [code if text == code.text else Code(code.path, text, raw) for text in texts]


def _initialiser_uses(code: Code, subject: Subject) -> Iterator[object]:
    """Yield the uses in the initialisers of the struct and of arrays of it."""
    judge = Judge(subject, code)
    for value in initialisers.find(code, subject.type_pattern):
        yield from judge.uses(value)
    for name, dims in subject.arrays:
        for value in initialisers.find(code, rf"\b{name}\b"):
            yield from judge.uses(value._replace(dims=value.dims + dims))


def _macros(path: str, raw: str, code: Code, subject: Subject) -> tuple[Code, tuple[Macro, ...]]:
    """Return the macros of a file if some name the struct or make values in braces."""
    if "define" not in raw:
        return Code(path, ""), ()
    everywhere = sum(1 for _ in re.finditer(subject.type_pattern, raw))
    if (
        everywhere == len(code.types(subject.type_pattern))
        and "OFFSET" not in raw
    ):
        return Code(path, ""), ()
    return macros(path, raw)


def _sort(uses: FileUses, parts: list[object]) -> None:
    """Put the results of the searches where they belong."""
    uses.uses += tuple(part for part in parts if isinstance(part, OrderUse))
    uses.casts += tuple(part for part in parts if isinstance(part, Cast))
    uses.by_union += tuple(part for part in parts if isinstance(part, ByUnion))
    uses.overlays += tuple(part for part in parts if isinstance(part, Overlay))
    uses.unresolved += tuple(part for part in parts if isinstance(part, UnresolvedUse))
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
    yield from offsets.find(code, subject, macros, calls)
    yield from memory.find(code, subject)


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


def answer(path: str, subject: Subject, question: SecondPass) -> FileUses:
    """Return the macros, containers and other structs of a file on which uses depend."""
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
    if not (has_macros or has_values or names or has_bodies):
        return uses
    if len(data) > _MOST_TEXT:
        uses.unread = f"has more than {_MOST_TEXT >> 20} MB of text"
        return uses
    raw = data.decode("latin-1")
    code = statements(path, raw)
    parts: list[object] = []
    if has_macros:
        own = expansion.read_definitions(raw)
        uses.macros = {name: own[name] for name in question.macros & own.keys()}
    if has_values:
        own = expansion.read_definitions(raw)
        for each in _expand_macros(code, raw, {**question.table, **own}, parts):
            parts += containers.find_uses(each, question.containers, Judge(subject, each))
    if has_bodies:
        uses.bodies = overlays.bodies(code, question.overlays)
    for name in names:
        parts += overlays.find_around(code, subject, question.types[name])
        uses.containers += tuple(containers.find(code, question.types[name], name))
    _sort(uses, parts)
    return uses
