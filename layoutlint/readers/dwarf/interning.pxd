cimport cython

cdef unsigned long long _ALL, _FACTOR


@cython.final
cdef class Words:
    cdef unsigned long long _seed
    cdef unsigned long long[::1] _kept, _starts, _slots
    cdef Py_ssize_t _end, _count, _mask

    @cython.locals(slot=Py_ssize_t, known=Py_ssize_t)
    cpdef Py_ssize_t number(self, unsigned long long[::1] words, Py_ssize_t start, Py_ssize_t end) except -1
    @cython.locals(value="unsigned long long", index=Py_ssize_t)
    cdef unsigned long long _hash(
        self, unsigned long long[::1] words, Py_ssize_t start, Py_ssize_t end
    ) except? 0xFFFFFFFFFFFFFFFF
    @cython.locals(place=Py_ssize_t, index=Py_ssize_t)
    cdef bint _equals(
        self, Py_ssize_t number, unsigned long long[::1] words, Py_ssize_t start, Py_ssize_t end
    ) except -1
    @cython.locals(number=Py_ssize_t, index=Py_ssize_t)
    cdef Py_ssize_t _add(
        self, unsigned long long[::1] words, Py_ssize_t start, Py_ssize_t end, Py_ssize_t slot
    ) except -1
    @cython.locals(number=Py_ssize_t, slot=Py_ssize_t)
    cdef void _spread(self) except *
