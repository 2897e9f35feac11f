cimport cython


@cython.final
cdef class Recipe:
    cdef public bint is_whole, is_type, is_part, has_parts, is_function, is_named, has_text, is_short, is_located, is_run, is_pointer, is_sized
    cdef public unsigned long long head, mark, location_bits
    cdef public Py_ssize_t count, constant_count, size, file_rank, name_step, fixed_size, name_at, type_at, location_at, spelled_at
    cdef long long[::1] steps, ranks, fixed
    cdef unsigned long long[::1] constants
    cdef public object file
