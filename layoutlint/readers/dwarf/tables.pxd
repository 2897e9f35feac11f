cimport cython

from layoutlint.readers.dwarf.abbrev cimport Plan


cdef int _WIDEST, _LARGEST_CODE, _IMPLICIT

@cython.final
cdef class Table:
    cdef const unsigned char[::1] _data
    cdef object _shape, _span
    cdef dict _known
    cdef public list plans
    cdef long long[::1] _starts

    @cython.locals(body=bytes, plan=Plan, start=Py_ssize_t, end=Py_ssize_t)
    cpdef Plan plan(self, Py_ssize_t code)
    @cython.locals(data="const unsigned char[::1]", starts="long long[::1]", code=Py_ssize_t, largest=Py_ssize_t, shift=int)
    cdef void _divide(self, Py_ssize_t position) except *
    @cython.locals(data="const unsigned char[::1]", number="unsigned char", form="unsigned char")
    cdef Py_ssize_t _behind(self, Py_ssize_t position) except -1
