"""Restrictions on the order of members in the definition of a struct: attributes, markers, comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from layoutlint.readers.c_tokens import BLOCK_COMMENT, LINE_COMMENT
from layoutlint.readers.clang import text_search
from layoutlint.sources.order_uses.code import Code
from layoutlint.sources.order_uses.facts import OrderUse
from layoutlint.sources.order_uses.subject import Subject

_COMMENT = re.compile(rf"{BLOCK_COMMENT}|{LINE_COMMENT}", re.DOTALL)
_MUST = (
    r"(?:must|has to|have to|needs? to|should|shall)\s+(?:always\s+)?"
    r"(?:be|stay|remain|come|go|appear|reside|sit)\s+"
)
_FIRST = re.compile(
    rf"{_MUST}(?:(?:the|at|in|as|kept|placed)\s+)*(?:very\s+)?(?:first\b|beginning|start\b|top\b|offset\s+(?:0|zero))"
    r"|keep\s+(?:\w+\s+){0,3}(?:first|at\s+the\s+(?:top|beginning|start))\b|^\W*first[\s,!:-]*(?:member|field|element)?\W*$",
    re.IGNORECASE,
)
_LAST = re.compile(
    rf"{_MUST}(?:(?:the|at|in|as|kept|placed)\s+)*(?:very\s+)?(?:last\b|end\b|bottom\b)"
    r"|keep\s+(?:\w+\s+){0,3}(?:last|at\s+the\s+(?:end|bottom))\b",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"do(?:\s+not|n't)\s+(?:re-?order|rearrange|re-arrange|move|separate|change\s+(?:the|this|their)\s+(?:order|layout))"
    r"|\border\s+(?:of\s+\w+(?:\s+\w+){0,4}\s+)?(?:is\s+important|matters|must|has\s+to|should\s+not)"
    r"|must\s+(?:be\s+)?(?:kept\s+|remain\s+)?(?:in\s+(?:this|the\s+same|that)\s+order|adjacent|contiguous|consecutive|next\s+to)"
    r"|(?:layout|offsets?|order)\s+(?:\w+\s+){0,3}(?:must|should|has\s+to|have\s+to)\s+(?:match|be\s+the\s+same|stay|not\s+change|be\s+kept)"
    r"|(?:hard-?coded|known|used|accessed)\s+(?:\w+\s+){0,3}(?:assembl\w+|asm\b|\w+\.S\b)"
    r"|must\s+match\s+(?:the\s+)?(?:struct|layout|order|definition|asm|assembly)",
    re.IGNORECASE,
)
_PACKED = re.compile(
    r"\b(?:__packed|_packed|__PACKED|PACKED|__attribute_packed__|__packed2__|__packed__|packed|QEMU_PACKED|ATTR_PACKED)\b"
)
_KABI = re.compile(r"\b(?:\w*(?:KABI_|kabi_)\w*|ANDROID_(?:OEM|VENDOR|BACKPORT)_\w+)")
_GROUP = re.compile(r"\b_*struct_group(?:_attr|_tagged|_size)?\s*\(")
_WORD = re.compile(r"[A-Za-z_]\w*")
_RANDOM_START, _RANDOM_END = "randomized_struct_fields_start", "randomized_struct_fields_end"
_HEAD = 200
"""The number of characters before a body in which its attributes are."""
_PRAGMA = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+pack[ \t]*\(([^)\n]*)\)", re.MULTILINE)


class TextDefinition(NamedTuple):
    """A definition of the struct in a text."""

    start: int
    brace: int
    end: int
    """The offset of the semicolon."""


class Marks(NamedTuple):
    """The marks of a definition."""

    is_randomised: bool
    random_members: tuple[str, ...]
    """The members between the marks of a part that the build randomises."""


def may_define(text: str, subject: Subject) -> bool:
    """Return whether a text seems to define the struct."""
    names = "|".join(map(re.escape, subject.names))
    guard = (
        rf"(?:{names})\b[^;{{}}()=,*]{{0,120}}+\{{|\}}[^;{{}}=()]{{0,200}}?\b(?:{names})\b"
        rf"|struct\w{{0,64}}+\s*+\(\s*+(?:{names})\b"
    )
    return re.search(guard, text) is not None


def definitions(code: Code, subject: Subject) -> Iterator[TextDefinition]:
    """Yield the definitions of a struct in a text, also by macros that take its tag."""
    if not may_define(code.text, subject):
        return
    heads = text_search.definitions_in(code.text.encode("latin-1"))
    starts = [at for name, at in heads if name in subject.names]
    if subject.tag is not None:
        opened = rf"struct\w{{0,64}}+\s*+\(\s*+{re.escape(subject.tag)}\s*(?:,[^(){{}};]{{0,80}})?\)\s*\{{"
        starts += [match.start() for match in re.finditer(opened, code.text)]
    for start in sorted(set(starts)):
        brace = code.text.find("{", start)
        closing = code.closings.get(brace)
        if brace >= 0 and closing is not None:
            end = code.text.find(";", closing)
            yield TextDefinition(start, brace, end if end >= 0 else closing)


def is_copy(code: Code, subject: Subject, definition: TextDefinition) -> bool:
    """Return whether a definition seems to be a copy of the struct's, or of its beginning."""
    names = set(_WORD.findall(code.text[definition.brace : code.closings[definition.brace]]))
    first = subject.struct.fields[0].name if subject.struct.fields else None
    return first in names and len(names & subject.member_at.keys()) > 1


def marks(code: Code, subject: Subject, definition: TextDefinition) -> Marks:
    """Return the marks of a definition for randomisation."""
    tail = code.text[code.closings[definition.brace] : definition.end]
    is_marked = re.search(r"(?<!no_)\b_*randomize_layout\b", tail) is not None
    body = code.text[definition.brace : definition.end]
    start, end = body.find(_RANDOM_START), body.find(_RANDOM_END)
    inside = set(_WORD.findall(body[start:end])) if 0 <= start < end else set()
    outside = set(_WORD.findall(body[:start] + body[end:])) if inside else set()
    chosen = tuple(
        subject.members[place]
        for place in sorted({place for name, place in subject.member_at.items() if name in inside - outside})
    )
    return Marks(is_marked, chosen)


def uses(
    code: Code, raw: str, subject: Subject, definition: TextDefinition, is_in_pragma: bool = False
) -> Iterator[OrderUse]:
    """Yield the uses that a definition itself states; `raw` is the text with its comments."""
    line = code.line(definition.start)
    closing = code.closings[definition.brace]
    around = code.text[definition.start : definition.brace] + code.text[closing : definition.end]
    before = code.text[max(0, definition.start - _HEAD) : definition.start]
    before = before[max(before.rfind(";"), before.rfind("}")) + 1 :]
    if _PACKED.search(around) or _PACKED.search(before) or is_in_pragma:
        yield OrderUse(
            "packed", code.path, line, "the struct is packed, as hardware, files or protocols define it"
        )
    if re.search(r"\b_*no_randomize_layout\b", around):
        yield OrderUse("no-randomise", code.path, line, "the struct is marked `__no_randomize_layout`")
    if "preserve_access_index" in around:
        text = "programs for BPF find the members by name when they are loaded (CO-RE)"
        yield OrderUse("bpf-co-re", code.path, line, text, is_note=True)
    kabi = _KABI.search(code.text, definition.brace, definition.end)
    if kabi is not None:
        text = f"`{kabi[0]}` promises a stable layout to modules"
        yield OrderUse("kabi", code.path, code.line(kabi.start()), text)
    for group in _GROUP.finditer(code.text, definition.brace, closing):
        words = _WORD.findall(code.text[group.start() : code.closings.get(group.end() - 1, group.end())])
        places = sorted({subject.member_at[word] for word in words[1:] if word in subject.member_at})
        if places:
            text = f"`{words[1]}` groups members, which move together"
            members = subject.range(places[0], places[-1])
            yield OrderUse("struct-group", code.path, code.line(group.start()), text, members, "range")
    yield from _comments(code, raw, subject, definition)


def packed_ranges(raw: str) -> list[int]:
    """Return the offsets at which `#pragma pack` begins to hold, and ends to, in turn."""
    changes: list[int] = []
    for pragma in _PRAGMA.finditer(raw) if "pragma" in raw else ():
        words = pragma[1].replace(" ", "").split(",")
        is_packed = len(changes) % 2 == 1
        is_end = words[0] == "pop" or words == [""]
        if is_end if is_packed else not is_end and words[-1].isdigit():
            changes.append(pragma.end())
    return changes


def _comments(code: Code, raw: str, subject: Subject, definition: TextDefinition) -> Iterator[OrderUse]:
    before = raw.rfind("/*", max(0, definition.start - 4000), definition.start)
    start = definition.brace
    if before >= 0 and not code.text[before : definition.start].strip():
        start = before
    for comment in _COMMENT.finditer(raw, start, definition.end):
        text = " ".join(comment[0].strip("/* \t\n").replace("\n", " ").replace("*", " ").split())
        scope = _stated_promise(text)
        if scope is None:
            continue
        member = _member_at(code, subject, comment, definition)
        name = f"`{member}`" if member is not None else "the struct"
        line = code.line(comment.start())
        if scope == "first":
            members = subject.members[:1]
            yield OrderUse(
                "comment", code.path, line, f"a comment says that {name} must be first", members, "first"
            )
        elif scope == "last" and member is not None:
            text = f"a comment says that {name} must be last"
            members = subject.range(subject.members.index(member), len(subject.members) - 1)
            yield OrderUse("comment", code.path, line, text, members, "range", "end", any_order=True)
        elif member is None:
            yield OrderUse("comment", code.path, line, "a comment says that the order matters")
        else:
            text = f"a comment at {name} says that the order matters"
            yield OrderUse("comment", code.path, line, text, (member,), "offset")


def _stated_promise(text: str) -> str | None:
    if _ORDER.search(text):
        return "order"
    if _FIRST.search(text):
        return "first"
    return "last" if _LAST.search(text) else None


def _member_at(
    code: Code, subject: Subject, comment: re.Match[str], definition: TextDefinition
) -> str | None:
    """Return the member that a comment is at: before it on the line, else the next one."""
    if comment.start() < definition.brace:
        return None
    text = code.text
    line_start = text.rfind("\n", 0, comment.start()) + 1
    own = text[max(line_start, definition.brace + 1) : comment.start()]
    end = text.find(";", comment.end(), definition.end)
    for words in (
        _WORD.findall(own),
        _WORD.findall(text[comment.end() : end if end >= 0 else definition.end]),
    ):
        for word in reversed(words):
            if (place := subject.member_at.get(word)) is not None:
                return subject.members[place]
    return None


def facts(subject: Subject) -> Iterator[OrderUse]:
    """Yield the uses that the members of a struct show, without its text."""
    struct = subject.struct
    file, line = (struct.source.file, struct.source.line) if struct.source else (struct.origin, None)
    if struct.aggregate == "union":
        yield OrderUse("union", file, line, "the members of a union all begin at its start, and do not move")
    if re.search(
        r"(?:^|/)uapi/|^/usr/include/(?:[\w-]+-linux-\w+/)?(?:linux|asm|asm-generic|rdma|sound|mtd|scsi|drm|misc)/",
        file,
    ):
        yield OrderUse("uapi", file, line, "the kernel and programs share the struct")
    elif re.search(r"^/usr/(?:local/)?include/", file):
        text = "the header is installed, and programs that include it have the layout compiled in"
        yield OrderUse("public-header", file, line, text, is_note=True)
    yield from _packed_uses(subject, file, line)
    yield from _reserved_members(subject, file, line)
    yield from _fixed_endian(subject, file, line)
    yield from _markers(subject, file, line)


def _packed_uses(subject: Subject, file: str, line: int | None) -> Iterator[OrderUse]:
    for field in subject.struct.fields:
        if field.align and not field.is_bitfield and field.bit_offset % (8 * field.align):
            text = f"the struct is packed: `{field.name}` is not aligned"
            yield OrderUse("packed", file, line, text)
            return


_RESERVED = re.compile(r"kabi_|android_(?:oem|vendor|backport)_")


def _reserved_members(subject: Subject, file: str, line: int | None) -> Iterator[OrderUse]:
    """Yield a use if a member is there for a stable ABI, also where a macro of the text hides its name."""
    for name in subject.members:
        if _RESERVED.search(name):
            yield OrderUse("kabi", file, line, f"`{name}` promises a stable layout to modules")
            return


_ENDIAN = re.compile(r"\b_*[bl]e(?:16|32|64)\b|\b__(?:sum16|wsum)\b|\b[bl]e_(?:u?int)?(?:16|32|64)\b")
_BYTE = re.compile(r"\b(?:char|_*[us]8|u?int8_t|_Bool|bool)\b")


def _fixed_endian(subject: Subject, file: str, line: int | None) -> Iterator[OrderUse]:
    """Yield a use if all members have a fixed byte order or are bytes, and a note if most have."""
    is_fixed: list[bool] = []
    for field in subject.struct.fields:
        names = " ".join(str(ctype) for ctype in (field.type, *field.underlying_types))
        if _ENDIAN.search(names) and "*" not in str(field.type):
            is_fixed.append(True)
        elif field.aggregate is not None or not _BYTE.search(names) or "*" in str(field.type):
            is_fixed.append(False)
    if is_fixed and all(is_fixed):
        yield OrderUse(
            "fixed-endian",
            file,
            line,
            "all members have a fixed byte order, as in files, packets or hardware",
        )
    elif sum(is_fixed) * 2 > len(is_fixed):
        text = "most members have a fixed byte order; check that no file, packet or hardware has the struct"
        yield OrderUse("fixed-endian", file, line, text, is_note=True)


_GROUP_MARK = re.compile(r"__cacheline_group_(begin|end)__(\w+)")


def _markers(subject: Subject, file: str, line: int | None) -> Iterator[OrderUse]:
    fields, members = subject.struct.fields, subject.members
    groups: dict[str, int] = {}
    for index, field in enumerate(fields):
        mark = _GROUP_MARK.fullmatch(field.name or "")
        at = (field.source.file, field.source.line) if field.source else (file, line)
        if mark is not None:
            if mark[1] == "begin":
                groups[mark[2]] = index
            elif mark[2] in groups:
                text = f"markers delimit the cache-line group `{mark[2]}`"
                span = subject.range(groups[mark[2]], index)
                yield OrderUse("group-marker", *at, text, span, "range", any_order=True)
        elif _is_marker(field.bit_size, field.dims, field.type.is_untagged) and index + 1 < len(fields):
            text = f"`{field.name}` has no size, and marks where the members behind it begin"
            yield OrderUse(
                "zero-length-marker", *at, text, members[: index + 1], "range", "start", any_order=True
            )


def _is_marker(bit_size: int | None, dims: tuple[int | None, ...], is_untagged: bool) -> bool:
    """Return whether a member is a mark: an array without elements, or `struct { } name`.

    A struct type that some configuration leaves without members is none.
    """
    return bit_size == 0 and (bool(dims) or is_untagged)
