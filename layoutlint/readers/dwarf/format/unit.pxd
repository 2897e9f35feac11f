cimport cython

from layoutlint.readers.dwarf.format.abbreviations cimport Plan
from layoutlint.readers.dwarf.format.cursor cimport Cursor
from layoutlint.readers.dwarf.format.abbreviation_tables cimport Table


@cython.final
cdef class Unit(Cursor):
    cdef public object sections, index, section, type, shape, signature, type_offset, abbrev_offset
    cdef public Py_ssize_t offset, end, first
    cdef public bint is_shared
    cdef public object part, skeleton, home
    cdef public list imports, local
    cdef object _split_id
    cdef public unsigned long long key
    cdef public dict spellings, _paths
    cdef tuple _root, _files, _string_table
    cdef str _name
    cdef Table _table

    @cython.locals(code="unsigned long long", table=Table, plan=Plan)
    cpdef Plan enter(self, Py_ssize_t position)
    @cython.locals(position=Py_ssize_t, size=Py_ssize_t, stated="unsigned long long", start=Py_ssize_t)
    cdef Plan _enter_indirect(self, Plan plan, Py_ssize_t position)
    @cython.locals(kind=Py_ssize_t)
    cpdef Py_ssize_t skip_attributes(self, Plan plan, Py_ssize_t position) except -1
    @cython.locals(child=Plan, place=Py_ssize_t, index=Py_ssize_t, kind=Py_ssize_t, depth=Py_ssize_t)
    cpdef Py_ssize_t skip_entry(self, Plan plan, Py_ssize_t position) except -1
    @cython.locals(sibling="unsigned long long")
    cdef Py_ssize_t _read_sibling(self, Py_ssize_t position, Py_ssize_t reference_at, Py_ssize_t width) except -1
