cimport cython

cdef unsigned long long _ALL, _FACTOR, _UNKNOWN


@cython.final
cdef class Words:
    cdef unsigned long long _seed
    cdef unsigned long long[::1] _sequences, _starts, _slots
    cdef public unsigned long long[::1] stack
    cdef Py_ssize_t _end, _count, _mask, _next

    cpdef grow(self, Py_ssize_t count)
    @cython.locals(slot=Py_ssize_t, number=Py_ssize_t)
    cpdef Py_ssize_t number(self, Py_ssize_t start, Py_ssize_t end) except -1
    @cython.locals(value="unsigned long long", index=Py_ssize_t)
    cdef unsigned long long _hash(
        self, unsigned long long[::1] words, Py_ssize_t start, Py_ssize_t end
    ) except? 0xFFFFFFFFFFFFFFFF
    @cython.locals(
        place=Py_ssize_t, index=Py_ssize_t,
    )
    cdef bint _equals(
        self, Py_ssize_t number, Py_ssize_t start, Py_ssize_t end
    ) except -1
    @cython.locals(number=Py_ssize_t, index=Py_ssize_t)
    cdef Py_ssize_t _add(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t slot
    ) except -1
    @cython.locals(number=Py_ssize_t, slot=Py_ssize_t)
    cdef void _double_slots(self) except *


@cython.final
cdef class Memo:
    cdef unsigned long long[::1] _slots
    cdef unsigned long long _first, _end, _top
    cdef Py_ssize_t _mask, _count

    cpdef void begin(self, unsigned long long first, unsigned long long end) except *
    cpdef void begin_all(self) except *
    @cython.locals(slot=Py_ssize_t, stored="unsigned long long")
    cpdef unsigned long long recall(self, unsigned long long key) except? 0xFFFFFFFFFFFFFFFF
    @cython.locals(slot=Py_ssize_t)
    cpdef void keep(self, unsigned long long key, unsigned long long number) except *
    @cython.locals(slots="unsigned long long[::1]", slot=Py_ssize_t, count=Py_ssize_t)
    cdef void _double_slots(self) except *
