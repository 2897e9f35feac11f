cimport cython

from layoutlint.readers.dwarf.format.word_tables cimport Words
from layoutlint.readers.dwarf.format.file_table cimport Files, Name
from layoutlint.readers.dwarf.format.unit cimport Unit

cdef unsigned long long _FILES, _NUMBERS, _PLACES
cdef int _FORM
cdef Py_ssize_t _WORDS


@cython.final
cdef class Paths:
    cdef Words _places
    cdef unsigned long long[::1] _path_numbers, _unit_path_numbers
    cdef dict _numbers, _texts
    cdef object _unit
    cdef Files _files
    cdef unsigned long long _origin, _unit_number

    @cython.locals(place=Py_ssize_t, entry="unsigned long long")
    cpdef unsigned long long path_number(self, Unit unit, unsigned long long number) except? 0xFFFFFFFFFFFFFFFF
    cpdef void forget_places(self) except *
    cdef void _begin(self, Unit unit) except *
    @cython.locals(files=Files, stack="unsigned long long[::1]")
    cdef Py_ssize_t _positions_number(self, unsigned long long number) except -1
    @cython.locals(value="unsigned long long")
    cdef unsigned long long _name_word(self, Files files, Name name) except? 0xFFFFFFFFFFFFFFFF
    cdef unsigned long long _text_number(self, long long origin, bytes text) except? 0xFFFFFFFFFFFFFFFF
