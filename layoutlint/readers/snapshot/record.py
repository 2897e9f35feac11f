"""The layout record: what one input states about structs, as JSON of one field a line (docs/snapshot.md).

`layoutlint schema snapshot` prints their schema. Sizes and offsets are in bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from layoutlint.errors import ReadError
from layoutlint.model.json_object import one_of
from layoutlint.model.randomised import Randomisation, ShufflingEvidence
from layoutlint.model.record import Record
from layoutlint.model.storage import AllocatorWord
from layoutlint.model.structs import Aggregate, Source, Unstated

SCHEMA: Literal["layoutlint/snapshot/1"] = "layoutlint/snapshot/1"
LARGEST = 1 << 26
"""The most bytes of a snapshot: a whole kernel has a sixth of it."""
_MOST = 500_000
"""The most structs and fields: a whole kernel has a sixth of it."""
_READER = "^(clang|dwarf|btf|symbols)(?: and (?:clang|dwarf|btf|symbols))*$"
_HEAD = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"schema"\s*:\s*"layoutlint/([\w-]{1,40})/(\d{1,9})"')
_BYTE = re.compile(r"\(byte (\d+)\)")
_PATH = re.compile(r"^(.*?)(?: - at `\$\.?(.*)`)?$", re.DOTALL)
_CONFLICT = re.compile(rb"^(?:<{7}|={7}|>{7})(?: .*)?$", re.MULTILINE)

Bytes = Annotated[int, Meta(ge=0, le=1 << 58)]
Bits = Annotated[int, Meta(ge=0, le=1 << 61)]
Alignment = Annotated[int, Meta(ge=1, le=1 << 30, description="A power of two.")]
Lengths = Annotated[tuple[Bytes | None, ...], Meta(max_length=256)]
"""The lengths of an array. clang reads no more brackets (-fbracket-depth), and their product has a bound."""
Fact = Annotated[str, one_of(*(flag.name.lower() for flag in Unstated if flag.name))]
Undecoded = Annotated[msgspec.Raw, Meta(extra_json_schema={"$ref": "#/$defs/StructRecord"})]
T = TypeVar("T")


class FieldRecord(
    Record, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):  # fmt: skip
    """One field, on one line; the members of an unnamed struct or union follow it, each on its own."""

    name: str | None = None
    """Null for an unnamed struct, union or bit-field."""
    at: Bytes
    """Its first byte, from the start of the struct or of the unnamed struct around it."""
    bit: Annotated[int, Meta(ge=0, le=7)] = 0
    """Its first bit in that byte."""
    size: Bytes | None = None
    """Its size, 0 for a flexible array. Null if it is not known, or in `bits`."""
    bits: Bits | None = None
    """The width of a bit-field. Null for other fields."""
    bitfield: bool = True
    """False if a field with `bits` is no bit-field. True if it is missing."""
    unnamed: tuple[tuple[Annotated[int, Meta(ge=-(1 << 61), le=1 << 61)], Bits], ...] = ()
    """The unnamed bit-fields beside it: the first bit, from that of the field, and the number of bits. In a
    snapshot of C text there are no others."""
    type: str
    """The spelling of its type before the name."""
    after: str = ""
    """The spelling of its type after the name."""
    dims: Lengths = ()
    """The lengths of an array, outermost first. Null for a flexible one."""
    element: Annotated[int, Meta(ge=1, le=1 << 61)] | None = None
    """The bits of an element of a flexible array. Null if they are not known."""
    flattened: bool = False
    """Whether one length can stand for several."""
    align: Alignment | None = None
    """The alignment of its type. Null if it is not known."""
    aligned: Annotated[int, Meta(ge=0, le=1 << 30)] = 0
    """The alignment of its own attribute `aligned`, 0 for none."""
    alignments: tuple[Alignment, ...] = ()
    """All alignments that its type can have, if the input leaves several open."""
    function: bool = False
    """Whether it is a pointer to a function, or an array of them."""
    underlying: tuple[str | tuple[str, str], ...] = ()
    """What its typedef stands for, outermost first. Two texts are the spelling before and after a name."""
    file: str | UnsetType | None = UNSET
    """The file that declares it. If it is missing, that of the struct."""
    of: str = ""
    """The struct or union of this file that is its type, or that of its elements: the name, with ` #NUMBER`
    if the number is not 1."""
    aggregate: Aggregate | None = None
    """The kind of its type, if that has members and `of` does not name it."""
    fields: tuple[FieldRecord, ...] = ()
    """The members of its type, if that has no name."""


class StructRecord(
    Record, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):  # fmt: skip
    """One definition of a struct or union, with a field on each line."""

    name: str
    """As C spells the type: `struct ring`, or the typedef of a struct without a tag."""
    number: Annotated[int, Meta(ge=1, le=1 << 30)] = 1
    """Tells definitions of one name apart. 1 if it is missing."""
    aggregate: Aggregate
    """Its kind."""
    embedded: bool = False
    """Whether it is here only because fields are of this type. Such a struct has no size, and no rule is
    judged on it."""
    container: bool = False
    """Whether it is not chosen, and is here because it embeds a struct of `containers_of`. Nothing holds its
    layout."""
    size: Bytes | None = None
    """Its size. Null only if it is `embedded`."""
    align: Alignment | None = None
    """Its alignment. Null if the input does not state it; then the alignments of its fields decide."""
    alignments: tuple[Alignment, ...] = ()
    """All alignments that it can have, if its fields do not show them."""
    unstated: tuple[Fact, ...] = ()
    """The facts on alignments that the input does not state for this struct, beside those of the whole
    file."""
    file: str | None = None
    """The file that defines it, from the top of the repository or of the build. Only the name if it is in
    neither."""
    typedefs: tuple[str, ...] = ()
    """The typedefs that refer to it, of those that were asked for."""
    realigned: str = ""
    """The struct that this typedef with an alignment of its own refers to. Empty for other structs."""
    randomised: Randomisation | None = None
    """How its fields were put into a random order. Null for the declared order."""
    randomisable: bool = False
    """Whether it is marked for randomisation, in a configuration without it."""
    annotations: tuple[tuple[str, str], ...] = ()
    """The path of a field, empty for the struct itself, and the text of its annotation."""
    fields: tuple[FieldRecord, ...] = ()
    """Its fields, in declared order."""

    @property
    def reference(self) -> str:
        """The name by which fields of its type refer to the struct."""
        return reference(self.name, self.number)


def reference(name: str, number: int) -> str:
    """Return what `of` calls a struct: its name, with its number if that is not 1."""
    return name if number == 1 else f"{name} #{number}"


class OmissionRecord(
    Record, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):  # fmt: skip
    """A part of the input that was not read."""

    reason: str
    """The part, and why it was not read."""
    structs: tuple[str, ...] | None = None
    """The structs that it defines. Null if it can define any."""
    private: bool = False
    """Whether only one processor can access its objects."""


class Document(Record, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The layouts of structs of one build.

    Sizes and offsets are in bytes. A key that is missing has the value null, false, 0, an empty text or an
    empty list, unless its description says otherwise.
    """

    schema: Literal["layoutlint/snapshot/1"]
    """The name and version of this format. It is the first key of a file."""
    target: str
    """The machine, as docs/inputs.md calls it."""
    reader: Annotated[str, Meta(pattern=_READER)]
    """What read the input: dwarf, btf, clang, or several of these."""
    compilers: tuple[str, ...] = ()
    """The C compilers that made the input, by family and major version: `gcc 14`."""
    allocator: AllocatorWord | None = None
    """The allocator that the program names instead of that of its C library."""
    linux: bool = False
    """Whether the input is a Linux kernel, or a part of one."""
    kernel: Annotated[str, Meta(pattern=r"^\d{1,6}(?:\.\d{1,6}){0,3}$")] | None = None
    """The version of Linux."""
    config: tuple[str, ...] | None = None
    """The kernel options that are on, without CONFIG_. Null if they are not known."""
    options: tuple[str, ...] = ()
    """Kernel options that are known without the configuration; `!` is before those that are off."""
    unstated: tuple[Fact, ...] = ()
    """Facts on alignments that the input states for no struct. Each struct states all of its own now."""
    shuffled: ShufflingEvidence | None = None
    """The evidence that a compiler randomised layouts, in an order that is not known."""
    omissions: tuple[OmissionRecord, ...] = ()
    """Parts of the input that were not read."""
    chosen: tuple[str, ...] | None = None
    """The names and patterns of structs that were asked for. Null for all structs of the input."""
    containers_of: tuple[str, ...] = ()
    """Structs of which all containers are here too."""
    types: bool = False
    """True if `check --snapshot` fails for types that differ, too."""
    may_use: tuple[str, ...] = ()
    """The patterns of reserved members. `check --snapshot` accepts others in their bytes."""
    structs: tuple[Undecoded, ...] = ()
    """The structs and unions, sorted by name."""


def is_snapshot(head: bytes) -> bool:
    """Return whether a file that starts like this is a snapshot, of any version."""
    match = _HEAD.match(head)
    return match is not None and match[1] == b"snapshot"


def other_output(head: bytes) -> str | None:
    """Return the name of the output of layoutlint that starts like this: `report`; None for another file."""
    match = _HEAD.match(head)
    return match[1].decode() if match is not None and match[1] != b"snapshot" else None


def parse(data: bytes, path: str) -> tuple[Document, list[tuple[int, StructRecord]]]:
    """Return what a snapshot states, and each struct with its line.

    Raises ReadError with the line, the struct and the cause.
    """
    if len(data) > LARGEST:
        raise ReadError(path, f"is a snapshot of more than the {LARGEST:,} bytes that are read")
    if data.count(b"{") > _MOST:
        raise ReadError(path, f"is a snapshot of more than the {_MOST:,} structs and fields that are read")
    data = data.removeprefix(b"\xef\xbb\xbf")
    match = _HEAD.match(data)
    if match is not None and match[1] == b"snapshot" and match[2] != b"1":
        number = match[2].decode()
        raise ReadError(path, f"is a snapshot of version {number}; this layoutlint reads version 1")
    if (conflict := _CONFLICT.search(data)) is not None:
        line = _line(data, conflict.start())
        raise ReadError(
            Source(path, line), "has the marks of a merge; take one side, and write the snapshot again"
        )
    _refuse_other_files(data, path)
    document = _decode(data, Document, path, data, 0, "the snapshot")
    structs = list(_structs(document, data, path))
    _refuse_repeated_keys(data, [bytes(raw) for raw in document.structs], [line for line, _ in structs], path)
    return document, structs


class _Repeated(Exception):
    """A key that an object has twice."""


def _refuse_repeated_keys(data: bytes, structs: list[bytes], lines: list[int], path: str) -> None:
    """Raise ReadError for an object with a key twice, of which only the last counts."""
    try:
        _compare_keys(data)
    except _Repeated as repeated:
        for text, line in zip(structs, lines, strict=True):
            try:
                _compare_keys(text)
            except _Repeated as key:
                raise ReadError(Source(path, line), f"`{_name(text)}`: has the key `{key}` twice") from key
        line = _line(data, data.rfind(f'"{repeated}"'.encode()))
        raise ReadError(Source(path, line), f"the snapshot has the key `{repeated}` twice") from repeated


def _compare_keys(text: bytes) -> None:
    """Raise _Repeated for an object with a key twice."""

    def compare(pairs: list[tuple[str, object]]) -> None:
        keys = {key for key, _ in pairs}
        if len(keys) < len(pairs):
            names = [key for key, _ in pairs]
            raise _Repeated(next(key for key in names if names.count(key) > 1))

    json.loads(text, object_pairs_hook=compare)


def _refuse_other_files(data: bytes, path: str) -> None:
    """Raise ReadError for a file that was given by mistake."""
    output = other_output(data)
    if output is not None:
        raise ReadError(path, f"is an output of layoutlint ({output}), not a snapshot")
    text = data.lstrip()
    if text and not text.startswith(b"{"):
        raise ReadError(
            Source(path, _line(data, len(data) - len(text))), "is not a snapshot: it is not a JSON object"
        )
    if text.rstrip().endswith(b"}") and b'"schema"' not in text:
        remedy = "`layoutlint snapshot INPUT --all --output FILE` writes one"
        raise ReadError(path, f"is not a snapshot: it has no `schema` ({remedy})")


def _structs(document: Document, data: bytes, path: str) -> Iterator[tuple[int, StructRecord]]:
    at, line, counted = 0, 1, 0
    for number, raw in enumerate(document.structs):
        text = bytes(raw)
        at = max(data.find(text, at), 0)
        record = _decode(text, StructRecord, path, data, at, f"struct {number + 1} of the snapshot")
        line, counted = line + data.count(b"\n", counted, at), at
        yield line, record
        at += len(text)


def _decode(text: bytes, form: type[T], path: str, data: bytes, start: int, label: str) -> T:
    """Decode a part of a file that starts at a byte of it."""
    try:
        return msgspec.json.decode(text, type=form)
    except msgspec.ValidationError as error:
        message, key = _PATH.match(str(error)).groups()  # type: ignore[union-attr]  # matches any text
        name = _name(text)
        subject = f"`{name}`" if name else label
        where = f", `{key}`" if key else ""
        reason = f"{message[:1].lower()}{message[1:300]}"
        raise ReadError(Source(path, _line(data, start)), f"{subject}{where}: {reason}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        match = _BYTE.search(str(error))
        at = start + (int(match[1]) if match else len(text))
        reason = str(error).partition(" (byte")[0]
        raise ReadError(Source(path, _line(data, at)), f"the snapshot is damaged: {reason}") from error
    except RecursionError as error:
        reason = f"{label} is nested too deeply"
        raise ReadError(Source(path, _line(data, start)), reason) from error


def _name(text: bytes) -> str:
    """Return the name that a damaged struct states; empty for none."""

    class Named(Record):
        name: Any = ""

    try:
        name = msgspec.json.decode(text, type=Named).name
    except (msgspec.MsgspecError, RecursionError):
        return ""
    return name[:100] if isinstance(name, str) else ""


def _line(data: bytes, at: int) -> int:
    """Return the line of a byte, from 1."""
    return data.count(b"\n", 0, at) + 1
