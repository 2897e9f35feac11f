cimport cython

from layoutlint.readers.dwarf.format.abbreviations cimport Plan
from layoutlint.readers.dwarf.types.fixed_fields cimport Plain
from layoutlint.readers.dwarf.types.type_ids cimport Shapes
from layoutlint.readers.dwarf.types.spelling cimport Spelling, Type
from layoutlint.readers.dwarf.format.unit cimport Unit

cdef long long _MEMBER, _UNION
cdef int _BIT_FIELDS
cdef Py_ssize_t _MOST_FIELDS


@cython.final
cdef class _Members:
    cdef public list fields, key
    cdef public Py_ssize_t count

    cdef object _file, _path

    cdef path(self, Unit unit, number)
    cdef once(self, dict known)
    cdef add(self, name, Type kind, bit_offset, bit_size, bint is_bitfield, align, path, line, asked=*, possible=*)


@cython.final
cdef class Decoder:
    cdef public object target
    cdef public int unstated
    cdef public bint has_atomics, hides_atomics, hides_typedefs, can_ignore_typedefs
    cdef public object is_rounded
    cdef public Spelling spelling
    cdef public Shapes shapes
    cdef dict _shaped, _laid_out, _types, _fields, _bodies, _sources

    @cython.locals(shape="unsigned long long")
    cpdef body(self, Unit unit, Py_ssize_t position, Plan plan, dict values, Py_ssize_t behind, int depth=*)
    @cython.locals(found=_Members)
    cdef _body(self, Unit unit, Plan plan, dict values, Py_ssize_t behind, int depth)
    @cython.locals(found=_Members, plan=Plan, plain=Plain, start=Py_ssize_t, behind=Py_ssize_t)
    cdef _Members _members(self, Unit unit, Py_ssize_t position, int depth)
    @cython.locals(kind=Type)
    cdef _plain(self, Unit unit, Plain plain, Py_ssize_t position, Py_ssize_t start, _Members found, int depth)
    @cython.locals(kind=Type)
    cdef _member(self, Unit unit, Plan plan, Py_ssize_t start, _Members found, int depth)
    cdef tuple _own(self, dict values, Type kind)
    @cython.locals(shape="unsigned long long", plan=Plan, plain=Plain, start=Py_ssize_t)
    cpdef Type at(self, Unit unit, Py_ssize_t position, int depth=*)
    cdef Type _decode(self, Unit unit, Plan plan, dict values, tuple where, int depth)
    cdef Type _type(self, spelled, bit_size, align, aggregate=*, tuple dims=*, tuple members=*, Py_ssize_t count=*, bint calls=*, tuple stands_for=*, possible=*, plain=*)
    @cython.locals(inner=Type)
    cdef Type _renamed(self, Unit unit, Plan plan, dict values, spelled, int depth, bint is_typedef)
    @cython.locals(element=Type, counts=tuple)
    cdef Type _array(self, Unit unit, Plan plan, dict values, tuple shape, int depth)
    cdef Type _aggregate(self, Unit unit, Plan plan, dict values, spelled, tuple where, int depth)
