"""Samples as `perf script` prints them, with the addresses of data: one line each, read as a stream.

The data source is the union perf_mem_data_src (Linux, include/uapi/linux/perf_event.h), and is counted as
`perf c2c` does (tools/perf/util/mem-events.c).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import product
from typing import BinaryIO

from layoutlint.errors import ReadError
from layoutlint.model.structs import Source
from layoutlint.readers.profiles import sample_scan
from layoutlint.readers.profiles.records import (
    Code,
    Counts,
    LineBlock,
    Mapping,
    Samples,
    Thread,
    Touch,
    Uses,
)
from layoutlint.readers.profiles.sample_scan import Columns, Scanner

COLUMNS = ("comm", "pid", "tid", "cpu", "time", "period", "event", "addr", "data_src", "weight", "ip", "sym")
"""The columns that are read, in the order in which perf prints them; `symoff` and `dso` belong to `sym`."""
COMMAND = "`perf script --show-mmap-events -F comm,tid,cpu,time,event,ip,sym,addr,data_src,weight`"
_PARTS = ("symoff", "dso")
_PIECE = 1 << 20
_LONGEST = 1 << 16
_MOST_MAPPINGS = 100_000
_MOST_WANTED, _MOST_OTHERS = 5_000, 2_000
"""Cache lines that are kept with wanted addresses, and without: the most contended ones."""
_MOST_THREADS = 1_000

_EVENT = "PERF_RECORD_"
_MIGHT_BE = re.compile(r":\s+[0-9a-f]{1,16}(?:\s|$)")
_FORMS = {
    "comm": r"\S.*?\s+",
    "tid": r"-?\d+(?:/-?\d+)?\s+",
    "cpu": r"\[\d+\]\s+",
    "time": r"\d+\.\d+:\s+",
    "period": r"\d+\s+",
    "event": r"\S*[^\s\d.]\S*:\s+",
}
_SOURCE = re.compile(r"\|OP (?:.*\|[A-Z]+\s+)?\S+(?P<rest>\s.*|)$")
_MAPPING = re.compile(
    r"PERF_RECORD_MMAP2? (-?\d+)/-?\d+: \[(0x[0-9a-f]{1,16})\((0x[0-9a-f]{1,16})\) @ (0x[0-9a-f]{1,16}|0)"
    r"(?: <?([0-9a-f]{16,64})>?| [^\]]*)?\]: (\S+) (.*)$"
)
_LOST = re.compile(r"PERF_RECORD_LOST\w* lost (\d{1,18})")
_ADDRESS = re.compile(r"(?P<address>-[0-9a-f]+|0x[0-9a-fA-F]+|f{16}|[0-9a-fA-F]{17,})(?:\s|$)")


def form_of(text: str) -> frozenset[str] | None:
    """Return the columns of a line, told by their form; None for a line that is no sample.

    A sample has a thread, an event and an address of data, and a CPU or a time.
    """
    if _MIGHT_BE.search(text) is None or text.startswith("#"):
        return None
    for has_comm, has_cpu, has_time, has_period in product((True, False), repeat=4):
        present = {"comm": has_comm, "cpu": has_cpu, "time": has_time, "period": has_period}
        names = [name for name in _FORMS if present.get(name, True)]
        match = re.match(rf"\s*{''.join(_FORMS[name] for name in names)}[0-9a-f]{{1,16}}(?=\s|$)", text)
        if match is not None and (has_cpu or has_time):
            return frozenset((*names, "addr", *_later_columns(text[match.end() :])))
    return None


def _later_columns(text: str) -> Iterator[str]:
    """Yield the columns behind the address. perf aligns the address of code, unless it is behind padding."""
    source = _SOURCE.search(text)
    if source is not None:
        yield "data_src"
        text = source["rest"]
    words = list(re.finditer(r"\S+", text))
    ends = [0, *(word.end() for word in words)]
    aligned = [n for n, word in enumerate(words) if _is_hex(word[0]) and word.end() - ends[n] == 17]
    has_weight = bool(words) and words[0][0].isdecimal() and 1 in aligned
    if source is None or has_weight:
        code = 1 if has_weight else next(iter(aligned), None)
    else:
        has_weight = len(words) == 1 and words[0][0].isdecimal()
        code = 0 if words and not has_weight and _is_hex(words[0][0]) else None
    if has_weight:
        yield "weight"
    if code is not None:
        yield "ip"
        if words[code + 1 :]:
            yield "sym"


def _is_hex(word: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{1,16}", word) is not None


def check_fields(names: str) -> frozenset[str]:
    """Return the columns that a list names, as after -F. Raises ValueError for one that cannot be read."""
    every = frozenset(filter(None, names.split(",")))
    wrong = sorted(every.difference(COLUMNS, _PARTS))
    if wrong:
        raise ValueError(f"column {wrong[0]!r} is not read; these are: {','.join(COLUMNS + _PARTS)}")
    if "addr" not in every:
        raise ValueError("samples need the column addr")
    if "sym" in every and "ip" not in every:
        raise ValueError("the column sym is read behind ip only")
    return every - frozenset(_PARTS)


def is_start(text: str) -> bool:
    """Return whether a line is the first one of samples: one of them, or an event beside them."""
    return _EVENT in text or form_of(text) is not None


def read(
    file: BinaryIO,
    path: str,
    first: tuple[int, str],
    columns: frozenset[str] | None,
    take_header: Callable[[int, str], bool],
) -> Samples:
    """Return the samples of an open report, from a line (number and text) on.

    `columns` are theirs; None tells them by the form of the first one. Raises ReadError with the place of a
    line that is neither a sample of these columns nor an event of perf.
    """
    scanner = Scanner(Columns(columns or frozenset()), _bits_of)
    samples = Samples(path, columns or frozenset(), scanner)
    scanner.line = first[0] - 1
    rest = first[1].encode("utf-8", "backslashreplace") + b"\n"
    while piece := file.read(_PIECE):
        rest += piece
        end = rest.rfind(b"\n") + 1
        if len(rest) - end > _LONGEST:
            raise ReadError(Source(path, scanner.line + 1), f"a line is longer than {_LONGEST:,} bytes")
        _scan(samples, rest, end, take_header)
        rest = rest[end:]
    if rest:
        _scan(samples, rest if rest.endswith(b"\n") else rest + b"\n", len(rest) + 1, take_header)
    if not scanner.samples:
        raise ReadError(path, f"has no samples; print them with {COMMAND}")
    return samples


def _scan(samples: Samples, data: bytes, end: int, take_header: Callable[[int, str], bool]) -> None:
    """Count all lines of a piece of the report, up to the end of one."""
    scanner = samples.scanner
    end = min(end, len(data))
    start = 0
    while True:
        if samples.columns:
            start = scanner.scan(data, start, end)
        if start >= end:
            return
        line_end = data.index(b"\n", start)
        text = data[start:line_end].decode("utf-8", "backslashreplace").rstrip("\r")
        if not samples.columns and (columns := form_of(text)) is not None:
            samples.columns, samples.first_line = columns, scanner.line + 1
            scanner.columns = Columns(columns)
            if scanner.scan(data, start, line_end + 1) == start:
                raise ReadError(Source(samples.path, scanner.line + 1), _reason(samples, text))
        else:
            scanner.line += 1
            _take_other(samples, scanner.line, text, take_header)
        start = line_end + 1


def _take_other(samples: Samples, number: int, text: str, take_header: Callable[[int, str], bool]) -> None:
    """Read a line that is no sample; raises ReadError for one that should be one."""
    if not text.strip() or text.startswith("#") or take_header(number, text):
        return
    if _EVENT not in text:
        raise ReadError(Source(samples.path, number), _reason(samples, text))
    mapping, lost = _MAPPING.search(text), _LOST.search(text)
    if lost is not None:
        samples.lost += int(lost[1])
    if mapping is not None and len(samples.mappings) < _MOST_MAPPINGS:
        process, start, size, offset, identity, access, file = mapping.groups()
        samples.mappings.append(
            Mapping(int(process), int(start, 16), int(size, 16), int(offset, 16), access, file, number)
        )
        if identity:  # recorded with --buildid-mmap
            take_header(number, f"{identity} {file}")


def _reason(samples: Samples, text: str) -> str:
    """Return what is wrong with a line that is no sample of the columns of the report."""
    names = ",".join(name for name in COLUMNS if name in samples.columns)
    address = _ADDRESS.search(text.partition(": ")[2])
    if address is not None and text.count(": ") and samples.scanner.samples:
        word = address["address"]
        if word.startswith("-"):
            return f"the address {word} is negative"
        if len(word.removeprefix("0x")) > 16:
            return f"the address {word} has more than 64 bits"
        if word.startswith("0x"):
            return f"the address {word} begins with 0x, which perf script does not print"
        return f"the address {word} is 2^64-1, where no data can be"
    if re.match(r"\s+[0-9a-f]{1,16} \S", text):
        return "is a call chain; print the samples without (`perf script -G`)"
    if not samples.first_line:
        of = f"are not {names}" if names else "are not told by its form; name them with --fields"
        return f"the line is cut off, or its columns {of}"
    return f"the line is cut off, or has other columns than {names}, which line {samples.first_line:,} has"


_OP_LOAD, _OP_STORE = 2, 4
_LEVEL_HIT, _LEVEL_MISS, _LEVEL_L1, _LEVEL_REMOTE = 2, 4, 8, 0x400 | 0x800
_SNOOP_MODIFIED, _SNOOP_PEER, _IS_LOCKED = 0x10, 2, 2


def _bits_of(source: int | bytes) -> int:
    """Return what a data source says, in bits of `sample_scan`."""
    if isinstance(source, bytes):
        return _text_bits(source.decode("utf-8", "replace"))
    level = source >> 5 & 0x3FFF
    return _join_bits(
        bool(source & _OP_LOAD),
        bool(source & _OP_STORE),
        bool(source >> 24 & _IS_LOCKED),
        bool(source >> 19 & _SNOOP_MODIFIED),
        bool(level & _LEVEL_REMOTE or source >> 37 & 1),
        bool(source >> 38 & _SNOOP_PEER),
        bool(level & _LEVEL_L1 and level & _LEVEL_HIT),
        bool(level & _LEVEL_L1 and level & _LEVEL_MISS),
    )


def _text_bits(text: str) -> int:
    """Return what the text of a data source says, such as `|OP LOAD|LVL L3 hit|SNP HitM|LCK No`."""
    parts = dict(part.partition(" ")[::2] for part in text.split("|") if part)
    level, snoop, operation = parts.get("LVL", ""), parts.get("SNP", ""), parts.get("OP", "").split()
    return _join_bits(
        "LOAD" in operation,
        "STORE" in operation,
        "Yes" in parts.get("LCK", ""),
        "HitM" in snoop,
        "Remote" in level,
        "Peer" in snoop,
        "L1" in level and "hit" in level,
        "L1" in level and "miss" in level,
    )


def _join_bits(
    is_load: bool, is_store: bool, is_locked: bool, is_modified: bool, is_remote: bool, is_peer: bool,
    hits: bool, misses: bool,
) -> int:  # fmt: skip
    bits = sample_scan.LOCKED if is_locked and (is_load or is_store) else 0
    if is_load:
        bits |= sample_scan.LOAD
        if is_modified:
            bits |= sample_scan.REMOTE if is_remote else sample_scan.LOCAL
        elif is_peer:
            bits |= sample_scan.PEER
    if is_store:
        bits |= sample_scan.STORE
        bits |= sample_scan.HIT if hits else sample_scan.MISS if misses else sample_scan.UNPLACED
    return bits or sample_scan.NEITHER


def line_blocks(
    samples: Samples, line_size: int, is_wanted: Callable[[int], bool]
) -> tuple[tuple[LineBlock, ...], int]:
    """Return the cache lines of samples, the most contended ones first, and the number of all others.

    Of those with a wanted address more are kept.
    """
    lines: dict[int, list[int]] = {}
    for entry, address in enumerate(samples.addresses()):
        lines.setdefault(address - address % line_size, []).append(entry)
    ordered = sorted(lines.items(), key=lambda item: _heat(samples.scanner, item[1]), reverse=True)
    addresses = samples.scanner.addresses.keys
    left = {True: _MOST_WANTED, False: _MOST_OTHERS}
    kept = []
    for address, entries in ordered:
        is_own = any(is_wanted(addresses[entry]) for entry in entries)
        left[is_own] -= 1
        if left[is_own] >= 0:
            kept.append((address, entries))
    uses = _uses(samples, {entry for _, entries in kept for entry in entries})
    names = _codes(samples.scanner)
    blocks = []
    for address, entries in kept:
        entries.sort(key=addresses.__getitem__)
        touches = tuple(_touch(samples, entry, address, uses.get(entry, []), names) for entry in entries)
        counts = Counts(
            *(sum(getattr(touch.counts, name) for touch in touches) for name in Counts.__struct_fields__)
        )
        line = min(touch.lines[0] for touch in touches)
        blocks.append(LineBlock(address, counts, touches, line))
    return tuple(blocks), len(ordered) - len(kept)


def _heat(scanner: Scanner, entries: list[int]) -> tuple[int, int, int]:
    """Return the contended loads, the writes and all samples of a line."""
    counts, width = scanner.counts, sample_scan.WIDTH
    contended = writes = records = 0
    for entry in entries:
        row = entry * width
        contended += counts[row] + counts[row + 1] + counts[row + 2]
        writes += counts[row + sample_scan.STORES] + counts[row + sample_scan.LOCKS]
        records += counts[row + sample_scan.RECORDS]
    return contended, writes, records


def _uses(samples: Samples, entries: set[int]) -> dict[int, list[tuple[int, int]]]:
    """Return the lanes that used each address, with the bits of how."""
    uses: dict[int, list[tuple[int, int]]] = {}
    for entry, lane, bits in samples.scanner.uses(entries):
        uses.setdefault(entry, []).append((lane, bits))
    return uses


def _codes(scanner: Scanner) -> list[Code]:
    """Return the symbols of the samples; an offset and a file behind one are left out."""
    codes = []
    for name, is_kernel in scanner.names:
        text = name.decode("utf-8", "backslashreplace").rstrip()
        text = re.sub(r"(?:\+0x[0-9a-f]+)?(?: \(\S.*\))?$", "", text)
        codes.append(Code(text or "[unknown]", "", is_kernel))
    return codes


def _touch(
    samples: Samples, entry: int, line: int, lanes: list[tuple[int, int]], codes: list[Code]
) -> Touch:
    scanner = samples.scanner
    row = list(scanner.counts[entry * sample_scan.WIDTH : (entry + 1) * sample_scan.WIDTH])
    has_source = "data_src" in samples.columns
    uses = _field_uses(samples, lanes) if scanner.has_all_uses else Uses()
    weighed = row[sample_scan.WEIGHED]
    return Touch(
        scanner.addresses.keys[entry] - line,
        Counts(*row[:6]),
        row[sample_scan.RECORDS],
        bool(row[sample_scan.STORES] or row[sample_scan.LOCKS]),
        any(row[:3]),
        len(uses.cpus or ()),
        tuple(dict.fromkeys(codes[number - 1] for number in row[sample_scan.SYMBOLS :] if number)),
        (scanner.first_lines[entry],),
        row[sample_scan.LOADS] if has_source else None,
        row[sample_scan.LOCKS] if has_source else None,
        scanner.weights[entry] / weighed if weighed else None,
        uses,
    )


def _field_uses(samples: Samples, lanes: list[tuple[int, int]]) -> Uses:
    """Return on which CPUs and by which threads an address was accessed, as far as the columns tell."""
    keys, columns = samples.scanner.lanes.keys, samples.columns
    cpus: dict[int, int] = {}
    threads: dict[int, int] = {}
    for lane, bits in lanes:
        cpu, thread = keys[lane] >> 32, keys[lane] & 0xFFFFFFFF
        cpus[cpu] = cpus.get(cpu, 0) | bits
        threads[thread] = threads.get(thread, 0) | bits
    has_source = "data_src" in columns
    return Uses(
        tuple(sorted(cpus)) if "cpu" in columns else None,
        _with(cpus, sample_scan.WRITTEN) if "cpu" in columns and has_source else None,
        _with(cpus, sample_scan.READ) if "cpu" in columns and has_source else None,
        tuple(
            Thread(
                number,
                samples.scanner.threads.get(number, b"").decode("utf-8", "backslashreplace").strip(),
                bool(bits & sample_scan.WRITTEN) if has_source else None,
                bool(bits & sample_scan.READ) if has_source else None,
            )
            for number, bits in sorted(threads.items())[:_MOST_THREADS]
        )
        if columns & {"tid", "pid"}
        else None,
    )


def _with(cpus: dict[int, int], bit: int) -> tuple[int, ...]:
    return tuple(sorted(cpu for cpu, bits in cpus.items() if bits & bit))
