cimport cython

from layoutlint.readers.dwarf.format.abbreviations cimport Plan
from layoutlint.readers.dwarf.scan cimport Positions
from layoutlint.readers.dwarf.format.unit cimport Unit

cdef int _AGGREGATE, _STRUCT, _DERIVED, _NO, _YES, _PERHAPS, _DEEPEST
cdef long long _ARRAY
cdef Py_ssize_t _SKIP_STRING


@cython.final
cdef class SeenNames:
    cdef unsigned char[::1] _places
    cdef set _texts

    cpdef bint has(self, Py_ssize_t place) except -1
    cpdef void add(self, Py_ssize_t place) except *
    @cython.locals(end=Py_ssize_t)
    cdef bint is_new_text(self, Unit unit, Py_ssize_t position) except -1


@cython.locals(index=Py_ssize_t, position=Py_ssize_t, start=Py_ssize_t, place=Py_ssize_t, plan=Plan, kind=int)
cpdef list find_new(Unit unit, Positions entries, SeenNames seen_names)

@cython.locals(place="unsigned long long", target=Plan, plan=Plan)
cdef int _leads_to_struct(Unit unit, Plan plan, Py_ssize_t start) except -1
