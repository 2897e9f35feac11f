cimport cython

from layoutlint.readers.dwarf.format.cursor cimport Cursor

cdef long long _UDATA, _PATH, _DIRECTORY, _WIDEST
cdef Py_ssize_t _SKIP_STRING, _SKIP_ULEB


@cython.final
cdef class Name:
    cdef public unsigned long long form, value, directory
    cdef public bint is_inside


@cython.final
cdef class Files(Cursor):
    cdef public str comp_dir
    cdef object _strings
    cdef Py_ssize_t _first
    cdef long long[::1] _folders, _names, _folder_parts, _name_parts
    cdef public Name name, folder

    cdef object _find_old_entries(self, Py_ssize_t position, bint is_file)
    @cython.locals(content="unsigned long long", form="unsigned long long")
    cdef object _read_parts(self, Py_ssize_t position, Py_ssize_t width)
    @cython.locals(
        places="long long[::1]", total="unsigned long long", number=Py_ssize_t, index=Py_ssize_t, step=Py_ssize_t,
    )
    cdef object _find_entries(self, Py_ssize_t position, long long[::1] kinds)
    @cython.locals(
        index=Py_ssize_t, content="long long", form="long long", width=Py_ssize_t, is_number=bint,
        value="unsigned long long",
    )
    cdef void _read_entry(self, Name name, long long[::1] kinds, Py_ssize_t position) except *
    @cython.locals(directory="unsigned long long")
    cpdef bint find(self, unsigned long long number) except -1
    cpdef bytes text(self, Name name)
