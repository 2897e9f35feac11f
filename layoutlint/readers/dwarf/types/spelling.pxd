cimport cython

from layoutlint.readers.dwarf.format.abbreviations cimport Plan
from layoutlint.readers.dwarf.types.fixed_fields cimport FixedFields, FixedFieldsTable
from layoutlint.readers.dwarf.format.unit cimport Unit

cdef long long _FUNCTION, _TYPEDEF
cdef int _DERIVED


@cython.final
cdef class Type:
    cdef readonly object spelling, bit_size, align, aggregate, possible, plain_align, flexible_bits
    cdef readonly tuple dims, members, stands_for
    cdef readonly Py_ssize_t field_count
    cdef readonly bint calls


@cython.final
cdef class Spelling:
    cdef public FixedFieldsTable fixed_fields

    @cython.locals(fixed=FixedFields)
    cdef spell_target(self, Unit unit, Plan plan, Py_ssize_t start, int depth)
    @cython.locals(plan=Plan)
    cpdef spell(self, Unit unit, Py_ssize_t position, int depth=*)
    cdef _spell_entry(self, Unit unit, Plan plan, Py_ssize_t start, int depth)
    @cython.locals(fixed=FixedFields)
    cdef _spell_named(self, Unit unit, Plan plan, Py_ssize_t start, int depth)
    cdef _spell_array(self, Unit unit, Plan plan, Py_ssize_t start, int depth)
    @cython.locals(position=Py_ssize_t, inner=Py_ssize_t, child=Plan)
    cdef _spell_parameters(self, Unit unit, Plan plan, Py_ssize_t start, int depth)


cdef bint _has(Plan plan, number) except -1

@cython.locals(plan=Plan, count=int)
cpdef bint is_function(Unit unit, Py_ssize_t position) except -1
