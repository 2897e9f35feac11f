cimport cython

from layoutlint.readers.dwarf.format.abbreviations cimport Plan
from layoutlint.readers.dwarf.types.fixed_fields cimport FixedFields
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
    cdef intern(self, dict cache)
    cdef add(self, name, Type kind, bit_offset, bit_size, bint is_bitfield, align, path, line, own_align=*, possible=*)


@cython.final
cdef class Decoder:
    cdef public object target
    cdef public int unstated
    cdef public bint has_atomics, hides_atomics, hides_typedefs, can_ignore_typedefs
    cdef public object is_rounded
    cdef public Spelling spelling
    cdef public Shapes shapes
    cdef dict _types_by_shape, _bodies_by_shape, _types, _fields, _bodies, _sources
    cdef object _orders

    @cython.locals(shape="unsigned long long")
    cpdef body(self, Unit unit, Py_ssize_t position, Plan plan, dict values, Py_ssize_t end, int depth=*)
    @cython.locals(members=_Members)
    cdef _decode_body(self, Unit unit, Plan plan, dict values, Py_ssize_t end, int depth)
    @cython.locals(members=_Members, plan=Plan, fixed=FixedFields, start=Py_ssize_t, fixed_start=Py_ssize_t)
    cdef _Members _read_members(self, Unit unit, Py_ssize_t position, int depth)
    @cython.locals(kind=Type)
    cdef _add_plain(self, Unit unit, FixedFields fixed, Py_ssize_t position, Py_ssize_t start, _Members members, int depth)
    @cython.locals(kind=Type)
    cdef _add_member(self, Unit unit, Plan plan, Py_ssize_t start, _Members members, int depth)
    cdef tuple _member_alignment(self, dict values, Type kind)
    @cython.locals(shape="unsigned long long", plan=Plan, fixed=FixedFields, start=Py_ssize_t)
    cpdef Type type_at(self, Unit unit, Py_ssize_t position, int depth=*)
    cdef Type _decode(self, Unit unit, Plan plan, dict values, tuple where, int depth)
    cdef Type _intern_type(self, ctype, bit_size, align, aggregate=*, tuple dims=*, tuple members=*, Py_ssize_t count=*, bint calls=*, tuple stands_for=*, possible=*, plain_align=*, flexible_bits=*)
    @cython.locals(inner=Type)
    cdef Type _derived_type(self, Unit unit, Plan plan, dict values, ctype, int depth, bint is_typedef)
    @cython.locals(element=Type, counts=tuple)
    cdef Type _array_type(self, Unit unit, Plan plan, dict values, tuple shape, int depth)
    cdef Type _aggregate_type(self, Unit unit, Plan plan, dict values, ctype, tuple where, int depth)
