cimport cython


@cython.final
cdef class Recipe:
    cdef public bint is_whole, is_type, is_part, has_parts, is_function, is_named
    cdef public unsigned long long head
    cdef public Py_ssize_t count, file_rank, name_step
    cdef public list actions, widths, ranks, forms, constants
    cdef public object file
