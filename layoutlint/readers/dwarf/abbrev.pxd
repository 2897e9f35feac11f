cimport cython


@cython.final
cdef class Plan:
    cdef public long long number, tag, file
    cdef public bint has_children, leads_on, is_plain, is_type, is_whole, is_indexed
    cdef public dict constants, forms
    cdef public Py_ssize_t size, name_at, text_at, name_width, sibling_at, sibling_width, type_at, quick, sibling_step
    cdef public int kind, opens
    cdef public list steps, actions, widths, refers
    cdef public tuple parts
