cimport cython

from layoutlint.readers.dwarf.format.abbreviations cimport Plan
from layoutlint.readers.dwarf.format.word_tables cimport Words


cdef int _WIDEST, _LARGEST_CODE, _IMPLICIT
cdef Py_ssize_t _PACKED


@cython.final
cdef class Plans:
    cdef const unsigned char[::1] _data
    cdef object _shape
    cdef Words _words
    cdef list _plans

    @cython.locals(number=Py_ssize_t, plan=Plan)
    cdef Plan plan(self, Py_ssize_t start, Py_ssize_t end)
    @cython.locals(
        count=Py_ssize_t, index=Py_ssize_t, position=Py_ssize_t, word="unsigned long long",
        stack="unsigned long long[::1]",
    )
    cdef Py_ssize_t _intern(self, Py_ssize_t start, Py_ssize_t end) except -1


@cython.final
cdef class Table:
    cdef const unsigned char[::1] _data
    cdef Plans _shared_plans
    cdef public list plans
    cdef long long[::1] _starts

    @cython.locals(plan=Plan, start=Py_ssize_t)
    cpdef Plan plan(self, Py_ssize_t code)
    @cython.locals(data="const unsigned char[::1]", starts="long long[::1]", code=Py_ssize_t, largest=Py_ssize_t, shift=int)
    cdef void _find_abbreviations(self, Py_ssize_t position) except *
    @cython.locals(data="const unsigned char[::1]", number="unsigned char", form="unsigned char")
    cdef Py_ssize_t _skip_abbreviation(self, Py_ssize_t position) except -1
