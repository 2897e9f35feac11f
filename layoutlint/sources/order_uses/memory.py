"""Calls that read or write bytes of a struct: over several members, or as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutlint.readers.c_tokens import number
from layoutlint.sources import c_text
from layoutlint.sources.allocations.declarations import Unclear
from layoutlint.sources.order_uses.code import Code
from layoutlint.sources.order_uses.facts import OrderUse, UnresolvedUse
from layoutlint.sources.order_uses.subject import Subject, type_names

_HINTS = (
    "mem",
    "copy_",
    "hash",
    "crc32",
    "read",
    "write",
    "send",
    "recv",
    "bcmp",
    "bcopy",
    "bzero",
    "zero_explicit",
    "nla_put",
    "_output",
    "sg_",
    "skb_put",
)
"""The name of every call contains one of these, which `re` searches for quickly."""
_HINTED = tuple(re.compile(rf"{hint}\w{{0,64}}+\s*+\(") for hint in _HINTS)
_NAME = re.compile(
    r"_*+(?:builtin_)?_*+mem(?:set|cpy|move|cmp|chr|zero|zero_explicit|cpy_toio|cpy_fromio|cpy_and_pad|set32|set64|set_p|set_l|dup"
    r"|dup_user|copy)"
    r"|nla_put\w*|bpf_(?:perf_event|ringbuf)_output|sg_(?:init_one|set_buf)|skb_put_data"
    r"|bcmp|bcopy|bzero|explicit_bzero|_*copy_(?:to|from)_(?:user|iter|sockptr)|kernel_(?:read|write)|kmemdup|jhash2?|xxhash"
    r"|crc32\w*|f?(?:read|write)|p(?:read|write)(?:64)?|send|recv|sendto|recvfrom"
)
_TRANSFERS = re.compile(
    r"nla_put\w*|bpf_(?:perf_event|ringbuf)_output|sg_(?:init_one|set_buf)|skb_put_data|"
    r"_*copy_(?:to|from)_(?:user|iter|sockptr)|memdup_user|kernel_(?:read|write)|p?f?(?:read|write)\d*|send|recv|sendto|recvfrom"
)
_COMPARES = re.compile(r"_*memcmp|bcmp|jhash2?|xxhash|crc32\w*")
_ADDRESS = re.compile(
    r"\s*+(?:\((?:[^()]|\([^()]*\))*\*\s*\)\s*)?+(&\s*+\(*)?+\s*+(\(*\w++(?:\[[^\]\n]*+\])?\)*(?:(?:->|\.)\w++(?:\[[^\]\n]*+\])?)*?)(->|\.)(\w++)"
    r"\s*+(\[[^\]\n]*+\])?\s*+\)*+\s*+$"
)
"""`&p->member` or `p->member`, where the second can be an array."""
_SIZEOF = re.compile(r"\bsizeof\s*+(?:\(([^()]*+(?:\([^()]*+\)[^()]*+)*+)\)|(\*?\w[\w>.-]*))")
_ONE_SIZEOF = re.compile(
    r"\s*+\(*\s*+sizeof\s*+(?:\(([^()]*+(?:\([^()]*+\)[^()]*+)*+)\)|(\*?\w[\w>.-]*+))\s*+\)*\s*$"
)
_MEMBER = re.compile(r"(?:->|\.)\s*+(\w++)\s*+(?:\[[^\]]{0,400}+\]\s*+)?$")
_FIELD = re.compile(r"(?:sizeof_field|FIELD_SIZEOF|member_size)\s*\([^,()]*,\s*(\w+)\s*\)")
_DIFFERENCE = re.compile(
    r"&\s*+\(?\s*+\w++(?:->|\.)(\w++)[^-]{0,400}+-(?!>)[^&]{0,400}+&\s*+\(?\s*+\w++(?:->|\.)(\w++)"
)
_DIFFERENCE_TO_END = re.compile(r"-(?!>)[^&]{0,400}+&\s*+\(?\s*+(\w++)(->|\.)(\w++)")
_NUMBER = re.compile(r"\s*\(*(0[xX][0-9a-fA-F]{1,8}|\d{1,9})[uUlL]*\)*\s*$")
_KERNEL_SET = re.compile(
    r"\bmemset_(after|startat)\s*+\(\s*+(&?)\s*+(\w++)\s*+,[^,;()]{0,100}+(?:\([^()]{0,100}+\))?+[^,;()]{0,100}+,\s*(\w+)\s*\)"
)
_VECTOR = re.compile(
    r"(?:\biov_len\s*=\s*|\b(?:iovec|kvec)\b[^;={}]{0,100}=\s*\{[^;=]{0,200}?)sizeof\s*+"
    r"(?:\(([^()]*)\)|(\*?\w++))(?!\s*(?:\.|->|\[))"
)
_INDEXED = r"\(\s*&\s*(\w+)\s*(->|\.)\s*({members})\s*\)\s*\[(?!\s*0\s*\])"
_FREES = r"free\s*+\(\s*+&\s*+(\w++)\s*+(->|\.)\s*+{first}\s*+\)"
_FREE = re.compile(r"(?:^|\W)((?:k|kv|v|x|z|s)?)$")
"""What is before `free` in the name of a function that frees any object."""
_LONGEST = 400
"""The most characters of an argument."""
_FAR = 1 << 14
"""The most characters before a call in which its size is assigned."""


def find(code: Code, subject: Subject) -> Iterator[OrderUse | UnresolvedUse]:
    """Yield the uses of bytes of a struct in a text."""
    if "(" not in code.text:
        return
    for at, name, parenthesis in calls(code.text):
        parsed = c_text.arguments(code.text, parenthesis)
        if parsed is not None:
            shortened = [argument[:_LONGEST] for argument in parsed[0]]
            yield from _call(code, subject, name, at, shortened)
    yield from _kernel_sets(code, subject)
    yield from _vectors(code, subject)
    yield from _indexed_members(code, subject)
    yield from _frees(code, subject)


def calls(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield offset, name and opening parenthesis of the calls that read or write bytes.

    What is called through a member is another function with this name.
    """
    seen: set[int] = set()
    for hinted in _HINTED:
        for match in hinted.finditer(text):
            parenthesis, start = match.end() - 1, match.start()
            while start and (text[start - 1].isalnum() or text[start - 1] == "_"):
                start -= 1
            name = text[start:parenthesis].rstrip()
            is_member = text[max(0, start - 2) : start].endswith(("->", "."))
            if parenthesis not in seen and not is_member and _NAME.fullmatch(name):
                seen.add(parenthesis)
                yield start, name, parenthesis


def _call(
    code: Code, subject: Subject, name: str, at: int, arguments: list[str]
) -> Iterator[OrderUse | UnresolvedUse]:
    sizes = [text for text in arguments if _SIZEOF.search(text) or _NUMBER.match(text) or _FIELD.search(text)]
    if _TRANSFERS.fullmatch(name):
        yield from _transfer(code, subject, name, at, arguments)
        if not name.strip("_").startswith(("copy", "mem", "kernel")):
            return
    differences = [pair for text in arguments if (pair := _difference(subject, text)) is not None]
    for first, last in differences:
        shown = f"`{subject.members[first]}` and `{subject.members[last]}`"
        yield OrderUse(
            "member-range", code.path, code.line(at), f"{name}() gets the distance of {shown} as its size",
            subject.range(first, last), "range", any_order=_COMPARES.fullmatch(name) is None,
        )  # fmt: skip
    if not differences and (start := _DIFFERENCE_TO_END.search(arguments[-1])) is not None:
        place = subject.member_at.get(start[3])
        if place is not None and is_own(code, subject, start[1], start[2], at) is not False:
            text = f"how far behind `{start[3]}` {name}() reaches"
            yield UnresolvedUse(code.line(at), text, subject.range(place, len(subject.members) - 1), "range")
    if differences or not sizes:
        return
    if name.endswith("_and_pad"):  # the sizes of both come before what pads
        sizes = arguments[1:2]
    count = 2 if not name.endswith(("set", "zero", "chr")) else 1
    for argument in arguments[:count]:
        use = _sized_use(code, subject, name, at, argument, sizes[-1])
        if use is not None:
            yield use
            return


def _difference(subject: Subject, text: str) -> tuple[int, int] | None:
    """Return the positions of the members whose addresses an expression subtracts; None for another one."""
    match = _DIFFERENCE.search(text)
    if match is None:
        return None
    places = subject.member_at.get(match[1]), subject.member_at.get(match[2])
    if places[0] is None or places[1] is None:
        return None
    return min(places[0], places[1]), max(places[0], places[1])


def _sized_use(
    code: Code, subject: Subject, name: str, at: int, argument: str, size: str
) -> OrderUse | UnresolvedUse | None:
    """Return the use of a call with a member's address and a size; None if the size is within the member."""
    address = _ADDRESS.match(argument)
    if address is None or (place := subject.member_at.get(address[4])) is None:
        return None
    field = subject.struct.fields[place]
    if not field.dims and (not address[1] or address[5]):
        return None  # the member is a pointer, and what it points to is read or written
    if field.name is None:
        return None  # within an anonymous struct or union, which moves as a whole
    last = _last_member(subject, place, address[4], size, indexed=address[5] is not None)
    if last == place:
        return None
    owned = is_own(code, subject, address[2], address[3], at)
    if owned is False or (owned is None and last is None):
        return None
    if last is None:
        text = f"whether the size in {name}() is more than that of `{address[4]}`"
        return UnresolvedUse(code.line(at), text)
    return OrderUse(
        "member-range", code.path, code.line(at),
        f"{name}() covers `{subject.members[place]}` to `{subject.members[last]}`",
        subject.range(place, last), "range",
        any_order=False,
    )  # fmt: skip


def is_own(code: Code, subject: Subject, receiver: str, sign: str, at: int) -> bool | None:
    """Return whether a receiver is the struct, or points to it; None if the text does not show it."""
    receiver = receiver.strip("()")
    if not receiver.isidentifier():
        return None
    meaning = code.pointed_type(receiver, at) if sign == "->" else code.own_type(receiver, at)
    if meaning is None and sign == "->":
        return False
    return None if isinstance(meaning, Unclear) or meaning is None else subject.is_type(meaning)


def _last_member(subject: Subject, place: int, member: str, size: str, indexed: bool) -> int | None:
    """Return the position of the last member that a size from a member on covers; None if it is unknown."""
    own = subject.byte_size(place)
    stated = _NUMBER.match(size)
    if stated is not None:
        return _member_at_distance(subject, place, number(stated[1]))
    operands = [(match[1] or match[2] or "").strip() for match in _SIZEOF.finditer(size)]
    operands += [f".{match[1]}" for match in _FIELD.finditer(size)]
    if not operands:
        return None
    if (rest := _bytes_left(subject, operands, size)) is not None:
        return _member_at_distance(subject, place, rest)
    if len(operands) == 1 and _ONE_SIZEOF.match(size):
        return _single(subject, place, member, operands[0], own)
    others = {_MEMBER.search(operand) for operand in operands}
    named = {match[1] for match in others if match is not None} - {member}
    places = [subject.member_at[name] for name in named if name in subject.member_at]
    if "+" in size and places and max(places) > place:
        return max(places)
    factor = re.search(r"(?:^|[^\w])([2-9]\d*)\s*\*|\*\s*([2-9]\d*)\b", size)
    if factor is not None and len(operands) == 1 and own is not None and _MEMBER.search(operands[0]):
        return _member_at_distance(subject, place, own * number(factor[1] or factor[2]))
    return place if subject.struct.fields[place].dims and not indexed else None


def _bytes_left(subject: Subject, operands: list[str], size: str) -> int | None:
    """Return the value of `sizeof(struct ring) - sizeof(p->tail)`; None for another size."""
    whole, *others = operands
    words = whole.removeprefix("struct ").removeprefix("union ").strip()
    signs = "".join(_SIZEOF.sub("", size).split())
    if signs.strip("()") != "-" * len(others) or not others:
        return None
    if words not in subject.names and not whole.startswith("*"):
        return None
    named = [_MEMBER.search(operand) for operand in others]
    places = [subject.member_at.get(match[1]) if match is not None else None for match in named]
    sizes = [None if place is None else subject.byte_size(place) for place in places]
    total = subject.struct.bit_size
    if total is None or any(each is None for each in sizes):
        return None
    return total // 8 - sum(each or 0 for each in sizes)


def _single(subject: Subject, place: int, member: str, operand: str, own: int | None) -> int | None:
    """Return the last member that `sizeof` of one operand covers."""
    named = _MEMBER.search(operand)
    if named is not None and (named[1] == member or named[1] not in subject.member_at):
        return place
    if named is not None:
        size = subject.byte_size(subject.member_at[named[1]])
        if size is None or own is None:
            return None
        return place if size <= own else _member_at_distance(subject, place, size)
    words = operand.replace("struct ", "").replace("union ", "").strip()
    if words in type_names(subject.struct.fields[place]) or words in _SCALARS or operand.startswith("*"):
        return place
    if words in subject.names and own is not None:
        return len(subject.members) - 1
    return place  # another type: the member is read or written as one object of it


_SCALARS = frozenset(
    ("char", "int", "long", "u8", "u16", "u32", "u64", "short", "unsigned long", "unsigned int")
)


def _member_at_distance(subject: Subject, place: int, size: int) -> int | None:
    """Return the position of the member with the last byte of so many bytes from a member on."""
    fields = subject.struct.fields
    end = fields[place].bit_offset + 8 * size
    own = fields[place].bit_size
    if own is None or fields[place].is_flexible:
        return place
    if fields[place].bit_offset + own >= end:
        return place
    return max(index for index in range(place, len(fields)) if fields[index].bit_offset < end)


def _transfer(code: Code, subject: Subject, name: str, at: int, arguments: list[str]) -> Iterator[OrderUse]:
    """Yield the use of a call that passes the bytes of a whole struct to users, files or sockets."""
    for size in arguments:
        operand = _ONE_SIZEOF.match(size)
        if operand is None:
            continue
        if is_sized(code, subject, operand[1] or operand[2] or "", at):
            yield OrderUse(
                "raw-transfer", code.path, code.line(at),
                f"{name}() passes the bytes of whole objects to other programs, files or users",
            )  # fmt: skip
            return


def _is_object(code: Code, subject: Subject, words: str, at: int) -> bool:
    """Return whether an operand of `sizeof` is an object of the struct."""
    words = words.replace(" ", "").strip("()")
    if words.startswith("*"):
        name = words[1:].strip("()")
        return name.isidentifier() and subject.is_type(code.pointed_type(name, at))
    return words.isidentifier() and subject.is_type(code.own_type(words, at))


def _kernel_sets(code: Code, subject: Subject) -> Iterator[OrderUse]:
    """Yield the calls that set all bytes from a member on, or behind it (Linux, string.h)."""
    for match in _KERNEL_SET.finditer(code.text) if "memset_" in code.text else ():
        is_object = _is_object(code, subject, f"*{match[3]}" if not match[2] else match[3], match.start())
        place = subject.member_at.get(match[4])
        if place is None or not is_object:
            continue
        if match[1] == "after":
            place = min(place + 1, len(subject.members) - 1)
        yield OrderUse(
            "member-range", code.path, code.line(match.start()),
            f"memset_{match[1]}() goes from `{subject.members[place]}` to the end of the struct",
            subject.range(place, len(subject.members) - 1), "range", "end", any_order=True,
        )  # fmt: skip


def _vectors(code: Code, subject: Subject) -> Iterator[OrderUse]:
    """Yield the vectors for input and output that get a whole object."""
    for match in _VECTOR.finditer(code.text) if "iov" in code.text or "kvec" in code.text else ():
        if is_sized(code, subject, match[1] or match[2], match.start()):
            yield OrderUse(
                "raw-transfer", code.path, code.line(match.start()),
                "a vector passes the bytes of whole objects to other programs, files or users",
            )  # fmt: skip


def is_sized(code: Code, subject: Subject, words: str, at: int) -> bool:
    """Return whether an operand of `sizeof` is the struct, or an object of it."""
    is_named = re.fullmatch(subject.type_pattern, words.strip()) is not None
    return is_named or _is_object(code, subject, words, at)


def _indexed_members(code: Code, subject: Subject) -> Iterator[OrderUse]:
    """Yield the uses of members as an array from one of them on: `(&p->first)[i]`."""
    for match in re.finditer(_INDEXED.format(members=subject.member_pattern), code.text):
        if is_own(code, subject, match[1], match[2], match.start()) is True:
            place = subject.member_at[match[3]]
            yield OrderUse(
                "member-index", code.path, code.line(match.start()),
                f"the members from `{subject.members[place]}` on are indexed as an array",
                subject.range(place, len(subject.members) - 1), "order",
            )  # fmt: skip


def _frees(code: Code, subject: Subject) -> Iterator[OrderUse]:
    """Yield the calls that free an object by the address of its first member."""
    if not subject.struct.fields or subject.struct.fields[0].name is None:
        return
    first = subject.struct.fields[0].name
    if "free" not in code.text or first not in code.text:
        return
    for match in re.finditer(_FREES.format(first=re.escape(first)), code.text):
        before = _FREE.search(code.text, max(0, match.start() - 3), match.start())
        if before is None:
            continue
        if is_own(code, subject, match[1], match[2], match.start()) is True:
            yield OrderUse(
                "first-member-free", code.path, code.line(match.start()),
                f"{before[1]}free() gets the address of the first member, `{first}`, for the object",
                (first,), "first",
            )  # fmt: skip
