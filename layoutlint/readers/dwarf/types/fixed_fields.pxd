cimport cython

from layoutlint.readers.dwarf.format.abbreviations cimport Plan
from layoutlint.readers.dwarf.format.unit cimport Unit

cdef int _SKIP_STRING


@cython.final
cdef class FixedFields:
    cdef public Py_ssize_t size, name_at, type_at, file_at, line_at, location_at, size_at
    cdef public Py_ssize_t name_width, file_width, line_width, location_width, size_width
    cdef public bint has_text, is_indexed, is_plain, is_whole, is_member
    cdef public object file, line, location, byte_size

    @cython.locals(start=Py_ssize_t)
    cpdef Py_ssize_t start(self, Unit unit, Py_ssize_t position) except -1
    @cython.locals(place="unsigned long long")
    cpdef name(self, Unit unit, Py_ssize_t position, Py_ssize_t start)
    cpdef Py_ssize_t target(self, Unit unit, Py_ssize_t start) except -1
    @cython.locals(start=Py_ssize_t)
    cpdef dict layout(self, Unit unit, Py_ssize_t position)


@cython.final
cdef class FixedFieldsTable:
    cdef dict _by_plan

    cpdef FixedFields find(self, Unit unit, Plan plan)
