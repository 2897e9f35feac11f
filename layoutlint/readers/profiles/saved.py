"""Reads saved evidence: the JSON that `layoutlint evidence` and `layoutlint measure` print.

Only the keys that are needed are read. They are bounded, because the file can come from strangers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from layoutlint import files
from layoutlint.errors import ReadError, UsageError
from layoutlint.model.record import Record

PROFILE_SCHEMA: Literal["layoutlint/evidence/1"] = "layoutlint/evidence/1"
MEASURE_SCHEMA: Literal["layoutlint/measure/1"] = "layoutlint/measure/1"
_LARGEST = 1 << 24
"""The most bytes of a file."""
_PATH = re.compile(r"^(.*?)(?: - at `\$\.?(.*)`)?$", re.DOTALL)

Word = Annotated[str, Meta(max_length=4096)]
Number = Annotated[int, Meta(ge=0, le=1 << 62)]
Byte = Annotated[int, Meta(ge=0, le=1 << 58)]
Accesses = Annotated[int, Meta(ge=0, le=1 << 48)]
Cpus = Annotated[int, Meta(ge=0, le=1 << 16)]
CpuNumbers = Annotated[tuple[Cpus, ...], Meta(max_length=1 << 13)]
LineNumber = Annotated[int, Meta(ge=1, le=1 << 62)]
LineSize = Annotated[int, Meta(ge=1, le=1 << 16)]


class Place(Record, frozen=True):
    """A field, and where it was."""

    path: Word
    offset: Byte
    size: Byte | None


class Samples(Record, frozen=True):
    """Counts of a cache line or of an offset on it."""

    remote: Number
    local: Number
    peer: Number
    l1_hit: Number
    l1_miss: Number
    other: Number

    @property
    def contended_loads(self) -> int:
        """Loads that got the line from a cache that had it."""
        return self.remote + self.local + self.peer

    @property
    def stores(self) -> int:
        """All stores."""
        return self.l1_hit + self.l1_miss + self.other


class Touch(Place, frozen=True):
    """Accesses to a field on a line."""

    at: Byte
    counts: Samples
    written: bool
    read_modified: bool
    records: Accesses | None = None
    """All loads and stores."""
    cpus: Cpus = 0
    """The most CPUs of one place in the code; 0 if the report does not state them."""
    written_on: CpuNumbers | None = None
    """The CPUs that stored; None if the report does not state them."""
    read_on: CpuNumbers | None = None
    """The CPUs that loaded, likewise."""


class Line(Record, frozen=True):
    """A cache line of a profile."""

    report: Word
    line: LineNumber
    address: Annotated[str, Meta(pattern="^0x[0-9a-f]{1,16}$")]
    line_size: LineSize
    counts: Samples
    first_byte: Annotated[int, Meta(ge=-(1 << 16), le=1 << 58)]
    base: Number
    certainty: Literal["given", "unique", "likely"]
    identified_by: Literal["base", "code", "struct"]
    fields: tuple[Touch, ...]
    contradicting_code: tuple[Word, ...] = ()


class FieldSamples(Place, frozen=True):
    """Samples of one event at a field."""

    event: Number
    at: Byte
    samples: Number | None
    report_lines: Annotated[tuple[LineNumber, ...], Meta(min_length=1)]


class ProfiledStruct(Record, frozen=True):
    """The accesses to the fields of a struct."""

    name: Word
    aggregate: Literal["struct", "union"]
    size: Byte | None
    lines: tuple[Line, ...]
    samples: tuple[FieldSamples, ...]


class ProfiledInput(Record, frozen=True):
    """The input in which `evidence` found the fields."""

    path: Word
    build_id: Word | None


class ProfileReport(Record, frozen=True):
    """A report of perf."""

    path: Word
    formats: tuple[Word, ...]
    captured: Word | None
    build: Literal["same", "unverified"] = "unverified"
    build_note: Word | None = None
    snoops: Literal["hitm", "peer"] = "hitm"


class Event(Record, frozen=True):
    """An event of a profile of types."""

    report: Word
    counts: Literal["loads", "stores", "both"]


class Profile(Record, frozen=True):
    """The output of `evidence`."""

    inputs: tuple[ProfiledInput, ...]
    reports: tuple[ProfileReport, ...]
    events: tuple[Event, ...]
    structs: tuple[ProfiledStruct, ...]
    failures: tuple[Word, ...] = ()


class Machine(Record, frozen=True):
    """The machine that measured."""

    processor: Word | None
    line_size: LineSize


class MeasureRun(Record, frozen=True):
    """How it was measured."""

    date: Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\d$")] | None = None


class Accessed(Place, frozen=True):
    """A field that a core accessed."""

    core: Number
    distance: Byte


class MeasuredPlacement(Record, frozen=True):
    """Where an object started."""

    base: Number
    affected: bool


class MeasuredLayout(Record, frozen=True):
    """One layout of the struct."""

    label: Literal["before", "after"] | None
    size: Byte
    accesses: tuple[Accessed, ...]
    placements: tuple[MeasuredPlacement, ...]


class Spread(Record, frozen=True):
    """A number with its spread."""

    median: Annotated[float, Meta(ge=0)]


class Ratio(Record, frozen=True):
    """The rates of some placements, divided by those of others."""

    layout: Literal["before", "after"] | None
    of: Literal["affected", "unaffected", "after"]
    to: Literal["unaffected", "reference", "before"]
    interval: Number
    ratio: Spread
    clear: bool
    core: Number | None = 0
    """The core whose rates these are; None for all together."""


class Measured(Record, frozen=True):
    """The output of `measure`."""

    struct: Word
    rule: Word | None
    mode: Literal["contention", "sweep"]
    machine: Machine
    run: MeasureRun
    refusal: Word | None
    layouts: Annotated[tuple[MeasuredLayout, ...], Meta(max_length=2)]
    ratios: tuple[Ratio, ...]


class Saved(Record, frozen=True):
    """A file with saved evidence."""

    path: str
    content: Profile | Measured


class _Head(Record, frozen=True):
    schema: Any = None


def load(path: str) -> Saved:
    """Return the evidence in a file.

    Raises UsageError for a file that is none, and ReadError, with the key, for one that is damaged.
    """
    try:
        data = files.read_all(path, _LARGEST)
    except OSError as error:
        raise UsageError(f"cannot read the evidence: {files.error_reason(error)}", path) from error
    schema = _schema(data, path)
    forms: dict[str, type[Profile] | type[Measured]] = {PROFILE_SCHEMA: Profile, MEASURE_SCHEMA: Measured}
    form = forms.get(schema) if isinstance(schema, str) else None
    if form is None:
        stated = f"its `schema` is {schema[:100]!r}" if isinstance(schema, str) else "it has no `schema`"
        raise UsageError(f"is not evidence: {stated}, not {' or '.join(forms)} ({_ORIGIN})", path)
    content = _decode(data, form, path)
    for contradiction in _contradictions(content):
        raise ReadError(path, contradiction)
    return Saved(path, content)


_ORIGIN = "save what `layoutlint evidence --format json` or `layoutlint measure --format json` prints"


def _schema(data: bytes, path: str) -> object:
    """Return what a file states as its schema. Raises UsageError for a file that is no JSON object."""
    try:
        return msgspec.json.decode(data, type=_Head).schema
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        reason = f"is not evidence: not a whole JSON object ({str(error)[:200]}); {_ORIGIN}"
        raise UsageError(reason, path) from error


def _decode(data: bytes, form: type[Profile] | type[Measured], path: str) -> Profile | Measured:
    try:
        return msgspec.json.decode(data, type=form)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        message, key = _PATH.match(str(error)).groups()  # type: ignore[union-attr]  # matches any text
        where = f"`{key}`: " if key else ""
        raise ReadError(path, f"{where}{message[:1].lower()}{message[1:300]}") from error


def _contradictions(content: Profile | Measured) -> Iterator[str]:
    """Yield what a file states that cannot be true together."""
    if isinstance(content, Measured):
        return
    for number, struct in enumerate(content.structs):
        for index, line in enumerate(struct.lines):
            if line.base != -line.first_byte % line.line_size:
                yield f"`structs[{number}].lines[{index}].base`: contradicts `first_byte` and `line_size`"
            for position, touch in enumerate(line.fields):
                if not 0 <= touch.at - line.first_byte < line.line_size:
                    key = f"structs[{number}].lines[{index}].fields[{position}].at"
                    yield f"`{key}`: contradicts `first_byte` and `line_size`: it is not on the line"
        for index, samples in enumerate(struct.samples):
            if samples.event >= len(content.events):
                yield f"`structs[{number}].samples[{index}].event`: there is no such event in `events`"
