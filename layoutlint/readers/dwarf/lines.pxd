cimport cython

from layoutlint.readers.dwarf.cursor cimport Cursor


@cython.final
cdef class Files(Cursor):
    cdef public str comp_dir
    cdef object _strings
    cdef Py_ssize_t _first
    cdef list _folders, _folder_kinds, _names, _name_kinds

    cdef Py_ssize_t _old(self, list starts, Py_ssize_t position, bint is_file) except -1
    @cython.locals(step=Py_ssize_t)
    cdef tuple _entries(self, list starts, Py_ssize_t position, Py_ssize_t width)
    @cython.locals(width=Py_ssize_t)
    cdef tuple _entry(self, list kinds, Py_ssize_t position)
    cpdef tuple place(self, number)
