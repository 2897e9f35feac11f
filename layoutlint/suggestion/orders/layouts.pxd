cimport cython

cdef long long _APART, _ON_ONE_LINE, _LINE_BEGINS, _WITHIN, _FEW_LINES
cdef long long _BETWEEN, _BEFORE, _DISTANCE, _SIDE_BY_SIDE, _HOLES, _NEVER
cdef long long _BEFORE_ALL, _TOGETHER, _IN_ORDER, _FIRST, _OFFSET, _SPACING, _SIZE
cdef long long _WIDTH, _LIMIT_WIDTH, _FAR


@cython.final
cdef class Tables:
    cdef long long[::1] masks, bases, has_fields, is_solid, gaps, advances, touched, reaches
    cdef long long[::1] field_tokens, field_starts, field_bits, starts
    cdef long long[::1] begins, places, first, last, _sorted, is_marker, declared
    cdef long long[::1] limits, pool, classes, rules, cases, demands, pairs
    cdef long long grain, align, weight, end, prefix, last_token, declared_size, first_size
    cdef public long long missed

    @cython.locals(token="long long")
    cdef void walk(self, long long[::1] order, long long at, long long stop, long long end) except *
    cdef void step(self, long long token) except *
    cdef Py_ssize_t _row(self, long long token) except? -1
    @cython.locals(bits="long long")
    cdef Py_ssize_t size(self) except? -1
    @cython.locals(count="long long", at="long long")
    cdef Py_ssize_t holes(self, long long[::1] order, long long stop) except? -1
    @cython.locals(
        size="long long", chosen="long long", broken="long long", at="long long",
        stop="long long", failing="long long", missed="long long", case="long long", own="long long",
        demand="long long",
    )
    cdef Py_ssize_t faults(self, long long most) except? -1
    @cython.locals(total="long long", at="long long")
    cdef Py_ssize_t contention(self) except? -1
    @cython.locals(at="long long")
    cdef Py_ssize_t _class_at(self, long long size) except? -2
    @cython.locals(field="long long", token="long long", begin="long long", start="long long")
    cdef void _place_fields(self) except *
    @cython.locals(kind="long long", missed="long long", number="long long")
    cdef Py_ssize_t _misses(self, long long at, long long size) except? -1
    @cython.locals(
        a="long long", b="long long", line="long long", step="long long", before="long long",
        behind="long long", missed="long long", number="long long", base="long long",
    )
    cdef Py_ssize_t _count_shared(self, long long at, long long size) except? -1
    @cython.locals(
        line="long long", field="long long", first="long long", last="long long", lines="long long",
        most="long long",
    )
    cdef Py_ssize_t _excess_at(
        self, long long at, long long kind, long long base, long long size
    ) except? -1
    @cython.locals(
        a="long long", b="long long", low="long long", high="long long", value="long long",
    )
    cdef Py_ssize_t _excess(self, long long at, long long kind) except? -1
    @cython.locals(
        start="long long", count="long long", number="long long", bits="long long", least="long long",
        most="long long", away="long long",
    )
    cdef Py_ssize_t _bytes_to_size(self, long long at) except? -1
    @cython.locals(
        start="long long", count="long long", number="long long", field="long long", place="long long"
    )
    cdef Py_ssize_t _sort(self, long long at) except? -1
    @cython.locals(
        line="long long", is_few=bint, count="long long", reached="long long", touched="long long",
        number="long long", field="long long", first="long long", last="long long",
    )
    cdef Py_ssize_t _lines(self, long long at, long long base) except? -1
    @cython.locals(
        start="long long", most="long long", count="long long", others="long long", reached="long long",
        number="long long", field="long long", begin="long long", other="long long", one="long long",
        end="long long", align="long long", own="long long", room="long long", excess="long long",
        least="long long", beyond="long long",
    )
    cdef Py_ssize_t _count_between(self, long long at) except? -1
    @cython.locals(
        end="long long", touched="long long", token="long long", row="long long", reached="long long"
    )
    cdef Py_ssize_t _count_unused(self) except? -1
    @cython.locals(at="long long", limit="long long")
    cdef bint is_allowed(self, long long[::1] order, long long stop) except -1
    @cython.locals(at="long long")
    cdef bint _has_right_end(self, long long[::1] order, long long stop) except -1
    @cython.locals(
        kind="long long", start="long long", count="long long", low="long long", high="long long",
        previous="long long", number="long long", place="long long",
    )
    cdef bint _meets(self, long long limit, long long[::1] order, long long stop) except -1
    @cython.locals(wanted="long long", number="long long", token="long long", own="long long")
    cdef bint _keeps_offsets(self, long long kind, long long start, long long count) except -1
    @cython.locals(other="long long", number="long long")
    cdef bint _are_behind(self, long long place, long long limit) except -1
    @cython.locals(others="long long", at="long long", number="long long")
    cdef bint _is_run(
        self, long long start, long long count, long long[::1] order, long long low, long long high
    ) except -1
    @cython.locals(at="long long")
    cdef bint _is_first(self, long long place, long long[::1] order) except -1
    cdef bint is_unit(self, long long token) except -1
