cimport cython

from layoutlint.suggestion.orders.layouts cimport Tables

cdef long long _FAR, _MOST_EQUAL


@cython.final
cdef class Orders:
    cdef list _builds
    cdef long long[::1] _levels, _closing, _rest, _tried
    cdef long long _count, _largest
    cdef bint _is_contended
    cdef object _on_step
    cdef public long long work
    cdef public tuple best
    cdef public list found, improved

    @cython.locals(tokens="long long[::1]", build=Tables, broken="long long", missed="long long")
    cpdef tuple faults(self, order)
    @cython.locals(tokens="long long[::1]", build=Tables, own="long long")
    cpdef value(self, order)
    @cython.locals(tokens="long long[::1]", build=Tables)
    cpdef list sizes(self, order)
    @cython.locals(token="long long", stop="long long", inner="long long")
    cdef Py_ssize_t length(self, long long[::1] order, long long at) except? -1
    cdef bint _opens(self, long long token) except -1
    @cython.locals(tokens="long long[::1]")
    cpdef tuple move(self, order, token, to)
    @cython.locals(tokens="long long[::1]", is_mover="long long[::1]", at="long long", token="long long")
    cpdef bint try_one(self, order, movers, weights, windows, spent, limit, is_sideways=*) except -1
    @cython.locals(tokens="long long[::1]")
    cpdef void try_smaller(self, order, movers, largest) except *
    @cython.locals(
        tokens="long long[::1]", moved="long long[::1]", at="long long", length="long long", to="long long",
        place="long long", wanted="long long",
    )
    cpdef bint try_two(self, order, movers, weights, most, limit) except -1
    @cython.locals(place="long long", index="long long")
    cdef bint _shift(
        self, long long[::1] order, long long[::1] moved, long long at, long long length, long long to
    ) except -1
    @cython.locals(level="long long", behind="long long")
    cdef bint _may_stand(self, long long token, long long to, long long count) except -1
    @cython.locals(
        length="long long", rest="long long", index="long long", to="long long", token="long long",
        build=Tables, moving="long long",
    )
    cdef void _slide(
        self, long long[::1] order, long long at, weight, long long broken, long long missed, windows
    ) except *
    @cython.locals(
        broken="long long", missed="long long", size="long long", holes="long long", end="long long",
        contention="long long", build=Tables,
    )
    cdef void _judge(
        self, long long to, long long token, weight, long long most, long long least
    ) except *
    @cython.locals(key=tuple, index="long long")
    cdef void _keep(self, weight, long long size, long long holes) except *


cdef bint _is_in(windows, long long place) except -1
