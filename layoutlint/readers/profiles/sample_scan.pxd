cimport cython

cdef unsigned long long _ALL, _FACTOR, _LOAD, _WRITES, _IS_READ, _IS_WRITTEN, _OFFSET_BASIS, _PRIME, _IS_TEXT, _THREAD_BITS, _LANE_BITS
cdef Py_ssize_t _WIDTH, _RECORDS, _WEIGHED, _SYMBOLS, _LAST_SYMBOL, _NAMES_END


@cython.final
cdef class Numbers:
    cdef public unsigned long long[::1] keys
    cdef public Py_ssize_t count
    cdef unsigned int[::1] _slots
    cdef Py_ssize_t _mask

    @cython.locals(slot=Py_ssize_t)
    cpdef Py_ssize_t find(self, unsigned long long key) except -1
    cdef Py_ssize_t _slot(self, unsigned long long key) noexcept
    @cython.locals(number=Py_ssize_t, slot=Py_ssize_t)
    cdef void _double_slots(self) except *


@cython.final
cdef class Columns:
    cdef public bint comm, thread, cpu, time, period, event, source, weight, code, symbol


@cython.final
cdef class Scanner:
    cdef public Columns columns
    cdef public unsigned long long line, samples, without_address, dropped
    cdef public bint has_all_uses
    cdef public list names
    cdef public dict threads
    cdef public Numbers addresses, lanes
    cdef Numbers _uses, _symbols, _sources
    cdef Py_ssize_t _most_addresses, _most_uses
    cdef unsigned long long[::1] _source_bits
    cdef object _decode
    cdef public unsigned int[::1] counts
    cdef public unsigned long long[::1] weights, first_lines
    cdef const unsigned char[::1] octets
    cdef Py_ssize_t _at, _comm_end
    cdef unsigned long long _number, _thread, _cpu, _bits

    cpdef Py_ssize_t scan(self, bytes data, Py_ssize_t start, Py_ssize_t end) except -1
    @cython.locals(
        address="unsigned long long", after=Py_ssize_t, weight="unsigned long long", has_weight=bint, symbol=Py_ssize_t,
        entry=Py_ssize_t,
    )
    cdef bint _take(self, Py_ssize_t start) except -1
    @cython.locals(position=Py_ssize_t)
    cdef bint _head(self, Py_ssize_t start) except -1
    cdef bint _columns_before(self, Py_ssize_t position) except -1
    cdef bint _thread_number(self) except -1
    cdef bint _cpu_number(self) except -1
    cdef bint _time(self) except -1
    @cython.locals(first=Py_ssize_t)
    cdef bint _event(self) except -1
    cdef void _skip_spaces(self) except *
    @cython.locals(position=Py_ssize_t, first=Py_ssize_t, value="unsigned long long")
    cdef bint _decimal(self) except -1
    @cython.locals(position=Py_ssize_t, first=Py_ssize_t, value="unsigned long long", octet="unsigned int")
    cdef bint _hexadecimal(self) except -1
    @cython.locals(
        position=Py_ssize_t, first=Py_ssize_t, has_number=bint, number="unsigned long long", text=Py_ssize_t, last=Py_ssize_t
    )
    cdef bint _source(self, Py_ssize_t after) except -1
    @cython.locals(place=Py_ssize_t, source=Py_ssize_t)
    cdef unsigned long long _bits_of(self, unsigned long long number) except? 0xFFFFFFFFFFFFFFFF
    @cython.locals(place=Py_ssize_t, source=Py_ssize_t)
    cdef unsigned long long _bits_of_text(self, Py_ssize_t start, Py_ssize_t end) except? 0xFFFFFFFFFFFFFFFF
    cdef void _add_source(self, Py_ssize_t source, unsigned long long bits) except *
    @cython.locals(value="unsigned long long", position=Py_ssize_t)
    cdef unsigned long long _hash(self, Py_ssize_t start, Py_ssize_t end) except? 0xFFFFFFFFFFFFFFFF
    @cython.locals(
        position=Py_ssize_t, weight="unsigned long long", aligned=Py_ssize_t, unaligned=Py_ssize_t,
        aligned_weight="unsigned long long", unaligned_weight="unsigned long long", has_weight=bint, previous_end=Py_ssize_t,
        first=Py_ssize_t, value="unsigned long long", digits=bint, is_hexadecimal=bint, octet="unsigned int",
    )
    cdef bint _find_code(self, Py_ssize_t after) except -1
    @cython.locals(
        code_end=Py_ssize_t, is_high="unsigned long long", end=Py_ssize_t, place=Py_ssize_t, number=Py_ssize_t
    )
    cdef Py_ssize_t _symbol(self) except -1
    @cython.locals(position=Py_ssize_t)
    cdef Py_ssize_t _line_end(self) except -1
    @cython.locals(
        place=Py_ssize_t, entry=Py_ssize_t, row=Py_ssize_t, bits="unsigned long long", column=Py_ssize_t
    )
    cdef void _count(self, unsigned long long address, Py_ssize_t symbol, Py_ssize_t start) except *
    cdef void _add_entry(self, Py_ssize_t entry) except *
    @cython.locals(place=Py_ssize_t, lane="unsigned long long", use="unsigned long long")
    cdef void _add_use(self, unsigned long long entry, Py_ssize_t start) except *
    @cython.locals(
        counts="unsigned int[::1]", keys="unsigned long long[::1]", weights="unsigned long long[::1]",
        lines="unsigned long long[::1]", uses=Numbers, count=Py_ssize_t, most="unsigned int", kept=Py_ssize_t, entry=Py_ssize_t,
        moved="unsigned long long[::1]", number=Py_ssize_t, column=Py_ssize_t, place=Py_ssize_t, use="unsigned long long",
    )
    cdef void _drop_rare(self) except *
    @cython.locals(place=Py_ssize_t, use="unsigned long long")
    cpdef list uses(self, set entries)
