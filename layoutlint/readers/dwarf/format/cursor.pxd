cimport cython

cdef Py_ssize_t _SKIP_ULEB, _SKIP_STRING, _SKIP_BLOCK, _SKIP_BLOCK1, _SKIP_BLOCK2


cdef class Cursor:
    cdef public object data
    cdef const unsigned char[::1] octets
    cdef public Py_ssize_t size, next_position
    cdef public bint is_little

    @cython.locals(value="unsigned long long", index=Py_ssize_t)
    cpdef unsigned long long number(self, Py_ssize_t position, Py_ssize_t width) except? 0xFFFFFFFFFFFFFFFF
    @cython.locals(value="unsigned long long", byte="unsigned long long", shift=int)
    cpdef unsigned long long uleb(self, Py_ssize_t position) except? 0xFFFFFFFFFFFFFFFF
    cpdef unsigned long long value(self, Py_ssize_t position, Py_ssize_t width) except? 0xFFFFFFFFFFFFFFFF
    @cython.locals(size="unsigned long long", width=Py_ssize_t)
    cpdef Py_ssize_t skip(self, Py_ssize_t position, Py_ssize_t kind) except -1
