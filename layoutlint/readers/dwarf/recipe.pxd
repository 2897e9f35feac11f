cimport cython


@cython.final
cdef class Recipe:
    cdef public bint is_whole, is_type, is_part, has_parts, is_function, is_named
    cdef public unsigned long long head
    cdef public Py_ssize_t count, size, file_rank, name_step
    cdef public list constants
    cdef long long[::1] steps
    cdef public object file
