cimport cython

from layoutlint.readers.dwarf.format.cursor cimport Cursor
from layoutlint.readers.dwarf.format.type_recipe cimport Recipe

cdef unsigned long long _LARGEST_TAG, _NAME, _SIBLING, _TYPE, _STRING, _IMPLICIT, _PRESENT, _INDIRECT, _ADDRX_OFFSET


@cython.final
cdef class Plan:
    cdef public long long tag
    cdef public bint has_children, can_name_struct, is_indexed, is_scope, has_signature, is_indirect
    cdef public dict constants, forms
    cdef public Py_ssize_t size, name_at, text_at, name_width, sibling_at, sibling_width, type_at, skip_size, sibling_step
    cdef public Py_ssize_t rest, rest_type_at
    cdef public int kind, opens, role
    cdef public list steps
    cdef public Recipe recipe
    cdef public list pairs
    cdef dict _by_forms
    cdef tuple _parts
    cdef bint _is_little

    cpdef Recipe make_recipe(self)
    @cython.locals(number="unsigned long long", form="unsigned long long", width=Py_ssize_t, offset=Py_ssize_t)
    cdef void _find(self, list pairs) except *
    @cython.locals(number="unsigned long long", form="unsigned long long", width=Py_ssize_t, offset=Py_ssize_t)
    cdef void _find_rest(self, list pairs) except *
    @cython.locals(number="unsigned long long", width=Py_ssize_t, run=Py_ssize_t)
    cdef void _walk(self, list pairs) except *


@cython.locals(
    cursor=Cursor, position=Py_ssize_t, entry_tag="unsigned long long", number="unsigned long long",
    form="unsigned long long",
)
cpdef Plan read(bytes data, object shape)
