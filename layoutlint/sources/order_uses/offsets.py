"""Uses of `offsetof`: assertions, constants, ranges between two members, and assembly's offsets."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import islice

from layoutlint.model.record import Record
from layoutlint.sources.order_uses.code import Code, Macro
from layoutlint.sources.order_uses.facts import OrderUse
from layoutlint.sources.order_uses.subject import Subject

_BEFORE = re.compile(r"(?<!\w)(\w++)\s*+\(\s*+(?:[^(){};,]{0,100},\s*+)?$")
"""The name of the call that a type is an argument of; the first, or the second one."""
_IS_OFFSET = re.compile(r"(?:__builtin_)?offsetof(?:end)?|(?>\w*?(?:OFFSETOF|offset_of))\w*|struct_offset")
_PATH = re.compile(
    r"\s*+,\s*+([A-Za-z_]\w*+)((?:\s*+(?:\.|->)\s*+\w++|\s*+\[[^\]\n]{0,200}+\]){0,32}+)\s*+\)"
)
_NULL_OFFSET = r"&\s*+\(\s*+\(\s*+(?:const\s+)?{type}\s*+\*\s*+\)\s*+(?:0[xX]?0*|NULL)\s*+\)\s*+->\s*+(\w++)"
"""`&((struct ring *)0)->head`, which is what `offsetof` was before C89."""
_ASSERTS = re.compile(
    r"(?:_Static_assert|(?>\w*?(?:static_?assert|BUILD_BUG|BUILD_ASSERT|CTASSERT|COMPILE_ASSERT|CHECK_OFFS))\w*|"
    r"(?>\w*?(?:ASSERT|CHECK)_)(?>\w*?OFFSET)\w*|compiletime_assert\w*|C_ASSERT|CACHELINE_ASSERT\w*|"
    r"StaticAssert\w*|\w*_MATCH|ASSERT_STRUCT\w*|assert)",
    re.IGNORECASE,
)
_ASSEMBLY = re.compile(
    r"(?:OFFSET|DEFINE|DEFINE_OFFSET|ASM_OFFSET|OFF|OFFSETS?|ENTRY|BLANK|_ASM_\w+|TI_OFFSET|DEFN)"
)
_ASSEMBLY_CALL = (
    r"OFFSET(?:_END|64)?\s*+\(\s*+\w++\s*+,\s*+(?:struct\s+)?(?:{names})\s*+,"
    r"\s*+([A-Za-z_]\w*+)"
)
"""`OFFSET(TSK_STACK, task_struct, stack)` of Linux's kbuild.h, which names the tag alone."""
_IS_RANGE = re.compile(r"(?>\w*?(?:[Rr]ange|RANGE|[Bb]etween|after|startat|till|from))\w*")
_IS_ASSERT = re.compile(r"CACHELINE_ASSERT_GROUP_\w+|(?>\w*?ASSERT)(?>\w*?OFFSET)\w*|(?>\w*?CHECK_OFFSET)\w*")
_ARGUMENTS = re.compile(r"\s*+,\s*+([A-Za-z_]\w*+)\s*+(?:,\s*+([^;{}(),]{0,80}+))?")
_COPIES = re.compile(
    r"_*mem\w*|k(?>\w*?memdup)\w*|bcmp|bcopy|bzero|_*copy_(?:to|from|struct|in|out)\w*|copy(?:in|out)|(?>\w*?hash)\w*|crc\w*|csum\w*"
    r"|\w*(?:read|write)"
)
_LAST_IS_SIZE = re.compile(r"_*mem(?:cpy|move|cmp|pcpy|set)|bcmp|bcopy|strncpy|strncmp")
"""The functions whose size is their last argument."""
_POINTER = re.compile(r"\s*+(?:\(\s*+)*+(?:(?<=\()\w++(?:\s++\w++)*+\s*+\*\s*+(?:const\s*+)?\)|&\s*+\w)")
"""The beginning of an address: `(char *)p + `."""
_SUBTRACTS = re.compile(r"-(?!>)")
_COMPARISON = re.compile(r"==|!=|<=|>=|(?<![-<])>(?!>)|<(?!<)")
_WORD_BEFORE = re.compile(r"\b([A-Za-z_]\w*+)\s*+$")
_ALIGNS = frozenset(("_Alignas", "alignas", "aligned", "__aligned__", "__aligned"))
_WIDTH = re.compile(r"\s*+(?:\w++\s++)*+\w*+\s*+:[\s(]*+")
"""What is before the width of a bit-field."""
_CASE = re.compile(r"\bcase\s*+[^:;{}]{0,200}$")
_COMPARED = re.compile(r"\s*[=!]=\s*(?:0[xX][0-9a-fA-F]+|\d+)\b")
_COMPARED_BEFORE = re.compile(r"\b(?:0[xX][0-9a-fA-F]++|\d++)[uUlL]*+\s*+[=!]=\s*+\(?\s*+$")
_NEAR = 160
_FAR = 800
"""The number of characters before and behind an offset that are read."""
_DEEPEST = 12


class OffsetOf(Record, frozen=True):
    """One `offsetof` of the struct."""

    at: int
    end: int
    position: int
    """Of the top-level member."""
    is_end: bool
    """Whether it is the end of the member (`offsetofend`)."""
    has_parameter: bool = False
    """Whether a macro parameter names the member, and a call of the macro gave this one."""


def find(
    code: Code, subject: Subject, macros: tuple[Macro, ...] = (), calls: Code | None = None
) -> Iterator[OrderUse]:
    """Yield the uses of the offsets of members in a text.

    With `macros`, it is the text of macros, which the text `calls` uses.
    """
    calls_with_type = tuple(_calls(code, subject))
    offsets = sorted(_offsets(code, subject, calls_with_type, macros, calls), key=lambda offset: offset.at)
    yield from _assembly_calls(code, subject)
    yield from _table_calls(code, subject, calls_with_type)
    places = [offset.at for offset in offsets]
    judged: set[int] = set()
    for offset in offsets:
        if offset.at in judged and not offset.has_parameter:
            continue
        start, end = _expression(code, offset)
        inside = offsets[bisect_left(places, start) : bisect_left(places, end)]
        if any(other.has_parameter for other in inside):
            inside = [offset]
        judged |= {other.at for other in inside}
        use = _judge(code, subject, inside, start, end)
        if use is not None:
            yield use


_Call = tuple[str, int, int]
"""The name of a call that a type is an argument of, its offset, and where the type ends."""


def _calls(code: Code, subject: Subject) -> Iterator[_Call]:
    for start, end in code.types(subject.type_pattern):
        before = _BEFORE.search(code.text, max(0, start - _NEAR), start)
        if before is not None:
            yield before[1], before.start(), end


def _offsets(
    code: Code, subject: Subject, calls: tuple[_Call, ...], macros: tuple[Macro, ...], users: Code | None
) -> Iterator[OffsetOf]:
    for name, at, end in calls:
        path = _PATH.match(code.text, end) if _IS_OFFSET.fullmatch(name) else None
        if path is None:
            continue
        place = subject.member_at.get(path[1])
        is_end = "end" in name.lower()
        if place is not None:
            yield OffsetOf(at, path.end(), place, is_end)
        else:
            for given in _argument_members(path[1], at, subject, macros, users):
                yield OffsetOf(at, path.end(), given, is_end, True)
    if ")0" in code.text or "NULL)" in code.text or ") 0" in code.text:
        for match in re.finditer(_NULL_OFFSET.format(type=subject.type_pattern), code.text):
            place = subject.member_at.get(match[1])
            if place is not None:
                yield OffsetOf(match.start(), match.end(), place, False)


def _argument_members(
    name: str, at: int, subject: Subject, macros: tuple[Macro, ...], calls: Code | None
) -> Iterator[int]:
    """Yield the members that calls of the macro around an offset pass for its parameter."""
    number = bisect_right(macros, at, key=lambda macro: macro.start) - 1
    if number < 0 or at >= macros[number].end or name not in macros[number].parameters or calls is None:
        return
    index = macros[number].parameters.index(name)
    found: set[int] = set()
    for parenthesis in calls.calls.get(macros[number].name, ()):
        given = next(islice(calls.parts(parenthesis), index, None), None)
        place = None if given is None else subject.position(calls.text[slice(*given)])
        if place is not None and place not in found:
            found.add(place)
            yield place


def _expression(code: Code, offset: OffsetOf) -> tuple[int, int]:
    """Return where the expression around an offset begins and ends: an argument or a statement."""
    text, depth = code.text, 0
    start = max(0, offset.at - _FAR)
    at = offset.at
    while at > start:
        sign = text[at - 1]
        if sign in ")]}":
            depth += 1
        elif sign in "([{" and depth:
            depth -= 1
        elif sign == "(" and _is_grouping(text, at - 1):
            pass
        elif depth == 0 and sign in ",;([{}":
            break
        at -= 1
    return at, _expression_end(text, offset.end)


def _is_grouping(text: str, at: int) -> bool:
    """Return whether a parenthesis groups an expression, and is not that of a call or a keyword."""
    before = text[max(0, at - 80) : at].rstrip()
    return not before or not (before[-1].isalnum() or before[-1] in "_)]")


def _expression_end(text: str, at: int) -> int:
    depth, end = 0, min(len(text), at + _FAR)
    while at < end:
        sign = text[at]
        if sign in "([{":
            depth += 1
        elif sign in ")]}" and depth:
            depth -= 1
        elif sign in ",;{}" and depth == 0:
            break
        at += 1
    return at


def _callers(code: Code, at: int) -> Iterator[str]:
    """Yield the names before the parentheses around an offset, innermost first; `[` and `case` too."""
    text, depth, levels = code.text, 0, 0
    far = max(0, at - _FAR)
    case = _CASE.search(text, far, at)
    while at > far and levels < _DEEPEST:
        at -= 1
        sign = text[at]
        if sign in ")]":
            depth += 1
        elif sign in "([" and depth:
            depth -= 1
        elif sign == "[":
            levels += 1
            yield "["
        elif sign == "(":
            levels += 1
            word = _WORD_BEFORE.search(text, max(0, at - 80), at)
            yield word[1] if word is not None else ""
        elif sign in ";{}" and depth == 0:
            break
    if case is not None:
        yield "case"


def _judge(code: Code, subject: Subject, offsets: list[OffsetOf], start: int, end: int) -> OrderUse | None:
    """Return the use that an expression with offsets is; None for a harmless one."""
    text = code.text[start:end]
    callers = list(_callers(code, offsets[0].at))
    places = sorted({offset.position for offset in offsets})
    members = tuple(subject.members[place] for place in places)
    line = code.line(offsets[0].at)
    shown = " and ".join(f"`{name}`" for name in members)
    if any(_ASSEMBLY.fullmatch(name) for name in callers):
        return OrderUse(
            "asm-offset", code.path, line, f"assembly gets the offset of {shown}", members, "offset"
        )
    if any(_ASSERTS.fullmatch(name) for name in callers):
        return _assertion(code, subject, offsets, text, line)
    difference = _difference(code, subject, offsets, text, start)
    if difference is not None:
        return difference
    is_first = code.text[start - 1 : start] == "("  # such calls get addresses before sizes
    is_address = is_first or _POINTER.match(text) is not None
    is_inner = code.text[end : end + 1] == ","
    is_sized = bool(callers) and _LAST_IS_SIZE.fullmatch(callers[0]) is not None
    is_address = is_address or (is_inner and is_sized)
    if (any(_COPIES.fullmatch(name) for name in callers) and not is_address) or offsets[0].is_end:
        last = subject.members[places[-1]]
        return OrderUse(
            "member-range", code.path, line, f"a size ends at `{last}`, and so covers all members before it",
            subject.range(0, places[-1]), "range", "start", any_order=True,
        )  # fmt: skip
    is_constant = "case" in callers or "[" in callers or _is_enumerator(code, start)
    is_constant = is_constant or not _ALIGNS.isdisjoint(callers)
    is_constant = is_constant or _WIDTH.fullmatch(code.text, start, offsets[0].at) is not None
    if is_constant or any(_is_compared(code, offset) for offset in offsets):
        return OrderUse(
            "offset-constant", code.path, line, f"a constant is the offset of {shown}", members, "offset"
        )
    return None


def _is_compared(code: Code, offset: OffsetOf) -> bool:
    """Return whether an offset is compared with a number."""
    if _COMPARED.match(code.text, offset.end) is not None:
        return True
    return _COMPARED_BEFORE.search(code.text, max(0, offset.at - _NEAR), offset.at) is not None


def _is_enumerator(code: Code, at: int) -> bool:
    """Return whether an offset is in an expression of `enum { A = ... }`."""
    before = code.text[max(0, at - _FAR) : at]
    brace = before.rfind("{")
    return (
        brace >= 0
        and "}" not in before[brace:]
        and re.search(r"\benum\b[^;{}()]{0,200}+$", before[:brace]) is not None
    )


def _assertion(code: Code, subject: Subject, offsets: list[OffsetOf], text: str, line: int) -> OrderUse:
    places = sorted({offset.position for offset in offsets})
    members = tuple(subject.members[place] for place in places)
    shown = " and ".join(f"`{name}`" for name in members)
    comparison = _COMPARISON.findall(text)
    is_plain = len(places) == len(offsets) == 2 and not re.search(r"\d|sizeof|%|\+|-", text)
    if is_plain and comparison and comparison[0] in ("<", "<=", ">", ">="):
        shown = f"an assertion compares the offsets of {shown}"
        return OrderUse("offset-assertion", code.path, line, shown, members, "order")
    if len(places) > 1 and comparison and comparison[0] in ("==", "!=") and "sizeof" in text:
        return OrderUse(
            "offset-assertion", code.path, line, f"an assertion on the distance of {shown}",
            subject.range(places[0], places[-1]), "range",
        )  # fmt: skip
    return OrderUse(
        "offset-assertion", code.path, line, f"an assertion on the offset of {shown}", members, "offset"
    )


def _difference(
    code: Code, subject: Subject, offsets: list[OffsetOf], text: str, start: int
) -> OrderUse | None:
    """Return the use that a difference of offsets is: of two members, or from a member to the end."""
    if _SUBTRACTS.search(text) is None:
        return None
    line = code.line(offsets[0].at)
    places = [offset.position for offset in offsets]
    if len(offsets) > 1:
        first, last = min(places), max(places)
        return OrderUse(
            "member-range", code.path, line,
            f"a size is the distance of `{subject.members[first]}` and `{subject.members[last]}`",
            subject.range(first, last), "range", any_order=True,
        )  # fmt: skip
    before = code.text[start : offsets[0].at]
    whole = rf"\bsizeof\s*+\(?\s*+(?:{subject.type_pattern}|\*?\s*+\w++)\s*+\)?\s*+-[\s(]*+$"
    if re.search(whole, before) is None:
        return None
    first, count = places[0], len(subject.members)
    if offsets[0].is_end:
        first = min(first + 1, count - 1)
    return OrderUse(
        "member-range", code.path, line,
        f"a size goes from `{subject.members[places[0]]}` to the end of the struct",
        subject.range(first, count - 1), "range", "end", any_order=True,
    )  # fmt: skip


def _assembly_calls(code: Code, subject: Subject) -> Iterator[OrderUse]:
    """Yield the uses in calls that name the tag alone: `OFFSET(TSK_STACK, task_struct, stack)`."""
    if "OFFSET" not in code.text:
        return
    names = "|".join(map(re.escape, subject.names))
    for call in re.finditer(_ASSEMBLY_CALL.format(names=names), code.text):
        if (place := subject.member_at.get(call[1])) is not None:
            member = subject.members[place]
            text = f"assembly gets the offset of `{member}`"
            yield OrderUse("asm-offset", code.path, code.line(call.start()), text, (member,), "offset")


def _table_calls(code: Code, subject: Subject, calls: tuple[_Call, ...]) -> Iterator[OrderUse]:
    """Yield the uses in calls of macros that name the struct and its members as arguments."""
    for name, at, end in calls:
        arguments = _ARGUMENTS.match(code.text, end)
        if arguments is None:
            continue
        if _IS_ASSERT.fullmatch(name):
            yield from _assert_call(code, subject, name, at, arguments)
        elif _IS_RANGE.fullmatch(name):
            words = (word.strip() for word in arguments.groups(""))
            places = [place for word in words if (place := subject.member_at.get(word)) is not None]
            if len(places) == 2:
                shown = " to ".join(f"`{subject.members[place]}`" for place in places)
                yield OrderUse(
                    "member-range", code.path, code.line(at), f"`{name}` names the range {shown}",
                    subject.range(*places), "range", any_order=True,
                )  # fmt: skip


def _assert_call(
    code: Code, subject: Subject, name: str, at: int, arguments: re.Match[str]
) -> Iterator[OrderUse]:
    line = code.line(at)
    if not name.startswith("CACHELINE"):
        if (place := subject.member_at.get(arguments[1])) is not None:
            member = subject.members[place]
            yield OrderUse(
                "offset-assertion",
                code.path,
                line,
                f"an assertion on the offset of `{member}`",
                (member,),
                "offset",
            )
        return
    group = arguments[1]
    ends = [subject.member_at.get(f"__cacheline_group_{end}__{group}") for end in ("begin", "end")]
    place = subject.member_at.get((arguments[2] or "").strip())
    if ends[0] is not None and ends[1] is not None:
        text = f"assertions keep the members of the group `{group}` in it"
        members = subject.range(ends[0], ends[1])
        yield OrderUse("group-assertion", code.path, line, text, members, "range", any_order=True)
    elif place is not None:
        member = subject.members[place]
        text = (
            f"an assertion keeps `{member}` in the group `{group}`, whose markers are not among the members"
        )
        yield OrderUse("group-assertion", code.path, line, text, (member,), "offset")
