cimport cython

from layoutlint.readers.dwarf.format.abbreviations cimport Plan
from layoutlint.readers.dwarf.types.fixed_fields cimport Plain, Plains
from layoutlint.readers.dwarf.format.unit cimport Unit

cdef long long _FUNCTION, _TYPEDEF
cdef int _MADE


@cython.final
cdef class Type:
    cdef readonly object spelling, bit_size, align, aggregate, possible, plain
    cdef readonly tuple dims, members, stands_for
    cdef readonly Py_ssize_t field_count
    cdef readonly bint calls


@cython.final
cdef class Spelling:
    cdef public Plains plains

    @cython.locals(plain=Plain)
    cdef of(self, Unit unit, Plan plan, Py_ssize_t start, int depth)
    @cython.locals(plan=Plan)
    cpdef at(self, Unit unit, Py_ssize_t position, int depth=*)
    cdef _spell(self, Unit unit, Plan plan, Py_ssize_t start, int depth)
    @cython.locals(plain=Plain)
    cdef _named(self, Unit unit, Plan plan, Py_ssize_t start, int depth)
    cdef _array(self, Unit unit, Plan plan, Py_ssize_t start, int depth)
    @cython.locals(position=Py_ssize_t, inner=Py_ssize_t, child=Plan)
    cdef _parameters(self, Unit unit, Plan plan, Py_ssize_t start, int depth)


cdef bint _has(Plan plan, number) except -1

@cython.locals(plan=Plan, count=int)
cpdef bint is_function(Unit unit, Py_ssize_t position) except -1
