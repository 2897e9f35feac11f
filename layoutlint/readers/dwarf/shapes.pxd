cimport cython

from layoutlint.readers.dwarf.abbrev cimport Plan
from layoutlint.readers.dwarf.unit cimport Unit


@cython.final
cdef class Shapes:
    cdef dict _numbers, _paths, _places
    cdef bytearray _seen, _buffer
    cdef unsigned char[::1] _octets
    cdef Py_ssize_t _room, _top

    @cython.locals(number=Py_ssize_t)
    cpdef bint is_new(self, Unit unit, Py_ssize_t position) except -1
    cpdef Py_ssize_t of(self, Unit unit, Py_ssize_t position) except -1
    @cython.locals(plan=Plan, start=Py_ssize_t, behind=Py_ssize_t, number=Py_ssize_t)
    cdef Py_ssize_t _whole(self, Unit unit, Py_ssize_t position, int depth) except -1
    @cython.locals(plan=Plan, start=Py_ssize_t, behind=Py_ssize_t, number=Py_ssize_t)
    cdef Py_ssize_t _spelled(self, Unit unit, Py_ssize_t position, int depth) except -1
    @cython.locals(index=Py_ssize_t, refer=Py_ssize_t, action=int, width=Py_ssize_t, end=Py_ssize_t)
    cdef Py_ssize_t _attributes(self, Unit unit, Plan plan, Py_ssize_t position, int depth) except -1
    @cython.locals(index=Py_ssize_t, refer=Py_ssize_t, width=Py_ssize_t)
    cdef void _references(self, Unit unit, Plan plan, Py_ssize_t position, int depth) except *
    @cython.locals(value="unsigned long long", target="unsigned long long")
    cdef Py_ssize_t _referred(self, Unit unit, long form, Py_ssize_t position, Py_ssize_t width, bint is_whole, int depth) except -1
    @cython.locals(plan=Plan, behind=Py_ssize_t)
    cdef void _children(self, Unit unit, Py_ssize_t position, int depth) except *
    cdef Py_ssize_t _path(self, Unit unit, number) except -1
    @cython.locals(number="unsigned long long", text=bytes, byte="unsigned char")
    cdef void _name(self, Unit unit, Plan plan, Py_ssize_t position) except *
    cdef Py_ssize_t _number(self, Py_ssize_t start) except -1
    @cython.locals(top=Py_ssize_t, index=Py_ssize_t)
    cdef void _put(self, unsigned long long value, Py_ssize_t width) except *
    @cython.locals(top=Py_ssize_t, count=Py_ssize_t, index=Py_ssize_t)
    cdef void _copy(self, Unit unit, Py_ssize_t position, Py_ssize_t end) except *
    cdef void _grow(self, Py_ssize_t count) except *
