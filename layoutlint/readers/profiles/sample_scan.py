"""Adds up the lines of `perf script`, one for each sample, by address of data.

perf prints columns in an order of its own, whatever the order after -F: command, process and thread, CPU,
time, period, event, address (after page faults with the symbol there), data source, weight, code, symbol
(Linux, tools/perf/builtin-script.c). Addresses are hexadecimal without 0x.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

_ALL = (1 << 64) - 1
_FACTOR = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio, as in multiplicative hashing (Knuth, volume 3, 6.4)."""
_START: Final = 1 << 12

# Bits of a data source. The first six are in the order of `records.COLUMNS`.
REMOTE, LOCAL, PEER, HIT, MISS, UNPLACED, LOAD, STORE, LOCKED, NEITHER = (1 << bit for bit in range(10))
LOADS: Final = 6
STORES: Final = 7
LOCKS: Final = 8
OTHERS: Final = 9
RECORDS: Final = 10
WEIGHED: Final = 11
SYMBOLS: Final = 12
"""What is counted for each address, in the order of the bits; then all samples, and the loads with a weight.
The first symbols come last."""
MOST_SYMBOLS: Final = 6
"""Places in the code that are kept for each address."""
WIDTH: Final = SYMBOLS + MOST_SYMBOLS
_MOST_NAMES: Final = 1 << 16
READ: Final = 1
WRITTEN: Final = 2
# Variables of C if this is compiled.
_WIDTH = WIDTH
_RECORDS = RECORDS
_WEIGHED = WEIGHED
_SYMBOLS = SYMBOLS
_LAST_SYMBOL = WIDTH
_LOAD = LOAD
_WRITES = STORE | LOCKED
_IS_READ = READ
_IS_WRITTEN = WRITTEN
_NAMES_END = _MOST_NAMES
_OFFSET_BASIS = 0xCBF29CE484222325
_PRIME = 0x100000001B3
"""The hash FNV-1a (RFC 9923)."""
_IS_TEXT = 1 << 63
_THREAD_BITS = 0xFFFFFFFF
_LANE_BITS = (1 << 34) - 1


class Numbers:
    """Assigns numbers to keys of 64 bits, from 0 on; all ones is no key."""

    def __init__(self) -> None:
        self.keys = _zeros(_START)
        self.count = 0
        self._slots = memoryview(bytearray(8 * _START)).cast("I")
        self._mask = 2 * _START - 1

    def find(self, key: int) -> int:
        """Return the number of a key; `count` before the call if it is new."""
        slot = self._slot(key)
        while self._slots[slot]:
            if self.keys[self._slots[slot] - 1] == key:
                return self._slots[slot] - 1
            slot = (slot + 1) & self._mask
        if self.count >= len(self.keys):
            self.keys = _double(self.keys)
        self.keys[self.count] = key
        self.count += 1
        self._slots[slot] = self.count
        if 2 * self.count > self._mask:
            self._double_slots()
        return self.count - 1

    def _slot(self, key: int) -> int:
        return (((key * _FACTOR) & _ALL) >> 24) & self._mask

    def _double_slots(self) -> None:
        self._mask = 2 * self._mask + 1
        self._slots = memoryview(bytearray(4 * (self._mask + 1))).cast("I")
        for number in range(self.count):
            slot = self._slot(self.keys[number])
            while self._slots[slot]:
                slot = (slot + 1) & self._mask
            self._slots[slot] = number + 1


class Columns:
    """Which columns the lines have."""

    def __init__(self, names: frozenset[str]) -> None:
        self.comm = "comm" in names
        self.thread = "tid" in names or "pid" in names
        self.cpu = "cpu" in names
        self.time = "time" in names
        self.period = "period" in names
        self.event = "event" in names
        self.source = "data_src" in names
        self.weight = "weight" in names
        self.code = "ip" in names
        self.symbol = "sym" in names


class Scanner:
    """Counts samples by address, and keeps on which CPUs and by which threads each was read and written.

    `decode` returns the bits of a data source, given as a number or as text. `most_addresses` is the number
    of addresses that are kept: if there are more, those with the fewest samples are dropped. `most_uses` is
    the number of pairs of an address and a thread on a CPU.
    """

    def __init__(
        self,
        columns: Columns,
        decode: Callable[[int | bytes], int],
        most_addresses: int = 1 << 17,
        most_uses: int = 1 << 20,
    ) -> None:
        self.columns = columns
        self.line = 0
        """The number of the last line that was read."""
        self.samples = 0
        self.without_address = 0
        self.dropped = 0
        """Samples of addresses that were not kept."""
        self.has_all_uses = True
        self.names: list[tuple[bytes, bool]] = []
        """The symbols of code, and whether it is in the upper half of the addresses."""
        self.threads: dict[int, bytes] = {}
        """The command of each thread."""
        self.addresses = Numbers()
        self.lanes = Numbers()
        """CPUs and threads that ran on them: the CPU times 2^32, and the thread."""
        self._uses = Numbers()
        self._most_addresses = most_addresses
        self._most_uses = most_uses
        self._symbols = Numbers()
        self._sources = Numbers()
        self._source_bits = _zeros(_START)
        self._decode = decode
        self.counts = memoryview(bytearray(4 * _WIDTH * _START)).cast("I")
        self.weights = _zeros(_START)
        self.first_lines = _zeros(_START)
        self.octets = memoryview(b"")
        # The line that is being read.
        self._at = 0
        self._number = 0
        self._thread = 0
        self._cpu = 0
        self._comm_end = 0
        self._bits = 0

    def scan(self, data: bytes, start: int, end: int) -> int:
        """Count the lines from `start` up to `end`, where one ends.

        Return the start of the first line that is no sample of this form, which is not counted; or `end`.
        """
        self.octets = memoryview(data)
        while start < end:
            if not self._take(start):
                return start
            self.line += 1
            start = self._line_end() + 1
        return end

    def _take(self, start: int) -> bool:
        """Count the sample on the line at a position; return whether it is one."""
        if not self._head(start) or not self._hexadecimal():
            return False
        address = self._number
        after = self._at
        if (self.octets[after] != 32 and self.octets[after] != 10) or address == _ALL:
            return False
        self._bits = 0
        weight = 0
        has_weight = False
        if self.columns.source:
            if not self._source(after):
                return False
            after = self._at
        if self.columns.weight or self.columns.code:
            if not self._find_code(after):
                return False
            weight = self._number
            has_weight = self.columns.weight
        symbol = self._symbol() if self.columns.symbol else 0
        self.samples += 1
        if address == 0:
            self.without_address += 1
            return True
        self._count(address, symbol, start)
        if has_weight and self._bits & _LOAD:
            entry = self.addresses.find(address)
            self.weights[entry] += weight
            self.counts[entry * _WIDTH + _WEIGHED] += 1
        return True

    def _head(self, start: int) -> bool:
        """Read the columns before the address, and move to it; return whether they are there.

        A command can have spaces and numbers, so that the columns behind it are tried after each word.
        """
        position = start
        if not self.columns.comm:
            self._comm_end = start
            return self._columns_before(position)
        while True:
            while self.octets[position] == 32:
                position += 1
            if self.octets[position] == 10:
                return False
            while self.octets[position] > 32:
                position += 1
            self._comm_end = position
            if self._columns_before(position):
                return True
            if self.octets[position] != 32:  # a tab or another sign in a command
                if self.octets[position] == 10:
                    return False
                position += 1

    def _columns_before(self, position: int) -> bool:
        """Read the columns between the command and the address; return whether they are there."""
        self._at = position
        self._thread = self._cpu = 0
        if self.columns.thread and not self._thread_number():
            return False
        if self.columns.cpu and not self._cpu_number():
            return False
        if self.columns.time and not self._time():
            return False
        if self.columns.period and not self._decimal():
            return False
        return not self.columns.event or self._event()

    def _thread_number(self) -> bool:
        """Read a thread, or the process with the thread behind `/`."""
        if not self._decimal():
            return False
        if self.octets[self._at] == 47:
            self._at += 1
            if self.octets[self._at] <= 32 or not self._decimal():
                return False
        self._thread = self._number & _THREAD_BITS
        return self.octets[self._at] == 32

    def _cpu_number(self) -> bool:
        """Read a CPU in brackets."""
        self._skip_spaces()
        if self.octets[self._at] != 91:
            return False
        self._at += 1
        if self.octets[self._at] == 32 or not self._decimal() or self.octets[self._at] != 93:
            return False
        self._cpu = self._number & 0xFFFFF
        self._at += 1
        return True

    def _time(self) -> bool:
        """Read seconds with a fraction, and the colon behind."""
        if not self._decimal() or self.octets[self._at] != 46:
            return False
        self._at += 1
        if not self._decimal() or self.octets[self._at] != 58:
            return False
        self._at += 1
        return True

    def _event(self) -> bool:
        """Read the name of an event, and the colon behind."""
        self._skip_spaces()
        first = self._at
        while self.octets[self._at] > 32:
            self._at += 1
        return self._at >= first + 2 and self.octets[self._at - 1] == 58

    def _skip_spaces(self) -> None:
        while self.octets[self._at] == 32:
            self._at += 1

    def _decimal(self) -> bool:
        """Read a number after spaces; return whether there is one of at most 18 digits."""
        position = self._at
        while self.octets[position] == 32:
            position += 1
        first = position
        value = 0
        while 48 <= self.octets[position] <= 57:
            if position - first > 17:
                return False
            value = value * 10 + (self.octets[position] - 48)
            position += 1
        self._at = position
        self._number = value
        return position > first

    def _hexadecimal(self) -> bool:
        """Read a number of 1 to 16 hexadecimal digits after spaces; return whether there is one."""
        position = self._at
        while self.octets[position] == 32:
            position += 1
        first = position
        value = 0
        while True:
            octet = self.octets[position]
            if 48 <= octet <= 57:
                octet -= 48
            elif 97 <= octet <= 102:
                octet -= 87
            else:
                break
            if position - first > 15:
                return False
            value = value << 4 | octet
            position += 1
        self._at = position
        self._number = value
        return position > first

    def _source(self, after: int) -> bool:
        """Read the data source behind a position, as a number, as text or as both; move behind it."""
        position = after
        while self.octets[position] != 10:
            if (
                self.octets[position] == 124
                and self.octets[position + 1] == 79
                and self.octets[position + 2] == 80
                and self.octets[position + 3] == 32
            ):  # `|OP `
                break
            position += 1
        if self.octets[position] == 10:  # the number alone
            self._at = after
            if not self._hexadecimal() or self.octets[self._at] > 32:
                return False
            self._bits = self._bits_of(self._number)
            return True
        first = position
        while first > after and self.octets[first - 1] == 32:
            first -= 1
        while first > after and self.octets[first - 1] > 32:
            first -= 1
        self._at = first
        has_number = first > after and self._hexadecimal() and self.octets[self._at] == 32
        number = self._number
        text = position
        last = position
        while self.octets[position] != 10:  # up to the last `|` before a word in capitals
            if self.octets[position] == 124 and 65 <= self.octets[position + 1] <= 90:
                last = position
            position += 1
        # Two words after it: `LCK No`, `BLK N/A`.
        position = last
        while self.octets[position] > 32:
            position += 1
        while self.octets[position] == 32:
            position += 1
        while self.octets[position] > 32:
            position += 1
        self._at = position
        self._bits = self._bits_of(number) if has_number else self._bits_of_text(text, position)
        return True

    def _bits_of(self, number: int) -> int:
        if number == _ALL:
            return 0
        place = self._sources.count
        source = self._sources.find(number)
        if source == place:
            self._add_source(source, self._decode(number))
        return self._source_bits[source]

    def _bits_of_text(self, start: int, end: int) -> int:
        place = self._sources.count
        source = self._sources.find(self._hash(start, end) | _IS_TEXT)
        if source == place:
            self._add_source(source, self._decode(bytes(self.octets[start:end])))
        return self._source_bits[source]

    def _add_source(self, source: int, bits: int) -> None:
        while source >= len(self._source_bits):
            self._source_bits = _double(self._source_bits)
        self._source_bits[source] = bits

    def _hash(self, start: int, end: int) -> int:
        value = _OFFSET_BASIS
        for position in range(start, end):
            value = ((value ^ self.octets[position]) * _PRIME) & _ALL
        return value >> 1

    def _find_code(self, after: int) -> bool:
        """Move behind the address of the code, which perf aligns; `_number` is then the weight before it."""
        position = after
        weight = 0
        aligned = unaligned = 0
        aligned_weight = unaligned_weight = 0
        has_weight = False
        previous_end = after
        while True:
            while self.octets[position] == 32:
                position += 1
            if self.octets[position] == 10:
                break
            first = position
            value = 0
            digits = True
            is_hexadecimal = True
            while self.octets[position] > 32:
                octet = self.octets[position]
                if 48 <= octet <= 57:
                    value = (value * 10 + (octet - 48)) & _ALL
                else:
                    digits = False
                    is_hexadecimal = is_hexadecimal and 97 <= octet <= 102
                position += 1
            is_hexadecimal = is_hexadecimal and position - first <= 16
            digits = digits and position - first <= 18
            if not self.columns.code and digits:
                self._at = position
                self._number = value
                return True
            if is_hexadecimal and (has_weight or not self.columns.weight):
                if position - previous_end == 17:
                    aligned = position
                    aligned_weight = weight
                    break
                if not unaligned:
                    unaligned = position
                    unaligned_weight = weight
            has_weight = digits
            weight = value
            previous_end = position
            if self.octets[position] != 32:
                break
        if not aligned and not unaligned:
            return False
        self._at = aligned or unaligned
        self._number = aligned_weight if aligned else unaligned_weight
        return True

    def _symbol(self) -> int:
        """Return one more than the number of the symbol at the end of the line; 0 if there are too many."""
        code_end = self._at
        # perf aligns addresses at 16 digits, so that only one of the upper half begins with a digit from 8 on
        is_high = code_end > 16 and self.octets[code_end - 16] >= 56 and self.octets[code_end - 17] == 32
        self._skip_spaces()
        end = self._line_end()
        if end == self._at:
            return 0
        place = self._symbols.count
        if place >= _NAMES_END - 1:
            return 0
        number = self._symbols.find(self._hash(self._at, end) << 1 | is_high)
        if number == place:
            self.names.append((bytes(self.octets[self._at : end]), bool(is_high)))
        self._at = end
        return number + 1

    def _line_end(self) -> int:
        position = self._at
        while self.octets[position] != 10:
            position += 1
        return position

    def _count(self, address: int, symbol: int, start: int) -> None:
        place = self.addresses.count
        entry = self.addresses.find(address)
        if entry == place:
            if place >= self._most_addresses:
                self._drop_rare()
                place = self.addresses.count - 1
                entry = place
            self._add_entry(entry)
        row = entry * _WIDTH
        bits = self._bits
        column = row
        while bits:
            if bits & 1:
                self.counts[column] += 1
            bits >>= 1
            column += 1
        self.counts[row + _RECORDS] += 1
        if symbol:
            for column in range(row + _SYMBOLS, row + _LAST_SYMBOL):
                if self.counts[column] == 0:
                    self.counts[column] = symbol
                if self.counts[column] == symbol:
                    break
        self._add_use(entry, start)

    def _add_entry(self, entry: int) -> None:
        while entry >= len(self.weights):
            self.weights = _double(self.weights)
            self.first_lines = _double(self.first_lines)
            self.counts = memoryview(bytearray(self.counts) + bytes(4 * len(self.counts))).cast("I")
        self.first_lines[entry] = self.line + 1

    def _add_use(self, entry: int, start: int) -> None:
        if not self.has_all_uses:
            return
        place = self.lanes.count
        lane = self.lanes.find(self._cpu << 32 | self._thread)
        if lane == place and self._thread not in self.threads:
            self.threads[self._thread] = bytes(self.octets[start : self._comm_end])
        use = entry << 34 | lane << 2
        if self._bits & _LOAD:
            use |= _IS_READ
        if self._bits & _WRITES:
            use |= _IS_WRITTEN
        self._uses.find(use)
        if self._uses.count > self._most_uses:
            self.has_all_uses = False
            self._uses = Numbers()

    def _drop_rare(self) -> None:
        """Drop the addresses with the fewest samples, until half of all are left; the last one stays."""
        counts, keys, weights, lines, uses = (
            self.counts, self.addresses.keys, self.weights, self.first_lines, self._uses
        )  # fmt: skip
        count = self.addresses.count - 1
        most = 1
        kept = count
        while 2 * kept > count:
            kept = 0
            for entry in range(count):
                kept += counts[entry * _WIDTH + _RECORDS] > most
            most *= 2
        most //= 2
        self.addresses = Numbers()
        self.counts = memoryview(bytearray(4 * len(counts))).cast("I")
        self.weights, self.first_lines = _zeros(len(weights)), _zeros(len(lines))
        moved = _zeros(count + 1)
        """One more than the new number of each address; 0 for those that are dropped."""
        for entry in range(count):
            if counts[entry * _WIDTH + _RECORDS] <= most:
                self.dropped += counts[entry * _WIDTH + _RECORDS]
                continue
            number = self.addresses.find(keys[entry])
            moved[entry] = number + 1
            for column in range(_WIDTH):
                self.counts[number * _WIDTH + column] = counts[entry * _WIDTH + column]
            self.weights[number], self.first_lines[number] = weights[entry], lines[entry]
        self._uses = Numbers()
        for place in range(uses.count):
            use = uses.keys[place]
            if moved[use >> 34]:
                self._uses.find((moved[use >> 34] - 1) << 34 | use & _LANE_BITS)
        self.addresses.find(keys[count])

    def uses(self, entries: set[int]) -> list[tuple[int, int, int]]:
        """Return each use of some addresses: the number of the address, that of the lane, and the bits READ
        and WRITTEN.
        """
        uses = []
        for place in range(self._uses.count):
            use = self._uses.keys[place]
            if use >> 34 in entries:
                uses.append((use >> 34, use >> 2 & 0xFFFFFFFF, use & 3))
        return uses


def _zeros(count: int) -> memoryview:
    return memoryview(bytearray(8 * count)).cast("Q")


def _double(words: memoryview) -> memoryview:
    """Return a table of these words, with room for as many again."""
    return memoryview(bytearray(words) + bytes(8 * len(words))).cast("Q")
