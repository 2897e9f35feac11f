cimport cython

from layoutlint.readers.dwarf.format.unit cimport Unit

cdef unsigned long long _IS_TEXT, _IS_SHORT, _PLACES
cdef Py_ssize_t _LONGEST


@cython.final
cdef class Texts:
    cdef dict _numbers
    cdef object _main

    cpdef bint is_main(self, sections) except -1
    cpdef unsigned long long string_word(self, Unit unit, unsigned long long place) except? 0xFFFFFFFFFFFFFFFF
    cpdef unsigned long long inline_word(
        self, Unit unit, Py_ssize_t position, Py_ssize_t end
    ) except? 0xFFFFFFFFFFFFFFFF
    @cython.locals(word="unsigned long long", shift=int, byte="unsigned long long")
    cpdef unsigned long long short_word(self, Unit unit, Py_ssize_t position) except? 0xFFFFFFFFFFFFFFFF
    cpdef unsigned long long text_word(self, bytes text) except? 0xFFFFFFFFFFFFFFFF
