cimport cython


@cython.final
cdef class Recipe:
    cdef public bint is_whole, is_type, is_part, has_parts, is_function, is_named, has_text, is_quick
    cdef public unsigned long long head
    cdef public Py_ssize_t count, constant_count, size, file_rank, name_step, quick_size, rest
    cdef long long[::1] steps, ranks, quick
    cdef unsigned long long[::1] constants
    cdef public object file
