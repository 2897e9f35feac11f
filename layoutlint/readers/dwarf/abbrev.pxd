cimport cython

from layoutlint.readers.dwarf.recipe cimport Recipe


@cython.final
cdef class Plan:
    cdef public long long tag
    cdef public bint has_children, leads_on, is_indexed
    cdef public dict constants, forms
    cdef public Py_ssize_t size, name_at, text_at, name_width, sibling_at, sibling_width, type_at, quick, sibling_step
    cdef public int kind, opens, role
    cdef public list steps
    cdef public Recipe recipe
    cdef list _pairs
    cdef tuple _parts
    cdef bint _is_little

    cpdef Recipe cook(self)
