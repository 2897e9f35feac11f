"""Facts that a report of a profiler states. Offsets are in bytes, `line` is a line of the report."""

from __future__ import annotations

from typing import Literal

from layoutlint.model.json_object import JsonObject, Natural
from layoutlint.model.record import Record, field
from layoutlint.readers.profiles import sample_scan
from layoutlint.readers.profiles.sample_scan import Scanner

Role = Literal["load", "store", "any"]
"""What an event counts: loads, stores, or both without a distinction."""


class ReportHeader(Record, frozen=True):
    """The facts that a report states about its recording; None for those that it does not state."""

    captured: str | None = None
    """When the profile was recorded, as perf prints it."""
    release: str | None = None
    """The release of Linux on which it was recorded."""
    tool: str | None = None
    """The version of perf."""
    build_ids: tuple[tuple[str, str, int], ...] = ()
    """Build ids with the path of the file, and the line, as `perf buildid-list` prints them."""


class Counts(
    JsonObject, frozen=True, rename={"hits": "l1_hit", "misses": "l1_miss", "unplaced": "other"}
):  # fmt: skip
    """Samples of a cache line, or of an offset on it. Those of an offset are rounded: perf prints shares."""

    remote: Natural = 0
    """Loads that hit a line which another node's cache had (see `snoops`)."""
    local: Natural = 0
    """The same in a cache of the same node."""
    peer: Natural = 0
    """Loads from any peer, in reports that count them beside modified lines."""
    hits: Natural = 0
    """Stores that hit the L1 cache."""
    misses: Natural = 0
    """Stores that missed it."""
    unplaced: Natural = 0
    """Stores without a cache level."""

    @property
    def contended_loads(self) -> int:
        """Loads that got the line from a cache that had it."""
        return self.remote + self.local + self.peer

    @property
    def stores(self) -> int:
        """All stores."""
        return self.hits + self.misses + self.unplaced


COLUMNS = ("remote", "local", "peer", "hits", "misses", "unplaced")
"""The fields of Counts."""


class Code(Record, frozen=True):
    """Code that touched an offset."""

    symbol: str
    source: str = ""
    """File and line, or symbol and offset, as the report has them; empty if it has none."""
    is_kernel: bool = False
    """Whether it is code of the kernel."""


class Thread(JsonObject, frozen=True, rename={"number": "tid", "writes": "written", "reads": "read"}):
    """A thread that accessed a field."""

    number: Natural
    """Its number (`tid`)."""
    name: str
    """Its command, at its first sample; empty without the column `comm`."""
    writes: bool | None
    """Whether it wrote the field. Null without the column `data_src`."""
    reads: bool | None
    """Whether it read the field. Null without the column `data_src`."""


class Uses(Record, frozen=True):
    """Where samples of one address were taken; None if it is not known. CPUs are in ascending order."""

    cpus: tuple[int, ...] | None = None
    written_on: tuple[int, ...] | None = None
    """The CPUs with stores or locked accesses."""
    read_on: tuple[int, ...] | None = None
    """The CPUs with loads."""
    threads: tuple[Thread, ...] | None = None


class Touch(Record, frozen=True):
    """All rows of a report on one offset of a cache line."""

    offset: int
    """From the start of the line."""
    counts: Counts
    records: int | None
    """Loads and stores; None if the report does not count them."""
    has_stores: bool
    """Whether a row has a share of the stores, even if it rounds to no store."""
    has_snoops: bool
    """Whether a row has a share of the contended loads."""
    cpus: int
    """The most CPUs on which one place in the code touched it."""
    codes: tuple[Code, ...]
    """The first different ones."""
    lines: tuple[int, ...]
    loads: int | None = None
    """All loads; None if the report does not count them."""
    locked: int | None = None
    """Loads and stores by locked instructions; None if the report does not count them."""
    weight: float | None = None
    """The mean weight of the loads; None without weights."""
    uses: Uses = Uses()


class LineBlock(Record, frozen=True):
    """A cache line with the offsets that were touched."""

    address: int
    counts: Counts
    touches: tuple[Touch, ...]
    """By offset."""
    line: int
    covered: float = 100.0
    """Percent of the counts that the rows have, at least: less in an excerpt."""


class TypeRow(Record, frozen=True):
    """The samples of one offset of a type, or of one member of a printed type."""

    type_name: str
    """As perf prints it: `struct page`."""
    offset: int
    path: str | None
    """The member that perf names; None if it says that there is none, empty for one without a name."""
    share: float | None
    """Percent, of the samples of `EventProfile.scope`; None if only counts are printed."""
    samples: int | None
    line: int
    size: int | None = None
    """Bytes of the member; None if the report does not state it."""
    is_cut: bool = False
    """Whether only the beginning of `path` is known: perf cuts columns off with `-t` and `-w`."""
    file: str = ""
    """The program that the type is from; empty if the report does not state it."""


class TypeSize(Record, frozen=True):
    """The size of a whole type that a report prints."""

    type_name: str
    size: int
    line: int
    file: str = ""
    """The program that it is from."""


class EventProfile(Record, frozen=True):
    """The types and offsets that samples of one event touched."""

    name: str | None
    """None if the report does not name its event."""
    role: Role
    line: int
    rows: tuple[TypeRow, ...]
    sizes: tuple[TypeSize, ...] = ()
    unknown: float | None = None
    """Percent of the samples whose type perf could not find; None if the report does not state it."""
    scalars: float = 0.0
    """Percent of the samples in types without members, or on the stack."""
    scope: Literal["event", "type"] = "event"
    """What shares are parts of: the event, or the type in a report that prints one type after the other."""


class Mapping(Record, frozen=True):
    """A part of a file in memory, as perf recorded it; numbers in bytes."""

    process: int
    """-1 for the kernel."""
    start: int
    size: int
    offset: int
    """Of the part in the file; for the kernel the address of the symbol behind `]` in its name."""
    access: str
    """As in /proc/PID/maps: `r-xp`."""
    file: str
    line: int


class Samples(Record):
    """The samples of one report, by address of data."""

    path: str
    columns: frozenset[str]
    scanner: Scanner
    first_line: int = 0
    """The line of the first sample."""
    mappings: list[Mapping] = field(default_factory=list)
    lost: int = 0
    """Samples that perf states as lost."""

    @property
    def undecoded(self) -> int:
        """The samples whose data source states neither a load nor a store."""
        counts, width = self.scanner.counts, sample_scan.WIDTH
        return sum(
            counts[entry * width + sample_scan.OTHERS] for entry in range(self.scanner.addresses.count)
        )

    def addresses(self) -> list[int]:
        """Return all addresses, in the order of their first samples."""
        return list(self.scanner.addresses.keys[: self.scanner.addresses.count])


Format = Literal["perf c2c", "perf report", "perf annotate", "perf script"]


class Profile(Record, frozen=True):
    """All facts that one report states."""

    path: str
    formats: tuple[Format, ...]
    header: ReportHeader
    blocks: tuple[LineBlock, ...] = ()
    omitted: int = 0
    """Cache lines that were read and not kept: those after the first, which are the hottest."""
    listed: int = 0
    """Cache lines in the table of lines."""
    has_line_tables: bool = True
    """Whether there are tables of cache lines, if only empty ones; `perf c2c report --stats` prints none."""
    records: int | None = None
    """All samples of a report of perf c2c; None if it does not state them."""
    is_peer: bool = False
    """Whether `Counts.remote` and `local` are peer snoops, not HITMs."""
    events: tuple[EventProfile, ...] = ()
    samples: Samples | None = None
    """Of a report of samples, of which the reader of the report makes cache lines of a size."""
    notes: tuple[str, ...] = ()
